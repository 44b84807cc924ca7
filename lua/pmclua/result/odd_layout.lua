--- odd_layout.lua: a difference that one drawn layout has and the others have not: it comes from the layout, not from
--- the code.
--
-- Grubbs' test on the logarithms of the layouts' ratios (Technometrics 11, 1969): the others' spread holds what layouts
-- and what runs differ by.

local average = require("pmclua.stats.mean").average
local distribution = require "pmclua.stats.distribution"
local lists = require "pmclua.base.lists"

local M = {}

local LEVEL, FEWEST, RELEVANT = 0.01, 5, 0.01   -- of a false alarm; layouts; a smaller difference is not named

local function critical(n)
  local t = distribution.student_upper(LEVEL / (2 * n), n - 2)
  return (n - 1) / math.sqrt(n) * math.sqrt(t * t / (n - 2 + t * t))
end

local function furthest(groups)
  local means = lists.map(groups, average)
  local middle, index = average(means), 1
  for i, mean in ipairs(means) do
    if math.abs(mean - middle) > math.abs(means[index] - middle) then index = i end
  end
  return groups[index], table.remove(means, index) and means
end

-- The run of a layout that differs least: a single disturbed run is no layout.
local function nearest(group, middle)
  local best = group[1]
  for _, value in ipairs(group) do
    if math.abs(value - middle) < math.abs(best - middle) then best = value end
  end
  return best
end

---@class pmclua.OddLayout
---@field ratio number in that layout
---@field others number the same of the others

--- The layout in all of whose runs the ratio is unlike that of the others.
---@param ours number[] by pair
---@param theirs number[]
---@param ids any[] the layout of each pair
---@return pmclua.OddLayout? nil: none is
function M.of(ours, theirs, ids)
  local ratios = {}
  for i = 1, #ids do
    if ours[i] <= 0 or theirs[i] <= 0 then return nil end
    ratios[i] = math.log(ours[i] / theirs[i])
  end
  local groups = lists.groups(ratios, function(_, i) return ids[i] end)
  if #groups < FEWEST then return nil end
  local group, others = furthest(groups)
  local middle = average(others)
  local odd = #group > 1 and nearest(group, middle)
  if not odd or math.abs(odd - middle) <= RELEVANT then return nil end
  local all = lists.joined { others, { odd } }
  local mean, sum = average(all), 0
  for _, value in ipairs(all) do sum = sum + (value - mean) ^ 2 end
  if math.abs(odd - mean) / math.sqrt(sum / (#all - 1)) <= critical(#all) then return nil end
  return { ratio = math.exp(average(group)), others = math.exp(middle) }
end

return M
