--- regions.lua: parts of a command by one more run under callgrind: calls of functions, and what lies between marks.

local called = require "pmclua.simulate.called"
local marked = require "pmclua.simulate.marked"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.SimulatedPart
---@field name string
---@field calls integer or entries of a mark
---@field simulated table<integer, number|ffi.cdata*> sums by index of the event

---@class pmclua.SimulatedAgain what a command's counter lends
---@field run fun(tool: "calls"|"marks"): pmclua.OutFile[]?, string? files of one more run; nil and why
---@field by_event fun(counts: table): table
---@field remark fun(said: string)

-- Why a region has no calls.
local function no_call(region, file)
  local path = region.points[1].file
  if called.has_object(file, path) then return ("regions: %s was never called"):format(region.name) end
  return ("regions: calls of %s are not counted: %s was never loaded"):format(region.name, text.safe(path))
end

local function calls_of(spec, workload, levels, lent)
  local list = require("pmclua.workload.region").of(workload, spec):regions(levels)
  local wanted, why = called.wanted(list)
  if not wanted then return nil, why end
  local files, problem = lent.run "calls"
  if not files then return nil, problem end
  local sums, parts = called.sum(files[1], wanted), {}
  for i, region in ipairs(list) do
    if not sums[i] then lent.remark(no_call(region, files[1])) end
    table.insert(parts, sums[i] and { name = region.name, calls = sums[i].calls,
      simulated = lent.by_event(sums[i].counts) })
  end
  return parts
end

local function remark_on(mark, remark)
  local name = text.safe(mark.name)
  if #mark.open > 0 then
    remark(("mark '%s': %d begun but never ended: not counted"):format(name, #mark.open))
  end
  if mark.stray > 0 then
    remark(("mark '%s': %d ended without a begin: not counted"):format(name, mark.stray))
  end
end

local function marks_of(lent)
  local files, problem = lent.run "marks"
  if not files then return nil, problem end
  local marks, why = marked.read(files)
  if not marks then return nil, why end
  local parts = {}
  for _, mark in ipairs(marks) do
    remark_on(mark, lent.remark)
    table.insert(parts, mark.entries > 0 and { name = mark.name, calls = mark.entries,
      simulated = lent.by_event(mark.counts) } or nil)
  end
  if #marks == 0 then
    lent.remark "no mark was reached: no program built with this pmclua's pmclua_mark.h has run"
  end
  return parts
end

--- The parts of a command that a script's `regions` means.
---@param regions pmclua.FunctionRegions|pmclua.MarkRegions
---@param workload pmclua.Command
---@param levels table
---@param lent pmclua.SimulatedAgain
---@return pmclua.SimulatedPart[]? parts nil where they cannot be known
---@return string? why
function M.of(regions, workload, levels, lent)
  if regions.kind == "marks" then return marks_of(lent) end
  return calls_of(regions.spec, workload, levels, lent)
end

return M
