#!/usr/bin/env pmclua
-- How many blocks does a memory allocator keep at hand?
-- for: learn
--
-- method: allocates a number of blocks of 64 bytes and frees them again, in the same order. The C library's
--   allocator, and tcmalloc and mimalloc where they are installed: each is loaded by the kernel and called by
--   address.
-- usage: pmclua scripts/paper/malloc.lua [--set blocks=4,8,64]
-- reading: the GNU C library keeps up to 7 freed blocks of a size in a cache of the thread, without a lock.
--   From the 8th on they go to lists that threads share, so a pair of malloc and free costs more: the
--   verdicts are against 7 blocks. Other libraries keep more. None asks Linux for a page once it runs.
-- caveats: one thread, one size, blocks that are not used: it shows the fast path. What fragmentation and
--   threads cost is another matter, and for many programs the greater. jemalloc cannot be loaded
--   into a program that runs already (its thread-local storage), so it is not here.
-- literature: The GNU C Library manual, tunable glibc.malloc.tcache_count (7); D. Leijen, B. Zorn and
--   L. de Moura, Mimalloc: free list sharding in action, APLAS 2019, on the lengths of fast paths.

local pmc = require "pmclua"

local code = [[
#include <dlfcn.h>
#include <stdlib.h>
#include <pmclua_kernel.h>

enum { BYTES = 64, MOST = 4096 };

struct allocator { void *(*allocate)(size_t); void (*release)(void *); uint64_t blocks; void *block[MOST]; };

void *pairs_setup(const struct pmclua_params *params)
{
    struct allocator *a = malloc(sizeof *a);
    void *library = dlopen(pmclua_str(params, "library", ""), RTLD_NOW | RTLD_LOCAL);
    if (!a || !library)
        return pmclua_fail(params, "the library cannot be loaded");
    *(void **)&a->allocate = dlsym(library, "malloc");
    *(void **)&a->release = dlsym(library, "free");
    a->blocks = pmclua_u64(params, "blocks", 1);
    if (!a->allocate || !a->release || a->blocks > MOST)
        return pmclua_fail(params, "no malloc and free, or too many blocks");
    return a;
}

void pairs(void *state, uint64_t iterations)
{
    struct allocator *a = state;
    while (iterations--) {
        for (uint64_t i = 0; i < a->blocks; i++)
            a->block[i] = a->allocate(BYTES);
        for (uint64_t i = 0; i < a->blocks; i++)
            a->release(a->block[i]);
    }
}
]]

local LIBRARIES = { { "glibc", "libc.so.6" }, { "tcmalloc", "libtcmalloc_minimal.so.4" },
  { "mimalloc", "libmimalloc.so.2" } }

local workloads = {}
for _, library in ipairs(LIBRARIES) do
  local name, file = unpack(library)
  if pcall(require("ffi").load, file) then
    workloads[#workloads + 1] = pmc.kernel { name = name, symbol = "pairs", code = code, libs = "-ldl",
      params = { library = file } }
  end
end

return pmc.experiment {
  question    = "How many blocks does a memory allocator keep at hand?",
  events      = { "valgrind::instructions", "duration_time", "page-faults", "cycles", "instructions:u" },
  metrics     = { "per_pair = valgrind_instructions / blocks" },
  factors     = { { "blocks", { 1, 2, 4, 7, 8, 16, 64 } } },
  workloads   = workloads,
  per         = { pair = "blocks" },
  baseline    = { blocks = 7 },
  primary     = "per_pair",
  repetitions = 10,
  expect      = { "page_faults == 0", "per_pair <= 250" },
}
