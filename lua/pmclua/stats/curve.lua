--- curve.lua: curves over a size, fitted by least squares of logarithms: powers, with breaks or without, and a·g(n) + b.
--
-- Invariant: errors are relative, so a small size says as much as a large one, and the sums of squares of all curves are
-- on one scale.

local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"

local log, sqrt = math.log, math.sqrt

local M = {}

local ROUNDS, HALVINGS = 50, 20     -- of Gauss and Newton's method

---@class pmclua.Curve
---@field shape "power"|"linear"|"n log n"|"steps"
---@field p number[] parameters: of powers log factor, exponent, its change at each break, and where `free` has them the
---  breaks; else a, b
---@field count integer parameters, breaks among them
---@field inverse? number[][] of the normal matrix: times the variance of the residuals, the covariance of p
---@field log fun(p: number[], x: number): number? the logarithm of the curve; nil where it is not above 0
---@field slopes fun(p: number[]?, x: number): number[] the derivatives of that by each parameter
---@field breaks? number[] logarithms of the sizes at which the exponent changes
---@field squares? number the sum of the squares of the residuals

-- ---- linear least squares --------------------------------------------------------------------------------

-- The inverse of a small symmetric matrix, by Gauss and Jordan; nil where it is singular.
local function inverted(matrix)
  local size, inverse = #matrix, {}
  for i = 1, size do
    inverse[i] = {}
    for j = 1, size do inverse[i][j] = i == j and 1 or 0 end
  end
  for k = 1, size do
    local pivot = matrix[k][k]
    if pivot ~= pivot or pivot <= 1e-12 then return nil end
    for j = 1, size do
      matrix[k][j], inverse[k][j] = matrix[k][j] / pivot, inverse[k][j] / pivot
    end
    for i = 1, size do
      local factor = i ~= k and matrix[i][k] or 0
      for j = 1, factor ~= 0 and size or 0 do
        matrix[i][j] = matrix[i][j] - factor * matrix[k][j]
        inverse[i][j] = inverse[i][j] - factor * inverse[k][j]
      end
    end
  end
  return inverse
end

-- The parameters that bring `rows` nearest to `targets`, and the inverse of the normal matrix; nil where there is no
-- single answer. Columns are scaled to length 1, so that their units do not matter.
local function least_squares(rows, targets)
  local size, scales, matrix, right = #rows[1], {}, {}, {}
  for j = 1, size do
    local sum = 0
    for i = 1, #rows do sum = sum + rows[i][j] * rows[i][j] end
    scales[j] = sqrt(sum)
    if sum == 0 then return nil end
  end
  for j = 1, size do
    matrix[j], right[j] = {}, 0
    for i = 1, #rows do right[j] = right[j] + rows[i][j] / scales[j] * targets[i] end
    for k = 1, size do
      local sum = 0
      for i = 1, #rows do sum = sum + rows[i][j] * rows[i][k] end
      matrix[j][k] = sum / scales[j] / scales[k]
    end
  end
  local inverse, solution = inverted(matrix), {}
  if not inverse then return nil end
  for j = 1, size do
    solution[j] = 0
    for k = 1, size do
      solution[j] = solution[j] + inverse[j][k] * right[k] / scales[j]
      inverse[j][k] = inverse[j][k] / scales[j] / scales[k]
    end
  end
  return solution, inverse
end

-- ---- curves ---------------------------------------------------------------------------------------------

--- The sum of the products of two lists.
---@param a number[]
---@param b number[] as many or more
---@return number
function M.dot(a, b)
  local sum = 0
  for i = 1, #a do sum = sum + a[i] * b[i] end
  return sum
end

local dot = M.dot

--- The residuals of the logarithms; nil where the curve is not above 0 everywhere.
---@param curve pmclua.Curve
---@param p number[]
---@param x number[]
---@param logs number[] of the values
---@return number[]?
function M.residuals(curve, p, x, logs)
  local list = {}
  for i = 1, #x do
    local at = curve.log(p, x[i])
    if not at then return nil end
    list[i] = logs[i] - at
  end
  return list
end

--- A power of x, whose exponent changes at each break; its pieces meet there.
---@param x number[] above 0
---@param logs number[] of the values
---@param breaks number[] logarithms of sizes, in order
---@return pmclua.Curve? curve nil where the sizes do not determine it
function M.power(x, logs, breaks)
  local rows = {}
  local function slopes(_, at)
    local u = log(at)
    local row = { 1, u }
    for j = 1, #breaks do row[j + 2] = math.max(0, u - breaks[j]) end
    return row
  end
  local function log_of(p, at)
    return dot(slopes(p, at), p)
  end
  for i = 1, #x do rows[i] = slopes(nil, x[i]) end
  local p, inverse = least_squares(rows, logs)
  if not p then return nil end
  local curve = { shape = #breaks > 0 and "steps" or "power", p = p, count = #p + #breaks, inverse = inverse,
    breaks = breaks, log = log_of, slopes = slopes }
  local left = M.residuals(curve, p, x, logs)
  curve.squares = dot(left, left)
  return curve
end

local function improve(curve, x, logs)
  local rows, residuals = {}, M.residuals(curve, curve.p, x, logs)
  for i = 1, #x do rows[i] = curve.slopes(curve.p, x[i]) end
  local step, inverse = least_squares(rows, residuals)
  if not step then return false end
  curve.inverse = inverse
  for _ = 1, HALVINGS do
    local p = {}
    for j = 1, #step do p[j] = curve.p[j] + step[j] end
    local left = M.residuals(curve, p, x, logs)
    local squares = left and dot(left, left)
    if squares and squares < curve.squares then
      curve.p, curve.squares = p, squares
      return true
    end
    for j = 1, #step do step[j] = step[j] / 2 end
  end
  return false
end

local function settled(curve, x, logs)
  local rounds = 0
  while rounds < ROUNDS and improve(curve, x, logs) do rounds = rounds + 1 end
  return curve.inverse and curve or nil
end

--- A power with breaks, whose breaks are parameters (Muggeo: "Estimating regression models with unknown break-points",
--- Statistics in Medicine 22, 2003).
---@param fixed pmclua.Curve
---@param x number[]
---@param logs number[]
---@return pmclua.Curve curve `fixed` itself where the sizes do not determine them
function M.free(fixed, x, logs)
  local count = #fixed.breaks
  local curve = { shape = fixed.shape, p = lists.joined { fixed.p, fixed.breaks }, count = fixed.count,
    squares = fixed.squares }
  function curve.log(p, at)
    local u = log(at)
    local sum = p[1] + p[2] * u
    for j = 1, count do sum = sum + p[2 + j] * math.max(0, u - p[2 + count + j]) end
    return sum
  end
  function curve.slopes(p, at)
    local u = log(at)
    local row = { 1, u }
    for j = 1, count do
      local beyond = u - p[2 + count + j]
      row[2 + j], row[2 + count + j] = math.max(0, beyond), beyond > 0 and -p[2 + j] or 0
    end
    return row
  end
  if not settled(curve, x, logs) then return fixed end
  curve.breaks = { unpack(curve.p, 3 + count) }
  for j = 2, count do
    if curve.breaks[j] <= curve.breaks[j - 1] then return fixed end
  end
  return curve
end

-- Where to start: least squares of relative errors, or a curve through the origin where that one falls below 0.
local function start_of(g, x, y)
  local rows, ones, ratios = {}, {}, {}
  for i = 1, #x do
    rows[i], ones[i], ratios[i] = { g(x[i]) / y[i], 1 / y[i] }, 1, y[i] / math.max(g(x[i]), 1)
  end
  local p = least_squares(rows, ones)
  for i = 1, p and #x or 0 do
    if p[1] * g(x[i]) + p[2] <= 0 then return { order.median_of((order.sorted(ratios))), y[1] } end
  end
  return p
end

-- a·g(x) + b.
local function additive(name, g, x, y, logs)
  local curve = { shape = name, p = start_of(g, x, y), count = 2, breaks = {} }
  if not curve.p then return nil end
  function curve.log(p, at)
    local value = p[1] * g(at) + p[2]
    return value > 0 and log(value) or nil
  end
  function curve.slopes(p, at)
    local value = p[1] * g(at) + p[2]
    return { g(at) / value, 1 / value }
  end
  local left = M.residuals(curve, curve.p, x, logs)
  curve.squares = dot(left, left)
  return settled(curve, x, logs)
end

--- a·n + b.
---@param x number[]
---@param y number[] values, above 0
---@param logs number[] of the values
---@return pmclua.Curve?
function M.linear(x, y, logs) return additive("linear", function(at) return at end, x, y, logs) end

--- a·n·log2 n + b.
---@param x number[]
---@param y number[] values, above 0
---@param logs number[] of the values
---@return pmclua.Curve?
function M.n_log_n(x, y, logs)
  return additive("n log n", function(at) return at * log(at) / log(2) end, x, y, logs)
end

return M
