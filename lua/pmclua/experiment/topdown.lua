--- topdown.lua: `pmc.topdown`: measures a vendor's top-down tree in rounds: level 1, then the children of each node
-- that is over its threshold, down to where none is.
--
-- Invariant: every round runs the same workloads as often as the first, and has the anchors (cycles, instructions) in
-- each of its passes; its passes are further passes of one result (result/rounds.lua). Nothing is multiplexed.

local core = require "pmclua.core"
local checking = require "pmclua.base.arguments"
local ending = require "pmclua.result.ending"
local event = require "pmclua.event"
local experiment = require "pmclua.experiment"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local signatures = require "pmclua.public.call"
local all_metrics = require "pmclua.metric"
local rounds = require "pmclua.result.rounds"
local text = require "pmclua.base.text"
local topdown = require "pmclua.result.topdown"
local tree = require "pmclua.metric.tree"

local M = {}

local DEEPEST = 8
local ANCHORS = { "cycles", "instructions" }

local OWN = lists.words "level below cores quiet plan"
local NOT_TAKEN = { "events", "metrics", "factors", "workloads", "per", "store" }

local function check(options)
  for _, name in ipairs(NOT_TAKEN) do
    if options[name] ~= nil then explain.misuse(("topdown: it takes no %s"):format(name), 4) end
  end
  local record, mistakes, wrong = signatures.record("topdown_options", "measuring"), checking.mistakes()
  for name in pairs(OWN) do
    if options[name] ~= nil then signatures.check_key(record, name, options[name], wrong) end
  end
  if mistakes[1] then explain.misuse("topdown: " .. mistakes[1], 4) end
  if options.level and options.below then explain.misuse("topdown: level and below cannot be combined", 4) end
end

local function tree_of(cores)
  local kinds = cores and tree.kinds(all_metrics)
  if kinds and #kinds == 0 then
    explain.misuse(("topdown: cores: '%s' is for hybrid CPUs: the tables have one kind of core"):format(
      text.safe(cores)), 4)
  elseif kinds and not lists.contains(kinds, cores) then
    explain.misuse(("topdown: cores: there is no kind '%s': %s"):format(cores,
      text.meant_or_all(cores, kinds)), 4)
  end
  return tree.of_kind(all_metrics, cores)
end

local function unknown_node(name, metrics)
  local names = lists.map(tree.names(metrics), function(node) return (node:gsub("^tma_", "")) end)
  local why = ("this machine's tables have no node '%s'"):format(text.safe(name))
  local near = text.meant(name, names)
  if near then return why .. ": " .. near end
  if #names > #tree.BUILT_IN then return why .. "; `pmclua topdown --plan -l 8 -- true` names them all" end
  return ("%s: without a vendor's (perf's, or --vendor DIR) there are %s"):format(why, text.list(names))
end

-- The first round: the top of the tree, or the node that is named and its children.
local function first_names(options, metrics)
  if not options.below then
    local roots = tree.roots(metrics)
    if #roots == 0 then explain.misuse("topdown: the tables have no tree of these cores", 4) end
    return roots
  end
  local name = tree.find(metrics, options.below)
  if not name then explain.misuse(unknown_node(options.below, metrics), 4) end
  return { name, unpack(tree.children(metrics, name)) }
end

-- Threshold events that no earlier round counted: mostly none, as they belong to nodes above.
local function threshold_events(names, metrics, counted)
  local list, seen = {}, {}
  for _, name in ipairs(names) do
    local threshold = (tree.metric(metrics, name) or {}).threshold
    for _, spec in ipairs(threshold and threshold.events or {}) do
      local parsed = event.parse(spec)
      local field = parsed and #parsed == 1 and parsed[1].field
      if field and not seen[field] and not counted[field] then
        seen[field], list[#list + 1] = true, spec
      end
    end
  end
  return list
end

-- counted: by field, what rounds before this one have.
local function declaration_of(workloads, options, names, metrics, counted)
  local spec = { name = "topdown", workloads = workloads,
    events = lists.joined { ANCHORS, threshold_events(names, metrics, counted) },
    metrics = lists.map(names, function(name) return tree.source(metrics, name) end) }
  for key, value in pairs(options) do
    if OWN[key] == nil then spec[key] = value end
  end
  if spec.repetitions == nil and spec.stop == nil then spec.repetitions = spec.baseline and 30 or 10 end
  spec.warmup = spec.warmup or 1
  return spec
end

-- The first event that a metric lacks here, itself or through metrics that it names.
local function lacking(metric, events, metrics)
  for _, name in ipairs(metric.needs) do
    local counted = events[name]
    if counted and counted.status then return counted.name end
    local why = not counted and metrics[name] and lacking(metrics[name], events, metrics)
    if why then return why end
  end
end

-- By the name of each node of a planned round that cannot be counted here: the event that it lacks.
local function absent_of(declaration)
  local events, metrics = lists.by(declaration.events, "field"), lists.by(declaration.metrics, "name")
  local absent = {}
  for _, metric in ipairs(declaration.metrics) do absent[metric.name] = lacking(metric, events, metrics) end
  return absent
end

-- Whether no node of a planned round can be counted: then nothing is run for it.
local function has_nothing(declaration)
  local absent, nodes = absent_of(declaration), lists.where(declaration.metrics, tree.level)
  return lists.all(nodes, function(metric) return absent[metric.name] ~= nil end)
end

-- Raises where a command lacks a function that is asked for: a mistake, whatever can be counted.
local function check_functions(declaration)
  local regions = declaration.regions
  local has_functions = regions and regions.kind == "functions"
  for _, workload in ipairs(has_functions and declaration.workloads or {}) do
    require("pmclua.workload.region").of(workload, regions.spec):regions {}
  end
end

local function is_idle(declaration)
  local has_none = has_nothing(declaration)
  if has_none then check_functions(declaration) end
  return has_none
end

local function run_round(workloads, options, names, metrics, before)
  local declaration = declaration_of(workloads, options, names, metrics,
    before and before.result.event_by_field or {})
  local records = {}
  local result = experiment.run(experiment.declare(declaration), { store = false, quiet = options.quiet,
    unless = is_idle, each = function(record) records[#records + 1] = record end })
  return { result = result, records = records }
end

-- The children of nodes for which `is_wanted` holds, but those that are there.
local function children_of(names, is_wanted, metrics, there)
  local list = {}
  for _, name in ipairs(names) do
    for _, child in ipairs(is_wanted(name) and tree.children(metrics, name) or {}) do
      if not there[child] then list[#list + 1], there[child] = child, true end
    end
  end
  return list
end

-- Whether a node's children are to be shown in any case.
local function is_above(level, metrics)
  return function(name) return tree.level(tree.metric(metrics, name)) < level end
end

-- The children of nodes that the last round brought and that are over their threshold, or are to be shown anyway.
local function next_names(tree_so_far, names, options, metrics)
  local is_wanted = options.level and is_above(options.level, metrics)
    or function(name) return tree_so_far:is_over(name) end
  return children_of(names, is_wanted, metrics, lists.set(lists.column(tree_so_far.nodes, "name")))
end

local function drill(workloads, options)
  local metrics = tree_of(options.cores)
  local names, list, tree_so_far = first_names(options, metrics), {}, nil
  while #names > 0 and #list < DEEPEST do
    list[#list + 1] = run_round(workloads, options, names, metrics, tree_so_far)
    tree_so_far = topdown.of(rounds.join(list))
    local status, problem = ending.of(list[#list].result)
    if not tree_so_far or problem or status ~= "complete" or core.interrupts() > 0 then break end
    names = next_names(tree_so_far, names, options, metrics)
  end
  return tree_so_far, #list
end

-- Several workloads are compared with the first.
local function with_baseline(workloads, options)
  local first = #workloads > 1 and options.baseline == nil and require("pmclua.workload").from(workloads[1])
  if not first then return options end
  workloads[1] = first
  local copy = lists.copy(options)
  copy.baseline = first.name
  return copy
end

-- ---- what would be measured ----------------------------------------------------------------------------

---@class pmclua.TopdownRound
---@field nodes string[]
---@field absent table<string, string> nodes that cannot be counted here, and the event that each lacks
---@field declaration pmclua.Declaration
---@field plan pmclua.Plan

---@class pmclua.TopdownPlan prints as text
---@field rounds pmclua.TopdownRound[]
---@field at_most boolean which nodes later rounds have is found out by measuring: these are all that may be
---@field first_runs integer of the first round
---@field runs integer of all rounds
local Plan = require("pmclua.public.class").new("measuring", "topdown_plan")

function Plan:__tostring() return self:report() end

local function plan_round(workloads, options, names, metrics, counted)
  local declared = experiment.declare(declaration_of(workloads, options, names, metrics, counted))
  local declaration, plan = declared.declaration, experiment.planned(declared)
  if has_nothing(declaration) then plan.runs = 0 end
  for _, asked in ipairs(declaration.events) do counted[asked.field] = true end
  return { nodes = names, absent = absent_of(declaration), declaration = declaration, plan = plan }
end

local function plan_of(workloads, options)
  local metrics, counted, runs = tree_of(options.cores), {}, 0
  local names, list = first_names(options, metrics), {}
  local there = lists.set(names)
  while #names > 0 and #list < DEEPEST do
    list[#list + 1] = plan_round(workloads, options, names, metrics, counted)
    runs = runs + list[#list].plan.runs
    names = children_of(names, is_above(options.level or math.huge, metrics), metrics, there)
  end
  return setmetatable({ rounds = list, at_most = options.level == nil and #list > 1,
    first_runs = list[1].plan.runs, runs = runs }, Plan)
end

--- Measures the tree: pmc.topdown("./parse"); several workloads are compared with the first:
--- pmc.topdown("./old", "./new"). With `plan` nothing is measured.
---@param ... string|function|table workloads, or a map of them by name; then pmclua.TopdownOptions if any
---@return pmclua.Topdown|pmclua.TopdownPlan
function M.measure(...)
  local workloads, options = checking.split(...)
  check(options)
  -- Functions have names in a map: { ["pid 7"] = function() … end }.
  local only = workloads[1]
  if type(only) == "table" and not getmetatable(only) and only[1] == nil then workloads = only end
  local all = with_baseline(workloads, options)
  if options.plan then return plan_of(workloads, all) end
  local drilled, count = drill(workloads, all)
  if not drilled then explain.misuse("topdown: this machine has no metric that is a node of a tree", 2) end
  drilled.rounds = count
  return drilled
end

return M
