--- scaling.lua: how a time changes with the number of processors: Amdahl's law for work that stays the same, Gustafson's for
--- work that grows with them, and the serial share of either.
--
-- Invariant: the law is fitted to the times of each block, by relative least squares; the share is the median of these
-- fits with its order-statistic interval. What disturbs a whole block cancels, and no distribution is assumed.
-- tests/bench/honesty.lua simulates what the interval covers.

local average = require("pmclua.stats.mean").average
local interval = require "pmclua.stats.interval"
local lists = require "pmclua.base.lists"

local log = math.log

local M = {}

M.FEWEST = 3                        -- levels: two always lie on a curve of two parameters
local STEPS, ROUNDS = 40, 60        -- shares that are tried first; the golden section between them
local NEAR = 1e-9                   -- a bound: nearer than times can tell
local GOLDEN = (math.sqrt(5) - 1) / 2

-- The time at p against that at 1, where s of the latter is serial. Amdahl: "Validity of the single processor approach",
-- AFIPS 30, 1967. Gustafson: "Reevaluating Amdahl's law", CACM 31, 1988: of p times the work, s + (1 - s)·p is sped up.
local LAWS = {
  amdahl = function(s, p) return s + (1 - s) / p end,
  gustafson = function(s, p) return p / (s + (1 - s) * p) end,
}

-- The residuals of logarithms of times: squares, and the logarithm of the time at 1.
local function squares_of(law, s, levels, logs)
  local sum, squares = 0, 0
  for i = 1, #levels do sum = sum + logs[i] - log(law(s, levels[i])) end
  local scale = sum / #levels
  for i = 1, #levels do squares = squares + (logs[i] - log(law(s, levels[i])) - scale) ^ 2 end
  return squares, scale
end

-- Where in an interval a function is least, which has one minimum there (golden section).
local function least_between(f, low, high)
  local left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
  local at_left, at_right = f(left), f(right)
  for _ = 1, ROUNDS do
    if at_left <= at_right then
      high, right, at_right = right, left, at_left
      left = high - GOLDEN * (high - low)
      at_left = f(left)
    else
      low, left, at_left = left, right, at_right
      right = low + GOLDEN * (high - low)
      at_right = f(right)
    end
  end
  return (low + high) / 2
end

-- The share from 0 to 1 that leaves least of one block; small shares are searched in smaller steps.
local function share_of(law, levels, logs)
  local function left(s) return (squares_of(law, s, levels, logs)) end
  local best, least = 0, math.huge
  for i = 0, STEPS do
    local squares = left((i / STEPS) ^ 2)
    if squares < least then best, least = i, squares end
  end
  local low, high = math.max(0, best - 1) / STEPS, math.min(STEPS, best + 1) / STEPS
  local minimum = least_between(left, low ^ 2, high ^ 2)
  return minimum < NEAR and 0 or minimum > 1 - NEAR and 1 or minimum
end

local function check(levels, times)
  if #levels < M.FEWEST then return ("a fit takes %d levels, there are %d"):format(M.FEWEST, #levels) end
  for i, list in ipairs(times) do
    local bad = lists.find(list, function(time) return not (time > 0 and time < math.huge) end)
    if bad then return ("a time at %g is %g, which has no logarithm"):format(levels[i], bad) end
    if #list ~= #times[1] or #list == 0 then return "not every level has a time of each block" end
  end
end

---@class pmclua.Scaling
---@field share { value: number, low: number?, high: number?, reason: string? } serial, of the time at 1
---@field times number[] what the law says of each level
---@field residuals { value: number, low: number?, high: number? }[] the share by which each level's time lies above it
---@field law "amdahl"|"gustafson"
---@field n integer blocks
---@field at fun(p: number): number the time at a level

--- The serial share of times.
---@param levels number[] processors, above 0, each once
---@param times number[][] of each level, one of each block, in the same order
---@param law "amdahl"|"gustafson"
---@param level? number of the intervals, 0.95 by default
---@return pmclua.Scaling? scaling
---@return string? reason
function M.fit(levels, times, law, level)
  local problem = check(levels, times)
  if problem then return nil, problem end
  local time_at, shares, scales, residuals = LAWS[law], {}, {}, lists.map(levels, function() return {} end)
  local blocks = #times[1]
  for j = 1, blocks do
    local logs = lists.map(times, function(list) return log(list[j]) end)
    shares[j] = share_of(time_at, levels, logs)
    scales[j] = select(2, squares_of(time_at, shares[j], levels, logs))
    for i, p in ipairs(levels) do residuals[i][j] = logs[i] - scales[j] - log(time_at(shares[j], p)) end
  end
  local share, scale = interval.median(shares, level), average(scales)
  local function at(p) return math.exp(scale) * time_at(share.median, p) end
  return { law = law, n = blocks, at = at, times = lists.map(levels, at),
    share = { value = share.median, low = share.low, high = share.high, reason = share.reason },
    residuals = lists.map(residuals, function(list)
      -- Together for all levels: one of many would lie off by chance.
      local median = interval.median(list, require("pmclua.stats.multiple").bonferroni(level, #levels))
      return { value = math.exp(median.median) - 1, low = median.low and math.exp(median.low) - 1,
        high = median.high and math.exp(median.high) - 1 }
    end) }
end

return M
