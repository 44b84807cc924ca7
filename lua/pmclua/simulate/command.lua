--- command.lua: commands counted by cachegrind, with all the programs and processes that they start.
--
-- A forked child's file has what its parent had counted, too, and an exec loses the program before it. Where the log
-- tells of either, the command runs once more under callgrind, which writes what it has before each fork and exec. Of
-- programs whose end cachegrind saw, cachegrind's counts stand; callgrind's are of children that executed nothing, and
-- of programs that another one replaced.

local called = require("pmclua.base.lazy").module "pmclua.simulate.called"
local callers = require("pmclua.base.lazy").module "pmclua.simulate.callers"
local marked = require("pmclua.base.lazy").module "pmclua.simulate.marked"
local fixed = require("pmclua.base.lazy").module "pmclua.simulate.fixed"
local lists = require "pmclua.base.lists"
local out_file = require "pmclua.simulate.out_file"
local recount = require("pmclua.base.lazy").module "pmclua.simulate.recount"
local running = require "pmclua.simulate.running"
local surroundings = require "pmclua.simulate.surroundings"
local text = require "pmclua.base.text"

local M = {}

local THREADS = { "pthread_create", "clone", "clone3", "__clone", "__clone3", "thrd_create" }

---@class pmclua.SimulatedCommand: pmclua.SimulatedWorkload
local Simulated = {}
Simulated.__index = Simulated

--- Counts a cell's command.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.SimulatedCommand
function M.new(context, cell)
  local run = running.new(context, cell)
  return setmetatable({ context = context, workload = cell.workload, levels = cell.levels, running = run,
    scratch = run.scratch }, Simulated)
end

-- ---- what is run ---------------------------------------------------------------------------------------------

-- A run is named "cachegrind" or, under callgrind, "callgrind", "calls" (of functions), "callers" or "marks" (what lies
-- between them). These are callgrind's further options by that name.
local MORE = { callgrind = function() return recount.dumps() end,
  calls = function() return called.OPTIONS end, callers = function() return callers.OPTIONS end }

local function marks_variable()
  return ("%s=%s"):format(require("pmclua.workload.marks").VARIABLE, marked.TABLE)
end

-- How it is run under one of these.
local function how_of(self, name, simulated)
  local around = self.context.surroundings
  return { name = name, tool = name == "cachegrind" and name or "callgrind",
    words = lists.append(surroundings.simulation_options(around, simulated),
      MORE[name] and MORE[name]() or {}),
    is_again = name ~= "cachegrind", variables = { name == "marks" and marks_variable() or nil } }
end

-- ---- counting --------------------------------------------------------------------------------------------------

local function calls_any(files, functions)
  return lists.any(files, function(file) return out_file.has_function(file, functions) end)
end

local ANOTHER = "it did something else when it was run again to be counted: what it reads may be used up "
  .. "(give it a file as standard input), or it changes what it works on"
local OTHERWISE = "it ended otherwise when it was run again to be counted"

-- Runs it once more, as it was, for what cachegrind cannot tell: the result, or nil and why that does not help.
local function run_again(self, tool, simulated, first, look)
  local again, run_log = self.running:run(how_of(self, tool, simulated), look)
  if not run_log then return nil, again.lost or OTHERWISE end
  local is_same = again.outcome == first.outcome and again.exit == first.exit and again.signal == first.signal
  return is_same and run_log or nil, OTHERWISE
end

-- Counts once more by callgrind what cachegrind cannot tell apart. The files, or nil and why.
local function count_again(self, simulated, result, report)
  local taken = { count = 0 }
  local function look() recount.take_dumps(self.scratch, taken) end
  local again, problem = run_again(self, "callgrind", simulated, result, look)
  if not again then return nil, problem end
  local has_same = #report.processes == #again.processes and report.forks == again.forks
    and report.execs == again.execs
  if not has_same then
    return nil, "it started other processes when it was counted again: its forks cannot be told apart"
  end
  local files, why = self.running:files(out_file.read)
  if not files then return nil, why end
  return recount.others_of(again, files)
end

local REMARK = "%s runs %s: what forked children do until they execute a program, and programs that another "
  .. "one replaces, are counted by callgrind, to within about 10 instructions for each"

-- The counts of a run that ended well, or why they cannot be known.
local function count(self, pass, result, report)
  local files, why = self.running:files(out_file.read)
  if not files then return running.lost(result, "%s", why) end
  fixed.say(self.context, self.scratch, self.workload.name, files)
  local list = report:of_programs(files)
  if #list == 0 then return running.lost(result, "Valgrind wrote no counts") end
  local is_split = report.forks > 0 or report.execs > 0 or calls_any(list, recount.FORKS)
  result.is_certain = not (is_split or calls_any(list, THREADS))
  if is_split then
    local others, whole = count_again(self, pass.simulated, result, report)
    if not others then return running.lost(result, "%s", whole) end
    if not recount.did_same(list, whole) then return running.lost(result, "%s", ANOTHER) end
    lists.append(list, others)
    if #others > 0 then
      self.context.remark(REMARK:format(text.safe(self.workload.name),
        text.plural(#report.processes, "process", "processes")))
    end
  end
  local sums = out_file.sum(list)
  result.simulated = running.by_event(self.context.declaration.events, pass, sums)
  result.instructions, result.files = sums.Ir, list
  return result
end

-- ---- regions -----------------------------------------------------------------------------------------------

local ONE_PROGRAM = "parts are counted in commands of one process, which executes one program"

-- Runs it once more under callgrind: the files of its one process, or nil and why.
local function files_again(self, tool, simulated, result)
  local run_log, not_again = run_again(self, tool, simulated, result)
  if not run_log then return nil, not_again end
  local files, why = self.running:files(out_file.read)
  if not files then return nil, why end
  local is_one = #run_log.processes == 1 and #run_log.processes[1].starts == 1
  if not is_one then return nil, ONE_PROGRAM end
  if not recount.did_as_much(result.instructions, files) then return nil, ANOTHER end
  return files
end

-- The same result with the parts of its regions, or why these cannot be known.
local function add_regions(self, pass, result)
  local regions = self.context.declaration.regions
  if not regions or not result.simulated then return result end
  local parts, why = require("pmclua.simulate.regions").of(regions, self.workload, self.levels, {
    run = function(tool) return files_again(self, tool, pass.simulated, result) end,
    by_event = function(counts) return running.by_event(self.context.declaration.events, pass, counts) end,
    remark = self.context.remark,
  })
  if not parts then return running.lost(result, "%s", why) end
  result.called = parts
  return result
end

local NO_CHAINS = "%s: there are no call chains: %s"

-- Gives a result its call chains, if they are asked for and known.
local function add_callers(self, pass, result)
  local sample = self.context.declaration.sample
  if not (sample and sample.call_chains and result.simulated) then return end
  local files, why = files_again(self, "callers", pass.simulated, result)
  if not files then return self.context.remark(NO_CHAINS:format(text.safe(self.workload.name), why)) end
  function result.chains(counters, homes) return callers.of(files, counters, homes) end
end

function Simulated:run(pass)
  local before = self.running:refused()
  if before then return before end
  local result, run_log = self.running:run(how_of(self, "cachegrind", pass.simulated))
  if not run_log then return result end
  count(self, pass, result, run_log)
  add_callers(self, pass, result)
  return add_regions(self, pass, result)
end

function Simulated:forget() self.running:forget() end

return M
