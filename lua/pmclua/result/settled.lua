--- settled.lua: simulated counts, of which fewer repetitions are made than of others.
--
-- Invariant: nothing but the program varies what Valgrind counts, so where a pass of its ended early
-- (simulate/init.lua) its counts stand for every repetition.

local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"

local M = {}

local ENOUGH = 2

--- Whether the counts of a pass of a cell stand for repetitions that it does not have.
---@param cell pmclua.Cell
---@param block pmclua.Block
---@return boolean
function M.is_block(cell, block)
  for pass, other in pairs(cell.columns.passes) do
    if other == block then return block.n >= ENOUGH and names.is_simulated(cell.result.header, pass) end
  end
  return false
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
