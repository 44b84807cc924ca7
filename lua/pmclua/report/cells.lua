--- cells.lua: the cells that a table or a chart shows: which have values, in what they differ, what they have in
--- common.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

--- Cells that have a value of an event or metric.
---@param result pmclua.Result
---@param name string
---@return pmclua.Cell[]
function M.with_values(result, name)
  return lists.where(result:list(), function(cell) return cell:summary(name).n > 0 end)
end

--- The levels that cells have of a factor, each once. Cells of different experiments need not all have one.
---@param cells pmclua.Cell[]
---@param name string
---@return any[] levels
function M.levels(cells, name)
  return lists.unique(lists.map(cells, function(cell) return cell.levels[name] end))
end

--- In which factors, and whether in "workload", cells differ.
---@param cells pmclua.Cell[]
---@return table<string, true>
function M.varying(cells)
  local varies, first = {}, cells[1]
  for _, cell in ipairs(cells) do
    if cell.workload ~= first.workload then varies.workload = true end
    for _, factor in ipairs(first.result.header.factors) do
      local name = factor[1]
      if cell.levels[name] ~= first.levels[name] then varies[name] = true end
    end
  end
  return varies
end

--- The factor that goes down a table or along an axis: of those that all cells have, the one with most levels.
---@param cells pmclua.Cell[]
---@return string? factor
---@return integer levels
function M.swept(cells)
  local best, most = nil, 0
  for _, factor in ipairs(cells[1].result.header.factors) do
    local name = factor[1]
    local has_all = not lists.any(cells, function(cell) return cell.levels[name] == nil end)
    local count = has_all and #M.levels(cells, name) or 0
    if count > most then best, most = name, count end
  end
  return best, most
end

--- The label of a cell: "rows, n 256, parse".
---@param cell pmclua.Cell
---@param varies table<string, true>
---@param swept? string a factor that is said elsewhere
---@return string
function M.label(cell, varies, swept)
  local parts = { varies.workload and text.safe(cell.workload) or nil }
  for _, factor in ipairs(cell.result.header.factors) do
    local name, level = factor[1], cell.levels[factor[1]]
    if name ~= swept and level ~= nil and varies[name] then
      parts[#parts + 1] = ("%s %s"):format(text.safe(name), words.level(name, level))
    end
  end
  for _, part in ipairs(require("pmclua.result.cell").parts(cell)) do
    parts[#parts + 1] = text.safe((part:gsub("^region ", "")))
  end
  return #parts > 0 and table.concat(parts, ", ") or text.safe(cell.workload)
end

--- The levels that cells have in common: "n = 256"; "" where there are none.
---@param cells pmclua.Cell[]
---@return string
function M.common_levels(cells)
  local varies = M.varying(cells)
  return table.concat(words.levels_where(cells[1], function(name) return not varies[name] end), ", ")
end

return M
