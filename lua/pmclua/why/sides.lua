--- sides.lua: the two cells of a result that are held against each other, and their values by repetition.
--
-- Invariant: the i-th values of both sides are of one block where the sides ran interleaved.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local profiles = require "pmclua.result.profiles"
local select_cells = require "pmclua.result.select"

local M = {}

local function labels_of(result)
  return table.concat(lists.map(result:list(), function(cell) return cell:label() end), "; ")
end

-- The only cell that a text or partial cell means.
local function cell_of(result, wanted)
  local conditions = type(wanted) == "string" and select_cells.cell(wanted) or wanted
  local ok, list = pcall(select_cells.cells, result, conditions)
  if ok and type(wanted) == "string" and #list == 0 then
    list = lists.where(result:list(), function(cell)
      return cell.workload == wanted or cell:label() == wanted
    end)
  end
  if not ok or #list ~= 1 then
    local said = type(wanted) == "string" and "'" .. wanted .. "'" or select_cells.text_of(wanted)
    explain.misuse(("%s is not one cell of this result, which has: %s"):format(said, labels_of(result)), 4)
  end
  return list[1]
end

local function default_cells(result)
  local list = result:list()
  if #list ~= 2 then
    explain.misuse(("of %d cells say which two: %s"):format(#list, labels_of(result)), 4)
  end
  return select_cells.sides(result, list)
end

--- The cells that are meant: A and B.
---@param result pmclua.Result
---@param a? string|table as `where` takes it, or "n=256"; nil: of two cells the baseline
---@param b? string|table
---@return pmclua.Cell a, pmclua.Cell b
function M.cells(result, a, b)
  if a == nil and b == nil then return default_cells(result) end
  if a == nil or b == nil then explain.misuse("why takes both cells, or neither", 3) end
  return cell_of(result, a), cell_of(result, b)
end

--- The values of an event or metric by repetition; nil where it has none there.
---@param cell pmclua.Cell
---@param name string
---@return table<integer, number>?
function M.values(cell, name)
  if not (cell.result.event_by_field[name] or cell.result.metric_by_name[name]) then return nil end
  local values = cell:values_by_block(name)
  return next(values) and values or nil
end

--- Nanoseconds that a command's processes used, by repetition of the first pass: of user space, of Linux.
---@param cell pmclua.Cell
---@return table<integer, number>? user, table<integer, number>? system
function M.cpu_times(cell)
  local block = cell.columns.passes[1]
  local resources = block and block.resources
  if not resources then return nil end
  local user, system = {}, {}
  for i = 1, block.n do
    if resources.user_ns[i] and resources.system_ns[i] then
      local index = block.index[i]
      user[index], system[index] = tonumber(resources.user_ns[i]), tonumber(resources.system_ns[i])
    end
  end
  return next(user) and user or nil, system
end

--- The profiles of a cell: by repetition, then by event.
---@param cell pmclua.Cell
---@return table<integer, table<string, pmclua.Profile>>
function M.profiles(cell)
  local found, result = {}, cell.result
  for _, event in ipairs(profiles.events(result)) do
    for index, profile in pairs(profiles.by_index(result, cell.number, event)) do
      found[index] = found[index] or {}
      found[index][event] = profile
    end
  end
  return found
end

--- The repetitions that all these lists have.
---@param ... table<integer, any> one or more
---@return integer[] ascending
function M.common(...)
  local all = { ... }
  return lists.where(lists.keys(all[1]), function(index)
    return lists.all(all, function(one) return one[index] ~= nil end)
  end)
end

--- Values in the order of repetitions.
---@param by_index table<integer, number>
---@param indices integer[]
---@return number[]
function M.listed(by_index, indices)
  return lists.map(indices, function(index) return by_index[index] or 0 end)
end

return M
