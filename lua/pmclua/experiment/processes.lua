--- processes.lua: the processes that the repetitions of kernels run in.
--
-- The addresses, physical pages and random draws of setup that a process happens to get are the same in all its
-- repetitions, so it is processes that vary. Kernels that are set side by side get new ones every few repetitions.
-- Invariant: all cells get theirs in the same block, so that the processes of two cells are pairs; none begins with the
-- pages of the one before it, in their order.

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

---@class pmclua.Processes
---@field session pmclua.Session
---@field most integer repetitions of each cell
---@field wanted integer processes of each cell
---@field is_asked boolean whether the script says how many
---@field size? integer repetitions of one process, once that was decided
---@field current? integer number of the process that runs, the same of all cells
---@field before integer processes that a stored run had
---@field first integer repetitions that a stored run has begun
---@field ids table<pmclua.PlannedCell, integer> the session's numbers of their workloads
---@field fresh table<pmclua.PlannedCell, true> cells whose new process has not run yet
---@field scatter table<pmclua.PlannedCell, integer> bytes that a new process draws its pages from
---@field costs table<pmclua.PlannedCell, { start_ns: number, length_ns: number }>
local Processes = {}
Processes.__index = Processes

local function first_size(declaration)
  if declaration.layout == "randomise" then return declaration.layout_runs end
  return declaration.stop and not declaration.processes and ADAPTIVE or nil
end

--- The processes of an experiment; nil where each kernel has one from beginning to end.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param most integer repetitions of each cell
---@param session pmclua.Session
---@param done? pmclua.Done what a stored run has: its processes are over
---@return pmclua.Processes?
function M.new(declaration, plan, most, session, done)
  local kernels = lists.where(plan.cells, function(cell) return cell.workload.in_runner end)
  local asked = declaration.processes
  local are_drawn = asked and asked > 1
    or not asked and #kernels > 1 and most > FEW_REPETITIONS and not declaration.target
  if #kernels == 0 or not are_drawn then return nil end
  return setmetatable({ session = session, most = most, wanted = asked or WANTED, is_asked = asked ~= nil,
    size = first_size(declaration), ids = {}, fresh = {}, costs = {}, scatter = {},
    before = done and done.process or 0, first = done and done.last or 0 }, Processes)
end

--- Notes what a cell's first trial took: starting and setting up its process, and the run itself.
---@param cell pmclua.PlannedCell
---@param start_ns number
---@param length_ns number
function Processes:note_trial(cell, start_ns, length_ns)
  self.costs[cell] = self.costs[cell] or { start_ns = start_ns }
  self.costs[cell].length_ns = length_ns
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

-- Repetitions of one process; all of them where starting enough of them takes too long.
local function decide(self)
  local can = self.is_asked and self.wanted or math.min(self.wanted, affordable(self))
  if can < self.wanted and can < FEWEST then return math.huge end
  return math.max(1, math.floor(self.most / can))
end

-- Which process of its cell a step runs in, from 1.
local function number_of(self, step)
  self.size = self.size or decide(self)
  local index = step.warmup and 1 or math.max(1, step.index - self.first)
  return self.before + math.max(1, math.ceil(index / self.size))
end

-- Twice what a kernel has of memory: what it draws from must be more than it takes. Bytes; nil: it has too little.
local function scatter_of(self, id)
  local pid = self.session:runner_of(id)
  local line = pid and machine.line(("/proc/%d/statm"):format(pid))
  local resident, shared = (line or ""):match "^%d+ (%d+) (%d+)"
  local own = resident and tonumber(resident) - tonumber(shared) - EMPTY_PAGES or 0
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
    self.current = step.process
    renew_all(self, job)
  elseif is_first then
    renew(self, step.cell)
  end
  job.scatter_bytes = self.scatter[step.cell]
  local is_new = self.fresh[step.cell] == true
  self.fresh[step.cell] = nil
  return is_new
end

--- The number of a kernel's only process: that of a resumed run is another than those before.
---@param done? pmclua.Done what a stored run has
---@return integer? number nil: the first
function M.only(done) return done and done.last > 0 and done.process + 1 or nil end

return M
