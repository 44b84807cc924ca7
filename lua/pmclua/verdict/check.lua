--- check.lua: predictions and limits, which hold or fail.
--
-- Invariant: what could not be counted neither passes nor fails; it is "uncountable", with the reason.

local order = require "pmclua.stats.order"
local metric = require "pmclua.metric"
local compare = require "pmclua.verdict.compare"

local M = {}

---@alias pmclua.State "pass"|"fail"|"uncountable"

-- What a formula gives over the repetitions that have all that it needs; the reason of the first that
-- has not.
local function values_of(formula, lookups)
  local values, places, why = {}, {}, nil
  for i, lookup in ipairs(lookups) do
    local value, reason = formula(lookup)
    if value then
      values[#values + 1], places[#places + 1] = value, i
    else
      why = why or reason
    end
  end
  return values, places, why
end

local function median(values)
  local sorted = order.sorted(values)
  return sorted and order.median_of(sorted)
end

-- ---- expect ---------------------------------------------------------------------------------------------

---@class pmclua.Expectation
---@field state pmclua.State
---@field text string the prediction
---@field n integer repetitions in which it could be looked at
---@field failed? integer of those, in which it did not hold
---@field index? integer the first such repetition, from 1 (without a tolerance)
---@field observed? number there; with a tolerance, the median
---@field expected? number
---@field reason? string why it is uncountable

local function each_holds(prediction, observed, expected, places)
  local result = { text = prediction.formula, n = #places, failed = 0, state = "pass",
                   observed = observed[1], expected = expected[1] }
  for i = 1, #places do
    if not metric.holds(prediction.operator, observed[i], expected[i]) then
      result.failed = result.failed + 1
      if result.state == "pass" then
        result.state, result.index = "fail", places[i]
        result.observed, result.expected = observed[i], expected[i]
      end
    end
  end
  return result
end

local function median_holds(prediction, observed, expected)
  local result = { text = prediction.formula, n = #observed, observed = median(observed),
                   expected = median(expected) }
  local holds = metric.holds("==", result.observed, result.expected, prediction.tolerance)
  result.state = holds and "pass" or "fail"
  return result
end

--- Whether a prediction came true: without a tolerance in every repetition, with one at the median.
---@param prediction table of metric.comparison
---@param lookups pmclua.Lookup[] one for each repetition
---@return pmclua.Expectation
function M.expect(prediction, lookups)
  local pair = {}
  local function both(lookup)
    local observed, reason = prediction.left(lookup)
    if not observed then return nil, reason end
    local expected, why = prediction.right(lookup)
    if not expected then return nil, why end
    pair[#pair + 1] = expected
    return observed
  end
  local observed, places, why = values_of(both, lookups)
  if #observed == 0 then
    return { state = "uncountable", text = prediction.formula, n = 0,
             reason = why or "there are no repetitions" }
  end
  local result = prediction.tolerance and median_holds(prediction, observed, pair)
    or each_holds(prediction, observed, pair, places)
  if why and result.state == "pass" then result.state, result.reason = "uncountable", why end
  return result
end

-- ---- gate -----------------------------------------------------------------------------------------------

---@class pmclua.GateResult
---@field state pmclua.State
---@field text string the limit
---@field observed? number median of the new run
---@field allowed? number the most (or least) that passes: for a relative limit, of the baseline's median
---@field baseline? number median of the baseline
---@field ratio? number new to baseline
---@field low? number of the ratio's interval
---@field high? number
---@field reason? string why it is uncountable

local function uncountable(limit, reason)
  return { state = "uncountable", text = limit.formula, reason = reason }
end

local function absolute(limit, values, lookups)
  local allowed, _, why = values_of(limit.right, lookups)
  if #allowed == 0 then return uncountable(limit, why) end
  local result = { text = limit.formula, observed = median(values), allowed = median(allowed) }
  result.state = metric.holds(limit.operator, result.observed, result.allowed) and "pass" or "fail"
  return result
end

-- Whether the whole interval [low, high] is beyond the bound.
local function is_beyond(operator, low, high, bound)
  if operator == "<=" then return low > bound end
  if operator == "<" then return low >= bound end
  if operator == ">=" then return high < bound end
  return high <= bound
end

--- Judges an estimate of new against old by a relative limit, which fails only where the whole interval is
--- beyond it.
---@param limit table of metric.limit
---@param found pmclua.Verdict new against the baseline
---@param observed number
---@param before number the baseline
---@return pmclua.GateResult
function M.judge(limit, found, observed, before)
  local moved = found.ratio and found or found.difference
  if not moved.low then return uncountable(limit, found.reason) end
  local result = { text = limit.formula, observed = observed, baseline = before,
                   allowed = before + limit.relative * math.abs(before),
                   ratio = found.ratio, low = found.low, high = found.high }
  local bound = found.ratio and 1 + limit.relative or limit.relative * math.abs(before)
  result.state = is_beyond(limit.operator, moved.low, moved.high, bound) and "fail" or "pass"
  return result
end

local function relative(limit, values, baseline, level)
  local found, reason = compare.compare(values, baseline, { paired = false, level = level })
  if not found then return uncountable(limit, reason) end
  return M.judge(limit, found, median(values), median(baseline))
end

--- Whether a run stays within a limit, absolute at its median, or relative to a stored baseline.
---@param limit table of metric.limit
---@param lookups pmclua.Lookup[] one for each repetition of the new run
---@param baseline? pmclua.Lookup[] of the baseline; a relative limit needs it
---@param level? number default 0.95
---@return pmclua.GateResult
function M.gate(limit, lookups, baseline, level)
  local values, _, why = values_of(limit.left, lookups)
  if #values == 0 then return uncountable(limit, why or "there are no repetitions") end
  if not limit.relative then return absolute(limit, values, lookups) end
  local before, _, why_not = values_of(limit.left, baseline or {})
  if #before == 0 then
    return uncountable(limit, "in the baseline, " .. (why_not or "there are no repetitions"))
  end
  return relative(limit, values, before, level or compare.DEFAULT_LEVEL)
end

--- The state of several checks together: one failure fails, else one uncountable is uncountable.
---@param results { state: pmclua.State }[]
---@return pmclua.State
function M.together(results)
  local state = "pass"
  for _, result in ipairs(results) do
    if result.state == "fail" then return "fail" end
    if result.state == "uncountable" then state = "uncountable" end
  end
  return state
end

return M
