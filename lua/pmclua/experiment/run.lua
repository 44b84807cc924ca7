--- run.lua: runs a plan, step by step.
--
-- A repetition is: prepare, run in the runner, record, conclude. Records go to the file and the result as they
-- arrive. An interrupt takes effect after the current repetition; nothing that was measured is lost.

local batch = require "pmclua.experiment.batch"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local hooks = require "pmclua.experiment.hooks"
local layout = require "pmclua.experiment.layout"
local lists = require "pmclua.base.lists"
local missing = require "pmclua.experiment.missing"
local planner = require "pmclua.experiment.plan"
local processes = require "pmclua.experiment.processes"
local raised = require "pmclua.base.raised"
local records = require "pmclua.experiment.record"
local refused = require "pmclua.experiment.refused"
local remarks = require "pmclua.base.remarks"
local sampling = require("pmclua.base.lazy").module "pmclua.experiment.sampling"
local trials = require "pmclua.experiment.trials"
local waits = require "pmclua.experiment.waits"
local workloads = require "pmclua.workload"

---@class pmclua.Run
---@field declaration pmclua.Declaration
---@field plan pmclua.Plan
---@field session pmclua.Session
---@field take fun(record: table)          gets every record
---@field each? fun(record: table)         the script's: gets a copy of every record
---@field progress? pmclua.Progress
---@field problem? pmclua.Problem what ended the run
---@field raised? pmclua.Raised by the function that was the last repetition
local Run = { ask = hooks.call }
Run.__index = Run

local run = {}

--- Counts in place of the runner: a target, a command after a delay, marks in the program, the calls of functions.
---@class pmclua.Counter
---@field workload fun(self: table, workload: table): table as the session runs it
---@field counts_whole fun(self: table, pass: integer): boolean whether the runner counts the whole run, too
---@field around fun(self: table, pass: integer, fn: (fun(): table), cell: pmclua.PlannedCell): table one repetition,
---  which `fn` runs: its result as a runner gives it, with what was counted and its `parts`
---@field remarks fun(self: table): string[] on the counts
---@field close fun(self: table)

-- nil: the runner counts.
local function new_counter(declaration, plan)
  local passes, events = plan.passes, declaration.events
  if workloads.are_launched(declaration.workloads) then
    return require("pmclua.experiment.launching").new(declaration, plan)
  elseif declaration.delay then
    return require("pmclua.experiment.delayed_counter").new(declaration, passes)
  elseif declaration.target then
    return require("pmclua.experiment.target_counter").new(declaration.target, passes, events)
  elseif declaration.regions then
    local counter = declaration.regions.kind == "marks" and "marking" or "following"
    return require("pmclua.experiment." .. counter).new(declaration.regions, passes, events)
  end
end

-- The simulation of the simulated passes; nil: there are none.
local function simulation_of(declaration, plan, options)
  if not lists.any(plan.passes, function(pass) return pass.simulated end) then return nil end
  local simulation = require("pmclua.simulate").new(declaration, plan, options.session, options.deciding())
  if options.done then simulation:resume(options.done) end
  return simulation
end

--- Prepares to run; nothing is run yet.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param options { session: pmclua.Session, take: fun(record: table), flush: fun(), each?: fun(record: table),
---   progress?: table, done?: pmclua.Done, overhead?: table, enough?: (fun(blocks: integer): boolean),
---   deciding: fun(): pmclua.Deciding, barrier?: pmclua.job.Barrier }
---   done: what a stored run has; flush: has all that was taken be in the file; each: the script's, which gets a
---   copy of every record; deciding: asked where there are simulated passes
function run.new(declaration, plan, options)
  local counter = new_counter(declaration, plan)
  return setmetatable({ declaration = declaration, plan = plan, session = options.session,
    take = options.take, flush = options.flush, each = options.each,
    progress = options.progress, done = options.done, enough = options.enough, sets = {}, cells = {},
    entries = options.done and options.done.entries or {},
    counter = counter, waits = waits.new(declaration),
    placing = require("pmclua.experiment.placing").new(declaration, options.session, counter),
    sampling = declaration.sample and sampling.new(declaration, plan, options.session),
    simulation = simulation_of(declaration, plan, options),
    processes = processes.new(declaration, plan, planner.most_repetitions(declaration), options.session,
      options.done, options.barrier),
    only_process = processes.only(options.done), overhead = options.overhead,
    barrier = options.barrier, missing = missing.new(declaration), remarks = remarks.new(),
    host = require("pmclua.host.machine").line "/proc/sys/kernel/hostname" }, Run)
end

-- ---- one repetition ----

--- The groups by which the workload itself is counted in a pass.
local function groups_of(self, pass_number)
  if self.counter and not self.counter:counts_whole(pass_number) then return {} end
  return self.plan.passes[pass_number].groups
end

--- The event set of a pass as the session knows it; nil when it has no events.
local function set_of(self, pass_number)
  if #groups_of(self, pass_number) == 0 then return nil end
  self.sets[pass_number] = self.sets[pass_number] or self.session:events(groups_of(self, pass_number))
  return self.sets[pass_number]
end

-- Runs a cell's setup hook when the cell is first needed.
local function set_up(self, cell)
  if self.cells[cell.index] then return end
  self.cells[cell.index] = true
  hooks.run(self, self.declaration.setup, cell, "setup")
end

local function run_here(self, cell, pass_number)
  local workload = cell.workload
  local groups, failure = workload:open_groups(groups_of(self, pass_number))
  if not groups then error(explain.open(failure), 0) end
  local ok, result = pcall(workload.measure, workload, groups, cell.levels)
  workload:close_groups(groups)
  if not ok then error(result, 0) end
  return result
end

--- The job that the session shall run.
local function job_of(self, cell, pass_number, count, its_layout)
  local traced = pass_number and self.plan.passes[pass_number].traced
  set_up(self, cell)
  return {
    layout = its_layout,
    workload = self.placing:id(cell, its_layout and its_layout.code),
    events = pass_number and set_of(self, pass_number),
    take = self.waits:next(cell), points = traced,
    iterations = count, timeout_ns = self.declaration.timeout_ns, in_runner = cell.workload.in_runner,
    is_launch = cell.workload.launch ~= nil,
  }
end

--- How many iterations this repetition of a kernel has; nil and a result where looking for them failed.
local function iterations_of(self, step)
  set_up(self, step.cell)
  self.trials = self.trials or trials.new(self, {
    set_up = function(cell) set_up(self, cell) end,
    job = function(cell, count) return job_of(self, cell, nil, count) end })
  return self.trials:of(step)
end

--- Why a result has no counts although it ran, as the OS kernel's refusal; nil when it has them.
local function refusal(self, result, step)
  if result.lost then return result.lost end
  local cell = step.cell
  local threads = cell.workload.thread_count and cell.workload:thread_count(cell.levels)
  local pass = self.plan.passes[step.pass]
  local groups, events = pass.sampled_groups or pass.groups, self.declaration.events
  local problem = refused.problem(result, groups, events, threads)
  return problem and tostring(problem)
end

--- Raises where the script insists on reading in user space and a kernel or function was not read so.
local function check_read(self, step, result)
  local insists = self.declaration.read == "user" and not step.cell.workload.is_executed
  if not insists or result.outcome ~= "done" or result.method == "user" then return end
  error(explain.problem { code = "EOPNOTSUPP", operation = "read",
    message = ("%s: its counters cannot be read in user space"):format(step.cell.workload.name),
    hint = "it needs events of the CPU's PMU only, a workload without threads, and permission: rdpmc of "
      .. "the PMU in sysfs on x86, the sysctl kernel.perf_user_access on Arm; "
      .. 'read = "auto" takes what is possible' }, 0)
end

-- Entries of a region, where each is a value, are numbered through all repetitions of their cell.
local function number_entries(self, step, result)
  for _, part in ipairs(result.parts or {}) do
    if part.is_entry then
      local key = records.entry_key(step.cell.index, step.pass, step.warmup, part.value)
      self.entries[key] = (self.entries[key] or 0) + 1
      part.index = self.entries[key]
    end
  end
end

--- The record of a result, and those of its parts.
local function records_of(self, step, result)
  check_read(self, step, result)
  number_entries(self, step, result)
  self.raised = result.raised
  local pass, events = self.plan.passes[step.pass], self.declaration.events
  self.missing:note(step, pass, result)
  if not pass.simulated then self.waits:note(step, result) end
  if self.simulation then self.simulation:compare_ends(step, result) end
  local why = refusal(self, result, step) or step.cell.workload:complaint(result)
  local is_of_kernel = step.cell.workload.in_runner and not pass.simulated
  step.process = step.process or is_of_kernel and self.only_process or nil
  local record = records.new(step, result, pass, events, why)
  if pass.simulated and not step.warmup then self.simulation:note(record, step.choice, result.is_certain) end
  if result.files then sampling.add_simulated(record, self, step, result) end
  if self.sampling then self.sampling:note(record, step, result) end
  local parts = records.parts(step, result, pass, events)
  record.host = record.host or self.host
  for _, part in ipairs(parts) do part.host = part.host or self.host end
  local problem = self.missing:check(record, records.sums(step, result, pass, events) or parts)
  self.problem = self.problem or problem
  return record, parts
end

-- Puts a kernel's step into its process. A new one runs once for nothing: its first run finds its pages and caches
-- untouched. The result of that where it went badly.
local function enter_process(self, step, job)
  if not self.processes:enter(step, job) then return nil end
  local result = self.session:run(job)
  self.processes:stay(job)
  return result.outcome ~= "done" and result or nil
end

--- One run of a step: its record.
local function attempt(self, step)
  local cell = step.cell
  set_up(self, cell)
  local count, failed
  if not cell.workload.in_process then count, failed = iterations_of(self, step) end
  hooks.run(self, self.declaration.prepare, cell, "prepare")
  local function run_it()
    if failed then return failed end
    local its_layout, pass = layout.of(self.declaration, step), self.plan.passes[step.pass]
    if pass.simulated then
      self.placing:prepare(cell, its_layout)
      return self.simulation:run(step, count, its_layout)
    end
    if cell.workload.in_process then return run_here(self, cell, step.pass) end
    local job = job_of(self, cell, step.pass, count, its_layout)
    step.code = its_layout and its_layout.code
    local went_badly = self.processes and job.in_runner and enter_process(self, step, job)
    if went_badly then return went_badly end
    local is_sampled = pass.sampled and not self.declaration.target
    return is_sampled and self.sampling:run(step, job) or self.session:run(job)
  end
  local result
  if self.plan.passes[step.pass].sampled and self.declaration.target then
    result = self.sampling:around(step, run_it)
  else
    result = self.counter and self.counter:around(step.pass, run_it, cell) or run_it()
  end
  hooks.run(self, self.declaration.conclude, cell, "conclude")
  return records_of(self, step, result)
end

local function take_one(self, record)
  self.take(record)
  if self.each then hooks.call(self, "each", self.each, lists.deep_copy(record)) end
end

--- Hands on a record, and those of its parts, which share its fate.
local function take(self, record, parts)
  self.has_taken = true
  take_one(self, record)
  for _, part in ipairs(parts) do
    part.outcome, part.why = record.outcome, record.why
    take_one(self, part)
  end
end

local MOST_TRIES = 20       -- of one repetition that reject_if keeps rejecting

--- True where the script's condition says that a repetition does not count.
local function is_rejected(self, record)
  local condition = self.declaration.reject_if
  return condition and record.outcome == "done"
    and condition.evaluate(records.lookup(record, self.declaration, true)) == true
end

--- A step until it gives a record that is not rejected; rejected ones are recorded too.
local function repeat_step(self, step)
  for try = 1, MOST_TRIES do
    local record, parts = attempt(self, step)
    if not is_rejected(self, record) then return record, parts end
    record.outcome, record.why = "rejected", "reject_if: " .. self.declaration.reject_if.formula
    take(self, record, parts)
    if try == MOST_TRIES then
      error(explain.problem { code = "EREJECTED", operation = "run",
        message = ("%s: %d repetitions in a row were rejected by '%s'"):format(record.workload, MOST_TRIES,
          self.declaration.reject_if.formula),
        hint = "the condition may always be true here: count once without it to see" }, 0)
    end
  end
end

-- ---- all of them ----

local function clean_up(self)
  for index in pairs(self.cells) do
    hooks.run(self, self.declaration.cleanup, self.plan.cells[index], "cleanup")
    self.placing:forget(index)
  end
  self.placing:restore()
end

-- "sort, buffer = 4M": the workload and levels of a record.
local function label_of(self, record)
  local parts = { record.workload }
  for _, factor in ipairs(self.declaration.factors) do
    parts[#parts + 1] = ("%s = %s"):format(factor.name, tostring(record.levels[factor.name]))
  end
  return table.concat(parts, ", ")
end

local ON_FAILURE = 'on_failure = "keep" counts such repetitions, "skip" leaves them out'

-- Hints for a repetition that ended by itself, and badly.
local HINTS = { raised = ON_FAILURE,
  done = ON_FAILURE .. '; stderr = "inherit" in the command shows what it prints' }

--- Whether the run goes on after a repetition.
local function goes_on(self, record)
  if not record.why then return true end
  -- A workload that Valgrind cannot run loses that repetition alone.
  local is_lost = record.outcome == "not-counted" and self.plan.passes[record.pass].simulated
  if is_lost then return true end
  if self.declaration.on_failure == "stop" then
    local caught = self.raised or {}
    self.problem = explain.problem { code = "EWORKLOAD", operation = "run",
      message = ("%s: %s"):format(label_of(self, record), record.why), hint = HINTS[record.outcome],
      value = caught.value, traceback = caught.traceback }
    return false
  end
  if self.declaration.on_failure == "skip" and HINTS[record.outcome] then record.outcome = "rejected" end
  return true
end

-- Whether a command died of the interrupt that pmclua got, too: a terminal sends it to both. Its counts end there. They
-- are kept where failed repetitions are and there is no other, as `perf stat` does.
local function is_cut_off(self, record)
  if record.outcome ~= "signalled" or core.interrupts() == 0 then return false end
  local is_all = self.declaration.on_failure == "keep" and record.index == 1 and not record.warmup
  return record.signal == core.interrupt_signal() and not is_all
end

--- Takes what came of a step. What ends the run: "interrupted", "failed", or nil.
local function settle(self, record, parts)
  if record.outcome == "interrupted" or is_cut_off(self, record) then
    self.cut_off = label_of(self, record)
    return "interrupted"
  end
  local go_on = goes_on(self, record)
  take(self, record, parts)
  return not go_on and "failed" or nil
end

local function show_progress(self, step)
  if self.progress then
    local simulation = self.simulation and self.simulation:expected(step)
    local plan, more = self.plan, self.processes and self.processes:more() or 0
    local runs = plan.runs + more * #plan.cells * #plan.passes
    self.progress:begin(step.order, runs, step, self.declaration.stop, simulation)
  end
end

local function run_alone(self, step)
  show_progress(self, step)
  return settle(self, repeat_step(self, step))
end

-- The problem that ended a step; anything else that was raised is a bug of pmclua.
local function ended_by(caught)
  caught = raised.of(caught)
  local value = caught.value
  local is_known = value == hooks.INTERRUPTED or value == hooks.FAILED or explain.is(value)
    or raised.field(value, "quiet")
  return is_known and value or raised.problem(caught, { code = "EBUG", operation = "run" })
end

--- Steps that the runner does by itself, one after the other (batch.lua): what ended them early, or nil;
--- and how many were done.
local function run_batch(self, steps)
  local first, done, ended = steps[1], 0, nil
  local count, failed = iterations_of(self, first)
  if failed then return run_alone(self, first), 1 end
  local job = job_of(self, first.cell, first.pass, count, layout.of(self.declaration, first))
  show_progress(self, first)
  job.repetitions, job.stop_at_failure = #steps, self.declaration.on_failure == "stop"
  local function take_result(result)
    ended = settle(self, records_of(self, steps[done], result))
    if steps[done + 1] then show_progress(self, steps[done + 1]) end
  end
  local failure
  self.session:run_each(job, function(result)
    done = done + 1
    if ended or failure then return end
    local ok, caught = xpcall(take_result, raised.catch, result)
    -- The runner goes on by itself until it is told.
    if not ok then failure, job.is_over = ended_by(caught), true end
  end)
  if failure then error(failure, 0) end
  return ended, done
end

--- A batch of steps; the first alone, which finds out what the others need: a kernel's iterations, whether it
--- starts at all. What ended the run, or nil.
local function run_steps(self, steps)
  local at, ended = 2, run_alone(self, steps[1])
  while not ended and at <= #steps do
    if core.interrupts() > 0 then return "interrupted" end
    local done
    ended, done = run_batch(self, { unpack(steps, at) })
    at = at + done
  end
  return ended
end

local function execute(self)
  for steps in batch.batches(self.declaration, self.plan, self) do
    if self.barrier then self.barrier:await(batch.block(self.declaration, steps[1])) end
    local ended = core.interrupts() > 0 and "interrupted" or run_steps(self, steps)
    if ended then return ended end
  end
  return "complete"
end

-- The status of a run that something has ended, which is its problem if it has none yet.
local function status_of(self, ended)
  if ended == hooks.INTERRUPTED then return "interrupted" end
  if ended ~= hooks.FAILED then self.problem = self.problem or ended end
  return "failed"
end

--- Runs everything. Returns "complete", "interrupted" or "failed", and the problem that ended it. Raises what was
--- refused before anything was measured.
---@return string status, table? problem
function Run:execute()
  local ok, status = xpcall(execute, raised.catch, self)
  local cleaned, caught = xpcall(clean_up, raised.catch, self)
  for _, name in ipairs { "counter", "simulation", "sampling", "barrier" } do
    local counter = self[name]
    if counter then
      self.remarks:append(counter:remarks())
      counter:close()
    end
  end
  self.remarks:append(self.missing.remarks)
  self.remarks:append(self.placing.remarks)
  local ended = not ok and ended_by(status)
  local is_refused = ended and ended ~= hooks.FAILED and ended ~= hooks.INTERRUPTED and not self.has_taken
  if is_refused or raised.field(ended, "quiet") then error(ended, 0) end
  if ended then status = status_of(self, ended) end
  if not cleaned then status = status_of(self, ended_by(caught)) end
  return status, self.problem
end

return run
