#!/usr/bin/env pmclua
-- What does a branch cost that the processor cannot predict?
--
-- method: the same loop over the same bytes, sorted (the branch is taken in one long run) and as they
--   came (taken by chance); the sorted ones are the baseline. The extra column is the cost of one byte.
-- usage: pmclua branches [--set n=1024,32768]
-- example:
--   pmclua branches --repetitions 10
-- reading: `instructions` are nearly the same; what the unsorted loop costs more is misprediction: the
--   difference in cycles, divided by the difference in branch-misses, is the cost of one.
-- caveats: with few bytes a processor learns the order by heart, and the difference vanishes: see n=1024.

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
