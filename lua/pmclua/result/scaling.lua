--- scaling.lua: speed-up, efficiency and the serial share over a number of ranks, threads or nodes.
--
-- Invariant: levels that ran in the same blocks are compared block by block, with one value for each cluster; of others the
-- i-th repetitions go together, which are independent of each other. Every interval is at the level of summaries.

local cell_key = require "pmclua.result.cell_key"
local clusters = require "pmclua.result.clusters"
local complete = require "pmclua.result.complete"
local explain = require "pmclua.explain"
local growth = require "pmclua.result.growth"
local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"
local read_cell = require("pmclua.result.cell").read
local scaling = require "pmclua.stats.scaling"
local text = require "pmclua.base.text"
local verdict = require "pmclua.verdict"

local M = {}

---@class pmclua.ScalingLevel
---@field level number
---@field cell pmclua.Cell
---@field summary pmclua.Summary
---@field speedup? { value: number, low: number?, high: number? } against the smallest level; of weak scaling scaled: times
---  the work
---@field efficiency? { value: number, low: number?, high: number? } of the speed-up that is ideal
---@field residual? { value: number, low: number?, high: number? } the share by which it lies above the law
---@field why? string why it has none of these

---@class pmclua.ResultScaling a time over a factor
---@field name string
---@field title string
---@field by string the factor
---@field weak boolean
---@field levels pmclua.ScalingLevel[] from the smallest on
---@field paired boolean
---@field n? integer blocks, or clusters
---@field fit? pmclua.Scaling
---@field why? string why there is no fit
---@field off pmclua.ScalingLevel[] levels that lie off the law by more than the margin, whatever the noise
---@field limit? { value: number, low: number?, high: number? } of the speed-up against one, however many; of strong
---  scaling that the law describes

-- Times that all ranks and threads spend beside each other are added up.
local ADDED_UP = { "^task_clock", "^cpu_clock", "^user_time", "^system_time" }

local function why_none(result, name)
  if result:list()[1]:summary(name).kind ~= "time" then return "is none" end
  local is_added_up = lists.any(ADDED_UP, function(pattern) return name:find(pattern) ~= nil end)
  return is_added_up and "is CPU time, of all ranks and threads added up" or nil
end

-- Elapsed time, else the primary time, else the first one that has values.
local function default_name(result)
  local function has_values(name)
    return not why_none(result, name)
      and lists.any(result:list(), function(cell) return cell:summary(name).n > 0 end)
  end
  local known = names.quantities(result)
  local wanted = lists.joined { { "duration_time", result.header.primary }, known }
  local time = lists.find(wanted, function(name) return lists.contains(known, name) and has_values(name) end)
  if time then return time end
  explain.misuse("scaling takes an elapsed time, and none was measured: -e duration_time", 5)
end

local function names_of(result, asked)
  if not asked then return { default_name(result) } end
  for _, name in ipairs(asked) do
    local why = why_none(result, name)
    if why then
      explain.misuse(("scaling takes an elapsed time: %s %s"):format(text.safe(name), why), 5)
    end
  end
  return asked
end

local function why_not(cell, smallest, name)
  local summary = cell:summary(name)
  if summary.n == 0 then return summary.why or summary.status end
  return complete.of_pair({ cell = cell, baseline = smallest }, name)
end

-- Times of cells, of each block that all have; or of each, in the order of measuring.
local function aligned(cells, name)
  local are_paired = lists.all(cells, function(cell)
    return not cell.region and cell_key.share_blocks(cell, cells[1])
  end)
  if not are_paired then
    local lists_of = lists.map(cells, function(cell) return clusters.means(cell, read_cell(cell, name)) end)
    return lists_of, false
  end
  local by_block = lists.map(cells, function(cell) return cell:values_by_block(name) end)
  local blocks = lists.where(lists.keys(by_block[1]), function(block)
    return lists.all(by_block, function(values) return values[block] ~= nil end)
  end)
  local times = lists.map(by_block, function(values)
    return lists.map(blocks, function(block) return values[block] end)
  end)
  local ids = clusters.of_blocks(cells, blocks)
  return ids and { clusters.pairs(ids, unpack(times)) } or times, true
end

local function scaled(ratio, factor)
  return { value = ratio.value * factor, low = ratio.low and ratio.low * factor,
    high = ratio.high and ratio.high * factor }
end

-- The ratio of the smallest level's times to another's.
local function ratio_of(smallest, times, are_paired)
  local compared = verdict.compare(smallest, times, { kind = "time", paired = are_paired })
  return compared and compared.ratio and { value = compared.ratio, low = compared.low, high = compared.high }
end

local function compare(levels, times, are_paired, weak)
  for i, level in ipairs(levels) do
    local ratio = i == 1 and { value = 1, low = 1, high = 1 } or ratio_of(times[1], times[i], are_paired)
    local more = level.level / levels[1].level
    level.speedup = ratio and scaled(ratio, weak and more or 1)
    level.efficiency = ratio and scaled(ratio, weak and 1 or 1 / more)
  end
end

local function inverse(share)
  local function of(value) return value and (value > 0 and 1 / value or math.huge) end
  return { value = of(share.value), low = of(share.high), high = of(share.low) }
end

local function is_off(level, margin)
  return level.residual.low and (level.residual.low > margin or level.residual.high < -margin)
end

local function fit(curve, levels, times)
  local least = math.min(unpack(lists.map(times, function(list) return #list end)))
  local as_many = lists.map(times, function(list)
    local first = {}
    for i = 1, least do first[i] = list[i] end
    return first
  end)
  curve.n = least
  local law = curve.weak and "gustafson" or "amdahl"
  curve.fit, curve.why = scaling.fit(lists.column(levels, "level"), as_many, law)
  if not curve.fit then return end
  for i, level in ipairs(levels) do level.residual = curve.fit.residuals[i] end
  local margin = names.margin(levels[1].cell.result, curve.name) or verdict.DEFAULT_MARGIN
  curve.off = lists.where(levels, function(level) return is_off(level, margin) end)
  if not curve.weak and #curve.off == 0 then curve.limit = inverse(curve.fit.share) end
end

local function of_cells(cells, name, by, weak)
  local levels = lists.map(cells, function(cell)
    return { level = cell.levels[by], cell = cell, summary = cell:summary(name) }
  end)
  table.sort(levels, function(a, b) return a.level < b.level end)
  local curve = { name = name, title = levels[1].summary.title, by = by, weak = weak, levels = levels,
    off = {} }
  local smallest = lists.find(levels, function(level) return level.summary.n > 0 end) or levels[1]
  for _, level in ipairs(levels) do level.why = why_not(level.cell, smallest.cell, name) end
  local known = lists.where(levels, function(level) return not level.why end)
  if #known == 0 then
    curve.why = levels[1].why
    return curve
  end
  local times, are_paired = aligned(lists.column(known, "cell"), name)
  curve.paired = are_paired
  compare(known, times, are_paired, weak)
  fit(curve, known, times)
  return curve
end

--- How times scale over a factor: for each, each workload and each level of other factors.
---@param result pmclua.Result
---@param by string a factor whose levels are numbers above 0
---@param options? { names: string[]?, weak: boolean? } names: default elapsed time; weak: the work grows with the level
---@return pmclua.ResultScaling[] raises where levels are no numbers, fewer than three, or a quantity is no time
function M.of(result, by, options)
  options = options or {}
  growth.check(result, by, "scaling", scaling.FEWEST)
  local groups = growth.groups(result, by)
  return lists.joined(lists.map(names_of(result, options.names), function(name)
    return lists.map(groups, function(cells) return of_cells(cells, name, by, options.weak or false) end)
  end))
end

return M
