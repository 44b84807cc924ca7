--- delayed_counter.lua: counts commands from some time after their start (`delay`): start-up is left out.
--
-- Counting begins while the command runs, so it is started here and not by the session. Its resource usage is
-- not known: only what was counted.

local core = require "pmclua.core"
local held_command = require "pmclua.workload.held_command"
local remarks = require "pmclua.base.remarks"
local watch = require "pmclua.counting.target.watch"
local target_counter = require "pmclua.experiment.target_counter"

---@class pmclua.DelayedCounter: pmclua.Counter
local DelayedCounter = {}
DelayedCounter.__index = DelayedCounter

local M = {}

---@param declaration pmclua.Declaration with `delay`, seconds
---@param passes { groups: table[] }[] of the plan
---@return pmclua.DelayedCounter
function M.new(declaration, passes)
  return setmetatable({ declaration = declaration, passes = passes, said = remarks.new() }, DelayedCounter)
end

local SLICE_NS = 5e7        -- how often to look for CPUs that came online

-- Waits until `deadline` or the command's end. Returns why the command must be ended early, or nil.
local function wait_until(command, deadline)
  while core.now_ns() < deadline do
    local what = command:wait(math.min(SLICE_NS, deadline - core.now_ns()))
    watch.look()
    if what == "ended" then return nil end
    if core.interrupts() > 1 then return "interrupted" end
  end
end

local function result_of(command, ended, start_ns)
  local result = command.result or { outcome = ended, exit = -1, signal = 0 }
  local now = core.now_ns()
  return { outcome = ended or result.outcome, lost = result.lost, exit = result.exit, signal = result.signal,
    errnum = result.errnum or 0, start_ns = start_ns, wall_ns = start_ns and now - start_ns,
    iterations = 1, threads = 1, readings = {}, output = result.output or "", errors = result.errors or "" }
end

-- Runs the command; calls `begin` when the delay has passed.
local function run(self, command, begin)
  local declaration, start_ns = self.declaration, nil
  local limit = declaration.timeout_ns and core.now_ns() + declaration.timeout_ns or math.huge
  command:release()
  local ended = wait_until(command, math.min(limit, core.now_ns() + declaration.delay * 1e9))
  if not command.result and not ended then
    begin()
    start_ns = core.now_ns()
    ended = wait_until(command, limit)
  end
  if not command.result then ended = ended or "timed-out" end
  return result_of(command, ended, start_ns)
end

--- Runs a cell's command by itself; after the delay counts it, or the target.
function DelayedCounter:around(pass, _, cell)
  local declaration = self.declaration
  local command = held_command.start(cell.workload, { pin = declaration.pin, levels = cell.levels })
  local target = declaration.target or require("pmclua.counting.target").held(command.pid, false)
  local ok, result = pcall(function()
    local opened = watch.open_planned(target, self.passes[pass].groups, declaration.events)
    local counted = target_counter.count(opened, function(begin) return run(self, command, begin) end)
    self.said:append(opened:remarks())
    opened:close()
    return counted
  end)
  command:close()
  if not ok then error(result, 0) end
  if not result.wall_ns then
    self.said:add "a run ended before its delay: nothing was counted"
  end
  return result
end

-- The session does not run it.
function DelayedCounter.workload(_, workload) return workload end
function DelayedCounter.counts_whole() return false end
function DelayedCounter:remarks() return self.said end
function DelayedCounter.close() end

return M
