--- open.lua: perf_event_open as it is: what the OS kernel can do, a script can do.
--
--     local e = pmc.open{ type = 1, config = 2, read_format = 3, disabled = 1 }
--     e:ioctl "ENABLE"; local words = e:read(); e:close()

local core = require "pmclua.core"
local probe_kind = require "pmclua.event.probe_kind"
local explain = require "pmclua.explain"

local open = {}

local TARGETS = { pid = true, cpu = true, group = true, flags = true }

local Event = require("pmclua.public.class").new("counting", "open_event")
Event.__about = function(self) return self.name end

local function raise(self, operation, errnum)
  error(explain.problem { code = core.errno_name(errnum), operation = operation, event = self.name,
    message = ("%s on %s: %s"):format(operation, self.name, core.errno_text(errnum)) }, 0)
end

--- Opens one event. Every attr field goes by its name in the ABI; pid (0: this thread), cpu (-1: any),
--- group (another open event) and flags are the system call's own.
---@param fields table<string, number|boolean|string|table>
---@return table event  :ioctl(name, argument) :read() :fd() :close()
function open.new(fields)
  local attr, target = {}, {}
  for name, value in pairs(fields) do
    if TARGETS[name] then target[name] = value else attr[name] = value end
  end
  local kind = (attr.inherit == true or attr.inherit == 1) and probe_kind.of { attr = attr }
  if kind then
    explain.misuse(("an event of the %s PMU must not be inherited: the counted process could not fork. "
      .. "Leave inherit out"):format(kind), 2)
  end
  if target.group then target.group = target.group.event end
  local ok, event, failure = pcall(core.open, attr, target)
  if not ok then explain.misuse(tostring(event), 2) end
  local name = ("type %s config %s"):format(tostring(attr.type or 0), tostring(attr.config or 0))
  if not event then
    failure.event, failure.has_attr = name, true
    error(explain.open(failure), 0)
  end
  local caution = require("pmclua.event.probe").caution { attr = attr }
  if caution then require("pmclua.host.output").note("%s: %s", name, caution) end
  return setmetatable({ event = event, name = name }, Event)
end

--- An ioctl by its name in the ABI. Returns what it gives back: the id for ID, a list for QUERY_BPF.
---@param name "ENABLE"|"DISABLE"|"REFRESH"|"RESET"|"PERIOD"|"SET_OUTPUT"|"SET_FILTER"|"ID"|"SET_BPF"|"PAUSE_OUTPUT"|"QUERY_BPF"|"MODIFY_ATTRIBUTES"
---@param argument? number|ffi.cdata*|string|table
---@return any
function Event:ioctl(name, argument)
  if getmetatable(argument) == Event then argument = argument.event end
  local result, code, errnum = self.event:ioctl(name, argument)
  if result == nil then
    if code == "ENOENT" then explain.misuse(("perf events have no ioctl '%s'"):format(tostring(name)), 2) end
    raise(self, name, errnum)
  end
  return result
end

--- The 64-bit words of a read(2), as the event's read_format lays them out; exact.
---@return (number|ffi.cdata*)[]
function Event:read()
  local words, _, errnum = self.event:read()
  if not words then raise(self, "read", errnum) end
  return words
end

--- Its descriptor.
---@return integer
function Event:fd() return self.event:fd() end

--- Closes it; a second time does nothing.
function Event:close() self.event:close() end

return open
