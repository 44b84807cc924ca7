--- charts.lua: what each kind of plot shows of a result, as charts that gnuplot.lua draws.
--
-- Invariant: every value that was summarised is in a chart, or the chart says how many cells it leaves out;
-- axes name their quantity and unit.

local bins = require "pmclua.report.bins"
local cells_of = require "pmclua.report.cells"
local read_cell = require("pmclua.result.cell").read
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local axis = require "pmclua.report.plot.axis"
local dense = require "pmclua.report.plot.dense"
local gnuplot = require "pmclua.report.plot.gnuplot"

local M = {}

local LINES = 4                 -- fits in one chart

-- ---- which cells, under which names ----------------------------------------------------------------------

local function refuse(message, hint)
  error(explain.problem { code = "ENODATA", operation = "plot", message = message, hint = hint }, 0)
end

-- Cells that have values of a quantity, with their labels; at most `most`, and how many there are.
local function cells_with(result, name, most)
  local all = cells_of.with_values(result, name)
  if #all == 0 then
    local cell = result:cells()()
    local why = cell and cell:summary(name).why or "there is no repetition"
    refuse(("there is nothing of %s to plot: %s"):format(name, words.brief(why)))
  end
  local cells = #all > (most or #all) and { unpack(all, 1, most) } or all
  local varies = cells_of.varying(cells)
  return cells, lists.map(cells, function(cell) return cells_of.label(cell, varies) end), #all
end

local function chart_of(result, cells, count, about, panels)
  local title = words.title(result)
  local common = #cells == 1 and cells[1]:label() or cells_of.common_levels(cells)
  if common ~= "" then about = ("%s · %s"):format(common, about) end
  if count > #cells then about = ("%s · the first %d of %d cells"):format(about, #cells, count) end
  return { title = title, subtitle = about, panels = panels }
end

-- ---- distribution: every value beside its quartiles ------------------------------------------------------

local SPREAD = 0.2              -- points stand at most so far beside the middle of their box

local function points_beside(values, x, divisor)
  local data = {}
  -- Places beside the middle by the golden ratio: apart, and the same each time.
  for i = 1, #values do
    data[i] = { x + SPREAD * (2 * (i * 0.6180339887 % 1) - 1), values[i] / divisor }
  end
  return data
end

function M.distribution(result, name)
  local cells, labels, count = cells_with(result, name, 24)
  local scale, series, tics, colours = axis.of_cells(cells, name), {}, {}, {}
  for i, workload in ipairs(result.header.workloads) do colours[workload.name] = i end
  for i, cell in ipairs(cells) do
    local sorted, d = order.sorted(cell:values(name)), scale.divisor
    local box = { i }
    for k, p in ipairs { 0, 0.25, 0.5, 0.75, 1 } do box[k + 1] = order.quantile_of(sorted, p) / d end
    tics[i] = { labels[i], i }
    local colour = colours[cell.workload]
    series[#series + 1] = { style = "boxes", colour = colour, data = { box }, width = 0.5 }
    series[#series + 1] = { style = "points", colour = colour,
      data = points_beside(dense.thinned(sorted, #cells), i, d) }
  end
  return chart_of(result, cells, count, dense.said("values, quartiles and extremes", cells, name,
    "points: values at equal steps of rank"), { {
    x = { label = "", tics = tics, named = true, low = 0.4, high = #cells + 0.6 },
    y = { label = scale.label, log = scale.log, tics = scale.tics }, series = series } })
end

-- ---- ECDF ------------------------------------------------------------------------------------------------

function M.ecdf(result, name)
  local cells, labels, count = cells_with(result, name, gnuplot.MOST_SERIES)
  local scale, series = axis.of_cells(cells, name), {}
  for i, cell in ipairs(cells) do
    local sorted, data = dense.thinned(order.sorted(cell:values(name)), #cells), {}
    data[1] = { sorted[1] / scale.divisor, 0 }
    for k = 1, #sorted do data[k + 1] = { sorted[k] / scale.divisor, k / #sorted } end
    series[i] = { title = labels[i], style = "steps", colour = i, data = data }
  end
  return chart_of(result, cells, count, dense.said("share of repetitions up to a value", cells, name,
    "steps: values at equal steps of rank"), { {
    x = { label = scale.label, log = scale.log },
    y = { label = "share of repetitions", low = 0, high = 1 }, series = series } })
end

-- ---- a factor against a quantity -------------------------------------------------------------------------

-- The positions of a factor's levels on the axis: the levels themselves if they are numbers, else 1, 2, ….
local function positions_of(result, swept)
  local levels, position, tics, numeric = result.factor_by_name[swept][2], {}, {}, true
  for _, level in ipairs(levels) do numeric = numeric and type(level) == "number" end
  for i, level in ipairs(levels) do
    position[level] = numeric and level or i
    tics[i] = { words.level(swept, level), position[level] }
  end
  return position, numeric and #levels > 2 and axis.are_far(levels), tics
end

local function interval_row(cell, name, x, divisor)
  local summary = cell:summary(name)
  local median = tonumber(summary.median) / divisor
  return { x, median, summary.low and tonumber(summary.low) / divisor or median,
    summary.high and tonumber(summary.high) / divisor or median }
end

-- A mark without an interval is not to be taken for one of no width.
local function without_intervals(cells, name)
  local without = lists.where(cells, function(cell)
    local summary = cell:summary(name)
    return summary.low == nil and not summary.exact
  end)
  return #without > 0 and (" (%s without one)"):format(text.plural(#without, "cell")) or ""
end

-- Cells over the factor with most levels, in groups that differ in the rest: the factor, the groups (label, cells), what
-- holds of all, and the axes.
local function over_factor(result, name)
  local cells = cells_with(result, name)
  local swept, levels = cells_of.swept(cells)
  if levels < 2 then refuse("no factor has several levels to plot against", "try --kind distribution") end
  local varies, scale = cells_of.varying(cells), axis.of_cells(cells, name)
  local position, log, tics = positions_of(result, swept)
  local function place(cell) return position[cell.levels[swept]] end
  local all = lists.groups(cells, function(cell) return cells_of.label(cell, varies, swept) end)
  local groups = lists.map({ unpack(all, 1, gnuplot.MOST_SERIES) }, function(same)
    local own = lists.without(same, "key")
    table.sort(own, function(a, b) return place(a) < place(b) end)
    return { label = same.key, cells = own }
  end)
  local left_out = #cells - #lists.joined(lists.column(groups, "cells"))
  return { swept = swept, groups = groups, place = place, cells = cells, scale = scale, tics = tics,
    left_out = left_out > 0 and (" · %s left out"):format(text.plural(left_out, "cell")) or "",
    x = axis.around(text.safe(swept), tics, log),
    y = { label = scale.label, log = scale.log, tics = scale.tics } }
end

local function medians_of(shown, group, name)
  return lists.map(group.cells, function(cell)
    return interval_row(cell, name, shown.place(cell), shown.scale.divisor)
  end)
end

local function said_of_medians(shown, name)
  return ("medians with %ss%s%s"):format(words.interval_of(), without_intervals(shown.cells, name),
    shown.left_out)
end

function M.factor(result, name)
  local shown = over_factor(result, name)
  local series = {}
  for i, group in ipairs(shown.groups) do
    series[i] = { title = group.label, style = "marks", colour = i, data = medians_of(shown, group, name) }
  end
  return chart_of(result, shown.cells, #shown.cells, said_of_medians(shown, name),
    { { x = shown.x, y = shown.y, series = series } })
end

-- ---- a staircase: a factor against a quantity, as plateaus -----------------------------------------------

-- The ends of the plateaus: between neighbours, and as far beyond the first and last.
local function edges_of(tics, log)
  local to, from = log and math.log or tonumber, log and math.exp or tonumber
  local at = lists.map(tics, function(tic) return to(tic[2]) end)
  table.sort(at)
  local edges = { [0] = at[1] - (at[2] - at[1]) / 2 }
  for i = 1, #at do edges[i] = at[i + 1] and (at[i] + at[i + 1]) / 2 or 2 * at[i] - edges[i - 1] end
  local edge_of = {}
  for i = 1, #at do edge_of[i] = { from(edges[i - 1]), from(edges[i]) } end
  return edge_of
end

local function plateau(edges, place)
  return lists.find(edges, function(edge) return place >= edge[1] and place <= edge[2] end)
end

function M.staircase(result, name)
  local shown, series = over_factor(result, name), {}
  local edges = edges_of(shown.tics, shown.x.log)
  for i, group in ipairs(shown.groups) do
    local medians, steps = medians_of(shown, group, name), {}
    for _, row in ipairs(medians) do
      local from, to = unpack(plateau(edges, row[1]))
      lists.append(steps, { { from, row[2] }, { to, row[2] } })
    end
    lists.append(series, { { style = "lines", colour = i, data = steps },
      { title = group.label, style = "marked", colour = i, data = medians } })
  end
  shown.x.low, shown.x.high = edges[1][1], edges[#edges][2]
  return chart_of(result, shown.cells, #shown.cells, said_of_medians(shown, name),
    { { x = shown.x, y = shown.y, series = series } })
end

-- ---- growth: a factor against a quantity, with the curve -------------------------------------------------

local POINTS_OF_CURVE, BEYOND = 80, 2

local function curve_data(growth, from, to, divisor)
  local data = {}
  for i = 0, POINTS_OF_CURVE do
    local size = from * (to / from) ^ (i / POINTS_OF_CURVE)
    local predicted = growth:at(size)
    data[#data + 1] = predicted and { size, predicted.value / divisor } or nil
  end
  return data
end

-- A curve ends at the largest size that is predicted, or at twice the largest measured.
local function reach_of(growth, fit)
  local last = growth.sizes[#growth.sizes]
  return math.max(BEYOND * last, unpack(fit and fit.over == growth.over and fit.at or {}))
end

local function growth_series(growth, label, scale, colour, fit)
  local first, last, medians, left = growth.sizes[1], growth.sizes[#growth.sizes], {}, {}
  for i, cell in ipairs(growth.cells) do
    medians[i] = interval_row(cell, growth.name, growth.sizes[i], scale.divisor)
    left[i] = { growth.sizes[i], 100 * growth.residuals[i] }
  end
  local title = ("%s: %s"):format(label, require("pmclua.report.growth").formula(growth))
  local beyond = curve_data(growth, last, reach_of(growth, fit), scale.divisor)
  return { { style = "curve", colour = colour, data = curve_data(growth, first, last, scale.divisor) },
      { style = "beyond", colour = colour, data = beyond },
      { title = title, style = "marked", colour = colour, data = medians } },
    { style = "points", colour = colour, data = left }
end

function M.fit(result, name)
  local fit, cells = result.header.fit, cells_with(result, name)
  local over = fit and fit.over or (cells_of.swept(cells))
  if not over then refuse("there is no factor that anything could grow over", "try --kind distribution") end
  local grown, varies = result:fit(over, { names = name }), cells_of.varying(cells)
  local scale = axis.of_cells(cells, name)
  local above, below, why = {}, {}, nil
  for i, growth in ipairs(grown) do
    why = why or growth.why
    if not growth.why and #below < LINES then
      local label = cells_of.label(growth.cells[1], varies, over)
      local series, residuals = growth_series(growth, label, scale, i, fit)
      lists.append(above, series)
      below[#below + 1] = residuals
    end
  end
  if #below == 0 then refuse(("%s has no curve: %s"):format(name, why)) end
  local _, _, tics = positions_of(result, over)
  local x = axis.around(text.safe(over), tics, true)
  x.high = math.max(x.high, 1.2 * above[2].data[#above[2].data][1])
  return chart_of(result, cells, #cells, "medians, the curve that fits best, dashed beyond; residuals", {
      { x = x, y = { label = scale.label, log = true, tics = scale.tics }, series = above },
      { x = x, y = { label = "residual (%)", zero = true }, series = below } })
end

-- ---- scatter: every value over a factor, and the curve ----------------------------------------------------

-- The curve of a group of cells, and its formula; nothing where there is none.
local function curve_of(grown, group, scale, colour)
  local growth = lists.find(grown, function(growth_of_cell)
    return not growth_of_cell.why and lists.contains(group.cells, growth_of_cell.cells[1])
  end)
  if not growth then return {}, group.label end
  local first, last = growth.sizes[1], growth.sizes[#growth.sizes]
  return { { style = "curve", colour = colour, data = curve_data(growth, first, last, scale.divisor) } },
    ("%s: %s"):format(group.label, require("pmclua.report.growth").formula(growth))
end

function M.scatter(result, name)
  local shown, series = over_factor(result, name), {}
  local levels = cells_of.levels(shown.cells, shown.swept)
  local can_fit = not require("pmclua.result.growth").problem(levels)
  local grown = can_fit and result:fit(shown.swept, { names = name }) or {}
  for i, group in ipairs(shown.groups) do
    local curve, title = curve_of(grown, group, shown.scale, i)
    local values = lists.joined(lists.map(group.cells, function(cell)
      local all = cell:values(name)
      return lists.map(dense.extremes(all, #shown.cells), function(k)
        return { shown.place(cell), all[k] / shown.scale.divisor }
      end)
    end))
    lists.append(series, curve)
    series[#series + 1] = { title = title, style = "points", colour = i, data = values }
  end
  local about = can_fit and "every value, and the curve that fits the medians best" or "every value"
  about = dense.said(about .. shown.left_out, shown.cells, name, "of neighbours the smallest and the largest")
  return chart_of(result, shown.cells, #shown.cells, about, { { x = shown.x, y = shown.y, series = series } })
end

-- ---- regression and its residuals ------------------------------------------------------------------------

local function line_of(fit, divisor)
  return { { fit.least, (fit.intercept + fit.slope * fit.least) / divisor },
    { fit.most, (fit.intercept + fit.slope * fit.most) / divisor } }
end

local function fitted_cells(result, name)
  local cells, labels, count = cells_with(result, name, LINES)
  for _, cell in ipairs(cells) do
    local fit = cell:summary(name).fit
    if not (fit and fit.intercept) then
      refuse(("%s has no line of %s"):format(cell:label(), name),
        'iterations = "fit", or a list, makes lines of events; metrics have none')
    end
  end
  return cells, labels, count
end

local function largest_of(cells, name)
  local largest = 0
  for _, cell in ipairs(cells) do
    for _, y in ipairs(read_cell(cell, name).points.y) do largest = math.max(largest, math.abs(y)) end
  end
  return largest
end

local function tics_of(iterations)
  return lists.map(lists.unique(iterations), function(count) return { text.short(count), count } end)
end

local function line_panels(cell, name, label, scale, colour)
  local points, fit = read_cell(cell, name).points, cell:summary(name).fit
  local counts, residuals, d = {}, {}, scale.divisor
  for k = 1, #points.x do
    counts[k] = { points.x[k], points.y[k] / d }
    residuals[k] = { points.x[k], (points.y[k] - fit.intercept - fit.slope * points.x[k]) / d }
  end
  local x = axis.around("iterations", tics_of(points.x), false)
  return { title = ("%s (R² %s)"):format(label, words.r_squared(fit.r2)), x = x,
      y = { label = scale.label }, series = {
        { style = "lines", colour = colour, data = line_of(fit, d) },
        { style = "points", colour = colour, data = counts } } },
    { title = label, x = x, y = { label = "residual", zero = true },
      series = { { style = "points", colour = colour, data = residuals } } }
end

function M.regression(result, name)
  local cells, labels, count = fitted_cells(result, name)
  local summary, panels = cells[1]:summary(name), {}
  local scale = axis.scale(summary.title, summary.unit, largest_of(cells, name))
  for i, cell in ipairs(cells) do
    panels[i], panels[#cells + i] = line_panels(cell, name, labels[i], scale, i)
  end
  local chart = chart_of(result, cells, count, "counts over iterations, and residuals", panels)
  chart.columns = #cells
  return chart
end

-- ---- order of measuring ----------------------------------------------------------------------------------

function M.order(result, name)
  local cells, labels, count = cells_with(result, name, gnuplot.MOST_SERIES)
  local scale, series = axis.of_cells(cells, name), {}
  for i, cell in ipairs(cells) do
    local values, data = read_cell(cell, name), {}
    for n, k in ipairs(dense.extremes(values.list, #cells)) do
      data[n] = { values.block.order[values.rows[k]], values.list[k] / scale.divisor }
    end
    series[i] = { title = labels[i], style = "points", colour = i, data = data }
  end
  return chart_of(result, cells, count, dense.said("values in the order of measuring", cells, name,
    "of neighbours the smallest and the largest"), { {
    x = { label = "place in time, counted in repetitions of all cells" },
    y = { label = scale.label, log = scale.log, tics = scale.tics }, series = series } })
end

-- ---- histogram -------------------------------------------------------------------------------------------

local BINS, FAR = 30, 64        -- bars; octaves if the largest is this many times the smallest or more

local function are_whole(values)
  return lists.all(values, function(value) return value % 1 == 0 end)
end

local function bins_for(values) return math.min(BINS, math.max(5, math.ceil(2 * (#values) ^ (1 / 3)))) end

-- Counts are whole numbers: a bar is a whole number of them wide, or some bars would hold more than others.
local function whole_bars(sorted)
  local low, data = sorted[1], {}
  local width = math.ceil((sorted[#sorted] - low + 1) / bins_for(sorted))
  for i = 1, math.ceil((sorted[#sorted] - low + 1) / width) do
    data[i] = { low + (i - 0.5) * width - 0.5, 0, width }
  end
  for _, value in ipairs(sorted) do
    local bar = data[math.floor((value - low) / width) + 1]
    bar[2] = bar[2] + 1
  end
  return data
end

local function bars_of(values, log)
  local into, counts = bins.of_values(values, bins_for(values), log)
  if into then return into:bars(counts, 1) end
  return { { values[1], #values, math.max(1e-3, math.abs(values[1]) * 0.1) } }
end

local function histogram_panel(label, y_label, scale, values, colour)
  local sorted = order.sorted(values)
  local log = sorted[1] > 0 and sorted[#sorted] / sorted[1] >= FAR
  local whole = not log and scale.divisor == 1 and are_whole(values)
  local x = { label = scale.label, log = log, whole = whole }
  if whole then x.low, x.high = sorted[1] - 1, sorted[#sorted] + 1 end
  local bars = whole and whole_bars(sorted) or bars_of(values, log)
  return { title = label, x = x, y = { label = y_label, low = 0, whole = true },
    series = { { style = "bars", colour = colour, data = bars } } }
end

local HISTOGRAMS = 4            -- below each other

function M.histogram(result, name)
  local cells, labels, count = cells_with(result, name, HISTOGRAMS)
  local panels = {}
  for i, cell in ipairs(cells) do
    local scale = axis.of_cells({ cell }, name)
    local values = lists.map(cell:values(name), function(value) return value / scale.divisor end)
    local y_label = cell.region and "calls" or "repetitions"
    panels[i] = histogram_panel(#cells > 1 and labels[i] or nil, y_label, scale, values, i)
  end
  return chart_of(result, cells, count, "how often each value came", panels)
end

return M
