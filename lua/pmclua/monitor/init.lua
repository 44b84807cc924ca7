--- monitor/init.lua: counting over time.
--
--     for s in pmc.monitor { target = pmc.pid(1234), events = { "cycles", "instructions" },
--                            metrics = { "ipc" }, interval = "1s" } do
--       print(s.time, s.ipc, s:rate "cycles")
--     end
--
-- Intervals end at multiples of their length from the start: a late one does not move the next. Deadlines that were
-- missed are counted in `missed`; their events are in the interval that follows, whose `seconds` is its length.
--
-- After `break` the monitor is still open: `close` closes its descriptors.

local binding = require "pmclua.core.processes"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local reading = require "pmclua.counting.reading"
local interval = require "pmclua.monitor.interval"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

---@class pmclua.Monitor call it, or use it in a for loop, for the next interval; nil: it has ended
---@field columns table[] of its events and metrics: field, title, unit, and `event` or `metric`
---@field by_field table<string, table>
---@field target pmclua.Target
---@field ended? "target"|"command"|"count"|"duration"|"interrupted"|"closed"
---@field result? table of a command that has ended: outcome, exit, signal
---@field signal? integer that interrupted it
local Monitor = require("pmclua.public.class").new("counting", "monitor",
  "ended result signal held group first last ending is_started is_closed next_number start_ns last_ns "
  .. "release columns by_field target")

local M = {}

-- ---- what is asked ------------------------------------------------------------------------------------

local SHORTEST = 1e-3

local function check_limits(spec)
  local seconds = require("pmclua.base.units").seconds
  local limits = { interval = seconds(spec.interval or 1), count = spec.count,
    duration = spec.duration and seconds(spec.duration), delay = spec.delay and seconds(spec.delay) }
  if limits.interval < SHORTEST then explain.misuse("pmc.monitor: an interval must be at least 1 ms", 3) end
  return limits
end

local DEFAULT_EVENTS = { "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions",
  "branches", "branch-misses" }

-- CPUs are counted by the clock that always runs, tasks by their own.
local function default_events(spec)
  local by_cpu = spec.target and spec.target.by_cpu or not spec.target and not spec.command
  return { by_cpu and "cpu-clock" or "task-clock", unpack(DEFAULT_EVENTS) }
end

local function declared(spec)
  local metrics = spec.metrics or not spec.events and { "ipc" } or nil
  local declaration, mistakes = require("pmclua.counting.asked").check(
    { events = spec.events or default_events(spec), metrics = metrics }, interval.reserved)
  if #mistakes > 0 then explain.misuse("pmc.monitor: " .. table.concat(mistakes, "\n  "), 3) end
  return declaration
end

local function command_of(value)
  if value == nil then return nil end
  local command, why = require("pmclua.workload").from(value)
  if not command then explain.misuse("pmc.monitor: " .. why, 3) end
  if not command.is_executed then explain.misuse("pmc.monitor: command must be a command", 3) end
  return command
end

local function variant_of(metric, events)
  local counted = lists.by(lists.where(events, function(event) return not event.status end), "field")
  return lists.find(metric.variants or {}, function(variant)
    return lists.all(variant.needs, function(name) return counted[name] end)
  end) or metric
end

local function columns_of(declaration)
  local columns = lists.map(declaration.events, function(event)
    return { field = event.field, title = event.name, unit = event.unit, event = event }
  end)
  return lists.append(columns, lists.map(declaration.metrics, function(asked)
    local metric = variant_of(asked, declaration.events)
    return { field = metric.name, title = metric.name, unit = metric.unit, metric = metric }
  end))
end

-- ---- starting -----------------------------------------------------------------------------------------

-- Everything open, nothing started yet. `who` is who is tried for: the target, or nil for a command.
local function open(self, declaration, who, inherit)
  local passes = require("pmclua.counting.passes").plan(declaration.events, "multiplex", who,
    { inherit = inherit, simulates = false })
  self.columns = columns_of(declaration)
  self.by_field = lists.by(self.columns, "field")
  local groups, watch = passes[1].groups, nil
  -- A command is run all the same.
  if #groups > 0 or not self.held then
    watch = require("pmclua.counting.target.watch").open_planned(self.target, groups, declaration.events)
  end
  self.group = require("pmclua.counting.group").over(declaration.events, watch and groups or {}, watch)
end

local function hold(self, inner, spec)
  self.held = require("pmclua.workload.held_command").start(inner, { pin = spec.pin })
  if self.target then return end
  self.target = require("pmclua.counting.target").held(self.held.pid, not self.limits.delay)
end

local function watch_end(self)
  local ids = self.target.kind == "process" and self.target.ids or {}
  return #ids == 1 and binding.process(ids[1]) or nil
end

--- Starts counting a target, or a command from its start on, at intervals.
---@param options { target?: pmclua.Target, command?: string|function|table, events?: string|string[],
---   metrics?: string|string[], interval?: string|number, duration?: string|number, count?: integer,
---   delay?: string|number, pin?: string, inherit?: boolean }  without target and command: everything;
---   delay: of counting, after the start; inherit: false: without threads and children that are started
---@return pmclua.Monitor
function M.new(options)
  local self = setmetatable({ limits = check_limits(options), index = 0 }, Monitor)
  local inner = command_of(options.command)
  self.target = options.target or not inner and require("pmclua.counting.target").system() or nil
  local declaration = declared(options)
  if self.target then require("pmclua.counting.target").check(self.target) end
  if inner then hold(self, inner, options) end
  local ok, why = pcall(open, self, declaration, options.target or not inner and self.target or nil,
    options.inherit)
  if not ok then
    if self.held then self.held:close() end
    error(why, 0)
  end
  self.ending = watch_end(self)
  self.release = core.hold_interrupts()
  return self
end

-- ---- waiting ------------------------------------------------------------------------------------------

local SLICE_NS = 1e8        -- a signal that comes just before a wait, and a thread's end, are seen after this

local function wait_slice(self, left_ns)
  local slice = math.max(0, math.min(left_ns, SLICE_NS))
  if self.held then return self.held:wait(slice) == "ended" and "command" or nil end
  local what = binding.wait(self.ending, slice)
  if what == "ready" or not self.target:is_alive() then return "target" end
end

-- Waits until `deadline`; why it ended before, or nil.
local function wait_until(self, deadline)
  -- A first interrupt from the terminal went to the command too, which may end as it sees fit.
  local enough = self.held and 2 or 1
  repeat
    if core.interrupts() >= enough then return "interrupted" end
    local ended = wait_slice(self, deadline - core.now_ns())
    if self.group.watch then self.group.watch.dropped:look() end
    if ended then return ended end
  until core.now_ns() >= deadline
end

local function begin_counting(self)
  if not self.target.from_exec then self.group:start() end
  self.group.was_started = true
  self.first, self.start_ns = self.group:read(), core.now_ns()
  self.last, self.last_ns = self.first, self.start_ns
end

local function start(self)
  self.is_started, self.next_number = true, 1
  if self.limits.delay then
    if self.held then self.held:release() end
    local ended = wait_until(self, core.now_ns() + self.limits.delay * 1e9)
    if not ended then begin_counting(self) end
    return ended
  end
  begin_counting(self)
  if self.held then self.held:release() end
end

-- ---- intervals ----------------------------------------------------------------------------------------

local function take(self, missed, partial)
  local now = core.now_ns()
  local counts = self.group:read()
  self.index = self.index + 1
  local sample = interval.new(self, counts - self.last, { index = self.index, missed = missed,
    partial = partial, time = (now - self.start_ns) / 1e9, seconds = (now - self.last_ns) / 1e9 })
  self.last, self.last_ns = counts, now
  return sample
end

local function finish(self, ended)
  self.ended = self.ended or ended
  if ended == "interrupted" then self.signal = core.interrupt_signal() end
  if self.held then self.result = self.held.result end
end

-- The end of the interval that is running; the limit that makes it the last, if one does; and whether it
-- is shorter for that.
local function next_deadline(self)
  local deadline = self.start_ns + self.next_number * self.limits.interval * 1e9
  local limit = self.limits.duration and self.start_ns + self.limits.duration * 1e9
  if limit and limit <= deadline then return limit, "duration", limit < deadline end
  if self.limits.count and self.index + 1 >= self.limits.count then return deadline, "count", false end
  return deadline
end

local function skip_missed(self)
  local length = self.limits.interval * 1e9
  local passed = math.floor((core.now_ns() - self.start_ns) / length)
  local missed = math.max(0, passed - self.next_number)
  self.next_number = self.next_number + missed + 1
  return missed
end

local TOO_SHORT_NS = 1e3    -- for an interval of its own, at the end

local function next_interval(self)
  local ended = not self.is_started and start(self) or nil
  if ended then                    -- before counting began
    finish(self, ended)
    return nil
  end
  local deadline, limit, is_short = next_deadline(self)
  ended = wait_until(self, deadline)
  if ended or limit then finish(self, ended or limit) end
  if ended and core.now_ns() - self.last_ns < TOO_SHORT_NS then return nil end
  return take(self, not ended and skip_missed(self) or 0, ended ~= nil or is_short == true)
end

--- The next interval; nil when the target or command has ended, a limit is reached, or a signal came.
---@return pmclua.MonitorInterval?
function Monitor:next()
  local mode = core.look_for_interrupts "second-kills"
  local sample = not self.ended and next_interval(self) or nil
  core.look_for_interrupts(mode)
  if not sample then self:close() end
  return sample
end

--- The counts from the start until now, as one interval.
---@return pmclua.MonitorInterval? nil: counting has not begun
function Monitor:total()
  if not self.last then return nil end
  return interval.new(self, self.last - self.first, { index = self.index, missed = 0, partial = false,
    time = (self.last_ns - self.start_ns) / 1e9, seconds = (self.last_ns - self.start_ns) / 1e9 })
end

local function refusals(columns)
  return lists.groups(columns, function(column)
    local event = column.event
    return event and event.status and (tostring(event.why):gsub("^cannot open '[^']*': ", "")) or nil
  end)
end

local LONG_NS, LEAST_SHARE = 1e7, 0.1

local function is_dropped(self)
  local watch = self.group.watch
  return watch and watch.dropped.name ~= nil
end

local function lost_at_exec(self)
  local result = self.target.from_exec and self.last and self.result
  local cpu_ns = result and result.user_ns and tonumber(result.user_ns + result.system_ns) or 0
  if cpu_ns < LONG_NS or #self.group.fields == 0 then return nil end
  local counts = self.last - self.first
  local enabled_ns, running_ns = counts:enabled_ns(), counts:running_ns()
  local _, share = reading.status({}, enabled_ns, running_ns)
  if enabled_ns >= LEAST_SHARE * cpu_ns or share == 0 or not self.group.watch or is_dropped(self) then
    return nil
  end
  return ("counting covered %s of %s of CPU time: Linux dropped the events; %s"):format(
    text.time(enabled_ns), text.time(cpu_ns), require("pmclua.explain.dropped").CAUSES)
end

local function lost_with_runner(self)
  local result = self.result
  if result and result.lost then return "the command was lost: " .. result.lost end
  if result and result.outcome == "not-started" then
    return "the command was not run: " .. self.held.command:complaint(result)
  end
end

local function kept_off(self)
  if not self.last then return nil end
  local counts = self.last - self.first
  local names = lists.map(self.columns, function(column)
    local event = column.event
    local share = event and not event.tool and counts:share(column.field)
    return share and reading.was_kept_off(event, share) and text.safe(event.name) or nil
  end)
  if #names == 0 or is_dropped(self) then return nil end
  return ("%s: not on the PMU all the time: other events, or something else (another perf, an NMI watchdog), "
    .. "was using its counters; stop that, or count fewer events at once"):format(text.list(names))
end

-- Events that read only 0 from the start to the end, and that nothing vouches for.
local function only_zeros(self)
  local counts = self.ended and self.last and self.last - self.first
  local groups = lists.groups(counts and self.columns or {}, function(column)
    if not column.event or column.event.tool then return nil end
    local status, why = counts:status(column.field)
    return status == "unverified" and why or nil
  end)
  return lists.map(groups, function(columns)
    local names = lists.map(columns, function(column) return text.safe(column.event.name) end)
    return ("%s: %s"):format(text.list(names), columns.key)
  end)
end

--- Remarks on what is counted: events that are not, with the reason; CPUs that went offline,
--- threads that may be missing.
---@return string[]
function Monitor:remarks()
  local list = self.group:remarks()
  list[#list + 1] = lost_at_exec(self)
  list[#list + 1] = lost_with_runner(self)
  local left = self.result and self.result.left
  list[#list + 1] = left and require("pmclua.explain.dropped").left(left) or nil
  list[#list + 1] = kept_off(self)
  lists.append(list, only_zeros(self))
  for _, group in ipairs(refusals(self.columns)) do
    local names = lists.map(group, function(column) return text.safe(column.event.name) end)
    list[#list + 1] = ("not counted: %s: %s"):format(text.list(names), group.key)
  end
  return list
end

--- Ends it; a command that still runs is ended too. A second time does nothing.
function Monitor:close()
  self.ended = self.ended or "closed"
  if self.is_closed then return end
  self.is_closed = true
  self.release()
  self.group:close()
  if self.ending then self.ending:close() end
  if self.held then self.held:close() end
end

Monitor.__call = function(self) return self:next() end
Monitor.__tostring = function(self) return "monitor of " .. self.target.name end

return M
