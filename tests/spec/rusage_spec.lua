-- Events that are read from getrusage(2): they need no counter, so they count where perf_event_open is forbidden.

local pmc = require "pmclua"
local support = require "tests.support"

local FAULTS = [[
  #include "pmclua_kernel.h"
  #include <sys/mman.h>
  void touch(void *state, uint64_t iterations) {
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) {
      char *pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      for (int k = 0; k < 3; k++) pages[k * 4096] = 1;
      munmap(pages, 3 * 4096);
    }
  }]]

-- Faults by getrusage beside those of perf, and switches, of a program that sleeps 20 times.
local SLEEPS = [[
  #include <time.h>
  int main(void) {
    for (int i = 0; i < 20; i++) nanosleep(&(struct timespec){ 0, 1000 }, 0);
    return 0;
  }]]

-- What stands in place of syscall(2) for perf_event_open, as a container's filter has it.
local FORBID = [[
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <errno.h>
  #include <stdarg.h>
  #include <sys/syscall.h>
  long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open) { errno = EPERM; return -1; }
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }]]

local function build(name, code, ...)
  local folder = support.folder()
  local source = support.write(folder .. "/" .. name .. ".c", code)
  return support.build(folder .. "/" .. name, "cc", "-O1", source, ...)
end

local function values_of(csv)
  local values = {}
  for name, value in csv:gmatch ",([%w_]+),,1,1,1,(%d+),counted" do values[name] = tonumber(value) end
  return values
end

describe("events of getrusage", function()
  it("are exact of a kernel", function()
    support.need(support.have "cc", "no C compiler")
    support.need_unwatched "it has page faults of its own"
    local result = pmc.measure(pmc.kernel { symbol = "touch", code = FAULTS },
      { events = "page-faults,ru_minflt,ru_majflt", iterations = 100, repetitions = 6 })
    for cell in result:cells() do
      assert.same({ 3, true, 0, true }, { cell.ru_minflt.median, cell.ru_minflt.exact,
        cell.ru_majflt.median, cell.ru_majflt.exact })
    end
  end)

  it("are those of the command, without what it took to launch it", function()
    support.need(support.have "cc", "no C compiler")
    support.need_unwatched "it has page faults and switches of its own"
    local program = build("sleeps", SLEEPS)
    local run = support.run { support.program, "stat", "-x", ",", "-o", "-", "-e",
      "page-faults,ru_minflt,ru_majflt,ru_nvcsw,ru_nivcsw", program }
    local values = values_of(run.out)
    -- Executing takes a fault before its counters are on, and its end a switch after they are off.
    local beside = values.ru_minflt + values.ru_majflt - values.page_faults
    assert.is_true(beside >= 0 and beside <= 2, run.out)
    assert.is_true(values.ru_nvcsw >= 20, run.out)
  end)

  it("count where perf_event_open is forbidden, and the status says so", function()
    support.need(support.have "cc", "no C compiler")
    support.need_unwatched "a watcher is loaded the same way"
    local library = build("forbid.so", FORBID, "-shared", "-fPIC", "-ldl")
    local function stat(events)
      return support.run({ support.program, "stat", "-x", ",", "-o", "-", "-e", events, "true" },
        { env = { LD_PRELOAD = library } })
    end
    local run = stat "ru_minflt,ru_majflt,ru_nvcsw,ru_nivcsw,duration_time"
    local values = values_of(run.out)
    assert.equal(0, run.status)
    assert.is_true(values.ru_minflt > 0, run.out .. run.err)
    assert.truthy(values.ru_nvcsw and values.ru_nivcsw and values.ru_majflt)
    run = stat "page-faults,ru_minflt"
    assert.matches("page_faults,,,,,,unsupported", run.out)
    assert.is_true(values_of(run.out).ru_minflt > 0)
  end)

  it("are found by what they are, and are not perf's minor-faults", function()
    local run = support.run { support.program, "events", "getrusage" }
    for _, name in ipairs { "ru_minflt", "ru_majflt", "ru_nvcsw", "ru_nivcsw" } do
      assert.matches(name, run.out, 1, true)
    end
    run = support.run { support.program, "stat", "-e", "minor-faults,ru_minflt", "true" }
    assert.equal(0, run.status)
  end)
end)
