--- calls.lua: the calls of one region: how many there were, and what they took of each event.
--
-- Invariant: a number says how it was obtained: a quantile is exact where every call was kept, else it is
-- within a bucket (1/64); what was not counted is nil and a reason.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local reading = require "pmclua.counting.reading"
local regions = require "pmclua.core.regions"
local spent = require "pmclua.result.spent"
local text = require "pmclua.base.text"

local M = {}

local DURATION, ENABLED, RUNNING = 1, 2, 3       -- columns of a call; its events follow

---@class pmclua.RegionValues what the calls of a region took of one event
---@field status "counted"|"scaled"|"not-counted"|"unsupported"|"constant-zero"|"unverified"|"placed"|"unwatched"|
---  "below-probing"
---@field why string? where there is no number
---@field sum number? of outermost calls with their callees; of all calls where it is itself alone
---@field mean number? of a call
---@field n number calls in the distribution
---@field min number|ffi.cdata*|nil exact
---@field max number|ffi.cdata*|nil
---@field share number? of the whole run's count
---@field least number? `sum` is the most that it may be, and this the least: calls of theirs were left without return
---@field ran number? share of the time that a scaled event was on the PMU
---@field probing number? what of `sum` is, or was, the cost of probing; nil: not known
---@field probing_spread number? by how much that may be wrong
---@field is_below boolean? without it nothing is left that can be told from its spread: there are no numbers

---@class pmclua.RegionCalls one region of one run; numbers of calls are nil where its events were never on the PMU, and
---  where its file was not loaded
---@field name string
---@field notes string[]
---@field is_pair boolean between any two points, not a function's calls
---@field unseen string? why it is not known that there were no calls
---@field entries number|ffi.cdata*|nil
---@field calls number|ffi.cdata*|nil entered and returned
---@field nested number|ffi.cdata*|nil of these within another call of the same region
---@field tails number|ffi.cdata*|nil ended by a jump to another function
---@field unwound number|ffi.cdata*|nil left without return
---@field unfinished number|ffi.cdata*|nil not left when it ended
---@field orphans number|ffi.cdata*|nil returns whose entry was not seen
---@field cut number|ffi.cdata*|nil made useless by lost records
---@field partial number|ffi.cdata*|nil of the calls: not counted throughout
---@field unsure number|ffi.cdata*|nil of the calls: one that they called was left without return, nobody knows when; what they took
---   themselves is only known within bounds
---@field moved number|ffi.cdata*|nil returns that may be of another call, as stacks were copied
---@field switching number|ffi.cdata*|nil of the calls: in processes whose stacks move between threads, or take turns on one
---@field threads { pid: integer, tid: integer, name: string, calls: number }[]
local RegionCalls = require("pmclua.public.class").new("regions", "region",
  "entries calls nested tails unwound unfinished orphans cut partial unsure moved switching subtracted "
  .. "unseen")

RegionCalls.__about = function(self) return self.name end

--- Outcomes of a region's entries, in the order of reports.
M.FACTS = regions.FACTS

-- ---- which column of which pass ------------------------------------------------------------------------

local BUILT_IN = { duration = DURATION, cpu_time = ENABLED }

---@class pmclua.RegionName what a region has values of
---@field field string
---@field title string
---@field unit string
---@field scale number?
---@field event pmclua.NamedEvent?
---@field index integer? of the event

--- All that regions have values of, in the order of reports.
---@param events pmclua.NamedEvent[]
---@return pmclua.RegionName[]
function M.names(events)
  local list = { { field = "duration", title = "duration", unit = "ns" },
    { field = "cpu_time", title = "cpu time", unit = "ns" } }
  for index, event in ipairs(events) do
    list[#list + 1] = { field = event.field, title = event.name, unit = event.unit or "",
      scale = event.scale or 1, event = event, index = index }
  end
  return list
end

--- The one of that name; raises where there is none.
---@param events pmclua.NamedEvent[]
---@param name string
---@return pmclua.RegionName
function M.named(events, name)
  local all, field = M.names(events), text.field(name)
  local column = lists.find(all, function(about) return about.field == field end)
  if column then return column end
  error(explain.problem { code = "ENOENT", operation = "report",
    message = ("regions have no '%s'"):format(name),
    hint = text.meant_or_all(name, lists.column(all, "title")) }, 0)
end

local OF_THE_RUN = "it is known of the whole run, and of no single call"

--- Why no call has a count of an event; nil where they may have.
---@param event pmclua.NamedEvent
---@return string?
function M.why_absent(event) return event.tool and OF_THE_RUN or event.why end

--- The run and column of a name; nil and why there is none. Raises for a name that nothing has.
local function column_of(self, name)
  local about = M.named(self.events, name)
  if BUILT_IN[about.field] then return self.runs[1], BUILT_IN[about.field], nil end
  local counting = lists.find(self.runs, function(run) return run.columns[about.index] end)
  if counting then return counting, counting.columns[about.index], about.event end
  return nil, M.why_absent(about.event) or "it was not counted", about.event
end

local function found_in(self, run) return run.regions[self.index] end

-- ---- stacks that threads share -------------------------------------------------------------------------

local NOT_THE_CALLS = "stacks move between threads here, or take turns on one (coroutines, goroutines): what "
  .. "a thread counted is not a call's"
local NO_TOTAL = "stacks move between threads here, or take turns on one: which calls are within others is "
  .. "not known"
local NOT_FOLLOWED = "stacks move between threads here, and one thread alone was followed"

-- A command that returns from calls nobody saw begin, although one thread was followed and nothing was lost.
local function has_come_from_elsewhere(call, all)
  return all.path ~= "all threads" and call.orphans ~= 0 and all.threads_seen ~= 0 and all.lost == 0
    and all.observed_ns == 0
end

--- Why the calls have no such value; nil where they have. They have their durations, but where one thread
--- alone was followed, or what is between two points is a thread's.
local function why_not_theirs(self, run, column, is_self)
  local calls_found = found_in(self, run)
  if not self.is_pair and has_come_from_elsewhere(calls_found, run.regions) then return NOT_FOLLOWED end
  if not calls_found.switching or calls_found.switching == 0 then return nil end
  if run.regions.path ~= "all threads" then return NOT_FOLLOWED end
  if column ~= DURATION or self.is_pair then return NOT_THE_CALLS end
  return is_self and NO_TOTAL or nil
end

--- Whether the region's calls are in no known order of callers and callees.
---@param calls pmclua.RegionCalls
---@return boolean
function M.is_switching(calls)
  return lists.any(calls.runs, function(run) return (found_in(calls, run).switching or 0) ~= 0 end)
end

-- Calls nest, so the sum of durations would count time twice.
local function durations(spread)
  return { status = "counted", why = NO_TOTAL, n = spread.n, min = spread.min, max = spread.max,
    mean = spread.n ~= 0 and tonumber(spread.sum) / tonumber(spread.n) or nil }
end

-- Column of the corrected value.
local function column_without(self, run, column)
  return column + (spent.is_taken_off(self, run) and run.regions.costs_from or 0)
end

local function spread_of(self, run, column, is_self)
  return found_in(self, run)[is_self and "self" or "total"][column_without(self, run, column)]
end

-- ---- where there is no number ----------------------------------------------------------------------------

local function no_call(self, values)
  if values.entries == 0 then return self.is_pair and "it never began" or "it was never called" end
  return self.is_pair and "it never ended" or "no call of it returned"
end

-- Why the whole run's count of 0 is no count; nil where it is one.
local function zero_cause(event)
  if reading.is_unverified(event) then return "unverified", reading.why(event, "only-zeros") end
  if not reading.known(event, 0) then return "not-counted", reading.why(event, "too-small") end
end

-- The status of a number that a run lacks, and why; nil where it may have one.
local function absence(self, run, column, event, is_self)
  local calls_found = found_in(self, run)
  -- Probes are on the PMU with the events: what they did not see may have been.
  local is_unseen = run.ran == 0 or run.ran < 1 and calls_found.entries == 0
  if is_unseen then return "not-counted", reading.why(event or {}, "never-on") end
  if self.unseen and calls_found.entries == 0 then return "not-counted", self.unseen end
  local status, why
  if event and run.whole[column] == 0 then status, why = zero_cause(event) end
  if status then return status, why end
  why = why_not_theirs(self, run, column, is_self) or calls_found.calls == 0 and no_call(self, calls_found)
  return why and "not-counted", why
end

-- The run and column with an event's numbers; nil, a status and why where none has them.
local function counted(self, name, is_self)
  local run, column, event = column_of(self, name)
  if not run then return nil, event.status or "not-counted", column end
  local status, why = absence(self, run, column, event, is_self)
  if status then return nil, status, why end
  return run, column, event
end

-- ---- values --------------------------------------------------------------------------------------------

-- The sum over calls of an event, or, without one, of time. Calls that took no time were counted all of it.
local function add_sum(values, event, sums, column, calls)
  local status, ran, cause = "counted", 1, nil
  local has_times = event and tonumber(sums[ENABLED]) ~= 0
  if has_times then status, ran, cause = reading.status(event, sums[ENABLED], sums[RUNNING]) end
  local running = has_times and sums[RUNNING] or nil
  if event and not cause and reading.is_impossible(reading.most_per_ns(event), sums[column], running) then
    status, cause = "not-counted", "impossible"
  end
  values.status, values.why = status, cause and reading.why(event, cause)
  if cause then return end
  values.ran = ran < 1 and ran or nil
  values.sum = tonumber(sums[column]) / (status == "scaled" and ran or 1)
  values.mean = calls > 0 and values.sum / calls or nil
end

--- An event's counts in calls, with or without their callees.
---@param event string an event's field, "duration" or "cpu_time"
---@param itself? boolean without the callees that are regions, too
---@return pmclua.RegionValues
function RegionCalls:values(event, itself)
  local run, column, about = counted(self, event, itself)
  if not run then return { status = column, why = about, n = 0 } end
  local calls_found, spread = found_in(self, run), spread_of(self, run, column, itself)
  if calls_found.switching and calls_found.switching ~= 0 then return durations(spread) end
  local values = { n = spread.n, min = spread.min, max = spread.max }
  local sums = itself and M.self_sums(self, run) or calls_found.outermost
  local calls = calls_found.calls - (itself and 0 or calls_found.nested)
  add_sum(values, about, sums, column, calls)
  if not values.sum then return values end
  values.probing, values.probing_spread = spent.of_calls(self, run, sums, column)
  if itself and calls_found.unsure ~= 0 then
    values.least, values.mean = math.max(0, values.sum - tonumber(calls_found.unsure_sums[column])), nil
  -- The durations of threads overlap.
  elseif column ~= DURATION or #self.threads == 1 then
    values.share = spent.share(run, values, column)
  end
  if self.subtracted and values.probing then spent.take_off(values, calls) end
  return values
end

--- The sums over all calls by themselves, partial ones too.
---@param calls pmclua.RegionCalls
---@param run table
---@return number[]
function M.self_sums(calls, run)
  local sums = {}
  for column = 1, run.regions.width do
    sums[column] = 0
    for _, thread in ipairs(found_in(calls, run).threads) do
      sums[column] = sums[column] + regions.signed(thread.self[column])
    end
  end
  return sums
end

--- The sum for one thread of `threads`, of outermost calls with their callees.
---@param thread table
---@param event string
---@return number?
function RegionCalls:of_thread(thread, event)
  local run, column = column_of(self, event)
  if not run or M.is_switching(self) then return nil end
  local own = lists.find(found_in(self, run).threads, function(other)
    return other.tid == thread.tid and other.pid == thread.pid
  end)
  return own and tonumber(own.outermost[column])
end

-- ---- distributions -------------------------------------------------------------------------------------

--- Every value in order, where every call was kept.
local function kept(self, run, column, is_self)
  local cache = self.sorted[run] or {}
  self.sorted[run] = cache
  local key = column * 2 + (is_self and 1 or 0)
  if cache[key] == nil then
    local list = spent.list(self, run, column, is_self)
    local is_all = #list == spread_of(self, run, column, is_self).n
    cache[key] = is_all and #list > 0 and order.sorted(list) or false
  end
  return cache[key] or nil
end

-- The value of a rank, from 1: in the middle of its bucket; exact where all values are one, or the bucket has a
-- single one.
local function value_at(spread, rank)
  local least, most, seen = tonumber(spread.min), tonumber(spread.max), 0
  for _, bucket in ipairs(spread.buckets) do
    seen = seen + tonumber(bucket.count)
    if seen >= rank then
      local low, high = tonumber(bucket.low), tonumber(bucket.next_low) - 1
      return math.max(least, math.min(most, (low + high) / 2)), least == most or low == high
    end
  end
end

-- A quantile of a histogram, as order.quantile_of has it: between the values of two ranks.
local function from_buckets(spread, p)
  local position = p * (tonumber(spread.n) - 1) + 1
  local below = math.floor(position)
  local value, is_exact = value_at(spread, below)
  if position == below then return value, is_exact end
  local above, is_above_exact = value_at(spread, below + 1)
  return value + (position - below) * (above - value), is_exact and is_above_exact
end

--- A quantile of the calls; nil if there are no calls, or it cannot be told from the cost of probing.
---@param event string
---@param p number from 0 to 1
---@param itself? boolean
---@return number? value
---@return boolean? exact false: within 1/128 of it
function RegionCalls:quantile(event, p, itself)
  local run, column = counted(self, event, itself)
  if not run then return nil end
  local spread = spread_of(self, run, column, itself)
  if spread.n == 0 then return nil end
  local list = kept(self, run, column, itself)
  local value, is_exact
  if list then value, is_exact = order.quantile_of(list, p), true
  else value, is_exact = from_buckets(spread, p) end
  if value <= spent.resolution(self, run, column, itself) then return nil end
  return value, is_exact
end

--- The calls' values that were kept, in the order of their ends.
---@param event string
---@param itself? boolean
---@return number[]
function RegionCalls:list(event, itself)
  local run, column = counted(self, event, itself)
  if not run then return {} end
  return run.regions.calls:values(self.index, column, itself)
end

---@class pmclua.Bar
---@field low number smallest value that falls into it
---@field high number largest
---@field count number calls

--- Why the region's calls have no such value; nil where they may have one.
---@param calls pmclua.RegionCalls
---@param name string
---@return string?
function M.why_not(calls, name)
  local run, column = column_of(calls, name)
  return run and why_not_theirs(calls, run, column)
end

--- All calls as a histogram: single values up to 127, then 64 bars to an octave.
---@param event string
---@param itself? boolean
---@return pmclua.Bar[]
function RegionCalls:histogram(event, itself)
  local run, column = counted(self, event, itself)
  if not run then return {} end
  return lists.map(spread_of(self, run, column, itself).buckets, function(bucket)
    return { low = tonumber(bucket.low), high = tonumber(bucket.next_low) - 1,
      count = tonumber(bucket.count) }
  end)
end

--- A region of a result.
---@param fields table of pmclua.RegionCalls; index, runs, events
---@return pmclua.RegionCalls
function M.new(fields)
  fields.sorted = {}
  return setmetatable(fields, RegionCalls)
end

return M
