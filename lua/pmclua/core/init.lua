--- core/init.lua: the binding: no file outside this room knows FFI.
--
-- Owns every C object that Lua holds: close is explicit and idempotent, use after close raises. Turns
-- u64 into Lua numbers in one place, `exact`. States facts: refusals are failure tables, not sentences.

local ffi = require "ffi"
local declarations = require "pmclua.cdef"
ffi.cdef(declarations.base)

-- The templates of package.cpath that do not depend on the working directory.
local function modules_in_c()
  local templates = {}
  for template in package.cpath:gmatch "[^;]+" do
    if template:sub(1, 1) == "/" then templates[#templates + 1] = template end
  end
  return table.concat(templates, ";")
end

--- The library: PMCLUA_SO; PREFIX/lib/pmclua, where this file is in PREFIX/share/lua/5.1/pmclua; where
--- modules in C are; wherever the loader looks.
local function library()
  local given = os.getenv "PMCLUA_SO"
  local modules = debug.getinfo(1, "S").source:match "^@(.*)/pmclua/core/init%.lua$"
  local beside = modules and modules .. "/../../../lib/pmclua/libpmclua.so"
  local file = beside and io.open(beside)
  if file then file:close() end
  return given or file and beside or package.searchpath("libpmclua", modules_in_c()) or "pmclua"
end

--- The executable exports the core; a plain luajit loads the library.
local function find_core()
  local embedded = pcall(function() return ffi.C.pmclua_version end)
  return embedded and ffi.C or ffi.load(library())
end

local C = find_core()
local core = { version = ffi.string(C.pmclua_version()) }

for _, name in ipairs { "attr", "failure", "message", "result" } do
  assert(ffi.sizeof("struct pmclua_" .. name) == tonumber(C.pmclua_size_of(name)),
    "pmclua: the core and its declaration differ in struct pmclua_" .. name)
end

--- The core's own functions, for the other files of this layer (lua/pmclua/core/) alone.
---@param part? string of pmclua.h that is declared now, once: "pfm", "regions", "symbols", "lines"
function core.private_C(part)
  if declarations[part] then ffi.cdef(declarations[part]) end
  declarations[part or ""] = nil
  return C
end

-- ---- numbers ----

local EXACT_LIMIT, EXACT_LIMIT_U64 = 2 ^ 53, 2ULL ^ 53

-- The parentheses below: LuaJIT gives up a function that is often called by interpreted code and
-- ends in `return tonumber(…)`, and from then on no loop that calls it is compiled (lua/README.md).

--- A u64 as Lua has it exactly: a number to 2^53, the u64 itself beyond.
---@param value ffi.cdata*|number
---@return number|ffi.cdata*
function core.exact(value)
  local number = tonumber(value)       -- comparing u64 takes interpreted code as long as all the rest
  if number < EXACT_LIMIT or value == EXACT_LIMIT_U64 then return number end
  return value + 0ULL                  -- what a const pointer leads to is of a type that cannot be formatted
end
local exact = core.exact

--- The exact sum of two exact values, of which either may be absent.
---@param a number|ffi.cdata*|nil
---@param b number|ffi.cdata*|nil
---@return number|ffi.cdata*|nil
function core.sum(a, b)
  if a == nil or b == nil then return a or b end
  return exact((0ULL + a) + b)
end

--- An unsigned number in text, decimal or 0x…; nil if it is no number or above 2^64-1.
---@param text string
---@return number|ffi.cdata*|nil
function core.u64(text)
  local value = ffi.new "uint64_t[1]"
  if C.pmclua_parse_u64(text, value) < 0 then return nil end
  return exact(value[0])
end

--- Exact decimal text of a whole number or a u64.
---@param value number|ffi.cdata*
---@return string
function core.decimal(value) return ("%u"):format(value) end

--- True for a u64 as `exact` leaves those above 2^53.
function core.is_u64(value) return ffi.istype("uint64_t", value) end

-- ---- errno ----

---@param errnum integer
---@return string code "EACCES"; "E123" where this system has no name for it
function core.errno_name(errnum)
  return core.private_text(C.pmclua_errno_name(errnum)) or "E" .. errnum
end

---@param errnum integer
---@return string text "Permission denied"
function core.errno_text(errnum)
  return core.private_text(C.pmclua_errno_text(errnum)) or "error " .. errnum
end

---@param signal integer
---@return string name "SIGSEGV"
function core.signal_name(signal)
  return core.private_text(C.pmclua_signal_name(signal)) or "signal " .. signal
end

--- A C function's -errno as nil, the errno's name and its number.
local function refused(result) return nil, core.errno_name(-result), -result end
core.private_refused = refused

--- The result of a C function that gives nothing else: true, or as `refused`.
local function done(result)
  if result < 0 then return refused(result) end
  return true
end
core.private_done = done

-- ---- what C owns ----

local function close_descriptor(handle) C.pmclua_close(handle[0]) end

--- A handle of a descriptor, whose number is handle[0]; it is closed at the latest when nobody refers to the handle.
function core.private_descriptor(fd) return ffi.gc(ffi.new("int32_t[1]", fd), close_descriptor) end

--- Closes `owner.handle` in C, by default a descriptor; a second call does nothing.
function core.private_close(owner, close)
  if owner.handle then (close or close_descriptor)(ffi.gc(owner.handle, nil)) end
  owner.handle = nil
end

--- An object of a class whose handle C has made and frees; or as `refused`.
---@param class table
---@param name string of the handle's struct
---@param open function C's: of a place for the handle and what follows; 0 or -errno
---@param close function C's
---@return table?, string? code, integer? errnum
function core.private_opened(class, name, open, close, ...)
  local handle = ffi.new("struct " .. name .. " *[1]")
  local result = open(handle, ...)
  if result < 0 then return refused(result) end
  return setmetatable({ handle = ffi.gc(handle[0], close) }, class)
end

local EMFILE = 24

--- Calls fn, and once more where it lacks a descriptor: those of lost handles are closed when these are collected.
function core.private_open_again(fn, ...)
  local result = fn(...)
  if result ~= -EMFILE then return result end
  local collects = collectgarbage "isrunning"
  collectgarbage()
  if not collects then collectgarbage "stop" end
  return fn(...)
end

--- A text of C's; nil for NULL.
function core.private_text(pointer) return pointer ~= nil and ffi.string(pointer) or nil end

--- `count` bytes in hexadecimal; nil where there are none.
function core.private_hex(bytes, count)
  local digits = {}
  for i = 1, count do digits[i] = ("%02x"):format(bytes[i - 1]) end
  return count > 0 and table.concat(digits) or nil
end

-- ---- attr ----

-- Fields that share a word with another and would be listed twice.
local SECOND_NAMES = {
  sample_freq = true, wakeup_watermark = true, bp_addr = true, kprobe_func = true, uprobe_path = true,
  bp_len = true, kprobe_addr = true, probe_offset = true,
}
-- Fields that may be given as text: the attr then points to it.
local TEXT_FIELDS = { kprobe_func = true, uprobe_path = true }
-- Beside the ABI's fields there may be `filter`, a text: what a tracepoint is filtered by once it is open.

--- Every attr field by its name in the ABI, in ABI order.
---@return string[]
function core.attr_fields()
  local names, index = {}, 0
  while true do
    local name = C.pmclua_attr_name(index)
    if name == nil then return names end
    index = index + 1
    names[index] = ffi.string(name)
  end
end

--- Sets an attr from its fields; returns the text that it points to, which must outlive it.
function core.private_fill_attr(attr, fields)
  ffi.fill(attr, ffi.sizeof(attr))
  local text
  for name, value in pairs(fields) do
    if type(value) == "boolean" then value = value and 1 or 0 end
    if type(value) == "string" and TEXT_FIELDS[name] then
      text = value
      value = ffi.cast("uintptr_t", ffi.cast("const char *", text))
    end
    local is_number = type(value) == "number" or type(value) == "cdata"
    local result = name == "filter" and 0 or is_number and C.pmclua_attr_set(attr, name, value) or -1
    if result < 0 then
      local why = result == -2 and "no attr field is called '%s'" or "attr field '%s' cannot hold %s"
      error(why:format(name, tostring(value)), 0)
    end
  end
  return text
end

--- The fields of an attr that are not 0.
function core.private_attr_table(attr)
  local fields, value = {}, ffi.new "uint64_t[1]"
  local index = C.pmclua_attr_next(attr, 0)
  while index >= 0 do
    local name = ffi.string(C.pmclua_attr_name(index))
    if not SECOND_NAMES[name] and C.pmclua_attr_get(attr, name, value) == 0 then
      fields[name] = exact(value[0])
    end
    index = C.pmclua_attr_next(attr, index + 1)
  end
  return fields
end

--- An attr as the OS kernel reads it, for programs that open it themselves. Raises for a field that is
--- text: its address would mean nothing elsewhere.
---@param fields table attr fields by ABI name
---@return string bytes
function core.attr_bytes(fields)
  local attr = ffi.new "struct pmclua_attr"
  local text = core.private_fill_attr(attr, fields)
  if text then error("an attr that points to text cannot be given away", 0) end
  C.pmclua_attr_set(attr, "size", ffi.sizeof(attr))
  return ffi.string(attr, ffi.sizeof(attr))
end

--- An error, as explain.lua takes it; indices count from 1, 0 is none in particular. Of a cgroup the
--- pid is the descriptor of its folder.
function core.private_failure_table(failure, is_cgroup)
  return {
    errnum = failure.errnum, code = core.errno_name(failure.errnum),
    index = failure.index + 1, group = failure.group + 1, is_cgroup = is_cgroup or nil,
    pid = is_cgroup and -1 or failure.pid, cpu = failure.cpu, attr = core.private_attr_table(failure.attr),
    filter = failure.filter == 1 or nil, ring = failure.filter == 2 or nil,
  }
end

-- ---- ways of reading ----

-- The core's number for each way of reading: "auto" and "user" are the same to it.
local READS = { syscall = 0, auto = C.PMCLUA_READ_USER, user = C.PMCLUA_READ_USER,
  toggle = C.PMCLUA_READ_TOGGLE }
local METHODS = { [C.PMCLUA_BY_SYSCALL] = "syscall", [C.PMCLUA_BY_USER] = "user",
  [C.PMCLUA_BY_TOGGLE] = "toggle" }

--- The options of a group in the core's terms.
---@param options { directory?: integer, on_exec?: boolean, pinned?: boolean, leads?: boolean, read?: string }
---@return integer flags
function core.private_group_flags(options)
  return (options.on_exec and C.PMCLUA_ON_EXEC or 0) + (options.pinned and C.PMCLUA_PINNED or 0)
    + (options.directory and C.PMCLUA_CGROUP or 0) + (options.leads and C.PMCLUA_LEADS or 0)
    + READS[options.read or "syscall"]
end

--- "syscall", "user" or "toggle", of the core's number for it.
function core.private_method(number) return METHODS[number] end

-- ---- the other rooms of this layer, loaded when first used ----

local ROOMS = {
  runner = { "BUILD", "OUTPUT", "event_set", "message", "runner", "take", "task" },
  host = { "breakpoints_fire", "call_script", "can_load", "catch_interrupts", "check_cpus", "clock_hz",
    "columns", "folder", "hash", "hold_interrupts",
    "interrupt_signal", "interrupts", "is_terminal", "load", "look_for_interrupts", "now_ns",
    "pause", "pid", "pin", "take_interrupt", "tick_ns", "uid" },
  event = { "open" },
  group = { "empty_buffer", "group", "number", "raw", "word" },
  files = { "check_place", "create_temporary", "identity", "is_mapped_as", "make_fifo",
    "make_folder", "mkdir", "open_plain", "open_written", "read_beginning", "read_plain", "real_path",
    "remove_folder", "rename", "replace", "signature", "stat", "write_temporary" },
  pfm = { "pfm" },
  column = { "column", "column_expects" },
  lines = { "is_plain", "line_scan", "line_write", "lines", "standard_output", "text" },
  inflate = { "inflate", "can_inflate" },
}

local room_of = {}
for room, names in pairs(ROOMS) do
  for _, name in ipairs(names) do room_of[name] = room end
end

return setmetatable(core, { __index = function(_, name)
  local room = room_of[name]
  if not room then return nil end
  for field, value in pairs(require("pmclua.core." .. room)) do rawset(core, field, value) end
  return rawget(core, name)
end })
