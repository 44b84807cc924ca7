--- pairs.lua: slopes of pairs of points, whose median is the slope of a robust line (Theil 1950, Sen 1968).
--
-- Invariant: every pair of different x, up to a number of points; beyond it pairs that are half the points
-- apart in x, no point in two of them (Theil's incomplete method), so that work grows with the points.

local order = require "pmclua.stats.order"

local floor = math.floor

local M = {}

local function far_pairs(x, visit)
  local by_x, n = {}, #x
  for i = 1, n do by_x[i] = i end
  table.sort(by_x, function(i, j) return x[i] < x[j] or (x[i] == x[j] and i < j) end)
  local half = floor(n / 2)
  for i = 1, half do visit(by_x[i], by_x[n - half + i]) end
end

local function all_pairs(x, visit)
  for i = 1, #x do
    for j = i + 1, #x do visit(i, j) end
  end
end

--- Visits pairs of points that have two different x.
---@param x number[]
---@param limit integer points up to which all pairs are visited
---@param visit fun(i: integer, j: integer)
function M.each(x, limit, visit)
  local visit_pairs = #x <= limit and all_pairs or far_pairs
  visit_pairs(x, function(i, j)
    if x[i] ~= x[j] then visit(i, j) end
  end)
end

--- The slope of two points. Adding 0 makes 0 of -0, which a fall of nothing would be.
---@param x number[]
---@param y number[]
---@param i integer
---@param j integer
---@return number
function M.slope(x, y, i, j) return (y[j] - y[i]) / (x[j] - x[i]) + 0 end

--- The slopes of pairs, in order.
---@param x number[]
---@param y number[]
---@param limit integer as for `each`
---@return number[]
function M.slopes(x, y, limit)
  local slopes = {}
  M.each(x, limit, function(i, j) slopes[#slopes + 1] = M.slope(x, y, i, j) end)
  return (order.sorted(slopes))
end

--- The median of what a slope leaves of y: the robust line's intercept.
---@param x number[]
---@param y number[]
---@param slope number
---@return number
function M.intercept(x, y, slope)
  local rest = {}
  for i = 1, #x do rest[i] = y[i] - slope * x[i] end
  return order.median_of((order.sorted(rest)))
end

return M
