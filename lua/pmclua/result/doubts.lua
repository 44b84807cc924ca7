--- doubts.lua: what keeps a comparison of two kernels from being sure, whatever their intervals say.
--
-- Invariant: a verdict with a doubt is told with it, and never in capitals.

local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local kinds = require "pmclua.workload.kinds"
local text = require "pmclua.base.text"
local values = require "pmclua.result.values"

local M = {}

local function are_kernels(pair)
  return kinds.of(pair.cell.kind).in_runner and kinds.of(pair.baseline.kind).in_runner
end

local function said_iterations(cell)
  local least, most = cell:iterations()
  return least == most and text.count(least) or ("%s to %s"):format(text.count(least), text.count(most))
end

-- Repetitions of few iterations have more of what starting and stopping costs, and begin colder.
local function other_iterations(pair)
  local ours, theirs = pair.cell, pair.baseline
  if ours.fitted or ours.region or ours.per ~= "iteration" then return nil end
  local least, most = ours:iterations()
  local other_least, other_most = theirs:iterations()
  if not least or not other_least or least == other_least and most == other_most then return nil end
  return ("its repetitions have %s iterations, and the baseline's %s: iterations = N has them the same")
    :format(said_iterations(ours), said_iterations(theirs))
end

-- An interval of repetitions in one process does not cover how processes differ; Valgrind fixes that.
local function one_process(pair, quantity)
  local result = pair.cell.result
  local is_of_another = result.header.target ~= nil or values.is_simulated(result, quantity)
  if is_of_another or clusters.of(pair.cell) or clusters.of(pair.baseline) then return nil end
  return "all repetitions of a kernel are of one process: what that happened to get (addresses, pages, what "
    .. "its setup draws) may be the difference; processes = 15 draws it"
end

--- Doubts about a pair of cells.
---@param pair pmclua.ComparedPair
---@param quantity { needs: string[] } what is compared: the names of its events
---@return string[]
function M.of(pair, quantity)
  local list = {}
  if not are_kernels(pair) then return list end
  list[#list + 1] = other_iterations(pair)
  list[#list + 1] = one_process(pair, quantity)
  return list
end

return M
