--- layouts.lua: repetitions by the layout that was drawn for them.
--
-- Invariant: what ran in one layout is not independent. With layout = "randomise" an interval is of the means
-- of layouts: of all repetitions, where layouts differ by more than runs do, it would hold the truth in 87 of
-- 100 (tests/bench/honesty.lua).

local average = require("pmclua.stats.mean").average
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"

local M = {}

M.REPETITIONS_OF_ONE = 2            -- that each drawn layout is kept for

--- The layout that a repetition ran in.
---@param block integer
---@return integer from 1
function M.of_block(block) return math.ceil(block / M.REPETITIONS_OF_ONE) end

--- The layout of each pair, as a ledger takes it; nil where layouts were not drawn.
---@param result pmclua.Result
---@param blocks integer[]
---@return integer[]?
function M.of_blocks(result, blocks)
  return result.header.layout == "randomise" and lists.map(blocks, M.of_block) or nil
end

-- Values by the layout of the block that each was measured in.
local function grouped(values, blocks)
  local groups, by_layout = {}, {}
  for i, value in ipairs(values) do
    local layout = M.of_block(blocks[i])
    if not by_layout[layout] then
      by_layout[layout] = {}
      groups[#groups + 1] = by_layout[layout]
    end
    table.insert(by_layout[layout], value)
  end
  return groups
end

--- Values by layout, in the order of their first.
---@param found pmclua.Values
---@return number[][]
function M.groups(found)
  return grouped(found.list, lists.map(found.rows, function(row) return found.block.index[row] end))
end

-- Of one value several times it is that value, without rounding.
local function geometric_mean(list)
  return order.are_equal(list) and list[1] or math.exp(average(lists.map(list, math.log)))
end

-- Geometric where all values are above 0: the median of arithmetic means of skewed values is not theirs.
local function fitting_mean(...)
  local are_positive = lists.all({ ... }, function(list)
    return lists.all(list, function(value) return value > 0 end)
  end)
  return are_positive and geometric_mean or average
end

--- The mean of each layout.
---@param found pmclua.Values
---@return number[]
function M.means(found) return lists.map(M.groups(found), fitting_mean(found.list)) end

--- Values of blocks, in their order, as one pair for each layout.
---@param blocks integer[] ascending
---@param ours number[]
---@param theirs number[]
---@return number[] ours
---@return number[] theirs
function M.pairs(blocks, ours, theirs)
  local mean = fitting_mean(ours, theirs)
  return lists.map(grouped(ours, blocks), mean), lists.map(grouped(theirs, blocks), mean)
end

--- What is said of too few values, said of layouts.
---@param reason? string
---@return string?
function M.reason(reason) return reason and (reason:gsub("values", "layouts")) end

return M
