--- forest.lua: every verdict of a result in one chart: ratios to the baseline with their intervals.
--
-- Invariant: each ratio that has an interval has a line, or the chart says how many have none.

local axis = require "pmclua.report.plot.axis"
local cells_of = require "pmclua.report.cells"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local MOST, ROW, AROUND = 60, 22, 190           -- lines; pixels
local FAINT, COLOURS = 8, { faster = 1, fewer = 1, lower = 1, slower = 6, more = 6, higher = 6, same = 3 }

local function ratios_of(comparison, name)
  local list, without = {}, 0
  for _, pair in ipairs(comparison.pairs) do
    for _, row in ipairs(pair.rows) do
      local verdict = (not name or row.name == name) and row.verdict
      if verdict and verdict.ratio and verdict.low then list[#list + 1] = { pair = pair, row = row }
      elseif verdict then without = without + 1 end
    end
  end
  local quantities = lists.unique(lists.map(list, function(item) return item.row.name end))
  local function is_primary(quantity) return quantity == comparison.primary end
  local grouped = lists.map(lists.first_those(quantities, is_primary), function(quantity)
    return lists.where(list, function(item) return item.row.name == quantity end)
  end)
  return lists.joined(grouped), without, #quantities > 1
end

-- A line at 1, and a series for each kind of verdict, named by the words that came.
local function series_of(list)
  local lines = {}
  for i, item in ipairs(list) do
    local verdict = item.row.verdict
    lines[i] = { verdict.ratio, i, verdict.low, verdict.high, said = verdict.verdict }
  end
  local by_colour = lists.groups(lines, function(line) return COLOURS[line.said] or FAINT end)
  local colours = lists.map(by_colour, function(same)
    return { style = "across", colour = same.key, data = { unpack(same) },
      title = table.concat(lists.unique(lists.column(same, "said")), ", ") }
  end)
  local at_1 = { { 1, 0.4 }, { 1, #list + 0.6 } }
  return { { style = "mark_line", colour = FAINT, data = at_1 }, unpack(colours) }
end

--- The chart of the verdicts on one quantity, or on all.
---@param result pmclua.Result
---@param name? string
---@return pmclua.Chart
function M.chart(result, name)
  local comparison = result.header.baseline and result:compare {} or { pairs = {} }
  local all, without, has_several = ratios_of(comparison, name)
  if #all == 0 then
    error(explain.problem { code = "ENODATA", operation = "plot", message = "there is no ratio to plot",
      hint = "a comparison takes a baseline: pmclua plot of `pmclua compare --store`" }, 0)
  end
  local list = { unpack(all, 1, MOST) }
  local varies = cells_of.varying(lists.map(list, function(item) return item.pair.cell end))
  local ends = {}
  local tics = lists.map(list, function(item)
    lists.append(ends, { item.row.verdict.low, item.row.verdict.high })
    local label = cells_of.label(item.pair.cell, varies)
    return has_several and ("%s, %s"):format(text.safe(item.row.title), label) or label
  end)
  for i, label in ipairs(tics) do tics[i] = { label, i } end
  local ratio_of = ("ratio to %s, %s"):format(words.side(list[1].pair.baseline, list[1].pair.cell),
    words.interval_of(comparison.level))
  if not has_several then ratio_of = text.safe(list[1].row.title) .. ": " .. ratio_of end
  if #all > MOST then ratio_of = ("%s · the first %d of %d"):format(ratio_of, MOST, #all) end
  if without > 0 then ratio_of = ("%s · %d without an interval"):format(ratio_of, without) end
  return { title = words.title(result), subtitle = ratio_of,
    height = AROUND + ROW * #list, lines = #list + 7,
    panels = { { x = { label = "ratio", log = axis.are_far(ends) }, series = series_of(list),
      y = { label = "", tics = tics, down = true, flush = true, low = #list + 0.6, high = 0.4 } } } }
end

return M
