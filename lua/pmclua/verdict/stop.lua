--- stop.lua: when enough repetitions have been made.
--
-- Invariant: however an experiment ends, its verdicts are wrong no more often than their level says.
-- Each look at a growing sample is another chance to see a difference that is not there (looking every
-- five pairs at 95 % finds one in 22 of 100 experiments on equal programs), so one looks at few sizes,
-- known beforehand, and each look is taken at 1 - α/looks (Bonferroni). Verdicts after a stop rule are
-- drawn at that level too. A script's own rule looks after each block at what it likes: no level holds for that.

local distribution = require("pmclua.base.lazy").module "pmclua.stats.distribution"
local lists = require "pmclua.base.lists"
local multiple = require "pmclua.stats.multiple"
local means = require("pmclua.base.lazy").module "pmclua.stats.mean"

local M = {}

local FIRST, GROWTH, MOST = 10, 1.5, 1000       -- blocks at the first look; ratio of looks; without a limit

---@class pmclua.StopRule
---@field interval? number share of the median that the whole interval may be wide; of ratios, where cells are
---  compared
---@field repetitions? integer at most; default 1000
---@field seconds? number at most
---@field own? function|true of the script, asked after each block; true: it is another process's

---@class pmclua.StopState
---@field n integer finished blocks
---@field seconds? number since the start
---@field summaries? pmclua.Interval[] of the primary quantity, one for each cell
---@field verdicts? pmclua.Verdict[] of the primary quantity, one for each cell but the baseline
---@field is_enough? boolean what a script's own rule says

--- The most blocks that a rule allows.
---@param rule pmclua.StopRule
---@return integer
function M.most(rule) return rule.repetitions or MOST end

--- The numbers of blocks at which to look: 10, 15, 23, … up to the limit.
---@param rule pmclua.StopRule
---@return integer[]
function M.looks(rule)
  local most = M.most(rule)
  local list, n = {}, FIRST
  while n < most do
    list[#list + 1] = n
    n = math.ceil(n * GROWTH)
  end
  list[#list + 1] = most
  return list
end

--- Whether to summarise and ask `stop` after `n` blocks.
---@param rule pmclua.StopRule
---@param n integer
---@return boolean
function M.is_look(rule, n)
  return lists.contains(M.looks(rule), n)
end

--- The level of each look, and of the verdicts at the end, so that all looks together hold at 0.95.
---@param rule pmclua.StopRule
---@return number
function M.look_level(rule) return multiple.bonferroni(nil, #M.looks(rule)) end

local function are_narrow(summaries, share)
  return #summaries > 0 and lists.all(summaries, function(summary)
    -- Counts above 2^53 are no Lua numbers.
    local width = summary.low and tonumber(summary.high - summary.low)
    return width and width <= share * math.abs(tonumber(summary.median))
  end)
end

local function are_settled(verdicts, share)
  return #verdicts > 0 and lists.all(verdicts, function(verdict)
    local narrow = share and verdict.low and verdict.high - verdict.low <= share
    return verdict.verdict ~= "undecided" or narrow
  end)
end

--- Why to stop now; nil to go on. The limits are asked after any block; summaries and verdicts (drawn
--- at `look_level`) only at a look.
---@param rule pmclua.StopRule
---@param state pmclua.StopState
---@return "repetitions"|"time"|"narrow"|"decided"|"own"|nil why
function M.stop(rule, state)
  if state.n >= M.most(rule) then return "repetitions" end
  if rule.own then return state.is_enough and "own" or nil end
  if rule.seconds and state.seconds >= rule.seconds then return "time" end
  if not M.is_look(rule, state.n) then return nil end
  local compares = #state.verdicts > 0            -- then it is the ratios that are to be known
  if not compares and rule.interval and are_narrow(state.summaries, rule.interval) then return "narrow" end
  if are_settled(state.verdicts, rule.interval) then return "decided" end
end

-- ---- simulated counts -----------------------------------------------------------------------------------------

--- Numbers of differing simulated repetitions after which a decision is tried; the last is the most that
--- are made for that.
M.SIMULATED_LOOKS = { 2, 3, 5, 10, 20, 30 }

--- The level of an interval of simulated counts: all looks together hold at `level`.
---@param level? number default 0.95
---@return number
function M.simulated_level(level) return multiple.bonferroni(level, #M.SIMULATED_LOOKS) end

local function variance(values)
  local error = #values > 1 and means.of(values).error
  return error and error ^ 2 * #values or 0
end

--- How many repetitions of simulated counts would tell an estimate from a bound, if they go on to vary as they do.
---@param distance number from the estimate to the bound
---@param values number[] of the side that is repeated
---@param baseline? number[] in the same unit; nil: there is none
---@param is_stored? boolean no more of the baseline come
---@param level number
---@return integer? count nil: no number would
function M.needed(distance, values, baseline, is_stored, level)
  local theirs = baseline and variance(baseline) or 0
  local half = distribution.normal_upper((1 - M.simulated_level(level)) / 2)
  local left = (distance / half) ^ 2 - (is_stored and theirs / #baseline or 0)
  return left > 0 and math.ceil((variance(values) + (is_stored and 0 or theirs)) / left) or nil
end

return M
