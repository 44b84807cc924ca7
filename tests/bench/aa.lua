#!/usr/bin/env pmclua
-- How often do equals come out as different on this machine? Real experiments of one workload against itself.
--
-- usage: pmclua tests/bench/aa.lua [EXPERIMENTS]      (100 of each workload)
-- Prints a table in Markdown for tests/bench/README.md. Exit 1 where more than 5 % come out as different: of
-- the primary quantity, or of any of them.

local pmc = require "pmclua"
local verdict = require "pmclua.verdict"

local experiments = tonumber(arg and arg[1]) or 100
local PAIRS = 30
local EVENTS = { "duration_time", "task-clock", "page-faults", "context-switches" }
local DIFFERENT = { faster = true, slower = true, fewer = true, more = true, lower = true, higher = true }

local SPIN = [[
#include <pmclua_kernel.h>
void spin(void *state, uint64_t iterations)
{
    uint64_t sum = 0;
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) pmclua_keep(sum += i);
}
]]

local function command(name) return pmc.command { "true", name = name } end
local function kernel(name) return pmc.kernel { name = name, code = SPIN, symbol = "spin" } end

-- One experiment: whether the primary quantity, or any, came out as different; the primary's ratio; and
-- whether its interval leaves out 1, which margin or none it should do in 5 % at most.
local function once(workload, seed)
  local r = pmc.compare(workload "A", workload "B",
    { events = EVENTS, repetitions = PAIRS, seed = seed, quiet = true, store = false })
  local found = { any = false }
  for _, row in ipairs(r:compare({}).pairs[1].rows) do
    local is_different = row.verdict and DIFFERENT[row.verdict.verdict] or false
    found.any = found.any or is_different
    if row.primary then
      found.primary, found.floor = is_different, verdict.noise_floor(row.verdict)
      found.off = row.verdict.low > 1 or row.verdict.high < 1
    end
  end
  return found
end

local function share(count) return ("%.1f %%"):format(100 * count / experiments) end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

local worst = 0

local function row(label, workload)
  local primary, any, off, floors = 0, 0, 0, {}
  for seed = 1, experiments do
    local found = once(workload, seed)
    primary, any = primary + (found.primary and 1 or 0), any + (found.any and 1 or 0)
    off, floors[seed] = off + (found.off and 1 or 0), found.floor
  end
  worst = math.max(worst, primary / experiments, any / experiments)
  print(("| %s | %s | %s | %s | %.1f %% |"):format(label, share(primary), share(any), share(off),
    100 * median(floors)))
end

print(("### A against A, %d real experiments each of %d pairs (promised: at most 5 %% different)\n"):format(
  experiments, PAIRS))
print "| workload | time different | any of 4 quantities | interval without 1, no margin | noise floor |"
print "|---|---|---|---|---|"
row("command `true`", command)
row("kernel of additions", kernel)
os.exit(worst > 0.05 and 1 or 0)
