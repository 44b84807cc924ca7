--- tracing.lua: the pass in which a command's system calls are traced: how many, and how long they were blocked.
--
-- Tracing costs each call a microsecond or more, so the pass counts nothing else, and no time of a call on a CPU comes
-- from it: samples tell that.

local lists = require "pmclua.base.lists"

local M = {}

local ENTER, LEAVE, WAKE = "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_waking"

local function id_of(name)
  local event = (require("pmclua.event").parse(name) or {})[1]
  if not event or not event.attr then return nil, event and event.absent end
  local tried = require("pmclua.event.try").event(event)
  if tried.status ~= "counted" then return nil, tried.why end
  return tonumber(event.attr.config)
end

local NO_TRACEPOINTS = "Linux's tracepoints of system calls cannot be read: that takes root, or a tracefs "
  .. "that you may read"

local ONLY_COMMANDS = "only the system calls of commands are traced"

-- The tracepoints that are needed; nil and why not.
local function points_here()
  local enter, why = id_of(ENTER)
  local leave = enter and id_of(LEAVE)
  if not leave then return nil, why and tostring(why) or NO_TRACEPOINTS end
  return { enter = enter, leave = leave, wake = (id_of(WAKE)) }
end

--- The pass of a declaration that asks for it; nil where there is none, and why.
---@param declaration pmclua.Declaration
---@return pmclua.Pass?
---@return string? why
function M.pass(declaration)
  if not declaration.system_calls then return nil end
  if not lists.all(declaration.workloads, function(workload) return workload.takes.system_calls end) then
    return nil, ONLY_COMMANDS
  end
  local points, why = points_here()
  if not points then return nil, why end
  return { groups = {}, events = {}, traced = points }
end

return M
