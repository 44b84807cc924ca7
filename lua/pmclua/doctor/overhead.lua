--- overhead.lua: what measuring costs here, by each way in which counts are read.
--
-- Everything is measured on something that costs next to nothing itself: an empty region, a call, `true`.
-- The remainder is the cost of measuring: its time, and its part of the counts.

local core = require "pmclua.core"
local kernels = require "pmclua.doctor.kernels"
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"

local M = {}

---@class pmclua.doctor.Overhead
---@field way string how counts are read, or what is hit
---@field what string what takes `ns`: "a region", "a run more", "a hit more"
---@field events integer?
---@field ns number?
---@field below number? what it is less than, in ns, where it cannot be told from chance
---@field why string? why it cannot be measured here
---@field counts table<string, number>? what an empty region shows, by event, where it is not 0
---@field first string? the first of its events

-- Events that only some CPUs have come first; the OS kernel's own always exist.
local HARDWARE = { "instructions:u", "cycles:u", "instructions:k", "branches:u" }
local SOFTWARE = { "page-faults", "task-clock", "context-switches", "cpu-migrations" }
local ONE, SEVERAL = 1, 4

-- ---- regions in the runner -----------------------------------------------------------------------

local REGIONS = 500

local function measure(workload, options)
  options.warmup = 10
  return kernels.measure(workload, options)
end

-- Median counts of empty regions that are not 0; clocks are excluded.
local function counts_of(records, result)
  local counts = require("pmclua.base.json").object {}
  for index, event in ipairs(result.header.events) do
    local list = lists.map(records, function(record) return tonumber(record.counts[index]) end)
    local middle = #list > 0 and stats.median(list) or 0
    if middle > 0 and event.unit ~= "ns" then counts[event.name] = middle end
  end
  return counts
end

local WAYS = {
  { read = "syscall", way = "read(2), group running" },
  { read = "toggle", way = "started and stopped" },
  { read = "user", way = "read in user space" },
}

local function region(way, events)
  local row = { way = way.way, what = "a region", events = #events, first = events[1] }
  local records, result = measure(kernels.of "empty",
    { events = events, read = way.read, iterations = 1, repetitions = REGIONS })
  if not records then
    row.why = result
    return row
  end
  -- A repetition lasts from before the first read until after the second one.
  row.ns, row.counts = stats.median(lists.column(records, "wall_ns")), counts_of(records, result)
  return row
end

-- ---- from Lua ------------------------------------------------------------------------------------

local CALLS = 20000

local function nothing() end

local function from_lua(events)
  local row = { way = "group:count, from Lua", what = "a region", events = #events }
  local ok, group = pcall(require("pmclua.counting.group").new, events)
  if not ok then
    row.why = kernels.reason(group)
    return row
  end
  group:start()
  for _ = 1, CALLS / 10 do group:count(nothing) end
  local start = core.now_ns()
  for _ = 1, CALLS do group:count(nothing) end
  row.ns = (core.now_ns() - start) / CALLS
  group:stop()
  group:close()
  return row
end

-- ---- two sides --------------------------------------------------------------------------------------

local TURNS = 4

-- The standard error of a median of normal data is 1.2533 that of the mean, and 1.4826 times the median
-- deviation is their standard deviation.
local function error_of_median(list) return 1.2533 * 1.4826 * stats.mad(list) / math.sqrt(#list) end

-- How much longer a repetition takes with `events` than without, in ns; or nil and what it is less than,
-- where it cannot be told from chance; or nil, nil and why it cannot be measured. The sides take turns.
local function difference(workload, events, options)
  local sides = { {}, {} }
  for _ = 1, TURNS do
    for side, counted in ipairs { events, { "duration_time" } } do
      local records, why = measure(workload, { events = counted, repetitions = options.repetitions,
        iterations = options.iterations })
      if not records then return nil, nil, why end
      for _, wall in ipairs(lists.column(records, "wall_ns")) do table.insert(sides[side], wall) end
    end
  end
  local difference_ns = stats.median(sides[1]) - stats.median(sides[2])
  local chance = 2 * math.sqrt(error_of_median(sides[1]) ^ 2 + error_of_median(sides[2]) ^ 2)
  if difference_ns > chance then return difference_ns end
  return nil, math.max(difference_ns, 0) + chance
end

-- ---- a command --------------------------------------------------------------------------------------------

local RUNS = 40                 -- in a turn

local function command(events)
  local row = { way = "a command, counted", what = "a run more", events = #events }
  local run = require("pmclua.workload.command").new { "true" }
  row.ns, row.below, row.why = difference(run, events, { repetitions = RUNS })
  return row
end

-- ---- what is hit ------------------------------------------------------------------------------------------

local HITS, REPETITIONS = 2000, 20

local function libc_function()
  local path = kernels.libc()
  return path and path .. ":getppid"
end

local PROBES = {
  { way = "a tracepoint", kernel = "system_calls", event = "syscalls:sys_enter_getppid" },
  { way = "a probe of a function", kernel = "library_calls", event = libc_function },
  { way = "a watched address", kernel = "stores", event = ("mem:0x%x/8:w:u"):format(kernels.ADDRESS) },
}

local function hit(probe)
  local row = { way = probe.way, what = "a hit more" }
  local event = type(probe.event) == "function" and probe.event() or probe.event
  local ns, below, why = difference(kernels.of(probe.kernel), { event },
    { iterations = HITS, repetitions = REPETITIONS })
  row.ns, row.below, row.why = ns and ns / HITS, below and below / HITS, why
  return row
end

-- ---- all of it --------------------------------------------------------------------------------------------

---@class pmclua.doctor.Overheads
---@field list pmclua.doctor.Overhead[]
---@field hardware boolean whether hardware events were measured with
local Overheads = require("pmclua.public.class").new("tools", "overheads")

--- The same as plain data, for JSON.
---@return table
function Overheads:object() return { format = 1, hardware = self.hardware, overheads = self.list } end

--- A line each.
function Overheads:__tostring() return require("pmclua.doctor.screen").overhead(self) end

--- Measures them all.
---@return pmclua.doctor.Overheads
function M.run()
  local has_hardware = require("pmclua.event").available(HARDWARE[1])
  local self = setmetatable({ list = {}, hardware = has_hardware }, Overheads)
  local events = has_hardware and HARDWARE or SOFTWARE
  local function measure_with(how)
    for _, count in ipairs { ONE, SEVERAL } do table.insert(self.list, how({ unpack(events, 1, count) })) end
  end
  for _, way in ipairs(WAYS) do
    measure_with(function(some) return region(way, some) end)
  end
  measure_with(from_lua)
  measure_with(command)
  for _, probe in ipairs(PROBES) do table.insert(self.list, hit(probe)) end
  return self
end

return M
