#!/usr/bin/env pmclua
-- How often do equals come out as different on this machine, and how often is a real 2 % found? Real experiments of
-- each kind of workload that can be compared.
--
-- usage: pmclua tests/bench/aa.lua [EXPERIMENTS] [BUSY] [KIND…]
--   EXPERIMENTS of each kind (200); beside BUSY loops of ordinary priority (0); KIND: of those below, all by default
-- Prints a table in Markdown for tests/bench/README.md. Exit 1 where more of a kind come out as different than 5 %
-- can explain: beyond the 97.5th percentile of the binomial distribution.

local core = require "pmclua.core"
local pmc = require "pmclua"
local verdict = require "pmclua.verdict"

local EXPERIMENTS, BUSY = tonumber(arg[1]) or 200, tonumber(arg[2]) or 0
local PROMISED = 0.05

-- `cpu` does 100 additions an iteration, or `work` of them; `drawn` up to a twentieth more, as each process draws;
-- `shared`: threads that write to lines of their own.
local SOURCE = [[
#include <stdlib.h>
#include <sys/random.h>
#include <pmclua_kernel.h>
void *cpu_setup(const struct pmclua_params *params)
{
    static uint64_t work;
    work = pmclua_u64(params, "work", 100);
    return &work;
}
void cpu(void *state, uint64_t n)
{
    uint64_t work = *(uint64_t *)state, sum = 0;
    while (n--) for (uint64_t i = 0; i < work; i++) pmclua_keep(sum += i);
}
void *drawn_setup(const struct pmclua_params *params)
{
    static uint64_t work;
    unsigned char byte;
    if (getrandom(&byte, 1, 0) != 1) return pmclua_fail(params, "no random number");
    work = 100 + byte % 6;
    return &work;
}
void drawn(void *state, uint64_t n) { cpu(state, n); }
void *shared_setup(const struct pmclua_params *params) { (void)params; return aligned_alloc(128, 128); }
void shared(void *state, uint64_t n) { volatile uint64_t *word = state; while (n--) *word += n; }
]]

local function code(symbol, more)
  return function(name)
    local options = { name = name, code = SOURCE, symbol = symbol }
    for key, value in pairs(more or {}) do options[key] = value end
    return pmc.kernel(options)
  end
end

local function chase(bytes)
  return function(name)
    return pmc.kernel { name = name, source = "../../scripts/kernels/chase.c", symbol = "chase",
      params = { bytes = bytes } }
  end
end

local KINDS = {
  { "command", "a command (`true`)", function(name) return pmc.command { "true", name = name } end },
  { "cpu", "a kernel of additions", code "cpu" },
  { "l1", "pointer chasing in 16 KB", chase(16384) },
  { "l2", "pointer chasing in 256 KB", chase(262144) },
  { "colour", "pointer chasing in 768 KB: page colour", chase(786432) },
  { "random", "a random state of each process", code "drawn" },
  { "threads", "two pinned threads", code("shared", { threads = 2, cpus = "0,1" }) },
  { "call", "a call (`cos`)", function(name)
    return pmc.call { name = name, declaration = "double cos(double x)", library = "libm.so.6",
      args = { 0.5 } }
  end },
  { "snippet", "a snippet", function(name)
    return pmc.snippet { name = name, c = "x = x * 3 + 1;", init = "uint64_t x = 1;" }
  end },
}

-- Processes that take CPUs from what is measured; ended by `stop`.
local function busy(count)
  local loop = "timeout 3600 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"
  local pipe = assert(io.popen(("for i in $(seq %d); do %s; done"):format(count, loop)))
  local pids = pipe:read("*a"):gsub("\n", " ")
  pipe:close()
  return function() if count > 0 then os.execute("kill " .. pids) end end
end

-- One experiment: whether the first quantity came out as different, its verdict, and how long it took, ms.
local function once(a, b, seed)
  local began_ns = core.now_ns()
  local r = pmc.compare(a "A", b "B", { events = "task-clock", seed = seed, quiet = true, store = false })
  local took_ms = (core.now_ns() - began_ns) / 1e6
  local row = r:compare({}).pairs[1].rows[1]
  local found = row.verdict
  if not found then error("no verdict:\n" .. tostring(r)) end
  return verdict.differs(found), found, took_ms
end

local function repeated(a, b)
  local different, took, floors = 0, {}, {}
  for seed = 1, EXPERIMENTS do
    local differs, found, took_ms = once(a, b, seed)
    different = different + (differs and 1 or 0)
    took[seed], floors[seed] = took_ms, verdict.noise_floor(found) or 0
  end
  return different, pmc.stats.median(took), pmc.stats.median(floors)
end

-- The most of n that chance explains where each has the probability p, in 97.5 of 100.
local function most_by_chance(n, p)
  local probability, sum, k = (1 - p) ^ n, 0, 0
  while true do
    sum = sum + probability
    if sum >= 0.975 then return k end
    probability = probability * (n - k) / (k + 1) * p / (1 - p)
    k = k + 1
  end
end

local wanted = {}
for i = 3, #arg do wanted[arg[i]] = true end
local most, failed = most_by_chance(EXPERIMENTS, PROMISED), false
local stop = busy(BUSY)

print(("### A against A, %d real experiments of each kind, beside %d busy loops\n"):format(EXPERIMENTS, BUSY))
print(("At most %d of a kind by chance.\n"):format(most))
print "| workload | different | noise floor | ms each |"
print "|---|---|---|---|"
for _, kind in ipairs(KINDS) do
  if not next(wanted) or wanted[kind[1]] then
    local different, took_ms, floor = repeated(kind[3], kind[3])
    failed = failed or different > most
    print(("| %s | %d | %.1f %% | %.0f |"):format(kind[2], different, 100 * floor, took_ms))
    io.stdout:flush()
  end
end
if not next(wanted) or wanted.power then
  local found, took_ms, floor = repeated(code "cpu", code("cpu", { params = { work = 102 } }))
  print(("| a kernel of additions with 2 %% more of them | %d | %.1f %% | %.0f |"):format(found, 100 * floor,
    took_ms))
end
stop()
os.exit(failed and 1 or 0)
