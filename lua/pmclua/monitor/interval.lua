--- interval.lua: what was counted in one interval: counts, metrics and rates by name.
--
-- Invariant: as of a group, a name that was not asked for raises; what was not counted is nil, with a
-- reason, and never 0; a metric of something absent is absent.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

---@class pmclua.MonitorInterval
---@field index integer from 1
---@field time number seconds from the start to its end
---@field seconds number that it lasted
---@field missed integer deadlines before its own that could not be kept
---@field partial boolean it ended before its time
---@field part? integer|string its part of the target
---@field raw table<string, number|ffi.cdata*> exact counts by name
---@field [string] number? an event's count in its unit (estimated where scaled), or a metric's value
local Interval = require("pmclua.public.class").new("counting", "interval")
Interval.__about = function(self) return ("number %d, of %.3g s"):format(self.index, self.seconds) end
local methods = Interval.__index

-- Per object: its monitor and its counts; kept out of the fields that an event may be called.
local MONITOR, COUNTS = {}, {}

local M = {}

local OWN = { index = true, time = true, seconds = true, missed = true, partial = true, part = true }

local function field_of(name) return text.field(tostring(name)) end

local function unknown(self, name)
  local names = lists.column(rawget(self, MONITOR).columns, "field")
  explain.misuse(("this monitor has neither event nor metric '%s'%s"):format(tostring(name),
    text.meant(name, names, ", ")), 4)
end

-- The value of a column, or nil and why.
local function value_of(self, column)
  if column.metric then
    return column.metric.evaluate(function(name)
      if name == "iterations" then return 1 end
      local other = rawget(self, MONITOR).by_field[name]
      if not other then return nil, name .. " is not counted" end
      return value_of(self, other)
    end)
  elseif column.event.tool == "wall_ns" then return self.seconds * 1e9
  elseif column.event.tool then return nil, column.event.name .. " is known only at the end of a run" end
  local value = rawget(self, COUNTS)[column.field]
  if value == nil then return nil, select(2, self:status(column.field)) end
  return value
end

local function column_of(self, name)
  local monitor = rawget(self, MONITOR)
  return monitor.by_field[name] or monitor.by_field[field_of(name)] or unknown(self, name)
end

--- The value of an event or metric; nil and why where there is none.
---@param name string
---@return number? value, string? why
function Interval:value(name) return value_of(self, column_of(self, name)) end

--- The value per second.
---@param name string
---@return number? rate, string? why
function Interval:rate(name)
  local value, why = value_of(self, column_of(self, name))
  if value == nil then return nil, why end
  return value / self.seconds
end

--- How a value was obtained: "counted", "scaled", "not-counted", "unverified", "unsupported",
--- "constant-zero"; of metrics "absent" where they have none. And why.
---@param name string
---@return string status, string? why
function Interval:status(name)
  local column = column_of(self, name)
  if column.metric or column.event.tool then
    local value, why = value_of(self, column)
    if value == nil then return column.metric and "absent" or "not-counted", why end
    return "counted"
  end
  return rawget(self, COUNTS):status(column.field)
end

--- The share of the time that an event was on the PMU: 1 where it was counted throughout.
---@param name string
---@return number?
function Interval:ran(name)
  local column = column_of(self, name)
  if column.metric or column.event.tool or column.event.status then return nil end
  return rawget(self, COUNTS):share(column.field)
end

--- The same interval of each part of the target, where it is divided.
---@return fun(): (integer|string)?, pmclua.MonitorInterval?
function Interval:parts()
  local next_part, monitor = rawget(self, COUNTS):parts(), rawget(self, MONITOR)
  return function()
    local name, counts = next_part()
    if name == nil then return nil end
    return name, M.new(monitor, counts, { index = self.index, time = self.time, seconds = self.seconds,
      missed = self.missed, partial = self.partial, part = name })
  end
end

--- Why nothing that is counted may have this name; nil where it may.
---@param name string
---@return string?
function M.reserved(name)
  local is_own = rawget(Interval, name) or OWN[name] or name == "raw"
  return is_own and "intervals have a field of that name" or nil
end

function Interval:__index(name)
  if rawget(Interval, name) then return methods[name] end
  if OWN[name] then return nil end
  if name == "raw" then return rawget(self, COUNTS).raw end
  return (value_of(self, column_of(self, name)))
end

function Interval.__newindex() explain.misuse("counts are read-only", 3) end

--- An interval of a monitor.
---@param monitor pmclua.Monitor
---@param counts pmclua.Counts of the interval alone
---@param facts table index, time, seconds, missed, partial, part
---@return pmclua.MonitorInterval
function M.new(monitor, counts, facts)
  local self = { [MONITOR] = monitor, [COUNTS] = counts }
  for name, value in pairs(facts) do self[name] = value end
  return setmetatable(self, Interval)
end

return M
