--- conflicts.lua: checks a declaration for keys that exclude each other and for names that do not exist.
--
-- Invariant: nothing that a script asks for is ignored silently.

local layout = require "pmclua.experiment.layout"
local checking = require "pmclua.base.arguments"
local lists = require "pmclua.base.lists"
local cell_names = require "pmclua.result.names"
local pinning = require("pmclua.base.lazy").module "pmclua.workload.pinning"
local workload_kinds = require "pmclua.workload"

local M = {}

-- ---- what cannot go together -----------------------------------------------------------------------------

local function exclude(declaration, what, keys, wrong, why)
  for _, key in ipairs(keys) do
    if declaration[key] then wrong("%s and %s cannot be combined%s", what, key, why or "") end
  end
end

-- Refuses what workloads of some kinds do not take.
local function check_takes(declaration, key, what, wrong)
  for _, workload in ipairs(declaration.workloads) do
    if not workload.takes[key] then wrong("%s; %s is a %s", what, workload.name, workload.kind) end
  end
end

-- A Lua function runs in this process, which is neither sampled, nor placed, nor pinned, nor ended.
local function no_functions(declaration, what, wrong)
  for _, workload in ipairs(declaration.workloads) do
    if workload.in_process then
      wrong("%s is for commands and kernels; %s runs in pmclua itself", what, workload.name)
    end
  end
end

-- The key or factor of a declaration that places programs in memory or on CPUs; nil where there is none.
local function placement(declaration)
  local factor = lists.find(declaration.factors, function(factor) return layout.FACTORS[factor.name] end)
  return factor and "the factor " .. factor.name or declaration.layout and "layout" or nil
end

local function simulated_events(declaration)
  return lists.where(declaration.events, function(event) return event.simulated end)
end

local function check_regions(declaration, wrong)
  if not declaration.regions then return end
  local problem = declaration.regions:problem(declaration.workloads)
  if problem then wrong("%s", problem) end
  if declaration.target then wrong "regions are parts of a workload: they cannot go with a target" end
end

local function check_delay(declaration, wrong)
  if not declaration.delay then return end
  check_takes(declaration, "delay", "delay is for commands", wrong)
  exclude(declaration, "delay", { "regions" }, wrong)
  local placed = placement(declaration)
  if placed then wrong("delay and %s cannot be combined", placed) end
end

local function check_pin(declaration, wrong)
  local has_command = declaration.pin and pinning.cpus(declaration.pin)
    and lists.any(declaration.workloads, function(workload) return workload.is_executed end)
  local problem = has_command and pinning.problem(declaration.pin)
  if problem then wrong("pin: %s", problem) end
end

-- A launch is repeated whole, and its tasks run elsewhere.
local function check_launch(declaration, wrong)
  if not workload_kinds.are_launched(declaration.workloads) then return end
  check_takes(declaration, "launch", "launch is for commands", wrong)
  exclude(declaration, "launch", { "target", "delay", "sample", "system_calls", "build" }, wrong)
  exclude(declaration, "launch", { "pin" }, wrong, ": the launcher places its tasks")
  local placed = placement(declaration)
  if placed then wrong("launch and %s cannot be combined: the launcher places its tasks", placed) end
  if declaration.regions and declaration.regions.kind ~= "marks" then
    wrong "launch and regions that are functions cannot be combined: marks can be counted in each task"
  end
  local event = simulated_events(declaration)[1]
  if event then wrong("launch and %s cannot be combined: it is not counted of launched tasks", event.name) end
end

local function check_functions(declaration, wrong)
  local asked = placement(declaration) or declaration.pin and "pin" or declaration.timeout and "timeout"
  if asked then no_functions(declaration, asked, wrong) end
end

local function check_sample(declaration, wrong)
  if not declaration.sample then return end
  for _, event in ipairs(simulated_events(declaration)) do
    -- Valgrind's counts of kernels are less those of an empty call, which belong to no line.
    if lists.contains(declaration.sample, event.field) then
      if event.source == "syscalls" then wrong("sample: %s counts whole runs, not lines", event.name) end
      check_takes(declaration, "simulated lines",
        ("sample: %s is told by line for commands alone"):format(event.name), wrong)
      if declaration.sample.data then wrong("sample.data: %s is told by line alone", event.name) end
    end
  end
  if declaration.sample.heap then
    if not declaration.sample.data then wrong "sample.heap goes with sample.data" end
    if declaration.target then wrong "sample.heap: what runs already takes no library: start it here" end
    check_takes(declaration, "sample.heap", "sample.heap: allocations are recorded of commands alone", wrong)
  end
  if declaration.sample.confirm then
    if not declaration.sample.data or declaration.target then
      wrong "sample.confirm is for sample.data of commands: breakpoints are set on the threads of another run"
    end
    check_takes(declaration, "sample.confirm",
      "sample.confirm: the lines of commands alone are watched", wrong)
  end
  if not declaration.target then no_functions(declaration, "sample", wrong) end
  exclude(declaration, "sample", { "regions", "delay" }, wrong)
end

-- A simulated pass runs a command under Valgrind by one name.
local function check_build(declaration, wrong)
  if not declaration.build then return end
  for _, event in ipairs(simulated_events(declaration)) do
    if require("pmclua.experiment.placing").names_seed(declaration) then
      wrong("%s and {seed} in a command cannot be combined: leave {seed} to layout.build", event.name)
    end
  end
  if not lists.any(declaration.workloads, function(workload) return workload.takes["layout.build"] end) then
    wrong "layout.build is for commands; kernels are placed without it"
  end
end

local function check_iterations(declaration, wrong)
  if declaration.iterations == nil or #declaration.workloads == 0 then return end
  if not lists.any(declaration.workloads, function(workload) return workload.per == "iteration" end) then
    wrong "iterations is for kernels: none of the workloads is one"
  end
end

-- DHAT counts whole runs.
local function check_heap(declaration, wrong)
  if not declaration.regions then return end
  local event = lists.find(simulated_events(declaration), function(event)
    return event.source == "syscalls" or require("pmclua.event.simulated").is_of_heap(event)
  end)
  if event and event.source == "syscalls" then
    wrong("%s is of whole runs, not of regions: as a tracepoint it can be counted there", event.name)
  elseif event then
    wrong("%s is of whole runs, not of regions: `where` tells it by function, with -g by caller", event.name)
  end
end

-- Simulated events: Valgrind runs the workloads itself, and counts them whole.
local function check_simulated(declaration, wrong)
  if #simulated_events(declaration) == 0 then return end
  for _, workload in ipairs(declaration.workloads) do
    local problem = lists.map(simulated_events(declaration), function(event)
      return require("pmclua.simulate").problem(workload, event)
    end)[1]
    if problem then wrong("events: %s", problem) end
  end
  check_heap(declaration, wrong)
  local has_calls = lists.any(simulated_events(declaration), require("pmclua.event.system_call").is_one)
  local what = has_calls and "counts of system calls" or "simulated events"
  exclude(declaration, what, { "target", "delay" }, wrong,
    ": they are counted of whole runs that are started for it")
  if declaration.regions and declaration.regions.entries then
    wrong "simulated events have sums over a region's calls or entries only: leave regions.entries out"
  end
end

-- ---- names ----

local function check_names(what, needed, known, wrong)
  for _, name in ipairs(needed) do
    if not known[name] then
      wrong("%s: there is no '%s' here%s", what, name, checking.meant(name, checking.keys(known)))
    end
  end
end

-- The names of events and metrics, and others, as a set.
local function names_of(declaration, others)
  return lists.set(lists.joined { lists.column(declaration.events, "field"),
    lists.column(declaration.metrics, "name"), others })
end

local function check_formulae(declaration, wrong)
  local factors = lists.column(declaration.factors, "name")
  local per, only_if = declaration.per, declaration.only_if
  if only_if then check_names("only_if", only_if.needs, lists.set(factors), wrong) end
  if per and per.metric then
    check_names("per " .. per.name, per.metric.needs,
      names_of(declaration, { "iterations", "wall_ns", unpack(factors) }), wrong)
  end
end

local function check_expect(declaration, wrong)
  local known = lists.column(declaration.workloads, "name")
  for _, prediction in ipairs(declaration.expect or {}) do
    local name = prediction.workload
    if name and not lists.contains(known, name) then
      wrong("expect '%s': there is no workload '%s'%s", prediction.formula, name, checking.meant(name, known))
    end
  end
end

-- The factor a curve is fitted over, and the quantities it is fitted to.
local function check_fit(declaration, wrong)
  local fit = declaration.fit
  if not fit or type(fit.over) ~= "string" then return end
  local factor = lists.find(declaration.factors, function(candidate) return candidate.name == fit.over end)
  local problem = require("pmclua.result.growth").problem(factor and factor.levels)
  if problem then
    wrong("fit over '%s': %s%s", fit.over, problem,
      factor and "" or checking.meant(fit.over, lists.column(declaration.factors, "name")))
  end
  local fields = lists.map(fit.names or {}, require("pmclua.base.text").field)
  check_names("fit", fields, names_of(declaration, {}), wrong)
end

--- Reports every conflict.
---@param declaration pmclua.Declaration
---@param wrong fun(form: string, ...) gets each mistake
function M.check(declaration, wrong)
  if declaration.control and not declaration.baseline then
    wrong "control runs the baseline once more, but there is no baseline"
  end
  require("pmclua.counting.asked").check_names(declaration, wrong, cell_names.reserved)
  check_regions(declaration, wrong)
  check_delay(declaration, wrong)
  check_pin(declaration, wrong)
  check_sample(declaration, wrong)
  check_build(declaration, wrong)
  if declaration.system_calls then
    exclude(declaration, "system_calls", { "target", "regions", "delay" }, wrong)
  end
  check_launch(declaration, wrong)
  check_functions(declaration, wrong)
  check_iterations(declaration, wrong)
  check_simulated(declaration, wrong)
  check_names("margin", checking.keys(declaration.margin), names_of(declaration, { "default" }), wrong)
  require("pmclua.experiment.factor_use").check(declaration, wrong)
  check_formulae(declaration, wrong)
  check_expect(declaration, wrong)
  check_fit(declaration, wrong)
end

return M
