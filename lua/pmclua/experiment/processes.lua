--- processes.lua: the processes that the repetitions of kernels run in.
--
-- The addresses, physical pages and random draws of setup that a process happens to get are the same in all its
-- repetitions, so it is processes that vary. Kernels that are set side by side get new ones every few repetitions.
-- Invariant: all cells get theirs in the same block, so that the processes of two cells are pairs; none begins with the
-- pages of the one before it, in their order; the processes of one number begin their repetitions on one CPU, as
-- other work slows each CPU down at times of its own.

local lists = require "pmclua.base.lists"
local machine = require("pmclua.base.lazy").module "pmclua.host.machine"

local M = {}

local WANTED = 15           -- processes of a cell: the interval of their median leaves three out at either end
local FEWEST = 8            -- of fewer no interval remains once it is corrected for a few comparisons
local FEW_REPETITIONS = 5   -- have no interval at all
local ADAPTIVE = 2          -- repetitions of a process where a stop rule decides how many there are
local LEAST_EXTRA_NS = 5e9  -- what starting processes may take in all, or as long as the repetitions themselves
local AHEAD = 2             -- processes that start beside each other while nothing is measured
local PAGE_BYTES, MOST_PAGES = 4096, 2 ^ 14
local EMPTY_PAGES = 64      -- that a runner has by itself
local FEW_PAGES = 16        -- of a kernel: which ones it has makes no difference to any cache

-- Pairs of kernels where the script does not say how many: many short ones. Other work then slows down both sides of most
-- pairs, and the few of which it hit one side only do not move the median of their process.
local MOST_PAIRS = 300
local PAIRS_NS = 60e6       -- the most time for one cell's pairs, unless as many as declared take longer

---@class pmclua.Processes
---@field session pmclua.Session
---@field declared integer repetitions of each cell, as the script has it
---@field most integer those that there will be
---@field most_pairs? integer how many there may be, of short repetitions; nil: as many as declared, not short
---@field wanted integer processes of each cell
---@field is_asked boolean whether the script says how many
---@field size? integer repetitions of one process, once that was decided
---@field current? integer number of the process that runs, the same of all cells
---@field start_cpu? integer where repetitions in the current processes begin
---@field before integer processes that a stored run had
---@field first integer repetitions that a stored run has begun
---@field ids table<pmclua.PlannedCell, integer> the session's numbers of their workloads
---@field fresh table<pmclua.PlannedCell, true> cells whose new process has not run yet
---@field scatter table<pmclua.PlannedCell, integer> bytes that a new process draws its pages from
---@field costs table<pmclua.PlannedCell, { start_ns: number, length_ns: number, iterations: integer }>
local Processes = {}
Processes.__index = Processes

local function first_size(declaration)
  if declaration.layout == "randomise" then return declaration.layout_runs end
  return declaration.stop and not declaration.processes and ADAPTIVE or nil
end

local function are_drawn(declaration, kernels, most)
  local asked = declaration.processes
  if #kernels == 0 then return false end
  if asked then return asked > 1 end
  return #kernels > 1 and most > FEW_REPETITIONS and not declaration.target
end

local function kernels_of(cells)
  return lists.where(cells, function(cell) return cell.workload.in_runner end)
end

-- Keys of a declaration with which repetitions stay as they are: hooks take their time at each, and samples are few.
local AS_THEY_ARE = { "iterations", "layout", "sample", "prepare", "conclude" }

-- Threads wait for each other at the beginning and end of a repetition, and emptying caches before it takes long.
local function is_short_cell(cell)
  local workload = cell.workload
  local threads = workload.thread_count and workload:thread_count(cell.levels) or 1
  return workload.in_runner and threads <= 1 and not cell.levels.cold_caches
end

local function can_be_short(declaration, plan)
  local is_compared = declaration.baseline or declaration.against
  return is_compared and not lists.any(AS_THEY_ARE, function(key) return declaration[key] end)
    and not lists.any(plan.passes, function(pass) return pass.simulated ~= nil end)
    and lists.all(plan.cells, is_short_cell)
end

--- How many pairs there may be of kernels whose repetitions turn out to be short; nil: as many as declared.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@return integer?
function M.most_pairs(declaration, plan)
  local is_open = declaration.is_count_open and can_be_short(declaration, plan)
    and are_drawn(declaration, kernels_of(plan.cells), declaration.repetitions)
  return is_open and math.max(MOST_PAIRS, declaration.processes or 0) or nil
end

-- A run that is resumed has as many repetitions as it planned, where that was written when it was cut off, and as many
-- in a process as one had that it ended.
local function go_on(self, done)
  local stored = done.header.repetitions
  local planned = stored and stored > self.declared and stored or nil
  local has_whole = done.process > 1
  self.size = (has_whole or not planned) and done.process_size or nil
  self.most = planned or math.max(self.declared, (self.size or 0) * self.wanted)
end

--- The processes of an experiment; nil where each kernel has one from beginning to end.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param most integer repetitions of each cell
---@param session pmclua.Session
---@param done? pmclua.Done what a stored run has: its processes are over
---@param barrier? pmclua.job.Barrier whose ranks make as many repetitions as declared
---@return pmclua.Processes?
function M.new(declaration, plan, most, session, done, barrier)
  local kernels, asked = kernels_of(plan.cells), declaration.processes
  if not are_drawn(declaration, kernels, most) then return nil end
  local self = setmetatable({ session = session, most = most, declared = most,
    most_pairs = not barrier and M.most_pairs(declaration, plan) or nil, wanted = asked or WANTED,
    is_asked = asked ~= nil, size = first_size(declaration), ids = {}, fresh = {}, costs = {}, scatter = {},
    before = done and done.process or 0, first = done and done.last or 0 }, Processes)
  if self.most_pairs and done then go_on(self, done) end
  return self
end

--- Notes what a trial of a cell took: starting and setting up its process, where it is the first, and the run itself, of
--- several with as many iterations the fastest.
---@param cell pmclua.PlannedCell
---@param start_ns number
---@param length_ns number
---@param iterations integer
function Processes:note_trial(cell, start_ns, length_ns, iterations)
  local cost = self.costs[cell] or { start_ns = start_ns }
  local is_longer = cost.iterations == iterations and cost.length_ns < length_ns
  if not is_longer then cost.length_ns, cost.iterations = length_ns, iterations end
  self.costs[cell] = cost
end

-- How many processes of each cell can be started in the time that there is for that.
local function affordable(self)
  local round_ns, all_ns = 0, 0
  for _, cost in pairs(self.costs) do
    round_ns = round_ns + cost.start_ns + cost.length_ns
    all_ns = all_ns + cost.length_ns * self.most
  end
  return round_ns > 0 and math.max(all_ns, LEAST_EXTRA_NS) / round_ns or math.huge
end

-- How many pairs there are to be, by how long the cells' repetitions are.
local function pairs_of(self)
  local longest_ns = 0
  for _, cost in pairs(self.costs) do longest_ns = math.max(longest_ns, cost.length_ns) end
  if not self.most_pairs or longest_ns == 0 then return self.most end
  local in_each = math.floor(math.min(self.most_pairs, PAIRS_NS / longest_ns) / self.wanted)
  return math.max(self.most, in_each * self.wanted)
end

-- Repetitions of one process; all of them where starting enough of them takes too long.
local function decide(self)
  self.most = pairs_of(self)
  local can = self.is_asked and self.wanted or math.min(self.wanted, affordable(self))
  if can < self.wanted and can < FEWEST then return math.huge end
  return math.max(1, math.floor(self.most / can))
end

-- The number of the process, within its cell, that a step runs in; from 1.
local function number_of(self, step)
  self.size = self.size or decide(self)
  local index = step.warmup and 1 or math.max(1, step.index - self.first)
  return self.before + math.max(1, math.ceil(index / self.size))
end

--- How many pages of memory a kernel has of its own in the process that runs; 0: none runs.
---@param id integer the session's number of the workload
---@return integer
function Processes:pages_of(id)
  local pid = self.session:runner_of(id)
  local line = pid and machine.line(("/proc/%d/statm"):format(pid))
  local resident, shared = (line or ""):match "^%d+ (%d+) (%d+)"
  return resident and math.max(0, tonumber(resident) - tonumber(shared) - EMPTY_PAGES) or 0
end

-- Twice what a kernel has of memory: what it draws from must be more than it takes. Bytes; nil: it has too little.
local function scatter_of(self, id)
  local own = self:pages_of(id)
  return own > FEW_PAGES and 2 * math.min(MOST_PAGES, own) * PAGE_BYTES or nil
end

-- Ends a cell's process, to draw another.
local function renew(self, cell)
  local id = self.ids[cell]
  self.scatter[cell] = self.scatter[cell] or scatter_of(self, id)
  self.fresh[cell] = true
  self.session:renew(id)
end

-- Ends the processes of all cells. The first start again at once, the others when they are needed.
local function renew_all(self, job)
  local ahead = { job.workload }
  for cell, id in pairs(self.ids) do
    renew(self, cell)
    if id ~= job.workload then ahead[#ahead + 1] = id end
  end
  if job.layout then return end          -- a process of each
  for i = 1, math.min(AHEAD, #ahead) do self.session:start_ahead(ahead[i]) end
end

--- Puts a step into its process: the first of a new number ends the processes before.
---@param step table gets its number as `process`
---@param job table of Session:run, changed
---@return boolean is_new its process is, and runs once unrecorded before anything counts
function Processes:enter(step, job)
  step.process = number_of(self, step)
  local is_first = self.ids[step.cell] == nil
  self.ids[step.cell] = job.workload
  if step.process ~= self.current then
    self.current, self.start_cpu = step.process, nil
    renew_all(self, job)
  elseif is_first then
    renew(self, step.cell)
  end
  job.scatter_bytes, job.start_cpu = self.scatter[step.cell], self.start_cpu
  local is_new = self.fresh[step.cell] == true
  self.fresh[step.cell] = nil
  return is_new
end

-- The CPU that a process ran on last: field 39 of its stat, of which the name, in brackets, may hold anything.
local CPU_OF_STAT = "^.*%)" .. (" %S+"):rep(36) .. " (%d+)"

--- Keeps a step, and those of its process that follow, on the CPU where Linux put the first.
---@param job table of Session:run that has just run, changed
function Processes:stay(job)
  if not self.start_cpu then
    local pid = self.session:runner_of(job.workload)
    local line = pid and machine.line(("/proc/%d/stat"):format(pid))
    self.start_cpu = tonumber((line or ""):match(CPU_OF_STAT))
  end
  job.start_cpu = self.start_cpu
end

--- How many repetitions of each cell there are beyond those declared.
---@return integer
function Processes:more() return self.most - self.declared end

--- The number of a kernel's only process: that of a resumed run is another than those before.
---@param done? pmclua.Done what a stored run has
---@return integer? number nil: the first
function M.only(done) return done and done.last > 0 and done.process + 1 or nil end

return M
