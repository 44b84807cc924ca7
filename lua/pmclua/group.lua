--- group.lua: the typed group: a field of its counts exists because its event was asked for.
--
--     local g = pmc.group{ "page-faults", "task-clock" }
--     local c = g:count(work, 1000)
--     print(c.page_faults, c.raw.page_faults, c:status "page_faults")

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local text = require "pmclua.text"

-- ---- counts ----

--- What a group counted: a reading since it was opened, or the difference of two.
---@class pmclua.Counts
local Counts = {}

-- Per object: its group and its words; kept out of the fields that an event may be called.
local GROUP, ROOM = {}, {}

local function place_of(counts, name, level)
  local group = rawget(counts, GROUP)
  local place = group.places[name] or group.places[tostring(name):gsub("-", "_")]
  if place then return place end
  local near = text.nearest(tostring(name), group.fields)
  explain.misuse(("this group has no event '%s'%s"):format(tostring(name),
    near and (", did you mean '%s'?"):format(near) or ""), (level or 2) + 1)
end

--- "counted", "scaled", "not-counted", "unsupported" or "constant-zero"; for the latter three also why.
---@param name string
---@return string status, string? why
function Counts:status(name)
  local place = place_of(self, name)
  if place.refused then return place.refused.status, tostring(place.refused.why) end
  local room = rawget(self, ROOM)
  local enabled, running = core.number(room, 1), core.number(room, 2)
  if enabled == 0 and running == 0 then return "not-counted", "the group was not started" end
  if running == 0 then return "not-counted", "never on the PMU: its counters were taken" end
  return running < enabled and "scaled" or "counted"
end

--- Nanoseconds that the group was enabled, and on the PMU, of this thread's time.
function Counts:enabled_ns() return core.number(rawget(self, ROOM), 1) end
function Counts:running_ns() return core.number(rawget(self, ROOM), 2) end

--- The exact count; nil and why where there is none.
local function raw_count(counts, place)
  if place.refused then return nil, tostring(place.refused.why) end
  local room = rawget(counts, ROOM)
  if core.number(room, 2) == 0 then return nil, "never on the PMU" end
  return core.raw(room, place.word)
end

--- The count in the event's unit, estimated where the group ran part of the time (status "scaled").
local function estimate(counts, place)
  local raw, why = raw_count(counts, place)
  if not raw then return nil, why end
  local room = rawget(counts, ROOM)
  local enabled, running = core.number(room, 1), core.number(room, 2)
  return tonumber(raw) * (enabled / running) * place.scale
end

local RawView = {
  __index = function(view, name)
    local counts = rawget(view, GROUP)
    return (raw_count(counts, place_of(counts, name, 3)))
  end,
  __newindex = function() explain.misuse("counts are not changed", 3) end,
}

Counts.__index = function(self, name)
  local method = Counts[name]
  if method then return method end
  if name == "raw" then return setmetatable({ [GROUP] = self }, RawView) end
  return (estimate(self, place_of(self, name, 3)))
end

Counts.__newindex = function() explain.misuse("counts are not changed", 3) end

Counts.__sub = function(later, earlier)
  local group = rawget(later, GROUP)
  if group ~= rawget(earlier, GROUP) then explain.misuse("counts of two different groups cannot be subtracted", 2) end
  local room = group.handle and group.handle:room() or group.no_room
  if group.handle then group.handle:subtract(rawget(earlier, ROOM), rawget(later, ROOM), room) end
  return setmetatable({ [GROUP] = group, [ROOM] = room }, Counts)
end

--- One line an event, as a person reads it.
Counts.__tostring = function(self)
  local lines = {}
  for i, place in ipairs(rawget(self, GROUP).list) do
    local status, why = self:status(place.event.field)
    local value = estimate(self, place)
    local shown = value and text.count(value) or "–"
    if status == "scaled" then shown = "~" .. shown end
    lines[i] = ("%16s  %s%s"):format(shown, text.safe(place.event.name),
      status ~= "counted" and ("  <%s>%s"):format(status, why and ": " .. why or "") or "")
  end
  return table.concat(lines, "\n")
end

-- ---- the group ----

---@class pmclua.Group
local Group = {}
Group.__index = Group

local group = { Counts = Counts }

local function each_spec(spec)
  if type(spec) == "string" then return { spec } end
  local list = {}
  for i, item in ipairs(spec) do
    if type(item) ~= "string" then
      explain.misuse(("event %d is a %s; events are strings"):format(i, type(item)), 4)
    end
    list[i] = item
  end
  return list
end

--- The events of a list, parsed; raises on the first that is none, and on names that would be one field.
---@param specs string|string[]
---@param level? integer whose mistake it is, as error() counts
---@return pmclua.Event[]
function group.events(specs, level)
  level = (level or 1) + 1
  local events, seen = {}, {}
  for _, spec in ipairs(each_spec(specs)) do
    local list, problem = require("pmclua.event").parse(spec)
    if not list then explain.misuse(explain.spec(spec, problem), level) end
    for _, event in ipairs(list) do
      if seen[event.field] then
        explain.misuse(("'%s' and '%s' would both be the field %s: give one a label, \"name = %s\""):format(
          seen[event.field], event.spec, event.field, event.spec), level)
      end
      seen[event.field] = event.spec
      events[#events + 1] = event
    end
  end
  if #events == 0 then explain.misuse("a group needs at least one event", level) end
  return events
end

--- Fills the group's places; returns the attrs that can be opened.
local function place_events(self, events, try_options)
  local try = require "pmclua.event.try"
  local attrs = {}
  for i, event in ipairs(events) do
    local place = { event = event }
    place.unit, place.scale = require("pmclua.event.unit").of(event)
    if event.tool then
      explain.misuse(("%s is measured around a workload; a group holds perf events"):format(event.name), 4)
    end
    local tried = try.event(event, try_options)
    if tried.status == "counted" then
      attrs[#attrs + 1] = tried.attr
      place.word, place.note = 2 + #attrs, tried.note
    else
      place.refused = tried
    end
    self.list[i], self.fields[i] = place, event.field
    self.places[event.field], self.places[event.name] = place, place
  end
  return attrs
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

--- Opens a group on this thread (or on `target`), stopped.
---@param spec table { "cycles", "tsc = msr/tsc/", target = pmc.self(), pinned = true }
---@return pmclua.Group
function group.new(spec)
  if type(spec) == "string" then spec = { spec } end
  for key in pairs(spec) do
    if type(key) ~= "number" and key ~= "target" and key ~= "pinned" then
      explain.misuse(("pmc.group has no option '%s': it takes events, target and pinned"):format(tostring(key)), 3)
    end
  end
  local target = spec.target or {}
  local self = setmetatable({ list = {}, fields = {}, places = {}, started = false }, Group)
  local attrs = place_events(self, group.events(spec, 2), { pid = target.pid, cpu = target.cpu })
  if #attrs > 0 then
    local handle, failure = core.group(attrs, { pid = target.pid, cpu = target.cpu, pinned = spec.pinned })
    if not handle then refuse_group(self, failure) end
    self.handle = handle
  end
  return self
end

local function check(ok, code, errnum, operation)
  if not ok then error(explain.system(errnum, operation, "a group"), 0) end
  return code
end

local function assert_open(self)
  if self.closed then explain.misuse("this group is closed", 3) end
end

--- Starts counting. Returns the group.
function Group:start()
  assert_open(self)
  if self.handle then
    local ok, code, errnum = self.handle:start()
    check(ok, code, errnum, "start")
  end
  self.started = true
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
  return setmetatable({ [GROUP] = self, [ROOM] = snapshot(self) }, Counts)
end

--- Calls fn(...) between two reads. Returns the counts of the call, then what fn returned.
---@param fn function
---@return pmclua.Counts, any ...
function Group:count(fn, ...)
  assert_open(self)
  local was_started = self.started
  if not was_started then self:start() end
  if not self.handle then
    local results = { fn(...) }
    return self:read(), unpack(results)
  end
  local handle = self.handle
  local before, after = handle:room(), handle:room()
  handle:read_into(before)
  local function finish(...)
    handle:read_into(after)
    if not was_started then self:stop() end
    handle:subtract(before, after, after)
    return setmetatable({ [GROUP] = self, [ROOM] = after }, Counts), ...
  end
  return finish(fn(...))
end

--- Closes it; counts that were read stay readable. A second time does nothing.
function Group:close()
  if self.handle then self.handle:close() end
  self.closed = true
end

return group
