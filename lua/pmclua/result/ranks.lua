--- ranks.lua: what each rank of launched programs had: beside the sum of all, or as a result with the factor "rank".

local cell_key = require "pmclua.result.cell_key"
local cells = require "pmclua.result.cell"
local lists = require "pmclua.base.lists"

local M = {}

--- The launcher of a cell's program with its arguments, as text; nil: none launched it.
---@param cell pmclua.Cell
---@return string?
function M.launch(cell)
  local workload = lists.find(cell.result.header.workloads or {}, function(declared)
    return declared.name == cell.workload
  end)
  local launch = workload and workload.launch
  return launch ~= "" and launch or nil
end

-- The same of a cell and of its ranks.
local function place_of(cell)
  return cell_key.of(tostring(cell.number), {}, { region = cell.region, thread = cell.thread, cpu = cell.cpu,
    interval = cell.interval })
end

--- What the ranks of a cell had, of any cell of a result; nil: nothing was launched.
---@param result pmclua.Result
---@return (fun(cell: pmclua.Cell): pmclua.Cell[])? ranks_of in the order of `task`
function M.reader(result)
  result:list()
  local by_place, none = {}, {}
  for _, cell in ipairs(result.cell_list) do
    local place = cell.task and place_of(cell)
    if place then
      by_place[place] = by_place[place] or {}
      table.insert(by_place[place], cell)
    end
  end
  if next(by_place) == nil then return nil end
  for _, ranks in pairs(by_place) do table.sort(ranks, function(a, b) return a.task < b.task end) end
  return function(cell) return by_place[place_of(cell)] or none end
end

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
