--- calls.lua: charts of what `pmclua regions --json` writes: how often calls took how much, of one file or of
--- several in the same bins.
--
-- Invariant: a region without such calls is left out, and said to be; the file is data that anyone may have
-- written.

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

-- Bins that hold all bars of these lists.
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

-- ---- what files have ------------------------------------------------------------------------------------

local function is_bar(bar)
  return type(bar) == "table" and type(bar.low) == "number" and type(bar.high) == "number"
    and type(bar.count) == "number"
end

-- A region's bars; nil where it has none, and why.
local function bars_of(path, region, name, refuse)
  local event = type(region.events) == "table" and region.events[name]
  local bars = type(event) == "table" and event.histogram
  if type(bars) ~= "table" or #bars == 0 then
    return nil, type(event) == "table" and type(event.why) == "string" and event.why
  end
  for _, bar in ipairs(bars) do
    if not is_bar(bar) then refuse(path, "a histogram of it is none") end
  end
  return bars
end

-- Regions by name, in the order of the files, each with the bars that files have of it.
local function collect(files, name, refuse)
  local found, why = {}, nil
  for i, file in ipairs(files) do
    local regions = type(file.content) == "table" and file.content.regions
    if type(regions) ~= "table" or #regions == 0 then refuse(file.path, "it has no regions") end
    for _, region in ipairs(regions) do
      if type(region) ~= "table" then refuse(file.path, "a region of it is none") end
      local bars, reason = bars_of(file.path, region, name, refuse)
      found[#found + 1], why = { title = tostring(region.name), bars = bars, file = i }, why or reason
    end
  end
  return lists.groups(found, function(one) return one.title end), why
end

-- ---- the chart -----------------------------------------------------------------------------------------

-- A region in one file, or in several; a single one has its colour.
local function panel_of(region, name, labels, colour)
  local into = bins_of(lists.column(region, "bars"))
  local scale = axis.scale(name .. " per call", TIMES[name] and "ns" or "", into.high)
  local series = lists.map(region, function(one)
    if #labels == 1 then
      return { style = "bars", colour = colour, data = into:bars(into:counts(one.bars), scale.divisor) }
    end
    return { style = "steps", colour = one.file, title = labels[one.file],
      data = as_steps(into, one.bars, scale.divisor) }
  end)
  return { title = region.key, x = { label = scale.label, log = into.log },
    y = { label = "calls", low = 0, whole = true }, series = series }
end

local function names_of(files)
  local labels, seen = {}, {}
  for i, file in ipairs(files) do
    labels[i] = file.path:match "[^/]+$"
    if seen[labels[i]] then labels[i] = file.path end
    seen[labels[i]] = true
  end
  return labels
end

--- The chart of calls by what they took of an event.
---@param files { path: string, content: any }[] what each file's line says
---@param name string field of an event, "duration" or "cpu_time"
---@param refuse fun(path: string, why: string) raises
---@return pmclua.Chart
function M.chart(files, name, refuse)
  if #files > gnuplot.MOST_SERIES then
    refuse(files[#files].path, ("there is room for %d files"):format(gnuplot.MOST_SERIES))
  end
  local regions, why = collect(files, name, refuse)
  local counted, absent, labels, panels = {}, {}, names_of(files), {}
  for _, region in ipairs(regions) do
    local with_bars = lists.where(region, function(one) return one.bars end)
    with_bars.key = region.key
    table.insert(#with_bars > 0 and counted or absent, with_bars)
  end
  for i = 1, math.min(#counted, PANELS) do panels[i] = panel_of(counted[i], name, labels, i) end
  if #panels == 0 then
    refuse(files[1].path, ("there are no calls with %s%s"):format(text.safe(name),
      why and ": " .. text.safe(why) or ""))
  end
  local said = "calls by what they took"
  if #counted > #panels then said = ("%s · the first %d of %d"):format(said, #panels, #counted) end
  if #absent > 0 then said = ("%s · none of %s"):format(said, text.list(lists.column(absent, "key"))) end
  local command = #files == 1 and tostring(files[1].content.command or files[1].path)
  return { title = command or table.concat(labels, ", "), subtitle = said, panels = panels }
end

return M
