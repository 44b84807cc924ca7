#!/usr/bin/env pmclua
-- How near do kernels come to what this CPU can compute and move?
-- for: learn
--
-- method: copy moves working sets of a half of each cache, and of four times the last one: the slanted
--   roofs. scalar and vector multiply and add in registers, one double at a time or vectors of them: the flat
--   roofs. triad and a polynomial of degree 16 (horner) lie below. What each does is known: no PMU is needed.
-- usage: pmclua roofline [--store FILE] [--set threads=8 --pin cores]
-- example:
--   pmclua roofline --repetitions 10 --set bytes=9216
--   How fast can this CPU compute and move data?
--
--   scalar · bytes = 9 KiB, threads = 1
--     10 repetitions in 10 processes, 2 warm-ups · per iteration, of 131,072
--   event                 median  95 % interval         shape   quality
--   duration_time       58.08 ns  52.47 … 83.66         █▂▁▂▂   noisy
--   flops_rate     13.22 GFLOP/s  9.18 … 14.64          ▅▁▃█▆   noisy
--   bandwidth             0 GB/s  =                             exact
--
--   vector · bytes = 9 KiB, threads = 1
--     10 repetitions in 10 processes, 2 warm-ups · per iteration, of 131,072
--   event                 median  95 % interval         shape   quality
--   duration_time       14.23 ns  13.17 … 16.62         █▅▃▁▆   noisy
--   flops_rate     53.97 GFLOP/s  46.20 … 58.33         ▆▁▃▅█   noisy
--   bandwidth             0 GB/s  =                             exact
--
--   ...
-- reading: pmclua plot FILE --kind roofline draws it: on the x axis operations a byte, on the y axis
--   operations per second. A point at a slanted roof waits for that memory, one at a flat roof computes as fast
--   as it can; one below both could be faster.
-- caveats: bytes are those that the source names, as in STREAM: a write that misses a cache reads the line
--   first, which is not counted. A cache that other CPUs use meanwhile is smaller. With threads, each has
--   arrays of its own. Your own program is a point where its CPU counts both rates: pmclua stat -a
--   -M flops_rate -M memory_bandwidth --store P.jsonl -- PROGRAM; pmclua plot FILE P.jsonl --kind roofline.

local pmc = require "pmclua"

local BLOCK = 9216                      -- working sets are multiples of it (kernels/stream.c)

local function whole_blocks(bytes) return math.max(1, math.floor(bytes / BLOCK)) * BLOCK end

-- A half of each cache of the first CPU, and four times the last one.
local function working_sets()
  local sets, seen, last = {}, {}, 2 ^ 25
  for _, cache in ipairs(pmc.doctor.topology().caches) do
    if cache.type ~= "Instruction" and not seen[cache.level] then
      seen[cache.level], last = true, cache.bytes
      sets[#sets + 1] = whole_blocks(cache.bytes / 2)
    end
  end
  if #sets == 0 then sets[1] = whole_blocks(2 ^ 14) end
  sets[#sets + 1] = whole_blocks(4 * last)
  return sets
end

-- `flops` and `moved`: operations and bytes for an element of 24 bytes, by definition.
local function kernel(name, flops, moved, symbol, ...)
  return pmc.kernel { name = name, source = "kernels/stream.c", symbol = symbol or name, threads = "threads",
    params = { flops = flops, moved = moved },
    cflags = { "-O3", "-march=native", "-ffp-contract=fast", ... } }
end

local sets = working_sets()
local IN_REGISTERS = { scalar = true, vector = true }

return pmc.experiment {
  question    = "How fast can this CPU compute and move data?",
  events      = "duration_time",
  metrics     = { "flops_rate = flops * bytes / 24 * threads / duration_time [GFLOP/s]",
    "bandwidth = moved * bytes / 24 * threads / duration_time [GB/s]" },
  factors     = { { "bytes", sets }, { "threads", { 1 } } },
  only_if     = function(levels, name) return not IN_REGISTERS[name] or levels.bytes == sets[1] end,
  workloads   = { kernel("copy", 0, 16), kernel("triad", 2, 24), kernel("horner", 32, 16),
    kernel("scalar", 2, 0, "peakflops", "-DWIDTH=1", "-fno-tree-vectorize"),
    kernel("vector", 2, 0, "peakflops") },
  repetitions = 10,
}
