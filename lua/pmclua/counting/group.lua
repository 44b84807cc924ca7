--- group.lua: the typed group: a field of its counts exists because its event was asked for.
--
--     local g = pmc.group{ "page-faults", "task-clock" }
--     local c = g:count(work, 1000)
--     print(c.page_faults, c.raw.page_faults, c:status "page_faults")

local checking = require "pmclua.base.arguments"
local core = require "pmclua.core"
local counting = require "pmclua.counting.counts"
local dynamic = require "pmclua.event.dynamic"
local explain = require "pmclua.explain"

local Counts, new_counts = counting.Counts, counting.new
local EIO = 5

-- ---- the group ----

---@class pmclua.Group
local Group = {}
Group.__index = Group

local group = { Counts = Counts }

local function each_spec(spec)
  if type(spec) == "string" then return { spec } end
  checking.list("events", checking.numbered(spec), 5)
  local list = {}
  for i, item in ipairs(spec) do
    if type(item) ~= "string" then
      explain.misuse(("event %d is a %s; events are strings"):format(i, type(item)), 4)
    end
    list[i] = item
  end
  return list
end

-- Symbols in "mem:counter:w" are those of the process that is counted: a target's, or this one.
local function options_for(target)
  return { symbol_address = function(name)
    local pid = target and target.ids and target.ids[1] or "self"
    return require("pmclua.event.symbol").in_process(pid)(name)
  end }
end

--- The events of a list, parsed; raises on the first that is none, and on names that would be one field.
---@param specs string|string[]
---@param level? integer whose mistake it is, as error() counts
---@param target? pmclua.Target who is counted; nil: this thread
---@return pmclua.Event[]
function group.events(specs, level, target)
  level = (level or 1) + 1
  local events, seen, options = {}, {}, options_for(target)
  for _, spec in ipairs(each_spec(specs)) do
    local list, problem = require("pmclua.event").parse(spec, options)
    if not list then explain.misuse(explain.spec(spec, problem), level) end
    for _, event in ipairs(list) do
      if seen[event.field] then
        explain.misuse(("'%s' and '%s' would both be the field %s: give one a label, \"name = %s\""):format(
          seen[event.field], event.spec, event.field, event.spec), level)
      end
      if Counts[event.field] or event.field == "raw" then
        explain.misuse(
          ("'%s' cannot be an event's label: counts have a method of that name"):format(event.field), level)
      end
      seen[event.field] = event.spec
    end
    require("pmclua.event").append(events, list)
  end
  if #events == 0 then explain.misuse("a group needs at least one event", level) end
  return events
end

-- What opening an event comes to where `target` (nil: this thread) is counted; `leader`: of its {group}.
local function try_event(event, target, leader)
  local where, why
  if target then
    where, why = target:trial(event)
    if not where then return { status = "unsupported", why = why } end
  end
  return require("pmclua.event.try").event(event, where, leader and leader.attr)
end

--- Fills the group's places; returns the indices of events that can be opened.
local function place_events(self, events, target)
  local usable = {}
  for i, event in ipairs(events) do
    local place = { event = event }
    if event.tool then
      explain.misuse(("%s is measured around a workload; a group holds perf events"):format(event.name), 4)
    end
    local tried = try_event(event, target, self.list[event.leader])
    if tried.status == "counted" then
      usable[#usable + 1] = i
      place.attr, place.note, event.opened = tried.attr, tried.note, tried.attr
    else
      place.refused = tried
    end
    self.list[i], self.fields[i] = place, event.field
    self.places[event.field], self.places[event.name] = place, place
  end
  return usable
end

local function refuse_group(self, failure)
  local counted = {}
  for _, place in ipairs(self.list) do
    if not place.refused then counted[#counted + 1] = place.event.name end
  end
  failure.event = counted[failure.index]
  failure.members = counted
  error(explain.open(failure), 0)
end

-- The members `indices` have their words from `base` (from 0) on: enabled, running, values.
local function assign_words(self, indices, base)
  for k, index in ipairs(indices) do
    self.list[index].times, self.list[index].word = base + 1, base + 2 + k
  end
end

local function attrs_of(self, indices, inherit)
  local attrs = {}
  for k, index in ipairs(indices) do
    attrs[k] = { inherit = inherit and 1 or 0 }
    for name, value in pairs(self.list[index].attr) do attrs[k][name] = value end
  end
  return attrs
end

local function is_weak(events, index) return events[events[index].leader or index].weak end

-- A list with members of a weak {group}:W as it is where it fits the PMU, else with each of those apart.
local function without_weak(self, events, indices, target)
  local strong, lists = {}, {}
  for _, index in ipairs(indices) do
    if is_weak(events, index) then lists[#lists + 1] = { index } else strong[#strong + 1] = index end
  end
  local where = target and target:trial(events[indices[1]])
  if #lists == 0 or require("pmclua.event.try").group(attrs_of(self, indices), where) then
    return { indices }
  end
  if #strong > 0 then table.insert(lists, 1, strong) end
  return lists
end

-- Probes stand apart: inherited they would have the target's fork fail.
local function without_probes(events, usable)
  local others, probes = {}, {}
  for _, index in ipairs(usable) do
    table.insert(dynamic.kind(events[index]) and probes or others, index)
  end
  return others, probes
end

-- Whether some count on one kind of core of a hybrid CPU alone.
local function has_kinds(events)
  for _, event in ipairs(events) do
    if event.core_cpus then return true end
  end
  return false
end

-- What is opened together: all, but for events that can only be opened on CPUs of their own, probes in
-- others, and weak groups that do not fit.
local function lists_of(self, usable, events, target)
  local others, probes = usable, {}
  if target then others, probes = without_probes(events, usable) end
  local lists = {}
  local is_split = target or has_kinds(events)
  local parts = is_split and require("pmclua.counting.target").split(events, others) or { others }
  for _, indices in ipairs(parts) do
    for _, list in ipairs(without_weak(self, events, indices, target)) do lists[#lists + 1] = list end
  end
  if #probes > 0 then lists[#lists + 1] = probes end
  for _, index in ipairs(target and target.inherits and probes or {}) do
    self.list[index].note = "threads and children that are yet to come are not counted"
  end
  return lists
end

local function groups_for(self, lists, events, pinned)
  local targets, groups = require "pmclua.counting.target", {}
  for i, indices in ipairs(lists) do
    local names = {}
    for k, index in ipairs(indices) do names[k] = events[index].name end
    local is_inherited = not dynamic.kind(events[indices[1]])
    groups[i] = { attrs = attrs_of(self, indices, is_inherited), indices = indices, names = names,
      pinned = pinned, cpus = targets.cpus_for(events[indices[1]]) }
  end
  return groups
end

local function open_target(self, lists, events, target, pinned)
  local groups = groups_for(self, lists, events, pinned)
  local watch, failure = target:open(groups)
  if not watch then error(require("pmclua.counting.target.watch").explain(failure, groups), 0) end
  for i, its_group in ipairs(groups) do assign_words(self, its_group.indices, watch:group_offset(i)) end
  self.handle, self.watch = watch, watch
end

local function open_here(self, usable, events, pinned, read)
  local handle, failure = core.group(attrs_of(self, usable), { pinned = pinned, read = read })
  if handle then
    assign_words(self, usable, 0)
    self.handle = handle
  elseif failure.code == "EMFILE" then      -- a target makes room
    open_target(self, { usable }, events, require("pmclua.counting.target").self(), pinned)
  else
    refuse_group(self, failure)
  end
end

local KEYS = { target = true, pinned = true, read = true }
group.OPTIONS = KEYS
local READS = { "auto", "syscall", "user", "toggle" }

local function check_read(spec)
  for _, read in ipairs(READS) do
    if spec.read == nil or spec.read == read then
      if spec.read ~= "user" or not spec.target then return end
      explain.misuse("only a group of this thread can be read in user space, and no target's", 5)
    end
  end
  explain.misuse(("read is one of %s"):format(table.concat(READS, ", ")), 5)
end

local function check_spec(spec)
  for key in pairs(spec) do
    if type(key) ~= "number" and not KEYS[key] then
      local said = "pmc.group has no option '%s': it takes events, target, pinned and read; "
        .. 'a label stands in its event: "%s = …"'
      explain.misuse(said:format(tostring(key), tostring(key)), 4)
    end
  end
  if spec.target ~= nil and not require("pmclua.counting.target").is(spec.target) then
    explain.misuse("target is pmc.pid(N), pmc.cpus \"0-3\" or another of pmclua's targets", 4)
  end
  check_read(spec)
end

local function new_group()
  return setmetatable({ list = {}, fields = {}, places = {}, started = false }, Group)
end

--- Opens a group on this thread (or on `target`), stopped.
---@param spec table { "cycles", "tsc = msr/tsc/", target = pmc.pid(1234), pinned = true, read = "auto" }
---@return pmclua.Group
function group.new(spec)
  if type(spec) == "string" then spec = { spec } end
  if type(spec) ~= "table" then
    explain.misuse("pmc.group takes a list of events, not a " .. type(spec), 2)
  end
  check_spec(spec)
  if spec.target then spec.target:check() end
  local self, events = new_group(), group.events(spec, 2, spec.target)
  local usable = place_events(self, events, spec.target)
  if #usable == 0 then return self end
  local lists = lists_of(self, usable, events, spec.target)
  if spec.target or #lists > 1 then
    open_target(self, lists, events, spec.target or require("pmclua.counting.target").self(), spec.pinned)
  else
    open_here(self, usable, events, spec.pinned, spec.read == "toggle" and "syscall" or spec.read or "auto")
  end
  self.read_asked = spec.read
  return self
end

--- A group over a watch that is open already, of several perf groups: those that a plan made.
---@param events pmclua.Event[] as planned: with status and why where they are not counted
---@param groups { events: integer[] }[] those that the watch was opened with: indices of its members
---@param watch? pmclua.Watch nil: nothing could be opened
---@return pmclua.Group
function group.over(events, groups, watch)
  local self = new_group()
  for i, event in ipairs(events) do
    local place = { event = event, note = event.note }
    if event.status then place.refused = { status = event.status, why = event.why } end
    self.list[i], self.fields[i] = place, event.field
    self.places[event.field], self.places[event.name] = place, place
  end
  for i, its_group in ipairs(groups) do assign_words(self, its_group.events, watch:group_offset(i)) end
  self.handle, self.watch = watch, watch
  return self
end

local function check(ok, code, errnum, operation)
  if not ok then error(explain.system(errnum, operation, "a group"), 0) end
  return code
end

local function assert_open(self)
  if self.closed then explain.misuse("this group is closed", 3) end
end

local function refuse_user_space(self)
  self:stop()
  error(explain.problem { code = "EOPNOTSUPP", operation = "read",
    message = "this group cannot be read in user space",
    hint = "it takes events of the CPU's PMU alone, and leave: rdpmc of the PMU in sysfs on x86, the sysctl "
      .. 'kernel.perf_user_access on Arm; read = "auto" takes what is possible' }, 0)
end

--- Starts counting. Returns the group.
function Group:start()
  assert_open(self)
  if self.read_asked == "toggle" then
    explain.misuse("a toggled group runs for the calls of count alone", 2)
  end
  if self.handle then
    local ok, code, errnum = self.handle:start()
    check(ok, code, errnum, "start")
  end
  self.started, self.was_started = true, true
  if self.read_asked == "user" and self:method() ~= "user" then refuse_user_space(self) end
  return self
end

--- Stops counting; what was counted stays. Returns the group.
function Group:stop()
  assert_open(self)
  if self.handle then
    local ok, code, errnum = self.handle:stop()
    check(ok, code, errnum, "stop")
  end
  self.started = false
  return self
end

-- Stands for the words of a group in which nothing could be opened.
local function empty_room(self)
  self.no_room = self.no_room or require("pmclua.core").empty_room()
  return self.no_room
end

local function snapshot(self)
  if not self.handle then return empty_room(self) end
  local room = self.handle:room()
  local ok, code, errnum = self.handle:read_into(room)
  check(ok, code, errnum, "read")
  return room
end

--- Reads all members at once: counts since the group was opened. Subtract two for what lies between.
---@return pmclua.Counts
function Group:read()
  assert_open(self)
  return new_counts(self, snapshot(self))
end

-- The second half of a count: after fn has returned or raised.
local function finish_count(self, before, after, is_whole, ok, ...)
  if not self.started then is_whole = self.handle:stop() and is_whole end
  is_whole = self.handle:read_into(after) and is_whole
  if not ok then error(..., 0) end
  if not is_whole then error(explain.system(EIO, "read", "a group"), 0) end
  self.handle:subtract(before, after, after)
  return new_counts(self, after), ...
end

-- Counts only grow: a stopped group can be read before it is started.
local function begin_count(self, before)
  local is_whole = self.handle:read_into(before)
  if self.started then return is_whole end
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
  local before, after = self.handle:room(), self.handle:room()
  return finish_count(self, before, after, begin_count(self, before), pcall(fn, ...))
end

local function nothing() end

--- What counting itself adds to a count, as the group is now (started or not): of empty regions. No
--- argument: of 101.
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

--- What is to be said of the counts of a target: CPUs that went offline, threads that may be missing.
---@return string[]
function Group:remarks() return self.watch and self.watch:remarks() or {} end

--- Closes it; counts that were read stay readable. A second time does nothing.
function Group:close()
  if self.handle then self.handle:close() end
  self.closed = true
end

return group
