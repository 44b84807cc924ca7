#!/usr/bin/env pmclua
-- What does a longer pattern cost a string search?
-- for: learn
--
-- method: looks for a random pattern of m bytes in 100,000 random bytes, by trying every place, and by
--   Horspool's method, which looks at the last byte of the window and moves on as far as that allows.
-- usage: pmclua scripts/paper/search.lua [--set m=2,8,32]
-- reading: trying every place takes one load each, whatever m is. Horspool's window moves on by 256 (1 -
--   (255/256)^m) on average, nearly m, with two loads: of the text, and of the table of shifts. So its cost
--   falls as 1/m.
-- caveats: random bytes are the best case; in English the last byte says less, and in a text of one letter
--   Horspool's method is as slow as trying every place. What libraries do (memmem) uses vectors, and wins
--   for short patterns.
-- literature: R. N. Horspool, Practical fast searching in strings, Software: Practice and Experience 10,
--   1980; R. A. Baeza-Yates and M. Régnier, Average running time of the Boyer-Moore-Horspool algorithm, TCS
--   92, 1992.

local pmc = require "pmclua"

local code = [=[
#include <stdlib.h>
#include <string.h>
#include <pmclua_kernel.h>

struct search { uint64_t n, m; unsigned char *text, *pattern; uint64_t shift[256]; };

static void *make(const struct pmclua_params *params)
{
    struct search *s = malloc(sizeof *s);
    uint64_t random = 1;
    if (!s)
        return pmclua_fail(params, "no memory");
    s->n = pmclua_u64(params, "n", 100000);
    s->m = pmclua_u64(params, "m", 8);
    s->text = malloc(s->n + s->m);
    if (!s->text)
        return pmclua_fail(params, "no memory for n bytes");
    for (uint64_t i = 0; i < s->n + s->m; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        s->text[i] = (unsigned char)(random >> 56);
    }
    s->pattern = s->text + s->n;
    for (int c = 0; c < 256; c++)
        s->shift[c] = s->m;
    for (uint64_t i = 0; i + 1 < s->m; i++)
        s->shift[s->pattern[i]] = s->m - 1 - i;
    return s;
}

void *horspool_setup(const struct pmclua_params *params) { return make(params); }
void horspool(void *state, uint64_t iterations)
{
    const struct search *s = state;
    uint64_t n = s->n, m = s->m;
    unsigned char last = s->pattern[m - 1];
    while (iterations--) {
        uint64_t found = 0;
        for (uint64_t end = m - 1; end < n;) {
            unsigned char c = s->text[end];
            if (c == last && !memcmp(s->text + end - (m - 1), s->pattern, m))
                found++;
            end += s->shift[c];
        }
        pmclua_keep(found);
    }
}

void *every_setup(const struct pmclua_params *params) { return make(params); }
void every(void *state, uint64_t iterations)
{
    const struct search *s = state;
    uint64_t n = s->n, m = s->m;
    unsigned char first = s->pattern[0];
    while (iterations--) {
        uint64_t found = 0;
        for (uint64_t i = 0; i + m <= n; i++)
            if (s->text[i] == first && !memcmp(s->text + i, s->pattern, m))
                found++;
        pmclua_keep(found);
    }
}
]=]

local function kernel(name) return pmc.kernel { name = name, symbol = name, code = code } end

return pmc.experiment {
  question    = "What does a longer pattern cost a string search?",
  events      = { "valgrind::loads", "duration_time", "cycles", "instructions" },
  metrics     = { "loads_per_byte = valgrind_loads / n" },
  factors     = { { "m", { 2, 4, 8, 16, 32 } }, { "n", { 100000 } } },
  workloads   = { kernel "every", kernel "horspool" },
  per         = { byte = "n" },
  baseline    = "every",
  primary     = "loads_per_byte",
  fit         = { "m", names = { "loads_per_byte" } },
  repetitions = 10,
  expect      = { "every: loads_per_byte == 1 +- 10%",
    -- 256 (1 - (255/256)^m) but for its terms beyond m³
    "horspool: loads_per_byte == 2 / (m - m * (m - 1) / 512 + m * (m - 1) * (m - 2) / 393216) +- 10%" },
}
