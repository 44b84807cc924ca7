#!/usr/bin/env pmclua
-- What does walking a matrix by columns cost, from which size on?
-- for: learn
--
-- method: does the same additions along the rows and down the columns of an n × n matrix of doubles, for
--   several n, interleaved. Rows are the baseline. The extra column is the cost of one element.
-- usage: pmclua matrix [--set n=64,512,1024] [--repetitions N]
-- example:
--   pmclua matrix --set n=64,256 --repetitions 10
--   What does walking a matrix by columns cost?
--
--   duration_time per iteration · 10 repetitions in 10 processes, 2 warm-ups
--   ...
--     n       rows  /element    columns  /element  ratio  95 % interval  verdict
--    64    2.31 µs  0.565 ns    2.36 µs  0.576 ns  1.011  0.958 … 1.046  undecided
--   256   38.57 µs  0.589 ns   89.27 µs   1.36 ns  2.335  2.14 … 2.44    SLOWER
--   verdicts: duration_time is primary, corrected for 2 comparisons; the others
--     for 2
--
--   page-faults per iteration
--     n   rows  ±  /element   columns  ±  /element  ratio  95 % interval  verdict
--    64      0  =         0         0  =         0     ±0  =              same
--   256      0  =         0         0  =         0     ±0  =              same
-- reading: while the matrix fits into the first-level cache, both walks cost the same per element. Beyond
--   it, each step down a column needs another cache line, and beyond the reach of the TLB another page.
-- caveats: the times depend on this machine's caches. Powers of two make columns worse than they need to
--   be, because all lines of a column fall into a few sets of the cache.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does walking a matrix by columns cost?",
  events      = { "duration_time", "cycles", "instructions", "cache-misses", "page-faults" },
  metrics     = { "ipc", "mpki = 1000 * cache_misses / instructions" },
  factors     = { { "n", { 64, 256, 512, 1024 } } },
  workloads   = {
    pmc.kernel { name = "rows", source = "kernels/matrix.c", symbol = "sum_rows" },
    pmc.kernel { name = "columns", source = "kernels/matrix.c", symbol = "sum_columns" },
  },
  per         = { element = "n * n" },
  baseline    = "rows",
  repetitions = 20,
}
