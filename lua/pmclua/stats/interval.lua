--- interval.lua: medians and ratios with intervals that hold whatever the distribution is.
--
-- Invariant: an interval covers at least the level asked for, and says the level it has; where the
-- values are too few for that, there is none and a reason, never a narrower one.

local order = require "pmclua.stats.order"
local distribution = require "pmclua.stats.distribution"
local LEVEL = require("pmclua.stats.multiple").LEVEL

local M = {}

---@class pmclua.Interval
---@field median number
---@field low? number absent where there are too few values for the level
---@field high? number
---@field level number as asked
---@field coverage? number as reached: at least `level`
---@field n integer
---@field reason? string why there is no interval

local function interval_of(sorted, level)
  local n = #sorted
  local result = { median = order.median_of(sorted), level = level, n = n }
  local k, coverage = distribution.median_rank(n, level)
  if k then
    result.low, result.high, result.coverage = sorted[k], sorted[n + 1 - k], coverage
  else
    result.reason = coverage
  end
  return result
end

--- The median and its order-statistic interval [x(k), x(n+1-k)].
---@param values number[]
---@param level? number default 0.95
---@return pmclua.Interval? interval nil where there is no value or one is not finite
---@return string? reason
function M.median(values, level)
  local sorted, reason = order.sorted(values)
  if not sorted then return nil, reason end
  return interval_of(sorted, level or LEVEL)
end

---@class pmclua.MedianInterval: pmclua.Interval
---@field minimum number a lower bound, not a typical value
---@field maximum number
---@field q1 number lower quartile
---@field q3 number upper quartile
---@field mad number median absolute deviation, unscaled
---@field exact boolean all values, of at least two, are one value
---@field outliers integer[] indices into the values as measured, flagged and not dropped

--- Everything that is said of one cell's values of one event.
---@param values number[] as measured, in any order
---@param level? number default 0.95
---@return pmclua.MedianInterval? summary nil where there is no value or one is not finite
---@return string? reason
function M.summary(values, level)
  local sorted, reason = order.sorted(values)
  if not sorted then return nil, reason end
  local result = interval_of(sorted, level or LEVEL)
  result.minimum, result.maximum = sorted[1], sorted[#sorted]
  result.q1, result.q3 = order.quantile_of(sorted, 0.25), order.quantile_of(sorted, 0.75)
  result.mad = order.mad_of(sorted)
  result.exact = #sorted > 1 and result.minimum == result.maximum
  result.outliers = order.outliers(values, result.mad, result.median)
  return result
end

local function paired(a, b, difference)
  if #a ~= #b then return nil, ("%d values cannot be paired with %d"):format(#a, #b) end
  local list = {}
  for i = 1, #a do list[i] = difference(a[i], b[i]) end
  return list
end

--- The ratio of a to b from pairs measured in the same block: exp of the median of ln a - ln b, with
--- the interval of the sign test (METHOD: it covers 96.7 % where Wilcoxon's covers 91.5 % on skewed
--- data). Both sides must be above 0.
---@param a number[]
---@param b number[] as many, in the same order of blocks
---@param level? number default 0.95
---@return pmclua.Interval? ratio its `median` is the ratio
---@return string? reason
function M.paired_ratio(a, b, level)
  for _, side in ipairs { a, b } do
    for i = 1, #side do
      if side[i] <= 0 then return nil, ("value %d is not above 0: it has no logarithm"):format(i) end
    end
  end
  local logarithms, why = paired(a, b, function(x, y) return math.log(x) - math.log(y) end)
  if not logarithms then return nil, why end
  local result, reason = M.median(logarithms, level)
  if not result then return nil, reason end
  for _, field in ipairs { "median", "low", "high" } do
    result[field] = result[field] and math.exp(result[field])
  end
  return result
end

--- The median of a - b from pairs, with the interval of the sign test. Zeros and negatives are fine.
---@param a number[]
---@param b number[] as many, in the same order of blocks
---@param level? number default 0.95
---@return pmclua.Interval? difference
---@return string? reason
function M.paired_difference(a, b, level)
  local differences, why = paired(a, b, function(x, y) return x - y end)
  if not differences then return nil, why end
  return M.median(differences, level)
end

return M
