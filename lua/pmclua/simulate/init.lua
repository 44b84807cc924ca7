--- simulate/init.lua: passes in which Valgrind counts.
--
-- Invariant: such a pass never shares a run with counters of the PMU or of Linux, and nothing but its counts is kept.
-- Repetitions that agree are enough; where they differ, as many are made as decide what is asked of them.

local fixed = require("pmclua.base.lazy").module "pmclua.simulate.fixed"
local lists = require "pmclua.base.lists"

local M = {}

--- Counts a cell's workload: simulate/command.lua, simulate/kernel.lua, simulate/heap.lua.
---@class pmclua.SimulatedWorkload
---@field run fun(self: table, pass: pmclua.Pass, iterations: integer?, layout: table?, is_recorded: boolean?): table
---  one repetition, or a trial of so many iterations: the result as Session:run has it, with `simulated`, counts by
---  index of the event, `instructions`, and `is_certain`: nothing that varies (threads, forks) was seen; or with
---  `lost`: why there are no counts
---@field forget fun(self: table) drops what it has defined in the session
---@field scratch pmclua.Scratch

---@class pmclua.SimulationContext
---@field declaration pmclua.Declaration
---@field session pmclua.Session
---@field surroundings pmclua.Surroundings
---@field remark fun(said: string)

-- How counts that differ are repeated.
---@class pmclua.Deciding
---@field looks integer[] numbers of repetitions at which to ask
---@field decide fun(blocks: integer): boolean whether there are enough, or more would not help
---@field extends boolean more are made than the declaration asks for, up to the last look

---@class pmclua.Simulation
local Simulation = {}
Simulation.__index = Simulation

-- By what is simulated, why a kind of workload has no simulator for it.
local WHY_NOT = { calls = "%s is a %s: system calls are counted of commands",
  heap = "%s is a %s: Valgrind's DHAT counts the allocations of commands",
  counts = "%s is a %s: Valgrind counts commands and kernels" }

--- Why an event of a workload cannot be simulated; nil: it can.
---@param workload table
---@param event pmclua.Event
---@return string?
function M.problem(workload, event)
  local what = event.source == "syscalls" and "calls"
    or require("pmclua.event.simulated").is_of_heap(event) and "heap" or "counts"
  if workload.simulators[what] then return nil end
  local why = what == "counts" and workload.why_not_simulated or WHY_NOT[what]
  return why:format(workload.name, workload.kind)
end

--- The counter of the simulated passes of a plan.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param session pmclua.Session
---@param deciding pmclua.Deciding
---@return pmclua.Simulation
function M.new(declaration, plan, session, deciding)
  local remarks = require("pmclua.base.remarks").new()
  return setmetatable({ plan = plan, cells = {}, seen = {}, said = remarks, ends = {}, decided = {},
    decide = deciding.decide, looks = deciding.looks, extends = deciding.extends,
    context = { declaration = declaration, session = session,
      surroundings = require("pmclua.simulate.surroundings").of(declaration),
      remark = function(remark) remarks:add(remark) end } }, Simulation)
end

local function counter_of(self, cell, pass)
  local what = pass.simulated.heap and "heap" or pass.simulated.calls and "calls" or "counts"
  local key = ("%d %s"):format(cell.index, what)
  if not self.cells[key] then
    self.cells[key] = require("pmclua.simulate." .. cell.workload.simulators[what]).new(self.context, cell)
  end
  return self.cells[key]
end

--- One repetition of a step whose pass is simulated.
---@param step table without an index: a trial
---@param iterations number?
---@param layout table? of this repetition
---@return table result of SimulatedWorkload:run
function Simulation:run(step, iterations, layout)
  local pass = self.plan.passes[step.pass]
  local is_recorded = step.index ~= nil and not step.warmup
  return counter_of(self, step.cell, pass):run(pass, iterations, layout, is_recorded)
end

-- ---- how it ends -----------------------------------------------------------------------------------------------

local function end_of(result)
  if result.outcome == "signalled" then return "signal " .. tostring(result.signal) end
  return result.outcome == "done" and "status " .. tostring(result.exit) or nil
end

local OTHERWISE = "it ends with %s %s and with %s without: it does something else there"

--- A command that ends in another way under Valgrind does something else there: that repetition is lost, or
--- where it was the first, a remark is made.
---@param step table
---@param result table of Session:run, changed
function Simulation:compare_ends(step, result)
  local ended = step.cell.workload.is_executed and end_of(result)
  if not ended then return end
  local ends = self.ends[step.cell.index] or {}
  self.ends[step.cell.index] = ends
  local simulated = self.plan.passes[step.pass].simulated
  local is_simulated = simulated ~= nil
  if simulated then ends.where = simulated.calls and "where its calls are counted" or "under Valgrind" end
  ends[is_simulated and "simulated" or "real"] = ended
  if not (ends.real and ends.simulated) or ends.real == ends.simulated then return end
  local why = OTHERWISE:format(ends.simulated, ends.where, ends.real)
  if is_simulated then result.outcome, result.lost = "not-counted", why
  else self.context.remark(("%s: %s"):format(step.cell.workload.name, why)) end
end

-- ---- when it is enough -----------------------------------------------------------------------------------------

local CERTAIN, UNCERTAIN = 2, 3        -- equal counts: where nothing that varies was seen; with threads or forks
local FAILURES = 2                     -- of Valgrind's, which would come again

local function key_of(cell, pass, choice) return ("%d/%d/%d"):format(cell, pass, choice or 1) end

local function signature(counts, pass)
  return table.concat(lists.map(pass.events, function(index) return tostring(counts[index]) end), " ")
end

-- Observations of repetitions that are alike.
local function seen_of(self, cell, pass, choice)
  local key = key_of(cell, pass, choice)
  self.seen[key] = self.seen[key] or { count = 0, lost = 0, is_equal = true, enough = CERTAIN }
  return self.seen[key]
end

--- Notes a record of a simulated pass.
---@param record table
---@param choice integer? which of several iteration counts it had
---@param is_certain? boolean nothing that varies was seen in it
function Simulation:note(record, choice, is_certain)
  local seen = seen_of(self, record.cell, record.pass, choice)
  if record.outcome ~= "done" then
    seen.lost = seen.lost + 1
    return
  end
  local own = signature(record.counts, self.plan.passes[record.pass])
  seen.count, seen.is_equal = seen.count + 1, seen.is_equal and (seen.found or own) == own
  seen.found = own
  if not is_certain then seen.enough = UNCERTAIN end
  -- Threads and children take turns as time has it.
  if not seen.is_equal and seen.enough == CERTAIN then fixed.say_varies(self.context, record.workload) end
end

--- Notes what a stored run has of simulated passes.
---@param done pmclua.Done
function Simulation:resume(done)
  for _, record in ipairs(done.simulated) do
    if self.plan.passes[record.pass].simulated then
      self:note(record, done.choice(record.index + done.warmup), true)
    end
  end
end

-- Whether no more repetitions of a cell are needed: its counts agree, or it has none.
local function is_settled(seen)
  return seen.is_equal and seen.count >= seen.enough or seen.lost >= FAILURES
end

-- Whether differing counts suffice after this many blocks. Only a few numbers of blocks are tried (verdict/stop.lua);
-- what was found at the last look holds until the next.
local function is_decided(self, blocks)
  for _, look in ipairs(self.looks) do
    if look > blocks then break end
    if self.decided[look] == nil then self.decided[look] = look == blocks and self.decide(blocks) end
    if self.decided[look] then return true end
  end
  return false
end

--- Whether a step need not be run: warm-ups, what is known already, and beyond what was asked for what is not simulated.
---@param step table
---@return boolean
function Simulation:has_enough(step)
  local declaration = self.context.declaration
  if not self.plan.passes[step.pass].simulated then
    return not declaration.stop and not step.warmup and step.index > declaration.repetitions
  end
  local seen = not step.warmup and seen_of(self, step.cell.index, step.pass, step.choice)
  return not seen or is_settled(seen) or not seen.is_equal and is_decided(self, step.index - 1)
end

--- Whether blocks beyond those that were asked for would decide limits on simulated counts.
---@param blocks integer that were run
---@return boolean
function Simulation:wants_more(blocks)
  if not self.extends or blocks >= self.looks[#self.looks] then return false end
  return lists.any(lists.keys(self.seen), function(key)
    local seen = self.seen[key]
    if is_settled(seen) then return false end
    if seen.is_equal then return seen.count < CERTAIN end
    return not is_decided(self, blocks)
  end)
end

-- How many more repetitions of a cell are to be expected.
local function left_of(self, cell, pass, choices)
  local left = 0
  for choice = 1, choices do
    local seen = seen_of(self, cell, pass, choice)
    left = left + (is_settled(seen) and 0 or math.max(1, seen.enough - seen.count))
  end
  return left
end

--- The simulated passes' progress when a step begins: whether it is of one, how many of their
--- repetitions are left at least, and what share of all planned ones they are.
---@param step table
---@return { is_simulated: boolean, left: integer, share: number }
function Simulation:expected(step)
  local left, passes, iterations = 0, 0, self.context.declaration.iterations
  local choices = type(iterations) == "table" and #iterations or iterations == "fit" and 5 or 1
  for pass, planned in ipairs(self.plan.passes) do
    if planned.simulated then
      passes = passes + 1
      for _, cell in ipairs(self.plan.cells) do left = left + left_of(self, cell.index, pass, choices) end
    end
  end
  return { is_simulated = self.plan.passes[step.pass].simulated ~= nil, left = left,
    share = passes / #self.plan.passes }
end

--- Remarks on what was counted, each once.
---@return string[]
function Simulation:remarks() return self.said end

function Simulation:close()
  local ok, problem = true, nil
  for _, cell in pairs(self.cells) do
    local is_forgotten, why = pcall(cell.forget, cell)
    cell.scratch:close()                       -- also where there was no memory to tell the runner
    if not is_forgotten then ok, problem = false, why end
  end
  self.cells = {}
  if not ok then error(problem, 0) end
end

return M
