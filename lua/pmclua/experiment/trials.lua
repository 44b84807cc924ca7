--- trials.lua: runs of kernels that nobody records: how long a number of iterations takes.

local calibrate = require("pmclua.base.lazy").module "pmclua.experiment.calibrate"
local core = require "pmclua.core"
local iterations = require "pmclua.experiment.iterations"
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Trials
---@field run pmclua.Run
---@field ways { set_up: fun(cell: pmclua.PlannedCell), job: fun(cell: pmclua.PlannedCell, iterations: integer): table }
---@field ids table<pmclua.PlannedCell, integer> the session's numbers of the workloads that were tried
---@field searches table<"time"|"simulated", pmclua.IterationSearch>
local Trials = {}
Trials.__index = Trials

-- A trial that an interrupt did not let begin.
local INTERRUPTED = { outcome = "interrupted", exit = -1, signal = 0, readings = {}, threads = 0, output = "",
  errors = "" }

-- How long a kernel's run was without waiting for a CPU, ns; of several threads the mean.
local function length_of(result)
  if not result.on_cpu_ns then return tonumber(result.wall_ns) end
  return tonumber(result.on_cpu_ns + result.off_cpu_ns) / math.max(1, result.threads)
end

local TRY = {}

function TRY.time(self, cell, count)
  local run, job, began_ns = self.run, self.ways.job(cell, count), core.now_ns()
  job.take = core.take { times = true }
  self.ids[cell] = job.workload
  local result = run.session:run(job)
  if result.outcome ~= "done" then return nil, result end
  if run.processes then
    local length_ns = tonumber(result.wall_ns)
    run.processes:note_trial(cell, core.now_ns() - began_ns - length_ns, length_ns, count)
  end
  return length_of(result)
end

function TRY.simulated(self, cell, count)
  local passes = self.run.plan.passes
  self.ways.set_up(cell)
  local pass = lists.find(lists.keys(passes), function(number) return passes[number].simulated ~= nil end)
  local result = self.run.simulation:run({ cell = cell, pass = pass }, count)
  if result.outcome ~= "done" then return nil, result end
  return result.instructions or tonumber(result.wall_ns)
end

local function kind_of(pass) return pass.simulated and "simulated" or "time" end

-- The number of iterations that a stored run found for a cell, in passes of a kind; nil: none.
local function stored_count(run, cell, kind)
  for number, pass in ipairs(run.plan.passes) do
    local count = run.done and run.done:iterations_of(cell.index, number)
    if count and kind_of(pass) == kind then return count end
  end
end

local function search_of(self, kind)
  if self.searches[kind] then return self.searches[kind] end
  local run = self.run
  local are_short = kind == "time" and run.processes and run.processes.most_pairs
  local limits = are_short and "short" or kind
  local function measure(cell, count)
    if core.interrupts() > 0 then return nil, INTERRUPTED end
    return TRY[kind](self, cell, count)
  end
  local function pages(cell) return run.processes:pages_of(self.ids[cell]) end
  local search = iterations.new(run.declaration, run.plan.cells, limits, measure,
    { pages = pages, reading_ns = calibrate.reading_ns(run.overhead, run.declaration.events) })
  for _, cell in ipairs(run.plan.cells) do search:know(cell, stored_count(run, cell, kind)) end
  self.searches[kind] = search
  return search
end

--- Prepares trials of a run's kernels.
---@param run pmclua.Run
---@param ways table how a cell is set up, and what its job is
---@return pmclua.Trials
function M.new(run, ways) return setmetatable({ run = run, ways = ways, ids = {}, searches = {} }, Trials) end

--- How many iterations a step's repetition has; nil and a result where looking for them failed.
---@param step table of plan.steps
---@return integer?
---@return table? failed
function Trials:of(step) return search_of(self, kind_of(self.run.plan.passes[step.pass])):of(step) end

return M
