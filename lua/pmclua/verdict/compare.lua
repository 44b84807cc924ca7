--- compare.lua: one quantity in two cells: the ratio, its interval, and what they conclude.
--
-- Invariant: the interval of the ratio against the margin decides, never a point and never a p-value
-- alone. Where there is no interval, or the machine's own noise is larger than the difference, the
-- verdict is "undecided" and says why.

local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local interval = require "pmclua.stats.interval"
local stop = require("pmclua.base.lazy").module "pmclua.verdict.stop"
local means = require("pmclua.base.lazy").module "pmclua.stats.mean"
local rank = require "pmclua.stats.rank"
local text = require "pmclua.base.text"
local defaults = require "pmclua.verdict"

local M = {}

---@alias pmclua.Kind "time"|"count"|"ratio"

-- Kind to the words for less and more than the baseline.
local WORDS = {
  time = { less = "faster", more = "slower" },
  count = { less = "fewer", more = "more" },
  ratio = { less = "lower", more = "higher" },
}

---@class pmclua.Compared of new values against the baseline's
---@field ratio? number to the baseline; absent where the baseline's median is not above 0
---@field low? number of the ratio's interval; absent where there are too few values
---@field high? number
---@field difference? pmclua.Shift in units of the quantity, where zeros forbid ratios
---@field p? number of the Mann-Whitney test, beside a difference
---@field coverage? number as reached
---@field method "exact"|"sign"|"Hodges-Lehmann"|"Mann-Whitney"|"Student"|"bootstrap"|"runs" Student's of means,
---  bootstrap of slopes, runs.lua of several runs
---@field reason? string why it is undecided, where not by the interval alone
---@field by_means? true means of processes or layouts decide, as medians say something else (result/clusters.lua)

---@class pmclua.Verdict: pmclua.Compared
---@field verdict? "same"|"undecided"|"faster"|"slower"|"fewer"|"more"|"lower"|"higher"
---@field level number as asked
---@field margin? number
---@field floor? number noise floor that was applied
---@field n integer repetitions
---@field n_baseline integer

-- ---- the interval, by what the values allow -------------------------------------------------------------

local function extremes(values)
  local sorted, reason = order.sorted(values)
  if not sorted then return nil, reason end
  return { low = sorted[1], high = sorted[#sorted], median = order.median_of(sorted), n = #sorted }
end

-- If a count takes one of two values, two repetitions of each of two equal programs look exact and different in up
-- to 12 of 100 experiments, three repetitions in 3. Simulated counts vary only by what the program draws and by its
-- threads, and then take many values.
local EXACT_FROM, SIMULATED_FROM = 3, 2

local function is_exact(side, from) return side.n >= from and side.low == side.high end

-- How many equal values each side needs at a level. Of a count that takes one of two values, equal programs look exact and
-- different in 2 · 4^-n of experiments at most; within the margin that is no false alarm.
local function exact_from(a, b, options)
  if math.abs(a.low - b.low) <= options.margin * math.abs(b.low) then return EXACT_FROM end
  return math.max(EXACT_FROM, math.ceil(math.log(2 / (1 - options.level)) / math.log(4)))
end

-- Each side is one value: the difference is what it is.
local function exact(a, b)
  local result = { method = "exact", coverage = 1 }
  if b.median > 0 then
    result.ratio = a.median / b.median
    result.low, result.high = result.ratio, result.ratio
  else
    local shift = a.median - b.median
    result.difference = { shift = shift, low = shift, high = shift }
  end
  return result
end

local function paired_ratio(values, baseline, level)
  local ratio, reason = interval.paired_ratio(values, baseline, level)
  if not ratio then return nil, reason end
  return { method = "sign", ratio = ratio.median, low = ratio.low, high = ratio.high,
           coverage = ratio.coverage, reason = ratio.reason }
end

local function unpaired_ratio(values, baseline, level)
  local shift = rank.hodges_lehmann(lists.map(values, math.log), lists.map(baseline, math.log), level)
  return { method = "Hodges-Lehmann", ratio = math.exp(shift.shift), coverage = shift.coverage,
           low = shift.low and math.exp(shift.low), high = shift.high and math.exp(shift.high),
           reason = shift.reason }
end

-- Values of which some are 0 or below have no ratios: the shift, also as a share of the baseline's
-- median where that is above 0.
local function shifted(values, baseline, b, level)
  local shift = rank.hodges_lehmann(values, baseline, level)
  local result = { method = "Mann-Whitney", coverage = shift.coverage, reason = shift.reason,
                   difference = { shift = shift.shift, low = shift.low, high = shift.high },
                   p = rank.mann_whitney(values, baseline).p }
  if b.median > 0 then
    result.ratio = 1 + shift.shift / b.median
    result.low = shift.low and 1 + shift.low / b.median
    result.high = shift.high and 1 + shift.high / b.median
  end
  return result
end

-- The ratio of geometric means, or where there is a 0 the difference of means, with Welch's t.
local function ratio_of_means(values, baseline, a, b, level)
  local has_logarithms = a.low > 0 and b.low > 0
  local function side(list) return has_logarithms and lists.map(list, math.log) or list end
  local shift = means.unpaired(side(baseline), side(values))
  local low, high = means.interval(shift, level)
  local result = { method = "Student", coverage = low and level,
    reason = not low and ("%d and %d repetitions do not show how they vary"):format(a.n, b.n) or nil }
  if has_logarithms then
    result.ratio, result.low = math.exp(shift.mean), low and math.exp(low)
    result.high = high and math.exp(high)
  else
    result.difference = { shift = shift.mean, low = low, high = high }
  end
  return result
end

-- Simulated counts: two repetitions that differ by next to nothing say as much as many. Ranks need more repetitions,
-- but hold for any distribution, so they decide where there are enough for them.
local function simulated(values, baseline, a, b, asked_level)
  if is_exact(a, SIMULATED_FROM) and is_exact(b, SIMULATED_FROM) then return exact(a, b) end
  local level = stop.simulated_level(asked_level)
  local by_rank = (a.low <= 0 or b.low <= 0) and shifted(values, baseline, b, level)
    or unpaired_ratio(values, baseline, level)
  return not by_rank.reason and by_rank or ratio_of_means(values, baseline, a, b, level)
end

local function estimate(values, baseline, a, b, options)
  if options.simulated then return simulated(values, baseline, a, b, options.level) end
  local from = exact_from(a, b, options)
  if is_exact(a, from) and is_exact(b, from) then return exact(a, b) end
  if a.low <= 0 or b.low <= 0 then return shifted(values, baseline, b, options.level) end
  if options.paired then return paired_ratio(values, baseline, options.level) end
  return unpaired_ratio(values, baseline, options.level)
end

-- ---- the conclusion ---------------------------------------------------------------------------------------

-- Where an interval lies against centre ± margin.
local function place(low, high, centre, margin)
  if low > centre + margin then return "more" end
  if high < centre - margin then return "less" end
  if low >= centre - margin and high <= centre + margin then return "same" end
  return "undecided"
end

local function conclude(result, b)
  if result.ratio then
    if not result.low then return "undecided" end
    return place(result.low, result.high, 1, result.margin)
  end
  local difference = result.difference
  if not difference.low then return "undecided" end
  -- A baseline of 0 has no shares: any difference counts.
  return place(difference.low, difference.high, 0, result.margin * math.abs(b.median))
end

-- A difference below what the machine shows between equals is not one; nor is sameness finer than that.
local function apply_floor(result, conclusion)
  local floor = result.floor
  if not floor or not result.ratio or result.method == "exact" then return conclusion end
  local hidden = conclusion == "same" and floor > result.margin
    or (conclusion == "more" or conclusion == "less") and math.abs(result.ratio - 1) < floor
  if not hidden then return conclusion end
  result.reason = ("the noise floor (A/A) is %s"):format(text.percent(floor))
  return "undecided"
end

---@class pmclua.CompareOptions
---@field kind? pmclua.Kind default "count"
---@field margin? number share within which values are the same; default 0.01
---@field level? number of the interval; default 0.95
---@field paired? boolean the i-th values of both were measured in one block; default true
---@field floor? number noise floor, a share: of `noise_floor`
---@field simulated? boolean Valgrind counted it: two equal values are exact, and nothing is paired

--- Concludes on an estimate that was made elsewhere (of slopes, say), as `compare` does on its own.
---@param result table method, and `ratio`, low and high, or a `difference`; becomes the verdict
---@param b { median: number, n: integer } the baseline
---@param n integer repetitions
---@param options? pmclua.CompareOptions
---@return pmclua.Verdict
function M.conclude(result, b, n, options)
  options = options or {}
  local words = WORDS[options.kind or "count"] or error("no kind of quantity: " .. tostring(options.kind), 2)
  result.level = options.level or defaults.DEFAULT_LEVEL
  result.margin = options.margin or defaults.DEFAULT_MARGIN
  result.floor, result.n, result.n_baseline = options.floor, n, b.n
  local conclusion = apply_floor(result, conclude(result, b))
  result.verdict = words[conclusion] or conclusion
  return result
end

--- Compares the values of one quantity with the baseline's. By what they allow: one value each is
--- compared exactly; pairs by the median log ratio with the sign test's interval; unpaired values by the
--- Hodges-Lehmann shift of logarithms; values with zeros by the shift itself and the Mann-Whitney test.
---@param values number[] in the order of blocks
---@param baseline number[] in the order of blocks
---@param options? pmclua.CompareOptions
---@return pmclua.Verdict? verdict nil where there is nothing to compare
---@return string? reason
function M.compare(values, baseline, options)
  options = options or {}
  local asked = { level = options.level or defaults.DEFAULT_LEVEL, paired = options.paired ~= false,
    simulated = options.simulated, margin = options.margin or defaults.DEFAULT_MARGIN }
  local a, why = extremes(values)
  if not a then return nil, why end
  local b, why_not = extremes(baseline)
  if not b then return nil, "of the baseline, " .. why_not end
  local result, reason = estimate(values, baseline, a, b, asked)
  if not result then return nil, reason end
  if result.reason and is_exact(a, 1) and is_exact(b, 1) then
    local needed = options.simulated and SIMULATED_FROM or exact_from(a, b, asked)
    result.reason = ("%d equal values are needed, there are %d"):format(needed, math.min(a.n, b.n))
  end
  return M.conclude(result, b, a.n, options)
end

--- The noise floor: how far from 1 the interval of a baseline against itself (A/A) reaches.
---@param verdict pmclua.Verdict of the baseline under two labels
---@return number? share nil where there is no interval
function M.noise_floor(verdict)
  if not verdict.low then return nil end
  return math.max(math.abs(verdict.low - 1), math.abs(verdict.high - 1))
end

--- Values that both sides have, in the order of blocks: what absent repetitions leave to be paired.
---@param values table<integer, any> by block
---@param baseline table<integer, any> by block
---@return any[] values
---@return any[] baseline
---@return integer[] blocks
function M.pair(values, baseline)
  local blocks = lists.where(lists.keys(values), function(block) return baseline[block] ~= nil end)
  local function listed(by_block) return lists.map(blocks, function(block) return by_block[block] end) end
  return listed(values), listed(baseline), blocks
end

return M
