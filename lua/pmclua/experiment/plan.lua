--- plan.lua: from a declaration to what will be run: cells, passes, order.

local control = require("pmclua.base.lazy").module "pmclua.experiment.control"
local explain = require "pmclua.explain"
local lazy = require "pmclua.base.lazy"
local lists = require "pmclua.base.lists"
local order = require "pmclua.experiment.order"
local passes = require "pmclua.counting.passes"
local random = require("pmclua.base.lazy").module "pmclua.stats.random"
local record = require "pmclua.experiment.record"

local M = {}

--- A declaration as passes, cells and runs.
---@class pmclua.Plan
---@field cells pmclua.PlannedCell[]
---@field passes table[]
---@field anchors integer[] events of every pass, by which passes are compared
---@field untraced? string why system calls are not traced although that was asked for
---@field runs integer at most, where a stop rule decides

--- One combination of a workload and a level of each factor.
---@class pmclua.PlannedCell
---@field index integer
---@field workload table
---@field levels table<string, any>

local function combinations(factors, i, levels, take)
  if i > #factors then
    take(lists.copy(levels))
    return
  end
  for _, level in ipairs(factors[i].levels) do
    levels[factors[i].name] = level
    combinations(factors, i + 1, levels, take)
  end
end

--- Every cell, in the script's order: levels first, workloads within.
---@param declaration pmclua.Declaration
---@return pmclua.PlannedCell[]
function M.cells(declaration)
  local cells = {}
  combinations(declaration.factors, 1, {}, function(levels)
    for _, workload in ipairs(declaration.workloads) do
      if not declaration.only_if or declaration.only_if.holds(lists.copy(levels), workload.name) then
        cells[#cells + 1] = { index = #cells + 1, workload = workload, levels = levels }
      end
    end
  end)
  if declaration.share then cells = require("pmclua.job.share").cells(declaration, cells) end
  control.add(declaration, cells)
  return cells
end

-- Whether the runner opens every event, in what it runs.
local function is_in_runner(declaration)
  return not declaration.target and not (declaration.regions and declaration.regions.kind == "marks")
    and not lists.any(declaration.workloads, function(workload) return workload.in_process end)
end

--- How often each cell is measured; at most, where a stop rule decides.
---@param declaration pmclua.Declaration
---@return integer
function M.most_repetitions(declaration)
  local rule = declaration.stop
  return rule and require("pmclua.verdict.stop").most(rule) or declaration.repetitions
end

-- The events of each metric belong into one pass.
local function bundles_of(declaration)
  return lists.map(declaration.metrics, function(metric)
    local bundle = record.needed(declaration, metric.needs)
    bundle.apart = metric.apart
    return bundle
  end)
end

local function plan_passes(declaration)
  return passes.plan(declaration.events, declaration.passes, declaration.target or declaration.regions,
    { inherit = declaration.inherit, in_runner = is_in_runner(declaration),
      bundles = bundles_of(declaration) })
end

--- The plan of a declaration. Tries events (fills in their statuses); runs nothing.
---@param declaration pmclua.Declaration
---@return pmclua.Plan
function M.make(declaration)
  if declaration.target then require("pmclua.counting.target").check(declaration.target) end
  local list, anchors = plan_passes(declaration)
  local is_bare = #list > 1 and #anchors == 0 and declaration.passes == "rerun" and #declaration.metrics > 0
  if is_bare and require("pmclua.counting.needed").anchors(declaration) then
    list, anchors = plan_passes(declaration)
  end
  for _, pass in ipairs(list) do
    for _, group in ipairs(pass.groups) do group.read = declaration.read end
  end
  if declaration.sample then
    require("pmclua.experiment.sampling").add_passes(list, declaration)
  end
  local traced, untraced = require("pmclua.experiment.tracing").pass(declaration)
  list[#list + 1] = traced
  local cells = M.cells(declaration)
  if #cells == 0 then
    error(explain.problem { code = "ENOCELL", operation = "plan",
      message = "there is nothing to run: only_if excludes every cell" }, 0)
  end
  local runs = #cells * #list * (declaration.warmup + M.most_repetitions(declaration))
  return { cells = cells, passes = list, anchors = anchors, runs = runs, untraced = untraced }
end

-- How many iteration counts a fit has where the script names none (METHOD: at least five).
local FIT_COUNTS = 5

--- The number of different iteration counts of a declaration: 1, or those of its fit.
function M.iteration_counts(declaration)
  local iterations = declaration.iterations
  if iterations == "fit" then return FIT_COUNTS end
  return type(iterations) == "table" and #iterations or 1
end

--- A function from a repetition, counted from the first warm-up, to the index of its iteration count: all of them once
--- in random order, then again.
---@param declaration pmclua.Declaration
---@return fun(number: integer): integer
function M.choices(declaration)
  local count, seed = M.iteration_counts(declaration), declaration.seed
  if count == 1 then return function() return 1 end end
  local source, list = random.new(seed, "iterations"), {}
  return function(repetition)
    while #list < repetition do
      local round = {}
      for i = 1, count do round[i] = i end
      source:shuffle(round)
      lists.append(list, round)
    end
    return list[repetition]
  end
end

-- The same block with sampled passes last: their periods follow from what the others counted. For the first block,
-- of warm-ups as a rule.
local function counted_first(block, units, list)
  local counted, sampled = {}, {}
  for _, unit in ipairs(block) do
    table.insert(list[units[unit].pass].sampled and sampled or counted, unit)
  end
  return lists.append(counted, sampled)
end

--- Every step in the order of time: cell, pass, warm-up or not, repetition index within cell and pass,
--- and which of several iteration counts.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param enough? fun(blocks: integer): boolean  asked after each counted block; without it the
---   declaration's repetitions decide
---@return fun(): table? next_step
function M.steps(declaration, plan, enough)
  local cells = {}
  for _, cell in ipairs(plan.cells) do
    for pass = 1, #plan.passes do cells[#cells + 1] = { cell = cell, pass = pass } end
  end
  enough = enough or function(blocks) return blocks >= declaration.repetitions end
  local next_block = order.blocks(#cells, declaration.seed)
  local choice = M.choices(declaration)
  local block, slot, number, time = {}, 0, 0, 0
  return function()
    slot = slot + 1
    if slot > #block then
      if #cells == 0 or number >= declaration.warmup and enough(number - declaration.warmup) then
        return nil
      end
      number, block, slot = number + 1, next_block(), 1
      if number == 1 then block = counted_first(block, cells, plan.passes) end
    end
    time = time + 1
    local unit, is_warmup = cells[block[slot]], number <= declaration.warmup
    return { cell = unit.cell, pass = unit.pass, warmup = is_warmup,
      index = is_warmup and number or number - declaration.warmup, order = time, choice = choice(number) }
  end
end

-- ---- what is stored and shown of a plan ----

local function plain_event(event)
  return { spec = event.spec, name = event.name, field = event.field, unit = event.unit, scale = event.scale,
    source = event.source, pmu = event.pmu, tool = event.tool,
    simulated = event.simulated, attr = event.opened or event.attr,
    status = event.status, why = event.why, note = event.note, brought = event.brought,
    verified = event.verified, core_cpus = event.core_cpus,
    part_of = event.part_of, grain_ns = event.grain_ns }
end

-- A function is not stored, only that there was one.
local function stored_rule(rule)
  return rule and rule.own and { own = true, repetitions = rule.repetitions } or rule
end

local function level_of(rule)
  return rule and not rule.own and require("pmclua.verdict.stop").look_level(rule) or nil
end

local function is_under_valgrind(pass) return pass.simulated and not pass.simulated.calls end

-- Whether no run is in the environment of this process.
local function has_own_environment(declaration, plan)
  return lists.all(plan.passes, is_under_valgrind)
    and require("pmclua.simulate.surroundings").of(declaration).environment == "pinned"
end

-- Facts that cost as much as a short run, and are found when they are asked for.
local function with_later(header, declaration, plan)
  return lazy.later(header, {
    host = function() return require("pmclua.host.machine").facts() end,
    how = function()
      local is_alone = has_own_environment(declaration, plan)
      return require("pmclua.experiment.provenance").of(plan, declaration.pin, is_alone)
    end,
    identity = function() return require("pmclua.experiment.resume").identity(declaration, plan) end,
  })
end

-- The surroundings that simulated counts depend on.
local function simulation_facts(declaration, plan)
  if not lists.any(plan.passes, is_under_valgrind) then return nil end
  local surroundings = require "pmclua.simulate.surroundings"
  return surroundings.facts(surroundings.of(declaration))
end

--- The header of the result (store/README.md, "The header").
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
function M.header(declaration, plan)
  local regions = declaration.regions
  return with_later({
    name = declaration.name, question = declaration.question,
    events = lists.map(declaration.events, plain_event),
    metrics = lists.map(declaration.metrics, function(metric) return metric.source or metric.formula end),
    factors = lists.map(declaration.factors, function(factor) return { factor.name, factor.levels } end),
    workloads = lists.map(control.workloads(declaration, plan.cells), function(workload)
      return { name = workload.name, kind = workload.kind, per = workload.per, control = workload.control,
        constants = workload.constants and workload:constants(),
        launch = workload.launch and require("pmclua.workload.shellwords").join(workload.launch) }
    end),
    cells = lists.map(plan.cells, function(cell) return { workload = cell.workload.name,
      levels = cell.levels } end),
    pass_events = lists.column(plan.passes, "events"),
    anchors = plan.anchors,
    per = declaration.per and { [declaration.per.name] = declaration.per.formula },
    iterations = declaration.iterations, reject_if = declaration.reject_if and declaration.reject_if.formula,
    expect = declaration.expect and lists.column(declaration.expect, "formula"),
    gate = declaration.gate and lists.column(declaration.gate, "formula"),
    stop = stored_rule(declaration.stop), level = level_of(declaration.stop),
    fit = declaration.fit, baseline = declaration.baseline, against = declaration.against,
    primary = declaration.primary, margin = declaration.margin,
    repetitions = declaration.repetitions, warmup = declaration.warmup, seed = declaration.seed,
    passes = declaration.passes, on_failure = declaration.on_failure, started = os.date "!%Y-%m-%dT%H:%M:%SZ",
    layout = declaration.layout,
    layouts = require("pmclua.experiment.layout").draws(declaration, M.most_repetitions(declaration)),
    layout_runs = declaration.layout == "randomise" and declaration.layout_runs or nil,
    target = declaration.target and declaration.target.name, delay = declaration.delay,
    inherit = declaration.inherit,
    regions = regions and { kind = regions.kind, entries = regions.entries ~= nil or nil, by = regions.by },
    simulation = simulation_facts(declaration, plan),
    system_calls = declaration.system_calls and (plan.untraced or true) or nil,
    rank = (require("pmclua.host.rank").number()), notes = declaration.notes, shard = declaration.share,
  }, declaration, plan)
end

return M
