--- collect.lua: measures two workloads for their ledgers: what is measured, in which passes, how often.
--
-- One run of each tells how long they take. Within the budget the time comes first, then samples of
-- functions, then the first level of the vendor's tree, system calls, the tree's second level, and what
-- Valgrind counts; and at least as many pairs as it takes to name anything.

local cycles = require "pmclua.why.cycles"
local explain = require "pmclua.explain"
local event = require "pmclua.event"
local heap = require "pmclua.why.heap"
local lists = require "pmclua.base.lists"
local rule = require "pmclua.ledger.rule"
local text = require "pmclua.base.text"
local units = require "pmclua.base.units"

local M = {}

local TIMES = { "duration_time", "on_cpu_time", "wait_time", "off_cpu_time" }
local SOFTWARE = { "page-faults", "major-faults", "context-switches", "cpu-migrations", "alignment-faults" }
local ACCOUNTS = { "read_calls", "write_calls", "read_chars", "write_chars", "read_bytes", "write_bytes" }
local HARDWARE = { "cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses",
  "L1-dcache-load-misses", "dTLB-load-misses", "iTLB-load-misses" }
local SIMULATED = { "valgrind::instructions", "valgrind::branch-misses", "valgrind::l1d-misses",
  "valgrind::ll-misses" }

local PAIRS, BUDGET_S = 30, 120
-- How much longer a run takes when it is sampled, traced, simulated; and how often Valgrind runs it at
-- least.
local SAMPLED, TRACED, SIMULATED_TIMES, SIMULATED_RUNS = 1.2, 1.5, 60, 3
local RUN_S = 0.01                  -- what each run takes beside the command
local STAMP = "cpu-clock"

-- ---- what can be measured ----

local function can_simulate()
  local path, why = require("pmclua.simulate.valgrind").path()
  return path ~= nil, why
end

-- ---- what fits ----

local function pilot(workloads, options)
  local result = require("pmclua.experiment").compare(workloads[1], workloads[2],
    { events = { "duration_time" }, repetitions = 1, warmup = 1, quiet = true, store = false,
      pin = options.pin, timeout = options.timeout, on_failure = options.on_failure })
  local seconds = 0
  for cell in result:cells() do
    for _, ns in ipairs(cell:values "duration_time") do seconds = seconds + ns / 1e9 end
  end
  if result.problem then error(result.problem, 0) end
  return seconds
end

---@class pmclua.WhyPlan
---@field pairs integer
---@field sample boolean
---@field trace boolean
---@field simulate boolean
---@field heap boolean allocations by function
---@field tree boolean cycles by node of the first level of the vendor's tree
---@field below boolean and of the second
---@field counted table<integer, integer> passes that count, by levels of the tree
---@field seconds number that it will take, about
---@field left_out table<string, string> what was left out, and why

local function levels_of(plan) return plan.tree and (plan.below and 2 or 1) or 0 end

local function cost(plan, block_s)
  local each = block_s + 2 * RUN_S
  local passes = plan.counted[levels_of(plan)] + (plan.sample and SAMPLED or 0) + (plan.trace and TRACED or 0)
  local runs = (plan.simulate and SIMULATED_RUNS or 0) + (plan.heap and SIMULATED_RUNS or 0)
  local simulated = runs * (SIMULATED_TIMES * block_s + 2)
  return each * passes * (plan.pairs + 2) + simulated
end

local LEFT_OUT = "left out: it does not fit into %s (--budget)"

-- Fewer pairs first, down to twice what it takes to name anything; then passes, the slowest first; then
-- pairs again.
local function fit(plan, block_s, budget_s)
  local few = rule.FEWEST_PAIRS
  local function fits() return cost(plan, block_s) <= budget_s end
  local function fewer(least)
    while not fits() and plan.pairs > least do plan.pairs = plan.pairs - 1 end
  end
  fewer(math.min(plan.pairs, 2 * few))
  for _, pass in ipairs { "heap", "simulate", "below", "trace", "tree", "sample" } do
    if pass == "trace" then fewer(math.min(plan.pairs, few)) end
    if not fits() and plan[pass] then
      plan[pass], plan.left_out[pass] = false, LEFT_OUT:format(text.duration(budget_s))
    end
  end
  plan.seconds = cost(plan, block_s)
  return plan
end

--- The passes for two workloads that take `block_s` seconds together.
---@param can { sample: boolean, trace: boolean, simulate: boolean, heap?: boolean, tree?: boolean, counted?: table } counted:
---  passes that count with 0, 1 and 2 levels of the tree
---@param block_s number
---@param budget_s number
---@param wanted? integer pairs
---@return pmclua.WhyPlan
function M.plan(can, block_s, budget_s, wanted)
  local plan = { pairs = wanted or PAIRS, sample = can.sample, trace = can.trace, simulate = can.simulate,
    heap = can.heap or false, tree = can.tree or false, below = can.tree or false,
    counted = can.counted or { [0] = 1 }, left_out = {} }
  return fit(plan, block_s, budget_s)
end

-- ---- the experiment ----

local function as_list(value)
  if value == nil then return {} end
  return type(value) == "table" and value or { value }
end

local function counted_events(options)
  return lists.joined { TIMES, SOFTWARE, ACCOUNTS, lists.where(HARDWARE, event.available),
    as_list(options.events) }
end

local function sampled(plan)
  local list = lists.append(plan.sample and { STAMP } or {}, plan.heap and heap.EVENTS or {})
  return #list > 0 and list or nil
end

local function experiment_of(workloads, plan, options)
  local events = counted_events(options)
  if plan.simulate then lists.append(events, SIMULATED) end
  if plan.heap then lists.append(events, heap.EVENTS) end
  return { name = "why", workloads = workloads, events = events, baseline = workloads[1].name,
    metrics = cycles.metrics(levels_of(plan)),
    repetitions = plan.pairs, warmup = options.warmup or 1, seed = options.seed, pin = options.pin,
    timeout = options.timeout, on_failure = options.on_failure, layout = options.layout,
    notes = options.notes, sample = sampled(plan), system_calls = plan.trace or nil }
end

local ABSENT = { sample = "functions", trace = "system calls", simulate = "simulated counts",
  heap = "allocations by function", tree = "cycles by node", below = "the second level of the tree" }

local function reasons_of(plan, why_not)
  local reasons = {}
  for pass, what in pairs(ABSENT) do reasons[what] = plan.left_out[pass] or why_not[pass] end
  return reasons
end

local function can_count_tree(workloads, options)
  local experiments, passes = require "pmclua.experiment", {}
  local asked = experiments.declare { workloads = workloads, events = { "cycles" },
    metrics = cycles.metrics(1) }
  experiments.planned(asked)
  local can, why = cycles.is_countable(asked)
  if not can then return false, why end
  for levels = 0, cycles.LEVELS do
    passes[levels] = #experiments.planned(experiments.declare { workloads = workloads,
      events = counted_events(options), metrics = cycles.metrics(levels) }).passes
  end
  return true, nil, passes
end

local function what_can_be(workloads, options)
  local are_executed = lists.all(workloads, function(workload) return workload.is_executed end)
  local are_traced = lists.all(workloads, function(workload) return workload.takes.system_calls end)
  local can, why_not = { sample = are_executed and event.available(STAMP), trace = are_traced }, {}
  if not can.sample then
    why_not.sample = are_executed and STAMP .. " cannot be sampled here" or "only commands are sampled"
  end
  can.tree, why_not.tree, can.counted = can_count_tree(workloads, options)
  if not are_traced then why_not.trace = "only the system calls of commands are traced" end
  if options.simulate == false then
    can.simulate, why_not.simulate = false, "not asked for"
  else
    can.simulate, why_not.simulate = can_simulate()
    if can.simulate then why_not.simulate = nil end
  end
  can.heap = can.simulate and lists.all(workloads, function(workload) return workload.simulators.heap end)
  why_not.heap = not can.heap and (why_not.simulate or "Valgrind tells those of commands alone") or nil
  return can, why_not
end

--- Measures what the difference between two workloads consists of: pmc.why("ls", "ls -l").
---@param a string|function|table a workload, as for pmc.compare
---@param b string|function|table
---@param options? table budget (seconds, or "2min"), repetitions, events (more suspects), simulate = false,
---  seed, pin, timeout, warmup, store, quiet, on_failure, layout, notes
---@return pmclua.Why
function M.why(a, b, options)
  options = options or {}
  local from = require("pmclua.workload").from
  local workloads = {}
  for i, cell in ipairs { a, b } do
    local workload, why = from(cell)
    if not workload then explain.misuse(("why: %s"):format(tostring(why)), 2) end
    workloads[i] = workload
  end
  local budget_s = units.seconds(options.budget or BUDGET_S)
  local can, why_not = what_can_be(workloads, options)
  local plan = M.plan(can, pilot(workloads, options), budget_s, options.repetitions)
  local store = options.store
  if store == nil then store = false end
  local result = require("pmclua.experiment").declare(experiment_of(workloads, plan, options))
    :run { store = store, quiet = options.quiet }
  if result.problem then error(result.problem, 0) end
  local explained = require("pmclua.why").of(result, { reasons = reasons_of(plan, why_not) })
  explained.plan = plan
  return explained
end

return M
