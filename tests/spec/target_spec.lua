-- Processes, threads and cgroups as targets: known numbers of system calls and page faults that they make are
-- counted exactly by those targets and by no other.

local caller = require "tests.support.caller"
local ffi = require "ffi"
local pmc = require "pmclua"
local support = require "tests.support"
local with_cgroups = require("tests.support.cgroups").with

local CALLS, parts_of = caller.CALLS, caller.parts_of
local message_of = support.message_of

describe("a process as target", function()
  it("is counted with the threads that exist and those to come, as a wrapper counts it (E)", function()
    caller.need()
    local input = support.write(support.folder() .. "/in", "go\n")
    local wrapped = pmc.measure(pmc.command { caller.program(), "3", "100", stdin = input }, {
      events = { "calls = " .. CALLS }, repetitions = 1, warmup = 0, timeout = "20s" })
    assert.equal(400, wrapped:cells()().calls.median)
    local running = caller.start(3, 100)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.pid(running.pid) }
    group:start()
    running.go()
    assert.equal(400, group:read().calls)
    running.finish()
    group:close()
  end)

  it("is divided into its threads on request, and they sum to the whole", function()
    caller.need()
    local running = caller.start(3, 50)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.pid { running.pid, by = "thread" } }
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
    caller.need()
    local one, two = caller.start(0, 30), caller.start(0, 7)
    local of_one = pmc.group { "calls = " .. CALLS, target = pmc.pid(one.pid) }:start()
    local both = pmc.pid { one.pid, two.pid, by = "process" }
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

  it("that has ended is said to have left a child running, where it did", function()
    local folder = support.folder()
    local go, child = folder .. "/go", folder .. "/child"
    local function remark_on(last)
      local script = ("while [ ! -e %s ]; do sleep 0.01; done; %s"):format(go, last)
      local pid = tonumber(support.output_of(("sh -c '%s' >/dev/null 2>&1 & echo $!"):format(script)))
      local heirs = require("pmclua.counting.target.heirs").of(pid)
      assert.is_nil(heirs:remark())
      support.write(go, "")
      support.await(function() return heirs:remark() or not support.exists("/proc/" .. pid) end, "its end")
      os.remove(go)
      return heirs:remark(), pid
    end
    assert.is_nil((remark_on ":"))
    local said, pid = remark_on(("sleep 60 & echo $! >%s"):format(child))
    local orphan = tonumber(support.read(child))
    os.execute("kill " .. orphan)
    assert.matches(("process %d has ended, and counting with it"):format(pid), said, 1, true)
    local named = ("sleep (process %d); pmclua stat -p %d continues there"):format(orphan, orphan)
    assert.matches(named, said, 1, true)
  end)

  it("that ends while it is counted keeps its counts", function()
    caller.need()
    local running = caller.start(2, 10)
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
    caller.need()
    local running = caller.start(1, 10)
    local result = pmc.measure(running.go, { events = { "calls = " .. CALLS, "duration_time" },
      target = pmc.pid { running.pid, by = "thread" }, repetitions = 1, warmup = 0 })
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
    caller.need()
    local running = caller.start(2, 40)
    local group = pmc.group { "calls = " .. CALLS, target = pmc.thread(running.pid) }:start()
    running.go()
    assert.equal(0, group:read().calls)      -- the first thread makes none, the one that it starts 40
    running.finish()
  end)

  it("of our own is this thread", function()
    caller.need()
    ffi.cdef "int getppid(void);"
    local group = pmc.group { "calls = " .. CALLS, target = pmc.self() }
    assert.equal(25, (group:count(function() for _ = 1, 25 do ffi.C.getppid() end end)).calls)
    group:close()
  end)
end)

-- ---- cgroups ----

local function run_in(folder, calls)
  os.execute(("echo $$ >'%s/cgroup.procs'; echo go | %s 1 %d"):format(folder, caller.program(), calls))
end

describe("a cgroup as target", function()
  it("is told from another, each counted exactly, with those below it", function()
    caller.need()
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
    local mount = require("pmclua.counting.target.cgroup").mount
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
    support.need_unwatched("it keeps descriptors of its own, within the limit", "valgrind")
    support.need(support.have "cc", "no C compiler")
    local running = caller.start(9, 0)
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
      ["target_spec.lua:%d+: pmc.pid takes ids %(whole numbers from 1%), not 'x'"] =
        function() pmc.pid "x" end,
      ["pmc.pid needs an id"] = function() pmc.pid {} end,
      ['"die", "socket", "node", not "sockets", did you mean \'socket\'%?'] =
        function() pmc.system { by = "sockets" } end,
      ["pmc.system has no option 'bye', did you mean 'by'%?"] = function() pmc.system { bye = "cpu" } end,
      ["pmc.cpus: '3x' is not a CPU"] = function() pmc.cpus "3x" end,
      ["pmc.cgroup needs the name of a cgroup"] = function() pmc.cgroup {} end,
      ["target must be a target such as pmc.pid%(1%), not 5"] =
        function() pmc.group { "page-faults", target = 5 } end,
      ["target must be a target such as pmc.pid%(1%), not \"all\""] =
        function() pmc.measure("true", { target = "all" }) end,
    } do
      assert.matches(message, message_of(fn))
    end
  end)

  it("take ids and lists as the command line has them", function()
    assert.same({ 1, 2, 3 }, pmc.pid("1,2,3,2").ids)
    assert.same({ 5, 6 }, pmc.thread({ 5, "6" }).ids)
  end)
end)
