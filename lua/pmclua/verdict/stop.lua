--- stop.lua: when enough repetitions have been made.
--
-- Invariant: one looks only every few blocks, as each look at a growing sample is another chance to see
-- a difference that is not there; and a limit in repetitions or time ends everything.

local M = {}

local EVERY = 5             -- blocks between looks

---@class pmclua.StopRule
---@field interval? number share of the median that the whole interval may be wide
---@field repetitions? integer at most
---@field seconds? number at most
---@field every? integer blocks between looks; default 5

---@class pmclua.StopState
---@field n integer finished blocks
---@field seconds number since the start
---@field summaries pmclua.Interval[] of the primary quantity, one for each cell
---@field verdicts pmclua.Verdict[] of the primary quantity, one for each cell but the baseline

local function is_narrow(summary, share)
  if not share or not summary.low then return false end
  return summary.high - summary.low <= share * math.abs(summary.median)
end

local function all_narrow(summaries, share)
  for _, summary in ipairs(summaries) do
    if not is_narrow(summary, share) then return false end
  end
  return #summaries > 0
end

-- Decided, or known as narrowly as was asked for.
local function all_settled(verdicts, share)
  for _, verdict in ipairs(verdicts) do
    local narrow = share and verdict.low and verdict.high - verdict.low <= share
    if verdict.verdict == "undecided" and not narrow then return false end
  end
  return #verdicts > 0
end

--- Why to stop now; nil to go on.
---@param rule pmclua.StopRule
---@param state pmclua.StopState
---@return "repetitions"|"time"|"narrow"|"decided"|nil why
function M.stop(rule, state)
  if rule.repetitions and state.n >= rule.repetitions then return "repetitions" end
  if rule.seconds and state.seconds >= rule.seconds then return "time" end
  if state.n % (rule.every or EVERY) ~= 0 then return nil end
  if all_narrow(state.summaries, rule.interval) then return "narrow" end
  if all_settled(state.verdicts, rule.interval) then return "decided" end
end

return M
