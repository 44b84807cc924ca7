--- roofline.lua: rates of operations by operations a byte, under the roofs that were measured (Williams, Waterman and
--- Patterson, "Roofline", CACM 2009).
--
-- A cell's rates decide what it is: one that moves bytes and does no operations is a slanted roof, one that does
-- operations and moves nothing a flat one, and one that does both a point.

local cells_of = require "pmclua.report.cells"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local styles = require "pmclua.report.plot.styles"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local AROUND = 2                                -- room beside the points, as a factor
local GB_OF_MIB = 2 ^ 20 / 1e9
-- The names of rates, and what makes them GB/s.
local BANDWIDTHS = { { "bandwidth", 1 }, { "memory_bandwidth", GB_OF_MIB } }

local function refuse(why)
  error(explain.problem { code = "ENODATA", operation = "plot",
    message = "there is no roofline to plot: " .. why,
    hint = "pmclua roofline --store FILE measures one; of a program, on a PMU: "
      .. "pmclua stat -a -M flops_rate -M memory_bandwidth --store FILE" }, 0)
end

local function has_name(result, name)
  return lists.any(result.metrics, function(metric) return metric.name == name end)
end

-- Rates in Goperations and GB a second.
local function rates_of(result)
  local by = lists.find(BANDWIDTHS, function(bandwidth) return has_name(result, bandwidth[1]) end)
  if not by or not has_name(result, "flops_rate") then
    refuse "it takes the metrics flops_rate and bandwidth (or memory_bandwidth)"
  end
  return lists.map(result:list(), function(cell)
    local flops, bytes = cell:summary "flops_rate", cell:summary(by[1])
    if not flops.median or not bytes.median then return nil end
    return { cell = cell, flops = flops.median, low = flops.low or flops.median,
      high = flops.high or flops.median, bytes = bytes.median * by[2] }
  end)
end

-- Slanted roofs end at the highest flat one; without any, at the right.
local function roofs(memory, peaks, varies, low, high)
  local top, series = math.max(0, unpack(lists.column(peaks, "flops"))), {}
  local widest = math.max(0, unpack(lists.column(memory, "bytes")))
  for _, roof in ipairs(memory) do
    local last = top > 0 and top / roof.bytes or high
    series[#series + 1] = { style = "lines",
      title = ("%s: %s GB/s"):format(cells_of.label(roof.cell, varies), text.short(roof.bytes)),
      data = { { low, low * roof.bytes }, { last, last * roof.bytes } } }
  end
  for _, peak in ipairs(peaks) do
    series[#series + 1] = { style = "lines",
      title = ("%s: %s GFLOP/s"):format(text.safe(peak.cell.workload), text.short(peak.flops)),
      data = { { widest > 0 and peak.flops / widest or low, peak.flops }, { high, peak.flops } } }
  end
  return series
end

local function points(list)
  return lists.map(lists.groups(list, function(rate) return rate.cell.workload end), function(same)
    return { style = "marked", title = text.safe(same.key), data = lists.map(same, function(rate)
      return { rate.flops / rate.bytes, rate.flops, rate.low, rate.high }
    end) }
  end)
end

--- The chart of the rates in results: roofs may be in one, and points in others.
---@param results pmclua.Result[]
---@return pmclua.Chart
function M.chart(results)
  local all = lists.joined(lists.map(results, rates_of))
  local memory = lists.where(all, function(rate) return rate.bytes > 0 and rate.flops == 0 end)
  local peaks = lists.where(all, function(rate) return rate.flops > 0 and rate.bytes == 0 end)
  local both = lists.where(all, function(rate) return rate.flops > 0 and rate.bytes > 0 end)
  if #both + #memory + #peaks == 0 then refuse "no cell has both rates" end
  local places = { 0.125, 1 }                   -- operations a byte: at least these are shown
  for _, rate in ipairs(both) do places[#places + 1] = rate.flops / rate.bytes end
  for _, peak in ipairs(peaks) do
    for _, roof in ipairs(memory) do places[#places + 1] = peak.flops / roof.bytes end
  end
  table.sort(places)
  local low, high = places[1] / AROUND, places[#places] * AROUND
  local varies = cells_of.varying(lists.column(memory, "cell"))
  local series = lists.append(roofs(memory, peaks, varies, low, high), points(both))
  for i, curve in ipairs(series) do curve.colour = (i - 1) % styles.COLOURS + 1 end
  local panel = { x = { label = "operations a byte (FLOP/B)", log = true, low = low, high = high },
    y = { label = "rate (GFLOP/s)", log = true }, series = series }
  return { title = words.title(results[1]), subtitle = "measured roofs; points with 95 % intervals",
    panels = { panel } }
end

return M
