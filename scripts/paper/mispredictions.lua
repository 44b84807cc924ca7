#!/usr/bin/env pmclua
-- How often is a random branch mispredicted?
-- for: learn
--
-- method: a loop branches on n random bits, of which `percent` are ones. Valgrind's predictor has a counter
--   of two bits for each branch and history, which no history of random bits helps.
-- usage: pmclua scripts/paper/mispredictions.lua [--set percent=5,50]
-- reading: such a counter is wrong in q / (1 - 2 q) of all cases, where q = p (1 - p) and p is the share of
--   ones: half of all cases at p = 1/2, and about p where p is small.
-- caveats: real predictors are better where p is small (min(p, 1 - p) is the best that any can do), and
--   learn few bits by heart. With a PMU the report has their misses, too: branch-misses / n.
-- literature: K. Kaligosi and P. Sanders, How branch mispredictions affect quicksort, ESA 2006; C. Martínez,
--   M. Nebel and S. Wild, Analysis of branch misses in quicksort, ANALCO 2015, which has this formula.

local pmc = require "pmclua"

local code = [[
#include <stdlib.h>
#include <pmclua_kernel.h>

struct bits { uint64_t n; unsigned char *x; };

void *count_setup(const struct pmclua_params *params)
{
    struct bits *b = malloc(sizeof *b);
    uint64_t n = pmclua_u64(params, "n", 200000), percent = pmclua_u64(params, "percent", 50), random = 1;
    if (!b || !(b->x = malloc(n)))
        return pmclua_fail(params, "no memory for n bytes");
    b->n = n;
    for (uint64_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        b->x[i] = (random >> 33) % 100 < percent;
    }
    return b;
}

void count(void *state, uint64_t iterations)
{
    const struct bits *b = state;
    while (iterations--) {
        uint64_t ones = 0;
        for (uint64_t i = 0; i < b->n; i++)
            if (b->x[i]) {
                __asm__ volatile("" : "+r"(ones));       /* keeps it a branch */
                ones++;
            }
        pmclua_keep(ones);
    }
}

void count_teardown(void *state) { free(((struct bits *)state)->x); free(state); }
]]

local q = "percent / 100 * (1 - percent / 100)"

return pmc.experiment {
  question    = "How often is a random branch mispredicted?",
  events      = { "valgrind::branch-misses", "duration_time", "cycles", "branch-misses" },
  metrics     = { "mispredicted = valgrind_branch_misses / n" },
  factors     = { { "percent", { 1, 5, 10, 25, 50 } }, { "n", { 200000 } } },
  workloads   = { pmc.kernel { name = "count", symbol = "count", code = code } },
  per         = { bit = "n" },
  primary     = "mispredicted",
  repetitions = 10,
  expect      = { ("mispredicted == %s / (1 - 2 * %s) +- 5%%"):format(q, q) },
}
