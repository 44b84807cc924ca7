--- kernels.lua: kernels with a known number of page faults.

local pmc = require "pmclua"
local support = require "tests.support"

local M = {}

--- `pages` has n page faults an iteration, `empty` none; the third call of `third_crashes` aborts.
M.PAGES = [[
#include <sys/mman.h>
#include <stdlib.h>
#include <pmclua_kernel.h>
static void touch(uint64_t n)
{
    char *m = mmap(0, n * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, n * 4096, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < n; i++) m[i * 4096] = 1;
    munmap(m, n * 4096);
}
void *pages_setup(const struct pmclua_params *p) { return (void *)pmclua_u64(p, "n", 1); }
void pages(void *n, uint64_t iterations) { while (iterations--) touch((uint64_t)n); }
void empty(void *s, uint64_t iterations) {}
static int calls;
void third_crashes(void *s, uint64_t iterations) { if (++calls == 3) abort(); }
]]

--- A kernel of `PAGES`.
---@param symbol "pages"|"empty"|"third_crashes"
---@param more? table other options of pmc.kernel
---@return table
function M.pages(symbol, more)
  return pmc.kernel(support.merged({ code = M.PAGES, symbol = symbol }, more))
end

return M
