--- data.lua: the counts of a profile by what was accessed: variables, stacks, memory that was mapped.
--
-- Invariant: lines and rest add up to the total, as those by code do. What cannot be told is a line of the rest, never
-- spread. Time at data is no miss: an access that hits takes time as well.

local accesses = require "pmclua.core.data"
local core = require "pmclua.core"
local data_source = require "pmclua.profile.data_source"
local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local packages = require "pmclua.base.packages"
local sharing = require "pmclua.profile.sharing"
local text = require "pmclua.base.text"
local topology = require("pmclua.base.lazy").module "pmclua.host.topology"

local M = {}

local NUMBERED = 64             -- elements of larger arrays are not told apart: "records[].key"

---@class pmclua.DataAt what was sampled at one place of an object from one function
---@field address? number offset in the object: of memory without a variable, of its cache line; nil: it is not certain
---@field member? string of a variable, as it is written behind its name: "[3].hits"; nil: unknown, or it has none
---@field source? string where it was answered, as the PMU tells it
---@field node? integer of the CPU that accessed it, where the event tells that and the machine has several NUMA nodes
---@field is_fed? true the instruction computed with what was loaded from there; else it accessed it
---@field is_write? true
---@field fn string the function of the instruction
---@field count number
---@field samples integer

---@class pmclua.DataProfile
---@field lines table[] as those of a profile: `fn` is the name of the object, `at` a list of pmclua.DataAt
---@field rest table<string, number>
---@field sharing pmclua.SharedLine[] cache lines that several threads access
---@field sites? table<string, table<string, true>> by name and member of blocks: `site_key` of where they are allocated;
---  not stored
---@field confirmed? pmclua.Confirmation[] what breakpoints counted at lines of `sharing`

local MEMORY = { ["[heap]"] = "[heap]", ["//anon"] = "[memory]" }

-- ---- objects -------------------------------------------------------------------------------------------

local function variable_object(self, file, symbols, variable)
  local key = ("%s %s %s"):format(file.path, tostring(variable.is_of_threads), variable.address)
  local members = self.members[key] or { symbols = symbols, variable = variable }
  self.members[key] = members
  return { fn = variable.name, file = file.path, build_id = file.build_id, kind = "variable",
    which = variable.address, origin = variable.offset, bytes = variable.bytes, members = members }
end

-- The member at an offset of a variable; each is asked for once.
local function member_at(members, offset)
  local known = members[offset]
  if known == nil then
    local name, _, is_padding = accesses.member(members.symbols, members.variable, offset, NUMBERED)
    known = name and (is_padding and name .. " (padding)" or name ~= "" and name) or false
    members[offset] = known
  end
  return known or nil
end

-- The name of a file's place that no known variable covers.
local function file_object(file, symbols, offset)
  local is_code = symbols and symbols:code(offset) ~= nil
  if file.path:find "^/dev/zero" then return { fn = "shared memory", file = "[shared]", kind = "mapping" } end
  local form = is_code and "code of %s" or symbols and "data of %s without a name" or "file %s"
  return { fn = form:format(text.base_name(file.path)), file = file.path, build_id = file.build_id,
    kind = "mapping" }
end

-- A frame of the function that was sampled; what its callers have is told by the thread alone.
local function stack_object(self, access)
  local is_first, code = access.tid == access.pid, self.found.files[access.code]
  local name = "stack of " .. (is_first and "the first thread" or "other threads")
  if access.is_in_frame and code then
    name = ("frame of %s, %s"):format(self.attribution:place(code, access.code_offset).fn,
      is_first and "first thread" or "other threads")
  end
  return { fn = name, file = "[stack]", kind = "stack" }
end

-- Memory that was mapped at once, by its size.
local function memory_object(file, access)
  local kind = MEMORY[file.path] or "[memory]"
  local name = kind == "[heap]" and "heap" or ("memory of %s"):format(number.bytes(tonumber(access.bytes)))
  return { fn = name, file = kind, kind = kind == "[heap]" and "heap" or "mapping" }
end

local NO_FILE = { path = "//anon" }

local function mapped_object(self, file, access)
  local object = self.memory[access.number] or memory_object(file, access)
  self.memory[access.number] = object
  return object
end

-- ---- blocks of the heap ----

local SHOWN_FRAMES = 3

-- Functions that only pass on what others ask for: of the C and C++ libraries, Rust's and Python's.
local PASSING = { "^operator new", "^std::", "^__gnu_cxx::", "^<?alloc::", "^__r[ud][sl]t?_",
  "^<?hashbrown::", "^_?PyObject_%a*[Aa]lloc$", "^_?PyMem_%a*[Aa]lloc$" }

local function is_passed_on(path, fn)
  local name = text.base_name(path)
  return name:find "^libc[.-]" or name:find "^libstdc%+%+" or name:find "^pmclua%-heap"
    or lists.any(PASSING, function(pattern) return fn:find(pattern) ~= nil end)
end

-- Functions that call a program's or a thread's own first function.
local STARTS = { "^__libc_start_", "^_start$", "^start_thread$", "^clone3?$", "^__clone3?$",
  "^execute_native_thread_routine$", "^std::rt::lang_start", "__rust_begin_short_backtrace" }

local function is_start(fn)
  return lists.any(STARTS, function(pattern) return fn:find(pattern) ~= nil end)
end

-- The functions of a site from the first that asks for itself, and where that does.
local function callers_of(self, frames)
  local names, place = {}, nil
  for i, frame in ipairs(frames) do
    local file = frame.file and self.found.files[frame.file]
    local at = file and self.attribution:place(file, frame.offset)
    local fn = at and at.fn or "?"
    if #names > 0 and is_start(fn) then break end
    if #names > 0 or not file or not is_passed_on(file.path, fn) or i == #frames then
      place = place or { file = file, at = at }
      if #names < SHOWN_FRAMES then names[#names + 1] = fn end
    end
  end
  return names, place or {}
end

-- Blocks of one site, whatever their sizes; by their members the line of the source tells sites apart.
local function new_block_object(self, site)
  local names, place = callers_of(self, self.heap.sites[site] or {})
  if #names == 0 then return { fn = "heap from an unknown place", file = "[heap]", kind = "block" } end
  local at = place.at
  local source = at and at.line and (at.line_source or at.source)
  return { fn = "heap from " .. table.concat(names, " < "), file = place.file and place.file.path or "[heap]",
    build_id = place.file and place.file.build_id, kind = "block",
    member = source and (" (%s:%d)"):format(text.base_name(source), at.line) or nil }
end

--- A site without what differs between runs: the file and the place in it of each frame.
---@param frames { path: string?, offset: number? }[]
---@return string
function M.site_key(frames)
  return table.concat(lists.map(frames, function(frame)
    return frame.path and ("%s+%x"):format(frame.path, frame.offset) or "?"
  end), " ")
end

-- The sites of each block that has samples, by the name that its lines show.
local function keys_of_sites(self)
  local keys = {}
  for site, object in pairs(self.blocks) do
    local label = object.fn .. (object.member or "")
    keys[label] = keys[label] or {}
    keys[label][M.site_key(lists.map(self.heap.sites[site] or {}, function(frame)
      local file = frame.file and self.found.files[frame.file]
      return { path = file and file.path:sub(1, 1) == "/" and file.path or nil, offset = frame.offset }
    end))] = true
  end
  return keys
end

local function block_object(self, access)
  local site = access.site or 0
  self.blocks[site] = self.blocks[site] or new_block_object(self, site)
  return self.blocks[site]
end

local function unknown_object() return { fn = "unknown memory", file = "[unknown]", kind = "mapping" } end

-- The variable that a byte of a file belongs to, and whether its program has nothing there. Files of data have no symbols,
-- and nothing is said of that.
local function variable_at(self, file, offset)
  if self.is_elf[file] == nil then
    self.is_elf[file] = file.build_id ~= nil or core.read_beginning(file.path, 4) == "\127ELF"
  end
  local symbols = self.is_elf[file] and self.attribution:symbols(file)
  if not symbols then return nil end
  local variable, code = accesses.variable(symbols, offset)
  return variable, symbols, code == "ERANGE"
end

local function thread_object(self, access)
  local code = self.found.files[access.code]
  local symbols = self.attribution:symbols(code)
  local is_program = symbols and code.path == self.found.program
  local variable = is_program and access.has_place
    and accesses.thread_variable(symbols, tonumber(access.address))
  if variable then return variable_object(self, code, symbols, variable) end
  return { fn = "variables of threads", file = "[thread]", kind = "variable" }
end

local function found_object(self, access)
  if access.is_block then return block_object(self, access) end
  if access.is_of_thread then return thread_object(self, access) end
  if access.is_stack then return stack_object(self, access) end
  local file = access.file and self.found.files[access.file]
  if not file then return unknown_object() end
  if file.path:sub(1, 1) ~= "/" or file.path:find "^//anon" then return mapped_object(self, file, access) end
  local variable, symbols, is_beyond = variable_at(self, file, access.offset)
  if is_beyond and access.is_behind_file then return mapped_object(self, NO_FILE, access) end
  if variable then return variable_object(self, file, symbols, variable) end
  return file_object(file, symbols, access.offset)
end

-- ---- lines ---------------------------------------------------------------------------------------------

-- Where in its object an access is. nil: it is not certain.
local function place_in(object, access)
  if not access.has_place or object.kind == "stack" then return nil end
  if object.origin then return object.origin end
  return access.start ~= 0 and tonumber(access.address - access.start) or nil
end

-- By what it is told: in memory that was mapped by cache line.
local function told_place(object, place)
  if not place or object.origin or object.kind == "block" then return place end
  return place - place % sharing.LINE
end

local function line_of(lines, object)
  if object.line then return object.line end
  local key = identity.key(object.file, object.build_id, object)
  local line = lines[key]
  if not line then
    line = { file = object.file, build_id = object.build_id, fn = object.fn, which = object.which,
      kind = object.kind, bytes = object.bytes, count = 0, samples = 0, at = {}, by_fn = {} }
    lines[key], lines[#lines + 1] = line, line
  end
  object.line = line
  return line
end

-- The NUMA node of a CPU; nil: there is one alone.
local function node_of(self, cpu)
  local known = self.nodes[cpu]
  if known == nil then
    known = topology.node(cpu) or false
    self.nodes[cpu] = known
  end
  return known or nil
end

-- Where an access was answered and from where it was made, as far as the event tells.
local function origin_of(self, access)
  local is_told = access.source ~= 0
  return is_told and data_source.text(access.source) or nil, access.cpu and node_of(self, access.cpu),
    access.is_write or is_told and data_source.is_write(access.source)
end

local UNKNOWN = { fn = "?" }

-- Bytes whose address is certain, for the search of shared cache lines. A thread's own variables have none.
local function add_to_sharing(self, access, object, at, place, offset)
  if access.has_place and not access.is_of_thread and type(access.address) == "number" then
    access.is_write = at.is_write or false
    self.sharing:add(access, { object = object.fn, member = at.member, place = offset, fn = place.fn,
      source = place.line and (place.line_source or place.source), line = place.line })
  end
end

local function add(self, access)
  local object = found_object(self, access)
  local line, exact = line_of(self.lines, object), place_in(object, access)
  local offset = told_place(object, exact)
  local code = self.found.files[access.code]
  local place = code and self.attribution:place(code, access.code_offset) or UNKNOWN
  local fn = place.fn
  local is_fed = access.kind == "computing with"
  local source, node, is_write = origin_of(self, access)
  local of_fn = line.by_fn[fn] or {}
  line.by_fn[fn] = of_fn
  local key = 4 * (offset or -1) + (is_fed and 2 or 0) + (is_write and 1 or 0)
  if object.member or source or node then
    key = table.concat({ key, object.member or "", source or "", node or "" }, "\0")
  end
  local at = of_fn[key]
  if not at then
    local members = offset and object.members
    at = { address = offset, member = object.member or members and member_at(members, offset),
      is_fed = is_fed or nil, is_write = is_write or nil, fn = fn, source = source, node = node,
      count = 0, samples = 0 }
    of_fn[key], line.at[#line.at + 1] = at, at
  end
  for _, part in ipairs { line, at } do
    part.samples, part.count = part.samples + 1, part.count + self.found.period
  end
  add_to_sharing(self, access, object, at, place, exact)
end

local function by_place(a, b)
  if (a.address or -1) ~= (b.address or -1) then return (a.address or -1) < (b.address or -1) end
  if a.fn ~= b.fn then return a.fn < b.fn end
  for _, name in ipairs { "member", "source" } do
    if a[name] ~= b[name] then return (a[name] or "") < (b[name] or "") end
  end
  if a.node ~= b.node then return (a.node or -1) < (b.node or -1) end
  return tostring(a.is_fed) .. tostring(a.is_write) < tostring(b.is_fed) .. tostring(b.is_write)
end

local function by_cost(a, b)
  if a.count ~= b.count then return a.count > b.count end
  return identity.key(a.file, a.build_id, a) < identity.key(b.file, b.build_id, b)
end

local function finished(lines)
  for _, line in ipairs(lines) do
    line.by_fn = nil
    table.sort(line.at, by_place)
  end
  table.sort(lines, by_cost)
  return lists.map(lines, function(line) return line end)
end

-- ---- the whole -----------------------------------------------------------------------------------------

-- Reasons that are told even where nothing had them.
local ALWAYS = { "computing", "no_operand", "ambiguous", "address_lost" }

local HAS_OBJECT = { access = true, ["computing with"] = true }

-- Samples in Linux, which accessed something of its own.
local function in_linux(sampled)
  local samples = 0
  for file, _, count in sampled:each() do
    if sampled.files[file].path == "[linux]" then samples = samples + count end
  end
  return samples
end

local function say_of_heap(attribution, heap)
  if heap.elsewhere > 0 then
    attribution:say("%s in a PID namespace with a /proc of its own, as in a container: blocks there are "
      .. "memory, without their site; run pmclua within it", text.plural(heap.elsewhere, "program"))
  elseif heap.processes == 0 then
    attribution:say("no allocation was recorded: programs that are linked statically or gain rights load no "
      .. "library (LD_PRELOAD), and Go's runtime calls no malloc")
  end
  if heap.lost > 0 then
    attribution:say("the log of allocations was full after %d events: later blocks are memory, without their "
      .. "site; fewer rounds of the program fit", heap.events)
  end
  if heap.sites_lost > 0 then
    attribution:say "some blocks were allocated at places that found no room: heap from an unknown place"
  end
end

--- The counts of a profile by what was accessed.
---@param sampled pmclua.core.Samples with samples by themselves
---@param attribution pmclua.Attribution
---@param rest table<string, number> of the profile
---@param log? string path of a log of allocations
---@return pmclua.DataProfile? nil: Capstone is not installed, which has been said
function M.of(sampled, attribution, rest, log)
  local self = { found = sampled, attribution = attribution, lines = {}, is_elf = {}, memory = {},
    members = {}, blocks = {}, nodes = {}, sharing = sharing.new() }
  rest = lists.copy(rest)
  local function lose(reason, samples) rest[reason] = (rest[reason] or 0) + samples * sampled.period end
  for _, reason in ipairs(ALWAYS) do rest[reason] = 0 end
  local linux, seen = in_linux(sampled), 0
  if sampled.records > 0 then
    local function symbols_of(index) return attribution:symbols(sampled.files[index]) end
    local each, code, heap = accesses.each(sampled, symbols_of, log)
    self.heap = heap
    if not each then
      attribution:say("what was accessed is not known: %s",
        code == "ELIBACC" and packages.missing "Capstone" or code)
      return nil
    end
    for access in each do
      seen = seen + 1
      self.sharing:saw(access)
      if HAS_OBJECT[access.kind] then add(self, access) else lose(access.kind, 1) end
    end
  end
  if self.heap then say_of_heap(attribution, self.heap) end
  lose("not_kept", sampled.records_lost)
  -- Events that record addresses keep samples in Linux, too.
  local unseen = sampled.samples - sampled.unmapped - seen - sampled.records_lost
  lose("in_linux", math.max(0, math.min(linux, unseen)))
  return { lines = finished(self.lines), rest = rest,
    sharing = self.sharing:lines_of(sampled.samples, sampled.period),
    sites = self.heap and keys_of_sites(self) }
end

return M
