--- ranks.lua: what each rank of launched programs had, as a result with the factor "rank".

local cells = require "pmclua.result.cell"
local lists = require "pmclua.base.lists"

local M = {}

local function at_level(cell, result)
  local mine = cells.adopt(cell, result)
  rawset(mine, "levels", lists.copy(cell.levels))
  mine.levels.rank = cell.task
  rawset(mine, "task", nil)
  return mine
end

--- The same result by rank, in place of what all ranks have together.
---@param result pmclua.Result
---@return pmclua.Result? by_rank nil: nothing was launched
function M.by(result)
  result:list()
  local tasks = lists.where(result.cell_list, function(cell) return cell.task and not cell.control end)
  if #tasks == 0 then return nil end
  local view = setmetatable(lists.copy(result), getmetatable(result))
  view.cell_list = lists.map(tasks, function(cell) return at_level(cell, view) end)
  local ranks = lists.unique(lists.column(tasks, "task"))
  table.sort(ranks)
  local factor = { "rank", ranks }
  view.header = setmetatable({ factors = lists.joined { result.header.factors, { factor } } },
    { __index = result.header })
  view.factor_by_name = lists.copy(result.factor_by_name)
  view.factor_by_name.rank = factor
  return view
end

return M
