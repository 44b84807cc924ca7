--- check.lua: predictions and limits, which hold or fail.
--
-- Invariant: what could not be counted neither passes nor fails: it is "uncountable", with the reason. A relative
-- limit passes only where the whole interval is within it; one that the interval crosses is "undecided".

local metric = require "pmclua.metric"
local stats = require "pmclua.stats"

local M = {}

---@alias pmclua.State "pass"|"fail"|"undecided"|"uncountable"

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

--- A prediction and what is known of it while repetitions come. Without a tolerance it keeps two numbers; a
--- median takes them all.
---@class pmclua.PredictionCheck
---@field prediction table of metric.comparison
---@field taken integer repetitions
---@field n integer of these, in which it could be looked at
---@field failed integer of these, in which it did not hold
---@field why? string the first reason why it could not be looked at
local PredictionCheck = {}
PredictionCheck.__index = PredictionCheck

--- Begins to look at a prediction.
---@param prediction table of metric.comparison
---@return pmclua.PredictionCheck
function M.prediction(prediction)
  return setmetatable({ prediction = prediction, taken = 0, n = 0, failed = 0, observed = {}, expected = {} },
    PredictionCheck)
end

local function note_each(self, observed, expected)
  local holds = metric.holds(self.prediction.operator, observed, expected)
  local is_first_failure = not holds and self.failed == 0
  if not holds then self.failed = self.failed + 1 end
  if is_first_failure then self.index = self.taken end
  if is_first_failure or self.n == 1 then self.observed[1], self.expected[1] = observed, expected end
end

--- Looks at one more repetition.
---@param lookup pmclua.Lookup
function PredictionCheck:take(lookup)
  self.taken = self.taken + 1
  local observed, expected, why
  observed, why = self.prediction.left(lookup)
  if observed then expected, why = self.prediction.right(lookup) end
  if not expected then
    self.why = self.why or why
    return
  end
  self.n = self.n + 1
  if self.prediction.tolerance then
    self.observed[self.n], self.expected[self.n] = observed, expected
  else
    note_each(self, observed, expected)
  end
end

local function median_holds(self)
  local observed, expected = stats.median(self.observed), stats.median(self.expected)
  local holds = metric.holds("==", observed, expected, self.prediction.tolerance)
  return { state = holds and "pass" or "fail", observed = observed, expected = expected }
end

local function each_holds(self)
  return { state = self.failed == 0 and "pass" or "fail", failed = self.failed, index = self.index,
           observed = self.observed[1], expected = self.expected[1] }
end

--- Whether the prediction came true: without a tolerance in every repetition, with one at the median.
---@return pmclua.Expectation
function PredictionCheck:result()
  if self.n == 0 then
    return { state = "uncountable", text = self.prediction.formula, n = 0,
             reason = self.why or "there are no repetitions" }
  end
  local result = self.prediction.tolerance and median_holds(self) or each_holds(self)
  result.text, result.n = self.prediction.formula, self.n
  if self.why and result.state == "pass" then result.state, result.reason = "uncountable", self.why end
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
---@field jitter? number of simulated counts: how far those of one program are apart
---@field needed? number of simulated counts that do not decide: how many repetitions would, as far as these show
---@field detectable? number the smallest change that would have failed, as a share of the baseline; of a relative
---  limit whose values vary
---@field by_means? true means of processes or layouts decide, and medians would say something else
---@field reason? string why it is uncountable
---@field is_whole? boolean the reason is not to be shortened

--- The result for a limit that could not be judged.
---@param limit table of metric.limit
---@param reason? string
---@param is_whole? boolean it is not to be shortened where it is shown
---@return pmclua.GateResult
function M.uncountable(limit, reason, is_whole)
  return { state = "uncountable", text = limit.formula, reason = reason, is_whole = is_whole }
end

local function state_of(operator, low, high, bound)
  local low_holds, high_holds = metric.holds(operator, low, bound), metric.holds(operator, high, bound)
  if low_holds ~= high_holds then return "undecided" end
  return low_holds and "pass" or "fail"
end

--- Judges values by an absolute limit, at the median or, where one is given, by the interval of what they are.
---@param limit table of metric.limit
---@param values number[] one or more
---@param allowed number[] what the limit's right side is in the repetitions of these
---@param low? number
---@param high? number
---@return pmclua.GateResult
function M.absolute(limit, values, allowed, low, high)
  local result = { text = limit.formula, observed = stats.median(values), allowed = stats.median(allowed) }
  if not result.allowed then return M.uncountable(limit) end
  result.state = state_of(limit.operator, low or result.observed, high or result.observed, result.allowed)
  return result
end

-- The change from which on an interval as wide as this one would be beyond the limit, as a share of the baseline.
local function detectable(limit, compared, before)
  if compared.method == "exact" then return nil end
  local is_upper = limit.operator:sub(1, 1) == "<"
  local moved = compared.ratio and compared or compared.difference
  local near = is_upper and moved.low or moved.high
  if compared.ratio then return near > 0 and (1 + limit.relative) * compared.ratio / near - 1 or nil end
  local width = moved.shift - near
  return before ~= 0 and limit.relative + width / math.abs(before) or nil
end

--- Judges an estimate of new against old by a relative limit: it fails only where the whole interval is beyond
--- it, and passes only where the whole interval is within it.
---@param limit table of metric.limit
---@param compared pmclua.Compared new against the baseline
---@param observed number
---@param before number the baseline
---@return pmclua.GateResult
function M.judge(limit, compared, observed, before)
  local moved = compared.ratio and compared or compared.difference
  if not moved.low then return M.uncountable(limit, compared.reason) end
  local result = { text = limit.formula, observed = observed, baseline = before,
                   allowed = before + limit.relative * math.abs(before),
                   ratio = compared.ratio, low = compared.low, high = compared.high,
                   detectable = detectable(limit, compared, before) }
  local bound = compared.ratio and 1 + limit.relative or limit.relative * math.abs(before)
  result.state = state_of(limit.operator, moved.low, moved.high, bound)
  return result
end

local GRAVITY = { pass = 1, undecided = 2, uncountable = 3, fail = 4 }

--- The state of several checks together, the gravest: one failure fails, else one uncountable is uncountable,
--- else one undecided is undecided. Where nothing was checked, nothing holds: uncountable.
---@param results { state: pmclua.State }[]
---@return pmclua.State
function M.gravest(results)
  local state = results[1] and "pass" or "uncountable"
  for _, result in ipairs(results) do
    if GRAVITY[result.state] > GRAVITY[state] then state = result.state end
  end
  return state
end

return M
