--- conflicts.lua: checks a declaration for keys that exclude each other and for names that do not exist.
--
-- Invariant: nothing that a script asks for is ignored silently.

local layout = require "pmclua.experiment.layout"
local checking = require "pmclua.base.arguments"
local cell_names = require "pmclua.result.names"

local M = {}

local function check_regions(declaration, wrong)
  if not declaration.regions then return end
  local problem = declaration.regions:problem(declaration.workloads)
  if problem then wrong("%s", problem) end
  if declaration.target then wrong "regions are parts of a workload: they cannot go with a target" end
end

-- The key or factor of a declaration that places programs in memory or on CPUs; nil where there is none.
local function placement(declaration)
  for _, factor in ipairs(declaration.factors) do
    if layout.FACTORS[factor.name] then return "the factor " .. factor.name end
  end
  return declaration.layout and "layout" or nil
end

local function check_delay(declaration, wrong)
  if not declaration.delay then return end
  for _, workload in ipairs(declaration.workloads) do
    if workload.kind ~= "command" then
      wrong("delay is for commands; %s is a %s", workload.name, workload.kind)
    end
  end
  if declaration.regions then wrong "delay and regions cannot be combined" end
  local placed = placement(declaration)
  if placed then wrong("delay and %s cannot be combined", placed) end
end

local function check_system_calls(declaration, wrong)
  for _, key in ipairs(declaration.system_calls and { "target", "regions", "delay" } or {}) do
    if declaration[key] then wrong("system_calls and %s cannot be combined", key) end
  end
end

-- A Lua function runs in this process, which is neither placed, nor pinned, nor ended.
local function check_functions(declaration, wrong)
  local asked = placement(declaration) or declaration.pin and "pin" or declaration.timeout and "timeout"
  for _, workload in ipairs(declaration.workloads) do
    if asked and workload.kind == "function" then
      wrong("%s is for commands and kernels; %s runs in pmclua itself", asked, workload.name)
    end
  end
end

-- Of kernels Valgrind's counts are less those of an empty call, which no line has.
local function check_simulated_sample(declaration, wrong)
  for _, event in ipairs(declaration.events) do
    local is_sampled = false
    for _, field in ipairs(declaration.sample) do is_sampled = is_sampled or field == event.field end
    for _, workload in ipairs(event.simulated and is_sampled and declaration.workloads or {}) do
      if workload.kind ~= "command" then
        wrong("sample: %s is told by line for commands alone; %s is a %s", event.name, workload.name,
          workload.kind)
      end
    end
  end
end

local function check_sample(declaration, wrong)
  if not declaration.sample then return end
  check_simulated_sample(declaration, wrong)
  for _, workload in ipairs(declaration.target and {} or declaration.workloads) do
    if workload.in_process then
      wrong("sample is for commands and kernels; %s runs in pmclua itself", workload.name)
    end
  end
  for _, key in ipairs { "regions", "delay" } do
    if declaration[key] then wrong("sample and %s cannot be combined", key) end
  end
end

-- A simulated pass runs a command under Valgrind by one name.
local function check_build(declaration, wrong)
  if not declaration.build then return end
  for _, event in ipairs(declaration.events) do
    if event.simulated and require("pmclua.experiment.placing").names_seed(declaration) then
      wrong("%s and {seed} in a command cannot be combined: leave {seed} to layout.build", event.name)
    end
  end
  local has_command = false
  for _, workload in ipairs(declaration.workloads) do has_command = has_command
    or workload.kind == "command" end
  if not has_command then wrong "layout.build is for commands; kernels are placed without it" end
end

local function check_iterations(declaration, wrong)
  if declaration.iterations == nil or #declaration.workloads == 0 then return end
  for _, workload in ipairs(declaration.workloads) do
    if workload.per == "iteration" then return end
  end
  wrong "iterations is for kernels: none of the workloads is one"
end

-- What Valgrind is to count: it runs the workloads itself, and counts them whole.
local function check_simulated(declaration, wrong)
  local is_simulated = false
  for _, event in ipairs(declaration.events) do is_simulated = is_simulated or event.simulated ~= nil end
  if not is_simulated then return end
  for _, workload in ipairs(declaration.workloads) do
    local problem = require("pmclua.simulate").problem(workload)
    if problem then wrong("simulated events: %s", problem) end
  end
  for _, key in ipairs { "target", "delay" } do
    if declaration[key] then
      wrong("simulated events and %s cannot be combined: Valgrind counts whole runs that it starts", key)
    end
  end
  if declaration.regions and declaration.regions.entries then
    wrong "simulated events have sums over a region's calls or entries only: leave regions.entries out"
  end
end

-- ---- names ----

local function names_of(declaration)
  local names = {}
  for _, event in ipairs(declaration.events) do names[event.field] = true end
  for _, metric in ipairs(declaration.metrics) do names[metric.name] = true end
  return names
end

local function check_names(what, needed, known, wrong)
  for _, name in ipairs(needed) do
    if not known[name] then
      wrong("%s: there is no '%s' here%s", what, name, checking.meant(name, checking.keys(known)))
    end
  end
end

local function check_margins(declaration, wrong)
  local known = names_of(declaration)
  known.default = true
  check_names("margin", checking.keys(declaration.margin), known, wrong)
end

local function factors_of(declaration)
  local names = {}
  for _, factor in ipairs(declaration.factors) do names[factor.name] = true end
  return names
end

local function check_formulae(declaration, wrong)
  local factors, per, where = factors_of(declaration), declaration.per, declaration.where
  if where then check_names("where", where.needs, factors, wrong) end
  if not (per and per.metric) then return end
  local known = names_of(declaration)
  for name in pairs(factors) do known[name] = true end
  known.iterations, known.wall_ns = true, true
  check_names("per " .. per.name, per.metric.needs, known, wrong)
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
  check_sample(declaration, wrong)
  check_build(declaration, wrong)
  check_system_calls(declaration, wrong)
  check_functions(declaration, wrong)
  check_iterations(declaration, wrong)
  check_simulated(declaration, wrong)
  check_margins(declaration, wrong)
  require("pmclua.experiment.factor_use").check(declaration, wrong)
  check_formulae(declaration, wrong)
end

return M
