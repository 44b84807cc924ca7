--- system_call.lua: how often a command makes system calls: "syscalls::openat", "syscalls::total".
--
-- Invariant: such an event has no attr and needs no rights. It is counted in a pass of its own (simulate/system_calls.lua),
-- whose times are not the program's. It counts what the tracepoint syscalls:sys_enter_NAME does.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

M.PMU, M.TOTAL = "syscalls", "total"

local function numbers() return require("pmclua.core.system_calls").numbers() end

--- The spec of an event.
---@param name string of the call
---@return string
function M.spec(name) return ("%s::%s"):format(M.PMU, name) end

--- All names, without the PMU's.
---@return string[]
function M.names() return lists.append({ M.TOTAL }, lists.keys(numbers())) end

--- The event of a name behind "syscalls::".
---@param name string
---@return pmclua.CodedEvent?
function M.find(name)
  if name ~= M.TOTAL and not numbers()[name] then return nil end
  return { source = M.PMU, pmu = M.PMU, simulated = { name }, own_field = text.field(M.spec(name)) }
end

--- Whether an event is one.
---@param event pmclua.Event
---@return boolean
function M.is_one(event) return event.source == M.PMU end

--- The numbers of the calls of some events as the runner has them: "257,41", or "all".
---@param events pmclua.Event[]
---@return string
function M.asked(events)
  local by_name = numbers()
  local list = lists.map(events, function(event) return by_name[event.simulated[1]] end)
  return #list == #events and table.concat(list, ",") or "all"
end

--- The description of an event.
---@param event pmclua.CodedEvent
---@return string
function M.description(event)
  local name = event.simulated[1]
  return name == M.TOTAL and "all system calls, by all threads and processes of a command"
    or ("calls of %s by all threads and processes of a command"):format(name)
end

local NO_RIGHTS = "set-user-ID programs that it starts have no other rights in that pass: pmclua is not root"

--- The outcome of trying one.
---@return pmclua.event.Trial
function M.try()
  if not core.stat "/proc/sys/kernel/seccomp" then
    return { status = "unsupported", why = "this kernel has no seccomp filters, by which calls are counted" }
  end
  return { status = "counted", note = core.uid() ~= 0 and NO_RIGHTS or nil }
end

return M
