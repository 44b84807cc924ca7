--- warning.lua: what a reader should know of measured cells before believing their numbers.
--
-- Invariant: pure: facts in, sentences out. A warning says what was seen with its figure, and its hint
-- what to do next, not what the user does already. Nothing is warned of that chance alone often brings.
-- Checks that depend on the order of time (drift, outliers, the first) look within a run, never across ranks.

local DEFAULT_MARGIN = require("pmclua.verdict").DEFAULT_MARGIN
local distribution = require "pmclua.stats.distribution"
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"
local text = require "pmclua.base.text"

local M = {}

local DRIFT = 0.5                   -- rank correlation of order and value
local DRIFT_BY_CHANCE = 0.01        -- of cells: r·√(n-1) is so large by chance in no more
local DRIFT_LOOKED_AT = 10000       -- values; of more, evenly spaced ones
local MIXED_BY_CHANCE = 0.01        -- of cells of several equal runs
local OVERHEAD = 0.01               -- share of a count
local FEWEST = 6                    -- values that a 95 % interval of a median needs
local MOVED, MOVED_TO_RUN = 0.0005, 4   -- share between layouts; variance of these to that of runs
local COUNT_SPREAD, TIME_SPREAD = 0.001, 0.05   -- anchors closer than this agree: counts; times, of equal work
local UNCOUNTED, LONG_ENOUGH_NS = 0.5, 10e6
local IDLE, LONG_WAIT_NS = 0.02, 100e6  -- share of the wall time that a command used a CPU
local FEW_WAITS, WAIT_NS = 3, 50e3  -- repetitions looked at; a shorter wait is what any wake-up takes
local IMPOSSIBLE_NS = 0.01          -- one turn of the shortest loop takes a cycle, 20 times as much

---@class pmclua.Warning
---@field kind "drift"|"outliers"|"scaled"|"few"|"first"|"anchors"|"small"|"exit"|"uncounted"|"empty"|
---   "kept_off"|"snippet"|"waited"|"moved"|"idle"|"mixed"
---@field message string
---@field hint string
---@field cell string label of the cell; the first where several share the warning
---@field cells string[] labels of all

---@class pmclua.WarningEvent one event or metric of a cell
---@field title string
---@field values number[] in the order of measuring
---@field runs? number[][] the same by run, if there are several: ranks, files, hosts
---@field summary? pmclua.Summary of the values, where it is at hand (stats.summary)
---@field status string as in records
---@field ran? number share of the time, where scaled
---@field overhead? number what starting and stopping adds to each count
---@field moved? pmclua.Components of instructions whose code lay elsewhere in each layout
---@field kept_off? integer repetitions in which it was enabled and never on the PMU

---@class pmclua.WarningCell
---@field label string
---@field warmups? integer made; nil: values are entries of a region, whose first may well differ
---@field events pmclua.WarningEvent[]
---@field are_ranks? boolean runs are ranks
---@field in_passes? boolean events are counted in passes that the PMU holds
---@field margin? number share that matters; default 0.01
---@field exits? table<integer, integer> exit status (not 0) to number of repetitions
---@field outcomes? table<string, integer> other ends ("signalled", "timed-out", …) to repetitions
---@field repetitions? integer asked for; for the two above
---@field iteration_ns? number median wall time of an iteration of a kernel
---@field enabled_ns? number median enabled time of an event of the command
---@field cpu_ns? number median user and system time of the command (rusage)
---@field wall_ns? number the same of its wall time; nil: nothing is to be said of how long it waited
---@field waited? { count: integer, over: integer, wait_ns: number, wall_ns: number } of a command's repetitions:
---   how many, how many of them waited for a CPU for more than the margin; ns that all waited, and took
---@field repetitions_of_a_layout? integer where layouts were drawn: values of one are not independent
---@field machine_code? pmclua.Copies of a snippet: what the compiler made of it
---@field anchors? { title: string, passes: number[][], unit?: string }[] values of one event in each pass

local function runs_of(event, summary)
  if not event.runs then return { { values = event.values, summary = summary } } end
  return lists.map(event.runs, function(values)
    return { values = values, summary = stats.summary(values) }
  end)
end

local function counted_events(cell)
  local counted = lists.where(cell.events, function(event) return #event.values > 0 end)
  return lists.map(counted, function(event)
    local summary = event.summary or stats.summary(event.values)
    return setmetatable({ summary = summary, runs = runs_of(event, summary) }, { __index = event })
  end)
end

local checks = {}

-- ---- repetitions ------------------------------------------------------------------------------------

function checks.few(cell, events)
  local most = 0
  -- Simulated counts are repeated as often as they need it.
  local counted = lists.where(events, function(event) return event.status ~= "simulated" end)
  for _, event in ipairs(counted) do most = math.max(most, #event.values) end
  local fewest = FEWEST * (cell.repetitions_of_a_layout or 1)
  local are_exact = lists.all(counted, function(event) return event.summary.exact end)
  if most == 0 or most >= fewest or cell.repetitions == 1 or are_exact then return end
  return ("%s: no 95 %% interval can be given"):format(text.plural(most, "repetition")),
         ("ask for %d repetitions or more"):format(fewest)
end

local function is_slow_at_first(run)
  local values = run.values
  if #values < FEWEST then return false end
  for i = 2, #values do
    if values[i] >= values[1] then return false end
  end
  return run.summary.outliers[1] == 1
end

-- Most runs are so: of many ranks one may be by chance.
local function starts_slow(event)
  return 2 * #lists.where(event.runs, is_slow_at_first) > #event.runs
end

function checks.first(cell, events)
  if not cell.warmups then return end
  local slow, worst = lists.where(events, starts_slow), 1
  for _, run in ipairs(lists.joined(lists.column(slow, "runs"))) do
    if is_slow_at_first(run) then worst = math.max(worst, run.values[1] / run.summary.median) end
  end
  if #slow == 0 then return end
  local hint = cell.warmups == 0 and "run warm-up repetitions first: warmup = 3"
    or ("%s not enough: run more"):format(cell.warmups == 1 and "one warm-up is"
                                           or cell.warmups .. " warm-ups are")
  return ("the first repetition is the largest of all in %s (%s times the median)")
    :format(text.list(lists.column(slow, "title")), text.ratio(worst)), hint
end

-- Where code lies cannot change which instructions are executed.
function checks.moved(_, events)
  for _, event in ipairs(events) do
    local moved = event.moved
    if moved and (moved.between_share or 0) > MOVED and moved.between > MOVED_TO_RUN * moved.within then
      return ("%s change with where the code lies: by %s between layouts, by %s between runs of one")
        :format(event.title, text.percent(moved.between_share), text.percent(moved.within_share)),
        "the builds differ in more than places, or the program depends on its addresses"
    end
  end
end

function checks.outliers(_, events)
  local parts = lists.map(events, function(event)
    local flagged, is_slow = 0, starts_slow(event)
    for _, run in ipairs(event.runs) do
      local is_first = is_slow and is_slow_at_first(run)
      if #run.values >= FEWEST then flagged = flagged + #run.summary.outliers - (is_first and 1 or 0) end
    end
    if flagged == 0 then return nil end
    return ("%d of %d values of %s"):format(flagged, #event.values, event.title)
  end)
  if #parts == 0 then return end
  return "outliers, kept: " .. text.list(parts),
         "something else ran now and then: pin the workload, quiet the machine, or trust the medians"
end

local function drift_of(run, margin, runs)
  local values, summary = run.values, run.summary
  if #values < FEWEST or summary.q3 - summary.q1 <= margin * math.abs(summary.median) then return nil end
  local order, sample = {}, {}
  for i = 1, #values, math.ceil(#values / DRIFT_LOOKED_AT) do
    order[#order + 1], sample[#sample + 1] = i, values[i]
  end
  local r = stats.spearman(order, sample) or 0
  if math.abs(r) <= DRIFT then return nil end
  local by_chance = distribution.normal_upper(DRIFT_BY_CHANCE / 2 / runs)
  return math.abs(r) * math.sqrt(#sample - 1) >= by_chance and r or nil
end

local function said_drift(event, margin)
  local drifts = lists.map(event.runs, function(run) return drift_of(run, margin, #event.runs) end)
  if #drifts == 0 then return nil end
  table.sort(drifts, function(a, b) return math.abs(a) > math.abs(b) end)
  local where = #event.runs > 1 and (" in %d of %d runs"):format(#drifts, #event.runs) or ""
  return ("%s %s%s (rank correlation with time %.2f)"):format(event.title, drifts[1] > 0 and "grew" or "fell",
    where, drifts[1])
end

function checks.drift(cell, events)
  local parts = lists.map(events, function(event) return said_drift(event, cell.margin or DEFAULT_MARGIN) end)
  if #parts == 0 then return end
  return "drift: " .. text.list(parts),
         "the machine's state changed (clock, heat, caches, memory): warm it up longer, or fix its frequency"
end

-- How much apart the medians of the lowest and the highest run are, where that is more than chance (Bonferroni over
-- all pairs of runs).
local function said_mixed(event, margin)
  local runs, middle = lists.copy(event.runs), math.abs(event.summary.median)
  table.sort(runs, function(a, b) return a.summary.median < b.summary.median end)
  local low, high, pairs_of_runs = runs[1], runs[#runs], #runs * (#runs - 1) / 2
  local apart = high.summary.median - low.summary.median
  if middle == 0 or apart <= margin * middle then return nil end
  if stats.mann_whitney(low.values, high.values).p * pairs_of_runs >= MIXED_BY_CHANCE then return nil end
  return ("%s by %s"):format(event.title, text.percent(apart / middle))
end

function checks.mixed(cell, events)
  if cell.are_ranks then return end
  local parts = lists.map(events, function(event) return said_mixed(event, cell.margin or DEFAULT_MARGIN) end)
  if #parts == 0 then return end
  return ("the %d runs that were merged differ: %s"):format(#events[1].runs, text.list(parts)),
    "the median is that of a mixture, and its interval holds for no other: tell them apart (merge --by file)"
end

-- ---- counting ---------------------------------------------------------------------------------------

function checks.scaled(cell)
  local scaled = lists.where(cell.events, function(event) return event.status == "scaled" end)
  if #scaled == 0 then return end
  local least = math.min(1, unpack(lists.column(scaled, "ran")))
  return ("%s shared the counters and are estimates (each was counted at least %s of the time on average)")
    :format(text.list(lists.column(scaled, "title")), text.percent(least)),
    cell.in_passes and "stop whatever else is counting (another perf, an NMI watchdog)"
    or "count them in passes: --passes rerun"
end

function checks.small(_, events)
  local parts = lists.map(events, function(event)
    local median = event.summary.median
    if not event.overhead or event.overhead <= OVERHEAD * median then return nil end
    return ("%s of %s"):format(median > 0 and text.percent(event.overhead / median) or "all", event.title)
  end)
  if #parts == 0 then return end
  return "the measured work is small: starting and stopping the counters adds " .. text.list(parts),
         "raise iterations, or have the cost fitted: iterations = \"fit\""
end

function checks.empty(cell)
  if (cell.machine_code or {}).empty then return end
  if not cell.iteration_ns or cell.iteration_ns >= IMPOSSIBLE_NS then return end
  return ("an iteration took %.1g ns, less than any instruction does: nothing was measured")
    :format(cell.iteration_ns),
    "the compiler removed the work (pmclua_keep(x) keeps x), or the function does not repeat it"
end

function checks.snippet(cell)
  local code = cell.machine_code
  if not code then return end
  if code.empty then
    return "the snippet is empty: this is what the loop alone costs", "subtract it from what others cost"
  elseif code.copies == nil then
    return "its machine code cannot be read: pmclua cannot tell whether the work is in the loop",
      "compile it without -flto"
  elseif code.copies == 0 then
    return "the compiler left no instruction of the snippet: this is what the loop alone costs",
      "have it change a variable that init declares, or pass its result to pmclua_keep(x)"
  elseif code.copies < code.unroll then
    return ("of %d copies of the snippet only %d have instructions: the compiler merged the others")
      :format(code.unroll, code.copies), "divide by that number, or make each copy depend on the one before"
  end
end

local function differ(a, b, least)
  return math.abs(a.median - b.median) > math.max(a.q3 - a.q1, b.q3 - b.q1, least * math.abs(a.median))
end

function checks.anchors(cell)
  for _, anchor in ipairs(cell.anchors or {}) do
    local is_time, first = anchor.unit == "ns", stats.summary(anchor.passes[1] or {})
    local say, spread = is_time and text.time or text.short, is_time and TIME_SPREAD or COUNT_SPREAD
    for pass = 2, #anchor.passes do
      local other = stats.summary(anchor.passes[pass])
      if first and other and differ(first, other, spread) then
        return ("%s was %s in pass 1 and %s in pass %d: ratios of events of different passes are uncertain")
          :format(anchor.title, say(first.median), say(other.median), pass),
          "put events that are divided by each other into one group: {a,b}"
      end
    end
  end
end

function checks.uncounted(cell)
  local enabled, cpu = cell.enabled_ns, cell.cpu_ns
  if not enabled or not cpu or cpu < LONG_ENOUGH_NS or enabled >= UNCOUNTED * cpu then return end
  return ("counting covered %s of %s of CPU time: Linux dropped the events"):format(
    text.time(enabled), text.time(cpu)),
    require("pmclua.explain.dropped").CAUSES
end

-- Work of a daemon or another machine for a command is in none of the command's counts.
function checks.idle(cell)
  local wall, cpu = cell.wall_ns, cell.cpu_ns
  if not wall or not cpu or wall < LONG_WAIT_NS or cpu >= IDLE * wall then return end
  return ("it only waited: it used %s of CPU time in %s"):format(text.time(cpu), text.time(wall)),
    "if another process works for it (a daemon, another machine), no count has that: measure it there"
end

function checks.kept_off(cell)
  local kept_off = lists.where(cell.events, function(event) return (event.kept_off or 0) > 0 end)
  if #kept_off == 0 then return end
  local most = math.max(unpack(lists.column(kept_off, "kept_off")))
  return ("%s never on the PMU in %s: something else was using its counters")
    :format(text.list(lists.column(kept_off, "title")), text.plural(most, "repetition")),
    "stop that (another perf, an NMI watchdog), or count fewer events at once"
end

--- Whether a repetition waited for a CPU for more than the margin. The delay of an ordinary wake-up does not count.
---@param wait_ns number
---@param wall_ns number
---@param margin number
---@return boolean
function M.has_waited(wait_ns, wall_ns, margin) return wait_ns > margin * wall_ns and wait_ns > WAIT_NS end

-- Looks at the total time: one long wait is noise as well as many short ones.
function checks.waited(cell)
  local waited, margin = cell.waited, cell.margin or DEFAULT_MARGIN
  if not waited or waited.count < FEW_WAITS then return end
  local wait_ns, wall_ns, over = waited.wait_ns, waited.wall_ns, waited.over
  if over < 2 or wait_ns <= margin * wall_ns then return end
  local has_clock = lists.any(cell.events, function(event) return event.title == "task-clock" end)
  return ("noise: it waited for a CPU for %s of its time (more than %s in %d of %s)"):format(
    text.percent(wait_ns / wall_ns), text.percent(margin), over, text.plural(waited.count, "repetition")),
    "something else had the CPUs, or its own threads and children: quiet the machine, pin it to an idle "
    .. "CPU, or "
    .. (has_clock and "look at task-clock, which leaves that out" or "compare CPU time (task-clock)")
end

-- ---- how the repetitions ended ------------------------------------------------------------------------

function checks.exit(cell)
  local parts = {}
  for status, count in pairs(cell.exits or {}) do
    if status ~= 0 then parts[#parts + 1] = ("%d with exit status %d"):format(count, status) end
  end
  for outcome, count in pairs(cell.outcomes or {}) do
    parts[#parts + 1] = ("%d %s"):format(count, outcome)
  end
  if #parts == 0 or cell.repetitions == 1 then return end
  table.sort(parts)
  local of = cell.repetitions and " of " .. text.plural(cell.repetitions, "repetition") or ""
  local have_output = #parts > 1 or not (cell.outcomes or {}).raised
  return ("not all%s ended well: %s"):format(of, text.list(parts)),
    (have_output and "look at the workload's output; " or "") .. "its failed runs may not have done the work"
end

-- First the warnings of wrong numbers, then those of uncertain ones.
local IN_ORDER = { "exit", "snippet", "empty", "uncounted", "idle", "kept_off", "moved", "scaled", "small",
  "anchors", "mixed", "waited", "first", "drift", "outliers", "few" }

--- The warnings of one cell, the gravest first.
---@param cell pmclua.WarningCell
---@return pmclua.Warning[]
function M.of_cell(cell)
  local list, events = {}, counted_events(cell)
  for _, kind in ipairs(IN_ORDER) do
    local message, hint = checks[kind](cell, events)
    if message then
      list[#list + 1] = { kind = kind, message = message, hint = hint, cell = cell.label,
        cells = { cell.label } }
    end
  end
  return list
end

--- The warnings of all cells, one of each kind, the gravest first.
---@param cells any[]
---@param read fun(cell: any): pmclua.WarningCell  one after another: all values of all cells would not fit into memory
---@return pmclua.Warning[]
function M.check(cells, read)
  local all = lists.joined(lists.map(cells, function(cell) return M.of_cell(read(cell)) end))
  local kinds = lists.by(lists.groups(all, function(warning) return warning.kind end), "key")
  return lists.map(IN_ORDER, function(kind)
    local first = kinds[kind] and kinds[kind][1]
    if first then first.cells = lists.column(kinds[kind], "cell") end       -- what it says goes for all of them
    return first
  end)
end

return M
