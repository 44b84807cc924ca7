--- regions.lua: the result of pmc.regions: the calls of each region, and what concerns the whole run.

local calls = require "pmclua.result.calls"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local meant = require("pmclua.base.arguments").meant
local reading = require "pmclua.counting.reading"
local spent = require "pmclua.result.spent"
local text = require "pmclua.base.text"

local M = {}

local COLUMNS = { duration = 1, cpu_time = 2 }

---@class pmclua.RegionResult the regions of a command, each at its index
---@field command string
---@field outcome string
---@field exit integer
---@field signal integer
---@field wall_ns number
---@field path string "all threads", or why one thread alone was followed
---@field samples number
---@field lost number
---@field threads_seen number threads and children that were started
---@field events pmclua.Event[]
---@field cost_unknown? string why it is not known of some region what probing it costs
---@field observed? number of a process that ran already: the share of the time that it was followed
---@field ran number the least share of a run in which its events were on the PMU: calls at other times were not
---   seen
---@field target_ended boolean such a process ended meanwhile
---@field interrupted? integer the signal that ended it
---@field skipped pmclua.Problem[] why functions that a pattern means were left out
---@field subtracted? boolean numbers of calls are without what probing costs
local RegionResult = require("pmclua.public.class").new("measuring", "regions",
  "observed interrupted cost_unknown subtracted dropped unseen left")

-- What a run counted in all, by column of a call; and the share of its time that it was on the PMU.
local function add_whole(run, wall_ns)
  run.regions, run.whole = run.result.regions, { tonumber(wall_ns) }
  for i, number in ipairs(run.result.readings) do run.whole[i + 1] = tonumber(number) end
  local _, share = reading.status({}, run.whole[2], run.whole[3])
  run.ran = share or 1                  -- nil: nothing of it ran at all
end

local UNSEEN = { never = "%s was never loaded" }
local UNKNOWN = "it is not known whether %s was loaded"

-- Why calls that were not seen may all the same have been; nil where some were, or there were none.
local function unseen_of(region, found)
  local file = region.points[1].file
  if not file or found.entries ~= 0 or found.loading == "loaded" then return nil end
  return (UNSEEN[found.loading] or UNKNOWN):format(text.safe(file))
end

local function region_of(about, runs, index)
  local region, found = about.regions[index], runs[1].regions[index]
  local fields = { index = index, name = region.name, notes = region.notes, runs = runs,
    events = about.events, is_pair = region.points[1].kind == "from", threads = found.threads,
    unseen = unseen_of(region, found) }
  local is_known = runs[1].ran > 0 and not fields.unseen
  for _, name in ipairs(is_known and calls.FACTS or {}) do fields[name] = found[name] end
  local its_calls = calls.new(fields)
  if calls.is_switching(its_calls) then its_calls.nested, its_calls.unsure = nil, nil end
  return its_calls
end

--- The result of a command's runs, one for each pass over its events.
---@param about { command: string, regions: pmclua.Region[], events: pmclua.Event[] }
---@param runs { result: table, columns: table<integer, integer> }[]  columns: by index of the event
---@return pmclua.RegionResult
function M.new(about, runs)
  local first = runs[1].result
  local self = { command = about.command, events = about.events, outcome = first.outcome, exit = first.exit,
    signal = first.signal, wall_ns = first.wall_ns, runs = runs, dropped = first.dropped,
    unseen = first.unseen, left = first.left,
    target_ended = first.regions.target_ended ~= 0, skipped = about.regions.skipped or {}, ran = 1 }
  for _, name in ipairs { "path", "samples", "lost", "threads_seen" } do self[name] = first.regions[name] end
  if first.regions.observed_ns ~= 0 then
    self.observed = math.min(1, tonumber(first.regions.observed_ns) / tonumber(first.wall_ns))
  end
  for _, run in ipairs(runs) do
    add_whole(run, first.wall_ns)
    self.cost_unknown, self.ran = self.cost_unknown or run.cost_unknown, math.min(self.ran, run.ran)
  end
  for i in ipairs(about.regions) do self[i] = region_of(about, runs, i) end
  return setmetatable(self, RegionResult)
end

--- Takes what probing costs off numbers of calls and their histograms, from now on; single calls stay as they were
--- counted, and so do regions whose cost is not known.
---@param result pmclua.RegionResult
function M.subtract(result)
  result.subtracted = true
  for _, region in ipairs(result) do region.subtracted, region.sorted = true, {} end
end

--- What all probes of the first run cost it; nil where that is not known.
---@param name "duration"|"cpu_time"
---@return number? cost
---@return number? spread
---@return number? whole of the run, with that
function RegionResult:probing(name)
  local run, column = self.runs[1], COLUMNS[name]
  local cost, spread = spent.of_run(run, column)
  return cost, spread, run.whole[column]
end

--- The region of that name; raises where there is none.
---@param name string
---@return pmclua.RegionCalls
function RegionResult:region(name)
  local found = lists.find(self, function(region) return region.name == name end)
  if found then return found end
  local names = lists.column(self, "name")
  explain.misuse(("no region is called '%s'%s"):format(name, meant(name, names)), 2)
end

function RegionResult:__tostring() return self:report() end

return M
