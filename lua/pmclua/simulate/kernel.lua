--- kernel.lua: kernels counted by callgrind.
--
-- Invariant: two repetitions with as many iterations never share a process, so where they agree, processes do.
-- The kernel's runner is started under callgrind, which counts the measured call alone (core/runner/kernels/simulated.c).
-- The cost of the call itself is measured on the runner's empty kernel in the same process, and subtracted exactly.

local fixed = require("pmclua.base.lazy").module "pmclua.simulate.fixed"
local lists = require "pmclua.base.lists"
local log = require "pmclua.simulate.log"
local out_file = require "pmclua.simulate.out_file"
local scratch = require "pmclua.simulate.scratch"
local surroundings = require "pmclua.simulate.surroundings"
local text = require "pmclua.base.text"
local tools = require "pmclua.host.tools"
local valgrind = require "pmclua.simulate.valgrind"

local M = {}

---@class pmclua.SimulatedKernel: pmclua.SimulatedWorkload
---@field id integer the kernel, as the session knows it
---@field brackets table<string, table<string, integer>> what a bracket adds, by how the kernel is run
---@field pid integer? of its runner, when it was last run
---@field recorded table<integer, true> numbers of iterations of which this process has a repetition
---@field times table<integer, integer> repetitions of a number of iterations so far
---@field instructions table<integer, integer> of the first repetition with so many iterations
---@field varies boolean another process counted other instructions
---@field dumps integer how many of callgrind's files of that process were read
local Simulated = {}
Simulated.__index = Simulated

--- Counts a cell's kernel.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.SimulatedKernel
function M.new(context, cell)
  local self = setmetatable({ context = context, cell = cell, name = cell.workload.name,
    valgrind = valgrind.need(), scratch = scratch.new(), brackets = {}, dumps = 0,
    recorded = {}, times = {}, instructions = {}, varies = false }, Simulated)
  self.id = context.session:workload(function(message)
    cell.workload:define(message, cell.levels, { session = context.session, pin = context.declaration.pin,
      compiled = cell.compiled })
  end)
  return self
end

-- ---- the runner ------------------------------------------------------------------------------------------

-- The words that start a runner under callgrind. Threads of a kernel are counted only where the instrumentation of
-- the process is switched, instead of the collection of one thread.
local function words_of(self, simulated, is_switched, layout)
  local around, where = self.context.surroundings, self.scratch.option
  local padding = (layout.padding or 0) > 0 and { "PMCLUA_PADDING=" .. ("x"):rep(layout.padding) } or {}
  return lists.joined { { tools.find "env" or "/usr/bin/env", "-i" },
    surroundings.environment(around, nil, {}), padding, fixed.words(around, self.scratch),
    { self.valgrind, "--command-line-only=yes", "--tool=callgrind", "--vgdb=no",
      "--vex-guest-chase=no", is_switched and "--instr-atstart=no" or "--collect-atstart=no",
      ("--log-file=%s/log"):format(where), ("--callgrind-out-file=%s/kernel.%%p"):format(where) },
    surroundings.simulation_options(around, simulated) }
end

local function job_of(self, pass, iterations, layout)
  return { workload = self.id, in_runner = true, iterations = iterations, layout = layout,
    timeout_ns = self.context.declaration.timeout_ns,
    simulated = { owner = self.id, words = function(is_switched, its_layout)
      return words_of(self, pass.simulated, is_switched, its_layout)
    end } }
end

-- ---- reading what it counted -----------------------------------------------------------------------------

-- The dump of a run. Those of a process are numbered; a run that was refused may have one or none.
local function take_dump(self, sequence)
  local path = self.pid and ("%s/kernel.%d.%d"):format(self.scratch.path, self.pid, self.dumps + 1)
  local dump = path and out_file.read(path)
  if not dump then return nil end
  os.remove(path)
  self.dumps = self.dumps + 1
  return dump.trigger == "Client Request: pmclua " .. sequence and dump.summary or nil
end

-- Runs a job once: the result, and callgrind's counts of it.
local function run_once(self, job)
  local session = self.context.session
  local result = self.scratch:run(session, job)
  local pid = self.context.surroundings.random == "fixed" and fixed.pid(self.scratch)
    or session:runner_of(self.id)
  if pid ~= self.pid then self.pid, self.dumps = pid, 0 end
  local counts = take_dump(self, result.sequence)
  return result, result.outcome == "done" and counts or nil
end

-- The counts of the empty kernel itself: a return, which on x86 reads the stack.
local OWN = { x64 = { Ir = 1, Dr = 1 }, arm64 = { Ir = 1 } }

-- Enough repetitions for caches and predictors to settle.
local EMPTY_RUNS = 4

local function measure_bracket(self, job)
  self.empty = self.empty or self.context.session:workload(function(message)
    message:text("library", ""):text("symbol", "")
  end)
  local empty, bracket = { workload = self.empty, in_runner = true, is_empty = true, layout = job.layout,
    simulated = job.simulated }, nil
  for _ = 1, EMPTY_RUNS do
    local _, counts = run_once(self, empty)
    if not counts then return nil end
    bracket = counts
  end
  for name in pairs(bracket) do
    bracket[name] = bracket[name] - (OWN[jit.arch][name] or 0)
  end
  return bracket
end

--- The counts that the bracket around a call adds; nil where they cannot be measured.
local function bracket_of(self, pass, job)
  local is_switched = self.context.session:has_threads(self.id)
  local is_cold = is_switched or (job.layout and job.layout.cold_bytes or 0) > 0
  local key = ("%s %s %s %s"):format(tostring(pass.simulated.cache), tostring(pass.simulated.branch),
    tostring(is_switched), tostring(is_cold))
  self.brackets[key] = self.brackets[key] or measure_bracket(self, job)
  return self.brackets[key]
end

-- ---- what Valgrind cannot count --------------------------------------------------------------------------

local function lost(result, form, ...)
  result.outcome, result.lost, result.readings = "not-counted", form:format(...), {}
  return result
end

local REFUSED = {
  ECHILD = "the kernel %s started a process, which callgrind does not count",
  EBUSY = "the kernel %s starts threads beside those that `threads` asks for: callgrind counts one or "
    .. "the other",
  ENOSYS = "the runner of the kernel %s was not started by Valgrind",
}

local LACKS = "Valgrind %s lacks an instruction of the kernel %s%s: compile it for a smaller instruction "
  .. "set%s"
local SMALLER = { x64 = ', as by cflags = "-march=x86-64-v3": Valgrind has no AVX-512' }

local SIGILL = 4

local function lacks_instruction(self, result, version)
  local place = result.crash and require("pmclua.workload.crash").place(result.crash)
  place = place and ", in " .. place or ""
  return lost(result, LACKS, version, self.name, place, SMALLER[jit.arch] or "")
end

local NOT_STARTED = "Valgrind %s did not start: it ended with status %d"
local TOO_LONG = "the kernel %s reached its time limit under Valgrind, where it takes about 50 times as long"

-- The result where Valgrind is the reason that there are no counts; else the kernel itself ended badly.
local function explained(self, result)
  local run_log, name = log.parse(self.scratch:log()), self.name
  local last_words, has_started = run_log.last_words, self.has_started or #run_log.processes > 0
  local version, outcome = valgrind.version(self.valgrind), result.outcome
  if outcome == "timed-out" then return lost(result, TOO_LONG, name) end
  if outcome == "done" then return lost(result, "callgrind wrote no counts of %s", name) end
  if outcome == "quit" and not has_started then return lost(result, NOT_STARTED, version, result.exit) end
  if outcome == "not-counted" then
    return lost(result, REFUSED[result.failure.code] or "the kernel %s was not counted", name)
  elseif result.signal == SIGILL and (last_words or ""):find "does not know an instruction" then
    return lacks_instruction(self, result, version)
  elseif last_words then
    return lost(result, "Valgrind %s could not run the kernel %s: %s", version, name, text.safe(last_words))
  end
  return result
end

-- ---- a repetition ----------------------------------------------------------------------------------------

-- Calls that are not recorded, so that caches and predictors are those of a program that runs on: in each runner,
-- and again for another number of iterations. So a count does not depend on which repetitions went before.
local function warm_up(self, pass, job)
  local key = ("%s %d"):format(tostring(self.context.session:runner_of(self.id)), job.iterations)
  if self.warm == key then return end
  for i = 1, self.context.declaration.warmup do
    local _, counts = run_once(self, job)
    if not counts or i == 1 and not bracket_of(self, pass, job) then return end
  end
  self.warm = ("%s %d"):format(tostring(self.pid), job.iterations)
end

local THREADS = "%s runs in several threads: under Valgrind one at a time, in an order that varies; so may "
  .. "its simulated counts"
local EMPTIED = "; the simulated caches are empty before each call"

local function sum_of(names, totals)
  return lists.sum(names, function(name) return totals[name] end)
end

-- What a kernel draws in its setup stays while its process lives: that two repetitions agree says something only where
-- they ran in two processes. Where these differ, each further repetition gets a process, as those of one are alike.
local function enter_process(self, iterations)
  if self.recorded[iterations] or self.varies and next(self.recorded) then
    self.context.session:renew(self.id)
    self.recorded, self.brackets = {}, {}
  end
  self.recorded[iterations] = true
end

-- Calls before a repetition that are not recorded: as many as it would come after in one process, so that a kernel whose
-- calls differ shows that, too.
local MOST_BEFORE = 4

local function catch_up(self, job)
  local times = self.times[job.iterations] or 0
  for _ = 1, math.min(times, MOST_BEFORE) do
    local _, counts = run_once(self, job)
    if not counts then break end
  end
  self.times[job.iterations] = times + 1
end

local function note_instructions(self, iterations, count)
  local first = self.instructions[iterations] or count
  self.instructions[iterations], self.varies = first, self.varies or count ~= first
end

function Simulated:run(pass, iterations, layout, is_recorded)
  local job = job_of(self, pass, iterations, layout)
  self.scratch:clear()
  if is_recorded then enter_process(self, iterations) end
  warm_up(self, pass, job)
  if is_recorded then catch_up(self, job) end
  local result, totals = run_once(self, job)
  local unfixed = fixed.problem(self.context.surroundings, self.scratch)
  if unfixed then return lost(result, "%s", unfixed) end
  local bracket = totals and bracket_of(self, pass, job)
  self.has_started = self.has_started or totals ~= nil
  if not bracket then return explained(self, result) end
  local function count(names)
    return sum_of(names, totals) - math.max(1, result.threads) * sum_of(names, bracket)
  end
  fixed.say(self.context, self.scratch, self.name, {})
  result.simulated, result.instructions = {}, count { "Ir" }
  if is_recorded then note_instructions(self, iterations, result.instructions) end
  -- Threads that the kernel starts itself are counted with the whole process.
  local is_switched = self.context.session:has_threads(self.id)
  result.is_certain = result.threads <= 1 and not is_switched
  if not result.is_certain then
    self.context.remark(THREADS:format(text.safe(self.name)) .. (is_switched and EMPTIED or ""))
  end
  for _, index in ipairs(pass.events) do
    result.simulated[index] = count(self.context.declaration.events[index].simulated)
  end
  return result
end

function Simulated:forget()
  self.context.session:forget(self.id)
  if self.empty then self.context.session:forget(self.empty) end
end

return M
