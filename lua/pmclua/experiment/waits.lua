--- waits.lua: what the runner is to take from Linux's accounts, and how long commands waited for a CPU.
--
-- Waiting makes times noisy, and no count shows it. So commands are looked at although nobody asked: reading their
-- account takes some 25 µs a repetition, outside of what is timed. Of commands that run for less than 3 ms only one
-- repetition in eight is looked at.

local core = require "pmclua.core"
local tool = require "pmclua.event.tool"

local M = {}

local LONG_NS, ONE_IN = 3e6, 8

---@class pmclua.Waits
---@field of table<integer, pmclua.Waited> by cell
local Waits = {}
Waits.__index = Waits

---@class pmclua.Waited repetitions of a cell that were looked at, warm-ups left out
---@field waits number[] ns
---@field walls number[] ns

---@param declaration pmclua.Declaration
---@return pmclua.Waits
function M.new(declaration)
  local accounts = tool.accounts_of(declaration.events)
  local looks = not declaration.target and not declaration.regions
  return setmetatable({ accounts = accounts, looks = looks, runs = {}, wall = {}, of = {} }, Waits)
end

--- What the next run of a cell takes from Linux's accounts, as core.take has it; nil: nothing.
---@param cell pmclua.PlannedCell
---@param is_traced boolean its system calls are timed: of what they are blocked some is waiting for a CPU
---@return integer?
function Waits:next(cell, is_traced)
  local index, accounts = cell.index, self.accounts
  local run = self.runs[index] or 0
  self.runs[index] = run + 1
  local is_looked_at = self.looks and cell.workload.kind == "command" and not accounts.times
    and (is_traced or (self.wall[index] or 0) >= LONG_NS or run % ONE_IN == 0)
  if is_looked_at then accounts = { times = true, io = accounts.io } end
  return next(accounts) and core.take(accounts) or nil
end

--- Notes what came of a run.
---@param step table
---@param result table of Session:run
function Waits:note(step, result)
  local index = step.cell.index
  self.wall[index] = tonumber(result.wall_ns)
  if not result.wait_ns or step.warmup or step.cell.workload.kind ~= "command" then return end
  local waited = self.of[index] or { waits = {}, walls = {} }
  self.of[index] = waited
  table.insert(waited.waits, tonumber(result.wait_ns))
  table.insert(waited.walls, tonumber(result.wall_ns))
end

return M
