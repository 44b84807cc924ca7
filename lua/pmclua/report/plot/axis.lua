--- axis.lua: the labels and scales of charts: values in a unit that suits them.

local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"

local M = {}

local TIMES = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } }
local BYTES = { { 2 ^ 30, "GiB" }, { 2 ^ 20, "MiB" }, { 2 ^ 10, "KiB" }, { 1, "B" } }

local COUNTS = { { 1e18, "×10¹⁸" }, { 1e15, "×10¹⁵" },
  { 1e12, "×10¹²" }, { 1e9, "×10⁹" }, { 1e6, "×10⁶" }, { 1e3, "×10³" } }

local MOST_DECADES = 8

local function scale_of(largest, scales) return number.scale(scales, largest) or scales[#scales] end

local function unit_of(unit, largest)
  if unit == "ns" then return unpack(scale_of(largest, TIMES)) end
  if unit == "B" then return unpack(scale_of(largest, BYTES)) end
  if unit == "%" then return 0.01, "%" end
  if unit == "" and largest >= 1e6 then return unpack(scale_of(largest, COUNTS)) end
  return 1, unit
end

---@class pmclua.ChartScale
---@field divisor number
---@field label string
---@field log? boolean cells lie far apart
---@field tics? { [1]: string, [2]: number }[] of counts on a logarithmic axis

--- The scale of values up to `largest`.
---@param name string what they are
---@param unit string of an event or metric
---@param largest number
---@return pmclua.ChartScale
function M.scale(name, unit, largest)
  local divisor, shown = unit_of(unit or "", largest)
  return { divisor = divisor,
    label = shown ~= "" and ("%s (%s)"):format(text.safe(name), shown) or text.safe(name) }
end

-- Powers of ten about some counts, as people write them: "10,000", "1 M".
local function decades(least, largest)
  local tics, first, last = {}, math.floor(math.log10(least)), math.ceil(math.log10(largest))
  local step = math.max(1, math.ceil((last - first) / MOST_DECADES))
  for power = first, last, step do
    local value = 10 ^ power
    local shown = value < 1 and ("%g"):format(value) or value < 1e6 and text.count(value)
      or text.short(value):gsub("%.0+", "")
    tics[#tics + 1] = { (shown:gsub("%.0+$", "")), value }
  end
  return tics
end

--- The scale of a quantity over some cells.
---@param cells pmclua.Cell[] that have values of it
---@param name string of an event or metric
---@return pmclua.ChartScale
function M.of_cells(cells, name)
  local largest, least, summary, medians = 0, math.huge, nil, {}
  for i, cell in ipairs(cells) do
    local of_cell = cell:summary(name)
    largest, summary = math.max(largest, math.abs(tonumber(of_cell.max))), of_cell
    least, medians[i] = math.min(least, tonumber(of_cell.min)), tonumber(of_cell.median)
  end
  local is_event = cells[1].result.event_by_field[summary.name] ~= nil
  local per = is_event and cells[1].per == "iteration" and " per iteration" or ""
  local scale = M.scale(summary.title .. per, summary.unit, largest)
  scale.log = least > 0 and M.are_far(medians)
  if scale.log and summary.unit == "" then
    scale = { divisor = 1, label = text.safe(summary.title .. per), log = true,
      tics = decades(least, largest) }
  end
  return scale
end

local MOST_TICS = 60            -- in the order of places; of more those that are apart

-- Tics that are far enough apart.
local function apart(tics, log, low, high)
  if #tics <= MOST_TICS then return tics end
  local function place(at) return log and math.log(at) or at end
  local step, last = (place(high) - place(low)) / MOST_TICS * 3, -math.huge
  return lists.where(tics, function(tic)
    local is_far = place(tic[2]) - last >= step
    if is_far then last = place(tic[2]) end
    return is_far
  end)
end

--- An axis of named places with some margin at its ends.
---@param label string
---@param tics { [1]: string, [2]: number }[]
---@param log boolean
---@return pmclua.ChartAxis
function M.around(label, tics, log)
  local low, high = lists.range(lists.column(tics, 2))
  local margin = (high - low) * 0.05
  return { label = label, log = log, tics = apart(tics, log, low, high),
    low = log and low / 1.2 or low - margin, high = log and high * 1.2 or high + margin }
end

local FAR = 16

--- Whether numbers are better told apart on a logarithmic axis.
---@param numbers number[]
---@return boolean
function M.are_far(numbers)
  local least, most = lists.range(numbers)
  return least > 0 and most / least >= FAR
end

return M
