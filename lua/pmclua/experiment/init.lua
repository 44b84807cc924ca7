--- experiment/init.lua: declare, plan, run, record. This file is the table of contents.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local declare = require("pmclua.base.lazy").module "pmclua.experiment.declare"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local planner = require "pmclua.experiment.plan"
local running = require "pmclua.host.running"

local M = {}

--- A checked declaration that can be run.
---@class pmclua.Experiment
---@field declaration pmclua.Declaration
local Experiment = require("pmclua.public.class").new("measuring", "experiment", "is_declared")
Experiment.__about = function(self)
  local declaration, plural = self.declaration, require("pmclua.base.text").plural
  return ("%s%s, %s"):format(declaration.name and declaration.name .. ", " or "",
    plural(#declaration.workloads, "workload"), plural(#declaration.events, "event"))
end

--- True for what M.declare returned.
function M.is(value) return type(value) == "table" and getmetatable(value) == Experiment end

local function raise_mistakes(mistakes, level)
  if #mistakes == 0 then return end
  if #mistakes == 1 then explain.misuse(mistakes[1], level + 1) end
  explain.misuse(("this experiment has %d mistakes:\n  %s"):format(#mistakes,
    table.concat(mistakes, "\n  ")), level + 1)
end

-- The latest declared experiment, until a declared one is run or planned.
local waiting

--- The experiment that was declared and then neither run nor planned: its script forgot to return it.
---@return pmclua.Experiment?
function M.waiting() return waiting end

-- One-liners declare nothing: running one does not run what its script has declared.
local function note_use(experiment)
  if experiment.is_declared then waiting = nil end
end

--- Declares an experiment; everything is checked, and every mistake reported at once. Tables are copied.
---@param declaration table lua/REFERENCE.md, "pmc.experiment"
---@return pmclua.Experiment
function M.declare(declaration)
  declaration = lists.deep_copy(declaration)
  local checked, mistakes = declare.check(declaration)
  raise_mistakes(mistakes, 2)
  waiting = setmetatable({ spec = declaration, declaration = checked, is_declared = true }, Experiment)
  return waiting
end

-- ---- what the command line says differently ----

local SAME_NAME = { "events", "repetitions", "processes", "warmup", "baseline", "against", "notes", "passes",
  "seed",  "pin", "timeout", "simulate", "simulation", "fit" }

local function override_factors(spec, set)
  local factors = {}
  local known = declare.check { workloads = {}, events = { "duration_time" }, factors = spec.factors }.factors
  for i, factor in ipairs(known) do
    factors[i] = { factor.name, set[factor.name] or factor.levels }
    set[factor.name] = nil
  end
  local unknown = next(set)
  if unknown then
    local near = require("pmclua.base.text").meant(unknown, lists.column(factors, 1), "; ")
    local why = ("--set: there is no factor '%s'%s"):format(unknown, near)
    error(require("pmclua.base.problem").usage_error(why), 0)
  end
  return factors
end

--- The experiment as the command line changes it.
---@param experiment pmclua.Experiment
---@param overrides pmclua.Overrides
---@return pmclua.Experiment
function M.override(experiment, overrides)
  local spec = lists.copy(experiment.spec)
  for _, key in ipairs(SAME_NAME) do
    if overrides[key] ~= nil then spec[key] = lists.deep_copy(overrides[key]) end
  end
  if overrides.set then spec.factors = override_factors(spec, lists.deep_copy(overrides.set)) end
  local declaration, mistakes = declare.check(spec)
  if #mistakes > 0 and overrides.events and not overrides.primary and spec.primary then
    -- These events may leave out the one that decides: the first of them does then.
    spec.primary = nil
    declaration, mistakes = declare.check(spec)
  end
  if #mistakes > 0 then
    error(require("pmclua.base.problem").usage_error(table.concat(mistakes, "\n")), 0)
  end
  return setmetatable({ spec = spec, declaration = declaration,
    is_declared = experiment.is_declared }, Experiment)
end

function Experiment:override(changes)
  local ok, changed = pcall(M.override, self, changes)
  if ok then return changed end
  if explain.is(changed) and changed.misuse then explain.misuse(changed.message) end
  error(changed, 0)
end

-- ---- running ----

--- Every problem that can be seen before anything runs, raised as one.
local function check_workloads(cells, session, declaration)
  local seen, problems, built = {}, {}, {}
  for _, cell in ipairs(cells) do
    -- The programs of layout.build do not exist yet.
    local is_built = declaration.build and cell.workload.takes["layout.build"]
    local problem
    if not is_built then problem, cell.compiled = cell.workload:problem(cell.levels, session, built) end
    local shown = problem and tostring(problem)
    if shown and not seen[shown] then
      seen[shown] = true
      problems[#problems + 1] = problem
    end
  end
  if #problems == 1 then error(problems[1], 0) end
  if #problems > 1 then
    error(explain.problem { code = "ESEVERAL", operation = "prepare",
      message = table.concat(lists.map(problems, tostring), "\n") }, 0)
  end
end

--- Where every record goes: the result, the predictions, the file.
local function recorder(into)
  return function(record)
    into.spill:add(record)
    into.expectations:take(record)
    into.file:add(record)
  end
end

--- Takes in what a stored run has, which is whole lines once it is open to be appended to. Returns what it
--- has done; nil without one.
local function take_stored(stored, declaration, into)
  if not stored then return nil end
  local before = require("pmclua.store").open(stored.path)
  local done = require("pmclua.experiment.resume").done(declaration, before.header)
  before.each(function(record)
    into.spill:add(record)
    into.expectations:take(record)
    done:take(record)
  end)
  into.remarks = before.remarks
  into.result.header.hosts = require("pmclua.result.hosts").several(lists.joined { before.hosts,
    { into.result.header.host } })
  return done
end

--- The adaptive rule, or the script's own: when enough blocks were run. nil: the declaration's repetitions decide. What a stored
--- run went beyond is not looked at again: with what came later, that would be another look.
local function stop_rule(declaration, into, ask)
  local rule = declaration.stop
  if not rule then return nil end
  local stop, stopping = require "pmclua.verdict.stop", require "pmclua.result.stopping"
  local started = core.now_ns()
  return function(blocks)
    if blocks == 0 or into.done and blocks < into.done.last then return false end
    if rule.own then
      return blocks >= stop.most(rule) or ask(rule.own, into.result) and true or false
    end
    local state = { n = blocks, seconds = (core.now_ns() - started) / 1e9, summaries = {}, verdicts = {} }
    if stop.is_look(rule, blocks) then
      state.summaries, state.verdicts = stopping.state(into.result, stop.look_level(rule))
    end
    return stop.stop(rule, state) ~= nil
  end
end

-- The machine code of snippets is stored with their cells.
local function add_machine_code(header, cells, session)
  for i, cell in ipairs(cells) do
    local workload = cell.workload
    local code = workload.machine_code and workload:machine_code(session, cell.levels)
    header.cells[i].machine_code = code or nil
  end
end

-- Everything a run needs, checked: passes, cells and their order, what counting itself costs. Nothing is run yet.
local function plan_all(self, options, session)
  local resume = require("pmclua.base.lazy").module "pmclua.experiment.resume"
  local declaration = self.declaration
  local stored = options.resume and require("pmclua.store").open(options.resume)
  if stored then declaration.seed = stored.header.seed or declaration.seed end
  local plan = planner.make(declaration)
  if stored then resume.order(options.resume, stored.header, plan) end
  local header = planner.header(declaration, plan)
  if stored then plan.remark = resume.check(options.resume, stored, header, options) end
  check_workloads(plan.cells, session, declaration)
  add_machine_code(header, plan.cells, session)
  if declaration.against then
    header.same_program, plan.is_copy = require("pmclua.experiment.same_program").of(declaration, plan.cells)
  end
  if not declaration.regions and not declaration.target then
    header.overhead = require("pmclua.experiment.calibrate").passes(declaration, plan, session)
  end
  return plan, header, stored
end

-- Loads what every experiment needs once its kernels are compiled.
local function load_the_rest()
  for _, name in ipairs { "calibrate", "expect", "result_file", "spill", "progress", "run", "batch" } do
    require("pmclua.experiment." .. name)
  end
  for _, name in ipairs { "stats", "stats.interval", "result", "result.fits", "result.warnings" } do
    require("pmclua." .. name)
  end
end

-- Whether a workload, declared or as it was given, is run by this process; and whether it is known to be executed.
local function facts_of(workload) return kinds.of(type(workload) == "table" and workload.kind or nil) end
local function is_run_here(workload) return type(workload) == "function" or facts_of(workload).in_process end
local function is_executed(workload) return facts_of(workload).is_executed end

-- A process can call MPI_Init only once in a launch.
local function check_repeated(declaration, options)
  local _, size = require("pmclua.host.rank").number()
  local runs = declaration.repetitions + declaration.warmup
  local is_repeated = runs > 1 or declaration.stop ~= nil
  local is_of_marks = declaration.regions and declaration.regions.kind == "marks"
  if options.is_own or not is_of_marks or not is_repeated or (size or 1) == 1 then return end
  error(explain.problem { code = "EINVAL", operation = "run",
    message = ("marks in one of %d ranks: MPI can begin once in a launch, and %d runs are asked for"):format(
      size, runs),
    hint = "ask for one run; or have pmclua repeat the launch: pmclua stat --launch 'srun -n "
      .. size .. "' -r 10 --marks -- PROGRAM" }, 0)
end

-- Starts the runner where it will be needed as it is: so it gets ready while the rest is checked and planned.
local function warm_up(session, workloads, layout)
  if layout or lists.all(workloads, is_run_here) then return end
  session:warm_up(lists.all(workloads, is_executed))
end

-- The same while the runner gets ready.
local function plan_beside_runner(self, options, session)
  session.beside = load_the_rest
  warm_up(session, self.declaration.workloads, self.declaration.layout)
  return plan_all(self, options, session)
end

-- Where everything that is found out goes: the result, the predictions, the file.
---@class pmclua.Gathering
---@field result pmclua.Result
---@field expectations table
---@field file pmclua.ResultFile
---@field spill pmclua.Spill
---@field done table? what a stored run has already
---@field remarks string[] that its file has

local function gather(declaration, plan, options, header, stored)
  local into = { result = require("pmclua.result").new(header),
    expectations = require("pmclua.experiment.expect").new(declaration, plan.passes),
    file = require("pmclua.experiment.result_file").open(options, header), remarks = {} }
  local is_asked = declaration.stop ~= nil or lists.any(plan.passes, function(pass) return pass.simulated end)
  into.spill = require("pmclua.experiment.spill").new(into.result, into.file, is_asked)
  into.done = take_stored(stored, declaration, into)
  return into
end

local SIGINT = 2

-- Delay between an interrupt and the notice that a command still runs.
local SAID_AFTER_NS = 5e8
local WAITING = "interrupted: waiting for the current run to end; interrupt again to end it now"

-- Warms up and repeats, in the plan's order. How it ended: a status, a problem, a signal.
local function run_plan(declaration, plan, session, into, options)
  local progress = require("pmclua.experiment.progress").new(options.quiet)
  local since, is_said
  session.idle = function()
    into.file:tick()
    progress:tick()
    since = since or core.interrupts() == 1 and core.now_ns()
    if since and not is_said and core.now_ns() - since > SAID_AFTER_NS then
      is_said = true
      progress:clear()
      require("pmclua.host.output").note(WAITING)
    end
    if declaration.target then require("pmclua.counting.target.watch").look() end
  end
  local run
  run = require("pmclua.experiment.run").new(declaration, plan, {
    session = session, take = recorder(into), each = options.each, barrier = options.barrier,
    progress = progress, done = into.done, overhead = into.result.header.overhead,
    flush = function() into.file:flush() end,
    enough = stop_rule(declaration, into, function(...) return run:ask("stop", ...) end),
    deciding = function()
      return require("pmclua.experiment.deciding").new(declaration, into.result, options.gate_with)
    end,
  })
  local ok, status, problem = pcall(run.execute, run)
  local signal = core.interrupt_signal()
  progress:clear()
  return { ok = ok, status = status, problem = problem, signal = signal, remarks = run.remarks,
    waits = run.waits:list(), more = run.processes and run.processes:more() or 0,
    cut_off = run.cut_off, resumed = plan.remark }
end

-- The result with how it ended. Raises what ended the run before anything was measured.
local function conclude(declaration, into, ended, options)
  local result, file = into.result, into.file
  local remarks = require("pmclua.base.remarks").new()
  remarks:append(into.remarks)
  remarks:append(require("pmclua.experiment.factor_use").remarks(declaration))
  if ended.resumed then remarks:add(ended.resumed) end
  remarks:append(ended.remarks)
  local unmounted, hint = require("pmclua.host.machine").unmounted()
  if unmounted then remarks:add(("%s (%s)"):format(unmounted, hint)) end
  local before = into.done and into.done.header.repetitions or declaration.repetitions
  local planned = math.max(before, declaration.repetitions + (ended.more or 0))
  file:finish(ended.ok and ended.status == "complete" and "complete" or "interrupted",
    { waits = ended.waits, remarks = remarks, repetitions = planned > before and planned or nil })
  result.header.repetitions = planned
  if not ended.ok then error(ended.status, 0) end
  into.spill:finish()
  -- A script's function may raise an interrupt that no signal has brought.
  local signal = ended.signal ~= 0 and ended.signal or SIGINT
  require("pmclua.result.ending").set(result, ended.status, ended.problem or file.problem,
    ended.status == "interrupted" and signal or nil)
  result.path, result.remarks = file.path, { unpack(remarks) }
  result.remarks[#result.remarks + 1] = require("pmclua.host.rank").remark(options)
  result.cut_off, result.waits = ended.cut_off, ended.waits
  result.expectations = into.expectations:results(result.remarks)
  if ended.status == "complete" and declaration.fit then
    lists.append(result.expectations, require("pmclua.result.growth").expectations(result))
  end
  return result
end

-- Runs within runs, which functions of the script begin: an interrupt ends them all.
local depth = 0

-- How a run ended that had nothing to count.
local NOT_RUN = { ok = true, status = "complete", remarks = {}, waits = {} }

-- Whether nothing is to be run: the caller says so, or no limit can be exceeded by a copy of what it is relative to.
local function is_idle(declaration, options, plan)
  if options.unless and options.unless(declaration) then return true end
  return options.unless_same and plan.is_copy
    and lists.all(declaration.gate or {}, function(limit) return limit.relative ~= nil end) or false
end

-- A remark for limits that so few repetitions cannot decide; nil: they can.
local function too_few(declaration)
  local fewest = require("pmclua.experiment.layout").FEWEST
  if not declaration.against or declaration.stop or declaration.repetitions >= fewest then return nil end
  local is_simulated = lists.set(lists.column(lists.where(declaration.events, function(event)
    return event.simulated
  end), "field"))
  local is_asked = lists.any(declaration.gate or {}, function(limit)
    return limit.relative and not lists.all(limit.needs, function(name) return is_simulated[name] end)
  end)
  if not is_asked then return nil end
  return ("of %d repetitions only counts that are equal in each can be checked: what varies takes %d"):format(
    declaration.repetitions, fewest)
end

local function run_planned(self, options, session, plan, header, stored)
  local caught = core.catch_interrupts "count"
  depth = depth + 1
  local ok, result = pcall(function()
    local into = gather(self.declaration, plan, options, header, stored)
    local note = header.same_program or too_few(self.declaration)
    if note and not options.quiet then require("pmclua.host.output").note("%s", note) end
    return conclude(self.declaration, into, is_idle(self.declaration, options, plan) and NOT_RUN
      or run_plan(self.declaration, plan, session, into, options), options)
  end)
  depth = depth - 1
  local was_interrupted = ok and require("pmclua.result.ending").of(result) == "interrupted"
  core.catch_interrupts(caught, was_interrupted and depth == 0)
  return ok and result or error(result, 0)
end

--- Plans, runs, records. What ended it early stands in the result's status and problem.
---@param experiment pmclua.Experiment
---@param options table of experiment:run, and unless: fun(declaration: pmclua.Declaration): boolean, whether nothing
---  is to be run, as it is planned
---@param session? pmclua.Session it is closed
---@return pmclua.Result
function M.run(experiment, options, session)
  running.check_interrupted()
  note_use(experiment)
  options = require("pmclua.host.rank").options(options)
  check_repeated(experiment.declaration, options)
  session = session or require("pmclua.workload.session").new()
  local ok, result = pcall(function()
    return run_planned(experiment, options, session, plan_beside_runner(experiment, options, session))
  end)
  session:close()
  return ok and result or error(result, 0)
end

function Experiment:run(options)
  return M.run(self, options or {})
end

--- The plan of what would run: passes, cells and their order.
---@param experiment pmclua.Experiment
---@return pmclua.Plan
function M.planned(experiment)
  note_use(experiment)
  return planner.make(experiment.declaration)
end

-- ---- one-liners ----

local function run_workloads(workloads, options, defaults)
  local spec, of_run = { name = "measure", workloads = workloads }, { store = false }
  local options_of_runs = require("pmclua.public.call").record("run_options", "measuring")
  for key, value in pairs(defaults) do spec[key] = value end
  if options.stop then spec.repetitions = nil end          -- of a rule: the most, where it is said
  for key, value in pairs(options) do
    if options_of_runs.fields[key] then of_run[key] = value else spec[key] = lists.deep_copy(value) end
  end
  local session = require("pmclua.workload.session").new()
  warm_up(session, workloads, options.layout)
  local declaration, mistakes = declare.check(spec, of_run)
  if #mistakes > 0 then session:close() end
  raise_mistakes(mistakes, 3)
  local experiment = setmetatable({ spec = spec, declaration = declaration }, Experiment)
  return M.run(experiment, of_run, session)
end

--- Measures one workload: pmc.measure("ls", { events = { "page-faults" } }).
---@param workload string|function|table a command string, a workload object, a Lua function
---@param options? table the keys of pmc.experiment, and those of Experiment:run
---@return pmclua.Result
function M.measure(workload, options)
  return run_workloads({ workload }, options or {}, { repetitions = 10, warmup = 1 })
end

--- Measures several workloads interleaved, against the first:
--- pmc.compare("ls", "ls -l", { repetitions = 30 }).
---@param ... string|function|table workloads, then an options table if any
---@return pmclua.Result
function M.compare(...)
  local workloads, options = require("pmclua.base.arguments").split(...)
  local first = require("pmclua.workload").from(workloads[1])
  if first then workloads[1] = first end
  return run_workloads(workloads, options, { warmup = 2, baseline = first and first.name })
end

return M
