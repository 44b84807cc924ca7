#!/usr/bin/env pmclua
-- From which size on does a load leave the cache?
-- for: learn
--
-- method: follows a random chain of dependent loads through all lines of a working set, over and over.
--   Valgrind's level 1 has 32 KiB, its last level 512 KiB here; both drop the line that was used longest
--   ago.
-- usage: pmclua scripts/paper/staircase.lua [--set bytes=24576,49152]
-- reading: walked in a cycle, a set that does not fit misses on every load, and one that fits on none: a
--   step at each cache's size. The times have steps where this machine's caches end.
-- caveats: caches that are shared, hashed or not strictly least-recently-used have soft steps in time, and
--   so has the TLB's reach.
-- literature: R. H. Saavedra and A. J. Smith, Measuring cache and TLB performance and their effect on
--   benchmark runtimes, IEEE ToC 1995; L. McVoy and C. Staelin, lmbench: portable tools for performance
--   analysis, USENIX 1996, figure 1.

local pmc = require "pmclua"

local LOADS = 40000                     -- several rounds through the largest set

-- 0 up to a cache's size, 1 from one and a half times that on.
local function step(size) return ("min(1, max(0, 2 * (bytes / %d - 1)))"):format(size) end

return pmc.experiment {
  question    = "From which size on does a load leave the cache?",
  events      = { "duration_time", "valgrind::l1d-load-misses", "valgrind::ll-load-misses", "cycles",
    "L1-dcache-load-misses", "LLC-load-misses" },
  simulation  = { D1 = "32768,8,64", LL = "524288,16,64" },
  factors     = { { "bytes", { 6144, 12288, 24576, 49152, 98304, 196608, 393216, 786432 } } },
  workloads   = { pmc.kernel { name = "chase", source = "../kernels/chase.c", symbol = "chase" } },
  iterations  = LOADS,
  repetitions = 10,
  expect      = { "valgrind_l1d_load_misses == " .. step(32768) .. " +- 0.02",
    "valgrind_ll_load_misses == " .. step(524288) .. " +- 0.02" },
}
