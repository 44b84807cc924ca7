-- Functions of unmodified programs as regions: exact counts of each call, whatever the program does.

local lfs = require "lfs"
local made = require "tests.support.regions"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

local FAULTS, MADVISE = made.FAULTS, made.MADVISE
local facts, follow, need_probes, program = made.facts, made.follow, made.need_probes, made.program

local function need_threads()
  need_probes()
  local result = follow("calls", 1, { "touch" })
  support.need(result.path == "all threads", "threads are followed from Linux 6.12 on")
end

--- The OS kernel steps probed instructions in a page of its own: in the first call that may be a fault.
local function after_first(list) return { unpack(list, 2) } end

local function definitions()
  local file = io.open "/sys/kernel/tracing/uprobe_events"
    or io.open "/sys/kernel/debug/tracing/uprobe_events"
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return text
end

-- Both ways of probing: through tracefs for all threads, by the uprobe PMU for one.
for _, threads in ipairs { "all", "one" } do
  local about = "a function's calls, following " .. (threads == "all" and "all threads" or "one thread")

  describe(about, function()
    lazy_setup(function() if threads == "all" then need_threads() else need_probes() end end)

    local function of(...) return { threads = threads, ... } end

    it("are counted exactly, each", function()
      local touch = follow("calls", 8, of "touch")[1]
      assert.same({ entries = 8, calls = 8 }, facts(touch))
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, touch:list(FAULTS))
      assert.equal(36, touch:values(FAULTS).sum)
      assert.equal(8, touch:values((MADVISE:gsub("-", "_"))).sum)
      assert.equal(4.5, touch:quantile(FAULTS, 0.5))
      assert.equal("counted", touch:values(FAULTS).status)
    end)

    it("are with and without those of others that are followed, too", function()
      local result = follow("outers", 10, of("outer", "touch"))
      local outer, touch = result:region "outer", result:region "touch"
      assert.same({ entries = 10, calls = 10 }, facts(outer))
      assert.same({ entries = 55, calls = 55 }, facts(touch))
      assert.equal(55, outer:values(MADVISE).sum)
      assert.equal(0, outer:values(MADVISE, true).sum)
      assert.equal(55, touch:values(MADVISE, true).sum)
      assert.equal(30 + 450, touch:values(FAULTS).sum)
      for i, count in ipairs(outer:list(MADVISE)) do assert.equal(i, count) end
    end)

    it("nest 1,000 deep, counted once in the total", function()
      local recurse = follow("recursion", 1000, of "recurse")[1]
      assert.same({ entries = 1000, calls = 1000, nested = 999 }, facts(recurse))
      assert.equal(1000, recurse:values(MADVISE).sum)
      for level, count in ipairs(recurse:list(MADVISE)) do assert.equal(level, count) end
    end)

    it("that longjmp leaves are apart, and the others exact", function()
      local result = follow("longjmps", 100, of "jumps_out")
      local region = result[1]
      assert.same({ entries = 100, calls = 50, unwound = 49, unfinished = 1 }, facts(region))
      assert.matches(" · 50 calls of 100 entries\n", result:report(), 1, true)
      assert.equal(100, region:values(FAULTS).sum)
      assert.equal(2, region:values(FAULTS).max)
    end)

    it("that all end by a tail call are counted until there", function()
      local result = follow("tails", 20, of("before_tail", "touch"))
      local before = result:region "before_tail"
      assert.same({ entries = 20, calls = 20 }, facts(before))
      for _, count in ipairs(after_first(before:list(FAULTS))) do assert.equal(5, count) end
      assert.truthy(before.notes[1]:find "until then")
      assert.same({ entries = 40, calls = 40 }, facts(result:region "touch"))
    end)

    it("100,000 short ones are all there", function()
      support.need_unwatched("its records are not read as fast as they are written", "valgrind")
      local empty = follow("many", 100000, of "empty")[1]
      assert.same({ entries = 100000, calls = 100000 }, facts(empty))
      assert.equal(0, empty:values(FAULTS).max)
      assert.equal(100000, #empty:list(FAULTS))
    end)

    it("of one instruction take nothing", function()
      local one = follow("ones", 100, of "one_instruction")[1]
      assert.same({ entries = 100, calls = 100 }, facts(one))
      assert.equal(0, one:values "duration".max)
    end)

    it("pass exceptions of C++ unharmed", function()
      support.need(support.have "c++", "no C++ compiler")
      local path = program "throws.cc"
      local result = regions.measure(path, { regions = of("work::thrower", "deep"), events = { FAULTS },
        calibrate = false, timeout = 30 })
      assert.equal(0, result.exit)
      assert.same({ entries = 100, calls = 50, unwound = 50 }, facts(result:region "work::thrower(int)"))
      assert.same({ entries = 1001, unfinished = 1001 }, facts(result:region "work::deep(int)"))
    end)

    it("are booked to no caller where an exception left a callee, but for their bounds", function()
      support.need(support.have "c++", "no C++ compiler")
      -- The first probed call of a process may have a fault of its own: it is thrower's.
      local names = of("work::catches", "work::touches", "work::thrower")
      local result = regions.measure(program "throws.cc", { regions = names,
        events = { FAULTS }, calibrate = false, timeout = 30 })
      local catches = result:region "work::catches(int)"
      local total, itself = catches:values(FAULTS), catches:values(FAULTS, true)
      assert.same({ entries = 11, calls = 11, unsure = 5 }, facts(catches))
      assert.equal(11 * 17, total.sum)
      -- Until it ends nobody knows how much of what follows a callee's entry is the callee's.
      assert.same({ 6 * 14 + 5 * 10, 11 * 17 - 6 * 3 }, { itself.least, itself.sum })
      assert.is_nil(itself.mean)
      assert.is_nil(itself.share)
      assert.same({ 6, 14, 14 }, { itself.n, itself.min, itself.max })
      assert.same({ 14, true }, { catches:quantile(FAULTS, 0.99, true) })
    end)
  end)
end

describe("calls of threads and children", function()
  lazy_setup(need_threads)

  it("are counted for each thread", function()
    local touch = follow("threads", 6, { "touch" })[1]
    assert.same({ entries = 600, calls = 600 }, facts(touch))
    assert.equal(100 * 21, touch:values(FAULTS).sum)
    local counts = {}
    for _, thread in ipairs(touch.threads) do
      assert.equal(100, thread.calls)
      counts[#counts + 1] = touch:of_thread(thread, FAULTS)
    end
    table.sort(counts)
    assert.same({ 100, 200, 300, 400, 500, 600 }, counts)
  end)

  it("share the CPU time of all threads, of which that of the run is the sum", function()
    for _, threads in ipairs { 1, 2, 6 } do
      local result = follow("threads", threads, { regions = { "touch" }, events = { "task-clock" } })
      local touch, whole = result[1], result.runs[1].whole
      -- What was enabled is the CPU time, to the nanosecond, and so is this event's count.
      assert.equal(whole[2], whole[4])
      assert.equal(whole[2], whole[3])
      local cpu_time, clock = touch:values "cpu_time", touch:values "task-clock"
      assert.is_true(cpu_time.share > 0 and cpu_time.share < 1, cpu_time.share)
      assert.is_true(math.abs(cpu_time.share - clock.share) < 0.01, cpu_time.share .. ", " .. clock.share)
    end
  end)

  it("are counted for each child", function()
    local touch = follow("forks", 5, { "touch" })[1]
    assert.same({ entries = 5, calls = 5 }, facts(touch))
    assert.equal(5, #touch.threads)
    assert.equal(5, touch:values(MADVISE).sum)
    assert.is_true(touch:values(FAULTS).sum >= 15)       -- a child's first writes copy pages, too
  end)

  it("that migrate between CPUs lose and gain nothing", function()
    support.need(lfs.attributes "/sys/devices/system/cpu/cpu1", "one CPU alone")
    local result = follow("migrations", 4, { "migrates", "touch" })
    local migrates = result:region "migrates"
    assert.same({ entries = 200, calls = 200 }, facts(migrates))
    assert.equal(600, migrates:values(MADVISE).sum)
    assert.equal(3, migrates:values(MADVISE).min)
    assert.equal(3, migrates:values(MADVISE).max)
    assert.equal(30, migrates:values(FAULTS).min)
    assert.equal(6000, result:region "touch":values(FAULTS).sum)
  end)

  it("that a thread does not return from are apart", function()
    local result = follow("unfinished", 3, { "never_left", "touch" })
    assert.same({ entries = 3, unfinished = 3 }, facts(result:region "never_left"))
    assert.same({ entries = 3, calls = 3 }, facts(result:region "touch"))
  end)

  it("are left out, and said to be, where one thread is followed", function()
    local result = follow("threads", 3, { "touch", threads = "one" })
    assert.equal("one thread", result.path)
    assert.equal(3, result.threads_seen)
    assert.same({}, facts(result[1]))
    local report = result:report { width = 200 }
    assert.truthy(report:find("3 threads and children that it started not counted", 1, true), report)
  end)
end)

describe("a region between two points", function()
  lazy_setup(need_probes)

  it("may be a system call, by its tracepoints", function()
    local result = follow("systems", 50, { regions = {
      { from = "syscalls:sys_enter_getppid", to = "syscalls:sys_exit_getppid", name = "getppid" } } })
    local region = result:region "getppid"
    assert.same({ entries = 50, calls = 50 }, facts(region))
    assert.equal(0, region:values(FAULTS).sum)
    assert.is_true(region:values "duration".min > 0)
    assert.is_nil(result:report { width = 200 }:find "of probing itself")       -- which no code was
  end)

  it("says of what has one end alone that it was begun or ended", function()
    local said = follow("outers", 3, { regions = {
      { from = "touch", to = "outer%return", name = "last" } } }):report { width = 200 }
    assert.truthy(said:find("3 calls begun and begun again before its end: not counted", 1, true), said)
    assert.is_nil(said:find("left without return", 1, true), said)
  end)

  it("may be two functions, a function's return, or addresses of the code", function()
    local touch = require("pmclua.event.functions").one("touch", { program = program "pages.c" })
    local result = follow("outers", 5, { regions = {
      { from = "outer", to = "outer%return", name = "function" },
      { from = "outer", to = "touch", name = "until the first" },
      { from = ("0x%x"):format(touch.address), to = "touch%return", name = "address" },
    } })
    assert.same({ entries = 5, calls = 5 }, facts(result:region "function"))
    assert.equal(15, result:region "function":values(MADVISE).sum)
    local first = result:region "until the first"
    assert.equal(5, first.calls)
    assert.equal(0, first:values(MADVISE).sum)
    assert.equal(15, result:region "address".calls)
    assert.equal(15 + 100, result:region "address":values(FAULTS).sum)
  end)
end)

describe("return probes", function()
  lazy_setup(need_probes)

  it("count the same where they are asked for", function()
    for _, threads in ipairs { "all", "one" } do
      local touch = follow("calls", 8, { "touch", returns = "probe", threads = threads })[1]
      assert.same({ entries = 8, calls = 8 }, facts(touch))
      assert.same({ 2, 3, 4, 5, 6, 7, 8 }, after_first(touch:list(FAULTS)))
    end
  end)
end)

describe("a ring that is too small", function()
  lazy_setup(need_probes)

  it("loses records, which are counted, and never calls silently", function()
    for _, threads in ipairs { "all", "one" } do
      local result = regions.measure({ program "pages.c", "many", "100000" }, {
        regions = { "empty", threads = threads, ring_bytes = 4096 }, events = { FAULTS },
        calibrate = false, timeout = 30,
      })
      local empty = result[1]
      local known = empty.calls + empty.cut + empty.orphans + empty.unwound + empty.unfinished
      if result.lost == 0 then assert.equal(100000, empty.calls) end
      assert.is_true(result.samples + result.lost >= 200000)
      assert.is_true(empty.calls <= 100000 and empty.calls >= 100000 - result.lost - empty.cut)
      assert.is_true(known >= empty.entries)
      assert.equal(0, empty:values(FAULTS).max or 0)
    end
  end)
end)

describe("probes", function()
  lazy_setup(need_threads)

  it("are gone afterwards", function()
    local sessions, pid = require "pmclua.workload.session", nil
    local new_session = sessions.new
    finally(function() sessions.new = new_session end)
    function sessions.new()
      local session = new_session()
      local close = session.close
      function session.close() pid = pid or session.host.runner:pid() return close(session) end
      return session
    end
    regions.measure({ program "pages.c", "calls", "3" },
      { regions = { "touch" }, events = { FAULTS }, calibrate = false })
    assert.is_nil(definitions():find(("_%d_"):format(pid), 1, true))
  end)

  --- Runs a command that waits, with its regions followed, and ends its runner by a signal.
  local function end_runner(signal)
    local region = require "pmclua.workload.region"
    local session = require("pmclua.workload.session").new()
    local spec = region.check { "touch" }
    local command = region.of(require("pmclua.workload").from { program "pages.c", "waits" }, spec)
    local id = session:workload(function(message) command:define(message, {}, {}) end)
    local runner_pid
    session.idle = function()
      runner_pid = runner_pid or session.host.runner:pid()
      local mine = ("_%d_"):format(runner_pid)
      if definitions():find(mine, 1, true) then os.execute(("kill -%s %d"):format(signal, runner_pid)) end
    end
    local result = session:run { workload = id, timeout_ns = 20e9 }
    session:close()
    return result, runner_pid
  end

  it("are gone after SIGTERM", function()
    local result, pid = end_runner "TERM"
    assert.is_true(result.outcome ~= "done" and result.outcome ~= "timed-out", result.outcome)
    assert.is_nil(definitions():find(("_%d_"):format(pid), 1, true))
  end)

  it("that a killed runner left are removed by the next", function()
    local result, pid = end_runner "KILL"
    assert.is_true(result.outcome ~= "done" and result.outcome ~= "timed-out", result.outcome)
    local mine = ("_%d_"):format(pid)
    assert.truthy(definitions():find(mine, 1, true))
    follow("calls", 1, { "touch" })
    assert.is_nil(definitions():find(mine, 1, true))
  end)

  it("are refused to an ordinary user, who is told what they take", function()
    local done = support.pmclua({ "regions", "--function", "main", "--", "/bin/true" }, { user = true })
    assert.equal(125, done.status)
    local path = program "pages.c"
    os.execute(("chmod -R a+rX '%s'"):format(path:match "^(.*)/"))
    done = support.pmclua({ "regions", "--function", "touch", "--", path, "calls", "1" }, { user = true })
    assert.equal(125, done.status)
    assert.truthy(done.err:find("this user may not set probes", 1, true), done.err)
    assert.truthy(done.err:find("CAP_SYS_ADMIN", 1, true))
  end)

  it("are set for one thread by a user who has the one capability that they take", function()
    support.need(support.have "setpriv", "no setpriv")
    local path = program "pages.c"
    os.execute(("chmod -R a+rX '%s'"):format(path:match "^(.*)/"))
    local done = support.run { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
      "--inh-caps=+sys_admin", "--ambient-caps=+sys_admin", support.program, "regions", "-e", FAULTS,
      "-f", "touch", "--", path, "calls", "4" }
    assert.equal(0, done.status)
    assert.truthy(done.err:find("touch · 4 calls", 1, true), done.err)
    assert.truthy(done.err:find("only the first thread was followed", 1, true))
  end)
end)
