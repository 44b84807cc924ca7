--- counts.lua: what a group counted, as fields of the names that were asked for.
--
-- Invariant: a field exists because its event was asked for, and any other name raises; what was not counted
-- is nil with a reason, never 0; nothing changes counts.

local core = require "pmclua.core"
local dropped = require("pmclua.base.lazy").module "pmclua.explain.dropped"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local reading = require "pmclua.counting.reading"
local text = require "pmclua.base.text"

--- The counts of a group: a reading since it was opened, or the difference of two.
---@class pmclua.Counts
---@field raw table<string, number|ffi.cdata*> the exact u64 of each event
local Counts = require("pmclua.public.class").new("counting", "counts")
local methods = Counts.__index

-- Per object: its group, the buffer of what was read, and where in it its part of the target begins. Numbers are
-- out of the way of the fields that an event may be called.
local GROUP, BUFFER, OFFSET = 1, 2, 3

local function new_counts(group, buffer, offset)
  return setmetatable({ group, buffer, offset or 0 }, Counts)
end

-- Nanoseconds enabled and running of the event in `slot`, or of the first group.
local function times_of(counts, slot)
  local buffer, at = rawget(counts, BUFFER), rawget(counts, OFFSET) + (slot and slot.times or 1)
  return core.number(buffer, at), core.number(buffer, at + 1)
end

local function slot_of(counts, name, level)
  local group = rawget(counts, GROUP)
  local slot = group.slots[name] or group.slots[text.field(tostring(name))]
  if slot then return slot end
  explain.misuse(("this group has no event '%s'%s"):format(tostring(name),
    text.meant(name, group.fields, ", ")), (level or 2) + 1)
end

-- ---- readings --------------------------------------------------------------------------------------------

-- The raw count of a slot, and its times; nothing where its event could not be opened.
local function raw_of(counts, slot)
  if slot.refused then return nil end
  local raw = slot.word and core.raw(rawget(counts, BUFFER), rawget(counts, OFFSET) + slot.word)
  return raw, times_of(counts, slot)
end

local function elsewhere_of(counts, slot)
  local group = rawget(counts, GROUP)
  if slot.elsewhere == nil then
    slot.elsewhere = reading.elsewhere(slot.event, lists.column(group.list, "event"), function(i, its_counts)
      return raw_of(its_counts, group.list[i])
    end) or false
  end
  return slot.elsewhere
end

-- Whether its 0 is no count: nothing says that the PMU has its code, and it has counted nothing so far.
local function is_doubtful(slot, raw)
  if slot.has_counted or not reading.is_unverified(slot.event) then return false end
  slot.has_counted = raw ~= 0
  return not slot.has_counted
end

-- Why nothing was enabled, as the group knows it.
local function why_not_enabled(counts)
  if not rawget(counts, GROUP).was_started then return "the group was not started" end
  return rawget(counts, OFFSET) == 0 and "the target did not run"
    or "nothing ran here, or it was counted elsewhere"
end

-- A target that executed a program which may not be watched has lost its counts.
local function why(counts, slot, cause)
  local watch = rawget(counts, GROUP).watch
  local was_on = cause == "too-small" or cause == "only-zeros"
  if watch and watch.dropped.name and not was_on then return dropped.WHY end
  if cause == "never-enabled" then return why_not_enabled(counts) end
  return reading.why(slot.event, cause)
end

-- Value, status, share of the time and the reason of the status.
local function read(counts, slot)
  if slot.refused then return nil, slot.refused.status, nil, tostring(slot.refused.why) end
  local raw, enabled, running = raw_of(counts, slot)
  local value, status, share, cause = reading.of(slot.event, raw, enabled, running,
    elsewhere_of(counts, slot), counts)
  if value and running > 0 and is_doubtful(slot, raw) then
    value, status, cause = nil, "unverified", "only-zeros"
  end
  local watch = rawget(counts, GROUP).watch
  -- It is not known whether a program was executed that may not be watched.
  if status == "counted" and watch and watch.dropped.unseen then
    return value, dropped.UNWATCHED, share, dropped.WHY_UNWATCHED
  end
  return value, status, share, cause and why(counts, slot, cause)
end

--- "counted", "scaled", "placed" (on one kind of core, whenever it ran there), "not-counted", "unverified",
--- "unsupported" or "constant-zero"; for the latter four also why. Of a process "unwatched" (and why): counted,
--- but it is not known whether each program that it executed was.
---@param name string
---@return string status, string? why
function Counts:status(name)
  local _, status, _, reason = read(self, slot_of(self, name))
  return status, reason
end

--- Nanoseconds that the group was enabled, and on the PMU: of this thread's time, or summed over the
--- target's.
---@return number
function Counts:enabled_ns() return (times_of(self)) end
---@return number
function Counts:running_ns() return select(2, times_of(self)) end

--- The share of the time that an event was on the PMU; nil where it was enabled at no time.
---@param name string
---@return number?
function Counts:share(name) return (select(3, read(self, slot_of(self, name)))) end

local RawView = {
  __index = function(view, name)
    local counts = rawget(view, GROUP)
    local slot = slot_of(counts, name, 3)
    local raw, _, running = raw_of(counts, slot)
    if raw and running > 0 then return raw end
    return read(counts, slot) and 0ULL or nil             -- of a kind of core where the program never was
  end,
  __newindex = function() explain.misuse("counts are read-only", 3) end,
}

-- The count in the event's unit, estimated where the group ran part of the time (status "scaled").
function Counts:__index(name)
  if rawget(Counts, name) then return methods[name] end
  if name == "raw" then return setmetatable({ [GROUP] = self }, RawView) end
  return (read(self, slot_of(self, name, 3)))
end

function Counts.__newindex() explain.misuse("counts are read-only", 3) end

Counts.__sub = function(later, earlier)
  if getmetatable(later) ~= Counts or getmetatable(earlier) ~= Counts then
    explain.misuse("counts can only be subtracted from counts", 2)
  end
  local group = rawget(later, GROUP)
  if group ~= rawget(earlier, GROUP) then
    explain.misuse("counts of two different groups cannot be subtracted", 2)
  end
  if rawget(later, OFFSET) ~= rawget(earlier, OFFSET) then
    explain.misuse("counts of two parts of a target cannot be subtracted", 2)
  end
  local enabled, running = times_of(later)
  if enabled < times_of(earlier) and not reading.is_lost(enabled, running) then
    explain.misuse("only earlier counts can be subtracted: later - earlier", 2)
  end
  local buffer = group.handle and group.handle:buffer() or group.empty_buffer
  if group.handle then group.handle:subtract(rawget(earlier, BUFFER), rawget(later, BUFFER), buffer) end
  return new_counts(group, buffer, rawget(later, OFFSET))
end

--- The parts of a target that is divided (`per`), in its order: what each is called, and its counts.
---@return fun(): (integer|string)?, pmclua.Counts?
function Counts:parts()
  local its_group, i = rawget(self, GROUP), 0
  local parts = its_group.watch and its_group.watch.parts or {}
  return function()
    i = i + 1
    if parts[i] == nil then return nil end
    return parts[i].value, new_counts(its_group, rawget(self, BUFFER), its_group.watch:part_offset(i))
  end
end

--- One line an event, as a person reads it.
Counts.__tostring = function(self)
  local lines = {}
  for i, slot in ipairs(rawget(self, GROUP).list) do
    local value, status, _, reason = read(self, slot)
    local shown = value and text.count(value) or "-"
    if status == "scaled" then shown = "~" .. shown end
    lines[i] = ("%16s  %s%s"):format(shown, text.safe(slot.event.name),
      status ~= "counted" and ("  <%s>%s"):format(status, reason and ": " .. reason or "") or "")
  end
  return table.concat(lines, "\n")
end

return { Counts = Counts, new = new_counts }
