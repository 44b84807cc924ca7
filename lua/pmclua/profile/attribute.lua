--- attribute.lua: what an instruction belongs to: function, source, line, inlined functions.
--
-- Files are read once, and each of their instructions is looked up once, however many repetitions hit it.

local jit = require("pmclua.base.lazy").module "pmclua.profile.jit"
local core = require "pmclua.core"
local mapped = require("pmclua.base.lazy").module "pmclua.profile.mapped"
local packages = require "pmclua.base.packages"
local symbols_of = require("pmclua.base.lazy").module "pmclua.core.symbols"
local text = require("pmclua.base.lazy").module "pmclua.base.text"
local written = require("pmclua.base.lazy").module "pmclua.profile.written"

---@class pmclua.Attribution
---@field remarks string[] what could not be attributed and why, each once
local Attribution = {}
Attribution.__index = Attribution

local M = {}

---@param options? { kallsyms?: string, trust_maps?: boolean } kallsyms: for tests; trust_maps: the map of functions made
---  at run time is believed of the process's own user
---@return pmclua.Attribution
function M.new(options)
  options = options or {}
  return setmetatable({ files = {}, mapped = {}, jits = {}, remarks = {}, said = {},
    trust_maps = options.trust_maps,
    kallsyms = options.kallsyms or "/proc/kallsyms", linux_places = {} }, Attribution)
end

function Attribution:say(form, ...)
  local remark = form:format(...)
  if self.said[remark] then return end
  self.said[remark] = true
  self.remarks[#self.remarks + 1] = remark
end

---@class pmclua.Attributed what an instruction belongs to
---@field fn string "parse", "puts@plt", or "libc.so.6+0x2a10" where a function has no name
---@field full? string full name, where that is another
---@field is_local? true only its source file sees its name
---@field address? number as the file has it
---@field which? number tells it from others of the same full name and source in this build of the file
---@field nameless? true
---@field kind? "kernel"|"jit"
---@field source? string file that the function is declared in, else that of the line
---@field line? integer
---@field line_source? string file of the line
---@field inlined? table[] functions that it was copied with, innermost first

-- ---- files ---------------------------------------------------------------------------------------------

local function id_key(path, id) return path .. "\0" .. (id or "") end

local function open_known(self, file)
  local opened, why = mapped.open(file)
  if why == "ELIBACC" then self:say("functions have no names: " .. packages.missing "libdw")
  elseif why then self:say("%s: its functions have no names: %s", text.safe(file.path), why) end
  local id = opened and opened.id or mapped.id(file)
  local same = self.files[id_key(file.path, id)]
  if same and opened then opened.symbols:close() end
  if same then return same end
  local known = { symbols = opened and opened.symbols or false, id = id, opened = opened,
    held = opened and file.held, places = {}, path = file.path, base = text.base_name(file.path) }
  self.files[id_key(file.path, id)] = known
  return known
end

-- Facts about a mapped file; `symbols` is false where there are none. Kept for the files of other
-- profiles, too, for as long as it is the same.
local function known_file(self, file)
  if file.known then return file.known end
  local key = id_key(file.path, mapped.id(file))
  local known = self.mapped[key]
  if not known or not mapped.is_unchanged(known.opened) then
    known = open_known(self, file)
    self.mapped[key] = known
  end
  file.known, file.build_id = known, known.id ~= "" and known.id or nil
  return known
end

--- The symbols of a file that was mapped; nil: there are none, and a remark says why.
---@param file pmclua.core.HitFile
---@return pmclua.core.Symbols?
function Attribution:symbols(file)
  if file.path:sub(1, 1) ~= "/" or file.path:sub(1, 2) == "//" then return nil end
  return known_file(self, file).symbols or nil
end

local function place_in_file(known, offset)
  local code = known.symbols and known.symbols:code(offset)
  if not code then return { fn = known.base, nameless = true } end
  local outer = code.inlined and code.inlined[#code.inlined]
  local place = { fn = code.fn, full = code.full ~= code.fn and code.full or nil, which = code.which,
    is_local = code.is_local, address = code.address, line = code.line,
    first = code.start and offset - (code.address - code.start), bytes = code.bytes,
    source = code.declared or outer and outer.source or code.source,
    line_source = code.source, inlined = code.inlined }
  if not place.fn then
    place.nameless = true
    place.fn = code.start and ("%s+0x%x"):format(known.base, code.start) or known.base
  end
  return place
end

local function written_of(known)
  -- A process may see other files than we do: of a program that was found through it there are no sources here.
  local is_here = known.symbols and known.symbols.path == known.path
  known.written = known.written or written.new(is_here and known.symbols or nil)
  return known.written
end

--- A hash of the source lines of a function without its name; nil: they are not known, or say little.
---@param file pmclua.core.HitFile
---@param place pmclua.Attributed of an instruction of it
---@return string?
function M.text(file, place)
  local known = file.known
  if not (known and known.symbols and place.address and place.source) then return nil end
  return written_of(known):text(place)
end

--- Hashes of the sources of some lines: `written.sources`.
---@param lines pmclua.ProfileLine[]
---@return table<string, pmclua.SourceText> by source
function Attribution:sources(lines)
  return written.sources(lines, function(line)
    local known = self.files[id_key(line.file, line.build_id)]
    return known and written_of(known)
  end)
end

local KEPT_BYTES = 2 ^ 18         -- of code, in a profile

---@class pmclua.KeptCode the code of a function, or of a part of it
---@field from number offset of its first byte in the file
---@field bytes string
---@field machine string "x64", "arm64"

-- The code of the function at a place; nil: it is gone.
local function code_at(known, place)
  if not (known.opened and known.opened.path) then return nil end
  known.code = known.code or {}
  local code = known.code[place.first]
  if code == nil then
    local file = core.open_plain(known.opened.path)
    local is_it = file and mapped.is_unchanged(known.opened)
    local bytes = is_it and file:read_at(place.first, place.bytes)
    if file then file:close() end
    code = bytes and #bytes == place.bytes
      and { from = place.first, bytes = bytes, machine = require("jit").arch } or false
    known.code[place.first] = code
  end
  return code or nil
end

local CALL = 0xe8                 -- x86: and where to, relative to what follows, in 4 bytes

-- Where a call leads whose last byte is at `offset`; nil: another instruction ends there.
local function called_from(known, place, offset)
  local code = place.first and require("jit").arch == "x64" and code_at(known, place)
  local last = offset + 1 - (place.first or 0)
  local call, a, b, c, d = (code and code.bytes or ""):byte(last - 4, last)
  if call ~= CALL or not d then return nil end
  local distance = a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24
  return offset + 1 + (distance < 2 ^ 31 and distance or distance - 2 ^ 32)
end

--- Whether what ends at an offset calls a function: directly, or one of another file through a stub.
---@param file pmclua.core.HitFile
---@param offset number of the last byte of the call
---@param callee pmclua.core.HitFile file of the function
---@param callee_offset number of an instruction of it
---@return boolean
function Attribution:calls(file, offset, callee, callee_offset)
  local place = not file.pid and file.path ~= "[linux]" and self:place(file, offset)
  local to = place and called_from(file.known, place, offset)
  local target = to and self:place(file, to)
  if not target or target.nameless then return false end
  if target.fn:find "@plt$" then return file.path ~= callee.path end
  local own = self:place(callee, callee_offset)
  return file.path == callee.path and target.fn == own.fn and target.which == own.which
    and target.source == own.source
end

--- Keeps the code of functions with a profile, as far as there is room: files may be replaced.
---@param lines pmclua.ProfileLine[] the largest first; those that have code get `code`
function Attribution:keep_code(lines)
  local room = KEPT_BYTES
  for _, line in ipairs(lines) do
    local known, list, seen = self.files[id_key(line.file, line.build_id)], {}, {}
    for _, at in ipairs(known and line.at or {}) do
      local place = known.places[at.address]
      if place and place.first and not seen[place.first] and place.bytes <= room then
        seen[place.first], room = true, room - place.bytes
        list[#list + 1] = code_at(known, place)
      end
    end
    line.code = list[1] and list or nil
  end
end

-- ---- what has no file ----------------------------------------------------------------------------------

local function open_linux(self)
  if self.linux == nil then
    local linux, code = symbols_of.linux(self.kallsyms)
    if code == "EACCES" then
      self:say "Linux hides where its functions are (kernel.kptr_restrict): they are one line"
    elseif code then
      self:say("the functions of Linux have no names: %s: %s", self.kallsyms, code)
    end
    self.linux = linux or false
  end
  return self.linux
end

local function linux_place(self, address)
  local key = tostring(address)
  if not self.linux_places[key] then
    local known, name, module = open_linux(self), nil, nil
    if known then name, module = known:find(address) end
    self.linux_places[key] = { fn = name or "[linux]", kind = "kernel", nameless = not name or nil,
      source = module }
  end
  return self.linux_places[key]
end

local function jit_place(self, pid, address, began_ns)
  if self.jits[pid] == nil then
    local map, why = jit.open(pid, { trusts_processes = self.trust_maps, began_ns = began_ns })
    if why then self:say("%s", why) end
    self.jits[pid] = map or false
  end
  local name = self.jits[pid] and self.jits[pid]:find(address)
  return { fn = name or "[memory]", kind = "jit", nameless = not name or nil }
end

-- ---- the whole -----------------------------------------------------------------------------------------

--- The function, file and line that an instruction belongs to.
---@param file pmclua.core.HitFile
---@param offset number|ffi.cdata* in the file, or an address
---@return pmclua.Attributed
function Attribution:place(file, offset)
  if file.path == "[linux]" then return linux_place(self, offset) end
  if file.pid then return jit_place(self, file.pid, offset, file.since_ns) end
  local known = known_file(self, file)
  local place = known.places[offset]
  if not place then
    place = place_in_file(known, offset)
    known.places[offset] = place
  end
  return place
end

-- How many functions a report shows by default; below this share one is not worth asking a server.
local SHOWN, LEAST_SHARE = 20, 0.01

local function lacks_lines(line)
  return line.at[1] ~= nil and not require("pmclua.base.lists").any(line.at, function(at) return at.line end)
end

--- Asks the servers that the user names for the debug information of what will be shown without names, or without
--- source lines.
---@param lines pmclua.ProfileLine[] of a profile, the largest first
---@param total number of the profile
---@param wants_lines boolean source lines will be shown
---@return boolean has_more a file has more of it now: the lines are to be made anew
function Attribution:complete(lines, total, wants_lines)
  local debuginfod, has_more = require "pmclua.event.debuginfod", false
  for i = 1, debuginfod.is_wanted() and math.min(SHOWN, #lines) or 0 do
    local line = lines[i]
    local known = self.files[id_key(line.file, line.build_id)]
    local is_lacking = line.nameless or wants_lines and lacks_lines(line)
    local is_worth = is_lacking and line.count >= LEAST_SHARE * total and known and known.symbols
    if is_worth and not known.symbols:has_debug_information() then
      local symbols, sentence = debuginfod.complete(known.symbols)
      if symbols then
        known.symbols, known.places, known.written, has_more = symbols, {}, nil, true
      end
      if sentence then self:say("%s", sentence) end
    end
  end
  return has_more
end

--- Remarks on debug information that could not be read.
function Attribution:note_unread()
  local sentences = require("pmclua.event.unread").sentences
  for _, known in pairs(self.files) do
    for _, sentence in ipairs(known.symbols and sentences(known.symbols, known.path) or {}) do
      self:say("%s", sentence)
    end
  end
end

--- Forgets the maps of processes that have ended: a later one may get the same pid.
function Attribution:forget_processes() self.jits = {} end

--- Closes the files that it has open.
function Attribution:close()
  for _, known in pairs(self.files) do
    if known.symbols then known.symbols:close() end
    if known.held then known.held:close() end
  end
  self.files, self.mapped = {}, {}
end

return M
