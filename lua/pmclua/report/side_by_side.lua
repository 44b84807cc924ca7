--- side_by_side.lua: one table of all quantities, with the workloads, or the levels of a factor, as its columns.
--
-- Invariant: it shows what the tables of each quantity would show: each value, and under it the ratio to its baseline
-- with the verdict, and the interval of that ratio.

local cell_key = require "pmclua.result.cell_key"
local cells = require "pmclua.report.cells"
local footnotes = require "pmclua.report.footnotes"
local lists = require "pmclua.base.lists"
local rows = require "pmclua.report.rows"
local text = require "pmclua.base.text"
local titles = require "pmclua.report.titles"
local words = require "pmclua.report.words"

local M = {}

--- Why a result cannot be told apart so; nil: it can.
---@param result pmclua.Result
---@param by string "workload" or a factor
---@return string?
function M.problem(result, by)
  if by == "workload" or result.factor_by_name[by] then return nil end
  local known = lists.append({ "workload" }, lists.column(result.header.factors, 1))
  return ("there is no factor '%s': %s"):format(text.safe(by), text.meant_or_all(by, known))
end

local function heading(by, level) return by == "workload" and text.safe(level) or words.level(by, level) end

-- Levels of other factors, and parts.
local function rest_of(cell, by, varies)
  local parts = lists.map(cell.result.header.factors, function(factor)
    local name = factor[1]
    if name == by or not varies[name] then return nil end
    return ("%s %s"):format(text.safe(name), words.level(name, cell.levels[name]))
  end)
  if by ~= "workload" and varies.workload then table.insert(parts, 1, text.safe(cell.workload)) end
  return table.concat(lists.joined { parts, require("pmclua.result.cell").parts(cell, by) }, ", ")
end

local function verdicts_of(comparison)
  local by_cell = {}
  for _, pair in ipairs(comparison and comparison.pairs or {}) do
    by_cell[pair.cell] = {}
    for _, row in ipairs(pair.rows) do by_cell[pair.cell][row.name] = row end
  end
  return by_cell
end

local function value_of(cell, name)
  if not cell then return "left out" end
  local summary = cell:summary(name)
  local spread = words.spread(summary)
  local shown = words.short(summary)
  return (spread == "=" or spread == words.ABSENT) and shown or ("%s ±%s"):format(shown, spread)
end

-- The lines of one row of cells: values; ratios with verdicts; the intervals of these.
local function lines_of(label, row_cells, name, verdicts)
  local values, ratios, intervals, has_any = { label }, { "", tones = {} }, { "", tone = "dim" }, false
  for k, cell in ipairs(row_cells) do
    local row = cell and (verdicts[cell] or {})[name]
    local verdict = row and row.verdict
    values[k + 1] = value_of(cell, name)
    ratios[k + 1] = verdict and ("%s %s"):format(words.ratio(verdict), words.verdict(row)) or ""
    ratios.tones[k + 1] = verdict and rows.VERDICT_TONES[verdict.verdict]
    intervals[k + 1] = verdict and words.ratio_interval(verdict) or ""
    has_any = has_any or verdict ~= nil
  end
  return has_any and { values, ratios, intervals } or { values }
end

--- Cells by the rest and by column, both in the order of the plan.
---@param result pmclua.Result
---@param by string "workload" or a factor
---@return { columns: any[], rest: string[], cells: table<string, table<any, pmclua.Cell>> }
function M.arrange(result, by)
  local shown, grid = result:list(), { rest = {}, cells = {} }
  local varies = cells.varying(shown)
  grid.columns = lists.unique(lists.map(shown, function(cell) return cell_key.level(cell, by) end))
  local groups = lists.groups(shown, function(cell) return rest_of(cell, by, varies) end)
  for i, same in ipairs(groups) do
    grid.rest[i], grid.cells[same.key] = same.key, {}
    for _, cell in ipairs(same) do
      local level = cell_key.level(cell, by)
      if level ~= nil then grid.cells[same.key][level] = cell end
    end
  end
  return grid
end

local function add_quantity(list, grid, name, title, verdicts)
  local is_one = #grid.rest == 1
  if not is_one then list[#list + 1] = { title, span = 1, strong = 1 } end
  for _, rest in ipairs(grid.rest) do
    local row_cells = {}
    for k, level in ipairs(grid.columns) do row_cells[k] = grid.cells[rest][level] or false end
    lists.append(list, lines_of(is_one and title or "  " .. rest, row_cells, name, verdicts))
  end
end

--- One table of these quantities.
---@param result pmclua.Result
---@param names string[]
---@param by string "workload" or a factor
---@param comparison pmclua.Comparison?
---@return pmclua.ReportBlock
function M.table(result, names, by, comparison)
  local grid, list, notes = M.arrange(result, by), {}, {}
  local shown, verdicts = result:list(), verdicts_of(comparison)
  for _, name in ipairs(names) do
    local title = text.safe(shown[1]:summary(name).title)
    if comparison and name == comparison.primary then title = title .. " *" end
    add_quantity(list, grid, name, title, verdicts)
    for _, group in ipairs(footnotes.absent(shown, name)) do
      notes[#notes + 1] = ("%s %s, %s: %s"):format(words.ABSENT, title, group.cells, group.key)
    end
  end
  if comparison then
    local form = "under each value: its ratio to the baseline with the verdict, and the %s of the ratio"
    table.insert(notes, 1, form:format(words.interval_of(comparison.level)))
    lists.append(notes, footnotes.sweep(result, comparison))
  end
  local columns = lists.map(grid.columns, function(level)
    return { name = heading(by, level), align = "right", whole = true }
  end)
  return { title = titles.side_by_side(result, by, comparison), rows = list, notes = notes,
    columns = { { name = #grid.rest == 1 and "quantity" or "" }, unpack(columns) } }
end

return M
