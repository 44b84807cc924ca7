--- over.lua: how each quantity differs over the ranks, hosts or other levels of a factor, instead of a row for each.
--
-- Invariant: a level's value is the median of its cell. A level is named as an outlier where its modified z-score
-- (stats/order.lua) exceeds both the usual 3.5 and what the largest of so many looks exceeds in 5 % of cases by chance.

local distribution = require "pmclua.stats.distribution"
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local rows = require "pmclua.report.rows"
local side_by_side = require "pmclua.report.side_by_side"
local text = require "pmclua.base.text"
local titles = require "pmclua.report.titles"
local words = require "pmclua.report.words"

local M = {}

local USUAL_LIMIT, BY_CHANCE = 3.5, 0.05
local NORMAL_MAD, NORMAL_MEAN = 0.6745, 1.2533          -- of a standard deviation; how many mean deviations one is
local FEWEST = 5                -- levels, of which a spread can be known

local COLUMNS = { "n", "min", "median", "max", "max/mean", "max at" }

-- The medians of a quantity by level.
local function values_of(grid, rest, name)
  local found = { levels = {}, list = {} }
  for _, level in ipairs(grid.columns) do
    local cell = grid.cells[rest][level]
    local summary = cell and cell:summary(name)
    if summary and summary.median then
      found.levels[#found.levels + 1], found.list[#found.list + 1] = level, tonumber(summary.median)
      found.summary = summary
    end
  end
  return found
end

local function level_words(by, level) return ("%s %s"):format(text.safe(by), words.level(by, level)) end

local function row_of(label, found, by)
  if #found.list == 0 then return { label, "0", words.ABSENT, span = 3 } end
  local sorted, sum, at = order.sorted(found.list), 0, 1
  for i, value in ipairs(found.list) do
    sum = sum + value
    if value > found.list[at] then at = i end
  end
  local n, mean = #sorted, sum / #sorted
  local function shown(value) return rows.in_unit(found.summary, value) end
  return { label, tostring(n), shown(sorted[1]), shown(order.median_of(sorted)), shown(sorted[n]),
    mean ~= 0 and ("%.3f"):format(sorted[n] / mean) or words.ABSENT,
    sorted[1] < sorted[n] and level_words(by, found.levels[at]) or "" }
end

-- The standard deviation by the median of absolute deviations; where most values are one, by their mean (Iglewicz and
-- Hoaglin). And the median.
local function spread_of(values)
  local mad, median = order.mad_of(order.sorted(values))
  if mad > 0 then return mad / NORMAL_MAD, median end
  local sum = 0
  for _, value in ipairs(values) do sum = sum + math.abs(value - median) end
  return NORMAL_MEAN * sum / #values, median
end

-- "duration_time: rank 3: 2.0 times the others".
local function outliers_of(label, found, by, looks)
  if #found.list < FEWEST then return {} end
  local spread, median = spread_of(found.list)
  local limit = math.max(USUAL_LIMIT, distribution.normal_upper(BY_CHANCE / 2 / looks))
  if spread == 0 or median == 0 then return {} end
  local list = {}
  for i, value in ipairs(found.list) do
    if math.abs(value - median) / spread > limit then
      list[#list + 1] = ("%s: %s: %.3g times the others"):format(label, level_words(by, found.levels[i]),
        value / median)
    end
  end
  return list
end

--- A table of these quantities over the levels of a factor.
---@param result pmclua.Result
---@param names string[]
---@param by string a factor
---@return pmclua.ReportBlock
function M.table(result, names, by)
  local grid, list, notes, first = side_by_side.arrange(result, by), {}, {}, result:list()[1]
  local looks = #grid.columns * #names * #grid.rest
  for _, name in ipairs(names) do
    local title = text.safe(first:summary(name).title)
    for _, rest in ipairs(grid.rest) do
      local label = rest == "" and title or ("%s, %s"):format(title, rest)
      local found = values_of(grid, rest, name)
      list[#list + 1] = row_of(label, found, by)
      lists.append(notes, outliers_of(label, found, by, looks))
    end
  end
  local columns = lists.map(COLUMNS, function(name)
    return { name = name, align = name ~= "max at" and "right" or nil, whole = true }
  end)
  return { title = titles.side_by_side(result, by), rows = list, notes = notes,
    columns = { { name = "median of each " .. text.safe(by) }, unpack(columns) } }
end

return M
