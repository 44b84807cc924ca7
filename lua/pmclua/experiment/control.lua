--- control.lua: the A/A control: the baseline again under another name, to measure the noise between equals.

local lists = require "pmclua.base.lists"
local workload_kinds = require "pmclua.workload"

local M = {}

local LABEL = " (A/A)"

-- The workload under a name that no other has.
local function copy_of(workload, workloads)
  local name, taken = workload.name .. LABEL, lists.set(lists.column(workloads, "name"))
  while taken[name] do name = name .. LABEL end
  local copy = workload_kinds.renamed(workload, name)
  copy.control = workload.name
  return copy
end

local function is_baseline(cell, baseline)
  for key, wanted in pairs(baseline) do
    local level = cell.levels[key]
    if key == "workload" then level = cell.workload.name end
    if level ~= wanted then return false end
  end
  return true
end

--- Adds a cell for each that is a baseline, of the same workload under another name.
---@param declaration pmclua.Declaration
---@param cells pmclua.PlannedCell[]
function M.add(declaration, cells)
  if not declaration.control then return end
  local copies = {}
  for i = 1, #cells do
    local workload = cells[i].workload
    if is_baseline(cells[i], declaration.baseline or {}) then
      copies[workload] = copies[workload] or copy_of(workload, declaration.workloads)
      cells[#cells + 1] = { index = #cells + 1, workload = copies[workload], levels = cells[i].levels }
    end
  end
end

--- The workloads of a plan: those declared, and their controls.
---@param declaration pmclua.Declaration
---@param cells pmclua.PlannedCell[]
---@return table[]
function M.workloads(declaration, cells)
  local all = lists.unique(lists.column(cells, "workload"))
  local controls = lists.where(all, function(workload) return workload.control end)
  return lists.joined { declaration.workloads, controls }
end

return M
