--- calls.lua: what came of a command's regions, by names: how often each was called, and what it took.
--
-- Invariant: a number says how it was obtained: a quantile is exact where every call was kept, else it is
-- within a bucket (1/64); what was not counted is nil and a reason.

local explain = require "pmclua.explain"
local meant = require("pmclua.base.arguments").meant
local order = require "pmclua.stats.order"
local signed = require("pmclua.core.regions").signed
local spent = require "pmclua.result.spent"
local text = require "pmclua.base.text"
local reading = require "pmclua.counting.reading"

local M = {}

local DURATION, ENABLED, RUNNING, FIRST_EVENT = 1, 2, 3, 4

---@class pmclua.RegionValues what the calls of a region took of one event
---@field status "counted"|"scaled"|"not-counted"|"unsupported"|"constant-zero"|"unverified"|"placed"|"unwatched"
---@field why string? where there is no number
---@field sum number? of outermost calls with their callees; of all calls where it is itself alone
---@field mean number? of a call
---@field n number calls in the distribution
---@field min number?
---@field max number?
---@field share number? of the whole run's count
---@field least number? `sum` is the most that it may be, and this the least: calls of theirs were left without return
---@field ran number? share of the time that a scaled event was on the PMU
---@field probing number? what of `sum` is, or was, the cost of probing; nil: not known
---@field probing_spread number? by how much that may be wrong
---@field is_below boolean? without it nothing is left that can be told from its spread: there are no numbers

---@class pmclua.RegionCalls one region of one run; numbers of calls are nil where its events were never on the PMU
---@field name string
---@field notes string[]
---@field is_pair boolean between any two points, not a function's calls
---@field entries number
---@field calls number entered and returned
---@field nested number of these within another call of the same region
---@field tails number ended by a jump to another function
---@field unwound number left without return
---@field unfinished number not left when it ended
---@field orphans number returns whose entry was not seen
---@field cut number made useless by lost records
---@field partial number of the calls: not counted throughout
---@field unsure number of the calls: one that they called was left without return, nobody knows when; what they took
---   themselves is only known within bounds
---@field moved number returns that may be of another call, as stacks were copied
---@field switching number of the calls: in processes whose stacks move between threads, or take turns on one
---@field threads { pid: integer, tid: integer, name: string, calls: number }[]
local RegionCalls = {}
RegionCalls.__index = RegionCalls

--- What is said of a region's entries, in this order.
M.FACTS = { "entries", "calls", "nested", "tails", "unwound", "unfinished", "orphans", "cut", "partial",
  "unsure", "moved", "switching" }

-- ---- which column of which pass ------------------------------------------------------------------------

local BUILT_IN = { duration = DURATION, cpu_time = ENABLED }

---@class pmclua.RegionName what a region has values of
---@field field string
---@field title string
---@field unit string
---@field scale number?
---@field event pmclua.Event?
---@field index integer? of the event

-- All that regions have values of, in the order of reports.
local function names_of(events)
  local list = { { field = "duration", title = "duration", unit = "ns" },
    { field = "cpu_time", title = "cpu time", unit = "ns" } }
  for index, event in ipairs(events) do
    list[#list + 1] = { field = event.field, title = event.name, unit = event.unit or "",
      scale = event.scale or 1, event = event, index = index }
  end
  return list
end

-- The one of that name; raises where there is none.
local function named(events, name)
  local field, titles = name:gsub("-", "_"), {}
  for i, about in ipairs(names_of(events)) do
    if about.field == field then return about end
    titles[i] = about.title
  end
  error(explain.problem { code = "ENOENT", operation = "report",
    message = ("regions have no '%s'"):format(name),
    hint = text.meant_or_all(name, titles) }, 0)
end

--- The run and column of a name; nil and why there is none. Raises for a name that nothing has.
local function column_of(self, name)
  local about = named(self.events, name)
  if BUILT_IN[about.field] then return self.runs[1], BUILT_IN[about.field], nil end
  for _, run in ipairs(self.runs) do
    if run.columns[about.index] then return run, run.columns[about.index], about.event end
  end
  return nil, about.event.why or "it was not counted", about.event
end

local function region_in(self, run) return run.regions[self.index] end

-- ---- stacks that threads share -------------------------------------------------------------------------

local NOT_THE_CALLS = "stacks move between threads here, or take turns on one (coroutines, goroutines): what "
  .. "a thread counted is not a call's"
local NO_TOTAL = "stacks move between threads here, or take turns on one: which calls are within others is "
  .. "not known"
local NOT_FOLLOWED = "stacks move between threads here, and one thread alone was followed"

-- Returns from calls that began where nobody looked: of a command they show that, where one thread of
-- several was followed and nothing was lost.
local function has_come_from_elsewhere(found, regions)
  return regions.path ~= "all threads" and found.orphans ~= 0 and regions.threads_seen ~= 0
    and regions.lost == 0 and regions.observed_ns == 0
end

--- Why the calls have no such value; nil where they have. They have their durations, but where one thread
--- alone was followed, or what is between two points is a thread's.
local function why_not_theirs(self, run, column, is_self)
  local found = region_in(self, run)
  if not self.is_pair and has_come_from_elsewhere(found, run.regions) then return NOT_FOLLOWED end
  if not found.switching or found.switching == 0 then return nil end
  if run.regions.path ~= "all threads" then return NOT_FOLLOWED end
  if column ~= DURATION or self.is_pair then return NOT_THE_CALLS end
  return is_self and NO_TOTAL or nil
end

--- Whether the region's calls are in no known order of callers and callees.
---@return boolean
function RegionCalls:is_switching()
  for _, run in ipairs(self.runs) do
    if (region_in(self, run).switching or 0) ~= 0 then return true end
  end
  return false
end

-- Durations alone are of calls: their sum would count those within others twice.
local function durations(spread)
  return { status = "counted", why = NO_TOTAL, n = spread.n, min = spread.min, max = spread.max,
    mean = spread.n ~= 0 and tonumber(spread.sum) / tonumber(spread.n) or nil }
end

-- Without what probing costs, where that is to be taken off: so much further.
local function column_without(self, run, column)
  return column + (spent.is_taken_off(self, run) and run.regions.costs_from or 0)
end

local function spread_of(self, run, column, is_self)
  return region_in(self, run)[is_self and "self" or "total"][column_without(self, run, column)]
end

-- ---- values --------------------------------------------------------------------------------------------

--- How a sum over calls was counted: its share of the time on the PMU.
local function share_on_pmu(raw)
  local enabled, running = tonumber(raw[ENABLED]), tonumber(raw[RUNNING])
  if enabled == 0 or running >= enabled then return 1 end
  return running / enabled
end

local KEPT_OFF = "it never ran: the PMU had no counter free for it"     -- or for the probes beside it

local function fill_sums(values, raw, column, calls, is_placed)
  local ran = share_on_pmu(raw)
  if column >= FIRST_EVENT and ran == 0 then
    values.status, values.why = "not-counted", KEPT_OFF
    return
  end
  local is_whole = column < FIRST_EVENT or ran == 1
  values.status = is_whole and "counted" or is_placed and "placed" or "scaled"
  values.ran = not is_whole and ran or nil
  values.sum = tonumber(raw[column]) / (values.status == "scaled" and ran or 1)
  values.mean = calls > 0 and values.sum / calls or nil
end

local function no_call(self, region)
  if region.entries == 0 then return self.is_pair and "it was never begun" or "it was never called" end
  return self.is_pair and "it never came to its end" or "no call of it returned"
end

--- What the calls took of an event, with their callees or by themselves.
---@param name string an event's field, "duration" or "cpu_time"
---@param is_self? boolean without the callees that are regions, too
---@return pmclua.RegionValues
function RegionCalls:values(name, is_self)
  local run, column, event = column_of(self, name)
  if not run then
    return { status = event.status or "not-counted", why = column, n = 0 }
  end
  if run.ran == 0 or run.ran < 1 and region_in(self, run).entries == 0 then
    return { status = "not-counted", why = KEPT_OFF, n = 0 }
  end
  if event and reading.is_unverified(event) and tonumber(run.whole[column]) == 0 then
    return { status = "unverified", why = reading.why(event, "only-zeros"), n = 0 }
  end
  local region = region_in(self, run)
  local spread = spread_of(self, run, column, is_self)
  local why = why_not_theirs(self, run, column, is_self)
  if why then return { status = "not-counted", why = why, n = 0 } end
  if region.calls == 0 then return { status = "not-counted", why = no_call(self, region), n = 0 } end
  if region.switching and region.switching ~= 0 then
    return durations(spread)
  end
  local values = { n = spread.n, min = spread.min, max = spread.max }
  local raw = is_self and self:self_sums(run) or region.outermost
  local calls = region.calls - (is_self and 0 or region.nested)
  fill_sums(values, raw, column, calls, event and event.core_cpus)
  if not values.sum then return values end
  values.probing, values.probing_spread = spent.of_calls(self, run, raw, column, is_self)
  if is_self and region.unsure ~= 0 then
    values.least, values.mean = math.max(0, values.sum - tonumber(region.unsure_sums[column])), nil
  -- The durations of threads overlap.
  elseif column ~= DURATION or #self.threads == 1 then
    values.share = spent.share(run, values, column)
  end
  if self.subtracted and values.probing then spent.take_off(values, calls) end
  return values
end

--- The sums over all calls by themselves, partial ones too.
function RegionCalls:self_sums(run)
  local sums = {}
  for column = 1, run.regions.width do
    sums[column] = 0
    for _, thread in ipairs(region_in(self, run).threads) do
      sums[column] = sums[column] + signed(thread.self[column])
    end
  end
  return sums
end

--- The sum for one thread of `threads`, of outermost calls with their callees.
---@param thread table
---@param name string
---@return number?
function RegionCalls:of_thread(thread, name)
  local run, column = column_of(self, name)
  if not run or self:is_switching() then return nil end
  for _, other in ipairs(region_in(self, run).threads) do
    if other.tid == thread.tid and other.pid == thread.pid then return tonumber(other.outermost[column]) end
  end
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

-- The value that stands at a whole place in order: in the middle of its bucket; exact where all values are
-- one, or the bucket has a single one.
local function at_place(spread, place)
  local least, most, seen = tonumber(spread.min), tonumber(spread.max), 0
  for _, bucket in ipairs(spread.buckets) do
    seen = seen + tonumber(bucket.count)
    if seen >= place then
      local low, high = tonumber(bucket.low), tonumber(bucket.next_low) - 1
      return math.max(least, math.min(most, (low + high) / 2)), least == most or low == high
    end
  end
end

-- A quantile of a histogram, as order.quantile_of has it: between the values at two places.
local function from_buckets(spread, p)
  local position = p * (tonumber(spread.n) - 1) + 1
  local below = math.floor(position)
  local value, is_exact = at_place(spread, below)
  if position == below then return value, is_exact end
  local above, is_above_exact = at_place(spread, below + 1)
  return value + (position - below) * (above - value), is_exact and is_above_exact
end

--- A quantile of the calls; nil where there is none, or none that could be told from what probing costs.
---@param name string
---@param p number from 0 to 1
---@param is_self? boolean
---@return number? value
---@return boolean? exact false: within 1/128 of it
function RegionCalls:quantile(name, p, is_self)
  local run, column = column_of(self, name)
  if not run or why_not_theirs(self, run, column, is_self) then return nil end
  local spread = spread_of(self, run, column, is_self)
  if spread.n == 0 then return nil end
  local list = kept(self, run, column, is_self)
  local value, is_exact
  if list then value, is_exact = order.quantile_of(list, p), true
  else value, is_exact = from_buckets(spread, p) end
  if value <= spent.resolution(self, run, column, is_self) then return nil end
  return value, is_exact
end

--- The calls' values that were kept, in the order of their ends.
---@param name string
---@param is_self? boolean
---@return number[]
function RegionCalls:list(name, is_self)
  local run, column = column_of(self, name)
  if not run or why_not_theirs(self, run, column, is_self) then return {} end
  return run.regions.calls:values(self.index, column, is_self)
end

---@class pmclua.Bar
---@field low number smallest value that falls into it
---@field high number largest
---@field count number calls

--- Why the region's calls have no such value; nil where they may have one.
---@param name string
---@param is_self? boolean
---@return string?
function RegionCalls:why_not(name, is_self)
  local run, column = column_of(self, name)
  return run and why_not_theirs(self, run, column, is_self)
end

--- All calls as a histogram: single values up to 127, then 64 bars to an octave.
---@param name string
---@param is_self? boolean
---@return pmclua.Bar[]
function RegionCalls:histogram(name, is_self)
  local run, column = column_of(self, name)
  if not run or why_not_theirs(self, run, column, is_self) then return {} end
  local spread, bars = spread_of(self, run, column, is_self), {}
  for _, bucket in ipairs(spread.buckets) do
    bars[#bars + 1] = { low = tonumber(bucket.low), high = tonumber(bucket.next_low) - 1,
      count = tonumber(bucket.count) }
  end
  return bars
end

-- ---- all regions ---------------------------------------------------------------------------------------

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
---@field subtracted? boolean numbers of calls are without what an empty function's are
local RegionResult = require("pmclua.base.methods").extend({}, "pmclua.RegionResult")
RegionResult.__index = RegionResult

--- The result of a command's runs, one for each pass over its events.
---@param about { command: string, regions: pmclua.Region[], events: pmclua.Event[] }
---@param runs { result: table, columns: table<integer, integer> }[]  columns: by index of the event
---@return pmclua.RegionResult
function M.new(about, runs)
  local first = runs[1].result
  local self = { command = about.command, events = about.events, outcome = first.outcome, exit = first.exit,
    signal = first.signal, wall_ns = first.wall_ns, runs = runs, dropped = first.dropped,
    unseen = first.unseen, left = first.left }
  for _, name in ipairs { "path", "samples", "lost", "threads_seen", "threads_followed" } do
    self[name] = first.regions[name]
  end
  self.target_ended = first.regions.target_ended ~= 0
  self.skipped = about.regions.skipped or {}
  if first.regions.observed_ns ~= 0 then
    self.observed = math.min(1, tonumber(first.regions.observed_ns) / tonumber(first.wall_ns))
  end
  for _, run in ipairs(runs) do
    self.cost_unknown = self.cost_unknown or run.cost_unknown
    run.regions, run.whole = run.result.regions, { tonumber(first.wall_ns) }
    for i, word in ipairs(run.result.readings) do run.whole[i + 1] = tonumber(word) end
    run.ran = run.whole[ENABLED] and share_on_pmu(run.whole) or 1
    self.ran = math.min(self.ran or 1, run.ran)
  end
  for i, region in ipairs(about.regions) do
    local calls = { index = i, name = region.name, notes = region.notes, runs = runs, events = about.events,
      is_pair = region.points[1].kind == "from",
      threads = first.regions[i].threads, sorted = {} }
    for _, name in ipairs(runs[1].ran > 0 and M.FACTS or {}) do calls[name] = first.regions[i][name] end
    self[i] = setmetatable(calls, RegionCalls)
    if self[i]:is_switching() then calls.nested, calls.unsure = nil, nil end
  end
  return setmetatable(self, RegionResult)
end

--- From now on numbers of calls, and their histograms, are without what probing costs; single calls stay as
--- they were counted. Nothing is done for regions of which that is not known.
function RegionResult:subtract()
  self.subtracted = true
  for _, region in ipairs(self) do region.subtracted, region.sorted = true, {} end
end

--- What all probes of the first run cost it; nil where that is not known.
---@param name "duration"|"cpu_time"
---@return number? cost
---@return number? spread
---@return number? whole of the run, with that
function RegionResult:probing(name)
  local run, column = self.runs[1], BUILT_IN[name]
  local cost, spread = spent.of_run(run, column)
  return cost, spread, run.whole[column]
end

--- The region of that name; raises where there is none.
---@param name string
---@return pmclua.RegionCalls
function RegionResult:region(name)
  local names = {}
  for i, region in ipairs(self) do
    if region.name == name then return region end
    names[i] = region.name
  end
  explain.misuse(("no region is called '%s'%s"):format(name, meant(name, names)), 2)
end

--- All that its regions have values of, in the order of reports.
---@return pmclua.RegionName[]
function RegionResult:names() return names_of(self.events) end

--- The one of that name; raises where there is none.
---@param name string
---@return pmclua.RegionName
function RegionResult:named(name) return named(self.events, name) end

function RegionResult:__tostring() return self:report() end

return M
