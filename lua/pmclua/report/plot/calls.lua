--- calls.lua: charts of followed calls: how often they took how much, of one cell or of several in the same bins.
--
-- Invariant: a region without such calls is left out, and said to be.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local axis = require "pmclua.report.plot.axis"
local bins = require "pmclua.report.bins"
local gnuplot = require "pmclua.report.plot.gnuplot"

local M = {}

local PANELS = 4                -- below each other
local BINS, FAR = 30, 64
local TIMES = { duration = true, cpu_time = true, task_clock = true, cpu_clock = true }

-- ---- bins ----------------------------------------------------------------------------------------------

local function bins_of(several)
  local low, high = math.huge, 0
  for _, bars in ipairs(several) do
    low, high = math.min(low, bars[1].low), math.max(high, bars[#bars].high + 1)
  end
  local log = high / math.max(1, low) >= FAR
  return bins.new(log and math.max(1, low) or low, high, BINS, log)
end

-- Only the outline, so that none hides another.
local function as_steps(into, bars, divisor)
  local data = {}
  for bin, count in ipairs(into:counts(bars)) do data[bin] = { into:edge(bin - 1) / divisor, count } end
  data[BINS + 1] = { into:edge(BINS) / divisor, 0 }
  return data
end

local function collect(several, name)
  local entries, why = {}, nil
  for i, regions in ipairs(several) do
    for _, region in ipairs(regions) do
      local bars = region:histogram(name)
      if #bars == 0 then why = why or region:values(name).why end
      entries[#entries + 1] = { title = region.name, bars = #bars > 0 and bars or nil, cell = i }
    end
  end
  return lists.groups(entries, function(entry) return entry.title end), why
end

-- ---- the chart -----------------------------------------------------------------------------------------

local function panel_of(region, name, labels, colour)
  local into = bins_of(lists.column(region, "bars"))
  local scale = axis.scale(name .. " per call", TIMES[name] and "ns" or "", into.high)
  local series = lists.map(region, function(entry)
    if #labels == 1 then
      return { style = "bars", colour = colour, data = into:bars(into:counts(entry.bars), scale.divisor) }
    end
    return { style = "steps", colour = entry.cell, title = labels[entry.cell],
      data = as_steps(into, entry.bars, scale.divisor) }
  end)
  return { title = region.key, x = { label = scale.label, log = into.log },
    y = { label = "calls", low = 0, whole = true }, series = series }
end

--- The chart of calls by what they took of an event.
---@param several pmclua.Regions[] of each cell
---@param labels string[] of these cells
---@param name string field of an event, "duration" or "cpu_time"
---@return pmclua.Chart  raises where there is nothing to draw
function M.chart(several, labels, name)
  if #several > gnuplot.MOST_SERIES then
    explain.misuse(("there is room for %d cells: choose some (--only)"):format(gnuplot.MOST_SERIES), 4)
  end
  local regions, why = collect(several, name)
  local counted, absent, panels = {}, {}, {}
  for _, region in ipairs(regions) do
    local with_bars = lists.where(region, function(entry) return entry.bars end)
    with_bars.key = region.key
    table.insert(#with_bars > 0 and counted or absent, with_bars)
  end
  for i = 1, math.min(#counted, PANELS) do panels[i] = panel_of(counted[i], name, labels, i) end
  if #panels == 0 then
    local message = ("there are no calls with %s%s"):format(name, why and ": " .. why or "")
    error(explain.problem { code = "ENODATA", operation = "plot", message = message }, 0)
  end
  local about = "calls by what they took"
  if #counted > #panels then about = ("%s · the first %d of %d"):format(about, #panels, #counted) end
  if #absent > 0 then about = ("%s · none of %s"):format(about, text.list(lists.column(absent, "key"))) end
  return { title = table.concat(labels, ", "), subtitle = about, panels = panels }
end

return M
