--- layouts.lua: repetitions by the layout that was drawn for them.
--
-- Invariant: what ran in one layout is not independent. With layout = "randomise" an interval is of the means
-- of layouts: of all repetitions, where layouts differ by more than runs do, it would hold the truth in 87 of
-- 100 (tests/bench/honesty.lua).

local M = {}

M.REPETITIONS_OF_ONE = 2            -- that each drawn layout is kept for

--- Values by layout, in the order of their first.
---@param found pmclua.Values
---@return number[][]
function M.groups(found)
  local groups, by_layout = {}, {}
  for k, row in ipairs(found.rows) do
    local layout = math.ceil(found.block.index[row] / M.REPETITIONS_OF_ONE)
    if not by_layout[layout] then
      groups[#groups + 1] = {}
      by_layout[layout] = groups[#groups]
    end
    table.insert(by_layout[layout], found.list[k])
  end
  return groups
end

local function mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum / #list
end

local function are_equal(list)
  for i = 2, #list do
    if list[i] ~= list[1] then return false end
  end
  return true
end

-- Of one value several times it is that value, without rounding.
local function geometric_mean(list)
  if are_equal(list) then return list[1] end
  local logarithms = {}
  for i = 1, #list do logarithms[i] = math.log(list[i]) end
  return math.exp(mean(logarithms))
end

local function all_positive(list)
  for i = 1, #list do
    if list[i] <= 0 then return false end
  end
  return true
end

-- Geometric where all values are above 0: the median of arithmetic means of skewed values is not theirs.
local function fitting_mean(...)
  for _, list in ipairs { ... } do
    if not all_positive(list) then return mean end
  end
  return geometric_mean
end

--- The mean of each layout.
---@param found pmclua.Values
---@return number[]
function M.means(found)
  local means, of = M.groups(found), fitting_mean(found.list)
  for i, group in ipairs(means) do means[i] = of(group) end
  return means
end

-- Appends a value to the group of its layout.
local function put(groups, block, value)
  local layout = math.ceil(block / M.REPETITIONS_OF_ONE)
  local last = groups[#groups]
  if not last or last.layout ~= layout then
    last = { layout = layout }
    groups[#groups + 1] = last
  end
  last[#last + 1] = value
end

--- Values of blocks, in their order, as one pair for each layout.
---@param blocks integer[] ascending
---@param ours number[]
---@param theirs number[]
---@return number[] ours
---@return number[] theirs
function M.pairs(blocks, ours, theirs)
  local a, b, of = {}, {}, fitting_mean(ours, theirs)
  for i, block in ipairs(blocks) do
    put(a, block, ours[i])
    put(b, block, theirs[i])
  end
  for i = 1, #a do a[i], b[i] = of(a[i]), of(b[i]) end
  return a, b
end

--- What is said of too few values, said of layouts.
---@param reason? string
---@return string?
function M.reason(reason) return reason and (reason:gsub("values", "layouts")) end

return M
