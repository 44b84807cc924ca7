--- fits.lua: cells whose repetitions have several iteration counts: the cost of one iteration is the slope
-- of whole counts over iterations, and what starting and stopping costs is in the intercept.
--
-- Invariant: a line goes through counts of one pass of one cell, scaled where they ran part of the time,
-- never through the origin. A metric of slopes is its formula over them; intervals of what is made of
-- several slopes come from taking whole repetitions anew, so that what they share stays shared.

local lists = require "pmclua.base.lists"
local slope = require("pmclua.base.lazy").module "pmclua.stats.slope"
local verdict = require "pmclua.verdict"

local M = {}

local OVERHEAD = 0.01           -- share of a count; METHOD: the smallest region that can be trusted
local STRAIGHT = 0.95           -- R² below this is no line, if there is a slope at all

---@class pmclua.Fitted what is said of a line; of a metric of slopes only low, high, exact, n and reason
---@field slope number cost of one iteration
---@field low number? of the slope's interval
---@field high number?
---@field reason string? why there is no interval
---@field exact boolean every point lies on the line
---@field n integer points
---@field intercept number? what starting and stopping costs, in each count
---@field r2 number?
---@field pattern string? of the residuals
---@field why string? the figure behind a pattern
---@field linear boolean? false where the counts are no straight line
---@field least number? iterations
---@field most number?
---@field smallest number? iterations from which on the intercept is 1 % of a count at most; nil where no
---  number of them is enough

--- Whether the values of a cell of a kernel are slopes.
---@param header table
---@param planned table of header.cells; `iterations` says otherwise than the header where files are merged
---@return boolean
function M.is_fitted(header, planned)
  local iterations = planned.iterations
  if iterations == nil then iterations = header.iterations end
  return iterations == "fit" or type(iterations) == "table"
end

-- ---- one line --------------------------------------------------------------------------------------------

local function is_linear(line)
  if line.pattern == "exact" then return true end
  if line.pattern == "curved" then return false end
  local has_slope = line.low and (line.low > 0 or line.high < 0)
  return not (has_slope and line.r2 and line.r2 < STRAIGHT)
end

-- Iterations n with a <= 0.01·(a + b·n).
local function smallest_region(line)
  local a, b = line.intercept, line.slope
  if a <= 0 then return 1 end
  if b <= 0 then return nil end
  return math.max(1, math.ceil(a * (1 - OVERHEAD) / OVERHEAD / b - 1e-9))
end

---@class pmclua.FitPoints: pmclua.Series
---@field blocks integer[] repetition of each point
---@field clusters any[]? process or layout of each point, where these were drawn
---@field rough boolean whether a count is above 2^53, where doubles are not exact

--- The points of one column of a cell.
---@param block pmclua.Block
---@param whole fun(i: integer): number? the whole count of a row
---@param cluster_of? fun(index: integer): any of clusters.of
---@return pmclua.FitPoints
function M.points(block, whole, cluster_of)
  local points = { x = {}, y = {}, blocks = {}, clusters = cluster_of and {} }
  for i = 1, block.n do
    local y = whole(i)
    if y then
      local n = #points.x + 1
      points.x[n], points.y[n], points.blocks[n] = tonumber(block.iterations[i]), y, block.index[i]
      if cluster_of then points.clusters[n] = cluster_of(block.index[i]) end
      points.rough = points.rough or math.abs(y) > 2 ^ 53
    end
  end
  return points
end

-- Points of one process are not independent: the interval is that of processes taken anew.
local function set_interval_of_clusters(line, points)
  local low, high = slope.bootstrap({ points }, function(slopes) return slopes[1] end)
  line.low, line.high = low, low and high
  line.reason = not low and high or nil
end

--- The line through points.
---@param points pmclua.FitPoints
---@return pmclua.Fitted? line
---@return string? reason
function M.line(points)
  local line, reason = slope.fit(points.x, points.y)
  if not line then
    return nil, reason:find "different x" and "a line needs two different iteration counts" or reason
  end
  line.exact = line.exact and not points.rough
  if points.clusters and not line.exact then set_interval_of_clusters(line, points) end
  line.least, line.most = lists.range(points.x)
  line.linear, line.smallest = is_linear(line), smallest_region(line)
  return line
end

-- ---- what is made of several slopes ----------------------------------------------------------------------

---@class pmclua.Estimate what a value is computed from
---@field points pmclua.FitPoints[]
---@field lines pmclua.Fitted[] of each
---@field compute fun(slopes: number[]): number?, string?

-- Points of the blocks that all series of a list have, in one order; clusters are pairs of the two sides' own.
local function aligned(list)
  local count, out, ids = {}, {}, {}
  for _, points in ipairs(list) do
    for _, block in ipairs(points.blocks) do count[block] = (count[block] or 0) + 1 end
  end
  for k, points in ipairs(list) do
    local x, y, at = {}, {}, {}
    for i, block in ipairs(points.blocks) do
      local cluster = points.clusters and points.clusters[i]
      if count[block] == #list then at[#at + 1] = { block, points.x[i], points.y[i], cluster } end
    end
    table.sort(at, function(a, b) return a[1] < b[1] end)
    for i, point in ipairs(at) do
      x[i], y[i] = point[2], point[3]
      ids[i] = point[4] and ("%s/%s"):format(ids[i] or "", point[4]) or ids[i]
    end
    out[k] = { x = x, y = y, clusters = #ids > 0 and ids or nil }
  end
  return out
end

-- A monotone formula over one slope: its interval's ends.
local function interval_of_one(estimate, line)
  if not line.low then return nil, line.reason end
  local low, high = estimate.compute { line.low }, estimate.compute { line.high }
  if not (low and high) then return nil, "the formula has no value at an end of the interval" end
  return math.min(low, high), math.max(low, high)
end

local function interval_of(estimate)
  if #estimate.lines == 1 then return interval_of_one(estimate, estimate.lines[1]) end
  return slope.bootstrap(aligned(estimate.points), estimate.compute)
end

--- The value of an estimate with its interval.
---@param estimate pmclua.Estimate
---@return pmclua.Fitted? value nil where the formula has none
---@return string? reason
function M.value(estimate)
  local value, why = estimate.compute(lists.column(estimate.lines, "slope"))
  if not value then return nil, why end
  local are_exact = lists.all(estimate.lines, function(line) return line.exact end)
  local result = { slope = value, exact = are_exact, n = 0 }
  for _, points in ipairs(estimate.points) do result.n = math.max(result.n, #points.x) end
  if result.exact then
    result.low, result.high = value, value
    return result
  end
  local low, high = interval_of(estimate)
  if low then result.low, result.high = low, high else result.reason = high end
  return result
end

-- ---- comparisons -----------------------------------------------------------------------------------------

-- The series of both sides; paired: of blocks that both have, taken together.
local function joined(a, b, paired)
  if paired then return aligned(lists.joined { a.points, b.points }) end
  local ours, theirs = aligned(a.points), aligned(b.points)
  for _, points in ipairs(ours) do points.group = 1 end
  for _, points in ipairs(theirs) do points.group = 2 end
  return lists.joined { ours, theirs }
end

local function ratio(x, y) return y ~= 0 and x / y or nil end
local function difference(x, y) return x - y end

local function compared_interval(a, b, combine, options)
  local count = #a.points
  local function compute(slopes)
    local x, y = a.compute { unpack(slopes, 1, count) }, b.compute { unpack(slopes, count + 1) }
    return x and y and combine(x, y)
  end
  return slope.bootstrap(joined(a, b, options.paired), compute, { level = options.level })
end

-- The estimate that verdict.conclude takes. A ratio needs a baseline that is surely above 0.
local function contrast(a, b, ours, theirs, options)
  local is_exact, as_ratio = ours.exact and theirs.exact, theirs.slope > 0 and (theirs.low or 0) > 0
  local combine = as_ratio and ratio or difference
  local value = combine(ours.slope, theirs.slope)
  local low, high, reason = value, value, nil
  if not is_exact then
    low, high = compared_interval(a, b, combine, options)
    if not low then high, reason = nil, high end
  end
  local result = { method = is_exact and "exact" or "bootstrap", coverage = is_exact and 1 or nil,
    reason = reason }
  if as_ratio then
    result.ratio, result.low, result.high = value, low, high
  else
    result.difference = { shift = value, low = low, high = high }
  end
  return result
end

--- Compares two estimates: the ratio of their values, or the difference where the baseline may be 0.
---@param a pmclua.Estimate
---@param b pmclua.Estimate the baseline
---@param options pmclua.CompareOptions
---@return pmclua.Verdict? verdict
---@return string? reason
function M.compare(a, b, options)
  local ours, why = M.value(a)
  if not ours then return nil, why end
  local theirs, why_not = M.value(b)
  if not theirs then return nil, "of the baseline, " .. why_not end
  return verdict.conclude(contrast(a, b, ours, theirs, options), { median = theirs.slope, n = theirs.n },
    ours.n, options)
end

return M
