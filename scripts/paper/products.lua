#!/usr/bin/env pmclua
-- How many cache misses does a step of a matrix product take, by the order of its loops?
-- for: learn
--
-- method: multiplies two n × n matrices of doubles with three orders of the loops i, j, k, of which the last
--   is the innermost. A step is one multiplication. The cache is Valgrind's, of one row's size and less: 1
--   KiB of 16 lines, so that n = 160 is as large to it as n = 5,000 is to one of 32 KiB.
-- usage: pmclua scripts/paper/products.lua [--set n=160]
-- reading: the innermost loop walks each matrix along a row (a miss in 8 steps, as 8 doubles are a line),
--   down a column (a miss each step), or not at all. So ijk misses 1/8 + 1 times a step, jki 1 + 1, ikj 1/8
--   + 1/8.
-- caveats: times and hardware events are of this machine's caches, which hold these matrices whole, and of
--   prefetchers, which hide most misses along rows.
-- literature: R. E. Bryant and D. R. O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd ed.,
--   2016, 6.6.2: the same counts with lines of 4 doubles (1.25, 2.00 and 0.50), and cycles that follow them.

local pmc = require "pmclua"

local code = [[
#include <stdlib.h>
#include <pmclua_kernel.h>

struct matrices { uint64_t n; double *a, *b, *c; };

static void *make(const struct pmclua_params *params)
{
    struct matrices *m = malloc(sizeof *m);
    uint64_t n = pmclua_u64(params, "n", 160), size = n * n * sizeof(double);
    double *all = aligned_alloc(64, (3 * size + 63) / 64 * 64);
    if (!m || !all)
        return pmclua_fail(params, "no memory for three n by n matrices");
    *m = (struct matrices){ n, all, all + n * n, all + 2 * n * n };
    for (uint64_t i = 0; i < 3 * n * n; i++)
        all[i] = (double)(i % 7);
    return m;
}

#define PRODUCT(name, outer, middle, inner, before, step, after)                        \
    void *name##_setup(const struct pmclua_params *params) { return make(params); }     \
    void name##_teardown(void *s) { free(((struct matrices *)s)->a); free(s); }         \
    void name(void *s, uint64_t iterations)                                             \
    {                                                                                   \
        uint64_t n = ((struct matrices *)s)->n, i, j, k;                                \
        double *a = ((struct matrices *)s)->a, *b = a + n * n, *c = b + n * n, r;       \
        while (iterations--)                                                            \
            for (outer = 0; outer < n; outer++)                                         \
                for (middle = 0; middle < n; middle++) {                                \
                    r = before;                                                         \
                    for (inner = 0; inner < n; inner++)                                 \
                        step;                                                           \
                    after;                                                              \
                }                                                                       \
    }

PRODUCT(ijk, i, j, k, 0, r += a[i * n + k] * b[k * n + j], c[i * n + j] += r)
PRODUCT(jki, j, k, i, b[k * n + j], c[i * n + j] += a[i * n + k] * r, (void)0)
PRODUCT(ikj, i, k, j, a[i * n + k], c[i * n + j] += r * b[k * n + j], (void)0)
]]

local workloads = {}
for i, order in ipairs { "ijk", "jki", "ikj" } do
  workloads[i] = pmc.kernel { name = order, symbol = order, code = code }
end

return pmc.experiment {
  question    = "How many cache misses does a step of a matrix product take?",
  events      = { "valgrind::l1d-misses", "duration_time", "cycles", "L1-dcache-load-misses" },
  metrics     = { "misses_per_step = valgrind_l1d_misses / (n * n * n)" },
  simulation  = { D1 = "1024,16,64" },
  factors     = { { "n", { 160 } } },
  workloads   = workloads,
  per         = { step = "n * n * n" },
  baseline    = "ijk",
  primary     = "misses_per_step",
  repetitions = 10,
  expect      = { "ijk: misses_per_step == 1.125 +- 3%", "jki: misses_per_step == 2 +- 3%",
    "ikj: misses_per_step == 0.25 +- 3%" },
}
