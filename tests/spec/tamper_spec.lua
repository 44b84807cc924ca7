-- Kernels that meddle with what is not theirs: counters, descriptors, the connection of their runner.

local pmc = require "pmclua"
local support = require "tests.support"

-- Touches 5 pages and 1, with something done before or between.
local SOURCE = [[
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "pmclua_kernel.h"
static void touch(int pages)
{
    size_t bytes = (size_t)pages * 4096;
    volatile char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
    munmap((void *)memory, bytes);
}
static void spin(void) { for (volatile int i = 0; i < 100000; i++) ; }
#define ALL for (int fd = 3; fd < 1024; fd++)
static void all(unsigned long request) { ALL ioctl(fd, request, 0); }
#define KERNEL(name, first, second) \
    void name(void *state, uint64_t iterations) { first; spin(); touch(5); second; touch(1); }
KERNEL(nothing, (void)0, (void)0)
KERNEL(disable, (void)0, all(PERF_EVENT_IOC_DISABLE))
KERNEL(pause_all, all(PERF_EVENT_IOC_DISABLE), all(PERF_EVENT_IOC_ENABLE))
KERNEL(reset, (void)0, all(PERF_EVENT_IOC_RESET))
KERNEL(switch_off, prctl(PR_TASK_PERF_EVENTS_DISABLE), (void)0)
KERNEL(pause_task, prctl(PR_TASK_PERF_EVENTS_DISABLE), prctl(PR_TASK_PERF_EVENTS_ENABLE))
KERNEL(close_all, (void)0, ALL close(fd))
KERNEL(replace_all, (void)0, ALL dup2(0, fd))
KERNEL(scribble, (void)0, ALL (void)!write(fd, "stray text of a kernel", 22))
KERNEL(scribble_little, (void)0, ALL (void)!write(fd, "x", 1))
static char zeros[4096];
KERNEL(scribble_zeros, (void)0, ALL (void)!write(fd, zeros, sizeof zeros))
void scribble_and_hang(void *state, uint64_t iterations)
{
    ALL (void)!write(fd, "stray", 5);
    for (;;) pause();
}
void hush(void *state, uint64_t iterations) { ALL close(fd); for (;;) pause(); }
]]

describe("a kernel that", function()
  setup(function() support.need(support.have "cc", "no C compiler") end)

  local function run(symbol, more)
    local workloads = { pmc.kernel { code = SOURCE, symbol = symbol } }
    return support.experiment(support.merged({ events = { "page-faults", "task-clock" }, repetitions = 3,
      warmup = 1, iterations = 1, timeout = "2s", workloads = workloads }, more))
  end

  it("leaves all as it is is counted: 6 pages, every time", function()
    support.need_unwatched "a watcher has page faults of its own"
    local result = run("nothing", { repetitions = 20 })
    assert.equal("complete", result.status)
    assert.same(support.sequence(20, function() return 6 end), result:values("page-faults", {}))
  end)

  local COUNTERS, DESCRIPTORS = "counters that count it", "descriptors of the runner"

  for _, case in ipairs {
    { "disable", COUNTERS }, { "pause_all", COUNTERS }, { "reset", COUNTERS }, { "switch_off", COUNTERS },
    { "pause_task", COUNTERS }, { "close_all", DESCRIPTORS }, { "replace_all", DESCRIPTORS },
    { "scribble", DESCRIPTORS }, { "scribble_little", DESCRIPTORS }, { "scribble_zeros", DESCRIPTORS },
    { "scribble_and_hang", "time limit" }, { "hush", DESCRIPTORS },
  } do
    it(("meddles with what is not its own (%s) has no counts, and it is said why"):format(case[1]), function()
      -- Repetitions in which the thread was switched prove nothing one by one: enough for three in a row.
      local result = run(case[1], { on_failure = "stop", repetitions = 12 })
      assert.equal("string", type(tostring(result.problem):match(case[2])), tostring(result.problem))
      assert.is_true(#result:values("page-faults", {}) <= 2)     -- those in which the thread was switched
    end)
  end

  it("writes to stray descriptors writes nothing to pmclua's", function()
    local script = support.write(support.folder() .. "/stray.lua", ([[
      local pmc = require "pmclua"
      return pmc.experiment { events = "page-faults", iterations = 1, repetitions = 2,
        workloads = { pmc.kernel { symbol = "scribble", code = %q } } }]]):format(SOURCE))
    local ran = support.run { support.program, script, "--no-store", "--quiet" }
    assert.is_nil((ran.out .. ran.err):find("stray text", 1, true))
  end)
end)
