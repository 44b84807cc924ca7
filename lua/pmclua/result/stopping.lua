--- stopping.lua: why a stop rule ended a run, from what was recorded.

local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local stop = require("pmclua.base.lazy").module "pmclua.verdict.stop"
local cell_key = require "pmclua.result.cell_key"

local M = {}

--- The input of stop rules: the primary quantity of each cell, and its verdicts where there is a baseline.
---@param result pmclua.Result
---@param level number of the intervals of verdicts
---@return pmclua.Interval[] summaries
---@return pmclua.Verdict[] verdicts
function M.state(result, level)
  local primary = result.header.primary
  local summaries = lists.map(result:list(), function(cell) return cell:summary(primary) end)
  local compared = result.header.baseline and result:compare { names = { primary }, level = level }
  local pairs_of_cells = compared and compared.pairs or {}
  return summaries, lists.map(pairs_of_cells, function(pair) return pair.rows[1].verdict end)
end

-- Failed blocks count too.
local function blocks_of(result)
  local most = 0
  for _, part in ipairs(lists.where(result.parts, function(part) return not cell_key.is_part(part) end)) do
    for _, block in pairs(part.columns.passes) do most = math.max(most, block.index[block.n] or 0) end
    for _, failure in ipairs(part.columns.failures) do
      if not failure.warmup then most = math.max(most, failure.index) end
    end
  end
  return most
end

--- Why a run ended that had a stop rule. No clock is asked: what no other limit explains was the time.
---@param result pmclua.Result
---@return "repetitions"|"time"|"narrow"|"decided"|"own"|nil why nil where there was no rule, or where it did not
---  end the run
---@return integer? repetitions
function M.why(result)
  local rule = result.header.stop
  if not rule or not result.header.primary or ending.of(result) ~= "complete" then return nil end
  local n = blocks_of(result)
  if rule.own then return stop.stop(rule, { n = n, is_enough = true }), n end
  local summaries, verdicts = M.state(result, stop.look_level(rule))
  local state = { n = n, seconds = 0, summaries = summaries, verdicts = verdicts }
  return stop.stop(rule, state) or rule.seconds and "time" or nil, n
end

return M
