#!/usr/bin/env pmclua
-- What does a load cost that touches another page each time?
-- for: learn
--
-- method: walks the same number of places in random order, one cache line apart, or one page and one line
--   apart: the same number of cache lines, but many more pages. The loads are dependent, so that their
--   latency is seen.
-- usage: pmclua tlb [--set places=64,4096]
-- example:
--   pmclua tlb --repetitions 10 --set places=64,2048
--   What does touching another page cost?
--
--   duration_time per iteration · 10 repetitions in 10 processes, 2 warm-ups
--     baseline lines
--   places     lines  ±         pages  ±      ratio  95 % interval  verdict
--       64   1.26 ns  4.3 %   1.25 ns  4.2 %  1.026  0.974 … 1.045  undecided
--    2,048   4.37 ns  4.7 %   7.71 ns  3 %    1.761  1.69 … 1.83    SLOWER
-- reading: where lines are cheap and pages are not, the difference is the cost of TLB misses; the number
--   of places at which it begins is the reach of the TLB.
-- caveats: the distance is 4160 bytes, not 4096, so that the lines do not all fall into one set of the
--   cache.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What does touching another page cost?",
  events      = { "duration_time", "cycles", "dTLB-load-misses", "instructions" },
  factors     = { { "places", { 64, 512, 2048, 8192 } } },
  workloads   = {
    pmc.kernel { name = "lines", source = "kernels/chase.c", symbol = "chase", params = { stride = 64 } },
    pmc.kernel { name = "pages", source = "kernels/chase.c", symbol = "chase", params = { stride = 4160 } },
  },
  baseline    = "lines",
  repetitions = 15,
}
