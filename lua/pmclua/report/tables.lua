--- tables.lua: a result as tables of texts, which the renderers for people lay out.
--
-- Invariant: the same tables are shown as text, Markdown and HTML, so no format says more or less than
-- another. One cell is a table of its events; cells with a baseline are compared; a factor is swept.

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
  local list = {}
  for _, event in ipairs(result.events) do list[#list + 1] = event.field end
  for _, metric in ipairs(result.metrics) do list[#list + 1] = metric.name end
  return list
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
    elseif row.span then
      row.span = row.span + 2
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

local VERDICT_TONES = { faster = "good", slower = "bad" }

local function compared_columns(pair)
  local ours, theirs = words.side(pair.cell, pair.baseline), words.side(pair.baseline, pair.cell)
  return {
    { name = "event" }, { name = theirs, align = "right" }, { name = ours, align = "right" },
    { name = "ratio", align = "right" },
    { name = "95 % interval", whole = true, drop = 2 },
    { name = "margin", align = "right", gap = 1, drop = 1 },
    { name = "verdict" },
  }
end

local function compared_row(row)
  local title = text.safe(row.title) .. (row.primary and " *" or "")
  if not row.verdict then
    local side = row.cell.n == 0 and row.cell or row.baseline
    local reason = side.n == 0 and words.absent(side) or words.brief(row.why)
    return { title, words.short(row.baseline), words.short(row.cell), words.ABSENT, reason, span = 5,
      tone = "dim" }
  end
  return { title, words.short(row.baseline), words.short(row.cell), words.ratio(row.verdict),
    words.ratio_interval(row.verdict), words.margin(row.verdict), words.verdict(row),
    tones = { [7] = VERDICT_TONES[row.verdict.verdict] } }
end

local function primary_first(compared)
  local list = {}
  for _, row in ipairs(compared) do
    if row.primary then list[1] = row end
  end
  for _, row in ipairs(compared) do
    if not row.primary then list[#list + 1] = row end
  end
  return list
end

-- The cost of one element of both sides, which compares as the event itself does.
local function element_row(pair, metric)
  local ours, theirs = pair.cell:summary(metric.name), pair.baseline:summary(metric.name)
  if ours.n == 0 or theirs.n == 0 then return nil end
  return { text.safe(metric.title), words.short(theirs), words.short(ours), "", "", "", "" }
end

local function compared_table(result, comparison, pair)
  local list, compared = {}, {}
  for i, row in ipairs(primary_first(pair.rows)) do
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
  return { title = titles.comparison(result, { pair }), columns = compared_columns(pair), rows = list,
    notes = said }
end

-- ---- which tables -------------------------------------------------------------------------------------

local function count_cells(result)
  local count = 0
  for _ in result:cells() do count = count + 1 end
  return count
end

local MOST_COMPARED = 4        -- levels that each have a table of their own, against the baseline

local function count_levels(result, name)
  local seen, count = {}, 0
  for cell in result:cells() do
    local level = cell.levels[name]
    if level ~= nil and not seen[level] then seen[level], count = true, count + 1 end
  end
  return count
end

-- Whether a factor is to be read down a table: not where its few levels are what is compared.
local function has_sweep(result)
  local baseline = result.header.baseline
  for _, factor in ipairs(result.header.factors) do
    local count = count_levels(result, factor[1])
    local is_compared = type(baseline) == "table" and baseline[factor[1]] ~= nil and count <= MOST_COMPARED
    if count > 1 and not is_compared then return true end
  end
  return false
end

local function compared_tables(result, comparison)
  local tables, one_baseline = {}, require "pmclua.report.one_baseline"
  if one_baseline.fits(comparison.pairs) then return { one_baseline.table(result, comparison) } end
  for i, pair in ipairs(comparison.pairs) do tables[i] = compared_table(result, comparison, pair) end
  return tables
end

local function each_cell(result)
  local tables = {}
  for cell in result:cells() do tables[#tables + 1] = cell_table(result, cell) end
  return tables
end

-- Events and metrics; also costs of one element, where an element is not the same of both sides.
local function compared_names(result)
  local list, baseline = M.names(result), result.header.baseline
  for _, metric in ipairs(type(baseline) == "table" and result.per_metrics or {}) do
    local differs = false
    for _, name in ipairs(metric.needs) do
      differs = differs or result.factor_by_name[name] and baseline[name] ~= nil
    end
    if differs then list[#list + 1] = metric.name end
  end
  return list
end

-- Where the metrics are a vendor's tree of several nodes: B's difference from A by node.
local function add_tree(tables, result)
  local tree = result:topdown()
  if not tree or #tree.nodes < 2 then return tables end
  local by_node = require("pmclua.report.topdown").differences(tree)
  for _, shown in ipairs(by_node) do tables[#tables + 1] = shown end
  return tables
end

local function tables_of(result)
  local several = count_cells(result) > 1
  if several and has_sweep(result) then return sweep.tables(result, M.names(result)) end
  local tables = several and result.header.baseline
    and compared_tables(result, result:compare { names = compared_names(result) }) or {}
  return #tables > 0 and add_tree(tables, result) or each_cell(result)
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
  if result.status ~= "failed" then return false end
  for cell in result:cells() do
    if cell.repetitions + cell.rejected > 0 then return false end
  end
  return true
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
