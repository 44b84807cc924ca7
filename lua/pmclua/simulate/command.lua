--- command.lua: commands counted by cachegrind, with all the programs and processes that they start.
--
-- A forked child's file has what its parent had counted, too, and an exec loses the program before it. Where the log
-- tells of either, the command runs once more under callgrind, which writes what it has before each fork and exec. Of
-- programs whose end cachegrind saw, cachegrind's counts stand; callgrind's are of children that executed nothing, and
-- of programs that another one replaced.

local bit = require "bit"
local called = require("pmclua.base.lazy").module "pmclua.simulate.called"
local callers = require("pmclua.base.lazy").module "pmclua.simulate.callers"
local marked = require("pmclua.base.lazy").module "pmclua.simulate.marked"
local core = require "pmclua.core"
local fixed = require("pmclua.base.lazy").module "pmclua.simulate.fixed"
local lists = require "pmclua.base.lists"
local log = require "pmclua.simulate.log"
local output = require("pmclua.base.lazy").module "pmclua.host.output"
local out_file = require "pmclua.simulate.out_file"
local recount = require("pmclua.base.lazy").module "pmclua.simulate.recount"
local scratch = require "pmclua.simulate.scratch"
local surroundings = require "pmclua.simulate.surroundings"
local text = require "pmclua.base.text"
local valgrind = require "pmclua.simulate.valgrind"

local M = {}

-- Without the first, .valgrindrc and VALGRIND_OPTS decide; without the last, VEX counts both sides of some branches
-- (+9 % in programs of branches).
local ALWAYS = { "--command-line-only=yes", "--trace-children=yes", "--vgdb=no", "--vex-guest-chase=no" }

local THREADS = { "pthread_create", "clone", "clone3", "__clone", "__clone3", "thrd_create" }

local GRACE_NS = 2e9                   -- for Valgrind to write its counts at a time limit
local MOST_OUTPUT = 256 * 2 ^ 20       -- bytes of a terminal's that are kept
local PAUSE_NS, PAUSES = 2e7, 250      -- until the counts of what outlives the command are there
local QUIET = 3                        -- looks that find nobody

---@class pmclua.SimulatedCommand: pmclua.SimulatedWorkload
local Simulated = {}
Simulated.__index = Simulated

--- Counts a cell's command.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.SimulatedCommand
function M.new(context, cell)
  return setmetatable({ context = context, cell = cell, workload = cell.workload, levels = cell.levels,
    scratch = scratch.new(), valgrind = valgrind.need(), ids = {} }, Simulated)
end

-- ---- what is run ---------------------------------------------------------------------------------------------

-- A program of the fixed PATH keeps its plain name; one that only the user's PATH has gets its whole path.
local function program_of(self, environment)
  local workload = self.workload
  local name = require("pmclua.workload.shellwords").fill(workload.argv[1], self.levels)
  local path = workload:program(self.levels)
  if name:find("/", 1, true) or not path then return name end
  for _, entry in ipairs(environment) do
    for folder in (entry:match "^PATH=(.*)" or ""):gmatch "[^:]+" do
      local candidate = folder .. "/" .. name
      local is_there = core.stat(candidate)
      if is_there then return core.real_path(candidate) == core.real_path(path) and name or path end
    end
  end
  return path
end

-- What it is run under is "cachegrind" or, of callgrind, "callgrind", "calls" (of functions), "callers" or "marks" (for
-- what lies between them); and what more is asked of that.
local MORE = { callgrind = function() return recount.dumps() end,
  calls = function() return called.OPTIONS end, callers = function() return callers.OPTIONS end }

local function argv_of(self, tool, simulated, environment)
  local where, program = self.scratch.option, tool == "cachegrind" and "cachegrind" or "callgrind"
  local drawn = fixed.words(self.context.surroundings, self.scratch)
  return lists.joined { drawn, { self.valgrind }, ALWAYS, { "--tool=" .. program,
    ("--log-file=%s/log"):format(where), ("--%s-out-file=%s/%s.%%p"):format(program, where, tool) },
    surroundings.simulation_options(self.context.surroundings, simulated), MORE[tool] and MORE[tool]() or {},
    { "--", program_of(self, environment), unpack(self.workload.argv, 2) } }
end

-- The command as it is run under one of Valgrind's tools.
local function under_valgrind(self, tool, simulated)
  local mine, around = lists.copy(self.workload), self.context.surroundings
  mine.environment = surroundings.environment(around, self.workload.env, self.levels)
  if tool == "marks" then
    table.insert(mine.environment, ("%s=%s"):format(require("pmclua.workload.marks").VARIABLE, marked.TABLE))
  end
  mine.argv = argv_of(self, tool, simulated, mine.environment)
  local streams = surroundings.streams(around, self.workload)
  mine.stdin, mine.stdout, mine.stderr = streams.stdin, streams.stdout, streams.stderr
  -- Its output is seen once, however often it is counted.
  if tool ~= "cachegrind" then
    mine.stdout, mine.stderr = mine.stdout == "inherit" and "capture" or mine.stdout, "capture"
  end
  mine.standard, mine.grace_ns = around.signals == "pinned", GRACE_NS
  return setmetatable(mine, getmetatable(self.workload))
end

local function defined(self, tool, simulated)
  local key = ("%s %s %s"):format(tool, tostring(simulated.cache), tostring(simulated.branch))
  if not self.ids[key] then
    local workload = under_valgrind(self, tool, simulated)
    local pin = surroundings.cpus(self.context.surroundings, self.context.declaration.pin)
    self.ids[key] = { workload = workload, id = self.context.session:workload(function(message)
      workload:define(message, self.levels, { session = self.context.session, pin = pin })
    end) }
  end
  return self.ids[key]
end

-- Runs it under a tool; `look` is called meanwhile.
local function run_under(self, tool, simulated, look)
  local one = defined(self, tool, simulated)
  self.scratch:clear()
  return self.scratch:run(self.context.session, { workload = one.id, iterations = 1,
    timeout_ns = self.context.declaration.timeout_ns, capture_limit = MOST_OUTPUT }, look), one.workload
end

-- Output for a terminal goes there once it is complete.
local function pass_on(self, result, under)
  if under.stdout == "capture" and self.workload.stdout == "inherit" then
    output.bytes(result.output)
  end
  local wanted = self.workload.stderr or self.workload.stdout
  if under.stderr == "capture" and wanted == "inherit" then output.bytes(result.errors, 2) end
end

-- ---- what went wrong -------------------------------------------------------------------------------------------

local function lost(result, form, ...)
  result.outcome, result.lost = "not-counted", form:format(...)
  return result
end

local KILLED = "%s ended without writing its counts: killed by SIGKILL, or still running"
-- Valgrind writes where root alone may.
local OTHER_USER = ", or it became another user: run pmclua as that user"

-- Why a run has no counts that could be true; nil where it has.
local function check_run(self, result, found)
  local program = self.workload.argv[1]
  if result.outcome == "not-started" then
    return lost(result, "%s", tostring(self.workload:refusal(result)))
  end
  local unfixed = fixed.problem(self.context.surroundings, self.scratch)
  if unfixed then return lost(result, "%s", unfixed) end
  if #found.processes == 0 and (result.outcome == "done" or result.outcome == "signalled") then
    local said = (result.errors or ""):match "valgrind: ([^\n]*)"
    return lost(result, "Valgrind did not start %s: %s", text.safe(program),
      said and text.safe(said) or ("it ended with status %d"):format(result.exit))
  end
  if found.last_words then
    return lost(result, "%s (Valgrind %s)", text.safe(found.last_words), text.safe(found.version or "?"))
  end
  if result.outcome == "timed-out" then
    return lost(result, "its time limit ended it under Valgrind, where it takes 25 to 130 times as long")
  end
  local killed = found.killed[1]
  if killed then
    return lost(result, core.uid() == 0 and KILLED .. OTHER_USER or KILLED,
      text.safe(killed.starts[#killed.starts] or ("process %d"):format(killed.pid)))
  end
end

-- A script without "#!" is run by Valgrind, though execve(2) refuses it.
local function is_executable_format(path)
  local head = core.read_beginning(path, 4) or ""
  return head == "" or head:sub(1, 2) == "#!" or head == "\127ELF"
end

local NOEXEC = 8
local SETUID, SETGID = 0x800, 0x400

-- Nor does a program get another user's rights under Valgrind.
local function why_not(path)
  local is_there, mode = core.signature(path)
  if not is_executable_format(path) then
    return tostring(require("pmclua.explain").system(NOEXEC, "execute", path))
  elseif is_there and bit.band(mode, SETUID + SETGID) ~= 0 then
    return ("%s gains rights when it is executed (setuid): Valgrind runs no such program"):format(path)
  end
end

local function refused_before(self)
  local path = self.workload:program(self.levels)
  local why = path and why_not(path)
  return why and { outcome = "not-counted", lost = why, exit = -1, signal = 0, readings = {}, threads = 0,
    iterations = 1 }
end

-- ---- counting --------------------------------------------------------------------------------------------------

-- The files of a run, by path; nil and why one of them is none.
local function read_files(self)
  local list = {}
  for _, path in ipairs(self.scratch:files()) do
    local file, why = out_file.read(path)
    local pid = path:match "([^/]*)$":match "%.(%d+)"
    if not file then return nil, ("Valgrind's file of process %s: %s"):format(pid or "?", why) end
    file.pid = tonumber(pid)
    list[#list + 1] = file
  end
  return list
end

local function calls_any(files, functions)
  return lists.any(files, function(file) return out_file.has_function(file, functions) end)
end

-- The files of processes that executed something: each of its last program, whole.
local function of_programs(found, files)
  return lists.joined(lists.map(found.processes, function(process)
    return #process.starts > 0 and recount.of_process(files, process.pid) or nil
  end))
end

-- A process that outlives the command writes its counts when it ends. Whether one has not ended yet.
local function is_any_left(self, result)
  local quiet = 0
  for _ = 1, result.left and PAUSES or 0 do
    -- While one executes a program its arguments cannot be read.
    quiet = self.scratch:is_in_use() and 0 or quiet + 1
    if quiet == QUIET then
      result.left = nil
      return false
    end
    core.pause(PAUSE_NS)
    self.scratch:drain()
  end
  return result.left ~= nil
end

local STILL_RUNNING = "it has left processes running, which have not written their counts yet"

local ANOTHER = "it did something else when it was run again to be counted: what it reads may be used up "
  .. "(give it a file as standard input), or it changes what it works on"
local OTHERWISE = "it ended otherwise when it was run again to be counted"

-- Runs it once more, as it was, for what cachegrind cannot tell: the result, or nil and why that does not help.
local function run_again(self, tool, simulated, first, look)
  local again = run_under(self, tool, simulated, look)
  if is_any_left(self, again) then return nil, STILL_RUNNING end
  local found = log.parse(self.scratch:log())
  if check_run(self, again, found) then return nil, again.lost end
  local is_same = again.outcome == first.outcome and again.exit == first.exit and again.signal == first.signal
  return is_same and found or nil, OTHERWISE
end

-- Counts once more by callgrind what cachegrind cannot tell apart. The files, or nil and why.
local function count_again(self, simulated, result, found)
  local taken = { count = 0 }
  local function look() recount.take_dumps(self.scratch, taken) end
  local again, problem = run_again(self, "callgrind", simulated, result, look)
  if not again then return nil, problem end
  local has_same = #found.processes == #again.processes and found.forks == again.forks
    and found.execs == again.execs
  if not has_same then
    return nil, "it started other processes when it was counted again: its forks cannot be told apart"
  end
  local files, why = read_files(self)
  if not files then return nil, why end
  return recount.others_of(again, files)
end

local function by_event(self, pass, sums)
  local counts = {}
  for _, index in ipairs(pass.events) do
    counts[index] = 0
    for _, counter in ipairs(self.context.declaration.events[index].simulated) do
      counts[index] = core.sum(counts[index], sums[counter])
    end
  end
  return counts
end

local REMARK = "%s runs %s: what forked children do until they execute a program, and programs that another "
  .. "one replaces, are counted by callgrind, to within about 10 instructions for each"

-- The counts of a run that ended well, or why they cannot be known.
local function count(self, pass, result, found)
  local files, why = read_files(self)
  if not files then return lost(result, "%s", why) end
  fixed.say(self.context, self.scratch, self.workload.name, files)
  local list = of_programs(found, files)
  if #list == 0 then return lost(result, "Valgrind wrote no counts") end
  local is_split = found.forks > 0 or found.execs > 0 or calls_any(list, recount.FORKS)
  result.is_certain = not (is_split or calls_any(list, THREADS))
  if is_split then
    local others, whole = count_again(self, pass.simulated, result, found)
    if not others then return lost(result, "%s", whole) end
    if not recount.did_same(list, whole) then return lost(result, "%s", ANOTHER) end
    lists.append(list, others)
    if #others > 0 then
      self.context.remark(REMARK:format(text.safe(self.workload.name),
        text.plural(#found.processes, "process", "processes")))
    end
  end
  local sums = out_file.sum(list)
  result.simulated, result.instructions = by_event(self, pass, sums), sums.Ir
  result.files = list
  return result
end

-- ---- regions -----------------------------------------------------------------------------------------------

local ONE_PROGRAM = "parts are counted in commands of one process, which executes one program"

-- Runs it once more under callgrind: the files of its one process, or nil and why.
local function files_again(self, tool, simulated, result)
  local found, not_again = run_again(self, tool, simulated, result)
  if not found then return nil, not_again end
  local files, why = read_files(self)
  if not files then return nil, why end
  local is_one = #found.processes == 1 and #found.processes[1].starts == 1
  if not is_one then return nil, ONE_PROGRAM end
  if not recount.did_as_much(result.instructions, files) then return nil, ANOTHER end
  return files
end

-- The same result with the parts of its regions, or why these cannot be known.
local function add_regions(self, pass, result)
  local regions = self.context.declaration.regions
  if not regions or not result.simulated then return result end
  local found, why = require("pmclua.simulate.regions").of(regions, self.workload, self.levels, {
    run = function(tool) return files_again(self, tool, pass.simulated, result) end,
    by_event = function(counts) return by_event(self, pass, counts) end,
    remark = self.context.remark,
  })
  if not found then return lost(result, "%s", why) end
  result.called = found
  return result
end

local NO_CHAINS = "%s: there are no call chains: %s"

-- Gives a result the files that tell its call chains, where they are asked for and can be had.
local function add_callers(self, pass, result)
  local sample = self.context.declaration.sample
  if not (sample and sample.call_chains and result.simulated) then return end
  local files, why = files_again(self, "callers", pass.simulated, result)
  if not files then self.context.remark(NO_CHAINS:format(text.safe(self.workload.name), why)) end
  result.callers = files
end

function Simulated:run(pass)
  local before = refused_before(self)
  if before then return before end
  local result, under = run_under(self, "cachegrind", pass.simulated)
  pass_on(self, result, under)
  if result.outcome == "interrupted" or result.outcome == "quit" then return result end
  result.iterations = 1
  if is_any_left(self, result) then return lost(result, "%s", STILL_RUNNING) end
  local found = log.parse(self.scratch:log())
  if check_run(self, result, found) then return result end
  count(self, pass, result, found)
  add_callers(self, pass, result)
  return add_regions(self, pass, result)
end

function Simulated:forget()
  for _, one in pairs(self.ids) do self.context.session:forget(one.id) end
  self.ids = {}
end

return M
