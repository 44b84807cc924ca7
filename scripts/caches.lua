#!/usr/bin/env pmclua
-- What does a load cost, by the size of the working set?
-- for: learn
--
-- method: follows a chain of dependent loads in random order through a working set, one cache line apart.
--   Each load waits for the one before it, so an iteration costs the latency of wherever the data lies.
-- usage: pmclua caches [--set bytes=16384,1048576]
-- example:
--   pmclua caches --repetitions 10 --set bytes=16384,1048576
--   What does a load cost, by working set?
--
--   duration_time per iteration · chase · 10 repetitions, 2 warm-ups
--    bytes   median  95 % interval         shape   quality
--   16 KiB  1.77 ns  1.70 … 1.82           ▅▁▆▃█   noisy
--    1 MiB  8.51 ns  8.04 … 10.24          █▅▅▁▅   noisy
-- reading: the cost rises in steps at the sizes of the caches; the plateau before a step is the latency
--   of that level.
-- caveats: beyond the reach of the TLB its misses are part of the cost (see pmclua tlb); huge pages move
--   that step.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does a load cost, by working set?",
  events      = { "duration_time", "cycles", "instructions", "L1-dcache-load-misses", "LLC-load-misses" },
  factors     = { { "bytes", { 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864 } } },
  workloads   = { pmc.kernel { name = "chase", source = "kernels/chase.c", symbol = "chase" } },
  repetitions = 15,
}
