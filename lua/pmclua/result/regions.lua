--- regions.lua: the calls of a cell's regions, of what was found by following them, and what concerns the whole run.

local calls = require "pmclua.result.calls"
local explain = require "pmclua.explain"
local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local meant = require("pmclua.base.arguments").meant
local reading = require "pmclua.counting.reading"
local spent = require "pmclua.result.spent"
local text = require "pmclua.base.text"

local M = {}

local COLUMNS = { duration = 1, cpu_time = 2 }

---@class pmclua.Followed: pmclua.core.Regions of one run, in its record; each region at its index, also with notes,
---  is_pair and `file`, in which it begins
---@field columns table<string, integer> which column of a call has the counts of an event, by field
---@field costs table<integer, pmclua.ProbeCost[]> by region and column, where they are known
---@field cost_unknown string? why they are not known of some
---@field skipped string[] why functions that a pattern means were left out
---@field remarks string[] what is known of programs whose calls were not followed

---@class pmclua.Regions the regions of a command, each at its index
---@field command string
---@field outcome string
---@field exit integer
---@field signal integer
---@field wall_ns number
---@field path string "all threads", or why one thread alone was followed
---@field samples integer
---@field lost integer
---@field threads_seen integer threads and children that were started
---@field events table[] as of pmclua.Result
---@field cost_unknown? string why it is not known of some region what probing it costs
---@field observed? number of a process that ran already: the share of the time that it was followed
---@field ran number the least share of a run in which its events were on the PMU: calls at other times were not
---   seen
---@field target_ended boolean such a process ended meanwhile
---@field interrupted? integer the signal that ended it
---@field skipped string[] why functions that a pattern means were left out
---@field remarks string[]
---@field subtracted? boolean numbers of calls are without what probing costs
local Regions = require("pmclua.public.class").new("regions", "regions",
  "observed interrupted cost_unknown subtracted")

-- Totals of the run by column of a call. All events are one group with one time.
local function whole_of(record, columns)
  local event, enabled = next(record.enabled)
  local whole = { tonumber(record.wall_ns), tonumber(enabled), event and tonumber(record.running[event]) }
  for index, column in pairs(columns) do whole[column] = tonumber(record.counts[index] or 0) end
  return whole
end

local function run_of(events, record)
  local followed, columns = record.followed, {}
  for index, event in ipairs(events) do columns[index] = followed.columns[event.field] end
  local whole = whole_of(record, columns)
  local _, share = reading.status({}, whole[2], whole[3])
  -- nil: nothing of it ran at all
  return { regions = followed, columns = columns, costs = followed.costs, whole = whole, ran = share or 1 }
end

local UNSEEN = { never = "%s was never loaded" }
local UNKNOWN = "it is not known whether %s was loaded"

-- Why unseen calls may have happened; nil where some were seen, or none happened.
local function unseen_of(regions)
  if not regions.file or regions.entries ~= 0 or regions.loading == "loaded" then return nil end
  return (UNSEEN[regions.loading] or UNKNOWN):format(text.safe(regions.file))
end

local function region_of(events, runs, index)
  local followed = runs[1].regions[index]
  local fields = { index = index, name = followed.name, notes = followed.notes, runs = runs, events = events,
    is_pair = followed.is_pair, threads = followed.threads, unseen = unseen_of(followed) }
  local is_known = runs[1].ran > 0 and not fields.unseen
  for _, name in ipairs(is_known and calls.FACTS or {}) do fields[name] = followed[name] end
  local its_calls = calls.new(fields)
  if calls.is_switching(its_calls) then its_calls.nested, its_calls.unsure = nil, nil end
  return its_calls
end

--- The regions of a command's runs, one for each pass over its events.
---@param command string
---@param events pmclua.NamedEvent[]
---@param records table[] of these runs, with `followed`: store/README.md, "The record"
---@return pmclua.Regions
function M.new(command, events, records)
  local first, runs = records[1], lists.map(records, function(record) return run_of(events, record) end)
  local followed = first.followed
  local self = { command = command, events = events, outcome = first.outcome, exit = first.exit or 0,
    signal = first.signal or 0, wall_ns = first.wall_ns, runs = runs, remarks = followed.remarks,
    target_ended = followed.target_ended ~= 0, skipped = followed.skipped, ran = 1 }
  for _, name in ipairs { "path", "samples", "lost", "threads_seen" } do self[name] = followed[name] end
  if followed.observed_ns ~= 0 then
    self.observed = math.min(1, tonumber(followed.observed_ns) / tonumber(first.wall_ns))
  end
  for _, run in ipairs(runs) do
    self.cost_unknown = self.cost_unknown or run.regions.cost_unknown
    self.ran = math.min(self.ran, run.ran)
  end
  for i in ipairs(followed) do self[i] = region_of(events, runs, i) end
  return setmetatable(self, Regions)
end

--- The regions of a cell, by what was found in the first repetition of each pass.
---@param result pmclua.Result
---@param number integer of the cell
---@return pmclua.Regions?
function M.of(result, number)
  local records = result.followed[number]
  if not records then return nil end
  local planned = result.header.cells[number]
  local label = table.concat(lists.joined { { planned.workload }, lists.assignments(planned.levels) }, ", ")
  local regions = M.new(label, result.events, records)
  if (result.header.regions or {}).subtracted then M.subtract(regions) end
  local _, _, signal = ending.of(result)
  regions.interrupted = signal
  return regions
end

local KEPT = { "outcome", "exit", "signal", "wall_ns", "enabled", "running", "counts", "followed", "index" }

--- Keeps what was found of the calls in a run, of the first repetition of each pass.
---@param result pmclua.Result
---@param record table
function M.add(result, record)
  local list = result.followed[record.cell] or {}
  local is_known = lists.any(list, function(other) return other.pass == record.pass end)
  if record.warmup or is_known then return end
  local kept = { pass = record.pass }
  for _, name in ipairs(KEPT) do kept[name] = record[name] end
  list[#list + 1], result.followed[record.cell] = kept, list
end

--- Gives a record of a cell what was kept of its calls.
---@param result pmclua.Result
---@param cell integer
---@param record table
function M.give(result, cell, record)
  for _, kept in ipairs(not record.warmup and not record.region and result.followed[cell] or {}) do
    if kept.pass == record.pass and kept.index == record.index then record.followed = kept.followed end
  end
end

--- Why not all calls of a run were counted, as texts.
---@param regions pmclua.Regions
---@return string[]
function M.losses(regions)
  local list = {}
  if regions.lost ~= 0 then
    list[1] = ("%s lost, and the calls around them were not counted"):format(
      text.plural(tonumber(regions.lost), "record was", "records were"))
  end
  if regions.ran < 1 then
    list[#list + 1] = "something else used the PMU's counters for a while: calls in that time were not seen"
  end
  return list
end

--- Takes what probing costs off numbers of calls and their histograms, from now on; single calls stay as they were
--- counted, and so do regions whose cost is not known.
---@param regions pmclua.Regions
function M.subtract(regions)
  regions.subtracted = true
  for _, region in ipairs(regions) do region.subtracted, region.sorted = true, {} end
end

--- The cost of all probes in the first run; nil where it is unknown.
---@param name "duration"|"cpu_time"
---@return number? cost
---@return number? spread
---@return number? whole of the run, with that; of CPU time nil where no event was counted
function Regions:probing(name)
  local run, column = self.runs[1], COLUMNS[name]
  local cost, spread = spent.of_run(run, column)
  return cost, spread, run.whole[column]
end

--- The region of that name; raises where there is none.
---@param name string
---@return pmclua.RegionCalls
function Regions:region(name)
  local region_of_name = lists.find(self, function(region) return region.name == name end)
  if region_of_name then return region_of_name end
  local names = lists.column(self, "name")
  explain.misuse(("no region is called '%s'%s"):format(name, meant(name, names)), 2)
end

return M
