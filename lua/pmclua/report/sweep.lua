--- sweep.lua: tables over the levels of a factor: a row per level, a group of columns for each combination of
--- workload and other levels.

local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local rows = require "pmclua.report.rows"

local M = {}

-- ---- rows and groups -----------------------------------------------------------------------------------

-- Files of different experiments, as one result, need not all have a factor.
local function is_everywhere(result, name)
  for cell in result:cells() do
    if cell.levels[name] == nil then return false end
  end
  return true
end

-- The factor with the most levels goes down the table: across, it would be the widest.
local function swept_factor(result)
  local best, most
  for _, factor in ipairs(result.header.factors) do
    local count = is_everywhere(result, factor[1]) and #factor[2] or 0
    if count > (most or 0) then best, most = factor[1], count end
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

-- The name of a group: the workload and levels in which groups differ, and its part.
local function group_name(result, cell, swept)
  local parts = {}
  if varies(result, "workload") then parts[1] = text.safe(cell.workload) end
  for _, factor in ipairs(result.header.factors) do
    local name = factor[1]
    if name ~= swept and cell.levels[name] ~= nil and varies(result, name) then
      parts[#parts + 1] = ("%s %s"):format(text.safe(name), words.level(name, cell.levels[name]))
    end
  end
  for _, part in ipairs(require("pmclua.result.cell").parts(cell)) do
    parts[#parts + 1] = text.safe((part:gsub("^region ", "")))
  end
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

local function alone_table(result, grid, swept, name)
  local list, group, per, is_fitted = {}, grid.groups[1], result.per_event[name], nil
  local element = per and result.element
  for i, level in ipairs(grid.levels) do
    local cell = grid.cells[level][group]
    is_fitted = cell.fitted
    list[i] = rows.row(words.level(swept, level), cell:summary(name), is_fitted, element,
      per and cell:summary(per.name))
  end
  local columns = rows.columns(is_fitted, element)
  columns[1].align = "point"
  return list, { { name = text.safe(swept), align = "right" }, unpack(columns) }
end

-- ---- several groups side by side -----------------------------------------------------------------------

-- The columns of a cell in a row: value, ±, and what one element costs.
local function group_cells(cell, name, per)
  if not cell then return "left out", "", "" end
  local summary = cell:summary(name)
  if summary.n == 0 then return words.ABSENT, "", "" end
  local spread = words.spread(summary)
  if summary.fit and summary.fit.linear == false then spread = spread .. " " .. rows.MARK end
  return words.short(summary), spread, per and words.short(cell:summary(per.name)) or ""
end

-- The ratio and verdict of the last group of a row that is compared with one of the same row, or else of
-- its first that is compared with one of another row.
local function row_of(grid, swept, level, about)
  local row = { words.level(swept, level) }
  for _, group in ipairs(grid.groups) do
    local cell = grid.cells[level][group]
    local value, spread, each = group_cells(cell, about.name, about.per)
    row[#row + 1], row[#row + 2] = value, spread
    if about.per then row[#row + 1] = each end
    if about.verdicts and about.verdicts.groups[group] then
      local compared = cell and about.verdicts[cell]
      row[#row + 1] = compared and words.ratio(compared.verdict) or words.ABSENT
      row[#row + 1] = compared and words.verdict(compared) or words.ABSENT
    end
  end
  return row
end

local function group_columns(result, grid, swept, about)
  local columns = { { name = text.safe(swept), align = "right" } }
  for _, group in ipairs(grid.groups) do
    columns[#columns + 1] = { name = group, align = "point", gap = 3 }
    columns[#columns + 1] = { name = "±", drop = 1 }
    if about.per then columns[#columns + 1] = { name = "/" .. text.safe(result.element), align = "point" } end
    if about.verdicts and about.verdicts.groups[group] then
      columns[#columns + 1] = { name = "ratio", align = "right" }
      columns[#columns + 1] = { name = "verdict" }
    end
  end
  return columns
end

local function side_by_side(result, grid, swept, about)
  local list = {}
  for i, level in ipairs(grid.levels) do list[i] = row_of(grid, swept, level, about) end
  return list, group_columns(result, grid, swept, about)
end

-- The compared row of each cell that has a baseline; and of each group that has any, the groups of its
-- baselines.
local function verdicts_of(grid, comparison, name)
  if not comparison then return nil end
  local found, group_of = { groups = {} }, {}
  for _, level in ipairs(grid.levels) do
    for group, cell in pairs(grid.cells[level]) do group_of[cell] = group end
  end
  for _, pair in ipairs(comparison.pairs) do
    for _, row in ipairs(pair.rows) do
      local group = row.name == name and group_of[pair.cell]
      if group then
        found[pair.cell], found.groups[group] = row, found.groups[group] or {}
        found.groups[group][group_of[pair.baseline] or group] = true
      end
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

-- What 80 columns have room for; fewer groups where each has a column for its elements.
local GROUPS_ABREAST, WITH_ELEMENTS_ABREAST, VERDICTS_ABREAST = 4, 2, 1

-- The groups of a part: those compared, each beside its baseline, in the order of the plan.
local function part_of(grid, chosen, verdicts)
  local wanted, groups = {}, {}
  for _, group in ipairs(chosen) do
    wanted[group] = true
    for baseline in pairs(verdicts and verdicts.groups[group] or {}) do wanted[baseline] = true end
  end
  for _, group in ipairs(grid.groups) do
    if wanted[group] then groups[#groups + 1] = group end
  end
  return { levels = grid.levels, cells = grid.cells, groups = groups }
end

-- Parts of a grid that fit side by side.
local function split(grid, about)
  local verdicts, others, parts = about.verdicts, {}, {}
  for _, group in ipairs(grid.groups) do
    if not verdicts or verdicts.groups[group] then others[#others + 1] = group end
  end
  local abreast = verdicts and next(verdicts.groups) and VERDICTS_ABREAST
    or about.per and WITH_ELEMENTS_ABREAST or GROUPS_ABREAST
  if #others == 0 then others = grid.groups end
  for first = 1, #others, abreast do
    local chosen = { unpack(others, first, math.min(#others, first + abreast - 1)) }
    parts[#parts + 1] = part_of(grid, chosen, verdicts)
  end
  return parts
end

local function cells_of(grid)
  local list = {}
  for _, level in ipairs(grid.levels) do
    for _, group in ipairs(grid.groups) do list[#list + 1] = grid.cells[level][group] end
  end
  return list
end

-- Footnotes of one quantity in these groups: where there is no line, and what varies between layouts.
local function notes_under(grid, name, say, about)
  local cells, summaries, list = cells_of(grid), {}, {}
  for i, cell in ipairs(cells) do summaries[i] = cell:summary(name) end
  list[1] = say(summaries)
  list[#list + 1] = footnotes.layouts(cells, name)
  for _, note in ipairs(about and footnotes.undecided(cells, about.verdicts, about.swept) or {}) do
    list[#list + 1] = note
  end
  return list
end

-- One quantity in one group of cells.
local function lay_out_alone(result, grid, swept, name)
  local list, columns = alone_table(result, grid, swept, name)
  return { { rows = list, columns = columns, notes = notes_under(grid, name, rows.region_note) } }
end

---@class pmclua.Swept a quantity whose tables are laid out
---@field name string
---@field per pmclua.Metric? its cost of one element
---@field swept string the factor that goes down
---@field verdicts table? compared rows by cell, and `groups` that have any

local function lay_out(result, grid, swept, about)
  local compares = about.verdicts and next(about.verdicts.groups)
  if #grid.groups == 1 and not compares then return lay_out_alone(result, grid, swept, about.name) end
  local laid = {}
  for i, part in ipairs(split(grid, about)) do
    local list, columns = side_by_side(result, part, swept, about)
    laid[i] = { rows = list, columns = columns, notes = notes_under(part, about.name, rows.note, about) }
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
    local about = { name = name, per = result.per_event[name], verdicts = verdicts, swept = swept }
    for _, laid in ipairs(any_value(result, name) and lay_out(result, grid, swept, about) or {}) do
      laid.title = titles.sweep(result, name, grid.groups, comparison, #tables == 0)
      tables[#tables + 1] = laid
    end
  end
  if tables[1] then table.insert(tables[1].notes, footnotes.iterations(result, swept)) end
  for _, note in ipairs(comparison and tables[1] and footnotes.sweep(result, comparison) or {}) do
    table.insert(tables[1].notes, note)
  end
  return tables
end

return M
