#!/usr/bin/env pmclua
-- What does an unpredictable branch cost?
-- for: learn
--
-- method: runs the same loop over the same bytes, once sorted (the branch goes one way for a long time,
--   then the other) and once in random order. The sorted bytes are the baseline. The extra column is the
--   cost of one byte.
-- usage: pmclua branches [--set n=1024,32768]
-- example:
--   pmclua branches --repetitions 10
--   What does an unpredictable branch cost?
--
--   duration_time per iteration · 10 repetitions in 10 processes, 2 warm-ups
--     baseline sorted
--       n     sorted     /byte   unsorted     /byte  ratio  95 % interval  verdict
--   1,024   533.4 ns  0.521 ns   463.1 ns  0.452 ns  0.872  0.82 … 0.92    FASTER
--  32,768   15.55 µs  0.474 ns   62.57 µs   1.91 ns  3.935  3.24 … 4.33    SLOWER
-- reading: both loops execute nearly the same `instructions`; the extra cost of the unsorted loop is
--   misprediction. The difference in cycles divided by the difference in branch-misses is the cost of one.
-- caveats: with few bytes, the processor learns the pattern by heart and the difference vanishes: see
--   n=1024.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does an unpredictable branch cost?",
  events      = { "duration_time", "cycles", "instructions", "branches", "branch-misses" },
  metrics     = { "ipc", "branch_miss_rate" },
  factors     = { { "n", { 1024, 32768 } } },
  workloads   = {
    pmc.kernel { name = "sorted", source = "kernels/branch.c", symbol = "sorted" },
    pmc.kernel { name = "unsorted", source = "kernels/branch.c", symbol = "unsorted" },
  },
  per         = { byte = "n" },
  baseline    = "sorted",
  repetitions = 20,
}
