--- growth.lua: how a quantity grows with a size: the shape of its curve, parameters with intervals, predictions.
--
-- Invariant: every shape is fitted to the same logarithms (curve.lua), so one criterion compares them: AICc (Hurvich,
-- Tsai: "Regression and time series model selection in small samples", Biometrika 76, 1989). Intervals are Student's;
-- tests/bench/honesty.lua simulates what they cover.

local curves = require "pmclua.stats.curve"
local distribution = require "pmclua.stats.distribution"
local LEVEL = require("pmclua.stats.multiple").LEVEL
local lists = require "pmclua.base.lists"

local exp, log, sqrt = math.exp, math.log, math.sqrt

local M = {}

M.FEWEST = 4                        -- sizes
M.NOT_TOLD_APART = 2                -- AICc: shapes nearer than this (Burnham, Anderson: "Model Selection", 2002, 2.6)
local NO_RESIDUAL = 1e-20           -- smaller mean squares come from rounding
local PER_GAP, SWEEPS = 6, 4        -- places of a break between two sizes; rounds of moving breaks
local MOST_BREAKS = 4

-- ---- breaks ----------------------------------------------------------------------------------------------

-- Where breaks may lie: both sides have two sizes.
local function places_of(x)
  local list = {}
  for i = 2, #x - 2 do
    local from, to = log(x[i]), log(x[i + 1])
    for k = 0, PER_GAP - 1 do list[#list + 1] = from + (to - from) * k / PER_GAP end
  end
  list[#list + 1] = log(x[#x - 1])
  return list
end

local function is_better(curve, best) return curve and (not best or curve.squares < best.squares) end

-- The curve that leaves least with the break `j` at any of these places between its neighbours.
local function best_place(data, breaks, j)
  local best
  for _, place in ipairs(data.places) do
    if place > (breaks[j - 1] or -math.huge) and place < (breaks[j + 1] or math.huge) then
      local moved = lists.copy(breaks)
      moved[j] = place
      local curve = curves.power(data.x, data.logs, moved)
      if is_better(curve, best) then best = curve end
    end
  end
  return best
end

local function settle(data, curve)
  for _ = 1, SWEEPS do
    local before = curve.squares
    for j = 1, #curve.breaks do
      local moved = best_place(data, curve.breaks, j)
      if is_better(moved, curve) then curve = moved end
    end
    if curve.squares >= before then break end
  end
  return curve
end

local function with_break(data, breaks)
  local best
  for _, place in ipairs(data.places) do
    if not lists.contains(breaks, place) then
      local more = lists.copy(breaks)
      more[#more + 1] = place
      table.sort(more)
      local curve = curves.power(data.x, data.logs, more)
      if is_better(curve, best) then best = curve end
    end
  end
  return best and settle(data, best)
end

-- ---- the criterion ---------------------------------------------------------------------------------------

-- AICc; nil where there are too few sizes. The variance of the residuals is a parameter, too, and a break that is looked
-- for counts as three (Hall, Osborn, Sakkas: "Inference on structural breaks using information criteria", The Manchester
-- School 81, 2013).
local function criterion_of(curve, n)
  local k = curve.count + 2 * #curve.breaks + 1
  if n - k - 1 < 1 then return nil end
  return n * log(math.max(curve.squares / n, NO_RESIDUAL)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
end

-- The best number of breaks: another one as long as it pays.
local function steps_of(data)
  local best, breaks = nil, {}
  for _ = 1, MOST_BREAKS do
    local curve = with_break(data, breaks)
    local criterion = curve and criterion_of(curve, #data.x)
    if not criterion or best and criterion >= best.criterion then break end
    breaks, best = curve.breaks, curves.free(curve, data.x, data.logs)
    best.criterion = criterion_of(best, #data.x)
  end
  return best
end

local function candidates(data)
  local x, y, logs = data.x, data.y, data.logs
  local fits = { curves.power(x, logs, {}) }
  for _, make in ipairs { curves.linear, curves.n_log_n } do fits[#fits + 1] = make(x, y, logs) end
  for _, curve in ipairs(fits) do curve.criterion = criterion_of(curve, #x) end
  fits[#fits + 1] = steps_of(data)
  local powers = fits[1]
  table.sort(fits, function(a, b)
    if a.criterion == b.criterion then return a.count < b.count end
    return (a.criterion or math.huge) < (b.criterion or math.huge)
  end)
  return fits, powers
end

-- ---- intervals -------------------------------------------------------------------------------------------

local function student(curve, n, level)
  return distribution.student_upper((1 - level) / 2, n - curve.count)
end

local dot = curves.dot

local function product(matrix, vector)
  return lists.map(matrix, function(row) return dot(row, vector) end)
end

-- The standard error of a combination of parameters: the larger of that for noise that is everywhere the same, and that
-- for noise that is not (HC3: MacKinnon, White, Journal of Econometrics 29, 1985), widened for few sizes as that one is.
local function error_of(data, curve, weights)
  local by_parameter, robust, n = product(curve.inverse, weights), 0, #data.x
  local plain = dot(weights, by_parameter) * curve.squares / (n - curve.count)
  for i, left in ipairs(curves.residuals(curve, curve.p, data.x, data.logs)) do
    local row = curve.slopes(curve.p, data.x[i])
    local leverage = math.min(0.99, dot(row, product(curve.inverse, row)))
    robust = robust + (dot(row, by_parameter) * left / (1 - leverage)) ^ 2
  end
  return sqrt(math.max(0, plain, robust * n / (n - curve.count)))
end

local function estimate(data, curve, weights, level)
  local value, reach = 0, student(curve, #data.x, level) * error_of(data, curve, weights)
  for i, weight in ipairs(weights) do value = value + weight * curve.p[i] end
  return { value = value, low = value - reach, high = value + reach }
end

local function weights_of(curve, first, last)
  local weights = {}
  for i = 1, #curve.p do weights[i] = i >= first and i <= last and 1 or 0 end
  return weights
end

local function in_sizes(fitted)
  return { value = exp(fitted.value), low = exp(fitted.low), high = exp(fitted.high) }
end

-- A break with its interval; where the sizes do not say where it lies, those around it.
local function break_of(data, curve, j, level)
  local place = curve.breaks[j]
  if #curve.p < curve.count then
    local low, high = data.x[1], data.x[#data.x]
    for _, size in ipairs(data.x) do
      if log(size) < place then low = size elseif log(size) > place then high = math.min(high, size) end
    end
    return { value = exp(place), low = low, high = high }
  end
  local at = 2 + #curve.breaks + j
  return in_sizes(estimate(data, curve, weights_of(curve, at, at), level))
end

-- The curve's parameters: a and b, or a factor, exponents and breaks.
local function parameters(data, curve, level)
  if #curve.breaks == 0 and curve.shape ~= "power" then
    return { a = estimate(data, curve, { 1, 0 }, level), b = estimate(data, curve, { 0, 1 }, level) }
  end
  local factor = in_sizes(estimate(data, curve, weights_of(curve, 1, 1), level))
  local list = { factor = factor, exponents = {}, breaks = {} }
  for j = 0, #curve.breaks do
    list.exponents[j + 1] = estimate(data, curve, weights_of(curve, 2, 2 + j), level)
    if j > 0 then list.breaks[j] = break_of(data, curve, j, level) end
  end
  return list
end

-- ---- the answer ------------------------------------------------------------------------------------------

local function check(x, y)
  if #x ~= #y then return ("%d sizes against %d values"):format(#x, #y) end
  for i = 1, #x do
    if not (x[i] > 0 and x[i] < math.huge) then return ("a size of %g has no logarithm"):format(x[i]) end
    if not (y[i] > 0 and y[i] < math.huge) then
      return ("the value at %g is %g, which has no logarithm"):format(x[i], y[i])
    end
  end
  local different = #lists.unique(x)
  if different < #x then return "a size comes twice" end
  if different < M.FEWEST then return ("a fit takes %d sizes, there are %d"):format(M.FEWEST, different) end
end

local function data_of(x, y)
  local at, data = {}, { x = {}, y = {}, logs = {} }
  for i = 1, #x do at[i] = i end
  table.sort(at, function(i, j) return x[i] < x[j] end)
  for k, i in ipairs(at) do data.x[k], data.y[k], data.logs[k] = x[i], y[i], log(y[i]) end
  data.places = places_of(data.x)
  return data
end

---@class pmclua.Growth
---@field shape "power"|"linear"|"n log n"|"steps" the best by the criterion
---@field parameters table of that shape: a, b; or factor, exponents and breaks; each has value, low, high
---@field exponent { value: number, low: number, high: number } of the power law, whatever the shape
---@field shapes { shape: string, criterion?: number, spread: number }[] the best first; spread: of the residuals
---@field x number[] sizes, in order
---@field y number[]
---@field residuals number[] the share by which each value lies above the curve
---@field n integer
---@field level number
---@field curve pmclua.Curve
---@field data table

--- How y grows with x.
---@param x number[] sizes, above 0, each once
---@param y number[] values, above 0
---@param level? number of the intervals, 0.95 by default
---@return pmclua.Growth? growth
---@return string? reason
function M.fit(x, y, level)
  local problem = check(x, y)
  if problem then return nil, problem end
  level = level or LEVEL
  local data = data_of(x, y)
  local fitted, powers = candidates(data)
  local best, n = fitted[1], #x
  return { shape = best.shape, curve = best, parameters = parameters(data, best, level), n = n, level = level,
    data = data, exponent = estimate(data, powers, { 0, 1 }, level), x = data.x, y = data.y,
    residuals = lists.map(curves.residuals(best, best.p, data.x, data.logs), function(left)
      return exp(left) - 1
    end),
    shapes = lists.map(fitted, function(curve)
      local spread = sqrt(curve.squares / (n - curve.count))
      return { shape = curve.shape, criterion = curve.criterion, spread = spread }
    end) }
end

--- The curve's prediction at a size, with the interval of a value measured there.
---@param growth pmclua.Growth
---@param x number above 0
---@return { x: number, value: number, low: number, high: number, beyond: boolean }? prediction beyond: no size is as
---  small, or as large; nil where the curve falls below 0
function M.at(growth, x)
  local curve, n = growth.curve, growth.n
  local at = curve.log(curve.p, x)
  if not at then return nil end
  local variance = curve.squares / (n - curve.count)
  local error_of_curve = error_of(growth.data, curve, curve.slopes(curve.p, x))
  local reach = student(curve, n, growth.level) * sqrt(variance + error_of_curve * error_of_curve)
  return { x = x, value = exp(at), low = exp(at - reach), high = exp(at + reach),
    beyond = x < growth.x[1] or x > growth.x[n] }
end

return M
