--- fit.lua: a straight line through counts over iterations: what one iteration costs, and what
--- starting and stopping costs.
--
-- Invariant: a line is never forced through the origin, where the overhead would leak into the slope;
-- and points that lie on a line exactly give exactly that line, without rounding.

local average = require("pmclua.stats.mean").average
local distribution = require "pmclua.stats.distribution"
local LEVEL = require("pmclua.stats.multiple").LEVEL
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local pairs_of = require "pmclua.stats.pairs"
local rank = require "pmclua.stats.rank"
local random = require "pmclua.stats.random"

local sqrt, abs = math.sqrt, math.abs

local M = {}

local ALL_PAIRS_UP_TO = 3000        -- points; 4.5 million slopes
local CURVED, FANNING = 3.3, 0.5    -- |t| of a quadratic term (two-sided 0.1 %); rank correlation
local RESAMPLES, FEWEST = 2000, 5
local FEWEST_APART = 4              -- points that are not at the commonest x

---@class pmclua.Fit
---@field a number intercept: the fixed cost
---@field b number slope: the cost of one iteration
---@field n integer points
---@field method string
---@field r2? number share of variance explained; absent where y is constant
---@field a_error? number standard error; absent under 3 points
---@field b_error? number
---@field pattern? string "exact", "none" (residuals look random), "curved", "fanning" or "unknown" (too few)
---@field why? string the figure behind a pattern

local function check(x, y)
  if #x ~= #y then return nil, ("%d x values against %d y values"):format(#x, #y) end
  local sorted, reason = order.both(x, y)
  if not sorted then return nil, reason end
  if sorted[1] == sorted[#sorted] then return nil, "a line needs two different x" end
  return true
end

-- The line through the points of smallest and largest x, if every point lies on it exactly; two always do.
local function exact_line(x, y)
  local first, last = 1, 1
  for i = 2, #x do
    if x[i] < x[first] then first = i end
    if x[i] > x[last] then last = i end
  end
  local b = (y[last] - y[first]) / (x[last] - x[first])
  local a = y[first] - b * x[first]
  for i = 1, #x > 2 and #x or 0 do
    if a + b * x[i] ~= y[i] then return nil end
  end
  return a, b
end

-- b = Sxy/Sxx about the means, in two passes: one pass of sums of squares cancels.
local function least_squares(x, y)
  local mx, my, xx, xy = average(x), average(y), 0, 0
  for i = 1, #x do
    local dx = x[i] - mx
    xx, xy = xx + dx * dx, xy + dx * (y[i] - my)
  end
  if xx == 0 then return nil end
  local b = xy / xx
  return my - b * mx, b, mx, my, xx
end

local function residuals_of(x, y, a, b)
  local list, squares = {}, 0
  for i = 1, #x do
    list[i] = y[i] - (a + b * x[i])
    squares = squares + list[i] * list[i]
  end
  return list, squares
end

-- t of a quadratic term added to the line: the part of (x - mean)² that no line explains, against the
-- residuals.
local function curvature(x, residuals, mx, squares)
  local n, bend = #x, {}
  for i = 1, n do bend[i] = (x[i] - mx) * (x[i] - mx) end
  local a, b = least_squares(x, bend)
  local zz, zr = 0, 0
  for i = 1, n do
    local z = bend[i] - (a + b * x[i])
    zz, zr = zz + z * z, zr + z * residuals[i]
  end
  if zz <= 1e-12 * n then return 0 end
  local left = squares - zr * zr / zz
  if left <= 0 then return math.huge end
  return zr / zz / sqrt(left / (n - 3) / zz)
end

local function pattern_of(x, residuals, mx, squares)
  if #x < FEWEST then return "unknown", ("under %d points"):format(FEWEST) end
  local t = curvature(x, residuals, mx, squares)
  if abs(t) > CURVED then return "curved", ("t of a quadratic term %.3g"):format(t) end
  local sizes = {}
  for i = 1, #residuals do sizes[i] = abs(residuals[i]) end
  local r = rank.spearman(x, sizes)
  if r and r > FANNING then return "fanning", ("residuals grow with x, rank correlation %.2f"):format(r) end
  return "none"
end

--- Least squares with an intercept. R² is 1 - residual/total sum of squares about the mean.
---@param x number[] e.g. iterations
---@param y number[] e.g. counts
---@return pmclua.Fit? fit nil where the points are no line: fewer than two different x
---@return string? reason
function M.line(x, y)
  local ok, reason = check(x, y)
  if not ok then return nil, reason end
  local n = #x
  local a, b = exact_line(x, y)
  if a then
    local r2 = b ~= 0 and 1 or nil
    local zero = n > 2 and 0 or nil
    return { a = a, b = b, a_error = zero, b_error = zero, n = n, r2 = r2, pattern = "exact",
             method = "exact" }
  end
  local mx, my, xx
  a, b, mx, my, xx = least_squares(x, y)
  local residuals, squares = residuals_of(x, y, a, b)
  local total = 0
  for i = 1, n do total = total + (y[i] - my) * (y[i] - my) end
  local fit = { a = a, b = b, n = n, method = "least squares", r2 = 1 - squares / total }
  local variance = squares / (n - 2)
  fit.b_error = sqrt(variance / xx)
  fit.a_error = sqrt(variance * (1 / n + mx * mx / xx))
  fit.pattern, fit.why = pattern_of(x, residuals, mx, squares)
  return fit
end

--- The robust line: slope is the median of the slopes of pairs, intercept the median of y - b·x
--- (Theil 1950, Sen 1968). Up to 29 % of the points may be wild.
---@param x number[]
---@param y number[]
---@return pmclua.Fit? fit a, b, n and method only
---@return string? reason
function M.theil_sen(x, y)
  local ok, reason = check(x, y)
  if not ok then return nil, reason end
  local method = #x <= ALL_PAIRS_UP_TO and "Theil-Sen" or "Theil-Sen, incomplete"
  local b = order.median_of(pairs_of.slopes(x, y, ALL_PAIRS_UP_TO))
  return { a = pairs_of.intercept(x, y, b), b = b, n = #x, method = method }
end

--- Why too few points hold a line's end for their spread to be resampled: of two x with 2 and 3 points 95 % intervals
--- would hold the slope in 80 of 100 cases, and of one point beside many at one x in 6 to 65.
---@param x number[] two different ones or more
---@return string? nil where there are enough
function M.why_few_apart(x)
  local commonest
  for _, same in ipairs(lists.groups(x, function(value) return value end)) do
    if not commonest or #same > #commonest then commonest = same end
  end
  local apart = #x - #commonest
  if apart >= FEWEST_APART then return nil end
  return ("too few points to resample that are not at x = %g: %d of the %d that are needed"):format(
    commonest.key, apart, FEWEST_APART)
end

local function resample(x, y, generator)
  local rx, ry, n = {}, {}, #x
  for i = 1, n do
    local pick = generator:integer(n)
    rx[i], ry[i] = x[pick], y[pick]
  end
  return rx, ry
end

local function fast_line(x, y)
  local a, b = least_squares(x, y)
  return a and { a = a, b = b }
end

---@class pmclua.Bootstrap
---@field a { low: number, high: number }
---@field b { low: number, high: number }
---@field level number
---@field resamples integer those that gave a line

--- Expanded percentile intervals of a and b by resampling pairs (Efron, Tibshirani: "An Introduction to the
--- Bootstrap", 9.5; distribution.expanded_level), for which the spread may differ with x. Simulated, nominal 95 %, 5 to
--- 30 points at five x, noise constant, in proportion, or one point in ten disturbed: they cover 94 to 100 % (without
--- the expansion 84 to 93). Of log-normal noise in proportion (σ 1) 90 to 97 %, and where x differ by 500 times, too,
--- 78 to 99: least squares then hang on the largest. The same seed gives the same interval. Points exactly on a line
--- give that line's a and b as both ends.
---@param x number[]
---@param y number[]
---@param options? { level: number?, resamples: integer?, seed: integer?, robust: boolean? } robust: Theil-Sen
---@return pmclua.Bootstrap? intervals nil where there are fewer than 5 points, or 4 that are not at the commonest x
---@return string? reason
function M.bootstrap(x, y, options)
  options = options or {}
  local ok, reason = check(x, y)
  if not ok then return nil, reason end
  local level, wanted = options.level or LEVEL, options.resamples or RESAMPLES
  local a, b = exact_line(x, y)
  if a and #x > 2 then
    return { a = { low = a, high = a }, b = { low = b, high = b }, level = level, resamples = wanted }
  end
  if #x < FEWEST then return nil, ("%d points are too few to resample: %d are needed"):format(#x, FEWEST) end
  local why = M.why_few_apart(x)
  if why then return nil, why end
  local generator = random.new(options.seed or 0, "bootstrap")
  local fitter = options.robust and M.theil_sen or fast_line
  local as, bs = {}, {}
  for _ = 1, wanted do
    local fit = fitter(resample(x, y, generator))
    if fit then as[#as + 1], bs[#bs + 1] = fit.a, fit.b end
  end
  if #as < wanted / 2 then
    return nil, ("%d points are too few to resample: most samples have a single x"):format(#x)
  end
  local result = { a = {}, b = {}, level = level, resamples = #as }
  local expanded = distribution.expanded_level(level, #x, #x - 2)
  result.a.low, result.a.high = order.middle_of(order.sorted(as), expanded)
  result.b.low, result.b.high = order.middle_of(order.sorted(bs), expanded)
  return result
end

return M
