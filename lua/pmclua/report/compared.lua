--- compared.lua: a comparison as tables: one for each cell and its baseline, or one for all that share theirs: a block
--- per quantity, a row per cell.
--
-- Invariant: the shared table shows what a table for each pair would show, and the baseline's value once.

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

-- ---- one table of several cells against the same baseline ------------------------------------------------

local function side_of(pair) return words.side(pair.cell, pair.baseline) end

-- Whether no cell has a value of a quantity: one row then says why.
local function is_absent(list)
  return not lists.any(list, function(row) return row.cell.n > 0 or row.baseline.n > 0 end)
end

-- The primary quantity first.
local function quantities(compared)
  local all = lists.joined(lists.column(compared, "rows"))
  return lists.first_those(lists.groups(all, function(row) return row.name end), function(its_rows)
    return its_rows[1].primary
  end)
end

local function add_quantity(list, compared, its_rows)
  local first = its_rows[1]
  local title = rows.title(first)
  if is_absent(its_rows) then
    list[#list + 1] = { title, "", words.ABSENT, words.ABSENT, words.absent(first.baseline), span = 5,
      tone = "dim" }
    return
  end
  local theirs = words.side(compared[1].baseline, compared[1].cell)
  list[#list + 1] = { title, theirs, words.short(first.baseline), "", "", "", "" }
  for _, pair in ipairs(compared) do
    for _, row in ipairs(pair.rows) do
      if row.name == first.name then list[#list + 1] = rows.compared("", side_of(pair), row) end
    end
  end
end

-- The cost of one element, which compares as the event itself does.
local function add_elements(list, compared, metric)
  local baseline = compared[1].baseline
  if baseline:summary(metric.name).n == 0 then return end
  local theirs, value = words.side(baseline, compared[1].cell), words.short(baseline:summary(metric.name))
  list[#list + 1] = { text.safe(metric.title), theirs, value, "", "", "", "" }
  for _, pair in ipairs(compared) do
    list[#list + 1] = { "", side_of(pair), words.short(pair.cell:summary(metric.name)), "", "", "", "" }
  end
end

local function notes_under(result, comparison, compared)
  local list = {}
  for _, pair in ipairs(compared) do
    local notes, is_common = footnotes.comparison(comparison, pair)
    for i, note in ipairs(notes) do
      list[#list + 1] = i == 1 and is_common and note or ("%s: %s"):format(side_of(pair), note)
    end
    list[#list + 1] = footnotes.layouts({ pair.baseline, pair.cell }, result.header.primary)
    list[#list + 1] = pair.cell.fitted and rows.note_of_rows(pair.rows) or nil
  end
  return lists.unique(list)
end

local function shared_table(result, comparison)
  local compared, list = comparison.pairs, {}
  local its_quantities = quantities(compared)
  for _, its_rows in ipairs(its_quantities) do add_quantity(list, compared, its_rows) end
  local is_named = lists.set(lists.column(its_quantities, "key"))
  for _, metric in ipairs(result.per_metrics) do
    local is_added = is_named[metric.event.field] and not is_named[metric.name]
    if is_added then add_elements(list, compared, metric) end
  end
  return { title = titles.comparison(result, compared), rows = list,
    columns = rows.compared_columns({ name = "of" }, "median", comparison.level),
    notes = notes_under(result, comparison, compared) }
end

-- ---- either ----------------------------------------------------------------------------------------------

--- The tables of a comparison.
---@param comparison pmclua.Comparison
---@return pmclua.ReportBlock[]
function M.tables(comparison)
  local compared, result = comparison.pairs, comparison.result
  local is_shared = #compared > 1 and #lists.unique(lists.column(compared, "baseline")) == 1
  if is_shared then return { shared_table(result, comparison) } end
  return lists.map(compared, function(pair) return compared_table(result, comparison, pair) end)
end

--- A comparison as blocks.
---@param comparison pmclua.Comparison
---@return pmclua.Report
function M.blocks(comparison)
  return { blocks = M.tables(comparison), notes = {}, result = comparison.result }
end

return M
