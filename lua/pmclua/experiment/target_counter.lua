--- target_counter.lua: counts a target during each repetition; the workload itself is not counted.
--
-- The groups of a pass are opened on the whole target when the pass first runs, and count only while one of its
-- repetitions runs.

local accounts = require("pmclua.base.lazy").module "pmclua.host.accounts"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local tool = require "pmclua.event.tool"
local watch = require "pmclua.counting.target.watch"

---@class pmclua.TargetCounter: pmclua.Counter
---@field target pmclua.Target
local TargetCounter = {}
TargetCounter.__index = TargetCounter

local M = {}

---@param target pmclua.Target
---@param passes { groups: table[] }[] of the plan
---@param events pmclua.Event[]
---@return pmclua.TargetCounter
function M.new(target, passes, events)
  return setmetatable({ target = target, passes = passes, events = events, open = {} }, TargetCounter)
end

local function switch(opened, method)
  local ok, _, errnum = opened[method](opened)
  if not ok then error(explain.system(errnum, method, "counting " .. opened.target.name), 0) end
end

-- The counts of one part of the target. It has no resource usage of the command.
local function part_of(opened, number, result, readings)
  local part = opened.parts[number]
  return { field = part.field, value = part.value, readings = readings, threads = 1, outcome = result.outcome,
    exit = result.exit, signal = result.signal, start_ns = result.start_ns, wall_ns = result.wall_ns,
    iterations = result.iterations }
end

-- Counts that are known to be incomplete are dropped.
local function forget_counts(result)
  for _, part in ipairs { result, unpack(result.parts) } do
    for i in ipairs(part.readings) do part.readings[i] = 0 end
  end
end

--- Calls `run`, which returns a result as a runner does and calls its argument when counting is to begin. Adds
--- what was counted from then on: the sum, and each part if the target is divided.
---@param opened pmclua.Watch
---@param run fun(begin: fun()): table
---@return table result
function M.count(opened, run)
  local before, after, has_begun = opened:buffer(), opened:buffer(), false
  local function begin()
    switch(opened, "start")
    opened:read_into(before)
    has_begun = true
  end
  local ok, result = pcall(run, begin)
  opened:read_into(after)
  if has_begun then switch(opened, "stop") end
  if not ok then error(result, 0) end
  result.readings, result.threads, result.parts = {}, 1, {}
  if not has_begun then return result end
  opened:subtract(before, after, after)
  result.readings = opened:reading(after, 0)
  result.dropped = opened.dropped.name
  for number in ipairs(opened.parts) do
    result.parts[number] = part_of(opened, number, result, opened:reading(after, number))
  end
  if result.dropped then forget_counts(result) end
  return result
end

-- Runs `fn` and adds to its result what Linux has on account of processes and threads meanwhile. A target
-- that is no process or thread has no account.
local function with_accounts(target, events, fn)
  local which = tool.accounts_of(events)
  if not next(which) then return fn() end
  local ids = (target.kind == "process" or target.kind == "thread") and target.ids or {}
  local before, start_ns = accounts.of(ids, which), core.now_ns()
  local result = fn()
  local wall_ns = core.now_ns() - start_ns
  local used = accounts.difference(before, accounts.of(ids, which), wall_ns)
  for _, event in ipairs(events) do
    if event.take then result[event.tool] = used[event.tool] end
  end
  return result
end

function TargetCounter:around(pass, fn)
  if not self.open[pass] then
    self.open[pass] = watch.open_planned(self.target, self.passes[pass].groups, self.events)
  end
  return M.count(self.open[pass], function(begin)
    begin()
    return with_accounts(self.target, self.events, fn)
  end)
end

function TargetCounter.workload(_, workload) return workload end
function TargetCounter.counts_whole() return false end

-- CPUs that went offline, threads that may be missing.
function TargetCounter:remarks()
  local remarks = {}
  for _, opened in pairs(self.open) do lists.append(remarks, opened:remarks()) end
  return remarks
end

function TargetCounter:close()
  for _, opened in pairs(self.open) do opened:close() end
  self.open = {}
end

return M
