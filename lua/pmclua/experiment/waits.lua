--- waits.lua: what the runner is to take from Linux's accounts, and how long commands waited for a CPU.
--
-- Waiting makes times noisy, and no count shows it. So waits of commands are read although nobody asked: reading their
-- account takes some 25 µs a repetition, outside of what is timed. Of commands that run for less than 3 ms only one
-- repetition in eight is read.

local core = require "pmclua.core"
local tool = require "pmclua.event.tool"
local warning = require("pmclua.base.lazy").module "pmclua.verdict.warning"
local workload_kinds = require "pmclua.workload"

local M = {}

local LONG_NS, ONE_IN = 3e6, 8

---@class pmclua.Waits
---@field of table<integer, pmclua.Waited> by cell
---@field margin number
local Waits = {}
Waits.__index = Waits

---@class pmclua.Waited repetitions of a cell that were looked at, warm-ups left out
---@field cell integer
---@field count integer
---@field over integer that waited for more than the margin
---@field wait_ns number of all
---@field wall_ns number of all

---@param declaration pmclua.Declaration
---@return pmclua.Waits
function M.new(declaration)
  local accounts = tool.accounts_of(declaration.events)
  local looks = not declaration.target and not declaration.regions
    and not workload_kinds.are_launched(declaration.workloads)
  return setmetatable({ accounts = accounts, looks = looks, runs = {}, wall = {}, of = {},
    margin = declaration.margin.default }, Waits)
end

--- The accounts of Linux that the next run of a cell reads (core.take); nil: none.
---@param cell pmclua.PlannedCell
---@return integer?
function Waits:next(cell)
  local index, accounts = cell.index, self.accounts
  local run = self.runs[index] or 0
  self.runs[index] = run + 1
  local is_looked_at = self.looks and cell.workload.is_executed and not accounts.times
    and ((self.wall[index] or 0) >= LONG_NS or run % ONE_IN == 0)
  if is_looked_at then accounts = { times = true, io = accounts.io } end
  return next(accounts) and core.take(accounts) or nil
end

--- Notes what came of a run.
---@param step table
---@param result table of Session:run
function Waits:note(step, result)
  local index = step.cell.index
  self.wall[index] = tonumber(result.wall_ns)
  local is_none = not result.wait_ns or result.of_ranks
  if is_none or step.warmup or not step.cell.workload.is_executed then return end
  local waited = self.of[index] or { cell = index, count = 0, over = 0, wait_ns = 0, wall_ns = 0 }
  self.of[index] = waited
  local wait_ns, wall_ns = tonumber(result.wait_ns), tonumber(result.wall_ns)
  waited.count = waited.count + 1
  waited.wait_ns, waited.wall_ns = waited.wait_ns + wait_ns, waited.wall_ns + wall_ns
  if warning.has_waited(wait_ns, wall_ns, self.margin) then waited.over = waited.over + 1 end
end

--- The findings by cell; nil: none.
---@return pmclua.Waited[]?
function Waits:list()
  local list = {}
  for _, waited in pairs(self.of) do list[#list + 1] = waited end
  table.sort(list, function(x, y) return x.cell < y.cell end)
  return #list > 0 and list or nil
end

return M
