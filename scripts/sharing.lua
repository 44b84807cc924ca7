#!/usr/bin/env pmclua
-- What do two threads that write to one cache line cost each other?
-- for: learn
--
-- method: two threads, on two CPUs, each increment a counter of their own. The counters lie in one cache
--   line (8 bytes apart), in neighbouring lines, or in different pages (the baseline).
-- usage: pmclua sharing [--set apart=8,64,4096]
-- example:
--   pmclua sharing --repetitions 10
--   What does false sharing cost?
--
--   apart = 8 against apart = 4,096 (baseline) · count
--     10 pairs, interleaved, seed 118123254
--   event            apart = 4,096  apart = 8  ratio  95 % interval  verdict
--   duration_time *       0.384 ns   0.422 ns  1.121  1.04 … 1.23    SLOWER
--   cycles                       –          –      –  <not supported>: this virtu…
--   instructions                 –          –      –  <not supported>: this virtu…
--   cache-misses                 –          –      –  <not supported>: this virtu…
--   * primary
--
--   ...
-- reading: no data is shared in any case; what 8 bytes apart costs more is the line moving between the
--   CPUs. 64 against 128 shows whether lines are fetched in pairs.
-- caveats: on one CPU, or on two threads of one core, there is little or nothing to see; --pin chooses
--   other CPUs.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does false sharing cost?",
  events      = { "duration_time", "cycles", "instructions", "cache-misses" },
  factors     = { { "apart", { 8, 64, 128, 4096 } } },
  workloads   = {
    pmc.kernel { name = "count", source = "kernels/sharing.c", symbol = "count", threads = 2 },
  },
  pin         = pmc.machine().cpus > 1 and "0-1" or "0",
  baseline    = { apart = 4096 },
  repetitions = 20,
}
