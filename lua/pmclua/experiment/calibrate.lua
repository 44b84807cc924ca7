--- calibrate.lua: measures what counting itself adds to a kernel's counts: the counts of empty regions.
--
-- Invariant: empty regions are counted by the same groups, read in the same way, in a runner like the kernel's.

local any, map = require("pmclua.base.lists").any, require("pmclua.base.lists").map
local records = require "pmclua.experiment.record"
local stats = require("pmclua.base.lazy").module "pmclua.stats"

local M = {}

local REGIONS = 101

---@class pmclua.Overhead of one pass
---@field read "syscall"|"user"|"toggle"
---@field median (number|false)[] by index of the event; false: not counted here
---@field minimum (number|false)[]

local function summary_of(lists, count)
  local overhead = { median = {}, minimum = {} }
  for index = 1, count do
    local list = lists[index]
    overhead.median[index] = list and stats.median(list) or false
    overhead.minimum[index] = list and math.min(unpack(list)) or false
  end
  return overhead
end

-- Counts of empty regions by event; nil where they cannot be counted, which the first repetition will say.
local function overhead_of(session, workload, pass, events)
  local lists, method = {}, nil
  local job = { workload = workload, events = session:events(pass.groups), repetitions = REGIONS,
    in_runner = true, is_empty = true }
  session:run_each(job, function(result)
    local counts = records.counts(result, pass)
    for index, count in pairs(counts or {}) do
      lists[index] = lists[index] or {}
      table.insert(lists[index], tonumber(count))
    end
    method = result.method
  end)
  if not next(lists) then return false end
  local overhead = summary_of(lists, #events)
  overhead.read = method
  return overhead
end

--- The overhead of each pass; nil for experiments without kernels.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param session pmclua.Session
---@return (pmclua.Overhead|false)[]?
function M.passes(declaration, plan, session)
  if not any(declaration.workloads, function(workload) return workload.in_runner end) then return nil end
  local empty = session:workload(function(message) message:text("library", ""):text("symbol", "") end)
  local overheads = map(plan.passes, function(pass)
    return #pass.groups > 0 and overhead_of(session, empty, pass, declaration.events)
  end)
  session:forget(empty)
  return overheads
end

--- How much of a repetition's time is starting and stopping the counters: at least so many ns, of several passes the most.
---@param overheads? (pmclua.Overhead|false)[]
---@param events table[] of the declaration
---@return number ns 0 where no time is counted
function M.reading_ns(overheads, events)
  local most = 0
  for _, overhead in ipairs(overheads or {}) do
    for index, event in ipairs(overhead and events or {}) do
      local least = event.unit == "ns" and overhead.minimum[index]
      most = math.max(most, least or 0)
    end
  end
  return most
end

return M
