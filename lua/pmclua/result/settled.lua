--- settled.lua: simulated counts of which two were enough, because nothing in the program varies.
--
-- Invariant: only what Valgrind counted can be settled, and only where the run ended that pass early because its counts
-- agreed (simulate/init.lua). Then the count is that of every repetition, and two of them make it exact.

local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"
local order = require "pmclua.stats.order"

local M = {}

local ENOUGH = 2

--- Whether a pass of a cell was ended early because its counts agreed.
---@param cell pmclua.Cell
---@param block pmclua.Block
---@return boolean
function M.is_block(cell, block)
  local header = cell.result.header
  local is_early = block.n >= ENOUGH and (header.stop ~= nil or block.n < (header.repetitions or 0))
  if not is_early then return false end
  for pass, other in pairs(cell.columns.passes) do
    if other == block then return names.is_simulated(header, pass) end
  end
  return false
end

--- From how many equal values on a quantity of a cell is exact; nil: as for any other.
---@param cell pmclua.Cell
---@param events pmclua.Event[] that it is computed from
---@param found pmclua.Values
---@return integer?
function M.exact_from(cell, events, found)
  if #events == 0 or not found.block or not M.is_block(cell, found.block) then return nil end
  local are_simulated = lists.all(events, function(event) return event.simulated end)
  return are_simulated and #found.list >= ENOUGH and order.are_equal(found.list) and ENOUGH or nil
end

--- Why Valgrind's repetitions of an event have no counts, where one of them says.
---@param cell pmclua.Cell
---@param event table of the header, with its passes
---@return string?
function M.why_lost(cell, event)
  local failure = lists.find(cell.columns.failures, function(failure)
    return failure.pass == event.passes[1] and failure.why
  end)
  return failure and failure.why
end

return M
