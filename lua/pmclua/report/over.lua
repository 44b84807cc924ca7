--- over.lua: how each quantity differs over the ranks, hosts, threads or other levels of a factor, instead of a row for
--- each: table, facts, records.
--
-- Invariant: a level's value is the median of its cell. A level is named as an outlier where its modified z-score
-- (stats/order.lua) exceeds both the usual 3.5 and what the largest of as many scores exceeds in 5 % of cases by
-- chance.

local cells = require "pmclua.report.cells"
local cell_key = require "pmclua.result.cell_key"
local distribution = require "pmclua.stats.distribution"
local hosts = require "pmclua.result.hosts"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local rows = require "pmclua.report.rows"
local side_by_side = require "pmclua.report.side_by_side"
local split = require "pmclua.result.split"
local text = require "pmclua.base.text"
local titles = require "pmclua.report.titles"
local words = require "pmclua.report.words"

local M = {}

local USUAL_LIMIT, BY_CHANCE = 3.5, 0.05
local NORMAL_MAD, NORMAL_MEAN = 0.6745, 1.2533          -- of a standard deviation; how many mean deviations one is
local FEWEST = 5                -- levels, of which a spread can be known
local NEGLIGIBLE = 0.01         -- of the mean: an imbalance below is not said to lie anywhere
local FEW = 3                   -- outliers that are each said

local IS_HOST = { host = true, node = true }

---@class pmclua.OverLevel one level of one quantity
---@field level any
---@field value number
---@field host? string where hosts differ: its host or hosts, folded

---@class pmclua.OverRow a quantity over the levels
---@field name string
---@field title string
---@field summary pmclua.Summary of one of the levels, for its unit
---@field rest string what else the cells have in common: "region parse, n 4"
---@field cell pmclua.Cell one of the cells
---@field levels pmclua.OverLevel[]
---@field min? number
---@field median? number
---@field mean? number
---@field max? pmclua.OverLevel
---@field outliers pmclua.OverLevel[]

-- ---- what there is --------------------------------------------------------------------------------------

-- The standard deviation from the median absolute deviation, or from the mean one where most values are equal
local function spread_of(values)
  local mad, median = order.mad_of(order.sorted(values))
  if mad > 0 then return mad / NORMAL_MAD, median end
  local sum = lists.sum(values, function(value) return math.abs(value - median) end)
  return NORMAL_MEAN * sum / #values, median
end

local function outliers_of(levels, looks)
  if #levels < FEWEST then return {} end
  local spread, median = spread_of(lists.column(levels, "value"))
  local limit = math.max(USUAL_LIMIT, distribution.normal_upper(BY_CHANCE / 2 / looks))
  if spread == 0 or median == 0 then return {} end
  return lists.where(levels, function(level) return math.abs(level.value - median) / spread > limit end)
end

-- The level, with its host where that says more.
local function level_words(by, level)
  local label = ("%s %s"):format(IS_HOST[by] and "node" or text.safe(by), words.level(by, level.level))
  return level.host and ("%s on %s"):format(label, text.safe(level.host)) or label
end

-- From the least on.
local function levels_of(cells_of, columns, name, host_of)
  local levels, last = {}, nil
  for _, level in ipairs(columns) do
    local cell = cells_of[level]
    local summary = cell and cell:summary(name)
    if summary and summary.median then
      levels[#levels + 1] = { level = level, value = tonumber(summary.median), host = host_of(cell) }
      last = cell
    end
  end
  return levels, last
end

local function row_of(grid, rest, name, host_of, looks)
  local _, any = next(grid.cells[rest])
  local levels, cell = levels_of(grid.cells[rest], grid.columns, name, host_of)
  cell = cell or any
  local summary = cell:summary(name)
  local row = { name = name, title = text.safe(summary.title), rest = rest, cell = cell, summary = summary,
    levels = levels, outliers = outliers_of(levels, looks) }
  if #levels == 0 then return row end
  local sorted, sum, most = order.sorted(lists.column(levels, "value")), 0, levels[1]
  for _, level in ipairs(levels) do
    sum = sum + level.value
    if level.value > most.value then most = level end
  end
  row.min, row.median, row.mean, row.max = sorted[1], order.median_of(sorted), sum / #levels, most
  return row
end

-- The host of a cell where that says more than its level.
local function host_reader(result, by)
  if IS_HOST[by] or not hosts.of(result) then return function() return nil end end
  return function(cell) return hosts.of_cell(cell) end
end

---@class pmclua.Over
---@field by string
---@field levels any[] all of them
---@field rows pmclua.OverRow[]
---@field hosts? string all of them, folded; nil: one
---@field compared pmclua.BetweenNodes[] B against A over nodes
---@field comparison? { level: number, primary: string?, primaries: integer, others: integer } of these

local function check(result, by)
  local known = lists.joined { { "workload" }, lists.column(result.header.factors, 1), cell_key.PARTS }
  if lists.contains(known, by) then return end
  local hint = lists.contains(split.NAMES, by) and (": pmc.load { …, over = '%s' } makes it one"):format(by)
    or ": " .. text.meant_or_all(by, lists.unique(lists.append(known, split.NAMES)))
  require("pmclua.base.problem").misuse(("there is no factor '%s'%s"):format(text.safe(by), hint), 4)
end

--- How quantities differ over the levels of a factor.
---@param result pmclua.Result
---@param names string[]
---@param by string a factor, or a part such as thread
---@return pmclua.Over
function M.of(result, names, by)
  if by == "rank" then result = require("pmclua.result.ranks").by(result) or result end
  check(result, by)
  local grid, list, host_of = side_by_side.arrange(result, by), {}, host_reader(result, by)
  grid.columns = lists.where(grid.columns, function(level) return level ~= nil end)
  -- A whole run has no level where its threads are the levels.
  local rest = lists.where(grid.rest, function(label) return next(grid.cells[label]) ~= nil end)
  local looks = #grid.columns * #names * #rest
  for _, name in ipairs(names) do
    for _, label in ipairs(rest) do list[#list + 1] = row_of(grid, label, name, host_of, looks) end
  end
  local all = hosts.of(result)
  local compared, comparison = {}, nil
  if IS_HOST[by] and result.header.baseline then
    compared, comparison = require("pmclua.result.between").of(result, by, names)
  end
  return { by = by, levels = grid.columns, rows = list, result = result, compared = compared,
    comparison = comparison,
    hosts = all and hosts.folded(lists.column(all, "hostname")) }
end

-- ---- notes ----------------------------------------------------------------------------------------------

-- Whole nodes that are outliers stand for their levels.
local function subjects_of(row, by)
  if IS_HOST[by] or not row.outliers[1].host then
    return lists.map(row.outliers, function(outlier) return { outlier } end)
  end
  local all = lists.by(lists.groups(row.levels, function(level) return level.host end), "key")
  local by_host = lists.groups(row.outliers, function(outlier) return outlier.host end)
  return lists.joined(lists.map(by_host, function(group)
    local is_node = #group == #all[group.key] and #group > 1
    if is_node then return { { node = group.key, unpack(group) } } end
    return lists.map(group, function(outlier) return { outlier } end)
  end))
end

-- "rank 3-7,9"; of levels that are no numbers, their count.
local function levels_words(by, outliers)
  local levels = lists.column(outliers, "level")
  local are_whole = lists.all(levels, function(level)
    return type(level) == "number" and level % 1 == 0 and level >= 0
  end)
  if not are_whole then return text.plural(#levels, text.safe(by)) end
  table.sort(levels)
  return ("%s %s"):format(text.safe(by), text.ranges(levels))
end

local function subject_words(by, subject)
  if not subject.node then return level_words(by, subject[1]) end
  return ("node %s (%s)"):format(text.safe(subject.node), levels_words(by, subject))
end

-- Many outliers in one text: "node n[03,07]".
local function folded_words(by, outliers)
  if not IS_HOST[by] then return levels_words(by, outliers) end
  return "node " .. text.safe(hosts.folded(lists.column(outliers, "level")))
end

local function times_of(row, values)
  local least, most = lists.range(lists.map(values, function(outlier) return outlier.value / row.median end))
  local low, high = ("%.3g"):format(least), ("%.3g"):format(most)
  return low == high and low or ("%s … %s"):format(low, high)
end

local function label_of(row) return row.rest == "" and row.title or ("%s, %s"):format(row.title, row.rest) end

-- "duration_time: rank 3: 2.0 times the others".
local function outlier_notes(row, by)
  if #row.outliers == 0 then return {} end
  local function note(words_of, outliers)
    return ("%s: %s: %s times the others"):format(label_of(row), words_of(by, outliers),
      times_of(row, outliers))
  end
  local subjects = subjects_of(row, by)
  if #subjects > FEW then return { note(folded_words, row.outliers) } end
  return lists.map(subjects, function(subject) return note(subject_words, subject) end)
end

local function excess(row) return row.max and row.max.value - row.mean or 0 end

-- The region in which a quantity has the most above its mean, where there are several regions.
local function region_notes(over)
  local by_name = lists.groups(over.rows, function(row) return row.cell.region and row.name end)
  return lists.map(by_name, function(group)
    local worst = group[1]
    for _, row in ipairs(group) do worst = excess(row) > excess(worst) and row or worst end
    if #group < 2 or excess(worst) <= NEGLIGIBLE * math.abs(worst.mean or 0) then return nil end
    return ("imbalance of %s: most in %s, %s more than the mean, at %s"):format(worst.title,
      text.safe(worst.rest), rows.in_unit(worst.summary, excess(worst)), level_words(over.by, worst.max))
  end)
end

-- ---- forms ----------------------------------------------------------------------------------------------

local COLUMNS = { "n", "min", "median", "max", "max/mean", "max at" }

local function table_row(row, by)
  local label = label_of(row)
  if #row.levels == 0 then return { label, "0", words.ABSENT, span = 3 } end
  local function shown(value) return rows.in_unit(row.summary, value) end
  return { label, tostring(#row.levels), shown(row.min), shown(row.median), shown(row.max.value),
    row.mean ~= 0 and ("%.3f"):format(row.max.value / row.mean) or words.ABSENT,
    row.min < row.max.value and level_words(by, row.max) or "" }
end

--- A table of these quantities over the levels of a factor.
---@param over pmclua.Over
---@return pmclua.ReportBlock
function M.table(over)
  local by, notes = over.by, {}
  for _, row in ipairs(over.rows) do lists.append(notes, outlier_notes(row, by)) end
  lists.append(notes, region_notes(over))
  local columns = lists.map(COLUMNS, function(name)
    return { name = name, align = name ~= "max at" and "right" or nil, whole = true }
  end)
  local title = titles.side_by_side(over.result, by)
  title[#title + 1] = over.hosts and "on " .. text.safe(over.hosts)
  return { title = title, notes = notes,
    rows = lists.map(over.rows, function(row) return table_row(row, by) end),
    columns = { { name = "median by " .. text.safe(by) }, unpack(columns) } }
end

local function named(row, level)
  return { level = level.level, host = level.host, value = level.value,
    times = row.median ~= 0 and level.value / row.median or nil }
end

local FEW_NODES = 5

local function compared_table(over, pair)
  local a, b, count = text.safe(pair.baseline.workload), text.safe(pair.cell.workload), #pair.nodes
  local notes = require("pmclua.report.footnotes").comparison(over.comparison, pair)
  if a == b then a, b = "baseline", "value" end
  if count < FEW_NODES then
    notes[#notes + 1] = ("%d nodes are few: the interval holds how nodes differ, and more repetitions do not "
      .. "narrow it"):format(count)
  end
  local varies = cells.varying(over.result:list())
  return { title = { ("%s against %s (baseline)"):format(cells.label(pair.cell, varies, over.by),
      cells.label(pair.baseline, varies, over.by)),
      ("%d nodes: %s on each, then over nodes"):format(count, pair.paired and "pairs" or "unpaired") },
    columns = rows.compared_columns({ name = a, align = "right" }, b, over.comparison.level), notes = notes,
    rows = lists.map(pair.rows, rows.of_quantity) }
end

local function compared_facts(pair)
  return { workload = pair.cell.workload, baseline = pair.baseline.workload, nodes = #pair.nodes,
    verdicts = lists.map(pair.rows, function(row)
      local judged = row.verdict or {}
      return { name = row.name, primary = row.primary or nil, verdict = json.or_null(judged.verdict),
        ratio = json.or_null(judged.ratio), low = json.or_null(judged.low), high = json.or_null(judged.high),
        level = judged.level, margin = judged.margin, why = json.or_null(row.why or judged.reason),
        doubts = #row.doubts > 0 and row.doubts or nil }
    end) }
end

local function facts_of(row)
  local max = row.max or {}
  return { name = row.name, workload = row.cell.workload, of = row.rest ~= "" and row.rest or nil,
    region = row.cell.region, unit = row.summary.unit, n = #row.levels, min = json.or_null(row.min),
    median = json.or_null(row.median), mean = json.or_null(row.mean), max = json.or_null(max.value),
    max_over_mean = json.or_null(row.mean and row.mean ~= 0 and max.value / row.mean or nil),
    at = json.or_null(max.level), host = max.host,
    why = #row.levels == 0 and json.or_null(row.summary.why) or nil,
    outliers = lists.map(row.outliers, function(level) return named(row, level) end),
    levels = lists.map(row.levels, function(level) return named(row, level) end) }
end

local ORDER = { "format", "over", "hosts", "quantities", "name", "workload", "of", "region", "unit", "n",
  "min", "median", "mean", "max", "max_over_mean", "at", "host", "why", "outliers", "levels", "level",
  "value", "times" }

local function of_options(result, options)
  return M.of(result, require("pmclua.report.tables").shown_names(result, options.show), options.over)
end

--- The facts of a report over a factor.
---@param result pmclua.Result
---@param options pmclua.ReportOptions `over`
---@return pmclua.ReportFacts
function M.facts(result, options)
  local over = of_options(result, options)
  return { order = ORDER, indent = 1, value = { format = 1, over = over.by, levels = #over.levels,
    hosts = over.hosts, quantities = lists.map(over.rows, facts_of),
    comparisons = lists.map(over.compared, compared_facts) } }
end

--- The same as records, one for each quantity.
---@param result pmclua.Result
---@param options pmclua.ReportOptions
---@return pmclua.Records
function M.records(result, options)
  local columns = { "name", "workload", "of", "unit", "over", "n", "min", "median", "mean", "max", "at",
    "host", "outliers" }
  return { columns = columns, each = function(lines)
    local over = of_options(result, options)
    for _, row in ipairs(over.rows) do
      local max = row.max or {}
      lines:put { row.name, row.cell.workload, row.rest, row.summary.unit, over.by, #row.levels, row.min,
        row.median, row.mean, max.value, max.level, max.host,
        table.concat(lists.map(row.outliers, function(outlier) return tostring(outlier.level) end), " ") }
    end
  end }
end

--- The same as blocks, with what concerns the whole result.
---@param result pmclua.Result
---@param options pmclua.ReportOptions
---@return pmclua.Report
function M.blocks(result, options)
  local over = of_options(result, options)
  local blocks = { M.table(over), unpack(lists.map(over.compared, function(pair)
    return compared_table(over, pair)
  end)) }
  return require("pmclua.report.tables").around(result, blocks, options)
end

return M
