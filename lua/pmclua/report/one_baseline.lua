--- one_baseline.lua: one table of several cells against the same baseline: a block per quantity, a row per cell.
--
-- Invariant: it shows what a table for each pair would show, and the baseline's value once.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local rows = require "pmclua.report.rows"

local M = {}

--- Whether there are several pairs, all with the same baseline.
---@param compared pmclua.ComparedPair[]
---@return boolean
function M.fits(compared)
  return #compared > 1 and #lists.unique(lists.column(compared, "baseline")) == 1
end

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

local function has_primary(pair)
  return lists.any(pair.rows, function(row) return row.primary end)
end

local function notes_under(result, comparison, compared)
  local list = {}
  for _, pair in ipairs(compared) do
    for i, note in ipairs(footnotes.comparison(comparison, pair)) do
      local is_of_all = i == 1 and (has_primary(pair) or pair.control)
      list[#list + 1] = is_of_all and note or ("%s: %s"):format(side_of(pair), note)
    end
    list[#list + 1] = footnotes.layouts({ pair.baseline, pair.cell }, result.header.primary)
    list[#list + 1] = pair.cell.fitted and rows.note_of_rows(pair.rows) or nil
  end
  return lists.unique(list)
end

--- One table of pairs that share their baseline.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@return pmclua.ReportBlock
function M.table(result, comparison)
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

return M
