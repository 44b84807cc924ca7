--- following.lua: repetitions whose parts are the calls of functions: regions = { "compute", "lib.so:f*" }.
--
-- The whole run is counted beside them by the same events. A region's record has the sum of a run's
-- outermost calls, and their number as iterations; or, with `entries`, each call is a record of its own.

local dynamic = require "pmclua.event.dynamic"
local NOT_THE_CALLS = require("pmclua.result.calls").NOT_THE_CALLS
local parts = require "pmclua.experiment.parts"
local record = require "pmclua.experiment.record"
local region = require "pmclua.workload.region"
local text = require "pmclua.base.text"

---@class pmclua.Following
local Following = {}
Following.__index = Following

local M = {}

---@class pmclua.FunctionRegions
---@field spec pmclua.RegionSpec
local Regions = {}
Regions.__index = Regions

--- As `target` of passes.plan: says which events cannot be counted in the calls of functions.
M.Regions = Regions

local ENTRIES = 1000             -- calls of a run that are kept where each is a value

--- What a list of functions says.
---@param value any the script's
---@return pmclua.FunctionRegions? nil: it is none
---@return string? why
function M.regions(value)
  local functions, entries, wrong_entries = value, nil, nil
  if type(value) == "table" then
    entries, wrong_entries = parts.entries(value.entries)
    functions = {}
    for key, item in pairs(value) do functions[key] = item end
    functions.entries = nil
  end
  local spec, mistakes = region.check(functions)
  mistakes[#mistakes + 1] = wrong_entries
  if #mistakes > 0 then return nil, table.concat(mistakes, "; ") end
  if entries == true then entries = ENTRIES end
  -- Otherwise nobody asks for single calls.
  spec.keep = spec.keep or entries or 0
  return setmetatable({ kind = "functions", spec = spec, entries = entries }, Regions)
end

--- Where an event is tried out: on this thread, as the command's threads will open it.
function Regions.trial(_, event)
  -- Their group is led by an event of ours, and only a leader can be pinned.
  if event.attr.pinned then return nil, "what is pinned is not counted in the calls of functions" end
  if dynamic.kind(event) then
    return nil, "a probe is not counted in the calls of functions: threads could not inherit it"
  end
  return { pid = 0, cpu = -1 }
end

--- Why these workloads have no functions to follow; nil when they may.
---@param workloads table[]
---@return string?
function Regions.problem(_, workloads)
  return parts.not_a_command(workloads, "functions are followed in commands; %s is a %s")
end

---@param regions pmclua.FunctionRegions
---@param planned { groups: table[] }[]
---@param events pmclua.Event[]
---@return pmclua.Following
function M.new(regions, planned, events)
  return setmetatable({ regions = regions, passes = planned, events = events, workloads = {},
    said = parts.remarks() }, Following)
end

--- The workload with its functions followed.
function Following:workload(workload)
  local mine = self.workloads[workload] or region.of(workload, self.regions.spec)
  self.workloads[workload] = mine
  return mine
end

--- The run itself is counted, too.
function Following.counts_whole() return true end

-- ---- parts of a repetition -----------------------------------------------------------------------------

local DURATION = 1

-- A group's words as a record takes them: enabled, running, values.
local function words_behind_duration(list)
  local words = {}
  for i = DURATION + 1, #list do words[i - DURATION] = list[i] end
  return words
end

-- Of calls whose stacks are not their threads' only how long each took is known: there are no words then.
local function is_switching(calls) return calls.switching ~= 0 end

local function sum_part(calls, result)
  local part = record.region_part(calls.name, result)
  if is_switching(calls) then
    part.iterations, part.wall_ns = calls.total[DURATION].n, calls.total[DURATION].sum
    return part
  end
  part.iterations, part.wall_ns = calls.calls, calls.outermost[DURATION]
  part.words = words_behind_duration(calls.outermost)
  return part
end

-- Each kept call as a part of its own.
local function entry_parts(result)
  local calls, width, list = result.regions.calls, result.regions.width, {}
  for i = 1, calls.count do
    local its, values = result.regions[calls:at(i).region], {}
    for column = 1, width do values[column] = calls:value(i, column) end
    list[i] = parts.entry(its.name, result, values[DURATION],
      is_switching(its) and {} or words_behind_duration(values))
  end
  return list
end

-- ---- remarks -------------------------------------------------------------------------------------------

local function say(self, form, ...) self.said:add(form:format(...)) end

-- Whether the events, and the probes with them, were off the PMU for a while.
local function was_kept_off(words)
  local enabled, running = tonumber(words[1]), tonumber(words[2])
  return enabled ~= nil and running < enabled
end

local function remark_on(self, regions, words)
  if regions.path ~= "all threads" and regions.path ~= "one thread" then
    say(self, "regions: only the first thread of a run was followed (%s)", regions.path)
  end
  if regions.lost ~= 0 then
    say(self, "regions: %s lost, and the calls around them were not counted",
      text.plural(tonumber(regions.lost), "record was", "records were"))
  end
  local never = "regions: %s was never called"
  if was_kept_off(words) then
    never = "regions: %s was not seen to be called"
    say(self, "regions: another user of the PMU had its counters for a while: calls meanwhile were not seen")
  end
  for _, calls in ipairs(regions) do
    if calls.entries == 0 then say(self, never, calls.name)
    elseif calls.calls == 0 then
      say(self, "regions: no call of %s returned: there are no numbers of it", calls.name)
    end
    if is_switching(calls) then say(self, "regions: %s: %s", calls.name, NOT_THE_CALLS) end
    local apart = calls.tails + calls.unwound + calls.unfinished + calls.orphans + calls.moved
    if apart > 0 then
      say(self, "regions: calls of %s that were left without return are not counted", calls.name)
    end
  end
end

--- Runs `fn`, which gives the result of one repetition, and adds its regions as parts.
---@param fn fun(): table result as a runner gives it
---@return table result
function Following:around(_, fn)
  local result = fn()
  local problem = region.refusal(result)
  if problem then error(problem, 0) end
  if not result.regions then return result end
  result.parts = {}
  if self.regions.entries then
    result.parts = entry_parts(result)
  else
    for _, calls in ipairs(result.regions) do
      if calls.calls ~= 0 then table.insert(result.parts, sum_part(calls, result)) end
    end
  end
  remark_on(self, result.regions, result.words)
  return result
end

--- What is to be said of the regions, once each.
---@return string[]
function Following:remarks() return self.said end

function Following.close() end

return M
