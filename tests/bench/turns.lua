--- turns.lua: two sides measured in turn, A B A B …, so that what disturbs one disturbs the other.

local stats = require "pmclua.stats"
local verdict = require "pmclua.verdict"

local M = {}

---@class bench.Outcome
---@field mine number median of our side, in the row's unit
---@field other number
---@field ratio number median of the ratios of neighbouring turns
---@field low? number of its 95 % interval; nil where there were too few turns for one
---@field high? number
---@field turns integer

--- Measures both sides in turn; the first turn of each warms up and is left out.
---@param turns integer that count
---@param mine fun(): number
---@param other fun(): number
---@param before? fun() called before each turn
---@return bench.Outcome
function M.compare(turns, mine, other, before)
  local a, b = {}, {}
  for turn = 0, turns do
    if before then before() end
    a[turn], b[turn] = mine(), other()
  end
  a[0], b[0] = nil, nil
  local found = verdict.compare(a, b, { kind = "time" })
  return { mine = stats.median(a), other = stats.median(b), turns = turns, ratio = found.ratio,
    low = found.low, high = found.high }
end

return M
