--- stream.lua: charts of what `pmclua monitor --json` writes.
--
-- Invariant: the file is data that anyone may have written: what is not of these shapes is refused. What was
-- not counted is a gap in a line, never 0.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local axis = require "pmclua.report.plot.axis"
local gnuplot = require "pmclua.report.plot.gnuplot"

local M = {}

local PANELS = 4                -- below each other

local function refuse(path, why)
  error(explain.problem { code = "EFILE", operation = "plot",
    message = ("cannot plot %s: %s"):format(text.safe(path), why),
    hint = "plots are of stored results, and of what `pmclua monitor --json` writes" }, 0)
end

local function decode(line)
  local ok, value = pcall(require("dkjson").decode, line, 1, nil)
  return ok and type(value) == "table" and value or nil
end

-- ---- monitor: quantities over time -----------------------------------------------------------------------

-- A quantity of a line: per second for counts, else the value; NaN where nothing was counted.
local function value_of(entry, name)
  local counted = type(entry.events) == "table" and entry.events[name]
    or type(entry.metrics) == "table" and entry.metrics[name]
  if type(counted) ~= "table" then return 0 / 0 end
  local value = counted.per_second or counted.value
  return type(value) == "number" and value or 0 / 0, counted
end

local function names_of(entry, asked)
  if asked then return { text.field(asked) } end
  local names = lists.map({ "events", "metrics" }, function(kind)
    return lists.keys(type(entry[kind]) == "table" and entry[kind] or {})
  end)
  return lists.where(lists.joined(names), function(name) return name ~= "duration_time" end)
end

local function largest(values)
  local most = 0
  for i = 1, #values do
    if values[i] == values[i] then most = math.max(most, math.abs(values[i])) end
  end
  return most
end

local function collect(entries, name)
  local parts, order, all, example = {}, {}, {}, nil
  for _, entry in ipairs(entries) do
    local part, value, has_value = tostring(entry.part or ""), value_of(entry, name)
    example = example or has_value
    if not parts[part] then parts[part], order[#order + 1] = {}, part end
    table.insert(parts[part], { tonumber(entry.time_s) or 0 / 0, value })
    all[#all + 1] = value
  end
  return parts, order, largest(all), example
end

local function time_panel(entries, name)
  local parts, order, most, example = collect(entries, name)
  local is_rate = example and example.per_second ~= nil
  local scale = axis.scale(name .. (is_rate and " per second" or ""), example and example.unit or "", most)
  local series = {}
  for i, part in ipairs(order) do
    if i > gnuplot.MOST_SERIES then break end
    local data = lists.map(parts[part], function(point) return { point[1], point[2] / scale.divisor } end)
    series[i] = { title = #order > 1 and part or nil, style = "lines", colour = i, data = data }
  end
  return { x = { label = "time (s)" }, y = { label = scale.label, low = 0 }, series = series }, #order
end

local function counted(entries, names)
  return lists.where(names, function(name)
    return lists.any(entries, function(entry)
      local value = value_of(entry, name)
      return value == value
    end)
  end)
end

local function time_chart(path, entries, options)
  local names, panels, parts = names_of(entries[1], options.name), {}, 0
  if #names == 0 then refuse(path, "it has no events") end
  names = counted(entries, names)
  for i = 1, math.min(#names, PANELS) do panels[i], parts = time_panel(entries, names[i]) end
  if #panels == 0 then refuse(path, "nothing was counted in it") end
  local about = "counts over time"
  if #names > #panels then about = ("%s · the first %d of %d quantities"):format(about, #panels, #names) end
  if parts > gnuplot.MOST_SERIES then
    about = ("%s · the first %d of %d parts"):format(about, gnuplot.MOST_SERIES, parts)
  end
  return { title = path:match "[^/]+$", subtitle = about, panels = panels }
end

-- ---- files ---------------------------------------------------------------------------------------

local function read_lines(path)
  local content, why = require("pmclua.host.machine").text(path)
  if not content then refuse(path, tostring(why)) end
  local entries = {}
  for line in content:gmatch "[^\n]+" do
    if line:find "%S" then entries[#entries + 1] = decode(line) or refuse(path, "it is not JSON") end
  end
  return entries
end

--- Whether a file is a monitor's; its first line tells.
---@param path string
---@return boolean
function M.is_one(path)
  return ((require("pmclua.host.machine").line(path) or ""):find '^{"time_s":') ~= nil
end

--- The chart of a monitor's file.
---@param path string
---@param options pmclua.PlotOptions
---@return pmclua.Chart
function M.chart(path, options) return time_chart(path, read_lines(path), options) end

return M
