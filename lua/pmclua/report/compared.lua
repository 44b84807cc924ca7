--- compared.lua: a comparison as tables: one for each cell and its baseline, or one for all that share theirs.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local rows = require "pmclua.report.rows"

local M = {}

-- The cost of one element of both sides, which compares as the event itself does.
local function element_row(pair, metric)
  local ours, theirs = pair.cell:summary(metric.name), pair.baseline:summary(metric.name)
  if ours.n == 0 or theirs.n == 0 then return nil end
  return { text.safe(metric.title), words.short(theirs), words.short(ours), "", "", "", "" }
end

local function compared_table(result, comparison, pair)
  local list, compared = {}, {}
  for i, row in ipairs(lists.first_those(pair.rows, function(row) return row.primary end)) do
    list[i], compared[row.name] = rows.of_quantity(row), true
  end
  for _, metric in ipairs(result.per_metrics) do
    if compared[metric.event.field] and not compared[metric.name] then
      list[#list + 1] = element_row(pair, metric)
    end
  end
  local notes = footnotes.comparison(comparison, pair)
  notes[#notes + 1] = footnotes.layouts({ pair.baseline, pair.cell }, result.header.primary)
  if pair.cell.fitted then notes[#notes + 1] = rows.note_of_rows(pair.rows) end
  local ours, theirs = words.side(pair.cell, pair.baseline), words.side(pair.baseline, pair.cell)
  return { title = titles.comparison(result, { pair }), rows = list, notes = notes,
    columns = rows.compared_columns({ name = theirs, align = "right" }, ours, comparison.level) }
end

--- The tables of a comparison.
---@param comparison pmclua.Comparison
---@return pmclua.ReportBlock[]
function M.tables(comparison)
  local one_baseline, result = require "pmclua.report.one_baseline", comparison.result
  if one_baseline.fits(comparison.pairs) then return { one_baseline.table(result, comparison) } end
  return lists.map(comparison.pairs, function(pair) return compared_table(result, comparison, pair) end)
end

--- A comparison as blocks.
---@param comparison pmclua.Comparison
---@return pmclua.Report
function M.blocks(comparison)
  return { blocks = M.tables(comparison), notes = {}, result = comparison.result }
end

return M
