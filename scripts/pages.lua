#!/usr/bin/env pmclua
-- What does it cost to touch fresh memory, page by page?
-- for: learn
--
-- method: a kernel maps memory, touches each page once and unmaps it, for several numbers of pages. The
--   experiment predicts one page fault for each touch, and exits 3 if that does not hold.
-- usage: pmclua pages [--set pages=1,64]
-- example:
--   pmclua pages --repetitions 10
--   What does a fresh page cost?
--
--   page-faults per iteration · touch · 10 repetitions, 2 warm-ups
--   pages  median  /page  95 % interval  shape   quality
--       1       1      1  =                      exact
--      16      16      1  =                      exact
--      64      64      1  =                      exact
--
--   duration_time per iteration · touch
--   pages    median    /page  95 % interval  shape   quality
--       1   4.76 µs  4.76 µs  4.56 … 4.90    ▅█▁▁▂   noisy
--      16  24.39 µs  1.52 µs  23.82 … 25.70  ▄█▂▂▂   noisy
--      64  73.80 µs  1.15 µs  72.47 … 75.97  █▁▁▁▂   noisy
--
--   pmclua: 3 of 3 predictions hold
-- reading: page-faults are exact. The time of many pages divided by their number is the cost of one page,
--   with little of the two system calls in it.
-- caveats: where huge pages are always on, many pages fault at once, and the prediction rightly fails.

local pmc = require "pmclua"

local code = [[
#include <sys/mman.h>
#include <pmclua_kernel.h>
void *touch_setup(const struct pmclua_params *params) { return (void *)pmclua_u64(params, "pages", 1); }
void touch(void *state, uint64_t iterations)
{
    uint64_t pages = (uint64_t)state;
    while (iterations--) {
        char *m = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (uint64_t i = 0; i < pages; i++) m[i * 4096] = 1;
        munmap(m, pages * 4096);
    }
}
]]

return pmc.experiment {
  question  = "What does a fresh page cost?",
  events    = { "page-faults", "duration_time", "instructions" },
  factors   = { { "pages", { 1, 16, 64 } } },
  workloads = { pmc.kernel { name = "touch", code = code, symbol = "touch" } },
  per       = { page = "pages" },
  expect    = { "page_faults == pages * iterations" },
}
