--- clusters.lua: repetitions that are not independent: those of one process of a kernel, or of one drawn layout.
--
-- Invariant: where there are several clusters, it is their medians that are compared and have intervals. Of all
-- repetitions, where layouts differ by more than runs do, an interval would hold the truth in 87 of 100
-- (tests/bench/honesty.lua); of a kernel that draws its work at random in setup, in none.

local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"

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

-- ---- medians ---------------------------------------------------------------------------------------------

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

-- No number where one of them is not finite: the verdict then says so.
local function median(list)
  local sorted = order.sorted(list)
  return sorted and order.median_of(sorted) or 0 / 0
end

-- On the scale of logarithms where all values are above 0: of two values the geometric mean then, else the mean.
local function middle(list, are_positive)
  if order.are_equal(list) then return list[1] end
  return are_positive and math.exp(median(lists.map(list, math.log))) or median(list)
end

local function are_positive(list) return lists.all(list, function(value) return value > 0 end) end

--- The median of each cluster; the values themselves where repetitions are independent.
---@param cell pmclua.Cell
---@param values pmclua.Values of the cell
---@return number[]
function M.medians(cell, values)
  local groups = M.groups(cell, values)
  if not groups then return values.list end
  local has_logarithms = are_positive(values.list)
  return lists.map(groups, function(list) return middle(list, has_logarithms) end)
end

-- One value for a side of a cluster: the reference's middle, times (or plus) the middle of the pairs' ratios (or
-- differences) to the reference.
local function relative(list, reference, has_logarithms)
  local own = middle(reference, has_logarithms)
  if order.are_equal(list) and order.are_equal(reference) then return list[1] end
  local differences = {}
  for i, value in ipairs(list) do
    differences[i] = has_logarithms and math.log(value / reference[i]) or value - reference[i]
  end
  local between = median(differences)
  return has_logarithms and own * math.exp(between) or own + between
end

--- Values of pairs of repetitions as one pair for each cluster, whose ratio (where a value is not above 0, difference) is
--- the median of the cluster's pairs; of more than two sides as well, by what each is to the first.
---@param ids any[] of M.of_blocks
---@param ... number[] the values of each side
---@return number[] ... of each side
function M.pairs(ids, ...)
  local has_logarithms = lists.all({ ... }, are_positive)
  local groups = lists.map({ ... }, function(values) return grouped(values, ids) end)
  return unpack(lists.map(groups, function(clusters)
    local out = {}
    for i, list in ipairs(clusters) do out[i] = relative(list, groups[1][i], has_logarithms) end
    return out
  end))
end

--- A reason about too few values, in terms of clusters.
---@param cell pmclua.Cell
---@param reason? string
---@return string?
function M.reason(cell, reason)
  return reason and M.of(cell) and (reason:gsub("values", M.word(cell))) or reason
end

return M
