--- following.lua: repetitions whose parts are the calls of functions: regions = { "compute", "lib.so:f*" }.
--
-- The whole run is counted, too, by the same events. A region's record has the sum over the outermost calls of a
-- run, and their number as iterations; with `entries`, each call is a record of its own.

local lists = require "pmclua.base.lists"
local probe_kind = require "pmclua.event.probe_kind"
local parts = require "pmclua.experiment.parts"
local passes = require "pmclua.counting.passes"
local record = require "pmclua.experiment.record"
local remarks = require "pmclua.base.remarks"
local region = require "pmclua.workload.region"
local region_calls = require "pmclua.result.calls"
local result_regions = require "pmclua.result.regions"
local text = require "pmclua.base.text"

---@class pmclua.Following: pmclua.Counter
local Following = {}
Following.__index = Following

local M = {}

---@class pmclua.FunctionRegions: pmclua.CommandRegions
---@field spec pmclua.RegionSpec
local Regions = {}
Regions.__index = Regions

-- A pass is one group: the probes of calls read it.
Regions.one_group = true

--- As `target` of passes.plan: says which events cannot be counted in the calls of functions.
---@param spec pmclua.RegionSpec
---@return pmclua.FunctionRegions
function M.target(spec) return setmetatable({ kind = "functions", spec = spec }, Regions) end

local ENTRIES = 1000             -- calls of a run that are kept where each is a value

--- Reads a list of functions.
---@param value any the script's
---@return pmclua.FunctionRegions? nil: it is none
---@return string? why
function M.regions(value)
  local functions, entries, wrong_entries = value, nil, nil
  if type(value) == "table" then
    entries, wrong_entries = parts.entries(value.entries)
    functions = lists.without(value, "entries")
  end
  local spec, mistakes = region.check(functions)
  mistakes[#mistakes + 1] = wrong_entries
  if #mistakes > 0 then return nil, table.concat(mistakes, "; ") end
  if entries == true then entries = ENTRIES end
  -- Without entries nobody asks for single calls.
  spec.keep = spec.keep or entries or 0
  return setmetatable({ kind = "functions", spec = spec, entries = entries }, Regions)
end

--- Where an event is tried out: on this thread, as the command's threads will open it.
function Regions:trial(event)
  -- Their group is led by an event of ours, and only a leader can be pinned.
  for _, kind in ipairs { "pinned", "exclusive" } do
    if event.attr[kind] then return nil, kind .. " events cannot be counted in calls of functions" end
  end
  if probe_kind.of(event) then
    return nil, "a probe cannot be counted in calls of functions: threads could not inherit it"
  end
  if event.core_cpus and self.spec.threads ~= "one" then
    return nil, ("it counts on CPUs %s alone, and calls are followed on all: mark the program "
      .. "(pmclua_mark.h) to count it in parts"):format(event.core_cpus)
  end
  return { pid = 0, cpu = -1 }
end

function Regions.problem(_, workloads)
  return parts.why_none(workloads, "functions can be followed in commands only; %s is a %s")
end

---@param regions pmclua.FunctionRegions
---@param planned { groups: table[] }[]
---@param events pmclua.Event[]
---@return pmclua.Following
function M.new(regions, planned, events)
  return setmetatable({ regions = regions, passes = planned, events = events, workloads = {},
    said = remarks.new() }, Following)
end

function Following:workload(workload)
  self.workloads[workload] = self.workloads[workload] or region.of(workload, self.regions.spec)
  return self.workloads[workload]
end

function Following.counts_whole() return true end

-- ---- parts of a repetition -----------------------------------------------------------------------------

local DURATION = 1

-- A group's reading as a record takes it: enabled, running, counts. None where what a thread counted is not the
-- calls'.
local function reading_of(calls, values)
  if region_calls.why_not(calls, "cpu_time") then return {} end
  return { unpack(values, DURATION + 1) }
end

-- A recursive call is within the outermost one, which alone is in the sum.
local function sum_part(calls, sums, result)
  local part = record.region_part(calls.name, result)
  part.readings = reading_of(calls, sums.outermost)
  if region_calls.is_switching(calls) then
    part.iterations, part.wall_ns = sums.total[DURATION].n, sums.total[DURATION].sum
  else
    part.iterations, part.wall_ns = sums.calls - sums.nested, sums.outermost[DURATION]
  end
  return part
end

-- Each kept call as a part of its own.
local function entry_parts(regions, result)
  local kept, width, list = result.regions.calls, result.regions.width, {}
  for i = 1, kept.count do
    local calls, values = regions[kept:at(i).region], {}
    for column = 1, width do values[column] = kept:value(i, column) end
    if not region_calls.why_not(calls, "duration") then
      list[#list + 1] = parts.entry(calls.name, result, values[DURATION], reading_of(calls, values))
    end
  end
  return list
end

local function sum_parts(regions, result)
  local list = {}
  for i, calls in ipairs(regions) do
    local followed = result.regions[i]
    local has_numbers = followed.calls ~= 0 and not region_calls.why_not(calls, "duration")
    if has_numbers then list[#list + 1] = sum_part(calls, followed, result) end
  end
  return list
end

--- Completes what following found by what is known of the regions beforehand.
---@param list pmclua.Region[]
---@param result table of Session:run, whose `regions` become a pmclua.Followed
---@param columns table<string, integer> of the events' counts in a call
function M.complete(list, result, columns)
  local regions, dropped = result.regions, require "pmclua.explain.dropped"
  for i, about in ipairs(list) do
    local point = about.points[1]
    regions[i].notes, regions[i].is_pair, regions[i].file = about.notes, point.kind == "from", point.file
  end
  regions.columns, regions.costs = columns, regions.costs or {}
  regions.skipped = lists.map(list.skipped or {}, function(problem) return problem.message end)
  regions.remarks = {}
  for field, remark in pairs { dropped = "unfollowed", unseen = "unlooked", left = "left" } do
    if result[field] then table.insert(regions.remarks, dropped[remark](result[field])) end
  end
end

-- A run as a record that regions are read from, without its counts: where each is, its columns say.
local function run_record(result)
  local enabled, running = result.readings[1], result.readings[2]
  return { outcome = result.outcome, exit = result.exit, signal = result.signal, wall_ns = result.wall_ns,
    followed = result.regions, enabled = { enabled }, running = { running }, counts = {} }
end

--- The parts of a repetition: its regions' sums, or each call.
---@param regions pmclua.Regions of that repetition alone
---@param result table of Session:run
---@param entries boolean|integer|nil whether each call is a part; how many are kept
---@return table[]
function M.parts(regions, result, entries)
  local list, losses = (entries and entry_parts or sum_parts)(regions, result), result_regions.losses(regions)
  for _, part in ipairs(losses[1] and list or {}) do part.incomplete = table.concat(losses, "; ") end
  return list
end

-- ---- remarks -------------------------------------------------------------------------------------------

-- Nanoseconds of a call below which the end of its first probe and the beginning of its last, 2 to 11 µs
-- (core/README.md), are more than a few per cent of it.
local SHORT = 250e3

local function remark_on_probing(calls, sums, say)
  local count = sums.calls - sums.nested
  if count > 0 and sums.outermost[DURATION] / count < SHORT then
    say("regions: calls of %s take less than 0.25 ms each: what their probes take, 2 to 11 µs, is in their "
      .. "counts; pmclua regions measures it", calls.name)
  end
end

local function remark_on_calls(calls, sums, ran, say)
  if calls.unseen then
    say("regions: calls of %s are not counted: %s", calls.name, calls.unseen)
  elseif sums.entries == 0 then
    say(ran < 1 and "regions: %s was not seen to be called" or "regions: %s was never called", calls.name)
  elseif sums.calls == 0 then
    say("regions: no call of %s returned: there are no numbers for it", calls.name)
  end
  local why = region_calls.why_not(calls, "duration") or region_calls.why_not(calls, "cpu_time")
  if why then say("regions: %s: %s", calls.name, why) end
  local apart = sums.tails + sums.unwound + sums.unfinished + sums.orphans + sums.moved
  if apart > 0 then say("regions: calls of %s that ended without a return are not counted", calls.name) end
end

local function remark_on_kept(result, say)
  local calls = lists.sum(result.regions, function(sums) return sums.calls end)
  local kept = result.regions.calls.count
  if kept < calls then
    say("regions: only the first %s calls of a run are kept one by one, %s later ones are not",
      text.count(kept), text.count(calls - kept))
  end
end

local function remark_on(regions, result, has_counters, say)
  if regions.path ~= "all threads" and regions.path ~= "one thread" then
    say("regions: only the first thread of a run was followed (%s)", regions.path)
  end
  for _, loss in ipairs(result_regions.losses(regions)) do say("regions: %s", loss) end
  for i, calls in ipairs(regions) do
    remark_on_calls(calls, result.regions[i], regions.ran, say)
    if has_counters then remark_on_probing(calls, result.regions[i], say) end
  end
end

-- Whether a pass has events of a PMU, which count the probes' work as well.
function Following:has_counters(pass)
  return lists.any(self.passes[pass].events, function(index)
    return self.events[index].attr and not passes.takes_no_counter(self.events[index])
  end)
end

function Following:around(pass, fn, cell)
  local result = fn()
  local problem = region.refusal(result)
  if problem then error(problem, 0) end
  if result.called then result.parts = parts.simulated(result) end
  if not result.regions then return result end
  M.complete(self:workload(cell.workload):regions(cell.levels), result, {})
  local regions = result_regions.new(cell.workload.name, self.events, { run_record(result) })
  result.parts = M.parts(regions, result, self.regions.entries)
  local function say(form, ...) self.said:add(form:format(...)) end
  remark_on(regions, result, self:has_counters(pass), say)
  if self.regions.entries then remark_on_kept(result, say) end
  return result
end

function Following:remarks() return self.said end
function Following.close() end

return M
