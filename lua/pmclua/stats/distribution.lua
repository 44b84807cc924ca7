--- distribution.lua: the normal and Student's distribution, and where the order statistics of a median lie.
--
-- Invariant: nothing here is a table of literals or good only for some n: every figure is summed from
-- its definition to double precision.

local exp, sqrt, abs, floor = math.exp, math.sqrt, math.abs, math.floor

local M = {}

local SQRT_TWO_PI = sqrt(2 * math.pi)

-- Below this share of the middle term, binomial terms no longer add to a sum of doubles, and 1e-28 is
-- the smallest tail that anything here asks for.
local NEGLIGIBLE = 1e-30

-- P(Z > z) for z > 2 by the continued fraction of Mills' ratio (Abramowitz, Stegun 26.2.14), from its
-- far end inward.
local function upper_tail(z)
  local fraction = z
  for k = 200, 1, -1 do fraction = z + k / fraction end
  return exp(-z * z / 2) / SQRT_TWO_PI / fraction
end

--- P(Z <= z) of the standard normal distribution, to about 1e-15. Near 0 by Marsaglia's series
--- ("Evaluating the Normal Distribution", Journal of Statistical Software 11, 2004).
---@param z number
---@return number
function M.normal_cdf(z)
  if z > 2 then return 1 - upper_tail(z) end
  if z < -2 then return upper_tail(-z) end
  local term, sum, k = z, z, 1
  while abs(term) > 1e-17 do
    k = k + 2
    term = term * z * z / k
    sum = sum + term
  end
  return 0.5 + sum * exp(-z * z / 2) / SQRT_TWO_PI
end

--- The z that a standard normal variable exceeds with probability `tail`, by bisection.
---@param tail number from 0 to 1, both excluded
---@return number
function M.normal_upper(tail)
  local low, high = -40, 40
  for _ = 1, 100 do
    local middle = (low + high) / 2
    if M.normal_cdf(-middle) > tail then low = middle else high = middle end
  end
  return (low + high) / 2
end

-- P(|T| <= t) of Student's distribution with whole degrees of freedom, at t = sqrt(df) * tan(angle): finite
-- sums (Abramowitz, Stegun 26.7.3 and 26.7.4).
local function student_within(angle, df)
  local cosine, sine = math.cos(angle), math.sin(angle)
  local is_odd = df % 2 == 1
  local term, sum = is_odd and cosine or 1, 0
  for k = is_odd and 1 or 0, df - 2, 2 do
    sum = sum + term
    term = term * cosine * cosine * (k + 1) / (k + 2)
  end
  return is_odd and 2 / math.pi * (angle + sine * sum) or sine * sum
end

--- The t that a variable of Student's distribution exceeds with probability `tail`, by bisection.
---@param tail number from 0 to ½, both excluded
---@param df integer degrees of freedom, from 1
---@return number
function M.student_upper(tail, df)
  local low, high = 0, math.pi / 2
  for _ = 1, 100 do
    local middle = (low + high) / 2
    if student_within(middle, df) < 1 - 2 * tail then low = middle else high = middle end
  end
  return sqrt(df) * math.tan((low + high) / 2)
end

--- The level whose percentiles of resampled estimates cover a parameter at `level`, where the estimate is of few
--- values: percentile intervals are as narrow as the normal distribution and n in place of n - 1 make them; this
--- widens them by Student's quantile and sqrt(n / df) (Hesterberg: "What Teachers Should Know About the Bootstrap",
--- The American Statistician 69, 2015, 4.3).
---@param level number
---@param n integer values, or clusters of them
---@param df integer degrees of freedom, from 1
---@return number
function M.expanded_level(level, n, df)
  local reach = M.student_upper((1 - level) / 2, df) * math.sqrt(n / df)
  return 2 * M.normal_cdf(reach) - 1
end

--- P(|T| > |t|) of Student's distribution. Below about 1e-15 it reads 0.
---@param t number
---@param df integer degrees of freedom, from 1
---@return number
function M.student_beyond(t, df)
  return math.max(0, 1 - student_within(math.atan(abs(t) / sqrt(df)), df))
end

-- Weights of Bin(n, ½) relative to the middle one, from the middle down to where they vanish;
-- weights[i] belongs to floor(n/2) + 1 - i. Also the sum over all of 0…n, by symmetry.
local function binomial_weights(n)
  local k = floor(n / 2)
  local weights, weight, total = {}, 1, 0
  repeat
    weights[#weights + 1] = weight
    total = total + weight
    weight = weight * k / (n - k + 1)
    k = k - 1
  until k < 0 or weight < NEGLIGIBLE
  total = 2 * total
  if n % 2 == 0 then total = total - 1 end
  return weights, total
end

local ranks = {}            -- [n][level]: found already; a study asks for the same few again and again

local function find_rank(n, level)
  local tail = (1 - level) / 2
  local weights, total = binomial_weights(n)
  local sum, k = 0, floor(n / 2) + 1 - #weights
  for i = #weights, 1, -1 do
    local next_sum = sum + weights[i] / total
    if next_sum > tail then break end
    sum, k = next_sum, k + 1
  end
  return { rank = k, coverage = 1 - 2 * sum }
end

--- The largest k with P(Bin(n, ½) < k) <= (1 - level)/2: [x(k), x(n+1-k)] of n ordered values then
--- covers the median with at least that level (David, Nagaraja: "Order Statistics", 7.1). Exact for
--- any n.
---@param n integer
---@param level number e.g. 0.95
---@return integer? k nil where n is too small for any such interval
---@return number|string coverage its exact level, or the reason
function M.median_rank(n, level)
  local known = ranks[n] and ranks[n][level]
  if not known then
    known = find_rank(n, level)
    ranks[n] = ranks[n] or {}
    ranks[n][level] = known
  end
  if known.rank < 1 then
    local needed = math.ceil(1 - math.log(1 - level) / math.log(2) - 1e-9)
    return nil, ("%.4g %% interval needs %d values, there are %d"):format(100 * level, needed, n)
  end
  return known.rank, known.coverage
end

return M
