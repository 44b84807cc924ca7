--- data.lua: the binding of what samples accessed.
--
-- Invariant: a block that is read from is held for as long as it is.

local core = require "pmclua.core"
local ffi = require "ffi"
local symbols = require "pmclua.core.symbols"

local exact = core.exact

local C = core.private_C "data"

local M = {}

local KINDS = { [C.PMCLUA_DATA_AT] = "access", [C.PMCLUA_DATA_FED] = "computing with",
  [C.PMCLUA_DATA_COMPUTING] = "computing", [C.PMCLUA_DATA_NO_OPERAND] = "no_operand",
  [C.PMCLUA_DATA_AMBIGUOUS] = "ambiguous", [C.PMCLUA_DATA_LOST] = "address_lost",
  [C.PMCLUA_DATA_NO_CODE] = "no_code", [C.PMCLUA_DATA_RECORDING] = "recording" }

local CERTAINTIES = { [C.PMCLUA_DATA_TOLD] = "told", [C.PMCLUA_DATA_EXACT] = "exact",
  [C.PMCLUA_DATA_REDONE] = "redone", [C.PMCLUA_DATA_NEXT] = "next", [C.PMCLUA_DATA_CHAIN] = "chain",
  [C.PMCLUA_DATA_BASE] = "base" }

---@class pmclua.core.Access what one sample accessed
---@field kind "access"|"computing with"|"computing"|"no_operand"|"ambiguous"|"address_lost"|"no_code"|"recording"
---  computing with: what
---  was loaded from there; those after it have no address
---@field file? integer number of what is mapped there
---@field code? integer number of the file of its instruction, which is at `code_offset` there
---@field has_place boolean the address is certain to the byte, not only to the object
---@field is_write boolean
---@field is_stack boolean
---@field is_in_frame boolean of a stack: in the frame of the function that was sampled
---@field is_behind_file boolean mapped behind `file`, whose zeroed variables may be there
---@field is_block boolean a block of the heap: `start` and `bytes` are its
---@field site? integer of a block: its number in `pmclua.core.HeapLog`
---@field source ffi.cdata* as the PMU tells it (perf_mem_data_src); 0: it does not
---@field cpu? integer that accessed it, of events that tell addresses
---@field is_of_thread boolean a variable that each thread has: `address` is its distance from the thread pointer
---@field address number|ffi.cdata*
---@field start number|ffi.cdata* of what is mapped there, `bytes` long
---@field offset number of the address in the file
---@field number number tells mappings apart
---@field pid integer
---@field tid integer
---@field time number ns, of the sample

local function access_of(raw)
  local code = raw.code > 0 and tonumber(raw.code) or nil
  return { kind = KINDS[raw.kind], file = raw.file > 0 and tonumber(raw.file) or nil, code = code,
    code_offset = exact(raw.code_offset), has_place = raw.certainty <= C.PMCLUA_DATA_NEXT,
    is_write = raw.is_write ~= 0, is_stack = raw.is_stack ~= 0, is_of_thread = raw.is_of_thread ~= 0,
    is_behind_file = raw.is_behind_file ~= 0,
    is_in_frame = raw.is_in_frame ~= 0, is_block = raw.is_block ~= 0,
    source = raw.source, cpu = raw.certainty == C.PMCLUA_DATA_TOLD and tonumber(raw.cpu) or nil,
    site = raw.site > 0 and tonumber(raw.site) or nil,
    address = exact(raw.address), start = exact(raw.start), bytes = exact(raw.bytes),
    offset = exact(raw.offset), number = exact(raw.number), size = tonumber(raw.size),
    pid = tonumber(raw.pid), tid = tonumber(raw.tid), time = exact(raw.time_ns) }
end

local function closed(data) C.pmclua_data_close(data) end

---@class pmclua.core.HeapLog what a log of allocations holds
---@field events number
---@field lost number events that found no room
---@field processes number that were recorded
---@field elsewhere number programs that were not: of another PID namespace
---@field sites_lost number blocks whose site found no room
---@field sites { file: integer?, offset: number }[][] by the number that accesses have: where blocks were allocated,
---  innermost first; file: nil: unknown

local function site_of(raw)
  local frames = {}
  for i = 0, tonumber(raw.frames) - 1 do
    frames[i + 1] = { file = raw.file[i] > 0 and tonumber(raw.file[i]) or nil, offset = exact(raw.offset[i]) }
  end
  return frames
end

local function sites_of(data)
  local raw, sites = ffi.new "struct pmclua_site", {}
  while C.pmclua_data_site(data, #sites + 1, raw) == 0 do sites[#sites + 1] = site_of(raw) end
  return sites
end

--- Makes an empty log of allocations, for the preloaded library. true, or nil, an errno's name and number.
---@param path string
function M.make_heap_log(path)
  return core.private_done(C.pmclua_heap_make(path))
end

---@class pmclua.core.LiveBlock
---@field address number
---@field bytes number
---@field born number|ffi.cdata* tells it from a later block at the address

---@class pmclua.core.LiveHeap the log of a program that still runs
local Live = {}
Live.__index = Live

local SITES = 2 ^ 15            -- core/heap/heap.h

--- Opens the log that a program is writing. nil and an errno's name.
---@param path string
---@return pmclua.core.LiveHeap?
---@return string? code
function M.live(path)
  return core.private_opened(Live, "pmclua_live", C.pmclua_live_open, C.pmclua_live_close, path)
end

local function open_log(live) return live.handle or error("this log is closed", 0) end

--- Return addresses of the sites that there are by now, innermost first, by the site's number.
---@param known table<integer, any> those that are left out
---@return table<integer, number[]>
function Live:sites(known)
  local handle, frames, sites = open_log(self), ffi.new("uint64_t[?]", C.PMCLUA_SITE_FRAMES), {}
  for number = 1, SITES - 1 do
    local count = known[number] == nil and C.pmclua_live_site(handle, number, frames) or 0
    for i = 1, count do
      sites[number] = sites[number] or {}
      sites[number][i] = exact(frames[i - 1])
    end
  end
  return sites
end

--- Blocks that a process has now of some sites, by address. Raises where there is no memory.
---@param pid integer
---@param sites integer[]
---@param most integer
---@return pmclua.core.LiveBlock[]
function Live:blocks(pid, sites, most)
  local raw = ffi.new("struct pmclua_block[?]", most)
  local count = C.pmclua_live_blocks(open_log(self), pid, ffi.new("uint32_t[?]", math.max(1, #sites), sites),
    #sites, raw, most)
  assert(count >= 0, "no memory")
  local list = {}
  for i = 0, tonumber(count) - 1 do
    list[i + 1] = { address = exact(raw[i].address), bytes = exact(raw[i].bytes),
      born = exact(raw[i].time_ns) }
  end
  return list
end

--- Closes it; a second time does nothing.
function Live:close() core.private_close(self, C.pmclua_live_close) end

--- The access of each sample, in the order of time. Raises where there is no memory; nil and an errno's name: ELIBACC
--- without Capstone.
---@param profile pmclua.core.Samples with samples by themselves
---@param symbols_of fun(file: integer): pmclua.core.Symbols? of files by number
---@param log? string path of a log of allocations
---@return fun(): pmclua.core.Access?
---@return string? code
---@return pmclua.core.HeapLog?
function M.each(profile, symbols_of, log)
  local handle = ffi.new "struct pmclua_data *[1]"
  assert(C.pmclua_data_open(handle, profile.block) == 0, "no memory")
  local data = ffi.gc(handle[0], closed)
  for number in pairs(profile.record_files) do
    local its = symbols_of(number)
    if its then C.pmclua_data_code(data, number, symbols.handle_of(its)) end
  end
  local raw = ffi.new "struct pmclua_heap"
  local opened = log and C.pmclua_data_heap(data, log, raw) or 0
  if opened < 0 then return nil, core.errno_name(-opened) end
  local accesses = ffi.new("struct pmclua_access[?]", math.max(1, profile.records))
  local result = C.pmclua_data_find(data, accesses)
  local heap = log and result >= 0 and { events = exact(raw.events), lost = exact(raw.lost),
    processes = exact(raw.processes), elsewhere = exact(raw.elsewhere),
    sites_lost = exact(raw.sites_lost), sites = sites_of(data) } or nil
  closed(ffi.gc(data, nil))
  if result < 0 then return nil, core.errno_name(-result) end
  local i = -1
  return function()
    i = i + 1
    return i < profile.records and access_of(accesses[i]) or nil
  end, nil, heap
end

local MACHINES = { x64 = 62, arm64 = 183 }     -- EM_*

---@class pmclua.core.Recorded a sample of code that is here as bytes
---@field machine "x64"|"arm64"
---@field code string
---@field start integer address of its first byte
---@field instruction integer address of the sample's
---@field registers (number|ffi.cdata*)[] as the machine numbers them, from 0: rax rcx rdx rbx rsp …; x0 to x30, sp
---@field flags? integer

--- The access of a recorded sample's instruction; `certainty` is "exact", "redone", "next", "chain" or "base".
---@param recorded pmclua.core.Recorded
---@return pmclua.core.Access? nil and the name of an errno: ELIBACC without Capstone
---@return string? code
function M.trace(recorded)
  local general, raw = ffi.new "uint64_t[32]", ffi.new "struct pmclua_recorded"
  local access, known = ffi.new "struct pmclua_access", 0
  for number, value in pairs(recorded.registers) do
    general[number], known = value, known + 2 ^ number
  end
  raw.code, raw.start, raw.bytes = recorded.code, recorded.start, #recorded.code
  raw.instruction, raw.general, raw.known = recorded.instruction, general, known
  raw.flags, raw.machine = recorded.flags or 0, MACHINES[recorded.machine]
  local result = C.pmclua_data_trace(raw, access)
  if result < 0 then return nil, core.errno_name(-result) end
  local traced = access_of(access)
  traced.certainty = CERTAINTIES[access.certainty]
  return traced
end

---@class pmclua.core.Variable
---@field name string
---@field address number as the file has it; of a variable of threads within their block
---@field bytes number
---@field offset number how far into it that is
---@field is_of_threads boolean each thread has its own

local function variable_of(raw, result)
  if result < 0 then return nil, core.errno_name(-result) end
  return { name = ffi.string(raw.name), address = exact(raw.address), bytes = exact(raw.bytes),
    offset = exact(raw.offset), is_of_threads = raw.is_of_threads ~= 0 }
end

--- The variable that has a byte of a file; nil: none. ERANGE: the program that is loaded from it has nothing there.
---@param its pmclua.core.Symbols
---@param offset number in the file
---@return pmclua.core.Variable?
---@return string? code
function M.variable(its, offset)
  local raw = ffi.new "struct pmclua_variable"
  return variable_of(raw, C.pmclua_symbols_variable(symbols.handle_of(its), offset, raw))
end

--- The same of a variable of threads.
---@param its pmclua.core.Symbols of the program
---@param distance number from the thread pointer
---@return pmclua.core.Variable?
function M.thread_variable(its, distance)
  local raw = ffi.new "struct pmclua_variable"
  return variable_of(raw, C.pmclua_symbols_thread_variable(symbols.handle_of(its), distance, raw))
end

--- The member that has a byte of a variable, as it is written behind the name: "[3].hits"; nil: the debug information does
--- not say.
---@param its pmclua.core.Symbols
---@param variable pmclua.core.Variable
---@param offset number in the variable
---@param most? integer elements of larger arrays are all called "[]"; default: of every array by their number
---@return string?
---@return number? offset of the byte in the member
---@return boolean? is_padding behind the last name: no member has the byte
function M.member(its, variable, offset, most)
  local raw, member = ffi.new "struct pmclua_variable", ffi.new "struct pmclua_member"
  raw.address, raw.bytes, raw.offset = variable.address, variable.bytes, offset
  raw.is_of_threads = variable.is_of_threads and 1 or 0
  local result = C.pmclua_symbols_member(symbols.handle_of(its), raw, most or 2 ^ 53, member)
  if result < 0 then return nil end
  return ffi.string(member.name), exact(member.offset), member.is_padding ~= 0
end

--- Where samples of an event stand on this CPU: how many were taken in a chain of loads, and how many of them directly
--- behind the load. nil and a failure, as explain.lua takes it, where that cannot be found out.
---@param attr table
---@param period number
---@param milliseconds integer
---@return { samples: number, behind: number }?
---@return table? failure
function M.skid(attr, period, milliseconds)
  local raw, skid = ffi.new "struct pmclua_attr", ffi.new "struct pmclua_skid"
  local text = core.private_fill_attr(raw, attr)
  local result = C.pmclua_skid_test(raw, period, milliseconds, skid)
  if result < 0 then
    return nil, { code = core.errno_name(-result), errnum = -result, pid = 0, cpu = -1, attr = attr,
      ring = skid.has_no_ring == 1 or nil }, text
  end
  return { samples = exact(skid.samples), behind = exact(skid.behind) }
end

return M
