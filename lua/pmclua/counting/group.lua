--- group.lua: the typed group: a field of its counts exists because its event was asked for.
--
--     local g = pmc.group{ "page-faults", "task-clock" }
--     local c = g:count(work, 1000)
--     print(c.page_faults, c.raw.page_faults, c:status "page_faults")

local asked = require "pmclua.counting.asked"
local checking = require "pmclua.base.arguments"
local core = require "pmclua.core"
local counting = require "pmclua.counting.counts"
local explain = require "pmclua.explain"

local Counts, new_counts = counting.Counts, counting.new
local EIO = 5

-- ---- the group ----

---@class pmclua.Group
local Group = require("pmclua.public.class").new("counting", "group",
  "handle watch spare read_asked was_started empty_buffer closed")

Group.__about = function(self) return table.concat(self.fields, ", ") end

local group = { Counts = Counts }

-- Symbols in "mem:counter:w" are those of the process that is counted: a target's, or this one.
local function options_for(target)
  return { symbol_address = function(name)
    local pid = target and target.ids and target.ids[1] or "self"
    return require("pmclua.event.symbol").in_process(pid)(name)
  end }
end

-- The events of a list, parsed; raises what is wrong with them at the line that called the caller.
local function events_of(spec)
  local mistakes, wrong = checking.mistakes()
  local events = asked.events(checking.numbered(spec), wrong, options_for(spec.target))
  for _, event in ipairs(events) do
    if Counts[event.field] or event.field == "raw" then
      wrong("'%s' cannot be an event's label: counts have a method of that name", event.field)
    elseif event.tool then
      wrong("%s is measured around a workload; groups count perf events", event.name)
    end
  end
  if #mistakes > 0 then explain.misuse(table.concat(mistakes, "\n"), 3) end
  return events
end

-- The members of a perf group have their words from `base` (from 0) on: enabled, running, values.
local function assign_offsets(self, indices, base)
  for k, index in ipairs(indices) do
    self.list[index].times, self.list[index].word = base + 1, base + 2 + k
  end
end

-- One perf group of this thread needs no watch, and can be read in user space. nil: there are no descriptors
-- left, and a watch has to raise the limit.
local function open_here(perf_group, events, spec)
  local read = spec.read == "toggle" and "syscall" or spec.read or "auto"
  local handle, failure = core.group(perf_group.attrs, { pinned = spec.pinned, read = read })
  if handle or failure.code == "EMFILE" then return handle end
  failure.group = 1
  error(require("pmclua.counting.target.watch").explain(failure, { perf_group }, events), 0)
end

local function open_target(groups, events, spec)
  for _, perf_group in ipairs(groups) do perf_group.pinned = spec.pinned end
  local target = spec.target or require("pmclua.counting.target").self()
  return require("pmclua.counting.target.watch").open_planned(target, groups, events)
end

--- A group over what is open already: events that were tried, in the perf groups that came of it.
---@param events pmclua.Event[] with status and why where they are not counted
---@param groups pmclua.PerfGroup[]
---@param handle? pmclua.Watch|pmclua.core.Group nil: nothing could be opened
---@return pmclua.Group
function group.over(events, groups, handle)
  local self = setmetatable({ list = {}, fields = {}, slots = {}, started = false, running_counts = 0,
    stops = 0, handle = handle }, Group)
  if handle and handle.group_offset then self.watch = handle end
  for i, event in ipairs(events) do
    local slot = { event = event, note = event.note }
    if event.status then slot.refused = { status = event.status, why = event.why } end
    self.list[i], self.fields[i] = slot, event.field
    self.slots[event.field], self.slots[event.name] = slot, slot
  end
  for i, its_group in ipairs(groups) do
    assign_offsets(self, its_group.events, self.watch and self.watch:group_offset(i) or 0)
  end
  return self
end

--- Opens a group on this thread (or on `target`), stopped.
---@param events string|table { "cycles", "tsc = msr/tsc/", target = pmc.pid(1234), pinned = true, read = "auto" }
---@return pmclua.Group
function group.new(events)
  local options = type(events) == "string" and { events } or events
  if options.read == "user" and options.target then
    explain.misuse("only a group of this thread can be read in user space, not one with a target")
  end
  if options.target then require("pmclua.counting.target").check(options.target) end
  local list = events_of(options)
  local groups = require("pmclua.counting.passes").at_once(list, options.target)
  local handle = not options.target and #groups == 1 and open_here(groups[1], list, options) or nil
  if #groups > 0 and not handle then handle = open_target(groups, list, options) end
  local self = group.over(list, groups, handle)
  self.read_asked = options.read
  return self
end

local function check(operation, ok, _, errnum)
  if not ok then error(explain.system(errnum, operation, "a group"), 0) end
end

local function assert_open(self)
  if self.closed then explain.misuse("this group is closed", 3) end
end

local function refuse_user_space(self)
  self:stop()
  error(explain.problem { code = "EOPNOTSUPP", operation = "read",
    message = "this group cannot be read in user space",
    hint = "it needs events of the CPU's PMU only, and leave: rdpmc of the PMU in sysfs on x86, the sysctl "
      .. 'kernel.perf_user_access on Arm; read = "auto" takes what is possible' }, 0)
end

--- Starts counting.
---@return pmclua.Group
function Group:start()
  assert_open(self)
  if self.read_asked == "toggle" then
    explain.misuse("a toggled group counts only during calls of count", 2)
  end
  if self.handle then check("start", self.handle:start()) end
  self.started, self.was_started = true, true
  if self.read_asked == "user" and self:method() ~= "user" then refuse_user_space(self) end
  return self
end

--- Stops counting; what was counted stays. A call of `count` that is under way then has no count, and raises.
---@return pmclua.Group
function Group:stop()
  assert_open(self)
  if self.handle then check("stop", self.handle:stop()) end
  self.started, self.running_counts, self.stops = false, 0, self.stops + 1
  return self
end

local function snapshot(self)
  if not self.handle then
    -- Stands for the reading of a group in which nothing could be opened.
    self.empty_buffer = self.empty_buffer or core.empty_buffer()
    return self.empty_buffer
  end
  local buffer = self.handle:buffer()
  check("read", self.handle:read_into(buffer))
  return buffer
end

--- Reads all members at once: counts since the group was opened. Subtract two for what lies between.
---@return pmclua.Counts
function Group:read()
  assert_open(self)
  return new_counts(self, snapshot(self))
end

-- The second half of a count: after fn has returned or raised. Counts may nest, or overlap in coroutines: the
-- last one that ends stops the group.
local function finish_count(self, before, after, stops, is_whole, ok, ...)
  if self.closed or self.stops ~= stops then
    if not ok then error(..., 0) end
    assert_open(self)
    explain.misuse("the group was stopped during the call: there is no count of it", 3)
  end
  local others = self.running_counts - 1
  self.running_counts = others > 0 and others or 0
  if others <= 0 and not self.started then is_whole = self.handle:stop() and is_whole end
  is_whole = self.handle:read_into(after) and is_whole
  if not ok then error(..., 0) end
  if not is_whole then error(explain.system(EIO, "read", "a group"), 0) end
  self.handle:subtract(before, after, after)
  self.spare = before
  return new_counts(self, after), ...
end

-- Counts only grow: a stopped group can be read before it is started.
local function begin_count(self, before)
  local is_whole, others = self.handle:read_into(before), self.running_counts
  self.running_counts = others + 1
  if self.started or others > 0 then return is_whole end
  self.was_started = true
  return self.handle:start() and is_whole
end

local function read_after(self, ...) return self:read(), ... end

--- Calls fn(...) between two reads; a group that is not started runs for the call alone. Returns the counts
--- of the call, then what fn returned.
---@param fn function
---@param ... any
---@return pmclua.Counts, any ...
function Group:count(fn, ...)
  assert_open(self)
  if not self.handle then
    self.was_started = true
    return read_after(self, fn(...))
  end
  -- A call of fn may count itself: it finds no spare one.
  local before, after = self.spare or self.handle:buffer(), self.handle:buffer()
  self.spare = nil
  return finish_count(self, before, after, self.stops, begin_count(self, before), pcall(fn, ...))
end

local function nothing() end

--- Overhead of counting, measured on empty regions (101 by default) with the group as it is now, started or not.
---@param regions? integer
---@return table<string, number> median by field of the event, in its unit
---@return table<string, number> minimum
function Group:overhead(regions)
  local values, median, minimum = {}, {}, {}
  for _ = 1, regions or 101 do
    local counts = self:count(nothing)
    for _, field in ipairs(self.fields) do
      values[field] = values[field] or {}
      table.insert(values[field], counts[field])
    end
  end
  for field, list in pairs(values) do
    median[field] = require("pmclua.stats").median(list)
    minimum[field] = list[1] and math.min(unpack(list))
  end
  return median, minimum
end

--- How counts are read: "syscall"; "user": in user space, without system calls; "toggle": a group that is
--- not started runs for the calls of `count` alone. Settled by start.
---@return "syscall"|"user"|"toggle"
function Group:method()
  if not self.started then return "toggle" end
  return self.handle and self.handle.method and self.handle:method() or "syscall"
end

--- Remarks on the counts of a target: CPUs that went offline, threads that may be missing.
---@return string[]
function Group:remarks() return self.watch and self.watch:remarks() or {} end

--- Closes it; counts that were read stay readable. A second time does nothing.
function Group:close()
  if self.handle then self.handle:close() end
  self.closed = true
end

return group
