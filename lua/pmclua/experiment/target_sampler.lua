--- target_sampler.lua: samples a target during a repetition; the workload itself is not sampled.

local budget = require "pmclua.counting.target.budget"
local explain = require "pmclua.explain"
local profile = require "pmclua.core.profile"
local topology = require "pmclua.host.topology"

local M = {}

local function add_new(list, seen, item)
  if not seen[item] then list[#list + 1] = item end
  seen[item] = true
end

-- The tasks, CPUs and folder of a target's places.
local function where_of(places)
  local tasks, cpus, seen_tasks, seen_cpus, directory = {}, {}, {}, {}, nil
  for _, place in ipairs(places) do
    if place.cpu >= 0 then add_new(cpus, seen_cpus, place.cpu) else add_new(tasks, seen_tasks, place.pid) end
    if directory and place.directory ~= directory then
      error(explain.problem { code = "EINVAL", operation = "sample",
        message = "several cgroups cannot be sampled at once: name one" }, 0)
    end
    directory = place.directory
  end
  if #cpus == 0 then cpus = topology.online() end
  return { tasks = tasks, cpus = cpus, directory = directory }
end

local function descriptors(where) return 2 * #where.cpus * math.max(1, #where.tasks) end

local function open(target, event, options)
  local places, release = target:places()
  local where = where_of(places)
  local count = descriptors(where)
  budget.take(count, "samples of " .. target.name)
  local sampler, failure = profile.open { attr = event.opened, period = options.period, cpus = where.cpus,
    tasks = where.tasks, directory = where.directory, is_alone = not target.inherits,
    ring_bytes = options.ring_bytes, call_chains = options.call_chains }
  release()
  if sampler then return sampler, count end
  budget.give_back(count)
  failure.event, failure.descriptors = event.name, count
  error(explain.open(failure), 0)
end

--- Samples a target while `fn` runs.
---@param target pmclua.Target
---@param event pmclua.Event with the attr that opens
---@param options { period: number, ring_bytes: integer?, call_chains: boolean? }
---@param fn fun(): table result as a runner gives it
---@return pmclua.core.Samples found
---@return table result of `fn`
function M.around(target, event, options, fn)
  local sampler, count = open(target, event, options)
  sampler:start()
  local ok, result = pcall(fn)
  local found, code = sampler:finish()
  sampler:close()
  budget.give_back(count)
  if not ok then error(result, 0) end
  if not found then
    error(explain.problem { code = code, operation = "sample",
      message = ("the samples of %s could not be read: %s"):format(target.name, code) }, 0)
  end
  return found, result
end

return M
