--- mean.lua: means and differences of means with Student's t.
--
-- Means are for what has to add up: the mean of a total is the sum of the means of its parts, which
-- medians are not. For a value that stands alone, interval.lua holds for any distribution. Invariant:
-- equal values have an error of exactly 0.

local distribution = require "pmclua.stats.distribution"

local M = {}

---@class pmclua.MeanEstimate
---@field mean number
---@field error? number standard error; nil: a single value does not tell
---@field df? integer degrees of freedom

---@param values number[]
---@return number
function M.sum(values)
  local sum = 0
  for i = 1, #values do sum = sum + values[i] end
  return sum
end

--- The arithmetic mean.
---@param values number[] at least one
---@return number
function M.average(values) return M.sum(values) / #values end

local function moments(values)
  local n = #values
  local mean, squares = M.average(values), 0
  for i = 1, n do squares = squares + (values[i] - mean) ^ 2 end
  return mean, n > 1 and squares / (n - 1) / n or nil
end

--- The mean of some values, as an estimate.
---@param values number[] at least one
---@return pmclua.MeanEstimate
function M.of(values)
  local mean, variance = moments(values)
  return { mean = mean, error = variance and math.sqrt(variance), df = variance and #values - 1 }
end

--- The differences b - a of partners.
---@param a number[]
---@param b number[] as many, in the same order of blocks
---@return number[]
function M.differences(a, b)
  local list = {}
  for i = 1, #a do list[i] = b[i] - a[i] end
  return list
end

--- The mean of b - a from pairs.
---@param a number[]
---@param b number[] as many, in the same order of blocks
---@return pmclua.MeanEstimate
function M.paired(a, b) return M.of(M.differences(a, b)) end

--- The mean of b less that of a, of values that are not paired and may spread differently (Welch 1947;
--- his degrees of freedom, rounded down).
---@param a number[]
---@param b number[]
---@return pmclua.MeanEstimate
function M.unpaired(a, b)
  local mean_a, var_a = moments(a)
  local mean_b, var_b = moments(b)
  local result = { mean = mean_b - mean_a }
  if not (var_a and var_b) then return result end
  local both = var_a + var_b
  result.error, result.df = math.sqrt(both), #a + #b - 2
  if both > 0 then
    local df = both ^ 2 / (var_a ^ 2 / (#a - 1) + var_b ^ 2 / (#b - 1))
    result.df = math.max(1, math.floor(df + 1e-9))
  end
  return result
end

--- How likely a mean at least this far from 0 is where the true one is 0; nil: a single value does not
--- tell.
---@param estimate pmclua.MeanEstimate
---@return number?
function M.p(estimate)
  if not estimate.error then return nil end
  if estimate.error == 0 then return estimate.mean == 0 and 1 or 0 end
  return distribution.student_beyond(estimate.mean / estimate.error, estimate.df)
end

--- The interval of a mean; nil: a single value has none.
---@param estimate pmclua.MeanEstimate
---@param level number e.g. 0.95
---@return number? low
---@return number? high
function M.interval(estimate, level)
  if not estimate.error then return nil end
  local half = estimate.error * distribution.student_upper((1 - level) / 2, estimate.df)
  return estimate.mean - half, estimate.mean + half
end

return M
