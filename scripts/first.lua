#!/usr/bin/env pmclua
-- What does walking a matrix by columns cost, and starting a program?
--
-- method: two kernels that add up the same matrix, and the command `true`, interleaved in random order.
--   Kernels are counted per walk, the command from exec to exit.
-- usage: pmclua first [--set n=256,512] [--repetitions N]
-- example:
--   pmclua first --repetitions 10
-- reading: rows and columns do the same additions: where `instructions` are the same and `cycles` are not,
--   the difference is waiting for memory. `true` is what a program costs that does nothing.
-- caveats: without a PMU (most virtual machines) cycles, instructions and cache-misses are absent, with the
--   reason; times and page faults are counted all the same.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does walking a matrix by columns cost?",
  events      = { "duration_time", "page-faults", "context-switches", "cycles", "instructions",
    "cache-misses" },
  metrics     = { "ipc" },
  workloads   = {
    pmc.kernel { name = "rows", source = "kernels/matrix.c", symbol = "sum_rows" },
    pmc.kernel { name = "columns", source = "kernels/matrix.c", symbol = "sum_columns" },
    pmc.command { "true", name = "true" },
  },
  repetitions = 20,
}
