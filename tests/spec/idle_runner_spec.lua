-- What kernels leave running in their runners: threads and processes rest while another runs, and end with the runner.

local lfs = require "lfs"
local session = require "pmclua.workload.session"
local support = require "tests.support"
local tasks = require "pmclua.host.tasks"

local SOURCE = [[
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pmclua_kernel.h"

static void *spin(void *unused) { for (volatile int i = 0;; i++) ; return unused; }

/* Begins to run for ever in a thread, and writes pids of a child and of a child's child to a file. */
void *busy_setup(const struct pmclua_params *params)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    FILE *file = fopen(pmclua_str(params, "path", ""), "w");
    int ends[2];
    char byte = 0;
    if (pipe(ends) < 0) abort();
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) spin(NULL);
        setsid();
        if (write(ends[1], &byte, 1) != 1) abort();
        spin(NULL);
    }
    if (read(ends[0], &byte, 1) != 1) abort();
    fprintf(file, "%d\n", (int)child);
    fclose(file);
    return NULL;
}
void busy(void *state, uint64_t iterations) { }
void *dies_setup(const struct pmclua_params *params) { return busy_setup(params); }
void dies(void *state, uint64_t iterations) { *(volatile int *)16 = 1; }
void *hangs_setup(const struct pmclua_params *params) { return busy_setup(params); }
void hangs(void *state, uint64_t iterations) { for (;;) pause(); }
/* Hangs once the other one has run. */
void *waits_setup(const struct pmclua_params *params) { return (void *)pmclua_str(params, "path", ""); }
void waits(void *state, uint64_t iterations)
{
    if (access(state, R_OK) == 0) {
        fclose(fopen(strcat(strcpy(malloc(4096), state), ".waits"), "w"));
        for (;;) pause();
    }
}
void quiet(void *state, uint64_t iterations) { }
]]

local library

local function object()
  if library then return library end
  local folder = support.folder()
  support.write(folder .. "/idle.c", SOURCE)
  local built = support.run { "cc", "-O1", "-w", "-shared", "-fPIC", "-I" .. support.root .. "/core",
    "-o", folder .. "/idle.so", folder .. "/idle.c", "-lpthread" }
  assert(built.status == 0, built.err)
  library = folder .. "/idle.so"
  return library
end

local function kernel(runners, symbol)
  local path = support.folder() .. "/pid"
  local id = runners:workload(function(message)
    message:text("library", object()):text("symbol", symbol):text("parameter", "path=" .. path)
  end)
  return id, path
end

-- The child that a kernel has forked, and the child's.
local function family(path)
  local child = tonumber(support.await_text(path, "^(%d+)\n"))
  return { child, support.await(function() return tasks.child_of(child) end, "the child's child") }
end

local function cpu_of(pid)
  return support.read(("/proc/%d/schedstat"):format(pid)):match "^%d+"
end

local function await_ends(pids)
  for _, pid in ipairs(pids) do support.await_end(pid) end
end

describe("a kernel's runner", function()
  local runners
  before_each(function()
    support.need(support.have "cc", "no C compiler")
    support.need(support.exists "/proc/self/task" and lfs.attributes("/proc/thread-self/children"),
      "this OS kernel does not list children")
    runners = session.new()
  end)
  after_each(function() runners:close() end)

  local function run(id, timeout_ns)
    return runners:run { workload = id, in_runner = true, timeout_ns = timeout_ns }
  end

  it("is stopped while another kernel runs, with all that it has started, and goes on then", function()
    local busy, path = kernel(runners, "busy")
    local quiet = kernel(runners, "quiet")
    assert.equal("done", run(busy).outcome)
    local pids = family(path)
    table.insert(pids, 1, runners.own[busy].runner:pid())
    for _, pid in ipairs(pids) do assert.is_truthy(tasks.state(pid) ~= "T") end
    assert.equal("done", run(quiet).outcome)
    local used = {}
    for i, pid in ipairs(pids) do
      support.await(function() return tasks.state(pid) == "T" end, "process " .. pid .. " to be stopped")
      used[i] = cpu_of(pid)
    end
    for _ = 1, 20 do assert.equal("done", run(quiet).outcome) end
    for i, pid in ipairs(pids) do assert.equal(used[i], cpu_of(pid)) end
    assert.equal("done", run(busy).outcome)
    for _, pid in ipairs(pids) do
      support.await(function() return tasks.state(pid) ~= "T" end, "process " .. pid .. " to go on")
    end
  end)

  it("is stopped while a command runs", function()
    local busy = kernel(runners, "busy")
    local command = runners:workload(function(message) message:text("argument", "true") end)
    assert.equal("done", run(busy).outcome)
    local pid = runners.own[busy].runner:pid()
    assert.equal("done", runners:run { workload = command }.outcome)
    support.await(function() return tasks.state(pid) == "T" end, "it to be stopped")
  end)

  it("ends with the processes that its kernel has forked", function()
    local busy, path = kernel(runners, "busy")
    assert.equal("done", run(busy).outcome)
    local pids = family(path)
    runners:forget(busy)
    await_ends(pids)
  end)

  it("ends with them when the kernel crashes", function()
    local dies, path = kernel(runners, "dies")
    local result = run(dies)
    assert.equal("signalled", result.outcome)
    assert.equal(11, result.signal)
    await_ends { tonumber(support.read(path)) }
  end)

  it("ends with them when the kernel hangs", function()
    local hangs, path = kernel(runners, "hangs")
    assert.equal("timed-out", run(hangs, 2e8).outcome)
    await_ends { tonumber(support.read(path)) }
  end)

  it("does not outlive a killed pmclua, though it was stopped", function()
    local folder = support.folder()
    support.write(folder .. "/k.lua", ([[
local pmc = require "pmclua"
local function kernel(symbol)
  return pmc.kernel { library = %q, symbol = symbol, params = { path = %q } }
end
return pmc.experiment { workloads = { kernel "busy", kernel "waits" }, events = "page-faults", warmup = 0,
  repetitions = 2 }
]]):format(object(), folder .. "/pid"))
    local out = folder .. "/pmclua"
    os.execute(("%s %s/k.lua --no-store >/dev/null 2>&1 & echo $! > %s"):format(
      support.quote(support.program), folder, out))
    local pmclua = tonumber(support.read(out):match "%d+")
    support.await(function() return support.exists(folder .. "/pid.waits") end, "the other kernel")
    local both = family(folder .. "/pid")          -- of its last runner: the first one missed its threads
    finally(function() os.execute(("kill -9 %d %d 2>&-"):format(unpack(both))) end)
    local pids = {}
    for tid in support.read(("/proc/%d/task/%d/children"):format(pmclua, pmclua)):gmatch "%d+" do
      pids[#pids + 1] = tonumber(tid)
    end
    support.await(function()
      for _, pid in ipairs(pids) do
        if tasks.state(pid) == "T" then return true end
      end
    end, "one of them to be stopped")
    os.execute("kill -9 " .. pmclua)
    await_ends(pids)
    await_ends(both)
  end)
end)

