-- pmclua in a program of its own, by `require "pmclua"`: what belongs to the program is as it was after a measure. And a
-- process that has ended is not killed once more: another may have got its pid.

local support = require "tests.support"

local PROLOGUE = [[
local ffi = require "ffi"
ffi.cdef [=[
struct host_action { void *handler; unsigned long mask[16]; int flags; void *restorer; };
int sigaction(int, const struct host_action *, struct host_action *);
int raise(int), fork(void);
extern char **environ;
void _exit(int);
]=]
local SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD = 1, 2, 3, 13, 15, 17
local SIG_IGN = ffi.cast("void *", 1)

local function action_of(signal)
  local now = ffi.new "struct host_action"
  ffi.C.sigaction(signal, nil, now)
  return now
end

local function set_action(signal, handler, flags)
  ffi.C.sigaction(signal, ffi.new("struct host_action", { handler = handler, flags = flags or 0 }), nil)
end

local function read(path)
  local file = io.open(path)
  local text = file:read "*a"
  file:close()
  return text
end

-- Everything of this process that a library could change.
local function state()
  local list = {}
  for _, signal in ipairs { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD } do
    local now = action_of(signal)
    list[#list + 1] = ("%d: %s %s"):format(signal, tostring(now.handler), tostring(now.mask[0]))
  end
  local status = read "/proc/self/status"
  for _, name in ipairs { "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed", "Umask", "Threads" } do
    list[#list + 1] = name .. " " .. tostring(status:match("\n" .. name .. ":%s*(%S+)"))
  end
  list[#list + 1] = read "/proc/self/limits"
  list[#list + 1] = read "/proc/self/personality"
  list[#list + 1] = require("lfs").currentdir() .. " " .. os.setlocale(nil)
  for i = 0, 1000 do
    if ffi.C.environ[i] == nil then break end
    list[#list + 1] = ffi.string(ffi.C.environ[i])
  end
  list[#list + 1] = "collects: " .. tostring(collectgarbage "isrunning")
  for name in pairs(_G) do list[#list + 1] = name end
  return table.concat(list, "\n")
end

-- Runs fn, and prints what it has changed.
local function changed(what, fn)
  local before = state()
  fn()
  print(what, state() == before and "nothing" or before .. "\n---\n" .. state())
end
pcall(require, "lfs")                  -- these two make globals of their own
pcall(require, "lpeg")
local pmc = require "pmclua"
]]

--- Runs a program in a plain luajit, which is not pmclua's.
local function run(source, options)
  support.need_unwatched("a plain luajit has not begun with it", "asan")
  support.need(support.have "luajit", "luajit is not installed")
  options = options or {}
  local path = support.write(support.folder() .. "/host.lua", PROLOGUE .. source)
  local root = support.root
  local modules = ("%s/lua/?.lua;%s/lua/?/init.lua;%s/build/lua/?.lua;;"):format(root, root, root)
  return support.run({ "sh", "-c", (options.before or "") .. ' exec "$@"', "sh", "luajit", path }, {
    env = support.merged({ LUA_PATH = modules, PMCLUA_SO = support.root .. "/build/libpmclua.so",
      PMCLUA_RUNNER = support.root .. "/build/pmclua-runner" }, options.env or {}) })
end

describe("a program that measures", function()
  it("has its signals, limits, descriptors and globals as before, whatever is measured", function()
    local result = run [[
      local handler = ffi.cast("void (*)(int)", function() end)
      set_action(SIGINT, handler, 0x10000000)
      set_action(SIGTERM, handler)
      set_action(SIGCHLD, SIG_IGN)
      pmc.measure("true", { events = "page-faults", repetitions = 2 })       -- modules are loaded
      changed("command", function() pmc.measure("true", { events = "page-faults", repetitions = 2 }) end)
      changed("function", function()
        pmc.measure(function() end, { events = "page-faults", repetitions = 2 })
      end)
      changed("two", function()
        pmc.compare("true", "false", { events = "page-faults", repetitions = 2 })
      end)
      local faults = { events = "page-faults", repetitions = 1 }
      changed("where", function() pmc.where("true", { event = "page-faults" }):report {} end)
      changed("regions", function()
        local spec = { events = "page-faults", repetitions = 1, regions = "libc.so.6:setlocale" }
        pcall(pmc.measure, "ls /", spec)
      end)
      changed("simulated", function()
        pcall(pmc.measure, "true", { events = "valgrind::instructions", repetitions = 1 })
      end)
      changed("failing", function() pcall(pmc.measure, function() error "x" end, faults) end)
      changed("refused", function() pcall(pmc.measure, "true", { events = "no-such-event" }) end)
      changed("not stored", function()
        local experiment = pmc.experiment { events = { "page-faults" }, workloads = { "true" } }
        print(pcall(experiment.run, experiment, { store = "/dev/null/nowhere", quiet = true }))
      end)
      collectgarbage "stop"
      changed("without a collector", function()
        pmc.measure(function() end, { events = "page-faults", repetitions = 2 })
      end)
    ]]
    assert.equal("", result.err)
    assert.equal(0, result.status)
    for _, what in ipairs { "command", "function", "two", "where", "regions", "simulated", "failing",
      "refused", "not stored", "without a collector" } do
      assert.matches("\n" .. what .. "\tnothing\n", "\n" .. result.out, 1, true)
    end
  end)

  it("has them as before where it drops what it opened, or closes it in another order", function()
    local result = run [[
      local handler = ffi.cast("void (*)(int)", function() end)
      set_action(SIGINT, handler)
      set_action(SIGPIPE, SIG_IGN)
      local function collect() for _ = 1, 3 do collectgarbage() end end
      local function monitor(options)
        options.events, options.interval = "page-faults", "1ms"
        return pmc.monitor(options)
      end
      local function both() return monitor { target = pmc.self() }, monitor { command = "true" } end
      local function try()
        for _, m in ipairs { both() } do m:next() m:close() end
        local first, second = both()
        first:next() second:next() first:close() second:close()
        for _, m in ipairs { both() } do m:next() end
        both()
        local m = monitor { target = pmc.self() }
        pmc.measure("true", { events = "page-faults", repetitions = 2 })
        m:close()
        pcall(pmc.monitor, { target = pmc.pid(1), events = "page-faults", delay = -1 })
        m, first, second = nil, nil, nil
        collect()
      end
      try()
      changed("monitors", try)
      changed("dropped in a run", function()
        monitor { target = pmc.self() }:next()
        pmc.measure(collect, { events = "page-faults", repetitions = 2 })
      end)
    ]]
    assert.equal("", result.err)
    assert.equal("monitors\tnothing\ndropped in a run\tnothing\n", result.out)
  end)

  it("gets a second interrupt itself, and every one after the measure", function()
    local result = run [[
      local heard = 0
      local handler = ffi.cast("void (*)(int)", function() heard = heard + 1 end)
      jit.off()
      set_action(SIGINT, handler)
      local function interrupt() ffi.C.raise(SIGINT) end
      local options = { events = "page-faults", repetitions = 5, warmup = 0 }
      print(pmc.measure(interrupt, options).status, heard)
      pmc.measure(function() interrupt() interrupt() end, options)
      print(heard)
      ffi.C.raise(SIGINT)
      print(heard)
    ]]
    assert.equal("", result.err)
    assert.equal("interrupted\t0\n1\n2\n", result.out)
  end)

  it("has no zombies of its own where it ignores SIGCHLD", function()
    local result = run [[
      set_action(SIGCHLD, SIG_IGN)
      local pid
      local function fork()
        pid = ffi.C.fork()
        if pid == 0 then ffi.C._exit(0) end
        while not read("/proc/" .. pid .. "/stat"):find "%) Z" do end
      end
      pmc.compare("true", fork, { events = "page-faults", repetitions = 1, warmup = 0 })
      print(io.open("/proc/" .. pid .. "/stat") and "a zombie" or "none")
    ]]
    assert.equal("", result.err)
    assert.equal("none\n", result.out)
  end)

  it("has its soft limit on descriptors back after many runners", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    support.write(folder .. "/work.c", "void work(void *state, long n) { (void)state; (void)n; }")
    local library = support.build(folder .. "/work.so", "cc", "-shared", "-fPIC", folder .. "/work.c")
    local result = run([[
      local kernels = {}
      for i = 1, 40 do
        kernels[i] = pmc.kernel { name = "k" .. i, library = os.getenv "LIBRARY", symbol = "work" }
      end
      pmc.measure("true", { events = "page-faults", repetitions = 1 })
      changed("limit", function()
        local experiment = pmc.experiment { events = { "duration_time" }, workloads = kernels,
          repetitions = 1, warmup = 0, iterations = 1 }
        print(experiment:run({ store = false, quiet = true }).status)
      end)
    ]], { before = "ulimit -Sn 64;", env = { LIBRARY = library } })
    assert.equal("", result.err)
    assert.equal("complete\nlimit\tnothing\n", result.out)
  end)

  it("may drop what it has opened: 5,000 events under a limit of 256", function()
    local result = run([[
      pmc.group({ "page-faults:u" }):close()                 -- modules are loaded
      local attr = { type = 1, config = 2, exclude_kernel = 1, disabled = 1 }
      for _ = 1, 5000 do pmc.open(attr) end
      for _ = 1, 1000 do pmc.group { "page-faults:u" } end
      for _ = 1, 5000 do pmc.monitor { target = pmc.self(), events = "page-faults:u" } end
      local spec = { target = pmc.self(), events = "page-faults:u", interval = "1ms" }
      for _ = 1, 1000 do pmc.monitor(spec):next() end
      for _ = 1, 100 do pmc.monitor { command = "true", events = "page-faults:u" } end
      for _ = 1, 5000 do pmc.self() pmc.pid(1) pmc.command "true" end
      for _ = 1, 3 do collectgarbage() end
      print(read "/proc/self/limits":match "Max open files%s+(%d+)")
    ]], { before = "ulimit -n 256;" })
    assert.equal("", result.err)
    assert.equal("256\n", result.out)
  end)
end)

-- Loaded into the runner. The moment a command is reaped SIGTERM comes; whom the runner kills from then on is noted.
local REAPED = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pid_t reaped;
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    pid_t (*real)(pid_t, int *, int, struct rusage *) = dlsym(RTLD_NEXT, "wait4");
    pid_t got = real(pid, status, options, usage);
    if (got > 0) {
        reaped = got;
        raise(SIGTERM);
    }
    return got;
}
int kill(pid_t pid, int number)
{
    int (*real)(pid_t, int) = dlsym(RTLD_NEXT, "kill");
    if (reaped && (pid == reaped || pid == -reaped))
        close(open(getenv("KILLED"), O_CREAT | O_WRONLY, 0600));
    return real(pid, number);
}
]]

describe("a command that has ended", function()
  it("is not killed by SIGTERM, with or without a time limit", function()
    support.need_unwatched "its own libc calls are not those of the runner"
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    support.write(folder .. "/reaped.c", REAPED)
    local shim = support.build(folder .. "/reaped.so", "cc", "-shared", "-fPIC", folder .. "/reaped.c")
    support.write(folder .. "/runner", ("#!/bin/sh\nLD_PRELOAD=%s exec %s/build/pmclua-runner \"$@\"\n")
      :format(shim, support.root))
    os.execute("chmod +x " .. support.quote(folder .. "/runner"))
    for _, limit in ipairs { "", "--timeout 20s" } do
      support.run({ "sh", "-c", ("exec %s stat -e task-clock %s -- true"):format(support.program, limit) },
        { env = { PMCLUA_RUNNER = folder .. "/runner", KILLED = folder .. "/killed" } })
      assert.is_false(support.exists(folder .. "/killed"), limit)
    end
  end)
end)
