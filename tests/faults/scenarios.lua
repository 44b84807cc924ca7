--- scenarios: what runs while a system call fails: few scenarios that reach most of the code, each with its
-- expected outcome.

local support = require "tests.support"

local M = {}

local HERE = support.root .. "/tests/faults/scenarios"

---@class faults.Scenario
---@field words fun(place: string, shared: string): string[] what is run, with `place` for its files
---@field env? fun(place: string, shared: string): table<string, string> beside what all have
---@field programs? string[] whose calls fail: pmclua and its runner where not said
---@field needs_root? boolean and tracefs
---@field needs? string a program
---@field child? string calls that its held children make, in words
---@field report string file of `place` with what it says; "out": its standard output
---@field truth "cells"|"lines"|"calls"|"same"|"kinds" how its report is judged: judge.lua
---@field bounds? table<string, number[]> least and most of each value by field: what is outside is false
---@field region? string of which `bounds` are, where there are regions
---@field repetitions? integer in all, of cells
---@field stored? string file of `place` with the stored result
---@field before? integer repetitions that it has beforehand
---@field again? fun(path: string): string[] goes on with the stored result

-- What a program's page faults are beside those of its calls of walk(): its start, by far not so many.
local START = 2000
local WALKS, PAGES = 10, 4
local OF_PROBE = 1          -- the first probed instruction is stepped on a page of its own: core/README.md

local function pmclua(...) return { support.program, ... } end

-- The cache has one of the two kernels. The result goes to the user's folder of results; descriptors are so few
-- that the runner asks for more.
local KERNEL = 'cp -R "$2/cache" "$1/cache" && ulimit -Sn 200 && exec "$3" "$4" --format json'

-- Goes on with a result that was cut off in its third repetition.
local STORED = [[
  third='/"repetition"/{x;s/^/x/;/^x\{3\}$/{x;s/.\{9\}$//;q};x}'
  sed "$third" "$2/stored.jsonl" | head -c -1 >"$1/stored.jsonl"
  exec "$3" "$4" --resume "$1/stored.jsonl" --format json]]

-- A process that is there already; it does its work while pmclua's command waits for that.
local ATTACHED = [[
  cd "$1" && mkfifo go done
  "$2" serve go done & served=$!
  "$3" stat -p $served -e page-faults -j -o report -- sh -c 'echo >go; read done <done'
  status=$?
  kill $served
  exit $status]]
local SERVED = 100 * PAGES

M.NAMES = { "stat", "stored", "kernel", "attached", "system", "marks", "functions", "events", "doctor",
  "report", "simulated" }

---@type table<string, faults.Scenario>
M.SCENARIOS = {
  stat = { report = "report", truth = "cells", repetitions = 3, child = "execve dup3",
    bounds = { page_faults = { 30, START }, task_clock = { 1, math.huge } },
    words = function(place)
      return pmclua("stat", "-e", "page-faults,task-clock", "-r", "3", "-j", "-o", place .. "/report", "true")
    end },
  stored = { report = "out", truth = "cells", stored = "stored.jsonl", before = 2, repetitions = 12,
    child = "execve dup3 setpgid chdir sched_setaffinity personality",
    bounds = { page_faults = { 30, START }, task_clock = { 1, math.huge } },
    words = function(place, shared)
      return { "sh", "-c", STORED, "sh", place, shared, support.program, HERE .. "/stored.lua" }
    end,
    again = function(path) return pmclua(HERE .. "/stored.lua", "--resume", path, "--format", "json") end },
  kernel = { report = "out", truth = "cells", repetitions = 8,
    bounds = { page_faults = { PAGES, PAGES }, task_clock = { 1, math.huge } },
    words = function(place, shared)
      return { "sh", "-c", KERNEL, "sh", place, shared, support.program, HERE .. "/kernel.lua" }
    end,
    env = function(place, shared)
      return { XDG_CACHE_HOME = place .. "/cache", XDG_STATE_HOME = place .. "/home/.local/state",
        HOME = shared .. "/home" }
    end },
  attached = { report = "report", truth = "cells", repetitions = 1,
    bounds = { page_faults = { SERVED, SERVED + START } },
    words = function(place, shared)
      return { "sh", "-c", ATTACHED, "sh", place, shared .. "/walk", support.program }
    end },
  system = { report = "report", truth = "lines", needs_root = true,
    bounds = { page_faults = { WALKS * PAGES, math.huge }, ["sched:sched_process_exec"] = { 1, math.huge } },
    words = function(place, shared)
      return pmclua("stat", "-a", "-I", "10", "-e", "page-faults,sched:sched_process_exec", "-j", "-o",
        place .. "/report", "--", "sh", "-c", shared .. "/walk 10; sleep 0.02")
    end },
  marks = { report = "report", truth = "cells", repetitions = 1, region = "walk",
    programs = { "pmclua", "walk" },
    bounds = { page_faults = { WALKS * PAGES, WALKS * PAGES } },
    words = function(place, shared)
      return pmclua("stat", "--marks", "-e", "page-faults", "-j", "-o", place .. "/report", "--",
        shared .. "/walk", "10")
    end },
  functions = { report = "report", truth = "calls", region = "walk", needs_root = true,
    bounds = { calls = { WALKS, WALKS }, page_faults = { WALKS * PAGES, WALKS * PAGES + OF_PROBE } },
    words = function(place, shared)
      return pmclua("regions", "-e", "page-faults", "-f", "walk", "-f", "libc.so.6:abs", "-j", "-o",
        place .. "/report", "--", shared .. "/walk", "10")
    end },
  events = { report = "out", truth = "same", programs = { "pmclua" },
    words = function() return pmclua("events", "--json") end,
    env = function(_, shared) return { TRACEFS_PATH = shared .. "/tracefs" } end },
  doctor = { report = "out", truth = "kinds", programs = { "pmclua" },
    words = function() return pmclua("doctor", "--json") end },
  report = { report = "out", truth = "same", programs = { "pmclua" },
    words = function(_, shared) return pmclua("report", shared .. "/stored.jsonl", "--format", "json") end },
  simulated = { report = "report", truth = "cells", repetitions = 2, programs = { "pmclua" },
    needs = "valgrind", bounds = { ["valgrind::instructions"] = { 20000, 1e6 } },
    words = function(place)
      return pmclua("stat", "-e", "valgrind::instructions", "-r", "2", "-j", "-o", place .. "/report", "true")
    end },
}

--- Whether this user can run a scenario here.
---@param name string
---@return boolean
function M.can_run(name)
  local scenario = M.SCENARIOS[name]
  if scenario.needs and not support.have(scenario.needs) then return false end
  return not scenario.needs_root or support.have_root() and support.have_tracefs()
end

local function run(words, env)
  local made = support.pmclua(words, { env = env })
  assert(made.status == 0, made.err)
end

--- Makes a cache with one kernel and a stored result, in the environment of the runs that go on with them.
---@param shared string folder
---@param library string that is preloaded
function M.prepare_results(shared, library)
  run({ HERE .. "/stored.lua", "--store", shared .. "/stored.jsonl" }, { LD_PRELOAD = library })
  run({ HERE .. "/kernel.lua", "--no-store" }, { XDG_CACHE_HOME = shared .. "/cache", LD_PRELOAD = library,
    HOME = shared .. "/home", PMCLUA_FAULTS_KERNELS = "cached" })
end

--- Makes what scenarios share: a program, a tracefs.
---@return string folder
function M.prepare()
  local shared = support.folder()
  support.build(shared .. "/walk", "cc", "-O1", "-g", "-I" .. support.root .. "/core", HERE .. "/walk.c")
  -- Others define probes meanwhile, which those of this machine's own list.
  support.write(shared .. "/tracefs/available_events", "sched:sched_switch\nsyscalls:sys_enter_read\n")
  return shared
end

return M
