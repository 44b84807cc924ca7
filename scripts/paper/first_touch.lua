#!/usr/bin/env pmclua
-- When does memory cost a page fault?
-- for: learn
--
-- method: maps pages, writes to each, and unmaps them; `twice` writes to each a second time; for `populated`
--   Linux fills them in when they are mapped. Pages are of 4 KiB: no mapping is large enough for a huge one.
-- usage: pmclua scripts/paper/first_touch.lua [--set pages=1,16,64,256]
-- reading: one fault at the first write to each page, none at the second, none where they are filled in
--   before. The fit says what the time grows as: a n + b, where a is the cost of a page, b that of mapping
--   and unmapping.
-- caveats: reading first maps the page of zeros, and the write after that faults once more.
-- literature: M. Gorman, Understanding the Linux Virtual Memory Manager, 2004, chapter 4 (demand
--   allocation); U. Drepper, What every programmer should know about memory, 2007, 7.5 (page fault
--   optimization).

local pmc = require "pmclua"

local code = [[
#include <sys/mman.h>
#include <pmclua_kernel.h>

enum { PAGE = 4096 };

static void touch(uint64_t pages, int flags, int times)
{
    int all = MAP_PRIVATE | MAP_ANONYMOUS | flags;
    volatile char *m = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, all, -1, 0);
    while (times--)
        for (uint64_t i = 0; i < pages; i++)
            m[i * PAGE] = 1;
    munmap((void *)m, pages * PAGE);
}

#define KERNEL(name, flags, times)                                                                         \
    void *name##_setup(const struct pmclua_params *p) { return (void *)pmclua_u64(p, "pages", 1); }        \
    void name(void *pages, uint64_t i) { while (i--) touch((uint64_t)pages, flags, times); }

KERNEL(once, 0, 1)
KERNEL(twice, 0, 2)
KERNEL(populated, MAP_POPULATE, 1)
]]

local function kernel(name) return pmc.kernel { name = name, symbol = name, code = code } end

return pmc.experiment {
  question    = "When does memory cost a page fault?",
  events      = { "page-faults", "duration_time", "cycles" },
  factors     = { { "pages", { 1, 4, 16, 64, 256 } } },
  workloads   = { kernel "once", kernel "twice", kernel "populated" },
  per         = { page = "pages" },
  fit         = { "pages", names = { "duration_time" } },
  repetitions = 10,
  expect      = { "once: page_faults == pages", "twice: page_faults == pages",
    "populated: page_faults == 0" },
}
