--- sweep.lua: tables over the levels of a factor: a row per level, a group of columns for each combination of
--- workload and other levels.

local cells = require "pmclua.report.cells"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"
local footnotes = require "pmclua.report.footnotes"
local titles = require "pmclua.report.titles"
local rows = require "pmclua.report.rows"

local M = {}

local function arrange(shown, swept)
  local varies, grid = cells.varying(shown), { levels = cells.levels(shown, swept), cells = {} }
  local function group_of(cell) return cells.label(cell, varies, swept) end
  for _, level in ipairs(grid.levels) do grid.cells[level] = {} end
  for _, cell in ipairs(shown) do grid.cells[cell.levels[swept]][group_of(cell)] = cell end
  grid.groups = lists.unique(lists.map(shown, group_of))
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
      row[#row + 1] = compared and words.ratio_interval(compared.verdict) or words.ABSENT
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
      columns[#columns + 1] = { name = words.interval_of(about.verdicts.level), whole = true, drop = 2 }
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

-- Groups compared with one group, too wide side by side: below each other at each level.
local function below_each_other(result, grid, swept, about)
  local list = {}
  local compared = lists.find(grid.groups, function(group) return about.verdicts.groups[group] end)
  local columns = group_columns(result, { groups = { compared } }, swept, about)
  columns[2].name = "median"
  table.insert(columns, 2, { name = "of" })
  for _, level in ipairs(grid.levels) do
    for k, group in ipairs(grid.groups) do
      local row = row_of({ groups = { group }, cells = grid.cells }, swept, level, about)
      if k > 1 then row[1] = "" end
      table.insert(row, 2, group)
      for i = #row + 1, #columns do row[i] = "" end
      list[#list + 1] = row
    end
  end
  return list, columns
end

-- Compared rows by cell, and by group the groups of their baselines.
local function verdicts_of(grid, comparison, name)
  if not comparison then return nil end
  local compared, group_of = { groups = {}, level = comparison.level }, {}
  for _, level in ipairs(grid.levels) do
    for group, cell in pairs(grid.cells[level]) do group_of[cell] = group end
  end
  for _, pair in ipairs(comparison.pairs) do
    for _, row in ipairs(pair.rows) do
      local group = row.name == name and group_of[pair.cell]
      if group then
        compared[pair.cell], compared.groups[group] = row, compared.groups[group] or {}
        compared.groups[group][group_of[pair.baseline] or group] = true
      end
    end
  end
  return compared
end

-- ---- all quantities ------------------------------------------------------------------------------------

-- Groups that fit into 80 columns; fewer where each has a column for its elements; of those with verdicts one.
local GROUPS_ABREAST, WITH_ELEMENTS_ABREAST, VERDICTS_ABREAST = 4, 2, 1

local function part_of(grid, chosen, verdicts)
  local wanted = lists.set(chosen)
  for _, group in ipairs(chosen) do
    for baseline in pairs(verdicts and verdicts.groups[group] or {}) do wanted[baseline] = true end
  end
  local groups = lists.where(grid.groups, function(group) return wanted[group] end)
  return { levels = grid.levels, cells = grid.cells, groups = groups }
end

local function split(grid, about)
  local verdicts, parts = about.verdicts, {}
  local others = lists.where(grid.groups, function(group) return not verdicts or verdicts.groups[group] end)
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
  return lists.joined(lists.map(grid.levels, function(level)
    return lists.map(grid.groups, function(group) return grid.cells[level][group] end)
  end))
end

local function notes_under(grid, name, say, about)
  local shown = cells_of(grid)
  local summaries = lists.map(shown, function(cell) return cell:summary(name) end)
  local absent = lists.map(about and footnotes.absent(shown, name) or {}, function(group)
    return ("%s %s: %s"):format(words.ABSENT, group.cells, group.key)
  end)
  return lists.joined { { say(summaries) }, absent, { footnotes.layouts(shown, name) },
    about and footnotes.undecided(shown, about.verdicts, about.swept) or {} }
end

local function lay_out_alone(result, grid, swept, name)
  local list, columns = alone_table(result, grid, swept, name)
  return { { rows = list, columns = columns, notes = notes_under(grid, name, rows.region_note) } }
end

-- `about`: a quantity's name; `per`, its cost of one element; `swept`, the factor that goes down; `verdicts`, compared rows
-- by cell, and `groups` that have any.
local function lay_out(result, grid, swept, about)
  local compared = lists.where(grid.groups, function(group)
    return about.verdicts and about.verdicts.groups[group]
  end)
  if #grid.groups == 1 and #compared == 0 then return lay_out_alone(result, grid, swept, about.name) end
  local baselines = lists.unique(lists.joined(lists.map(compared, function(group)
    return lists.keys(about.verdicts.groups[group])
  end)))
  if #compared > VERDICTS_ABREAST and #baselines == 1 then
    local list, columns = below_each_other(result, grid, swept, about)
    return { { rows = list, columns = columns, notes = notes_under(grid, about.name, rows.note, about) } }
  end
  local laid = {}
  for i, part in ipairs(split(grid, about)) do
    local list, columns = side_by_side(result, part, swept, about)
    laid[i] = { rows = list, columns = columns, notes = notes_under(part, about.name, rows.note, about) }
  end
  return laid
end

local function compare(result)
  local comparison = result.header.baseline and result:compare {}
  return comparison and #comparison.pairs > 0 and comparison or nil
end

local function absent_table(shown, names)
  local list = {}
  for _, name in ipairs(names) do
    local groups, title = footnotes.absent(shown, name), text.safe(shown[1]:summary(name).title)
    for i, group in ipairs(groups) do
      local why = #groups > 1 and ("%s (%s)"):format(group.key, group.cells) or group.key
      list[#list + 1] = { i == 1 and title or "", words.ABSENT, why, tone = "dim" }
    end
  end
  return { title = { "without a value in any cell" }, rows = list, notes = {},
    columns = { { name = "event" }, { name = "" }, { name = "why" } } }
end

--- Tables for each quantity that was counted anywhere, the primary one first, and one of the others with the reasons.
---@param result pmclua.Result
---@param names string[] that are shown; all are compared
---@return pmclua.ReportBlock[]
function M.tables(result, names)
  local shown, tables = result:list(), {}
  local swept = cells.swept(shown)
  local grid, comparison = arrange(shown, swept), compare(result)
  local function is_primary(name) return name == result.header.primary end
  for _, name in ipairs(lists.first_those(names, is_primary)) do
    local verdicts = verdicts_of(grid, comparison, name)
    local about = { name = name, per = result.per_event[name], verdicts = verdicts, swept = swept }
    local has_values = #cells.with_values(result, name) > 0
    for _, laid in ipairs(has_values and lay_out(result, grid, swept, about) or {}) do
      laid.title = titles.sweep(result, name, grid.groups, comparison, #tables == 0)
      tables[#tables + 1] = laid
    end
  end
  local absent = lists.where(names, function(name) return #cells.with_values(result, name) == 0 end)
  if #absent > 0 then tables[#tables + 1] = absent_table(shown, absent) end
  tables[1].notes = lists.joined { tables[1].notes, { footnotes.iterations(result, swept) },
    comparison and footnotes.sweep(result, comparison) or {} }
  return tables
end

return M
