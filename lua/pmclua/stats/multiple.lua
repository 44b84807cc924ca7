--- multiple.lua: the level of an interval, and of many comparisons of which at most a share may be wrong.

local lists = require "pmclua.base.lists"

--- LEVEL: of intervals and verdicts, where nobody asks for another one.
local M = { LEVEL = 0.95 }

--- The level that each of `comparisons` intervals needs so that all hold together at `level` (Bonferroni): 1 - α/m.
---@param level? number default LEVEL
---@param comparisons integer
---@return number
function M.bonferroni(level, comparisons)
  return 1 - (1 - (level or M.LEVEL)) / math.max(1, comparisons)
end

---@class pmclua.Tested
---@field rejected boolean
---@field adjusted number the smallest overall level at which it would be rejected
---@field level number of the interval that excludes 0 if and only if it is rejected

-- The places of some p, the smallest first.
local function order_of(p)
  local order = {}
  for i = 1, #p do order[i] = i end
  table.sort(order, function(i, j) return p[i] < p[j] or p[i] == p[j] and i < j end)
  return order
end

--- Holm's step-down procedure ("A simple sequentially rejective multiple test procedure", Scandinavian
--- Journal of Statistics 6, 1979): the smallest p is held against alpha/m, the next against alpha/(m-1),
--- up to the first that fails. The chance that any true null is rejected is at most alpha, however the
--- comparisons depend.
---@param p number[]
---@param alpha number e.g. 0.05
---@return pmclua.Tested[] in the order of p
function M.holm(p, alpha)
  local order, tested = order_of(p), {}
  local adjusted, rejections = 0, 0
  for rank, i in ipairs(order) do
    adjusted = math.max(adjusted, math.min(1, p[i] * (#p - rank + 1)))
    if adjusted <= alpha then rejections = rank end
    local step = math.min(rank, rejections + 1)          -- the one that failed, from there on
    tested[i] = { rejected = step <= rejections, adjusted = adjusted, level = 1 - alpha / (#p - step + 1) }
  end
  return tested
end

--- Holm's procedure by intervals, for comparisons without a p. In each step the m comparisons that are left have
--- intervals at 1 - α/m; those that differ at it are done, until none does.
---@generic T
---@param tests (fun(level: number): T)[] each a conclusion from an interval at a level
---@param differs fun(conclusion: T): boolean
---@param level? number default LEVEL
---@return T[] conclusions in the order of the tests, each from its last step
function M.together(tests, differs, level)
  local conclusions, left = {}, lists.keys(tests)
  while #left > 0 do
    local step, still = M.bonferroni(level, #left), {}
    for _, i in ipairs(left) do
      conclusions[i] = tests[i](step)
      if not differs(conclusions[i]) then still[#still + 1] = i end
    end
    if #still == #left then break end
    left = still
  end
  return conclusions
end

--- Benjamini and Hochberg's step-up procedure ("Controlling the false discovery rate", Journal of the Royal
--- Statistical Society B 57, 1995): of those that are rejected a share of `rate` at most is expected to be wrong,
--- where the comparisons are independent or depend positively.
---@param p number[]
---@param rate number e.g. 0.05
---@return { rejected: boolean, adjusted: number }[] in the order of p; adjusted: the least rate that rejects it
function M.benjamini_hochberg(p, rate)
  local order, tested, least = order_of(p), {}, 1
  for rank = #order, 1, -1 do
    local i = order[rank]
    least = math.min(least, p[i] * #p / rank)
    tested[i] = { rejected = least <= rate, adjusted = least }
  end
  return tested
end

return M
