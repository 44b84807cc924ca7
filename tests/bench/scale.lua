#!/usr/bin/env pmclua
-- A million repetitions: run, stored, read back, summarised. What do they take beyond the measuring itself?
--
-- usage: pmclua tests/bench/scale.lua [REPETITIONS]      (1000000)
-- Each step is a process of its own, so that its memory is its own. Prints a table in Markdown for
-- tests/bench/README.md. Exit 1 where a step takes more than 512 MB, or all together more than 60 s beyond
-- the measuring (repetitions × what one takes in the kernel and its reads).

local pmc = require "pmclua"
local core = require "pmclua.core"

local MOST_MB, MOST_SECONDS = 512, 60
local EVENTS = { "duration_time", "task-clock", "page-faults", "context-switches", "cpu-migrations",
  "minor-faults" }

local KERNEL = [[
#include <pmclua_kernel.h>
void add(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) pmclua_keep(i);
}
]]

-- ---- steps, each in a process of its own -----------------------------------------------------------------

local steps = {}

local function memory_mb(field)
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match("^" .. field .. ":%s*(%d+)")
    if kilobytes then return kilobytes / 1024 end
  end
end

-- Seconds in the kernel; memory after a tenth of the repetitions and after all of them, in MB.
function steps.run(path, repetitions)
  local kernel = pmc.kernel { name = "add", code = KERNEL, symbol = "add" }
  local measured_ns, count, first_mb, last_mb = 0, 0, nil, nil
  local r = pmc.measure(kernel, { events = EVENTS, repetitions = repetitions, warmup = 0, iterations = 100,
    store = path, quiet = true, each = function(made)
      measured_ns, count = measured_ns + made.wall_ns, count + 1
      if count == math.ceil(repetitions / 10) then first_mb = memory_mb "VmRSS" end
      if count == repetitions then last_mb = memory_mb "VmRSS" end
    end })
  assert(r.status == "complete" and count == repetitions, r.status)
  return measured_ns / 1e9, first_mb, last_mb
end

function steps.load(path) assert(pmc.load(path):cells()().repetitions > 0) end

function steps.summarise(path)
  local r = pmc.load(path)
  local started = core.now_ns()
  assert(#r:report { format = "table", width = 80 } > 0)
  return tonumber(core.now_ns() - started) / 1e9
end

for _, format in ipairs { "json", "csv", "benchmark" } do
  steps[format] = function(path)
    local out = assert(io.open("/dev/null", "w"))
    local r = pmc.load(path)
    local started = core.now_ns()
    r:write(out, { format = format })
    return tonumber(core.now_ns() - started) / 1e9
  end
end

local function in_step(name, path, repetitions)
  local started = core.now_ns()
  local own, first_mb, last_mb = steps[name](path, repetitions)
  print(("%.3f %.1f %.3f %.1f %.1f"):format(tonumber(core.now_ns() - started) / 1e9, memory_mb "VmHWM", own
    or 0,
    first_mb or 0, last_mb or 0))
end

-- ---- all of them -----------------------------------------------------------------------------------------

local words = arg or {}
if steps[words[1]] then
  in_step(words[1], words[2], tonumber(words[3]))
  os.exit(0)
end

local repetitions = tonumber(words[1]) or 1000000

local function run_step(name, path)
  local command = ("'%s/pmclua' '%s' %s '%s' %d"):format(core.folder(), words[0], name, path, repetitions)
  local pipe = io.popen(command)
  local numbers = {}
  for number in pipe:read("*a"):gmatch "[%d.]+" do numbers[#numbers + 1] = tonumber(number) end
  pipe:close()
  assert(#numbers == 5, name .. " failed")
  return unpack(numbers)
end

local path = os.tmpname()
os.remove(path)
print(("### %d repetitions of a kernel with %d events (promised: %d MB, %d s beyond the measuring)\n"):format(
  repetitions, #EVENTS, MOST_MB, MOST_SECONDS))
print "| step | seconds | of them its own | most memory |"
print "|---|---|---|---|"
local beyond, memory, first_mb, last_mb = 0, 0, nil, nil
for _, name in ipairs { "run", "load", "summarise", "json", "csv", "benchmark" } do
  local seconds, used, own, early, late = run_step(name, path)
  local is_promised = name == "run" or name == "load" or name == "summarise"
  if name == "run" then
    first_mb, last_mb = early, late
    beyond = beyond + seconds - own
    print(("| run and store | %.1f | %.1f in the kernel | %.0f MB |"):format(seconds, own, used))
  else
    if is_promised then beyond = beyond + (name == "load" and seconds or own) end
    print(("| %s | %.1f | %.1f | %.0f MB |"):format(name == "load" and "read back" or name, seconds,
      name == "load" and seconds or own, used))
  end
  if is_promised then memory = math.max(memory, used) end
end
local stored_mb = require("lfs").attributes(path, "size") / 1e6
print(("\nStored: %.0f MB. Beyond the measuring: %.1f s. "
  .. "Memory while running: %.0f MB after a tenth, %.0f MB at the end.")
  :format(stored_mb, beyond, first_mb, last_mb))
os.remove(path)
os.exit((beyond > MOST_SECONDS or memory > MOST_MB) and 1 or 0)
