-- The runner of kernels: what they count, beside commands, and whatever a kernel does to its process.

local session = require "pmclua.workload.session"
local sessions = require "tests.support.sessions"
local support = require "tests.support"

local FAULTS, TASK_CLOCK = support.software(2), support.software(1)

local KERNELS = [[
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <pmclua_kernel.h>
struct state { uint64_t n; };
void *touch_setup(const struct pmclua_params *params)
{
    struct state *s = malloc(sizeof *s);
    s->n = pmclua_u64(params, "n", 10);
    return s->n ? s : pmclua_fail(params, "n is 0");
}
static void touch_pages(uint64_t n)
{
    char *m = mmap(0, n * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, n * 4096, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < n; i++) m[i * 4096] = 1;
    munmap(m, n * 4096);
}
void touch(void *state, uint64_t iterations) { while (iterations--) touch_pages(((struct state *)state)->n); }
static void *thread(void *n) { touch_pages((uint64_t)n); return 0; }
void threads(void *state, uint64_t iterations)
{
    pthread_t t;
    while (iterations--) { pthread_create(&t, 0, thread, (void *)100); pthread_join(t, 0); }
}
void *holds_setup(const struct pmclua_params *params)
{
    char *m = malloc(100 << 20);
    for (size_t i = 0; i < 100 << 20; i += 4096) m[i] = 1;
    return m;
}
void holds(void *state, uint64_t iterations) {}
void empty(void *state, uint64_t iterations) {}
void crash(void *state, uint64_t iterations) { *(volatile int *)0 = 1; }
void hang(void *state, uint64_t iterations) { for (;;) __asm__ volatile(""); }
void quit(void *state, uint64_t iterations) { exit(3); }
void fork_touch(void *state,
  uint64_t iterations) { if (fork() == 0) { touch_pages(100); _exit(0); } wait_for_it(); }
static int resets;
void counted_reset(void *state, uint64_t iterations) { resets++; touch_pages(50); }
void counted(void *state, uint64_t iterations) { touch_pages((uint64_t)resets); }
void print(void *state, uint64_t iterations) { puts("printed"); }
void fork_on(void *state, uint64_t iterations) { fork(); }
void fork_and_abort(void *state, uint64_t iterations) { if (fork() == 0) { sleep(30); _exit(0); } abort(); }
static volatile uint64_t touched;
static void *make_noise(void *nothing) { for (;;) { touch_pages(1); touched++; usleep(100); } return 0; }
void *noise_setup(const struct pmclua_params *params) { pthread_t t; pthread_create(&t, 0, make_noise,
  0); return 0; }
void noise(void *state, uint64_t iterations) {}
static int place;
void placed_reset(void *state, uint64_t iterations) { place = sched_getcpu(); }
/* As many pages as there are CPUs that it may use, and 1000 more for each below the one where it began. */
void placed(void *state, uint64_t iterations)
{
    cpu_set_t may;
    sched_getaffinity(0, sizeof may, &may);
    touch_pages(1000 * (uint64_t)place + (uint64_t)CPU_COUNT(&may));
}
void nap(void *state, uint64_t iterations) { usleep(5000); }
void *noise_and_nap_setup(const struct pmclua_params *params) { return noise_setup(params); }
/* Until the thread has touched a page from its beginning to its end meanwhile, for a second at most. */
void noise_and_nap(void *state, uint64_t iterations)
{
    uint64_t before = touched;
    for (int i = 0; i < 10000 && touched < before + 2; i++) usleep(100);
}
void *slow_setup(const struct pmclua_params *params) { usleep(300000); return 0; }
void slow(void *state, uint64_t iterations) {}
void fork_last(void *state, uint64_t iterations) {}
void *fork_last_setup(const struct pmclua_params *params) { return strdup(pmclua_str(params, "path", "")); }
void fork_last_teardown(void *state)
{
    int pid = fork();
    FILE *file = pid ? fopen(state, "w") : 0;
    if (file) { fprintf(file, "%d\n", pid); fclose(file); }
}
void *refuse_setup(const struct pmclua_params *params)
{
    char why[900] = { 0 };
    for (int i = 0; i < 899; i++) why[i] = 'a' + params->thread;
    return pmclua_fail(params, why);
}
void refuse(void *state, uint64_t iterations) {}
]]

local object

local function library()
  if object then return object end
  local folder = support.folder()
  local source = KERNELS:gsub("#include <unistd.h>", "#include <unistd.h>\n#include <sys/wait.h>\n"
    .. "static void wait_for_it(void) { while (wait(0) > 0) ; }")
  support.write(folder .. "/kernels.c", source)
  local built = support.run { "cc", "-O2", "-shared", "-fPIC", "-I" .. support.root .. "/core",
    "-o", folder .. "/kernels.so", folder .. "/kernels.c", "-lpthread" }
  assert(built.status == 0, built.err)
  object = folder .. "/kernels.so"
  return object
end

describe("the runner", function()
  local runner, events

  before_each(function()
    runner = session.new()
    events = runner:events { { attrs = { FAULTS, TASK_CLOCK } } }
  end)
  after_each(function() runner:close() end)

  local function kernel(symbol, fields)
    return runner:workload(function(message)
      message:text("library", library()):text("symbol", symbol)
      for field, value in pairs(fields or {}) do
        if type(value) == "number" then message:number(field, value) else message:text(field, value) end
      end
    end)
  end

  local function command(...) return sessions.command(runner, ...) end

  local function run(workload, more)
    return runner:run(support.merged({ workload = workload, events = events }, more))
  end

  local function run_kernel(symbol, fields, more)
    more = more or {}
    more.in_runner = true
    return run(kernel(symbol, fields), more)
  end

  it("counts a kernel's page faults exactly, per call, with setup and parameters outside", function()
    support.need(support.have "cc", "no C compiler")
    for _, n in ipairs { 1, 100, 1000 } do
      local id = kernel("touch", { parameter = "n=" .. n })
      run(id, { in_runner = true })
      assert.equal(n, run(id, { in_runner = true }).readings[3])
      assert.equal(3 * n, run(id, { in_runner = true, iterations = 3 }).readings[3])
    end
  end)

  it("counts nothing for an empty kernel, every time", function()
    support.need(support.have "cc", "no C compiler")
    local id, faults = kernel "empty", {}
    run(id, { in_runner = true })
    runner:run_each({ workload = id, events = events, repetitions = 100, in_runner = true },
      function(result) faults[#faults + 1] = result.readings[3] end)
    assert.equal(100, #faults)
    for _, count in ipairs(faults) do assert.equal(0, count) end
  end)

  it("keeps a kernel's reset out of what is counted", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local id = kernel "counted"
    for i = 1, 3 do assert.equal(i, run(id, { in_runner = true }).readings[3]) end
  end)

  it("counts the threads and children that a kernel starts itself (C, E)", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local alone = run_kernel("touch", { parameter = "n=1" }).readings[3]
    assert.equal(1, alone)
    local id = kernel "threads"
    run(id, { in_runner = true })
    local one, three = run(id, { in_runner = true }), run(id, { in_runner = true, iterations = 3 })
    -- A thread's own stack and its first steps cost the same few faults each.
    assert.is_true(one.readings[3] >= 100 and one.readings[3] < 110, one.readings[3])
    assert.equal(3 * one.readings[3], three.readings[3])
    assert.is_true(run_kernel("fork_touch").readings[3] >= 100)
  end)

  it("starts several threads at a barrier, each with its own counts", function()
    support.need(support.have "cc", "no C compiler")
    local id = kernel("touch", { parameter = "n=100", threads = 3 })
    run(id, { in_runner = true })
    local result = run(id, { in_runner = true })
    assert.equal(3, result.threads)
    assert.equal(12, #result.readings)
    for thread = 0, 2 do assert.equal(100, result.readings[thread * 4 + 3]) end
  end)

  it("interleaves kernels and commands without losing either's counts", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local touch, threads, sh = kernel("touch", { parameter = "n=70" }), kernel("touch",
      { parameter = "n=30", threads = 2 }),
      command("true")
    local faults = {}
    for _ = 1, 5 do
      assert.equal("done", run(sh).outcome)
      faults[#faults + 1] = run(touch, { in_runner = true }).readings[3]
      faults[#faults + 1] = run(threads, { in_runner = true }).readings[7]
    end
    for i = 3, 10 do assert.equal(i % 2 == 1 and 70 or 30, faults[i]) end
  end)

  for _, case in ipairs {
    { "crash", "signalled", signal = 11 }, { "quit", "quit", exit = 3 }, { "hang", "timed-out" },
  } do
    it(("loses one repetition to a kernel that ends as '%s', and goes on"):format(case[2]), function()
      support.need(support.have "cc", "no C compiler")
      local good = kernel("touch", { parameter = "n=5" })
      run(good, { in_runner = true })
      local limit_ns = case[2] == "timed-out" and 2e8 or 1e10
      local result = run_kernel(case[1], nil, { timeout_ns = limit_ns })
      assert.equal(case[2], result.outcome)
      assert.equal(case.signal or 0, result.signal)
      if case.exit then assert.equal(case.exit, result.exit) end
      run(good, { in_runner = true })
      assert.equal(5, run(good, { in_runner = true }).readings[3])
    end)
  end

  it("counts for a kernel nothing of what another's threads do meanwhile", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local nap, noise = kernel "nap", kernel "noise"
    run(nap, { in_runner = true })
    for _ = 1, 3 do
      run(noise, { in_runner = true })
      assert.equal(0, run(nap, { in_runner = true }).readings[3])
    end
  end)

  it("counts a kernel's own threads from before in its later repetitions", function()
    support.need(support.have "cc", "no C compiler")
    local noise, nap = kernel "noise_and_nap", kernel "nap"
    run(noise, { in_runner = true })
    for _ = 1, 3 do
      run(nap, { in_runner = true })
      assert.is_true(run(noise, { in_runner = true }).readings[3] > 0)
    end
  end)

  it("takes no answer from a child that a kernel forked into the runner's own code", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local good, forks = kernel("touch", { parameter = "n=10" }), kernel "fork_on"
    run(good, { in_runner = true })
    for _ = 1, 5 do
      local forked = run(forks, { in_runner = true })
      assert.equal("done", forked.outcome, forked.failure and forked.failure.code or forked.lost)
      assert.equal(10, run(good, { in_runner = true }).readings[3])
    end
  end)

  it("counts no kernel in the cold where there is no memory to cool the caches with", function()
    support.need_unwatched("it answers otherwise than the OS kernel where memory is short", "valgrind")
    support.need(support.have "cc", "no C compiler")
    local result = run_kernel("empty", nil, { layout = { cold_bytes = 2 ^ 60 } })
    assert.equal("not-counted", result.outcome)
    assert.equal("ENOMEM", result.failure.code)
    assert.equal("done", run_kernel("empty", nil, { layout = { cold_bytes = 2 ^ 20 } }).outcome)
  end)

  it("leaves no second runner where a kernel forks when it is torn down", function()
    support.need(support.have "cc", "no C compiler")
    local path = support.folder() .. "/pid"
    local id = kernel("fork_last", { parameter = "path=" .. path })
    run(id, { in_runner = true })
    runner:forget(id)
    support.await_end(tonumber(support.read(path)))
  end)

  it("says of threads that are set up at the same time what the first complains of", function()
    support.need(support.have "cc", "no C compiler")
    local result = run_kernel("refuse", { threads = 8 })
    assert.same({ "not-started", ("a"):rep(899) }, { result.outcome, result.output })
  end)

  it("hears of a kernel's death at once, though its child holds the connection", function()
    support.need_unwatched("it knows no pidfd_open, by which that is heard", "valgrind")
    support.need(support.have "cc", "no C compiler")
    local result = run_kernel("fork_and_abort", nil, { timeout_ns = 20e9 })
    assert.equal("signalled", result.outcome)
    assert.equal(6, result.signal)
  end)

  it("does not count a kernel's setup against its time limit", function()
    support.need(support.have "cc", "no C compiler")
    local id = kernel "slow"
    run(command "true")                          -- the runner has started
    assert.equal("done", run(id, { in_runner = true, timeout_ns = 1e8 }).outcome)
    assert.equal("done", run(id, { in_runner = true, timeout_ns = 1e8 }).outcome)
  end)

  it("says why a kernel cannot be set up, loaded or found", function()
    support.need(support.have "cc", "no C compiler")
    assert.equal("n is 0", run_kernel("touch", { parameter = "n=0" }).output)
    assert.equal("parameter n is '-3', which is not an unsigned integer", run_kernel("touch",
      { parameter = "n=-3" }).output)
    assert.matches("no symbol 'nothing'", run_kernel("nothing").output)
    local id = runner:workload(function(m) m:text("library", "/nowhere.so"):text("symbol", "f") end)
    assert.matches("/nowhere.so", run(id, { in_runner = true }).output)
  end)

  it("begins a kernel's run on the CPU that it is told, and keeps it from none", function()
    support.need(support.have "cc", "no C compiler")
    local cpus = require("pmclua.host.parts").allowed().cpus
    local id, missed = kernel "placed", 0
    run(id, { in_runner = true })
    for i = 1, 20 do
      local cpu = cpus[i % math.min(#cpus, 4) + 1]
      local pages = run(id, { in_runner = true, start_cpu = cpu }).readings[3]
      assert.equal(#cpus, pages % 1000)
      missed = missed + (pages == 1000 * cpu + #cpus and 0 or 1)
    end
    -- What is preempted as it begins may go on elsewhere.
    assert.is_true(missed <= 1)
    assert.equal("done", run(id, { in_runner = true, start_cpu = 1023 }).outcome)
  end)

  it("sends a kernel's standard output nowhere unless asked", function()
    support.need(support.have "cc", "no C compiler")
    assert.equal("done", run_kernel("print").outcome)
  end)

  it("answers once for many repetitions that cannot begin", function()
    support.need(support.have "cc", "no C compiler")
    local bad = runner:events { { attrs = { support.software(999) } } }
    local outcomes = {}
    runner:run_each({ workload = kernel "empty", events = bad, repetitions = 100, in_runner = true },
      function(result) outcomes[#outcomes + 1] = result.outcome end)
    assert.same({ "not-counted" }, outcomes)
    assert.equal("done", run_kernel("empty").outcome)
  end)

  it("knows a command's peak memory where it is above the runner's own alone", function()
    support.need_unwatched "a watcher makes the runner's own as large"
    support.need(support.have "cc", "no C compiler")
    local much = command("dd", "if=/dev/zero", "of=/dev/null", "bs=50M", "count=1")
    local function peak(workload) return run(workload).max_rss_bytes end
    local bytes, pid = peak(much), runner.common.runner:pid()
    local own = 1024 * support.read(("/proc/%d/status"):format(pid)):match "VmHWM:%s*(%d+)"
    assert.is_true(own > 50 * 2 ^ 20 or bytes >= 50 * 2 ^ 20 and bytes < 70 * 2 ^ 20)
    run_kernel "holds"
    local after = peak(much)
    assert.is_true(own > 50 * 2 ^ 20 or after >= 50 * 2 ^ 20 and after < 70 * 2 ^ 20)
  end)
end)
