--- played.lua: a machine with a PMU that is played for pmclua and its runner alike, with counts that are known.
--
-- played/pmu.c is loaded into both (LD_PRELOAD) and stands behind their table of system calls; played/work.c is a
-- program whose work the PMU counts. pmu.lua plays one for this process alone.

local support = require "tests.support"

local M = {}

local KINDS = 8
local HERE = support.root .. "/tests/support/played"

local programs

-- The library and the program, built once for a run of specs.
local function build()
  if programs then return programs end
  support.need(support.have "cc", "no C compiler")
  support.need_unwatched "a watcher is loaded the same way"
  local folder = support.folder()
  programs = {
    library = support.build(folder .. "/pmu.so", "cc", "-O1", "-shared", "-fPIC",
      "-I" .. support.root .. "/core", HERE .. "/pmu.c", HERE .. "/rings.c", HERE .. "/libc.c", "-ldl",
      "-lpthread"),
    work = support.build(folder .. "/work", "cc", "-O1", HERE .. "/work.c"),
    called = support.build(folder .. "/called", "cc", "-O1", HERE .. "/called.c", "-lpthread"),
  }
  return programs
end

--- The program whose functions do the work that `kinds` of M.kinds count: parse does 100 pieces of the first kind and 10
--- of the second, emit 10 and 40.
---@return string path
function M.called() return build().called end

--- Events of Linux's own that count the work of that program, for `kinds` of a machine.
---@return string[]
function M.kinds()
  local kinds = {}
  for i, name in ipairs { "getppid", "getpgid" } do
    local path = ("/sys/kernel/tracing/events/syscalls/sys_enter_%s/id"):format(name)
    kinds[i] = "2 " .. support.read(path):match "%d+"
  end
  return kinds
end

--- The program whose work is counted: each argument is how much of one kind it does.
---@return string path
function M.work() return build().work end

---@class support.Played
---@field counters integer
---@field events table<string, table> "TYPE CONFIG [CONFIG1]", to what a piece of work of each kind counts: { 3, 1 }
---@field own? string[] "TYPE CONFIG" of events with a counter of their own
---@field led? table<string, string> "TYPE CONFIG" to the config that must lead its group
---@field kinds? string[] "TYPE CONFIG" of Linux's events that count each kind of work; without it the program says it
---@field env? table<string, string> more variables, e.g. SYSFS_PATH
--- Its `work` is the program; `run` and `pmclua` are those of support, on that machine.

local function lines_of(pmu, work)
  local lines = { "work " .. work, "counters " .. pmu.counters }
  for _, event in ipairs(pmu.own or {}) do lines[#lines + 1] = "own " .. event end
  for _, event in ipairs(pmu.kinds or {}) do lines[#lines + 1] = "kind " .. event end
  for event, leader in pairs(pmu.led or {}) do lines[#lines + 1] = ("led %s %s"):format(event, leader) end
  for event, counts in pairs(pmu.events) do
    local has_config1 = select(2, event:gsub("%S+", "")) > 2
    lines[#lines + 1] = ("event %s %s %s"):format(event, has_config1 and "" or "0", table.concat(counts, " "))
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Of no CPU that perf has tables of: what the real one has is none of the played one's.
local UNKNOWN_CPU = "GenuineIntel-6-FE-1"

--- A machine with such a PMU.
---@param pmu support.Played
---@return table machine
function M.machine(pmu)
  local built, folder = build(), support.folder()
  local work = support.write(folder .. "/work", ("\0"):rep(8 * KINDS))
  local env = support.merged({ PERF_CPUID = UNKNOWN_CPU }, pmu.env)
  env = support.merged(env, { LD_PRELOAD = built.library, PMCLUA_PLAYED_WORK = work,
    PMCLUA_PLAYED_PMU = support.write(folder .. "/pmu", lines_of(pmu, work)) })
  local machine = { work = built.work, env = env, folder = folder }
  function machine.run(words, options)
    local all = support.merged(env, options and options.env)
    return support.run(words, support.merged(options or {}, { env = all }))
  end
  function machine.pmclua(words, options)
    return machine.run({ support.program, unpack(words) }, options)
  end
  return machine
end

return M
