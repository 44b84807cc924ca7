--- support.lua: shared by the lab's specs: programs and kernels of known length, counted by the runner, and
-- the guest's own perf.
--
-- What is known of a program or kernel was read off its source in commands/ and kernels/ by hand.

local core = require "pmclua.core"
local paths = require "pmclua.host.paths"
local support = require "tests.support"

local M = {}

--- QEMU runs with -icount shift=1: each instruction takes 2^1 cycles.
M.CYCLES_PER_INSTRUCTION = 2

local INSTRUCTIONS, CYCLES = 1, 0

--- attr fields of the generic hardware events, user only unless `fields` say otherwise.
function M.instructions(fields)
  local attr = { type = 0, config = INSTRUCTIONS, exclude_kernel = 1, exclude_hv = 1 }
  for name, value in pairs(fields or {}) do attr[name] = value end
  return attr
end

function M.cycles(fields)
  local attr = M.instructions(fields)
  attr.config = CYCLES
  return attr
end

--- Skips the calling file's tests outside the lab.
function M.need_lab()
  support.need(io.open "/lab/job", "only in the lab are counts exact")
end

--- The path of a program or shared object that lab.mk builds.
function M.built(name) return support.root .. "/build/lab/" .. name end

-- ---- the runner ----

---@class lab.Counts one result: values by group and member; times by group
---@field outcome string
---@field failure table? which event could not be opened
---@field threads integer[][][] values: thread, group, member
---@field values integer[][] the first thread's
---@field enabled integer[] ns, by group
---@field running integer[]

--- A workload for `M.count`: a kernel of kernels/known.S. options: threads.
function M.kernel(symbol, options)
  return function(message)
    message:text("library", M.built "known.so"):text("symbol", symbol)
    if options and options.threads then message:number("threads", options.threads) end
  end
end

--- A workload for `M.count`: a program by its path, and its arguments.
---@param words string[]
---@param environment? string[] "NAME=VALUE", all of it; by default LC_ALL=C alone
function M.command(words, environment)
  return function(message)
    for _, word in ipairs(words) do message:text("argument", word) end
    for _, variable in ipairs(environment or { "LC_ALL=C" }) do message:text("environment", variable) end
  end
end

local function cut(words, groups, thread)
  local counts = { values = {}, enabled = {}, running = {} }
  local size = 0
  for _, group in ipairs(groups) do size = size + 2 + #group end
  local at = (thread - 1) * size
  for g, group in ipairs(groups) do
    counts.enabled[g], counts.running[g], counts.values[g] = words[at + 1], words[at + 2], {}
    for i = 1, #group do counts.values[g][i] = words[at + 2 + i] end
    at = at + 2 + #group
  end
  return counts
end

local function counts_of(result, groups)
  local counts = cut(result.readings, groups, 1)
  counts.outcome, counts.failure, counts.threads = result.outcome, result.failure, {}
  counts.errnum = result.errnum
  for thread = 1, result.threads do counts.threads[thread] = cut(result.readings, groups, thread).values end
  return counts
end

local LIMIT_NS = 60e9

--- Runs a workload in a runner of its own, and hands back each repetition; where `iterations` is a list,
--- those of each in turn.
---@param workload fun(message) from M.kernel or M.command
---@param groups table[][] attr fields: groups of members, and each group's `pinned` and `read`
---@param options? { iterations?: integer|integer[], repetitions?: integer }
---@return lab.Counts[]
function M.count(workload, groups, options)
  options = options or {}
  local runner = assert(core.runner(paths.runner()))
  local define, events = core.message("workload", 1), core.message("events", 2)
  workload(define)
  for _, group in ipairs(groups) do
    events:group(group)
    for _, attr in ipairs(group) do events:attr(attr) end
  end
  assert(runner:send(define) and runner:send(events))
  local iterations, repetitions = options.iterations or 1, options.repetitions or 1
  local list = {}
  for _, times in ipairs(type(iterations) == "table" and iterations or { iterations }) do
    assert(runner:send(core.message("run", 3):number("workload", 1):number("events", 2)
      :number("iterations", times):number("repetitions", repetitions)))
    for _ = 1, repetitions do list[#list + 1] = counts_of(assert(runner:receive(LIMIT_NS)), groups) end
  end
  runner:finish()
  return list
end

--- The first repetition's.
function M.count_once(workload, groups, options) return M.count(workload, groups, options)[1] end

-- ---- perf ----

local PERF = { "env", "-i", "LC_ALL=C", "/usr/bin/perf", "stat", "-x,", "-e" }

local function perf(events, command)
  local words = { unpack(PERF) }
  words[#words + 1] = events
  for _, word in ipairs(command) do words[#words + 1] = word end
  return support.run(words)
end

--- What `perf stat` counts, by its own name of the event.
---@param events string for -e
---@param command string[]
---@return table<string, number>
function M.perf_stat(events, command)
  local counts = {}
  local lines = perf(events, command).err
  for line in lines:gmatch "[^\n]+" do
    local value, name = line:match "^(%d+),[^,]*,([^,]+),"
    if value then counts[name] = tonumber(value) end
  end
  return counts
end

-- Cycles and the six others, for all processes, before all else: nothing is left of the one CPU's PMU.
M.ALL_COUNTERS = "cycles:D" .. (",instructions:D"):rep(6)

-- Says who is to be ended for perf to end.
local HOLDER = "/usr/bin/perf stat -o /dev/null -a -e " .. M.ALL_COUNTERS
  .. " -- sh -c 'echo $$; exec sleep 600 >/dev/null' </dev/null 2>/dev/null &"

local function wait_until(fits)
  for _ = 1, 500 do
    if require("pmclua.event.try").group { M.instructions() } == fits then return end
    core.pause(1e7)
  end
  error "the counters were not taken, or not given back"
end

--- Has another process, perf, hold all counters.
---@return fun() release ends it
function M.hold_counters()
  local pipe = assert(io.popen(HOLDER))
  local pid = pipe:read "*n"
  pipe:close()
  wait_until(false)
  return function()
    os.execute("kill " .. pid)
    wait_until(true)
  end
end

--- The environment that `perf stat` gives its command: it adds variables of its own, and a dynamic linker
--- takes longer over a longer one.
---@return string[]
function M.perf_environment()
  local variables = {}
  local lines = perf("instructions:u", { "/usr/bin/env" }).out
  for line in lines:gmatch "[^\n]+" do variables[#variables + 1] = line end
  return variables
end

return M
