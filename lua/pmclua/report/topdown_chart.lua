--- topdown_chart.lua: a top-down tree as a chart: a line of bars for each node, its children below it.

local lists = require "pmclua.base.lists"

local M = {}

local MOST_CELLS = 4                    -- bars of a node
local THICK = 0.8                       -- all bars of a node, of the room that it has
local BLUE, ORANGE = 1, 2

local function shares_of(topdown, cells)
  local of_cell = lists.map(cells, function(cell) return lists.by(topdown:rows(cell), "node") end)
  local nodes = lists.where(topdown.nodes, function(node)
    return lists.any(of_cell, function(rows) return rows[node].share ~= nil end)
  end)
  return nodes, of_cell
end

local function bar(row, place, thickness)
  local median, summary = tonumber(row.summary.median), row.summary
  local percent = 100 * row.share
  local function scaled(value)
    return value and median ~= 0 and percent * tonumber(value) / median or percent
  end
  return { percent, place, thickness, scaled(summary.low), scaled(summary.high) }
end

-- Colours: nodes over their threshold, if there is one cell; else each cell's bars.
local function series_of(nodes, of_cell, cells)
  local bars, thickness = {}, THICK / #cells
  local function add(colour, title, item)
    bars[#bars + 1] = { colour = colour, title = title, item = item }
  end
  for i, node in ipairs(nodes) do
    for k, cell in ipairs(cells) do
      local row = of_cell[k][node]
      local item = row.share and bar(row, i + (k - (#cells + 1) / 2) * thickness, thickness)
      if item and #cells > 1 then add(k, cell:label(), item)
      elseif item and row.passed then add(ORANGE, "over its threshold", item)
      elseif item then add(BLUE, "not over it", item) end
    end
  end
  local list = lists.map(lists.groups(bars, function(own) return own.colour end), function(same)
    return { style = "rows", colour = same.key, title = same[1].title, data = lists.column(same, "item") }
  end)
  table.sort(list, function(a, b) return a.colour > b.colour == (#cells == 1) and a ~= b end)
  return list
end

local function subtitle_of(topdown, nodes, all, cells)
  local subtitle = { "top-down" }
  if #all > #cells then subtitle[2] = ("the first %d of %d cells"):format(#cells, #all) end
  local absent = #topdown.nodes - #nodes
  if absent > 0 then subtitle[#subtitle + 1] = ("%d absent"):format(absent) end
  return table.concat(subtitle, ", ")
end

local ROW, AROUND = 17, 130             -- pixels: of a bar's line, and of what is around the bars

--- The bars of the tree, for gnuplot.
---@param topdown pmclua.Topdown
---@return pmclua.Chart
function M.of(topdown)
  local all = lists.where(topdown:cells(), function(cell) return topdown:has_numbers(cell) end)
  local cells = { unpack(all, 1, MOST_CELLS) }
  local nodes, of_cell = shares_of(topdown, cells)
  if #nodes == 0 then
    error(require("pmclua.explain").problem { code = "ENODATA", operation = "plot",
      message = "no node has a number to plot" }, 0)
  end
  local tics = {}
  for i, node in ipairs(nodes) do tics[i] = { require("pmclua.report.topdown").indented(node), i } end
  local lines = #nodes * math.max(1, #cells * 0.7)
  local panel = { x = { label = "share, %", zero = true },
    y = { label = "", tics = tics, down = true, low = #nodes + 0.6, high = 0.4 },
    series = series_of(nodes, of_cell, cells) }
  return { title = require("pmclua.report.words").title(topdown.result),
    subtitle = subtitle_of(topdown, nodes, all, cells), panels = { panel },
    height = math.floor(AROUND + ROW * lines), lines = #nodes * #cells + 8 }
end

return M
