-- Events taken from Linux's accounts: time on and off CPUs, waiting for one, reading and writing.

local pmc = require "pmclua"
local support = require "tests.support"

local TIMES = "duration_time,on_cpu_time,wait_time,off_cpu_time"

local PROGRAM = [[
  #include <fcntl.h>
  #include <pthread.h>
  #include <stdlib.h>
  #include <string.h>
  #include <unistd.h>
  static void *spin(void *n) {
    for (volatile long i = 0; i < *(long *)n * 1000000; i++) ;
    return 0;
  }
  int main(int argc, char **argv) {
    long n = atol(argv[2]);
    static char block[4096];
    if (argc < 3) return 1;
    if (!strcmp(argv[1], "spin")) spin(&n);
    if (!strcmp(argv[1], "sleep")) usleep(n * 1000);
    if (!strcmp(argv[1], "read")) {
      int fd = open("/dev/zero", O_RDONLY);
      while (n--) if (read(fd, block, sizeof block) < 0) return 1;
    }
    if (!strcmp(argv[1], "write")) {
      int fd = open("/dev/null", O_WRONLY);
      while (n--) if (write(fd, block, sizeof block) < 0) return 1;
    }
    if (!strcmp(argv[1], "threads")) {
      pthread_t other;
      pthread_create(&other, 0, spin, &n);
      spin(&n);
      pthread_join(other, 0);
    }
    return 0;
  }]]

local KERNEL = [[
  #include <stdint.h>
  #include <unistd.h>
  void nap(void *state, uint64_t n) { (void)state; while (n--) usleep(1000); }
  void spin(void *state, uint64_t n) { (void)state; for (volatile uint64_t i = 0; i < n * 1000; i++) ; }]]

local built
local function program(...)
  if not built then
    local folder = support.folder()
    built = support.build(folder .. "/account", "cc", "-O1", "-pthread",
      support.write(folder .. "/account.c", PROGRAM))
  end
  return table.concat({ built, ... }, " ")
end

-- All records of some repetitions of a command.
local function records(command, events, options)
  local list = {}
  options = support.merged({ events = events, repetitions = 4, warmup = 0,
    each = function(record) list[#list + 1] = record end }, options)
  local result = pmc.measure(command, options)
  return list, result
end

-- Runs `fn(pid)` beside a command, which ends with it, and by itself after a minute.
local function beside(command, fn)
  local run = support.run { "sh", "-c", ("timeout 60 %s >/dev/null 2>&1 & echo $!"):format(command) }
  local pid = tonumber(run.out)
  local ok, why = pcall(fn, pid)
  support.run { "kill", tostring(pid) }
  if not ok then error(why, 0) end
end

local function values_of(result, name)
  local list = {}
  for i, value in ipairs(result:values(name)) do list[i] = value end
  return list
end

describe("time on a CPU, waiting for one and off CPU", function()
  before_each(function() support.need(support.have "cc", "no C compiler") end)

  for _, what in ipairs { { "spin", "20" }, { "sleep", "20" }, { "threads", "20" } } do
    it("add up to the duration, to the nanosecond: " .. what[1], function()
      local _, result = records(program(what[1], what[2]), TIMES)
      local on, wait, off = values_of(result, "on_cpu_time"), values_of(result, "wait_time"),
        values_of(result, "off_cpu_time")
      local durations = values_of(result, "duration_time")
      assert.equal(4, #durations)
      for i, duration in ipairs(durations) do assert.equal(duration, on[i] + wait[i] + off[i]) end
    end)
  end

  it("of a program of one thread: that on CPUs is its user and system time", function()
    support.need_unwatched "a watcher has threads of its own"
    local list, result = records(program("spin", "50"), TIMES)
    for i, on in ipairs(values_of(result, "on_cpu_time")) do
      local used = list[i].user_ns + list[i].system_ns
      -- Before it is released, and when its end is known but not over, it runs for less than a tick.
      assert.is_true(math.abs(used - on) < 4e6, ("%d and %d ns"):format(used, on))
    end
  end)

  it("tell a sleeping program from one that works", function()
    local _, result = records(program("sleep", "20"), TIMES)
    for _, off in ipairs(values_of(result, "off_cpu_time")) do assert.is_true(off >= 19e6, off) end
  end)

  it("tell that a program waited for its CPU beside another one", function()
    support.need_unwatched "a watcher takes most of the time"
    local result
    beside("taskset -c 0 sh -c 'while :; do :; done'", function()
      result = select(2, records(program("spin", "100"), TIMES, { pin = "0" }))
    end)
    for _, wait in ipairs(values_of(result, "wait_time")) do assert.is_true(wait > 5e6, wait) end
    local kinds = {}
    for _, warning in ipairs(result:warnings()) do kinds[warning.kind] = warning.message end
    assert.matches("^noise: it waited for a CPU for %d+ %% of its time", kinds.waited)
  end)

  it("are known of a kernel, per iteration, whichever thread it runs on", function()
    local _, result = records(pmc.kernel { symbol = "nap", code = KERNEL }, TIMES, { iterations = 4 })
    local on, wait, off = values_of(result, "on_cpu_time"), values_of(result, "wait_time"),
      values_of(result, "off_cpu_time")
    for i, duration in ipairs(values_of(result, "duration_time")) do
      assert.equal(4 * duration, 4 * on[i] + 4 * wait[i] + 4 * off[i])
      assert.is_true(off[i] >= 0.9e6, off[i])
    end
    local list
    list, result = records(pmc.kernel { symbol = "spin", code = KERNEL, threads = 2 }, TIMES,
      { iterations = 1000 })
    for i, record in ipairs(list) do
      local whole = 1000 * (values_of(result, "on_cpu_time")[i] + values_of(result, "wait_time")[i]
        + values_of(result, "off_cpu_time")[i])
      assert.is_true(whole > 0 and whole <= 2 * record.wall_ns + 1, whole)
    end
  end)

  -- A wait that ends just before a call, or begins just after it, may be in schedstat's difference, but not in the
  -- clock's: of 600 runs of 6 µs in new processes beside three busy loops one to four had no time on a CPU.
  it("have all the time on a CPU of a short call, whatever was waited for before and after it", function()
    local folder = support.folder()
    local sum = support.build(folder .. "/sum", "cc", "-I" .. support.root .. "/core",
      support.write(folder .. "/sum.c", [[
        #include <stdio.h>
        #include "runner/session/accounts.h"
        int main(void)
        {
          struct account before = { .taken = PMCLUA_TAKE_TIMES };
          struct account after = { .taken = PMCLUA_TAKE_TIMES, .on_cpu_ns = 900, .wait_ns = 5000 };
          struct pmclua_result result = { 0 };
          account_add(&result, &before, &after, 1000);
          printf("%d %d %d", (int)result.on_cpu_ns, (int)result.wait_ns, (int)result.off_cpu_ns);
        }]]), support.root .. "/core/runner/session/accounts.c", "-ffunction-sections", "-Wl,--gc-sections")
    assert.equal("900 100 0", support.run({ sum }).out)
  end)

  it("are known of an attached process", function()
    local events = "duration_time,wait_time,off_cpu_time,read_calls"
    beside("sleep 50", function(pid)
      local tasks = require "pmclua.host.tasks"
      support.await(function()
        local child = tasks.child_of(pid)
        return child and tasks.name(child) == "sleep" and tasks.state(pid) == "S"
      end, "that the target sleeps")
      local _, result = records("sleep 0.01", events, { target = pmc.pid(pid) })
      for _, off in ipairs(values_of(result, "off_cpu_time")) do assert.is_true(off >= 9e6, off) end
      assert.same({ 0, 0, 0, 0 }, values_of(result, "read_calls"))
    end)
  end)

  it("are absent, with the reason, of a Lua function", function()
    local result = pmc.measure(function() end, { events = "duration_time,wait_time,read_calls" })
    local cell = result:cells()()
    assert.is_nil(cell.wait_time.median)
    assert.matches("known only of commands, of kernels", cell.wait_time.why, 1, true)
    assert.matches("known only of commands and of processes", cell.read_calls.why, 1, true)
  end)

  it("are in a stored result as they were in memory, of commands and of kernels", function()
    for _, workload in ipairs { program("sleep", "1"), pmc.kernel { symbol = "nap", code = KERNEL } } do
      local path = support.folder() .. "/accounts.jsonl"
      local _, result = records(workload, TIMES .. ",read_calls", { store = path, repetitions = 20 })
      local again = pmc.load(path)
      for _, name in ipairs { "wait_time", "off_cpu_time", "read_calls" } do
        assert.same(values_of(result, name), values_of(again, name))
      end
    end
  end)
end)

describe("accounts of reading and writing", function()
  before_each(function() support.need(support.have "cc", "no C compiler") end)

  it("have every system call and byte of a command, and none of pmclua's", function()
    support.need_unwatched "a watcher reads and writes"
    local function median(what, n, name)
      local result = pmc.measure(program(what, n), { events = "read_calls,read_chars,write_calls,write_chars",
        repetitions = 3 })
      local summary = result:cells()()[name]
      assert.is_true(summary.exact)
      return summary.median
    end
    for _, what in ipairs { "read", "write" } do
      assert.equal(100, median(what, "100", what .. "_calls") - median(what, "0", what .. "_calls"))
      assert.equal(409600, median(what, "100", what .. "_chars") - median(what, "0", what .. "_chars"))
    end
    assert.equal(0, median("read", "100", "write_calls"))
  end)

  it("are found by what they are", function()
    local run = support.run { support.program, "events", "schedstat" }
    for _, name in ipairs { "on_cpu_time", "wait_time", "off_cpu_time" } do
      assert.matches(name, run.out, 1, true)
    end
    run = support.run { support.program, "events", "storage" }
    assert.matches("read_bytes", run.out, 1, true)
  end)
end)
