--- control.lua: the A/A control: the baseline again under another name, to measure the noise between equals.

local lists = require "pmclua.base.lists"
local workload_kinds = require "pmclua.workload"

local M = {}

local LABEL = " (A/A)"

local function taken(workloads, name)
  return lists.any(workloads, function(workload) return workload.name == name end)
end

local function copy_of(workload, name)
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
---@param cells pmclua.Cell[]
function M.add(declaration, cells)
  if not declaration.control then return end
  local copies = {}
  for i = 1, #cells do
    local workload = cells[i].workload
    if is_baseline(cells[i], declaration.baseline or {}) then
      if not copies[workload] then
        local name = workload.name .. LABEL
        while taken(declaration.workloads, name) do name = name .. LABEL end
        copies[workload] = copy_of(workload, name)
      end
      cells[#cells + 1] = { index = #cells + 1, workload = copies[workload], levels = cells[i].levels }
    end
  end
end

--- The workloads of a plan: those declared, and their controls.
---@param declaration pmclua.Declaration
---@param cells pmclua.Cell[]
---@return table[]
function M.workloads(declaration, cells)
  local list, seen = { unpack(declaration.workloads) }, {}
  for _, cell in ipairs(cells) do
    local workload = cell.workload
    if workload.control and not seen[workload] then seen[workload], list[#list + 1] = true, workload end
  end
  return list
end

return M
