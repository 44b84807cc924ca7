--- runs.lua: a new run against runs of the baseline that were made at other times.
--
-- Invariant: an interval here also holds how runs of one program differ from each other, which no number of
-- repetitions within a run shows. It is measured between several runs of the baseline, or assumed where there is
-- one, and the result says which.

local distribution = require "pmclua.stats.distribution"
local lists = require "pmclua.base.lists"
local mean = require("pmclua.stats.mean").average

local M = {}

--- The assumed spread between runs of one program where the baseline is a single run: the standard
--- deviation of times. (Medians of 30 runs of one command on a busy virtual machine had 14 %.)
M.ASSUMED_SPREAD = 0.15

---@class pmclua.BetweenRuns: pmclua.Compared
---@field runs integer of the baseline
---@field spread number standard deviation between runs: of the logarithm of ratios, or in units of a difference
---@field is_assumed boolean? the spread was not measured

-- Ratios as logarithms, or differences as they are: both add up.
local function scale_of(is_ratio)
  if not is_ratio then
    return function(run) return run.difference.shift, run.difference.low, run.difference.high end
  end
  return function(run) return math.log(run.ratio), math.log(run.low), math.log(run.high) end
end

local function has_ratio(run) return run.ratio ~= nil and (run.low or 1) > 0 end

local function problem_of(list, is_ratio)
  for _, run in ipairs(list) do
    local moved = is_ratio and run or run.difference
    if not moved then return "some runs of the baseline have a ratio and some do not" end
    if moved.low == nil then return run.reason or "there is no interval" end
  end
end

local function deviation(list, middle)
  local sum = 0
  for i = 1, #list do sum = sum + (list[i] - middle) ^ 2 end
  return math.sqrt(sum / (#list - 1))
end

-- Whether every run of the baseline differs from the new one by the same, known exactly.
local function are_exact(list)
  return lists.all(list, function(run) return run.method == "exact" and run.ratio == list[1].ratio end)
end

local function result_of(is_ratio, middle, low, high, more)
  local result = { method = "runs", runs = more.runs, spread = more.spread, is_assumed = more.is_assumed }
  if is_ratio then
    result.ratio, result.low, result.high = math.exp(middle), math.exp(low), math.exp(high)
  else
    result.difference = { shift = middle, low = low, high = high }
  end
  return result
end

--- A new run against several of the baseline. Where the new run is only another run of the same program, its
--- median lies about theirs as they lie about each other: the interval is Student's prediction interval,
--- mean ± t(k - 1)·s·sqrt(1 + 1/k), and never narrower than the mean of the intervals within runs.
---@param list pmclua.Compared[] of the new run against each, two at least
---@param level number
---@return pmclua.BetweenRuns? between nil where one has no interval
---@return string? reason
function M.several(list, level)
  local is_ratio, count = lists.all(list, has_ratio), #list
  local why = problem_of(list, is_ratio)
  if why then return nil, why end
  if is_ratio and are_exact(list) then
    local first = list[1]
    return { method = "exact", ratio = first.ratio, low = first.low, high = first.high, runs = count,
      spread = 0 }
  end
  local read, moved, below, above = scale_of(is_ratio), {}, {}, {}
  for i, run in ipairs(list) do
    local low, high
    moved[i], low, high = read(run)
    below[i], above[i] = moved[i] - low, high - moved[i]
  end
  local middle = mean(moved)
  local spread = deviation(moved, middle)
  local between = distribution.student_upper((1 - level) / 2, count - 1) * spread * math.sqrt(1 + 1 / count)
  return result_of(is_ratio, middle, middle - math.max(between, mean(below)),
    middle + math.max(between, mean(above)), { runs = count, spread = spread })
end

--- A new run against the only one of the baseline, where runs differ by a given spread: both runs' deviations,
--- and the interval within them.
---@param compared pmclua.Compared
---@param spread number standard deviation between runs, as a share
---@param level number
---@return pmclua.Compared compared itself where there is no ratio to widen
function M.single(compared, spread, level)
  if not has_ratio(compared) or not compared.low or spread == 0 then return compared end
  local between = distribution.normal_upper((1 - level) / 2) * spread * math.sqrt(2)
  local middle, low, high = scale_of(true)(compared)
  return result_of(true, middle, middle - math.sqrt((middle - low) ^ 2 + between ^ 2),
    middle + math.sqrt((high - middle) ^ 2 + between ^ 2), { runs = 1, spread = spread, is_assumed = true })
end

return M
