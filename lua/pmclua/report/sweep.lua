--- sweep.lua: tables over the levels of a factor: one row a level, one group of columns for each other
--- combination of workload and levels.

local text = require "pmclua.text"
local shape = require "pmclua.report.shape"
local words = require "pmclua.report.words"
local notes = require "pmclua.report.notes"
local fitted = require("pmclua.lazy").module "pmclua.report.fitted"

local M = {}

-- ---- rows and groups -----------------------------------------------------------------------------------

-- The factor with most levels: its sweep is the longest to read across, so it goes down.
local function swept_factor(result)
  local best, most
  for _, factor in ipairs(result.header.factors) do
    local count = #factor[2]
    if not most or count > most then best, most = factor[1], count end
  end
  return best
end

local function varies(result, name)
  local first
  for cell in result:cells() do
    local level = name == "workload" and cell.workload or cell.levels[name]
    if first == nil then first = level end
    if level ~= first then return true end
  end
  return false
end

-- What names a group: its workload and levels, as far as groups differ in them.
local function group_name(result, cell, swept)
  local parts = {}
  if varies(result, "workload") then parts[1] = text.safe(cell.workload) end
  for _, factor in ipairs(result.header.factors) do
    local name = factor[1]
    if name ~= swept and varies(result, name) then
      parts[#parts + 1] = ("%s %s"):format(text.safe(name), words.level(name, cell.levels[name]))
    end
  end
  if cell.region then parts[#parts + 1] = text.safe(cell.region) end
  return #parts > 0 and table.concat(parts, ", ") or text.safe(cell.workload)
end

-- Cells by level and by group, both in the order of the plan.
local function arrange(result, swept)
  local grid = { levels = {}, groups = {}, cells = {} }
  local level_seen, group_seen = {}, {}
  for cell in result:cells() do
    local level, group = cell.levels[swept], group_name(result, cell, swept)
    if not level_seen[level] then
      level_seen[level] = true
      grid.levels[#grid.levels + 1] = level
      grid.cells[level] = {}
    end
    if not group_seen[group] then
      group_seen[group] = true
      grid.groups[#grid.groups + 1] = group
    end
    grid.cells[level][group] = cell
  end
  return grid
end

-- ---- one group: everything that is known of each value -------------------------------------------------

local function alone_row(swept, level, summary)
  local shown = words.level(swept, level)
  if summary.n == 0 then return { shown, words.ABSENT, words.absent(summary), span = 3, tone = "dim" } end
  return { shown, words.value(summary), words.interval(summary),
    summary.exact and "" or shape.bars(summary.values), words.quality(summary) }
end

local function fitted_row(swept, level, summary)
  local shown = words.level(swept, level)
  if summary.n == 0 then return { shown, words.ABSENT, words.absent(summary), span = 3, tone = "dim" } end
  return { shown, unpack(fitted.cells(summary)) }
end

local function fitted_table(grid, swept, name)
  local rows, group = {}, grid.groups[1]
  for i, level in ipairs(grid.levels) do
    rows[i] = fitted_row(swept, level, grid.cells[level][group]:summary(name))
  end
  return rows, { { name = text.safe(swept), align = "right" }, unpack(fitted.columns()) }
end

local function alone_table(grid, swept, name)
  local rows, group = {}, grid.groups[1]
  for i, level in ipairs(grid.levels) do
    rows[i] = alone_row(swept, level, grid.cells[level][group]:summary(name))
  end
  return rows, {
    { name = text.safe(swept), align = "right" }, { name = "median", align = "point" },
    { name = "95 % interval", least = 20, drop = 2 }, { name = "shape", drop = 1 },
    { name = "quality", gap = 3 },
  }
end

-- ---- several groups side by side -----------------------------------------------------------------------

local function group_cells(cell, name)
  if not cell then return "left out", "" end
  local summary = cell:summary(name)
  if summary.n == 0 then return words.ABSENT, "" end
  local spread = words.spread(summary)
  if summary.fit and summary.fit.linear == false then spread = spread .. " " .. fitted.MARK end
  return words.short(summary), spread
end

-- The ratio and verdict of the last group of a row that is compared with one of the same row, or else of
-- its first that is compared with one of another row.
local function row_of(grid, swept, level, name, verdicts)
  local row = { words.level(swept, level) }
  for _, group in ipairs(grid.groups) do
    local cell = grid.cells[level][group]
    row[#row + 1], row[#row + 2] = group_cells(cell, name)
    if verdicts then
      local compared = cell and verdicts[cell]
      if compared then
        row[#row + 1], row[#row + 2] = words.ratio(compared.verdict), words.verdict(compared)
      elseif verdicts.groups[group] then
        row[#row + 1], row[#row + 2] = words.ABSENT, words.ABSENT
      end
    end
  end
  return row
end

local function group_columns(grid, swept, verdicts)
  local columns = { { name = text.safe(swept), align = "right" } }
  for _, group in ipairs(grid.groups) do
    columns[#columns + 1] = { name = group, align = "point", gap = 3 }
    columns[#columns + 1] = { name = "±", drop = 1 }
    if verdicts and verdicts.groups[group] then
      columns[#columns + 1] = { name = "ratio", align = "right" }
      columns[#columns + 1] = { name = "verdict" }
    end
  end
  return columns
end

local function side_by_side(grid, swept, name, verdicts)
  local rows = {}
  for i, level in ipairs(grid.levels) do rows[i] = row_of(grid, swept, level, name, verdicts) end
  return rows, group_columns(grid, swept, verdicts)
end

-- The compared row of each cell that has a baseline, and which groups have any.
local function verdicts_of(grid, comparison, name)
  if not comparison then return nil end
  local found = { groups = {} }
  for _, pair in ipairs(comparison.pairs) do
    for _, row in ipairs(pair.rows) do
      if row.name == name then found[pair.cell] = row end
    end
  end
  for _, level in ipairs(grid.levels) do
    for group, cell in pairs(grid.cells[level]) do
      if found[cell] then found.groups[group] = true end
    end
  end
  return found
end

-- ---- all quantities ------------------------------------------------------------------------------------

local function any_value(result, name)
  for cell in result:cells() do
    if cell:summary(name).n > 0 then return true end
  end
  return false
end

local function primary_first(result, names)
  local list = {}
  for _, name in ipairs(names) do
    if name == result.header.primary then list[1] = name end
  end
  for _, name in ipairs(names) do
    if name ~= result.header.primary then list[#list + 1] = name end
  end
  return list
end

local GROUPS_ABREAST, VERDICTS_ABREAST = 4, 1      -- what 80 columns have room for

-- Parts of a grid that fit side by side: groups that are baselines stand beside each that is compared.
local function split(grid, verdicts)
  local baselines, others = {}, {}
  for _, group in ipairs(grid.groups) do
    table.insert(verdicts and not verdicts.groups[group] and baselines or others, group)
  end
  local abreast = verdicts and next(verdicts.groups) and VERDICTS_ABREAST or GROUPS_ABREAST
  if not verdicts then baselines, others = {}, grid.groups end
  local parts = {}
  for first = 1, math.max(1, #others), abreast do
    local groups = {}
    for _, group in ipairs(baselines) do groups[#groups + 1] = group end
    for k = first, math.min(#others, first + abreast - 1) do groups[#groups + 1] = others[k] end
    parts[#parts + 1] = { levels = grid.levels, cells = grid.cells, groups = groups }
  end
  return parts
end

-- Summaries of one quantity in these groups.
local function summaries_of(grid, name)
  local list = {}
  for _, level in ipairs(grid.levels) do
    for _, group in ipairs(grid.groups) do
      local cell = grid.cells[level][group]
      if cell then list[#list + 1] = cell:summary(name) end
    end
  end
  return list
end

-- One quantity in one group of cells.
local function lay_out_alone(grid, swept, name)
  local summaries = summaries_of(grid, name)
  local is_fitted, lay = grid.cells[grid.levels[1]][grid.groups[1]].fitted, alone_table
  if is_fitted then lay = fitted_table end
  local rows, columns = lay(grid, swept, name)
  local note = is_fitted and fitted.region_note(summaries) or nil
  return { { rows = rows, columns = columns, notes = { note } } }
end

local function lay_out(grid, swept, name, verdicts)
  local compares = verdicts and next(verdicts.groups)
  if #grid.groups == 1 and not compares then return lay_out_alone(grid, swept, name) end
  local laid = {}
  for i, part in ipairs(split(grid, verdicts)) do
    local rows, columns = side_by_side(part, swept, name, compares and verdicts)
    laid[i] = { rows = rows, columns = columns, notes = { fitted.note(summaries_of(part, name)) } }
  end
  return laid
end

local function compare(result, names)
  local comparison = result.header.baseline and result:compare { names = names }
  return comparison and #comparison.pairs > 0 and comparison or nil
end

--- Tables for each quantity that was counted anywhere, the primary one first.
---@param result pmclua.Result
---@param names string[]
---@return pmclua.ReportTable[]
function M.tables(result, names)
  local swept, tables = swept_factor(result), {}
  local grid, comparison = arrange(result, swept), compare(result, names)
  for _, name in ipairs(primary_first(result, names)) do
    local verdicts = verdicts_of(grid, comparison, name)
    for _, laid in ipairs(any_value(result, name) and lay_out(grid, swept, name, verdicts) or {}) do
      laid.title = notes.sweep_title(result, name, grid.groups, comparison, #tables == 0)
      tables[#tables + 1] = laid
    end
  end
  for _, note in ipairs(comparison and tables[1] and notes.of_sweep(result, comparison) or {}) do
    table.insert(tables[1].notes, note)
  end
  return tables
end

return M
