--- cell_key.lua: keys by which cells are found: of a workload, its levels, and the part of a run or target.
--
-- Invariant: equal cells have equal keys, whatever order their levels come in; a number and its text differ.

local lists = require "pmclua.base.lists"

local M = {}

M.PARTS = { "region", "thread", "cpu", "interval", "task" }

--- Whether a cell or record describes a part of a run or target.
---@param name table that may have region, thread, cpu, interval, task
---@return boolean
function M.is_part(name)
  -- Called for each record: a closure would keep LuaJIT from compiling it.
  return name.region ~= nil or name.thread ~= nil or name.cpu ~= nil or name.interval ~= nil
    or name.task ~= nil
end

--- The level of a factor in a cell: of "workload" its workload's name, of a part such as "thread" which one.
---@param cell pmclua.Cell
---@param name string
---@return any
function M.level(cell, name)
  if name == "workload" then return cell.workload end
  local level = cell.levels[name]
  if level == nil and lists.contains(M.PARTS, name) then return cell[name] end
  return level
end

--- Whether two cells of a result ran in the same blocks: those of different files did not.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@return boolean
function M.share_blocks(a, b)
  local header = a.result.header
  local factor = header.unpaired
  if factor then return a.levels[factor] == b.levels[factor] end
  return header.cells[a.number].run == header.cells[b.number].run
end

-- A level as text; doubles with all their digits, and -0 as the 0 that it equals.
local function word(level)
  if type(level) == "number" then return ("number:%.17g"):format(level + 0) end
  return type(level) .. ":" .. tostring(level)
end

--- The key of a cell.
---@param workload string
---@param levels table<string, any>
---@param part? table that has region, thread, cpu, interval, task
---@return string
function M.of(workload, levels, part)
  local words, names = {}, lists.assignments(levels, word)
  for i, name in ipairs(M.PARTS) do words[i] = part and part[name] ~= nil and tostring(part[name]) or "" end
  return table.concat({ workload, table.concat(words, "\0"), unpack(names) }, "\0")
end

--- The cells of a result by their keys.
---@param result pmclua.Result
---@return table<string, pmclua.Cell> cells
---@return table<string, pmclua.Cell> controls by the keys of what they are copies of
function M.index(result)
  local cells, controls = {}, {}
  for cell in result:cells(true) do
    (cell.control and controls or cells)[M.of(cell.control or cell.workload, cell.levels, cell)] = cell
  end
  return cells, controls
end

return M
