--- rank.lua: two samples compared by ranks: Spearman, Mann-Whitney, Hodges-Lehmann.
--
-- Invariant: only order and differences of values count, so that an outlier weighs no more than any
-- other value on its side.

local LEVEL = require("pmclua.stats.multiple").LEVEL
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local distribution = require "pmclua.stats.distribution"

local floor, sqrt, min, max = math.floor, math.sqrt, math.min, math.max

local M = {}

local EXACT_UP_TO = 50      -- sizes to which the distribution of U is counted out (0.1 million additions)

---@param x number[]
---@param y number[] as many
---@return number? r from -1 to 1; nil where there are under 3 pairs, or one side is constant
---@return string? reason
function M.spearman(x, y)
  if #x ~= #y then return nil, ("%d values against %d"):format(#x, #y) end
  if #x < 3 then return nil, "a rank correlation needs 3 pairs" end
  local rx, ry = order.both(x, y, order.ranks)
  if not rx then return nil, ry end
  local mean, xx, yy, xy = (#x + 1) / 2, 0, 0, 0
  for i = 1, #rx do
    local dx, dy = rx[i] - mean, ry[i] - mean
    xx, yy, xy = xx + dx * dx, yy + dy * dy, xy + dx * dy
  end
  if xx == 0 or yy == 0 then return nil, "all values are equal" end
  return xy / sqrt(xx * yy)
end

-- ways[u], u from 0 to n1*n2/2 (the rest is the same backwards): in how many orders of n1 x and n2 y, no two
-- of them equal, u pairs have x > y. They are coefficients of the product of (1 - q^(n2+i)) / (1 - q^i) for i
-- from 1 to n1 (Andrews, "The Theory of Partitions", 3.2). To sizes of 50 each is exact to within 3e-15.
local function count_ways(n1, n2)
  local ways, most = { [0] = 1 }, floor(n1 * n2 / 2)
  for u = 1, most do ways[u] = 0 end
  for i = 1, n1 do
    for u = most, n2 + i, -1 do ways[u] = ways[u] - ways[u - n2 - i] end
    for u = i, most do ways[u] = ways[u] + ways[u - i] end
  end
  return ways, most
end

local cumulative = {}       -- ["n1 n2"]: P(U <= u) by u, to n1*n2/2

local function exact_cdf(n1, n2)
  n1, n2 = min(n1, n2), max(n1, n2)
  local key = n1 .. " " .. n2
  if not cumulative[key] then
    local ways, most = count_ways(n1, n2)
    local total = 1                                   -- of all orders: n1 + n2 over n1
    for i = 1, n1 do total = total * (n2 + i) / i end
    local cdf, sum = {}, 0
    for u = 0, most do
      sum = sum + ways[u]
      cdf[u] = sum / total
    end
    cumulative[key] = cdf
  end
  return cumulative[key]
end

-- For how many pairs x > y, equal pairs counting half.
local function statistic(sx, sy)
  local u, below, upto, m = 0, 0, 0, #sy
  for i = 1, #sx do
    while below < m and sy[below + 1] < sx[i] do below = below + 1 end
    while upto < m and sy[upto + 1] <= sx[i] do upto = upto + 1 end
    u = u + (below + upto) / 2
  end
  return u
end

local function pooled_ties(sx, sy) return order.ties_of((order.sorted(lists.joined { sx, sy }))) end

-- σ² = n₁n₂/12·((N+1) - Σ(t³-t)/(N(N-1))): Lehmann, "Nonparametrics", 1.4.
local function deviation(n1, n2, ties)
  local total, correction = n1 + n2, 0
  for _, t in ipairs(ties) do correction = correction + (t * t * t - t) end
  return sqrt(n1 * n2 / 12 * ((total + 1) - correction / (total * (total - 1))))
end

---@class pmclua.MannWhitney
---@field u number pairs in which x is the larger; equal ones count half
---@field p number two-sided
---@field method string "exact" or "normal"

--- The Mann-Whitney test: exact for small untied samples, else by the normal distribution with tie
--- correction and a continuity correction of ½.
---@param x number[]
---@param y number[]
---@return pmclua.MannWhitney? result
---@return string? reason
function M.mann_whitney(x, y)
  local sx, sy = order.both(x, y)
  if not sx then return nil, sy end
  local n1, n2 = #sx, #sy
  local u, ties = statistic(sx, sy), pooled_ties(sx, sy)
  local smaller = min(u, n1 * n2 - u)
  if #ties == 0 and n1 <= EXACT_UP_TO and n2 <= EXACT_UP_TO then
    return { u = u, p = min(1, 2 * exact_cdf(n1, n2)[smaller]), method = "exact" }
  end
  local sigma = deviation(n1, n2, ties)
  local z = (n1 * n2 / 2 - smaller - 0.5) / sigma
  return { u = u, p = min(1, 2 * distribution.normal_cdf(-z)), method = "normal" }
end

-- How many of all differences sx[i] - sy[j] are at most `limit`; the largest of those, and the
-- smallest of the others.
local function split_differences(sx, sy, limit)
  local count, largest, smallest, j, n2 = 0, -math.huge, math.huge, 1, #sy
  for i = 1, #sx do
    local value = sx[i]
    while j <= n2 and value - sy[j] > limit do j = j + 1 end    -- sy[j…] are within, and j only rises
    count = count + (n2 - j + 1)
    if j <= n2 then largest = max(largest, value - sy[j]) end
    if j > 1 then smallest = min(smallest, value - sy[j - 1]) end
  end
  return count, largest, smallest
end

-- The k-th smallest of the n₁n₂ differences without making them: bisection in turn with interpolation,
-- always between differences that occur, so it ends on one exactly.
local function kth_difference(sx, sy, k)
  local low, high = sx[1] - sy[#sy], sx[#sx] - sy[1]
  local before, upto = 0, #sx * #sy             -- differences < low, and <= high
  local interpolate = true
  while low < high do
    local share = interpolate and (k - before) / (upto - before) or 0.5
    interpolate = not interpolate
    local middle = low + (high - low) * share
    if middle >= high then middle = low end
    local count, largest, smallest = split_differences(sx, sy, middle)
    if count >= k then
      high, upto = largest, count
    else
      low, before = smallest, count
    end
  end
  return low
end

local function median_difference(sx, sy)
  local count = #sx * #sy
  local lower = kth_difference(sx, sy, floor((count + 1) / 2))
  if count % 2 == 1 then return lower end
  local upto, _, following = split_differences(sx, sy, lower)
  if upto > count / 2 then return lower end
  return lower + (following - lower) / 2
end

-- The largest k with P(U < k) <= (1 - level)/2, and the level that it gives.
local function shift_rank(n1, n2, level)
  local tail = (1 - level) / 2
  if n1 <= EXACT_UP_TO and n2 <= EXACT_UP_TO then
    local cdf, k = exact_cdf(n1, n2), 0
    while cdf[k] <= tail do k = k + 1 end
    return k, k > 0 and 1 - 2 * cdf[k - 1] or 0
  end
  local centre, sigma = n1 * n2 / 2, deviation(n1, n2, {})
  local k = floor(centre - distribution.normal_upper(tail) * sigma + 0.5)
  return k, 1 - 2 * distribution.normal_cdf((k - 0.5 - centre) / sigma)
end

---@class pmclua.Shift
---@field shift number median of all differences x - y
---@field low? number absent where the samples are too small for the level
---@field high? number
---@field level? number as asked
---@field coverage? number as reached
---@field reason? string why there is no interval

--- The Hodges-Lehmann shift of x against y with the interval that inverts the Mann-Whitney test
--- (Hollander, Wolfe: "Nonparametric Statistical Methods", 4.2 and 4.3).
---@param x number[]
---@param y number[]
---@param level? number default 0.95
---@return pmclua.Shift? result
---@return string? reason
function M.hodges_lehmann(x, y, level)
  level = level or LEVEL
  local sx, sy = order.both(x, y)
  if not sx then return nil, sy end
  local k, coverage = shift_rank(#sx, #sy, level)
  local result = { shift = median_difference(sx, sy), level = level }
  if k < 1 then
    result.reason = ("%d and %d values are too few for a %.6g %% interval"):format(#sx, #sy, 100 * level)
    return result
  end
  result.coverage = coverage
  result.low = kth_difference(sx, sy, k)
  result.high = kth_difference(sx, sy, #sx * #sy + 1 - k)
  return result
end

return M
