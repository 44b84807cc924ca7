--- tables.lua: a result as tables of texts, which the renderers for people lay out.
--
-- Invariant: the same tables are shown as text, Markdown and HTML, so no format says more or less than
-- another. One cell is a table of its events; cells with a baseline are compared; a factor is swept.

local cells = require "pmclua.report.cells"
local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local sweep = require("pmclua.base.lazy").module "pmclua.report.sweep"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local notes = require "pmclua.report.notes"
local rows = require "pmclua.report.rows"

local M = {}

---@class pmclua.ReportTable
---@field title string[] parts of the headline
---@field columns pmclua.GridColumn[]
---@field rows pmclua.GridRow[] with `tone` or `tones` of cells: "good", "bad", "warn", "dim"
---@field notes string[] footnotes

---@class pmclua.Report
---@field question string?
---@field tables pmclua.ReportTable[]
---@field notes string[] what concerns the whole result, what matters most last

-- ---- one cell ------------------------------------------------------------------------------------------

--- Names of the events and metrics of a result, in order.
---@param result pmclua.Result
---@return string[]
function M.names(result)
  return lists.joined { lists.column(result.events, "field"), lists.column(result.metrics, "name") }
end

-- Where each call of a region is a value, how far the largest ones reach: two columns before the shape.
local function add_tail(shown, summaries)
  local order = require "pmclua.stats.order"
  local at = #shown.columns - 1
  table.insert(shown.columns, at, { name = "99 %", align = "right", drop = 3 })
  table.insert(shown.columns, at + 1, { name = "max", align = "right", drop = 4 })
  for i, row in ipairs(shown.rows) do
    local summary, sorted = summaries[i], order.sorted(summaries[i].values or {})
    if sorted and #sorted > 0 and not row.span then
      table.insert(row, at, rows.in_unit(summary, order.quantile_of(sorted, 0.99)))
      table.insert(row, at + 1, rows.in_unit(summary, sorted[#sorted]))
      row.tones = { [#row] = row.tones and row.tones[#row - 2] }
    end
  end
end

local function cell_table(result, cell)
  local list, summaries, element = {}, {}, result.element
  for i, name in ipairs(M.names(result)) do
    local summary, per = cell:summary(name), result.per_event[name]
    summaries[i] = summary
    list[i] = rows.row(text.safe(summary.title), summary, cell.fitted, element,
      per and cell:summary(per.name))
  end
  local said = { cell.fitted and rows.region_note(summaries) or nil }
  for _, name in ipairs(M.names(result)) do said[#said + 1] = footnotes.layouts({ cell }, name) end
  local shown = { title = titles.cell(cell), rows = list, notes = said,
    columns = { { name = "event" }, unpack(rows.columns(cell.fitted, element)) } }
  if titles.entries_are_values(cell) and not cell.fitted then add_tail(shown, summaries) end
  return shown
end

-- ---- comparisons ---------------------------------------------------------------------------------------

local function compared_row(row)
  return rows.compared(text.safe(row.title) .. (row.primary and " *" or ""), words.short(row.baseline), row)
end

-- The cost of one element of both sides, which compares as the event itself does.
local function element_row(pair, metric)
  local ours, theirs = pair.cell:summary(metric.name), pair.baseline:summary(metric.name)
  if ours.n == 0 or theirs.n == 0 then return nil end
  return { text.safe(metric.title), words.short(theirs), words.short(ours), "", "", "", "" }
end

local function compared_table(result, comparison, pair)
  local list, compared = {}, {}
  for i, row in ipairs(lists.first_those(pair.rows, function(row) return row.primary end)) do
    list[i], compared[row.name] = compared_row(row), true
  end
  for _, metric in ipairs(result.per_metrics) do
    if compared[metric.event.field] and not compared[metric.name] then
      list[#list + 1] = element_row(pair, metric)
    end
  end
  local said = footnotes.comparison(comparison, pair)
  said[#said + 1] = footnotes.layouts({ pair.baseline, pair.cell }, result.header.primary)
  if pair.cell.fitted then said[#said + 1] = rows.note_of_rows(pair.rows) end
  local ours, theirs = words.side(pair.cell, pair.baseline), words.side(pair.baseline, pair.cell)
  return { title = titles.comparison(result, { pair }), rows = list, notes = said,
    columns = rows.compared_columns({ name = theirs, align = "right" }, ours, comparison.level) }
end

-- ---- which tables -------------------------------------------------------------------------------------

local MOST_COMPARED = 4        -- levels that each have a table of their own, against the baseline

-- Whether a factor is to be read down a table: not where its few levels are what is compared.
local function has_sweep(result)
  local baseline, shown = result.header.baseline, result:list()
  return lists.any(result.header.factors, function(factor)
    local count = #cells.levels(shown, factor[1])
    local is_compared = type(baseline) == "table" and baseline[factor[1]] ~= nil and count <= MOST_COMPARED
    return count > 1 and not is_compared
  end)
end

local function compared_tables(result, comparison)
  local one_baseline = require "pmclua.report.one_baseline"
  if one_baseline.fits(comparison.pairs) then return { one_baseline.table(result, comparison) } end
  return lists.map(comparison.pairs, function(pair) return compared_table(result, comparison, pair) end)
end

-- Events and metrics; also costs of one element, where an element is not the same of both sides.
local function compared_names(result)
  local list, baseline = M.names(result), result.header.baseline
  local function differs(name) return result.factor_by_name[name] and baseline[name] ~= nil end
  for _, metric in ipairs(type(baseline) == "table" and result.per_metrics or {}) do
    if lists.any(metric.needs, differs) then list[#list + 1] = metric.name end
  end
  return list
end

-- Where the metrics are a vendor's tree of several nodes: B's difference from A by node.
local function add_tree(tables, result)
  local tree = result:topdown()
  if not tree or #tree.nodes < 2 then return tables end
  return lists.joined { tables, require("pmclua.report.topdown").differences(tree) }
end

local function tables_of(result)
  local shown = result:list()
  local several = #shown > 1
  if several and has_sweep(result) then return sweep.tables(result, M.names(result)) end
  local tables = several and result.header.baseline
    and compared_tables(result, result:compare { names = compared_names(result) }) or {}
  return #tables > 0 and add_tree(tables, result)
    or lists.map(shown, function(cell) return cell_table(result, cell) end)
end

--- What is shown of a comparison that a script asked for.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@return pmclua.Report
function M.of_comparison(result, comparison)
  return { tables = compared_tables(result, comparison), notes = {} }
end

-- Whether a failure ended it before there was anything to show.
local function has_nothing(result)
  return ending.of(result) == "failed" and not lists.any(result:list(), function(cell)
    return cell.repetitions + cell.rejected > 0
  end)
end

--- What is shown of a result.
---@param result pmclua.Result
---@return pmclua.Report
function M.of(result)
  local question = result.header.question
  if has_nothing(result) then return { tables = {}, notes = notes.failure(result) } end
  return { question = question and text.safe(question), tables = tables_of(result),
    notes = notes.result(result) }
end

return M
