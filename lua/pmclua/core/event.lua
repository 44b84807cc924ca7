--- event.lua: the binding of single events: perf_event_open, ioctls and reads as the system calls make them.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()
local exact, refused = core.exact, core.private_refused

local M = {}

--- One event as the system call makes it: attr fields by ABI name in, ioctls by ABI name.
---@class pmclua.core.Event
local Event = {}
Event.__index = Event

--- perf_event_open, and the event's filter. Returns the open event, or nil and a failure table, whose
--- `filter` is set where it was the filter that was refused.
---@param fields table attr fields by ABI name, and `filter`
---@param options? { pid?: integer, cpu?: integer, group?: pmclua.core.Event, flags?: integer }
function M.open(fields, options)
  options = options or {}
  local attr = ffi.new "struct pmclua_attr"
  local text = core.private_fill_attr(attr, fields)
  local pid, cpu = options.pid or 0, options.cpu or -1
  local leader = options.group and options.group:fd() or -1
  local fd = core.private_open_again(C.pmclua_open, attr, pid, cpu, leader, options.flags or 0)
  local function fail(errnum, filter)
    return nil, { errnum = errnum, code = core.errno_name(errnum), index = 1, group = 1, pid = pid, cpu = cpu,
      attr = core.private_attr_table(attr), text = text, filter = filter }
  end
  if fd < 0 then return fail(-fd) end
  local event = setmetatable({ handle = core.private_descriptor(fd) }, Event)
  if not fields.filter then return event end
  local ok, _, errnum = event:ioctl("SET_FILTER", fields.filter)
  if ok then return event end
  event:close()
  return fail(errnum, true)
end

function Event:fd()
  return self.handle and self.handle[0] or error("this event is closed", 0)
end

local MEMORY_IOCTLS = { PERIOD = true, ID = true }
local ENOENT = 2

-- Raises where the ABI has none of that name.
local function ioctl_number(name) return C["PMCLUA_IOC_" .. name] end

--- An ioctl by its name in the ABI. Returns what it gives back (ID: the id; QUERY_BPF: a list), or nil,
--- errno name and number.
---@param name string "ENABLE", "PERIOD", "SET_FILTER", …
---@param argument? number|string|table|pmclua.core.Event
function Event:ioctl(name, argument)
  local known, request = pcall(ioctl_number, name)
  if not known then return refused(-ENOENT) end
  local value, memory = 0, nil
  if MEMORY_IOCTLS[name] then
    memory = ffi.new("uint64_t[1]", argument or 0)
  elseif type(argument) == "string" then
    memory = ffi.cast("void *", ffi.cast("const char *", argument))
  elseif name == "MODIFY_ATTRIBUTES" then
    memory = ffi.new "struct pmclua_attr"
    core.private_fill_attr(memory, argument)
    C.pmclua_attr_set(memory, "size", ffi.sizeof(memory))
  elseif name == "QUERY_BPF" then
    memory = ffi.new("uint32_t[?]", 2 + 64, { 64 })
  elseif type(argument) == "table" then
    value = argument:fd()
  else
    value = argument or 0
  end
  local result = C.pmclua_ioctl(self:fd(), request, value, memory)
  if result < 0 then return refused(result) end
  if name == "ID" then return exact(memory[0]) end
  if name == "QUERY_BPF" then
    local ids = {}
    for i = 1, memory[1] do ids[i] = memory[1 + i] end
    return ids
  end
  return result
end

local words_read                                -- made once: 16 KiB always suffice, the OS kernel caps reads at it

--- read(2): the 64-bit words that the event's read_format asks for, exact; or nil, errno name, number.
---@return (number|ffi.cdata*)[]?
function Event:read()
  local buffer = words_read or ffi.new "uint64_t[2048]"
  words_read = buffer
  local got = tonumber(C.pmclua_read(self:fd(), buffer, ffi.sizeof(buffer)))
  if got < 0 then return refused(got) end
  local words = {}
  for i = 1, got / 8 do words[i] = exact(buffer[i - 1]) end
  return words
end

function Event:close() core.private_close(self) end

return M
