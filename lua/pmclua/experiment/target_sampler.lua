--- target_sampler.lua: samples a target during a repetition; the workload itself is not sampled.

local budget = require "pmclua.counting.target.budget"
local explain = require "pmclua.explain"
local hotplug = require "pmclua.counting.target.hotplug"
local lists = require "pmclua.base.lists"
local profile = require "pmclua.core.profile"
local topology = require "pmclua.host.topology"

local M = {}

local function where_of(places)
  local function is_of_cpu(place) return place.cpu >= 0 end
  local tasks = lists.where(places, function(place) return not is_of_cpu(place) end)
  local cpus = lists.unique(lists.column(lists.where(places, is_of_cpu), "cpu"))
  local directories = lists.unique(lists.column(places, "directory"))
  if #directories > 1 then
    error(explain.problem { code = "EINVAL", operation = "sample",
      message = "several cgroups cannot be sampled at once: name one" }, 0)
  end
  return { tasks = lists.unique(lists.column(tasks, "pid")), cpus = #cpus > 0 and cpus or topology.online(),
    directory = directories[1] }
end

local function descriptors(where, target)
  return 2 * #where.cpus * math.max(1, #where.tasks) + (target.by_cpu and #where.cpus or 0)
end

-- What was seen of CPUs that came or went, in words.
local function close_watch(watched)
  if not watched then return {} end
  watched:find()
  watched:find_offline()
  watched:close()
  return watched:remarks()
end

local function open(target, event, options)
  local places, release = require("pmclua.counting.target").places(target)
  local where = where_of(places)
  local count = descriptors(where, target)
  local taken = budget.take(count, "samples of " .. target.name)
  local sampler, failure = profile.open { attr = event.opened, period = options.period, cpus = where.cpus,
    tasks = where.tasks, directory = where.directory, is_alone = not target.inherits,
    ring_bytes = options.ring_bytes, call_chains = options.call_chains, data = options.data }
  release()
  -- Tasks move by themselves when CPUs come and go.
  if sampler then return sampler, taken, target.by_cpu and hotplug.new(target, where.cpus, true) or nil end
  budget.give_back(taken)
  failure.event, failure.descriptors = event.name, count
  error(explain.open(failure), 0)
end

--- Samples a target while `fn` runs.
---@param target pmclua.Target
---@param event pmclua.Event with the attr that opens
---@param options { period: number, ring_bytes: integer?, call_chains: boolean?, data: boolean? }
---@param fn fun(): any result as a runner gives it
---@return pmclua.core.Samples samples
---@return any result of `fn`
---@return string[] remarks on CPUs that came or went
function M.around(target, event, options, fn)
  local sampler, taken, watched = open(target, event, options)
  if watched then watched:start() end
  sampler:start()
  local ok, result = pcall(fn)
  local block, code = sampler:finish()
  sampler:close()
  local remarks = close_watch(watched)
  budget.give_back(taken)
  if not ok then error(result, 0) end
  if not block then
    error(explain.problem { code = code, operation = "sample",
      message = ("the samples of %s could not be read: %s"):format(target.name, code) }, 0)
  end
  return block, result, remarks
end

return M
