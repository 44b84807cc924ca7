-- Counting over time: intervals of one clock, as values for scripts and as streams; how it ends.

local core = require "pmclua.core"
local dkjson = require "dkjson"
local pmc = require "pmclua"
local support = require "tests.support"

local EVENTS = { "page-faults", "minor-faults" }      -- which an ordinary user may count

local message_of = support.message_of

--- Calls fn with a clock of its own: waiting takes as long as asked and `late[n]` seconds more the n-th
--- time that the end of an interval comes.
local function with_clock(late, fn)
  local binding = require "pmclua.core.processes"
  local now_ns, wait, now, waits = core.now_ns, binding.wait, 1e9, 0
  rawset(core, "now_ns", function() return now end)
  binding.wait = function(_, left_ns)
    now = now + left_ns
    if left_ns < 1e8 then
      waits = waits + 1
      now = now + (late[waits] or 0) * 1e9
    end
    return "timeout"
  end
  local ok, why = pcall(fn, function(seconds) now = now + seconds * 1e9 end)
  rawset(core, "now_ns", now_ns)
  binding.wait = wait
  if not ok then error(why, 0) end
end

local function times_of(monitor, each)
  local list = {}
  for s in monitor do
    list[#list + 1] = { s.time, s.seconds, s.missed }
    if each then each(s) end
  end
  return list
end

local function near(expected, list)
  assert.equal(#expected, #list)
  for i, row in ipairs(expected) do
    for k = 1, 3 do
      local said = ("%d, %d: %s for %s"):format(i, k, list[i][k], row[k])
      assert.is_true(math.abs(row[k] - list[i][k]) < 1e-6, said)
    end
  end
end

local function on_self(spec)
  spec.target, spec.events = pmc.self(), spec.events or EVENTS
  return pmc.monitor(spec)
end

describe("pmc.monitor", function()
  it("ends intervals at multiples of their length, so that lateness does not add up", function()
    with_clock({ 0.003, 0.02, 0, 0.009 }, function()
      near({ { 0.053, 0.053, 0 }, { 0.12, 0.067, 0 }, { 0.15, 0.03, 0 }, { 0.209, 0.059, 0 } },
        times_of(on_self { interval = "50ms", count = 4 }))
    end)
  end)

  it("says how many deadlines were missed, and goes on at the next", function()
    with_clock({ 0, 0.13 }, function()
      near({ { 0.05, 0.05, 0 }, { 0.23, 0.18, 2 }, { 0.25, 0.02, 0 }, { 0.3, 0.05, 0 } },
        times_of(on_self { interval = 0.05, count = 4 }))
    end)
  end)

  it("counts a slow reader's delay as missed deadlines, too", function()
    with_clock({}, function(pass)
      local function read_slowly(s)
        if s.index == 1 then pass(0.22) end
      end
      near({ { 0.05, 0.05, 0 }, { 0.27, 0.22, 3 }, { 0.3, 0.03, 0 } },
        times_of(on_self { interval = "50ms", count = 3 }, read_slowly))
    end)
  end)

  it("refuses a label that a field of its intervals would hide, and no other", function()
    for name, refused in pairs { time = true, value = true, raw = true, label = false, values = false } do
      local ok, problem = pcall(pmc.monitor, { target = pmc.self(), events = { name .. " = page-faults" } })
      assert.equal(not refused, ok)
      if ok then problem:close()
      else assert.matches("intervals have a field of that name", tostring(problem)) end
    end
  end)

  it("ends after its duration, with a shorter interval at the end", function()
    with_clock({}, function()
      local monitor, last = on_self { interval = "50ms", duration = "0.12" }, nil
      near({ { 0.05, 0.05, 0 }, { 0.1, 0.05, 0 }, { 0.12, 0.02, 0 } },
        times_of(monitor, function(s) last = s end))
      assert.is_true(last.partial)
      assert.equal("duration", monitor.ended)
    end)
  end)

  it("gives counts, rates and metrics by name, and raises on others", function()
    local share = "share = page_faults / (page_faults + 1)"
    for s in on_self { interval = "2ms", count = 1, metrics = { share } } do
      assert.equal("number", type(s.page_faults))
      assert.equal(s.page_faults, s["page-faults"])
      assert.is_true(math.abs(s:rate "page_faults" - s.page_faults / s.seconds) < 1e-6)
      assert.is_true(math.abs(s.share - s.page_faults / (s.page_faults + 1)) < 1e-9)
      assert.equal("counted", (s:status "page_faults"))
      assert.equal(1, s:ran "page_faults")
      assert.equal("cdata", type(s.raw.page_faults))
      assert.matches("neither event nor metric 'page_fautls', did you mean 'page_faults'%?",
        message_of(function() return s.page_fautls end))
    end
  end)

  it("has no number for what cannot be counted, nor for metrics of it", function()
    support.need(not support.have_pmu(), "cycles count here")
    local monitor = on_self { interval = "2ms", count = 1, events = { "page-faults", "cycles" },
      metrics = "ipc" }
    local s = monitor()
    assert.is_nil(s.cycles)
    assert.is_nil(s.ipc)
    assert.equal("unsupported", (s:status "cycles"))
    assert.equal("absent", (s:status "ipc"))
    assert.matches("^not counted: cycles and instructions: ", monitor:remarks()[1])
    assert.is_nil(monitor())
  end)

  it("sums its intervals to its total", function()
    local monitor, sum = on_self { interval = "2ms", count = 5 }, 0
    for s in monitor do
      sum = sum + s.page_faults
      local text = ("x"):rep(1e6)
      assert.equal(1e6, #text)
    end
    assert.equal(sum, monitor:total().page_faults)
  end)

  it("divides its intervals as its target is divided", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local each_cpu = pmc.system { by = "cpu" }
    for s in pmc.monitor { target = each_cpu, events = EVENTS, interval = "5ms", count = 2 } do
      local sum = 0
      for name, part in s:parts() do
        assert.equal("number", type(name))
        assert.equal(s.seconds, part.seconds)
        sum = sum + part.minor_faults
      end
      assert.equal(s.minor_faults, sum)
    end
  end)

  it("counts a command from its exec to its end, as the runner does", function()
    support.need(support.have_root() and support.have_tracefs(), "tracepoints count system calls, as root")
    local calls = { "calls = raw_syscalls:sys_enter" }
    local known = pmc.measure("true", { events = calls, repetitions = 1 }):cells()().calls.median
    local monitor = pmc.monitor { command = "true", events = calls, interval = "20s" }
    local last
    for s in monitor do last = s end
    assert.is_true(last.partial)
    assert.equal("command", monitor.ended)
    assert.equal(0, monitor.result.exit)
    assert.equal(known, monitor:total().calls)
  end)

  it("leaves a command's streams and status alone", function()
    local folder = support.folder()
    local input = support.write(folder .. "/in", "text\n")
    local monitor = pmc.monitor { events = EVENTS, interval = "20s",
      command = pmc.command { "sh", "-c", "cat >" .. folder .. "/out; exit 9", stdin = input } }
    while monitor() do end
    assert.equal(9, monitor.result.exit)
    assert.equal("text\n", support.read(folder .. "/out"))
    local killed = pmc.command { "sh", "-c", "kill -9 $$" }
    monitor = pmc.monitor { command = killed, events = EVENTS, interval = "20s" }
    while monitor() do end
    assert.equal(9, monitor.result.signal)
  end)

  it("counts nothing of a command that ends before its delay", function()
    local monitor = pmc.monitor { command = "true", events = EVENTS, delay = "20s", interval = "1ms" }
    assert.is_nil(monitor())
    assert.equal("command", monitor.ended)
    assert.equal(0, monitor.result.exit)
    assert.is_nil(monitor:total())
  end)

  it("ends when its process ends, with what it did until then", function()
    local folder = support.folder()
    local pipe = io.popen(("echo $$ >%s/pid; exec cat >%s/out"):format(folder, folder), "w")
    local pid = tonumber(support.await_text(folder .. "/pid", "^(%d+)\n"))
    support.await_text(("/proc/%d/comm"):format(pid), "^cat\n")
    local monitor = pmc.monitor { target = pmc.pid(pid), events = EVENTS, interval = "3ms" }
    local samples = 0
    for _ in monitor do
      samples = samples + 1
      if samples == 3 then pipe:close() end
    end
    assert.is_true(samples >= 3)
    assert.equal("target", monitor.ended)
  end)

  it("can be left, closed and forgotten", function()
    local monitor = on_self { interval = "1ms" }
    for s in monitor do
      if s.index == 2 then break end
    end
    monitor:close()
    monitor:close()
    assert.is_nil(monitor())
    assert.equal("closed", monitor.ended)
    on_self { interval = "1ms" }()
    collectgarbage()
    collectgarbage()
  end)

  it("is checked where it is written", function()
    for message, spec in pairs {
      ["monitor_spec.lua:%d+: pmc.monitor has no option 'intervall', did you mean 'interval'%?"] =
        { intervall = 1 },
      ["interval must be a number of seconds or a string"] = { interval = "soon" },
      ["an interval must be at least 1 ms"] = { interval = "1us" },
      ["count must be a whole number of at least 1, not 0"] = { count = 0 },
      ["did you mean 'page%-faults'"] = { events = { "page-fautls" } },
      ["target must be a target such as pmc.pid%(1%), not a table"] = { target = {} },
      ["command must be a command"] = { command = function() end },
      ["cannot execute 'no%-such%-command'"] = { command = "no-such-command" },
      ["there is no process 4194304"] = { target = pmc.pid(4194304) },
    } do
      local function monitor() return (pmc.monitor(spec)) end
      assert.matches(message, message_of(monitor))
    end
  end)
end)

describe("a monitor's stream", function()
  local function lines_of(format, options, spec)
    spec = spec or {}
    spec.interval, spec.count = "2ms", 2
    local list = {}
    with_clock({}, function()
      for line in on_self(spec):lines(format, options) do list[#list + 1] = line end
    end)
    return list
  end

  it("is a table with a header", function()
    local lines = lines_of "table"
    assert.equal(3, #lines)
    assert.matches("^ +time +page%-faults  minor%-faults\n$", lines[1])
    assert.matches("^ +%d%.%d%d%d s +%d+ +%d+\n$", lines[2])
    assert.matches("page%-faults/s", lines_of("table", { rates = true })[1])
  end)

  it("is CSV with one header, and a status beside each count", function()
    local lines = lines_of "csv"
    assert.equal("time_s,seconds,missed,page_faults,page_faults_status,minor_faults,"
      .. "minor_faults_status\n", lines[1])
    assert.equal(3, #lines)
    assert.matches("^[%d.]+,[%d.]+,0,%d+,counted,%d+,counted\n$", lines[3])
    assert.matches("^[%d.]+;[%d.]+;0;%d+;counted;", lines_of("csv", { separator = ";" })[2])
  end)

  it("is JSON, an object a line", function()
    support.need(not support.have_pmu(), "cycles count here")
    for i, line in ipairs(lines_of("json", nil, { events = { "page-faults", "cycles" }, metrics = "ipc" })) do
      local object = dkjson.decode(line)
      assert.equal("number", type(object.events.page_faults.value))
      assert.equal("number", type(object.events.page_faults.per_second))
      assert.equal("unsupported", object.events.cycles.status)
      assert.is_nil(object.events.cycles.value)
      assert.equal(i == 1, object.events.cycles.why ~= nil)
      assert.equal("absent", object.metrics.ipc.status)
    end
  end)

  it("has formats that are named when another is asked for", function()
    assert.matches("a stream has the formats table, json and csv, not 'xml'", message_of(function()
      on_self({ interval = "1ms" }):lines "xml"
    end))
  end)
end)

-- ---- the script ----

local function run(words, options) return support.pmclua({ "monitor", unpack(words) }, options) end

--- pmclua monitor in the background, until its file has a line; then sends it a signal. Its status.
local function interrupted(words, signal)
  local folder = support.folder()
  local command = ("cd %s; echo $$ >pid; exec %s monitor -I 20 -o lines %s 2>err"):format(folder,
    support.program, words)
  local pipe = io.popen(("sh -c %s; echo $?"):format(support.quote(command)))
  support.await_text(folder .. "/lines", "\n.*\n")
  os.execute(("kill -%s $(cat %s/pid)"):format(signal, folder))
  local status = tonumber((pipe:read "*a"))
  pipe:close()
  return status, support.read(folder .. "/lines"), support.read(folder .. "/err")
end

describe("pmclua monitor", function()
  it("writes lines to standard output, or with a command to standard error", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local all = run { "-e", "page-faults", "-I", "10", "--count", "2" }
    assert.equal(0, all.status)
    assert.equal(3, select(2, all.out:gsub("\n", "")))
    local command = run({ "-e", "page-faults", "--", "cat" }, { stdin = "through\n" })
    assert.equal("through\n", command.out)
    assert.matches("page%-faults\n", command.err)
    assert.equal(0, command.status)
  end)

  it("is a table in ASCII where the locale has no more", function()
    local function line_in(locale)
      return run({ "-e", "task-clock", "-I", "20", "--", "sleep", "0.03" }, { env = { LC_ALL = locale } }).err
    end
    assert.matches("[–µ]", line_in "C.UTF-8")
    local plain = line_in "C"
    assert.matches("%d us", plain)
    assert.is_nil(plain:find "[\128-\255]")
  end)

  it("exits as its command does", function()
    for status, words in pairs { [7] = { "sh", "-c", "exit 7" }, [137] = { "sh", "-c", "kill -9 $$" },
      [127] = { "no-such-command" }, [126] = { "/etc/passwd" } } do
      assert.equal(status, run({ "-e", "page-faults", "--", unpack(words) }).status)
    end
  end)

  it("refuses what makes no sense, as misuse", function()
    for message, words in pairs {
      ["%-%-per%-cpu needs %-a, %-C or %-G"] = { "--per-cpu", "-p", "1" },
      ["%-p and %-t name different targets"] = { "-p", "1", "-t", "1" },
      ["%-I takes milliseconds, or a time with a unit, not 'x'"] = { "-I", "x" },
      ["unknown option '%-%-intervall', did you mean '%-%-interval'%?"] = { "--intervall", "1" },
      ["%-%-per%-thread needs %-p or %-t"] = { "-a", "--per-thread" },
      ["ids %(whole numbers from 1%), not 'x'"] = { "-p", "x" },
      ["%-x takes what is to stand"] = { "-x", "" },
      ["%-x is for CSV, and %-%-format says json"] = { "-x", ";", "--json" },
      ["^pmclua monitor: count must be a whole number of at least 1, not 0"] = { "--count", "0" },
    } do
      local refused = run(words)
      assert.matches(message, refused.err)
      assert.equal(2, refused.status)
      assert.equal("", refused.out)
    end
  end)

  it("ends well on SIGINT, SIGTERM and SIGHUP, with whole lines", function()
    for signal, number in pairs { INT = 2, TERM = 15, HUP = 1 } do
      local status, lines = interrupted("-e page-faults -x , -p " .. core.pid(), signal)
      assert.equal(128 + number, status)
      assert.equal("\n", lines:sub(-1))
    end
  end)

  it("ends its command when it is ended", function()
    local folder = support.folder()
    local words = ("-e page-faults -- sh -c 'echo $$ >%s/child; exec sleep 100'"):format(folder)
    local status, _, err = interrupted(words, "TERM")
    assert.equal(143, status, err)
    support.await_end(tonumber(support.read(folder .. "/child")))
  end)

  it("is a stream of CSV or JSON in a file that may be added to", function()
    local file = support.folder() .. "/stream"
    for i = 1, 2 do
      local made = run { "-e", "page-faults", "-j", "-o", file, i == 2 and "--append" or "-q", "--", "true" }
      assert.equal(0, made.status)
    end
    local count = 0
    for line in io.lines(file) do
      assert.equal("number", type(dkjson.decode(line).time_s))
      count = count + 1
    end
    assert.equal(2, count)
  end)

  it("says so when the OS kernel drops the events of a program that may not be read (J)", function()
    support.need(support.have_root() and support.have "cc", "no C compiler, or not root")
    local folder = support.folder()
    support.write(folder .. "/busy.c", [[
      #include <time.h>
      int main(void) { while (clock() < CLOCKS_PER_SEC / 20) { } return 0; }]])
    local program = folder .. "/busy"
    assert.equal(0, support.run({ "cc", "-o", program, folder .. "/busy.c" }).status)
    local words = { "-e", "page-faults:u", "--", program }
    assert.is_nil(run(words, { user = true }).err:find "counting covered")
    os.execute("chmod 0711 " .. program)
    local dropped = run(words, { user = true })
    assert.equal(0, dropped.status)
    assert.matches("Linux stopped counting 'busy'", dropped.err)
  end)

  it("works for an ordinary user on his own", function()
    support.need(support.have_root(), "only root can become an ordinary user")
    local mine = run({ "-e", "page-faults,task-clock", "-x", ",", "--", "true" }, { user = true })
    assert.equal(0, mine.status)
    assert.matches("\n[%d.]+,[%d.]+,0,%d+,counted,%d+,counted\n", mine.err)
    local others = run({ "-e", "page-faults", "-p", "1" }, { user = true })
    assert.equal(1, others.status)
    assert.matches("process 1 belongs to another user", others.err)
    local all = run({ "-e", "page-faults" }, { user = true })
    assert.equal(77, all.status)
    assert.matches("nothing can be counted for all CPUs: .*CAP_PERFMON", all.err)
  end)
end)
