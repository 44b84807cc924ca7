--- parts.lua: what both kinds of regions of an experiment share: functions that are followed (following.lua), and
--- marks in the program (marking.lua). Both add parts to the result of a repetition: a region's sum, or each of
--- its entries.

local lists = require "pmclua.base.lists"
local record = require "pmclua.experiment.record"

--- A script's `regions`; as target of passes.plan it tells which events cannot be counted in them.
---@class pmclua.CommandRegions
---@field kind "functions"|"marks"
---@field entries true|integer? as of M.entries
---@field trial fun(event: pmclua.Event): { pid: integer, cpu: integer }?, string? as of a target: where it is tried out
---@field problem fun(workloads: table[]): string? why these workloads have no such parts

local M = {}

--- Reads `entries` of a script's `regions`.
---@param value any
---@return true|integer? entries true, or how many of a run are kept; nil: sums alone
---@return string? why it is refused
function M.entries(value)
  local is_count = type(value) == "number" and value >= 1 and value % 1 == 0
  if value == nil or is_count or type(value) == "boolean" then return value or nil end
  return nil, "regions.entries must be true, or the number of entries of a run to keep"
end

--- Why workloads cannot have regions; nil if all can.
---@param workloads table[]
---@param form string of the refusal, which takes the name and kind of a workload
---@return string?
function M.why_none(workloads, form)
  local other = lists.find(workloads, function(workload) return not workload.takes.regions end)
  return other and form:format(other.name, other.kind)
end

--- One entry of a region as a part.
---@param name string of the region
---@param result table of the repetition
---@param wall_ns? number nil: all entries are lost
---@param reading table enabled, running and counts, as a group is read
function M.entry(name, result, wall_ns, reading)
  local part = record.region_part(name, result)
  part.is_entry, part.iterations, part.wall_ns, part.readings = true, 1, wall_ns, reading
  return part
end

--- Valgrind's counts of calls or between marks, as parts.
---@param result table of Simulation:run, with `called`
---@return table[]
function M.simulated(result)
  return lists.map(result.called, function(sums)
    local part = record.region_part(sums.name, result)
    part.iterations, part.simulated = sums.calls, sums.simulated
    return part
  end)
end

return M
