--- watching.lua: repetitions that are counted on a target while their workload runs uncounted.
--
-- The groups of a pass are opened at every place of the target when the pass is first run, and counted
-- only while one of its repetitions runs.

local explain = require "pmclua.explain"
local watch = require "pmclua.target.watch"

---@class pmclua.Watching
---@field target pmclua.Target
local Watching = {}
Watching.__index = Watching

local M = {}

---@param target pmclua.Target
---@param passes { groups: table[] }[] of the plan
---@param events pmclua.Event[]
---@return pmclua.Watching
function M.new(target, passes, events)
  return setmetatable({ target = target, passes = passes, events = events, open = {} }, Watching)
end

local function names_of(groups, events)
  local list = {}
  for i, group in ipairs(groups) do
    list[i] = { names = {} }
    for k, index in ipairs(group.events) do list[i].names[k] = events[index].name end
  end
  return list
end

local function watch_of(self, pass)
  if self.open[pass] then return self.open[pass] end
  local groups = self.passes[pass].groups
  local opened, failure = self.target:open(groups)
  if not opened then error(watch.explain(failure, names_of(groups, self.events)), 0) end
  self.open[pass] = opened
  return opened
end

local function switch(opened, method)
  local ok, _, errnum = opened[method](opened)
  if not ok then error(explain.system(errnum, method, "counting " .. opened.target.name), 0) end
end

-- What a part of the target did meanwhile. Of the command's own times it has no share.
local function part_of(opened, number, result, words)
  local part = opened.parts[number]
  return { field = part.field, value = part.value, words = words, threads = 1, outcome = result.outcome,
    exit = result.exit, signal = result.signal, start_ns = result.start_ns, wall_ns = result.wall_ns,
    iterations = result.iterations }
end

--- Runs `fn`, which gives the result of one repetition, and puts in what the target counted meanwhile:
--- the sum, and each part where it is divided.
---@param pass integer
---@param fn fun(): table result as a runner gives it
---@return table result
function Watching:around(pass, fn)
  local opened = watch_of(self, pass)
  local before, after = opened:room(), opened:room()
  switch(opened, "start")
  opened:read_into(before)
  local ok, result = pcall(fn)
  opened:read_into(after)
  switch(opened, "stop")
  if not ok then error(result, 0) end
  opened:subtract(before, after, after)
  result.words, result.threads, result.parts = opened:words(after, 0), 1, {}
  for number in ipairs(opened.parts) do
    result.parts[number] = part_of(opened, number, result, opened:words(after, number))
  end
  return result
end

--- The workload as it is run: as it is.
function Watching.workload(_, workload) return workload end

--- Whether the workload itself is counted too: the target is, and not it.
function Watching.counts_whole() return false end

--- What is to be said of the counts, once each: CPUs that went offline, threads that may be missing.
---@return string[]
function Watching:remarks()
  local list, seen = {}, {}
  for _, opened in pairs(self.open) do
    for _, remark in ipairs(opened:remarks()) do
      if not seen[remark] then list[#list + 1] = remark end
      seen[remark] = true
    end
  end
  return list
end

function Watching:close()
  for _, opened in pairs(self.open) do opened:close() end
  self.open = {}
end

return M
