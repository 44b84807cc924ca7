--- counts.lua: what a group counted, as fields of the names that were asked for.
--
-- Invariant: a field exists because its event was asked for, and any other name raises; what was not counted
-- is nil with a reason, never 0; nothing changes counts.

local core = require "pmclua.core"
local dropped = require("pmclua.base.lazy").module "pmclua.explain.dropped"
local explain = require "pmclua.explain"
local known = require "pmclua.event.known"
local unverified = require "pmclua.event.unverified"
local text = require "pmclua.base.text"

--- What a group counted: a reading since it was opened, or the difference of two.
---@class pmclua.Counts
local Counts = {}

-- Per object: its group, its words, and where in them its part of the target begins. Numbers are out of the
-- way of the fields that an event may be called.
local GROUP, ROOM, OFFSET = 1, 2, 3

local function new_counts(group, room, offset)
  return setmetatable({ group, room, offset or 0 }, Counts)
end

-- Nanoseconds enabled and running of the event at `place`, or of the first group.
local function times_of(counts, place)
  local room, at = rawget(counts, ROOM), rawget(counts, OFFSET) + (place and place.times or 1)
  return core.number(room, at), core.number(room, at + 1)
end

local function place_of(counts, name, level)
  local group = rawget(counts, GROUP)
  local place = group.places[name] or group.places[tostring(name):gsub("-", "_")]
  if place then return place end
  local near = text.nearest(tostring(name), group.fields)
  explain.misuse(("this group has no event '%s'%s"):format(tostring(name),
    near and (", did you mean '%s'?"):format(near) or ""), (level or 2) + 1)
end

-- Of a target that executed a program which may not be watched; nil: it did not.
local function why_dropped(counts)
  local watch = rawget(counts, GROUP).watch
  return watch and watch.dropped.name and dropped.WHY or nil
end

-- Whether it is not known if such a program was executed.
local function is_unwatched(counts)
  local watch = rawget(counts, GROUP).watch
  return watch ~= nil and watch.dropped.unseen ~= nil
end

local function why_no_time(counts)
  local why = why_dropped(counts)
  if why then return why end
  if not rawget(counts, GROUP).was_started then return "the group was not started" end
  return rawget(counts, OFFSET) == 0 and "the target did not run"
    or "nothing ran here, or it is counted elsewhere"
end

local function why_never_on(counts, place)
  local why = why_dropped(counts)
  if why then return why end
  local cpus = place.event.core_cpus
  return cpus and ("never on CPUs %s, or their counters were taken"):format(cpus)
    or "never on the PMU: another user of its counters had them"
end

-- Whether it never ran because the thread was on the other kind of cores all the time: then 0 is its count.
local function was_elsewhere(counts, place)
  local word = place.event.core_cpus and place.event.part_of
  for _, other in ipairs(word and rawget(counts, GROUP).list or {}) do
    if other ~= place and other.event.part_of == word and not other.refused then
      local enabled, running = times_of(counts, other)
      if running > 0 and running >= enabled then return true end
    end
  end
  return false
end

-- Whether its 0 is no count: of a code that nothing vouches for, and that has counted nothing so far.
local function is_doubtful(counts, place)
  if place.has_counted or not unverified.is(place.event) then return false end
  place.has_counted = core.raw(rawget(counts, ROOM), rawget(counts, OFFSET) + place.word) ~= 0
  return not place.has_counted
end

-- Why a number is too small to be a count; nil: it is one.
local function why_unknown(counts, place)
  local raw = core.raw(rawget(counts, ROOM), rawget(counts, OFFSET) + place.word)
  return known.of(place.event, raw) == nil and known.why(place.event) or nil
end

--- "counted", "scaled", "placed" (on one kind of core, whenever it ran there), "not-counted", "unverified",
--- "unsupported" or "constant-zero"; for the latter four also why. Of a process "unwatched" (and why): counted, but it
--- is not known whether each program that it executed was.
---@param name string
---@return string status, string? why
function Counts:status(name)
  local place = place_of(self, name)
  if place.refused then return place.refused.status, tostring(place.refused.why) end
  local enabled, running = times_of(self, place)
  if enabled == 0 and running == 0 then
    return "not-counted", why_no_time(self)
  end
  if running == 0 and was_elsewhere(self, place) then return "placed" end
  if running == 0 then return "not-counted", why_never_on(self, place) end
  if is_doubtful(self, place) then return unverified.STATUS, unverified.WHY end
  local why = why_unknown(self, place)
  if why then return "not-counted", why end
  if running >= enabled and is_unwatched(self) then return dropped.UNWATCHED, dropped.WHY_UNWATCHED end
  if running >= enabled then return "counted" end
  return place.event.core_cpus and "placed" or "scaled"
end

--- Nanoseconds that the group was enabled, and on the PMU: of this thread's time, or summed over the
--- target's.
function Counts:enabled_ns() return (times_of(self)) end
function Counts:running_ns() return select(2, times_of(self)) end

--- The share of the time that an event was on the PMU; nil where it was enabled at no time.
---@param name string
---@return number?
function Counts:share(name)
  local place = place_of(self, name)
  local enabled, running = 0, 0
  if not place.refused then enabled, running = times_of(self, place) end
  return enabled > 0 and running / enabled or nil
end

--- The exact count; nil and why where there is none.
local function raw_count(counts, place)
  if place.refused then return nil, tostring(place.refused.why) end
  local enabled, running = times_of(counts, place)
  if running == 0 and enabled > 0 and was_elsewhere(counts, place) then return 0ULL end
  if running == 0 then return nil, enabled == 0 and why_no_time(counts) or why_never_on(counts, place) end
  return core.raw(rawget(counts, ROOM), rawget(counts, OFFSET) + place.word)
end

--- The count in the event's unit, estimated where the group ran part of the time (status "scaled").
local function estimate(counts, place)
  local raw, why = raw_count(counts, place)
  if not raw then return nil, why end
  if is_doubtful(counts, place) then return nil, unverified.WHY end
  local enabled, running = times_of(counts, place)
  why = running > 0 and why_unknown(counts, place)
  if why then return nil, why end
  local is_whole = running >= enabled or place.event.core_cpus          -- of a kind of core: never scaled
  return tonumber(raw) * (is_whole and 1 or enabled / running) * place.event.scale
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
  if getmetatable(later) ~= Counts or getmetatable(earlier) ~= Counts then
    explain.misuse("counts are subtracted from counts alone", 2)
  end
  local group = rawget(later, GROUP)
  if group ~= rawget(earlier, GROUP) then
    explain.misuse("counts of two different groups cannot be subtracted", 2)
  end
  if rawget(later, OFFSET) ~= rawget(earlier, OFFSET) then
    explain.misuse("counts of two parts of a target cannot be subtracted", 2)
  end
  local enabled, running = times_of(later)
  local is_lost = enabled == 1 and running == 0            -- core/pmclua.h
  if enabled < times_of(earlier) and not is_lost then
    explain.misuse("counts are subtracted from later ones: later - earlier", 2)
  end
  local room = group.handle and group.handle:room() or group.no_room
  if group.handle then group.handle:subtract(rawget(earlier, ROOM), rawget(later, ROOM), room) end
  return new_counts(group, room, rawget(later, OFFSET))
end

--- The parts of a target that is divided (`per`), in its order: what each is called, and its counts.
---@return fun(): (integer|string)?, pmclua.Counts?
function Counts:parts()
  local its_group, i = rawget(self, GROUP), 0
  local parts = its_group.watch and its_group.watch.parts or {}
  return function()
    i = i + 1
    if parts[i] == nil then return nil end
    return parts[i].value, new_counts(its_group, rawget(self, ROOM), its_group.watch:part_offset(i))
  end
end

--- One line an event, as a person reads it.
Counts.__tostring = function(self)
  local lines = {}
  for i, place in ipairs(rawget(self, GROUP).list) do
    local status, why = self:status(place.event.field)
    local value = estimate(self, place)
    local shown = value and text.count(value) or "-"
    if status == "scaled" then shown = "~" .. shown end
    lines[i] = ("%16s  %s%s"):format(shown, text.safe(place.event.name),
      status ~= "counted" and ("  <%s>%s"):format(status, why and ": " .. why or "") or "")
  end
  return table.concat(lines, "\n")
end

return { Counts = Counts, new = new_counts }
