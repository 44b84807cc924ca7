-- Targets: who is counted. Known numbers of system calls and page faults, made by threads, processes and
-- cgroups, are counted exactly by those targets and by no other.

local core = require "pmclua.core"
local ffi = require "ffi"
local pmc = require "pmclua"
local support = require "tests.support"
local topology = require "pmclua.target.topology"

-- Waits for a line on standard input, then makes `calls` system calls in each of `threads` threads that
-- exist before, and in one that is started then; ends when standard input does.
local CALLER = [[
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int calls, go[2], done[2];
static void call(void) { for (int i = 0; i < calls; i++) syscall(SYS_getppid); }
static void *wait_and_call(void *unused)
{
    char c;
    if (read(go[0], &c, 1) == 1) { call(); if (write(done[1], &c, 1) != 1) abort(); }
    pause();
    return unused;
}
static void *call_at_once(void *unused) { call(); return unused; }
int main(int argc, char **argv)
{
    int threads = atoi(argv[1]);
    calls = argc > 2 ? atoi(argv[2]) : 0;
    char line[100], c;
    pthread_t thread;
    if (pipe(go) || pipe(done)) return 1;
    for (int i = 0; i < threads; i++) pthread_create(&thread, 0, wait_and_call, 0);
    if (argc > 3) { FILE *f = fopen(argv[3], "w"); fprintf(f, "%d\n", (int)getpid()); fclose(f); }
    if (!fgets(line, sizeof line, stdin)) return 0;
    for (int i = 0; i < threads; i++) if (write(go[1], "g", 1) != 1) return 1;
    for (int i = 0; i < threads; i++) if (read(done[0], &c, 1) != 1) return 1;
    pthread_create(&thread, 0, call_at_once, 0);
    pthread_join(thread, 0);
    if (argc > 3) { FILE *f = fopen(argv[3], "a"); fputs("done\n", f); fclose(f); }
    if (!fgets(line, sizeof line, stdin)) return 0;
    return 0;
}
]]

local CALLS = "syscalls:sys_enter_getppid"
local program

local function caller()
  if program then return program end
  local folder = support.folder()
  support.write(folder .. "/caller.c", CALLER)
  local built = support.run { "cc", "-O1", "-o", folder .. "/caller", folder .. "/caller.c", "-lpthread" }
  assert(built.status == 0, built.err)
  program = folder .. "/caller"
  return program
end

-- The caller in the background: its pid, and functions that let it go on and end.
local function start(threads, calls, before)
  local file = support.folder() .. "/pid"
  local pipe = io.popen(("exec %s %s %d %d %s"):format(before or "", caller(), threads, calls, file), "w")
  local running = { pid = tonumber(support.await_text(file, "^(%d+)\n")) }
  function running.go()
    pipe:write "go\n"
    pipe:flush()
    support.await_text(file, "done")
  end
  function running.finish() pipe:close() end
  return running
end

local function need_calls()
  support.need(support.have "cc", "no C compiler")
  support.need(support.have_root() and support.have_tracefs(), "tracepoints count system calls, as root")
end

local message_of = support.message_of

local function parts_of(counts, field)
  local list = {}
  for name, part in counts:parts() do list[#list + 1] = { name, part[field] } end
  return list
end

describe("a process as target", function()
  it("is counted with the threads that exist and those to come, as a wrapper counts it (E)", function()
    need_calls()
    local input = support.write(support.folder() .. "/in", "go\n")
    local wrapped = pmc.measure(pmc.command { caller(), "3", "100", stdin = input }, {
      events = { "calls = " .. CALLS }, repetitions = 1, warmup = 0, timeout = "20s" })
    assert.equal(400, wrapped:cells()().calls.median)
    local running = start(3, 100)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.pid(running.pid) }
    group:start()
    running.go()
    assert.equal(400, group:read().calls)
    running.finish()
    group:close()
  end)

  it("is divided into its threads on request, and they sum to the whole", function()
    need_calls()
    local running = start(3, 50)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.pid { running.pid, per = "thread" } }
    group:start()
    running.go()
    local counts = group:read()
    local parts, sum = parts_of(counts, "calls"), 0
    assert.equal(4, #parts)
    assert.equal("caller-" .. running.pid, parts[1][1])
    for _, part in ipairs(parts) do
      sum = sum + part[2]
      assert.equal(50, part[2])        -- the first counts the thread that it starts
    end
    assert.equal(counts.calls, sum)
    running.finish()
    group:close()
  end)

  it("is told from its neighbour, and two are summed", function()
    need_calls()
    local one, two = start(0, 30), start(0, 7)
    local of_one = pmc.group { "calls = " .. CALLS, target = pmc.pid(one.pid) }:start()
    local both = pmc.pid { one.pid, two.pid, per = "process" }
    local of_both = pmc.group { "calls = " .. CALLS, target = both }:start()
    one.go()
    two.go()
    assert.equal(30, of_one:read().calls)
    assert.equal(37, of_both:read().calls)
    assert.same({ { "caller-" .. one.pid, 30 }, { "caller-" .. two.pid, 7 } },
      parts_of(of_both:read(), "calls"))
    one.finish()
    two.finish()
  end)

  it("that ends while it is counted keeps its counts", function()
    need_calls()
    local running = start(2, 10)
    local target = pmc.pid(running.pid)
    local group = pmc.group { "calls = " .. CALLS, "page-faults", target = target }:start()
    running.go()
    assert.is_true(target:is_alive())
    running.finish()
    assert.is_false(target:is_alive())
    assert.equal(30, group:read().calls)
    assert.equal("counted", (group:read():status "page_faults"))
    group:stop()
    group:close()
  end)

  it("that is not there is refused, be it a group or an experiment", function()
    assert.matches("there is no process 4194304",
      message_of(pmc.group, { "page-faults", target = pmc.pid(4194304) }))
    assert.matches("there is no thread 4194304",
      message_of(pmc.group, { "page-faults", target = pmc.thread(4194304) }))
    assert.matches("there is no process 4194304",
      message_of(pmc.measure, "true", { events = { "page-faults" }, target = pmc.pid(4194304) }))
  end)

  it("may be counted while a workload runs", function()
    need_calls()
    local running = start(1, 10)
    local result = pmc.measure(running.go, { events = { "calls = " .. CALLS, "duration_time" },
      target = pmc.pid { running.pid, per = "thread" }, repetitions = 1, warmup = 0 })
    running.finish()
    local values = {}
    for cell in result:cells() do
      values[#values + 1] = ("%s %d"):format(cell.thread or "all", cell.calls.median)
    end
    assert.equal("all 20", values[1])
    assert.equal(("caller-%d 10"):format(running.pid), values[2])
    assert.matches("^caller%-%d+ 10$", values[3])
  end)
end)

describe("a thread as target", function()
  it("is counted alone, without its process and what it starts", function()
    need_calls()
    local running = start(2, 40)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.thread(running.pid) }:start()
    running.go()
    assert.equal(0, group:read().calls)      -- the first thread makes none, the one that it starts 40
    running.finish()
  end)

  it("of our own is this thread", function()
    need_calls()
    ffi.cdef "int getppid(void);"
    local group = pmc.group { "calls = " .. CALLS, target = pmc.self() }
    assert.equal(25, (group:count(function() for _ = 1, 25 do ffi.C.getppid() end end)).calls)
    group:close()
  end)
end)

describe("CPUs as target", function()
  it("are counted whoever runs there, and sum to the whole", function()
    need_calls()
    local all = pmc.system { per = "cpu" }
    local group = pmc.group { "calls = " .. CALLS, "context-switches", target = all }:start()
    local running = start(3, 100)
    running.go()
    running.finish()
    local counts, calls, switches = group:read(), 0, 0
    for _, part in counts:parts() do
      calls, switches = calls + part.calls, switches + part.context_switches
    end
    assert.is_true(counts.calls >= 400)
    assert.equal(counts.calls, calls)
    assert.equal(counts.context_switches, switches)
    group:close()
  end)

  it("count what is pinned there and not what is pinned elsewhere", function()
    need_calls()
    support.need(#topology.online() > 1, "a machine of one CPU")
    local group = pmc.group { "calls = " .. CALLS, target = pmc.cpus { "0,1", per = "cpu" } }
    local running = start(0, 500, "taskset -c 1")
    group:start()
    running.go()
    local parts = parts_of(group:read(), "calls")
    running.finish()
    group:close()
    assert.same({ 0, 1 }, { parts[1][1], parts[2][1] })
    assert.is_true(parts[2][2] >= 500)
    assert.is_true(parts[1][2] < 500)
  end)

  it("give records of each and of all in an experiment", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local records = {}
    pmc.measure("true", { events = { "page-faults" }, target = pmc.system { per = "cpu" },
      repetitions = 2, warmup = 0, each = function(record) records[#records + 1] = record end })
    local cpus = #topology.online()
    assert.equal(2 * (1 + cpus), #records)
    local sum = 0
    for i = 2, 1 + cpus do
      assert.equal(topology.online()[i - 1], records[i].cpu)
      sum = sum + records[i].counts[1]
    end
    assert.is_nil(records[1].cpu)
    assert.equal(records[1].counts[1], sum)
  end)

  it("survive being stored and loaded", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local path = support.folder() .. "/result.jsonl"
    local result = pmc.measure("true", { events = { "page-faults" }, target = pmc.system { per = "core" },
      repetitions = 1, warmup = 0, store = path })
    local loaded, labels, again = pmc.load(path), {}, {}
    for cell in result:cells() do labels[#labels + 1] = cell:label() .. cell.page_faults.median end
    for cell in loaded:cells() do again[#again + 1] = cell:label() .. cell.page_faults.median end
    assert.is_true(#labels > 1)
    assert.same(labels, again)
    local shown = loaded:report { width = 80, utf8 = true }
    assert.matches("true · 1 repetition · counted: all CPUs", shown, 1, true)
  end)

  it("that are not there or offline are named", function()
    local sysfs = support.folder()
    support.write(sysfs .. "/devices/system/cpu/online", "0,2-3\n")
    support.write(sysfs .. "/devices/system/cpu/present", "0-3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      assert.matches("there is no CPU 7 here: there are 0%-3",
        message_of(pmc.group, { "page-faults", target = pmc.cpus "0-1,7" }))
      assert.matches("CPU 1 is offline; online: 0,2%-3",
        message_of(pmc.group, { "page-faults", target = pmc.cpus "0-1" }))
    end)
  end)

  it("that go offline while they are counted are named", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local group = pmc.group { "page-faults", target = pmc.cpus "0" }:start()
    assert.same({}, group:remarks())
    local sysfs = support.folder()
    support.write(sysfs .. "/devices/system/cpu/online", "1-3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      assert.same({ "CPU 0 went offline: counted until then, and not again" }, group:remarks())
    end)
    group:close()
    assert.equal(1, #group:remarks())                -- it may be back, its events are not
  end)

  it("keep their sum when one of them can no longer be read", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local group = pmc.group { "page-faults", "context-switches", target = pmc.system() }:start()
    os.execute "true"
    local before = group:read()
    jit.off()                                        -- compiled code must not be called back
    jit.flush()
    local real = ffi.C.pmclua_system.read
    local callback = ffi.cast("long (*)(int32_t, void *, size_t)", function(fd, buffer, bytes)
      local got = real(fd, buffer, bytes)
      ffi.cast("uint64_t *", buffer)[0] = 1          -- its siblings were taken off with the CPU
      return got
    end)
    ffi.C.pmclua_system.read = callback
    local ok, after = pcall(group.read, group)
    ffi.C.pmclua_system.read = real
    callback:free()
    jit.on()
    assert.is_true(ok)
    assert.equal(0, (after - before).page_faults or 0)
    assert.is_true((group:read() - before).page_faults >= 0)
    group:close()
  end)

  it("are summed by core, die, socket and node as sysfs has them", function()
    local sysfs = support.folder()
    for cpu, place in pairs { [0] = { 0, 0, 0 }, { 0, 0, 0 }, { 0, 1, 4 }, { 1, 0, 0 } } do
      local folder = ("%s/devices/system/cpu/cpu%d/topology/"):format(sysfs, cpu)
      support.write(folder .. "physical_package_id", place[1] .. "\n")
      support.write(folder .. "die_id", place[2] .. "\n")
      support.write(folder .. "core_id", place[3] .. "\n")
    end
    support.write(sysfs .. "/devices/system/node/online", "0-1\n")
    support.write(sysfs .. "/devices/system/node/node0/cpulist", "0-2\n")
    support.write(sysfs .. "/devices/system/node/node1/cpulist", "3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      local function parts(kind)
        local list = {}
        for cpu = 0, 3 do list[cpu + 1] = topology.part(cpu, kind) end
        return list
      end
      assert.same({ 0, 1, 2, 3 }, parts "cpu")
      assert.same({ "S0-D0-C0", "S0-D0-C0", "S0-D1-C4", "S1-D0-C0" }, parts "core")
      assert.same({ "S0-D0", "S0-D0", "S0-D1", "S1-D0" }, parts "die")
      assert.same({ "S0", "S0", "S0", "S1" }, parts "socket")
      assert.same({ "N0", "N0", "N0", "N1" }, parts "node")
    end)
  end)

  it("are read from lists as people write them", function()
    assert.same({ 0, 2, 3, 4, 7 }, topology.parse "2-4,7,0,3")
    assert.equal("0,2-4,7", topology.format { 0, 2, 3, 4, 7 })
    for _, wrong in ipairs { "", "a", "1-", "-1", "3-1", "1,,2", "1 2", "99999999" } do
      assert.is_nil((topology.parse(wrong)), wrong)
    end
  end)

  it("are counted for an uncore PMU on that PMU's own CPUs alone", function()
    support.need(support.have_root() and io.open "/sys/bus/event_source/devices/power/cpumask",
      "no PMU with CPUs of its own here")
    local energy = "energy = power/energy-psys/"
    local group = pmc.group { "page-faults", energy, target = pmc.system { per = "cpu" } }:start()
    local counts, with_energy = group:read(), 0
    assert.equal("counted", (counts:status "energy"))
    assert.equal("counted", (counts:status "page_faults"))
    for _, part in counts:parts() do with_energy = with_energy + (part.energy and 1 or 0) end
    assert.equal(1, with_energy)
    group:close()
    local of_task = pmc.group { "page-faults", energy, target = pmc.pid(core.pid()) }
    assert.equal("unsupported", (of_task:read():status "energy"))
    of_task:close()
  end)

  it("are not for an ordinary user, who is told what would help", function()
    support.need(support.have_root(), "only root can become an ordinary user")
    local script = 'local g = pmc.group { "page-faults", target = pmc.system() } print(g:read())'
    local run = support.pmclua({ "-e", script }, { user = true })
    assert.equal(0, run.status)
    assert.matches("unsupported.*counting a whole CPU needs CAP_PERFMON", run.out)
  end)
end)

-- ---- cgroups ----

local function with_cgroups(names, fn)
  local mount = require("pmclua.target.cgroup").mount()
  support.need(mount, "no cgroups are mounted")
  support.need(support.have_root(), "making cgroups needs root")
  local folders = {}
  for i, name in ipairs(names) do
    folders[i] = ("%s/pmclua-test-%d-%s"):format(mount, core.pid(), name)
    if os.execute(("mkdir '%s' 2>/dev/null"):format(folders[i])) ~= 0 then
      for k = 1, i - 1 do os.execute(("rmdir '%s'"):format(folders[k])) end
      support.need(false, "cgroups cannot be made here")
    end
  end
  local ok, why = pcall(fn, unpack(folders))
  for i = #folders, 1, -1 do os.execute(("rmdir '%s'"):format(folders[i])) end
  if not ok then error(why, 0) end
end

local function run_in(folder, calls)
  os.execute(("echo $$ >'%s/cgroup.procs'; echo go | %s 1 %d"):format(folder, caller(), calls))
end

describe("a cgroup as target", function()
  it("is told from another, each counted exactly, with those below it", function()
    need_calls()
    with_cgroups({ "a", "b", "b/below" }, function(a, b, below)
      local function name(folder) return folder:match "[^/]*$" end
      local both = pmc.group { "calls = " .. CALLS, target = pmc.cgroup { name(a), name(b) } }:start()
      local alone = pmc.group { "calls = " .. CALLS, "page-faults", target = pmc.cgroup(b) }
      alone:start()
      run_in(a, 100)
      run_in(b, 250)
      run_in(below, 5)
      assert.same({ { "cgroup " .. name(a), 200 }, { "cgroup " .. name(b), 510 } },
        parts_of(both:read(), "calls"))
      assert.equal(710, both:read().calls)
      assert.equal(510, alone:read().calls)
      assert.is_true(alone:read().page_faults > 0)
      both:close()
      alone:close()
    end)
  end)

  it("is called by its name in reports", function()
    support.need(support.have_root(), "counting CPUs needs root")
    with_cgroups({ "a", "b" }, function(a, b)
      local names = { a:match "[^/]*$", b:match "[^/]*$" }
      local result = pmc.measure("true",
        { events = "cpu-clock", target = pmc.cgroup(names), repetitions = 1 })
      assert.matches("true · cgroup " .. names[2] .. " ·", tostring(result), 1, true)
    end)
  end)

  it("that is not there is refused with the nearest name", function()
    with_cgroups({ "here" }, function(here)
      local name = here:match "[^/]*$"
      local other = name:gsub("here", "hera")
      local said = message_of(pmc.group, { "page-faults", target = pmc.cgroup(other) })
      assert.is_not_nil(said:find(("there is no cgroup '%s'"):format(other), 1, true))
      assert.is_not_nil(said:find(("did you mean '%s'?"):format(name), 1, true))
    end)
  end)

  it("is looked for in version 1's perf_event hierarchy first, then in version 2's", function()
    local mount = require("pmclua.target.cgroup").mount
    local v2 = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
    assert.same({ "/sys/fs/cgroup/unified", 2 }, { mount("proc /proc proc rw 0 0\n" .. v2) })
    assert.same({ "/sys/fs/cgroup/perf event", 1 },
      { mount(v2 .. "cgroup /sys/fs/cgroup/perf\\040event cgroup rw,relatime,perf_event 0 0\n") })
    local v1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
    assert.same({ "/sys/fs/cgroup/unified", 2 }, { mount(v1 .. v2) })
    assert.is_nil((mount "proc /proc proc rw 0 0\n"))
  end)
end)

describe("descriptors", function()
  local SCRIPT = [[
    local specs = { target = pmc.pid(%d) }
    for i = 1, 20 do specs[i] = ("a%%d = page-faults"):format(i) end
    local group = pmc.group(specs):start()
    print((group:read():status "a20"))
    group:close()
    for line in io.lines "/proc/self/limits" do
      if line:find "open files" then print((line:match "files%%s+(%%d+)")) end
    end
  ]]

  local function run_limited(limits)
    support.need(support.have "cc", "no C compiler")
    local running = start(9, 0)
    collectgarbage()                                 -- files that other specs left open are inherited
    collectgarbage()
    local result = support.run { "sh", "-c", limits .. ' exec "$@"', "sh", support.program, "-e",
      SCRIPT:format(running.pid) }
    running.finish()
    return result
  end

  it("are made room for, and the soft limit is put back", function()
    local run = run_limited "ulimit -Sn 60;"
    assert.equal("", run.err)
    assert.matches("^n?o?t?%-?counted\n60\n$", run.out)
  end)

  it("above the hard limit are an error that names the number needed", function()
    local run = run_limited "ulimit -n 100;"
    assert.equal(1, run.status)
    local needed = run.err:match
      "counting 20 events of process %d+ %(10 threads%) takes 200 descriptors, (%d+) with"
    assert.is_true(tonumber(needed) > 200, run.err)
    assert.matches("at most 100 are allowed here", run.err)
    assert.matches("ulimit %-Hn " .. needed, run.err)
  end)
end)

describe("targets", function()
  it("are checked where they are written", function()
    for message, fn in pairs {
      ["target_spec.lua:%d+: pmc.pid takes ids, which are whole numbers from 1, not 'x'"] =
        function() pmc.pid "x" end,
      ["pmc.pid needs an id"] = function() pmc.pid {} end,
      ["pmc.system: per is cpu, core, die, socket or node, not 'sockets', did you mean 'socket'%?"] =
        function() pmc.system { per = "sockets" } end,
      ["pmc.system has no option 'pre', did you mean 'per'%?"] = function() pmc.system { pre = "cpu" } end,
      ["pmc.cpus: '3x' is no CPU"] = function() pmc.cpus "3x" end,
      ["pmc.cgroup needs the name of a cgroup"] = function() pmc.cgroup {} end,
      ["target is pmc.pid%(N%)"] = function() pmc.group { "page-faults", target = 5 } end,
      ["target is pmc.pid%(N%).*not a string"] = function() pmc.measure("true", { target = "all" }) end,
    } do
      assert.matches(message, message_of(fn))
    end
  end)

  it("take ids and lists as the command line has them", function()
    assert.same({ 1, 2, 3 }, pmc.pid("1,2,3,2").ids)
    assert.same({ 5, 6 }, pmc.thread({ 5, "6" }).ids)
  end)
end)
