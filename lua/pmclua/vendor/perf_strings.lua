--- perf_strings.lua: what `perf list` leaves out, from perf's own file: the units and constraints of metrics, which
-- perf before 6.2 does not print, and the upper half of terms, of which it prints 32 bits.
--
-- perf has its tables compiled in as strings. Since 6.1 an entry is name, PMU, topic, description, metric, groups, event,
-- aggregation, compat, deprecated, per package, unit, constraint, formula, each ended by a zero byte
-- (tools/perf/pmu-events/jevents.py). An entry is taken for another's only if all that perf prints of it agrees.

local core = require "pmclua.core"

local M = {}

local METRIC = "%z([%w_.]+)%z[^%z]*%z%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)%z([^%z]*)%z([^%z]+)%z"
local EVENT = "%z([%w_.]+)%z([%w_,]*)%z[^%z]*%z([^%z]*)%z%z%z([%w_]+=[^%z]*=0x%x%x%x%x%x%x%x%x%x[^%z]*)%z"
local LARGEST = 64 * 1024 * 1024  -- bytes

--- The bytes of perf's file; "" where they cannot be read.
---@param path string
---@return string
function M.read(path) return core.read_plain(path, LARGEST) or "" end

--- Gives metrics their ScaleUnit and constraint.
---@param bytes string
---@param metrics table[]
function M.add_scales(bytes, metrics)
  local scales = {}
  for name, unit, constraint, expression in bytes:gmatch(METRIC) do
    scales[name .. "\n" .. expression] = { unit, constraint }
  end
  for _, metric in ipairs(metrics) do
    local entry = scales[metric.name .. "\n" .. metric.expression] or {}
    metric.scale, metric.constraint = metric.scale or entry[1], metric.constraint or entry[2]
  end
end

-- Terms in one form: numbers in hexadecimal, of `digits` at most from the right, without the period.
local function canonical(terms, digits)
  local parts = {}
  for key, value in terms:gmatch "([%w_]+)=?([^,]*)" do
    if key ~= "period" then
      local hex = value:match "^0[xX]0*(%x*)$" or tonumber(value) and ("%x"):format(tonumber(value)) or "1"
      hex = hex:lower():sub(-digits):gsub("^0+", "")
      parts[#parts + 1] = ("%s=%s"):format(key, hex)
    end
  end
  table.sort(parts)
  return table.concat(parts, ",")
end

local PRINTED, WHOLE = 8, 16      -- hexadecimal digits

local function words(text)
  return ((text or ""):gsub("%s+", " "):gsub("%.? Unit: .*$", ""):gsub("^ ", ""):gsub(" $", ""))
end

local function wide_entries(bytes)
  local by_name = {}
  for name, pmu, description, terms in bytes:gmatch(EVENT) do
    by_name[name] = by_name[name] or {}
    table.insert(by_name[name], { pmu = pmu, description = words(description), terms = terms,
      printed = canonical(terms, PRINTED), whole = canonical(terms, WHOLE) })
  end
  return by_name
end

-- An entry of the core PMU of a CPU that is not hybrid names none.
local function is_of(entry, event)
  return entry.pmu == event.pmu or entry.pmu == "" and event.pmu == "cpu"
end

local function agreeing(entries, event)
  local printed, described, list = canonical(event.terms, PRINTED), {}, {}
  for _, entry in ipairs(entries) do
    if entry.printed == printed and is_of(entry, event) then
      list[#list + 1] = entry
      if entry.description == words(event.description) then described[#described + 1] = entry end
    end
  end
  return described[1] and described or list
end

-- The whole terms of an event of which the lower halves were printed; nil: they are whole. False: it is not certain.
local function whole_terms(event, entries)
  local agreed
  for _, entry in ipairs(agreeing(entries, event)) do
    if agreed and agreed.whole ~= entry.whole then return false end
    agreed = entry
  end
  return agreed and agreed.terms
end

--- Gives events the upper halves of their terms; drops those of which they are not certain.
---@param bytes string
---@param collection pmclua.vendor.Collection
function M.widen(bytes, collection)
  local by_name, kept = wide_entries(bytes), {}
  for _, event in ipairs(collection.events) do
    local entries = by_name[event.name]
    local terms = entries and whole_terms(event, entries)
    if terms == false then collection:problem("perf does not say all of the code of %s", event.name)
    else
      if terms then event.terms = collection.counted_terms(terms) end
      kept[#kept + 1] = event
    end
  end
  collection.events = kept
end

return M
