--- tracing.lua: the pass in which a command's system calls are timed, and what came of it as profiles.
--
-- Tracing costs each call some hundred nanoseconds, so the pass counts nothing else. What it adds is
-- measured on a call that does nothing, and taken off. A profile's lines are names of system calls.

local lists = require "pmclua.base.lists"

local M = {}

local ENTER, LEAVE = "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"

local function id_of(name)
  local event = (require("pmclua.event").parse(name) or {})[1]
  if not event or not event.attr then return nil, event and event.absent end
  local tried = require("pmclua.event.try").event(event)
  if tried.status ~= "counted" then return nil, tried.why end
  return tonumber(event.attr.config)
end

local NO_TRACEPOINTS = "Linux's tracepoints of system calls cannot be read: that takes root, or a tracefs "
  .. "that you may read"

local ONLY_COMMANDS = "only the system calls of commands are timed"

--- The tracepoints that are needed; nil and why not.
---@return { enter: integer, leave: integer }? points
---@return string? why
function M.points()
  local enter, why = id_of(ENTER)
  local leave = enter and id_of(LEAVE)
  if not leave then return nil, why and tostring(why) or NO_TRACEPOINTS end
  return { enter = enter, leave = leave }
end

--- The pass of a declaration that asks for it; nil where there is none, and why.
---@param declaration pmclua.Declaration
---@return pmclua.Pass?
---@return string? why
function M.pass(declaration)
  if not declaration.system_calls then return nil end
  if lists.any(declaration.workloads, function(workload) return workload.kind ~= "command" end) then
    return nil, ONLY_COMMANDS
  end
  local points, why = M.points()
  if not points then return nil, why end
  return { groups = {}, events = {}, traced = points }
end

-- ---- profiles ----

local function add(profile, name, count, calls)
  if count <= 0 and calls == 0 then return end
  profile.total = profile.total + count
  table.insert(profile.lines,
    { file = "[system calls]", fn = name, count = count, samples = calls, at = {} })
end

local function new_profile(event)
  return { event = event, unit = "ns", period = 1, total = 0, lines = {}, rest = {}, source = "trace" }
end

-- What of blocked time was waiting for a CPU already, because the thread could go on: as a share. Linux has
-- all its waiting on account; of that the switches themselves tell what it waited when it lost its CPU.
local function late_share(calls, wait_ns)
  local blocked, waited = 0, 0
  for _, row in ipairs(calls.rows) do
    if row.is_first then blocked, waited = blocked + row.blocked_ns, waited + row.waited_ns end
  end
  local late = math.max(0, (wait_ns or 0) - waited)
  return blocked > 0 and math.min(1, late / blocked) or 0
end

-- What others took of the CPU while it was in the call is no part of it, nor what tracing added.
local function own_ns(row, calls, late)
  local added = calls.traced_ns > 0 and row.name ~= "none" and row.name ~= "open"
    and math.max(0, calls.traced_ns - calls.call_ns) or 0
  return math.max(0, row.total_ns - row.waited_ns - late * row.blocked_ns - added * row.count)
end

--- The names of the profiles: time in calls of the first thread (blocked in them or not); of it blocked;
--- time on CPUs in calls of the other threads; how long a page fault takes; how many records were lost.
M.TIME, M.BLOCKED, M.OTHERS = "system-call-time", "system-call-blocked", "system-call-others"
M.FAULT, M.LOST = "page-fault-time", "system-call-lost"

--- What a traced repetition found, as profiles.
---@param calls pmclua.SystemCalls of the runner's result
---@param wait_ns? number how long the first thread waited for CPUs, as Linux has it
---@return pmclua.Profile[]
function M.profiles(calls, wait_ns)
  local late = late_share(calls, wait_ns)
  local time, blocked = new_profile(M.TIME), new_profile(M.BLOCKED)
  local others, fault = new_profile(M.OTHERS), new_profile(M.FAULT)
  for _, row in ipairs(calls.rows) do
    local own = math.floor(own_ns(row, calls, row.is_first and late or 0))
    if row.is_first then
      add(time, row.name, own, row.count)
      add(blocked, row.name, math.floor((1 - late) * row.blocked_ns), row.count)
    else
      add(others, row.name, math.max(0, own - row.blocked_ns), row.count)
    end
  end
  add(fault, "page fault", calls.fault_ns, 1)
  if calls.lost == 0 then return { time, blocked, others, fault } end
  local lost = new_profile(M.LOST)
  lost.unit = ""
  add(lost, "records without room", calls.lost, calls.lost)
  return { time, blocked, others, fault, lost }
end

return M
