--- running.lua: a command run under one of Valgrind's tools, and why such a run has no counts.

local bit = require "bit"
local core = require "pmclua.core"
local fixed = require("pmclua.base.lazy").module "pmclua.simulate.fixed"
local lists = require "pmclua.base.lists"
local log = require "pmclua.simulate.log"
local output = require("pmclua.base.lazy").module "pmclua.host.output"
local scratch = require "pmclua.simulate.scratch"
local surroundings = require "pmclua.simulate.surroundings"
local text = require "pmclua.base.text"
local valgrind = require "pmclua.simulate.valgrind"

local M = {}

-- Without the first, .valgrindrc and VALGRIND_OPTS decide; without the last, VEX counts both sides of some branches
-- (+9 % in programs of branches).
local ALWAYS = { "--command-line-only=yes", "--trace-children=yes", "--vgdb=no", "--vex-guest-chase=no" }

local GRACE_NS = 2e9                   -- for Valgrind to write its counts at a time limit
local MOST_OUTPUT = 256 * 2 ^ 20       -- bytes of a terminal's that are kept
local PAUSE_NS, PAUSES = 2e7, 250      -- until the counts of what outlives the command are there
local QUIET = 3                        -- looks that find nobody

---@class pmclua.ValgrindRun how a command is run
---@field name string of its files, and of this way to run it
---@field tool "cachegrind"|"callgrind"|"dhat"
---@field words string[] more options
---@field is_again boolean? its output is dropped: another run's is seen
---@field variables string[]? more of its environment

---@class pmclua.ValgrindCommand
---@field scratch pmclua.Scratch
local Running = {}
Running.__index = Running

--- A cell's command. Raises an error object where there is no Valgrind.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.ValgrindCommand
function M.new(context, cell)
  return setmetatable({ context = context, workload = cell.workload, levels = cell.levels,
    valgrind = valgrind.need(), scratch = scratch.new(), ids = {} }, Running)
end

--- Counts of a pass by index of the event.
---@param events pmclua.Event[]
---@param pass pmclua.Pass
---@param sums table<string, number|ffi.cdata*> by counter
---@return table<integer, number|ffi.cdata*>
function M.by_event(events, pass, sums)
  local counts = {}
  for _, index in ipairs(pass.events) do
    counts[index] = 0
    for _, counter in ipairs(events[index].simulated) do
      counts[index] = core.sum(counts[index], sums[counter])
    end
  end
  return counts
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

local function argv_of(self, how, environment)
  local where = self.scratch.option
  local drawn = fixed.words(self.context.surroundings, self.scratch)
  return lists.joined { drawn, { self.valgrind }, ALWAYS, { "--tool=" .. how.tool,
    ("--log-file=%s/log"):format(where), ("--%s-out-file=%s/%s.%%p"):format(how.tool, where, how.name) },
    how.words, { "--", program_of(self, environment), unpack(self.workload.argv, 2) } }
end

-- The command as it is run under one of Valgrind's tools.
local function under_valgrind(self, how)
  local mine, around = lists.copy(self.workload), self.context.surroundings
  mine.environment = surroundings.environment(around, self.workload.env, self.levels)
  lists.append(mine.environment, how.variables or {})
  mine.argv = argv_of(self, how, mine.environment)
  local streams = surroundings.streams(around, self.workload)
  mine.stdin, mine.stdout, mine.stderr = streams.stdin, streams.stdout, streams.stderr
  if how.is_again then
    mine.stdout, mine.stderr = mine.stdout == "inherit" and "capture" or mine.stdout, "capture"
  end
  mine.standard, mine.grace_ns = around.signals == "pinned", GRACE_NS
  return setmetatable(mine, getmetatable(self.workload))
end

local function defined(self, how)
  local key = how.name .. " " .. table.concat(how.words, " ")
  if not self.ids[key] then
    local workload = under_valgrind(self, how)
    local pin = surroundings.cpus(self.context.surroundings, self.context.declaration.pin)
    self.ids[key] = { workload = workload, id = self.context.session:workload(function(message)
      workload:define(message, self.levels, { session = self.context.session, pin = pin })
    end) }
  end
  return self.ids[key]
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

--- Notes that a run has no counts, and why.
---@param result table of Session:run, changed
---@param form string and what it takes
---@return table result
function M.lost(result, form, ...)
  result.outcome, result.lost = "not-counted", form:format(...)
  return result
end

local lost = M.lost

local KILLED = "%s ended without writing its counts: killed by SIGKILL, or still running"
-- Valgrind writes where root alone may.
local OTHER_USER = ", or it became another user: run pmclua as that user"

-- Why a run has no counts that could be true; nil where it has.
local function check_run(self, result, run_log)
  local program = self.workload.argv[1]
  if result.outcome == "not-started" then
    return lost(result, "%s", tostring(self.workload:refusal(result)))
  end
  local unfixed = fixed.problem(self.context.surroundings, self.scratch)
  if unfixed then return lost(result, "%s", unfixed) end
  if #run_log.processes == 0 and (result.outcome == "done" or result.outcome == "signalled") then
    local complaint = (result.errors or ""):match "valgrind: ([^\n]*)"
    return lost(result, "Valgrind did not start %s: %s", text.safe(program),
      complaint and text.safe(complaint) or ("it ended with status %d"):format(result.exit))
  end
  if run_log.last_words then
    return lost(result, "%s (Valgrind %s)", text.safe(run_log.last_words), text.safe(run_log.version or "?"))
  end
  if result.outcome == "timed-out" then
    return lost(result, "its time limit ended it under Valgrind, where it takes 25 to 130 times as long")
  end
  local killed = run_log.killed[1]
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

--- Why it cannot be run under Valgrind, as a result; nil where it can.
---@return table?
function Running:refused()
  local path = self.workload:program(self.levels)
  local why = path and why_not(path)
  return why and { outcome = "not-counted", lost = why, exit = -1, signal = 0, readings = {}, threads = 0,
    iterations = 1 }
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

--- Runs it once. There is a log where the run's counts can be true; else the result says what happened.
---@param how pmclua.ValgrindRun
---@param look? fun() called meanwhile
---@return table result of Session:run
---@return pmclua.ValgrindLog? run_log
function Running:run(how, look)
  local definition = defined(self, how)
  self.scratch:clear()
  local result = self.scratch:run(self.context.session, { workload = definition.id, iterations = 1,
    timeout_ns = self.context.declaration.timeout_ns, capture_limit = MOST_OUTPUT }, look)
  if not how.is_again then pass_on(self, result, definition.workload) end
  if result.outcome == "interrupted" or result.outcome == "quit" then return result end
  result.iterations = 1
  if is_any_left(self, result) then return lost(result, "%s", STILL_RUNNING) end
  local parsed = log.parse(self.scratch:log())
  if check_run(self, result, parsed) then return result end
  return result, parsed
end

--- The files of counts that a run left, by path; nil and why one of them cannot be read.
---@param read fun(path: string): table?, string? what is in one
---@return table[]? each with `pid`
---@return string? why
function Running:files(read)
  local list = {}
  for _, path in ipairs(self.scratch:files()) do
    local file, why = read(path)
    local pid = path:match "([^/]*)$":match "%.(%d+)"
    if not file then return nil, ("Valgrind's file of process %s: %s"):format(pid or "?", why) end
    file.pid = tonumber(pid)
    list[#list + 1] = file
  end
  return list
end

function Running:forget()
  for _, definition in pairs(self.ids) do self.context.session:forget(definition.id) end
  self.ids = {}
end

return M
