--- tables.lua: a result as tables of texts, which the renderers for people lay out.
--
-- Invariant: the same tables are shown as text, Markdown and HTML, so no format says more or less than
-- another. One cell is a table of its events; cells with a baseline are compared; a factor is swept.

local cells = require "pmclua.report.cells"
local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local sweep = require("pmclua.base.lazy").module "pmclua.report.sweep"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local notes = require "pmclua.report.notes"
local rows = require "pmclua.report.rows"

local M = {}

---@class pmclua.ReportBlock a table, or a headline and notes alone
---@field title string[] parts of the headline
---@field columns pmclua.GridColumn[]
---@field rows pmclua.GridRow[] with `tone` or `tones` of cells: "good", "bad", "warn", "dim"; `strong`: the cell that
---  matters most
---@field notes string[] footnotes
---@field follows? boolean it belongs to the block before it
---@field indent? integer columns
---@field sort? pmclua.SortedTable by what a page can sort it

---@class pmclua.Report
---@field title? string of a page; default: that of the result
---@field question? string
---@field sentence? string the conclusion
---@field blocks pmclua.ReportBlock[]
---@field notes string[] what concerns the whole result, what matters most last
---@field result? pmclua.Result whose plan and host a page tells
---@field plots? { title: string, svg: string }[]|fun(): table those of a page; default: the result's own
---@field details? fun(): { title: string, blocks: pmclua.ReportBlock[] }[] what a page has to be unfolded

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

local function cell_table(result, cell, names)
  local list, summaries, element = {}, {}, result.element
  for i, name in ipairs(names) do
    local summary, per = cell:summary(name), result.per_event[name]
    summaries[i] = summary
    list[i] = rows.row(text.safe(summary.title), summary, cell.fitted, element,
      per and cell:summary(per.name))
  end
  local remarks = { cell.fitted and rows.region_note(summaries) or nil }
  for _, name in ipairs(names) do remarks[#remarks + 1] = footnotes.layouts({ cell }, name) end
  local shown = { title = titles.cell(cell), rows = list, notes = remarks,
    columns = { { name = "event" }, unpack(rows.columns(cell.fitted, element)) } }
  if titles.entries_are_values(cell) and not cell.fitted then add_tail(shown, summaries) end
  return shown
end

-- ---- which tables -------------------------------------------------------------------------------------

local MOST_COMPARED = 4        -- levels that each have a table of their own, against the baseline

-- Few levels that are compared are not a sweep.
local function has_sweep(result)
  local baseline, shown = result.header.baseline, result:list()
  return lists.any(result.header.factors, function(factor)
    local count = #cells.levels(shown, factor[1])
    local is_compared = type(baseline) == "table" and baseline[factor[1]] ~= nil and count <= MOST_COMPARED
    return count > 1 and not is_compared
  end)
end

local function add_tree(tables, result)
  local tree = result:topdown()
  if not tree or #tree.nodes < 2 then return tables end
  return lists.joined { tables, require("pmclua.report.topdown").differences(tree) }
end

--- The names that a report was asked to show, in their order; all by default.
---@param result pmclua.Result
---@param asked? string|string[]
---@return string[]
function M.shown_names(result, asked)
  if not asked then return M.names(result) end
  local words_asked = lists.joined(lists.map(type(asked) == "string" and { asked } or asked, function(term)
    return lists.collect(term:gmatch "[^,%s]+")
  end))
  return lists.map(words_asked, function(word)
    local name = text.field(word)
    require("pmclua.result.names").check(result, name)
    return name
  end)
end

-- Everything is compared, so that verdicts do not depend on what is shown.
local function compared_of(result, names)
  if not result.header.baseline then return nil end
  local comparison = result:compare {}
  for _, pair in ipairs(names and comparison.pairs or {}) do
    local by_name = lists.by(pair.rows, "name")
    pair.rows = lists.map(names, function(name) return by_name[name] end)
  end
  return #comparison.pairs > 0 and comparison or nil
end

local function side_by_side(result, names, by)
  local module = require "pmclua.report.side_by_side"
  local problem = module.problem(result, by)
  if problem then require("pmclua.base.problem").misuse(problem, 4) end
  return { module.table(result, names, by, compared_of(result)) }
end

local function tables_of_cells(result, names, options)
  local shown = result:list()
  local several = #shown > 1
  if several and options.columns then return side_by_side(result, names, options.columns) end
  if several and has_sweep(result) then return sweep.tables(result, names) end
  local comparison = several and compared_of(result, options.show and names)
  local tables = comparison and require("pmclua.report.compared").tables(comparison) or {}
  return #tables > 0 and add_tree(tables, result)
    or lists.map(shown, function(cell) return cell_table(result, cell, names) end)
end

local function tables_of(result, options)
  local names = M.shown_names(result, options.show)
  local growth = result.header.fit and require("pmclua.report.growth").block(result, names)
  return lists.append(tables_of_cells(result, names, options), { growth })
end

--- The followed calls of a result's cells as blocks; empty: none were followed.
---@param result pmclua.Result
---@return pmclua.Regions[]
function M.followed(result)
  if not next(result.followed) then return {} end
  local numbers = lists.unique(lists.column(result:list(), "number"))
  return lists.map(numbers, function(number) return require("pmclua.result.regions").of(result, number) end)
end

local function has_nothing(result)
  return ending.of(result) == "failed" and not lists.any(result:list(), function(cell)
    return cell.repetitions + cell.rejected > 0
  end)
end

--- Blocks of a result with its question and the notes on the whole.
---@param result pmclua.Result
---@param blocks pmclua.ReportBlock[]
---@param options pmclua.ReportOptions
---@return pmclua.Report
function M.around(result, blocks, options)
  local question = result.header.question
  return { question = question and text.safe(question) or nil, blocks = blocks, result = result,
    notes = notes.result(result, options.show and M.shown_names(result, options.show)) }
end

--- A result as blocks.
---@param result pmclua.Result
---@param options? pmclua.ReportOptions `show`: names of quantities; `columns`: "workload" or a factor, whose levels
---  stand side by side in one table
---@return pmclua.Report
function M.blocks(result, options)
  options = options or {}
  local followed = M.followed(result)
  local function make() return tables_of(result, options) end
  if #followed > 0 then
    return require("pmclua.report.regions").report(followed, options, result.header.baseline and make() or {})
  end
  if has_nothing(result) then return { blocks = {}, notes = notes.failure(result), result = result } end
  local is_printed = options.format == "latex" or options.columns
  return M.around(result, is_printed and require("pmclua.report.words").rounding(make) or make(), options)
end

return M
