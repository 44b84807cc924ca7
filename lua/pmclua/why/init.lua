--- why/init.lua: what the difference between two cells of a result consists of. This file is the table of contents.
--
-- Invariant: everything follows from the records of the result. What was not measured costs its ledger,
-- with a line of reason, and none of the others.

local chains = require "pmclua.why.chains"
local cell_key = require "pmclua.result.cell_key"
local complete = require "pmclua.result.complete"
local cycles = require "pmclua.why.cycles"
local clusters = require "pmclua.result.clusters"
local DEFAULT_MARGIN = require("pmclua.verdict").DEFAULT_MARGIN
local heap = require "pmclua.why.heap"
local kinds = require "pmclua.workload.kinds"
local ledger = require "pmclua.ledger"
local lines = require "pmclua.why.lines"
local linux = require "pmclua.why.linux"
local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"
local average = require("pmclua.stats.mean").average
local profiles = require "pmclua.result.profiles"
local own_sides = require "pmclua.why.sides"
local suspects = require "pmclua.why.suspects"
local text = require "pmclua.base.text"
local together = require "pmclua.why.together"

local M = {}

---@class pmclua.Why
---@field a pmclua.Cell
---@field b pmclua.Cell
---@field n integer pairs, or repetitions of each where they are not paired
---@field time? pmclua.Ledger the first thread's time: on CPUs, waiting for one, off CPU
---@field ledger? pmclua.Ledger what takes the time
---@field waits? pmclua.Ledger what others did while the first thread waited for them
---@field cycles? pmclua.Ledger cycles, or slots (`of` says which), by node of the vendor's tree
---@field allocations pmclua.WhyAllocations[] blocks and bytes by the function that allocates them
---@field others? { a: number, b: number } mean ns of CPU time of other threads and of children, in the
---  ledger's total
---@field numbers? pmclua.WhyLine[] system calls of which only the number is known
---@field suspects pmclua.Suspect[] what else differs
---@field absent { what: string, why: string }[] what was not measured
---@field sentence string
---@field margin number a share: what differs by less is a trifle
---@field result pmclua.Result
---@field plan? table what pmc.why chose to measure (collect.lua)
local Why = require("pmclua.public.class").new("measuring", "why",
  "time ledger waits cycles others plan of groups numbers")

-- ---- the ledgers ----

local function sampled_event(result)
  for _, name in ipairs(profiles.events(result)) do
    local event = lists.find(result.events, function(own) return own.name == name end)
    if event and event.unit == "ns" and event.source ~= "valgrind" then return event end
  end
end

-- Splits the time on CPUs into user space and Linux: by samples, if there are any of both, else by Linux's own ticks;
-- nil where other threads and children had a share.
local function split_cpu(side, in_linux)
  local user, kernel = {}, {}
  for i, on in ipairs(side.on_cpu_time) do
    local both = side.user[i] + side.system[i]
    local share = both > 0 and side.system[i] / both or 0
    if in_linux then share = math.min(1, in_linux[i] / math.max(1, side.clock[i])) end
    kernel[i] = math.floor(on * share)
    user[i] = on - kernel[i]
  end
  return user, kernel
end

local function time_lines(self, sides, sampled)
  local a, b, list = sides.a, sides.b, {}
  if not self.others and a.user then
    local in_linux = sampled and sampled.times.a and a.clock and b.clock and sampled.in_linux or {}
    local user_a, kernel_a = split_cpu(a, in_linux.a)
    local user_b, kernel_b = split_cpu(b, in_linux.b)
    list[1] = { key = "user", label = "in user space", a = user_a, b = user_b }
    list[2] = { key = "system", label = "in Linux", a = kernel_a, b = kernel_b }
  end
  for _, time in ipairs { { "on_cpu_time", "on a CPU" }, { "wait_time", "waiting for a CPU" },
    { "off_cpu_time", "off CPU" } } do
    if time[1] ~= "on_cpu_time" or #list == 0 then
      list[#list + 1] = { key = time[1], label = time[2], a = a[time[1]], b = b[time[1]] }
    end
  end
  return list
end

-- Less than that of others is what it takes to launch a command, and no thread of its own.
local OTHERS_NS, OTHERS_SHARE = 1e6, 0.05

local function others_of(side)
  local list, sum, whole = {}, 0, 0
  for i, on in ipairs(side.on_cpu_time) do
    list[i] = math.max(0, side.user[i] + side.system[i] - on)
    sum, whole = sum + list[i], whole + side.duration_time[i]
  end
  local mean = sum / #list
  return list, mean, mean > OTHERS_NS and sum > OTHERS_SHARE * whole
end

local function find_others(self, sides)
  if not sides.a.user then return end
  local a, mean_a, is_a = others_of(sides.a)
  local b, mean_b, is_b = others_of(sides.b)
  if not (is_a or is_b) then return end
  self.others = { a = mean_a, b = mean_b }
  sides.a.others, sides.b.others = a, b
end

-- With others, their time on CPUs is added and the first thread's waits for them are not.
local function totals(side)
  local list = lists.copy(side.duration_time)
  for i in ipairs(list) do
    list[i] = list[i] + (side.others and side.others[i] or 0) - (side.traced and side.traced.waited[i] or 0)
  end
  return list
end

local function fault_counts(self, sides)
  local counts = {}
  for side, cell in pairs { a = self.a, b = self.b } do
    local values = own_sides.values(cell, "page_faults")
    counts[side] = values and average(own_sides.listed(values, sides.indices[side]))
  end
  return counts.a and counts.b and counts or nil
end

local function all_lines(self, sides, sampled)
  local calls, numbers = { lines.off_cpu(sides) }, {}
  if sides.a.calls then
    for _, side in pairs { sides.a, sides.b } do side.traced = linux.traced(side, self.others ~= nil) end
    sides.faults = fault_counts(self, sides)
    calls, numbers = linux.lines(sides, sampled and sampled.times or {})
  end
  self.numbers = numbers
  local of_samples = sampled or { functions = {}, rest = {} }
  return together.join(lists.joined { of_samples.functions, calls, of_samples.rest, lines.wait(sides) },
    numbers)
end

local function cost_ledger(self, sides, sampled)
  local own = all_lines(self, sides, sampled)
  return ledger.new { unit = "ns", paired = self.paired, groups = self.groups, margin = self.margin,
    lines = own, a = totals(sides.a), b = totals(sides.b) }
end

local function add_ledgers(self, sides)
  self.groups = self.paired and clusters.of_blocks({ self.a, self.b }, sides.indices.a) or nil
  find_others(self, sides)
  local sampled = sides.a.profiles and lines.sampled(sides, self.paired)
  self.time = ledger.new { unit = "ns", paired = self.paired, groups = self.groups,
    lines = time_lines(self, sides, sampled), a = sides.a.duration_time, b = sides.b.duration_time }
  self.ledger = cost_ledger(self, sides, sampled)
  self.waits = sides.a.calls and chains.of(sides, { paired = self.paired, groups = self.groups,
    margin = self.margin, total = self.ledger.total }) or nil
end

-- ---- what is not there ----

local FUNCTIONS, CALLS, SIMULATED = "functions", "system calls", "simulated counts"
local CYCLES, ALLOCATIONS = "cycles by node", "allocations by function"

local function note_absent(self, what, why) self.absent[#self.absent + 1] = { what = what, why = why } end

-- Up to this share of missing samples, the others stand for them.
local MOST_MISSING = 0.5

local function why_few_samples(self, event, most)
  for _, cell in ipairs { self.a, self.b } do
    local why = complete.why_samples(profiles.in_order(self.result, cell.number, event.name), most)
    if why then return why end
  end
end

local function why_no_functions(self)
  local are_executed = kinds.of(self.a.kind).is_executed and kinds.of(self.b.kind).is_executed
  if not are_executed then return "only commands are sampled" end
  return self.result.header.unsampled or "nothing was sampled in time (sample = \"cpu-clock\")"
end

local function why_no_calls(self)
  local traced = self.result.header.system_calls
  if type(traced) == "string" then return traced end
  return traced and "none of the repetitions of both sides has them"
    or "system calls were not traced (system_calls = true)"
end

-- Calls whose records found no room are missing in their lines.
local function note_lost(self)
  local lost = 0
  for _, cell in ipairs { self.a, self.b } do
    for _, calls in pairs(profiles.calls_by_index(self.result, cell.number)) do lost = lost + calls.lost end
  end
  if lost > 0 then
    note_absent(self, "some system calls", ("%d of their records found no room in the rings"):format(lost))
  end
end

local function add_cycles(self, reason)
  local absent
  self.cycles, absent = cycles.of(self)
  if not self.cycles then note_absent(self, CYCLES, reason or absent)
  elseif absent then note_absent(self, absent.what, absent.why) end
end

local function add_suspects(self)
  local incomplete
  self.suspects, incomplete = suspects.of(self)
  for _, group in ipairs(lists.groups(incomplete, function(quantity) return quantity.why end)) do
    note_absent(self, text.list(lists.column(group, "title")), group[1].why)
  end
end

-- ---- the whole ----

--- Explains the difference between two cells.
---@param result pmclua.Result
---@param options? { a?: string|table, b?: string|table, reasons?: table<string, string> } reasons: why
---  something was not measured
---@return pmclua.Why
function M.of(result, options)
  options = options or {}
  local a, b = own_sides.cells(result, options.a, options.b)
  local self = setmetatable({ result = result, a = a, b = b, absent = {},
    paired = cell_key.share_blocks(a, b), margin = names.margin(result, "default") or DEFAULT_MARGIN }, Why)
  local sampled = sampled_event(result)
  local why_unsampled = sampled and why_few_samples(self, sampled, MOST_MISSING)
  local missing = sampled and not why_unsampled and why_few_samples(self, sampled)
  local sides = own_sides.read(a, b, self.paired, not why_unsampled and sampled or nil)
  self.n = sides and sides.a.n or 0
  if sides then
    add_ledgers(self, sides)
  else
    note_absent(self, "time", "it takes duration_time, on_cpu_time, wait_time and off_cpu_time of both")
  end
  local reasons, measured = options.reasons or {}, sides and sides.a or {}
  if not measured.profiles then
    note_absent(self, FUNCTIONS, reasons[FUNCTIONS] or why_unsampled or why_no_functions(self))
  end
  if not measured.calls then note_absent(self, CALLS, reasons[CALLS] or why_no_calls(self)) end
  if missing then note_absent(self, "some samples", missing .. ": the others stand for them") end
  note_lost(self)
  add_cycles(self, reasons[CYCLES])
  if reasons[SIMULATED] then note_absent(self, SIMULATED, reasons[SIMULATED]) end
  self.allocations = heap.of(self)
  if #self.allocations == 0 and reasons[ALLOCATIONS] then
    note_absent(self, ALLOCATIONS, reasons[ALLOCATIONS])
  end
  add_suspects(self)
  self.sentence = require("pmclua.why.sentence").of(self)
  return self
end

return M
