#!/usr/bin/env pmclua
-- What does walking a matrix by columns cost, and a program's start?
-- for: learn
--
-- method: two kernels add up the same matrix, by rows and by columns; the command `true` starts a
--   program. They run interleaved in random order. Kernels are counted per walk, the command from exec to
--   exit.
-- usage: pmclua first [--repetitions N]
-- example:
--   pmclua first --repetitions 10
--   What does walking a matrix by columns cost?
--
--   rows · 10 repetitions, 2 warm-ups · per iteration, of 8
--   event               median  95 % interval         shape   quality
--   duration_time     190.7 µs  185.6 … 193.9         ▅▁█▃▆   noisy
--   page-faults              0  =                             exact
--   context-switches         0  =                             exact
--   cycles                   –  <not supported>: this virtual machine has no PMU
--   instructions             –  <not supported>: this virtual machine has no PMU
--   cache-misses             –  <not supported>: this virtual machine has no PMU
--   ipc                      –  <not supported>: needs instructions
--
--   columns · 10 repetitions, 2 warm-ups · per iteration, of 2
--   event               median  95 % interval         shape   quality
--   duration_time     610.5 µs  596.0 … 628.4         █▁█▃█   noisy
--   page-faults              0  =                             exact
--   context-switches         0  =                             exact
--   cycles                   –  <not supported>: this virtual machine has no PMU
--   instructions             –  <not supported>: this virtual machine has no PMU
--   cache-misses             –  <not supported>: this virtual machine has no PMU
--   ipc                      –  <not supported>: needs instructions
--
--   ...
-- reading: rows and columns do the same additions: if `instructions` agree and `cycles` do not, the
--   difference is time spent waiting for memory. `true` is the cost of a program that does nothing.
-- caveats: without a PMU (most virtual machines) cycles, instructions and cache-misses are absent, with
--   the reason; times and page faults are counted all the same.

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
