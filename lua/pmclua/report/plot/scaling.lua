--- scaling.lua: speed-up over ranks, threads or nodes, with intervals: the ideal line, and the law that was fitted.

local axis = require "pmclua.report.plot.axis"
local cells_of = require "pmclua.report.cells"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local styles = require "pmclua.report.plot.styles"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local POINTS_OF_CURVE = 80

local function curve(f, from, to)
  local data = {}
  for i = 0, POINTS_OF_CURVE do
    local level = from * (to / from) ^ (i / POINTS_OF_CURVE)
    data[#data + 1] = { level, f(level) }
  end
  return data
end

local function fitted(scaling, first)
  local at = scaling.fit.at
  return function(level) return at(first) / at(level) * (scaling.weak and level / first or 1) end
end

local function series_of(scaling, label, colour)
  local known = lists.where(scaling.levels, function(level) return level.speedup ~= nil end)
  local points = lists.map(known, function(level)
    local speedup = level.speedup
    return { level.level, speedup.value, speedup.low or speedup.value, speedup.high or speedup.value }
  end)
  local marks = { title = label, style = "marked", colour = colour, data = points }
  if not scaling.fit then return { marks } end
  local share = scaling.fit.share
  marks.title = ("%s: serial share %s%s"):format(label, text.percent(share.value),
    #scaling.off > 0 and ", but off the law" or "")
  local first, last = known[1].level, known[#known].level
  return { { style = "curve", colour = colour, data = curve(fitted(scaling, first), first, last) }, marks }
end

local function swept(result, over)
  over = over or (cells_of.swept(result:list()))
  if over then return over end
  explain.misuse("no factor has several levels: --over says which one is the number of ranks or threads", 3)
end

--- The chart of how a time scales.
---@param result pmclua.Result
---@param options pmclua.PlotOptions `over`, `weak`, `name`
---@return pmclua.Chart
function M.chart(result, options)
  local over = swept(result, options.over)
  local name = options.name and text.field(options.name)
  if name then require("pmclua.result.names").check(result, name) end
  local all = require("pmclua.result.scaling").of(result, over,
    { names = name and { name }, weak = options.weak })
  local shown = { unpack(all, 1, styles.COLOURS - 1) }
  local varies, series = cells_of.varying(result:list()), {}
  local known = lists.where(lists.joined(lists.column(shown, "levels")), function(point)
    return point.speedup ~= nil
  end)
  local levels = lists.unique(lists.column(known, "level"))
  if #levels == 0 then explain.misuse("no level has a time to plot", 3) end
  table.sort(levels)
  local first, log = levels[1], axis.are_far(levels)
  series[1] = { title = "ideal", style = "mark_line", colour = styles.COLOURS,
    data = curve(function(level) return level / first end, first, levels[#levels]) }
  for i, scaling in ipairs(shown) do
    lists.append(series, series_of(scaling, cells_of.label(scaling.levels[1].cell, varies, over), i))
  end
  local tics = lists.map(levels, function(level) return { words.level(over, level), level } end)
  local law = options.weak and "Gustafson" or "Amdahl"
  local subtitle = ("%s of %s, %ss; curve: %s's law"):format(options.weak and "scaled speed-up" or "speed-up",
    text.safe(all[1].title), words.interval_of(), law)
  local left_out = #all - #shown
  if left_out > 0 then subtitle = ("%s · %s left out"):format(subtitle, text.plural(left_out, "curve")) end
  return { title = words.title(result), subtitle = subtitle, panels = { {
    x = axis.around(text.safe(over), tics, log),
    y = { label = ("speed-up against %s %s"):format(text.safe(over), words.level(over, first)), log = log },
    series = series } } }
end

return M
