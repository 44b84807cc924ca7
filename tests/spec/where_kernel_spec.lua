-- Profiles of kernels: what is counted is the measured call alone, and nothing of the runner around it.

local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local PAGES = 10

local CODE = [[
#include <pmclua_kernel.h>
#include <pthread.h>
#include <sys/mman.h>
enum { PAGES = 10, PAGE = 4096 };
__attribute__((noinline)) void touch(volatile char *at, long pages)
{
    for (long i = 0; i < pages; i++)
        at[i * PAGE] = 1;
}
__attribute__((noinline)) static void fresh(void)
{
    char *at = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(at, PAGES);
    munmap(at, PAGES * PAGE);
}
void pages_reset(void *state, uint64_t iterations) { (void)state; (void)iterations; fresh(); }
void pages(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        fresh();
}
static void *once(void *none) { fresh(); return none; }
void threads(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--) {
        pthread_t thread;
        pthread_create(&thread, 0, once, 0);
        pthread_join(thread, 0);
    }
}
]]

local function kernel(options)
  support.need(support.have "cc", "no C compiler")
  local spec = { code = CODE, symbol = "pages", cflags = "-O1 -g", libs = "-lpthread" }
  for key, value in pairs(options or {}) do spec[key] = value end
  return pmc.kernel(spec)
end

local function profiles_of(workload, iterations)
  local list = {}
  pmc.experiment { sample = "page-faults", events = { "page-faults" }, workloads = { workload },
    repetitions = 2, warmup = 1, iterations = iterations, seed = 3,
  }:run { store = false, quiet = true, each = function(record)
    assert.is_nil(record.why)
    for _, profile in ipairs(not record.warmup and record.profiles or {}) do list[#list + 1] = profile end
  end }
  return list
end

describe("a kernel's profile", function()
  it("has the page faults of the measured calls alone, without those of reset", function()
    local list = profiles_of(kernel(), 100)
    assert.equal(2, #list)
    for _, profile in ipairs(list) do
      assert.is_true(profile.exact)
      assert.equal(100 * PAGES, where.count(profile, "touch"))
      assert.equal(100 * PAGES, profile.total)
      assert.equal(100, profile.iterations)
      assert.equal(profile.program, profile.lines[1].file)
      assert.is_number(profile.lines[1].at[1].line)
    end
  end)

  it("has those of each of its threads", function()
    for _, profile in ipairs(profiles_of(kernel { threads = 2 }, 100)) do
      assert.equal(profile.total, where.sum(profile))
      -- Both threads also touch what reset touches, once.
      local touched = where.count(profile, "touch")
      assert.is_true(touched >= 2 * 100 * PAGES and touched <= 2 * 101 * PAGES, touched)
    end
  end)

  it("has those of threads that it starts and joins", function()
    for _, profile in ipairs(profiles_of(kernel { symbol = "threads" }, 50)) do
      assert.is_true(profile.exact)
      assert.equal(50 * PAGES, where.count(profile, "touch"))
      assert.equal(profile.total, where.sum(profile))
    end
  end)

  it("is of a repetition long enough to be sampled, of as many iterations each time", function()
    local list = profiles_of(kernel())
    assert.equal(list[1].iterations, list[2].iterations)
    for _, profile in ipairs(list) do
      assert.equal(profile.iterations * PAGES, profile.total)
      assert.is_true(profile.total > 1000, profile.total)
    end
  end)
end)
