--- steps.lua: a series of values as segments of one level each (Potts): where along a history values change for good.
--
-- The penalty of a segment is 2 ln M + 8 for M points; segments have two points at least; steps below the margin are
-- merged. For description: a step is where to look, and only a new comparison shows it. Numbers in, numbers out.

local mean = require "pmclua.stats.mean"
local order = require "pmclua.stats.order"

local M = {}

local LEAST_POINTS = 2

---@class pmclua.Segment
---@field first integer
---@field last integer
---@field mean number

-- The deviation of points about their level: as their runs have it, and at least that of most neighbours: builds of
-- commits that change nothing differ by their layouts.
local function deviation(values, errors)
  local variance = 0
  for _, error in ipairs(errors) do variance = variance + error ^ 2 / #errors end
  return math.max(math.sqrt(variance), order.spread_of_neighbours { values }, 1e-6)
end

-- Prefix sums give the squares about the mean of any stretch at once.
local function prefix(values)
  local sums, squares = { [0] = 0 }, { [0] = 0 }
  for i, value in ipairs(values) do
    sums[i], squares[i] = sums[i - 1] + value, squares[i - 1] + value * value
  end
  return function(first, last)
    local n, sum = last - first + 1, sums[last] - sums[first - 1]
    return math.max(0, squares[last] - squares[first - 1] - sum * sum / n), sum / n
  end
end

-- The cheapest segments, by dynamic programming.
local function potts(values, sd)
  local cost_of, n = prefix(values), #values
  local penalty = 2 * math.log(n) + 8
  local best, from = { [0] = 0 }, {}
  for last = 1, n do
    best[last] = math.huge
    for first = 1, last - LEAST_POINTS + 1 do
      local cost = best[first - 1] + cost_of(first, last) / sd ^ 2 + penalty
      if cost < best[last] then best[last], from[last] = cost, first end
    end
  end
  local segments, last = {}, n
  while last > 0 do
    table.insert(segments, 1, { first = from[last], last = last })
    last = from[last] - 1
  end
  return segments
end

local function set_means(segments, values)
  for _, segment in ipairs(segments) do
    segment.mean = mean.average { unpack(values, segment.first, segment.last) }
  end
  return segments
end

-- Joins the neighbours that differ least until all differ by the margin.
local function merge(segments, values, margin)
  while #segments > 1 do
    local least, at = math.huge, nil
    for i = 2, #segments do
      local difference = math.abs(segments[i].mean - segments[i - 1].mean)
      if difference < least then least, at = difference, i end
    end
    if least >= margin then break end
    segments[at - 1].last = segments[at].last
    table.remove(segments, at)
    set_means(segments, values)
  end
  return segments
end

--- The segments of a series.
---@param values number[] logarithms in percent, or others of one scale
---@param errors number[] their standard errors
---@param margin number the smallest step
---@return pmclua.Segment[]
function M.segments(values, errors, margin)
  if #values < 2 * LEAST_POINTS then
    return set_means({ { first = 1, last = #values } }, values)
  end
  local segments = set_means(potts(values, deviation(values, errors)), values)
  return merge(segments, values, margin)
end

return M
