--- clusters.lua: repetitions that are not independent: those of one process of a kernel, or of one drawn layout.
--
-- Invariant: where there are several clusters, it is they that are compared and have intervals. Of all
-- repetitions, where layouts differ by more than runs do, an interval would hold the truth in 87 of 100
-- (tests/bench/honesty.lua); of a kernel that draws its work at random in setup, in none.

local average = require("pmclua.stats.mean").average
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local verdict = require "pmclua.verdict"

local M = {}

local RUNS_OF_A_LAYOUT = 2          -- where a header does not say

-- ---- the cluster of a repetition --------------------------------------------------------------------

--- For how many repetitions each drawn layout was kept.
---@param header table of a result
---@param number? integer of a cell, which may be of another file than others are
---@return integer? nil: none were drawn
function M.runs_of_a_layout(header, number)
  local cell = number and header.cells[number] or {}
  return header.layouts and (cell.layout_runs or header.layout_runs or RUNS_OF_A_LAYOUT)
end

-- The process of each repetition of a cell, by its index; nil if there is only one, or it is unknown. The first that
-- no plan has drawn has no number.
local function processes_of(cell)
  local by_index, first, are_several = {}, nil, false
  for _, block in pairs(cell.columns.passes) do
    for i = 1, block.process and block.n or 0 do
      local process = block.process[i] or 0
      by_index[block.index[i]] = process
      first = first or process
      are_several = are_several or process ~= first
    end
  end
  return are_several and by_index or nil
end

local KNOWN = {}                    -- in a cell's summaries, which have the same records

--- The cluster of each repetition of a cell.
---@param cell pmclua.Cell
---@return (fun(index: integer): any)? cluster of the repetition of an index; nil: repetitions are independent
function M.of(cell)
  local size = M.runs_of_a_layout(cell.result.header, cell.number)
  if size then return function(index) return math.ceil(index / size) end end
  if cell.summaries[KNOWN] == nil then cell.summaries[KNOWN] = processes_of(cell) or false end
  local by_index = cell.summaries[KNOWN]
  return by_index and function(index) return by_index[index] or 0 end or nil
end

--- The cluster of each block that cells have in common.
---@param cells pmclua.Cell[]
---@param indices integer[] of the repetitions that all have
---@return any[]? nil where they are independent
function M.of_blocks(cells, indices)
  local readers = lists.map(cells, function(cell) return M.of(cell) end)
  if #readers == 0 then return nil end
  return lists.map(indices, function(index)
    return table.concat(lists.map(readers, function(of) return tostring(of(index)) end), "/")
  end)
end

--- The word for a cell's clusters.
---@param cell pmclua.Cell
---@return "layouts"|"processes"
function M.word(cell) return cell.result.header.layouts and "layouts" or "processes" end

-- ---- means -----------------------------------------------------------------------------------------------

local function are_positive(list) return lists.all(list, function(value) return value > 0 end) end

local function grouped(values, ids)
  local groups = lists.groups(values, function(_, i) return ids[i] end)
  for _, group in ipairs(groups) do group.key = nil end        -- plain lists of values
  return groups
end

--- Values by cluster.
---@param cell pmclua.Cell
---@param values pmclua.Values of the cell
---@return number[][]? nil where repetitions are independent
function M.groups(cell, values)
  local of = values.block and M.of(cell)
  if not of then return nil end
  return grouped(values.list, lists.map(values.rows, function(row) return of(values.block.index[row]) end))
end

-- Equal values give that value, without rounding.
local function geometric_mean(list)
  return order.are_equal(list) and list[1] or math.exp(average(lists.map(list, math.log)))
end

-- Geometric where all values are above 0: the median of arithmetic means of skewed values is not theirs.
local function fitting_mean(...)
  return lists.all({ ... }, are_positive) and geometric_mean or average
end

--- The mean of each cluster; the values themselves where repetitions are independent.
---@param cell pmclua.Cell
---@param values pmclua.Values of the cell
---@return number[]
function M.means(cell, values)
  local groups = M.groups(cell, values)
  return groups and lists.map(groups, fitting_mean(values.list)) or values.list
end

--- Values of pairs of repetitions as one pair for each cluster: the means; of more than two sides as well.
---@param ids any[] of M.of_blocks
---@param ... number[] the values of each side
---@return number[] ... of each side
function M.pairs(ids, ...)
  local mean = fitting_mean(...)
  return unpack(lists.map({ ... }, function(values) return lists.map(grouped(values, ids), mean) end))
end

-- The middle ratio of pairs, or their middle difference where a value is not above 0.
local function middle_of(ours, theirs, has_logarithms)
  local between = {}
  for i, value in ipairs(ours) do
    between[i] = has_logarithms and math.log(value / theirs[i]) or value - theirs[i]
  end
  local sorted = order.sorted(between)
  return sorted and order.median_of(sorted) or 0 / 0       -- not finite: the verdict will say so
end

-- One pair for each cluster whose ratio (or difference) is the median of its pairs': that of what happens to most.
local function typical_pairs(ids, ours, theirs)
  local has_logarithms = are_positive(ours) and are_positive(theirs)
  local a, b = grouped(ours, ids), grouped(theirs, ids)
  local means, typical = lists.map(b, has_logarithms and geometric_mean or average), {}
  for i, list in ipairs(a) do
    local between = middle_of(list, b[i], has_logarithms)
    typical[i] = has_logarithms and means[i] * math.exp(between) or means[i] + between
    if order.are_equal(list) and order.are_equal(b[i]) then typical[i] = list[1] end      -- exact, without rounding
  end
  return typical, means
end

-- ---- comparing ---------------------------------------------------------------------------------------------

-- Of the share of equals that may be told apart by chance, what the comparison of means gets.
local SHARE_OF_MEANS = 0.2
local FEW = 2                       -- repetitions of a cluster of which mean and median are one

local function bounds(compared)
  local values = compared.low and compared or compared.difference or {}
  return values.low, values.high, compared.low and 1 or 0
end

-- How far one interval lies outside the other, not above 0 where they overlap; nil: there are no two.
local function gap(means, typical)
  local low, high = bounds(means)
  local typical_low, typical_high = bounds(typical)
  return low and typical_low and math.max(low - typical_high, typical_low - high) or nil
end

-- Whether what all repetitions of a cluster took together shows a difference that most of them do not: one that comes in
-- a part of them, such as a collection of garbage.
local function are_means_apart(means, typical)
  local between = gap(means, typical)
  if not between or between > 0 then return between ~= nil end
  local function differ(compared)
    local low, high, equal = bounds(compared)
    return low > equal or high < equal
  end
  return differ(means) and not differ(typical)
end

-- Whether means that are apart lead to another verdict, or to a ratio that differs by more than the margin.
local function says_more(means, typical)
  return means.verdict ~= typical.verdict or gap(means, typical) > (means.low and means.margin or 0)
end

--- Compares pairs of repetitions by clusters. What most repetitions of a cluster do is seen best, as other work disturbs
--- the others; what they take together decides where that says something else. Both hold together at the level.
---@param cell pmclua.Cell
---@param ids any[] of M.of_blocks
---@param ours number[]
---@param theirs number[]
---@param options pmclua.CompareOptions
---@return pmclua.Verdict? verdict
---@return string? why there is none
function M.compare(cell, ids, ours, theirs, options)
  local function at(share, a, b)
    local level = 1 - (1 - options.level) * share
    return verdict.compare(a, b, setmetatable({ level = level }, { __index = options }))
  end
  local compared, why
  if #ids <= FEW * #lists.unique(ids) then
    compared, why = at(1, M.pairs(ids, ours, theirs))
  else
    local means = at(SHARE_OF_MEANS, M.pairs(ids, ours, theirs))
    compared, why = at(1 - SHARE_OF_MEANS, typical_pairs(ids, ours, theirs))
    if means and compared and are_means_apart(means, compared) then
      means.by_means = says_more(means, compared) or nil
      compared = means
    end
  end
  if compared then compared.level, compared.reason = options.level, M.reason(cell, compared.reason) end
  return compared, why
end

--- A reason about too few values, in terms of clusters.
---@param cell pmclua.Cell
---@param reason? string
---@return string?
function M.reason(cell, reason)
  return reason and M.of(cell) and (reason:gsub("values", M.word(cell))) or reason
end

return M
