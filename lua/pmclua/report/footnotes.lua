--- footnotes.lua: notes under one table: noise, layouts, undecided verdicts.

local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local titles = require "pmclua.report.titles"
local words = require "pmclua.report.words"

local M = {}

-- How many verdicts hold together: the primary quantity's in all cells, and those on the others.
local function corrections(comparison, primary, is_said)
  local are_several, parts = comparison.primaries > 1, { primary }
  if are_several then
    parts[1] = ("%s, corrected for %s"):format(primary, text.plural(comparison.primaries, "comparison"))
  end
  if comparison.others == 0 then return (are_several or is_said) and parts[1] or nil end
  parts[2] = are_several and ("the others for %d"):format(comparison.others)
    or ("the others corrected for %s"):format(text.plural(comparison.others, "comparison"))
  return table.concat(parts, "; ")
end

-- The same where no verdict on a primary quantity is shown.
local function corrected(comparison)
  return comparison.others > 1
    and ("verdicts corrected for %s"):format(text.plural(comparison.others, "comparison")) or nil
end

local function shares(list)
  table.sort(list)
  local least, most = text.percent(list[1]), text.percent(list[#list])
  return least == most and most or least .. " … " .. most
end

-- The noise floor of the primary quantity (or the first that has one), where there is an A/A control.
local function noise_floor(comparison, compared)
  if not lists.any(compared, function(pair) return pair.control end) then return nil end
  local floors = lists.map(lists.joined(lists.column(compared, "rows")), function(row)
    return (row.primary or not comparison.primary) and (row.verdict or {}).floor or nil
  end)
  if #floors == 0 then return "no noise floor: the A/A control has too few repetitions" end
  return "noise floor (A/A) " .. shares(floors)
end

-- Doubts about comparisons that conclude something, each once.
local function doubts(compared)
  local all = lists.joined(lists.map(compared, function(pair)
    return lists.joined(lists.map(pair.rows, function(row)
      return row.verdict and row.verdict.verdict ~= "undecided" and row.doubts or {}
    end))
  end))
  return lists.map(lists.unique(all), text.safe)
end

local function has_primary(pair)
  return lists.any(pair.rows, function(row) return row.primary end)
end

--- Footnotes of a comparison.
---@param comparison pmclua.Comparison
---@param pair pmclua.ComparedPair
---@return string[]
---@return boolean is_common whether the first one is on all pairs of the comparison
function M.comparison(comparison, pair)
  local parts, list = {}, {}
  parts[1] = has_primary(pair) and corrections(comparison, "* primary", true)
    or not has_primary(pair) and corrected(comparison) or nil
  parts[#parts + 1] = noise_floor(comparison, { pair })
  if parts[1] then list[1] = table.concat(parts, " · ") end
  lists.append(list, doubts { pair })
  for _, row in ipairs(pair.rows) do
    local difference = row.verdict and not row.verdict.ratio and row.verdict.difference
    if difference and difference.shift ~= 0 then
      list[#list + 1] = ("%s: values of 0 or below have no ratio; in its place is the difference%s"):format(
        text.safe(row.title), row.cell.unit ~= "" and ", in " .. row.cell.unit or "")
    end
    if row.verdict and row.verdict.by_means then
      list[#list + 1] = ("%s: %s"):format(text.safe(row.title), words.BY_MEANS)
    end
    if row.verdict and row.verdict.reason then
      list[#list + 1] = ("%s: %s"):format(text.safe(row.title), text.safe(row.verdict.reason))
    end
  end
  return list, parts[1] ~= nil
end

--- How much of the spread of a quantity is between layouts and how much between runs, as a footnote:
--- "cycles: layout 3.1 %, run 0.4 %"; of several cells from the least to the most.
---@param cells pmclua.Cell[]
---@param name? string
---@return string? nil where layouts were not drawn, or nothing varies
function M.layouts(cells, name)
  local layout, run, title, varies, what = {}, {}, nil, false, "layout"
  for _, cell in ipairs(cells) do
    local parts = name and cell:components(name)
    if parts and parts.between_share then
      layout[#layout + 1], run[#run + 1] = parts.between_share, parts.within_share
      local drawn = cell.result.header.layouts
      what = not drawn and "process" or (drawn[1] or {}).code and "layout and code" or what
      title, varies = cell:summary(name).title, varies or parts.between_share + parts.within_share > 0
    end
  end
  if not varies then return nil end
  return ("%s: %s %s, run %s"):format(text.safe(title), what, shares(layout), shares(run))
end

local FEW_ITERATIONS = 10        -- of which a cold first one is a share that matters

local function at(swept, level) return ("at %s = %s"):format(text.safe(swept), level) end

--- A footnote on iteration counts that differ along a factor: such a curve compares repetitions whose cold starts weigh
--- differently.
---@param result pmclua.Result
---@param swept string
---@return string?
function M.iterations(result, swept)
  local least, most
  for cell in result:cells() do
    local count = kinds.of(cell.kind).in_runner and not cell.fitted and not cell.region and cell:iterations()
    local swept_count = count and { count = count, level = cell.levels[swept] }
    if swept_count and (not least or count < least.count) then least = swept_count end
    if swept_count and (not most or count > most.count) then most = swept_count end
  end
  if not least or least.count == most.count then return nil end
  local note = ("a repetition has %s %s, and %s %s"):format(
    text.plural(most.count, "iteration"), at(swept, words.level(swept, most.level)),
    text.count(least.count), at(swept, words.level(swept, least.level)))
  if least.count >= FEW_ITERATIONS then return note end
  return note .. ": where they are few, caches and predictors are colder; iterations = N has them the same"
end

-- Why a verdict is undecided: its own reason, or that its interval crosses the margin.
local function why_undecided(verdict)
  if verdict.verdict ~= "undecided" then return nil end
  if verdict.reason then return text.safe(verdict.reason) end
  local has_interval = verdict.ratio and verdict.low
  return has_interval and "the interval crosses the margin of " .. words.margin(verdict) or nil
end

local NAMED = 3                   -- cells that are named

-- "n = 1, n = 2, n = 4 and 5 more"
local function first_named(group, separator, name_of)
  local names = table.concat(lists.map({ unpack(group, 1, NAMED) }, name_of), separator)
  return #group > NAMED and ("%s and %d more"):format(names, #group - NAMED) or names
end

local function label(cell) return text.safe(cell:label()) end

-- The cells whose verdicts are by means, a footnote a quantity.
local function by_means(compared)
  local found = lists.joined(lists.map(compared, function(pair)
    return lists.map(pair.rows, function(row)
      return row.verdict and row.verdict.by_means and { title = row.title, cell = pair.cell } or nil
    end)
  end))
  return lists.map(lists.groups(found, function(item) return item.title end), function(group)
    local where = first_named(lists.column(group, "cell"), "; ", label)
    return ("%s, %s: %s"):format(text.safe(group.key), where, words.BY_MEANS)
  end)
end

--- Cells without a value of a quantity, by the reason.
---@param shown pmclua.Cell[]
---@param name string
---@return { key: string, cells: string }[] key: the reason; cells: which
function M.absent(shown, name)
  local groups = lists.groups(shown, function(cell)
    local summary = cell:summary(name)
    return summary.n == 0 and words.absent(summary) or nil
  end)
  return lists.map(groups, function(group)
    return { key = group.key, cells = first_named(group, "; ", label) }
  end)
end

--- Why verdicts of a quantity are undecided, one footnote a reason.
---@param cells pmclua.Cell[]
---@param verdicts? table compared rows by cell
---@param swept string
---@return string[]
function M.undecided(cells, verdicts, swept)
  local function verdict_of(cell) return ((verdicts or {})[cell] or {}).verdict or {} end
  local has_several = #lists.unique(lists.column(lists.where(cells, function(cell)
    return verdict_of(cell).verdict
  end), "workload")) > 1
  local function named(cell)
    local level, verdict = words.level(swept, cell.levels[swept]), verdict_of(cell)
    if has_several then level = ("%s of %s"):format(level, text.safe(cell.workload)) end
    return verdict.reason and level or ("%s (%s)"):format(level, words.ratio_interval(verdict))
  end
  local groups = lists.groups(cells, function(cell) return why_undecided(verdict_of(cell)) end)
  return lists.map(groups, function(group)
    return ("undecided %s: %s"):format(at(swept, first_named(group, ", ", named)), group.key)
  end)
end

--- Footnotes of the first table over a factor that compares.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@return string[]
function M.sweep(result, comparison)
  local list, primary = {}, result.header.primary
  list[1] = primary and corrections(comparison, ("verdicts: %s is primary"):format(text.safe(primary)), false)
    or not primary and corrected(comparison) or nil
  list[#list + 1] = noise_floor(comparison, comparison.pairs)
  lists.append(list, doubts(comparison.pairs))
  lists.append(list, by_means(comparison.pairs))
  local is_apart = lists.any(comparison.pairs, function(pair)
    return not pair.paired and not titles.entries_are_values(pair.cell)
  end)
  if is_apart then list[#list + 1] = "repetitions of different files were not interleaved" end
  return list
end

return M
