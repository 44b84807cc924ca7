--- Surroundings that do not help: what was measured stays, what cannot be had is said, nothing waits for
--- ever.
--- PMCLUA_TEST_KILLS says how often a stored experiment is interrupted (15; `make check-soak` says 200).

local ffi = require "ffi"
local core = require "pmclua.core"
local json = require "dkjson"
local lfs = require "lfs"
local session = require "pmclua.workload.session"
local support = require "tests.support"

pcall(ffi.cdef, "int kill(int pid, int signal);")

local SLOW = support.fixture "hostile/slow.lua"
local REPETITIONS = 120

local lines_of = support.lines_of

--- How many repetitions a stored result holds; a partial last line is none.
local function stored_count(path)
  local count = 0
  for _, line in ipairs(lines_of(path)) do
    local value = json.decode(line)
    if value and value.kind == "repetition" then count = count + 1 end
    if value and value.kind == "repetitions" then count = count + #value.index end
  end
  return count
end

--- Starts the experiment, calls `strike` with its pid, and waits for its end: its status.
local function interrupted(folder, strike)
  -- The shell may be struck before it has opened what it redirects to.
  local said = support.write(folder .. "/said", "")
  local command = ("%s %s --store %s --noted %s --quiet >%s 2>&1 & echo $!; wait $!; echo $?")
    :format(support.program, SLOW, folder .. "/stored.jsonl", folder .. "/noted", said)
  local pipe = assert(io.popen(command))
  local pid = pipe:read "*n"
  strike(pid)
  local status = pipe:read "*n"
  pipe:close()
  return status
end

local SIGNALS = { 2, 15, 9 }

--- Ends the experiment at some moment and resumes it; how many repetitions were missing in between.
local function strike_once(signal, delay_ns)
  local folder, struck_ns = support.folder(), nil
  local status = interrupted(folder, function(pid)
    core.pause(delay_ns)
    struck_ns = core.now_ns()
    ffi.C.kill(pid, signal)
  end)
  local said = ("status %d: %s"):format(status, support.read(folder .. "/said"))
  assert.is_true(status == 0 or status == 128 + signal, said)
  local noted, stored = 0, folder .. "/stored.jsonl"
  for _, line in ipairs(lines_of(folder .. "/noted")) do
    if tonumber(line) < struck_ns - 2e8 then noted = noted + 1 end
  end
  local kept = stored_count(stored)
  assert.is_true(kept >= noted, ("%d of %d were kept"):format(kept, noted))
  -- Before its first line is written there is nothing to resume.
  if not lines_of(stored)[1] then return end
  local result = support.pmclua { SLOW, "--resume", stored, "--format", "json" }
  assert.equal(0, result.status, result.err)
  assert.equal(REPETITIONS, stored_count(stored))
  local orders = {}
  for _, line in ipairs(lines_of(stored)) do
    local value = json.decode(line)
    if value.kind == "repetition" then orders[value.order] = value.workload end
    for i, order in ipairs(value.kind == "repetitions" and value.order or {}) do
      orders[order] = type(value.workload) == "table" and value.workload[i] or value.workload
    end
  end
  assert.equal(REPETITIONS, #orders)
end

describe("an experiment that is ended at any moment", function()
  local times = tonumber(os.getenv "PMCLUA_TEST_KILLS") or 15
  it("keeps what ended 0.2 s before, and is resumed to the same plan", function()
    for i = 1, times do strike_once(SIGNALS[i % #SIGNALS + 1], math.random() * 1.5e8) end
  end)

  it("keeps it also where a function of the script takes long meanwhile", function()
    local folder, ended = support.folder(), 0
    local script = support.write(folder .. "/slow.lua", [[
      local pmc, ended = require "pmclua", 0
      return pmc.experiment { events = { "page-faults" }, repetitions = 6, warmup = 0, workloads = { "true" },
        conclude = function()
          ended = ended + 1
          if ended == 3 then os.execute "sleep 0.3; kill -9 $PPID" end
        end }]])
    support.pmclua { script, "--store", folder .. "/stored.jsonl" }
    assert.equal(2, stored_count(folder .. "/stored.jsonl"))
    repeat
      ended = ended + 1
      local run = support.pmclua { script, "--resume", folder .. "/stored.jsonl" }
    until run.status ~= 137 or ended == 3
    assert.equal(6, stored_count(folder .. "/stored.jsonl"))
  end)
end)

describe("a workload", function()
  local runner = session.new()
  teardown(function() runner:close() end)

  local function run(script, options)
    local id = runner:workload(function(message)
      message:text("argument", "sh"):text("argument", "-c"):text("argument", script)
      message:number("output", core.OUTPUT.capture):number("errors", core.OUTPUT["null"])
    end)
    local job = { workload = id, capture_limit = 1000 }
    for key, value in pairs(options or {}) do job[key] = value end
    return runner:run(job)
  end

  it("that stops itself meets its time limit", function()
    assert.equal("timed-out", run("kill -STOP $$", { timeout_ns = 1e8 }).outcome)
  end)

  it("that ignores signals meets its time limit", function()
    local result = run("trap '' TERM INT HUP ALRM; while :; do :; done", { timeout_ns = 1e8 })
    assert.equal("timed-out", result.outcome)
  end)

  it("that closes all its descriptors ends as it does", function()
    local result = run("exec 0<&- 1>&- 2>&-; exit 5")
    assert.equal("done", result.outcome)
    assert.equal(5, result.exit)
  end)

  it("that leaves a daemon is over when it ends itself, and so is what it writes", function()
    local result = run("setsid sh -c 'exec sleep 60' & echo $!")
    assert.equal("done", result.outcome)
    ffi.C.kill(tonumber(result.output), 9)
  end)

  it("whose child floods its output on is over when it ends itself", function()
    local result = run("yes & exit 3")
    assert.equal("done", result.outcome)
    assert.equal(3, result.exit)
    assert.is_true(#result.output <= 1000)
  end)

  it("that becomes another user is counted and ended all the same", function()
    support.need(support.have_root(), "needs root")
    local result = run("exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'while :; do :; done'",
      { timeout_ns = 1e8 })
    assert.equal("timed-out", result.outcome)
  end)

  it("that kills its runner is said to have been lost, and the next one runs", function()
    local result = run("kill -9 $PPID; sleep 5")
    assert.equal("quit", result.outcome)
    assert.equal("the runner was killed by SIGKILL", result.lost)
    assert.equal("done", run("true").outcome)
  end)
end)

--- Runs a shell script with mounts of its own.
local function in_namespace(script)
  return support.run { "unshare", "--mount", "sh", "-ec", script }
end

local function have_namespaces()
  return support.have_root() and support.have "unshare"
    and in_namespace("mount -t tmpfs none /sys").status == 0
end

describe("a machine", function()
  it("whose disk is full keeps whole lines and says so", function()
    support.need(have_namespaces(), "needs root and namespaces")
    local folder = support.folder()
    local result = in_namespace(([[
      mount -t tmpfs -o size=16k none %s
      %s %s --store %s/a.jsonl || s=$?
      cat %s/a.jsonl
      exit $s]]):format(folder, support.program, SLOW, folder, folder))
    assert.equal(1, result.status)
    assert.matches("disk is full", result.err)
    assert.matches('"kind":"experiment".*}\n$', result.out)
  end)

  it("whose output may not be written says so", function()
    support.need(have_namespaces(), "needs root and namespaces")
    local folder = support.folder()
    local result = in_namespace(("mount -t tmpfs -o ro none %s; exec %s %s --store %s/a.jsonl")
      :format(folder, support.program, SLOW, folder))
    assert.equal(1, result.status)
    assert.matches("[Rr]ead%-only file system", result.err)
  end)

  it("without sysfs counts what needs none", function()
    support.need(have_namespaces(), "needs root and namespaces")
    local result = in_namespace(("mount -t tmpfs none /sys; exec %s stat -j -o - -e page-faults -- true")
      :format(support.program))
    assert.equal(0, result.status, result.err)
    assert.is_true(json.decode(result.out).cells[1].values.page_faults.median > 0)
  end)

  it("that filters perf_event_open says that it does", function()
    support.need(support.have "cc", "no C compiler")
    local program = support.folder() .. "/unperf"
    local made = support.run { "cc", "-o", program, support.fixture "hostile/unperf.c" }
    assert.equal(0, made.status, made.err)
    local result = support.run { program, support.program, "stat", "-e", "page-faults", "sh", "-c", "exit 4" }
    assert.equal(4, result.status)
    assert.matches("seccomp", result.err)
    assert.is_nil(result.err:find "page%-faults +%d")
  end)

  it("with few descriptors counts, or says which limit to raise", function()
    support.need_unwatched("it needs more descriptors itself", "valgrind")
    local result = support.run(support.with_few_descriptors { "sh", "-c", "ulimit -n 16; exec \"$@\"", "sh",
      support.program, "stat", "-e", "page-faults,task-clock", "--", "true" })
    assert.equal(0, result.status, result.err)
    local is_said = result.err:find "page%-faults +%d" or result.err:find "too many open files.*limit"
    assert.is_truthy(is_said, result.err)
  end)

  it("without a home runs, and says that nothing is stored", function()
    local result = support.pmclua({ SLOW, "--repetitions", "1" },
      { env = { HOME = false, XDG_STATE_HOME = false } })
    assert.equal(0, result.status, result.err)
    assert.matches("not stored", result.err)
  end)

  it("with a home that cannot be written runs, and says what is not kept", function()
    local env = { HOME = "/dev/null", XDG_STATE_HOME = false, XDG_CACHE_HOME = false }
    local result = support.pmclua({ SLOW, "--repetitions", "1" }, { env = env })
    assert.equal(0, result.status, result.err)
    assert.matches("results are not stored: cannot make /dev/null/.local/state/pmclua/results: Not a "
      .. "directory; set XDG_STATE_HOME", result.err, 1, true)
    result = support.pmclua({ SLOW, "--repetitions", "1", "--store", "/dev/null/file" }, { env = env })
    assert.equal(1, result.status)
    support.need(support.have "cc", "no C compiler")
    result = support.pmclua({ support.root .. "/tests/faults/scenarios/kernel.lua" }, { env = env })
    assert.equal(0, result.status, result.err)
    assert.matches("compiled kernels are not kept: /dev/null/.cache/pmclua/kernels: not a directory; "
      .. "set XDG_CACHE_HOME", result.err, 1, true)
  end)

  it("without a folder for temporary files counts commands and kernels", function()
    support.need_unwatched("it needs such a folder itself", "valgrind")
    local result = support.pmclua({ "stat", "-e", "page-faults", "--", "true" },
      { env = { TMPDIR = "/nowhere" } })
    assert.equal(0, result.status, result.err)
    if not support.have "cc" then return end
    result = support.pmclua({ support.root .. "/tests/faults/scenarios/kernel.lua", "--no-store" },
      { env = { TMPDIR = false } })
    assert.equal(0, result.status, result.err)
  end)
end)

describe("a locale with decimal commas", function()
  it("changes no number", function()
    local folder = support.folder()
    local made = support.run { "localedef", "-i", "de_DE", "-f", "UTF-8", folder .. "/de_DE.UTF-8" }
    support.need(made.status < 2 and support.read("/etc/debian_version"), "no locales to make one of")
    local env = { LOCPATH = folder, LC_ALL = "de_DE.UTF-8" }
    local result = support.pmclua({ "stat", "-j", "-o", "-", "-e", "task-clock", "true" }, { env = env })
    assert.equal(0, result.status, result.err)
    assert.is_true(json.decode(result.out).cells[1].values.task_clock.median > 1)
  end)
end)

describe("a standard descriptor that is closed", function()
  it("is never taken by a result file", function()
    local folder = support.folder()
    local result = support.run { "sh", "-c", ('exec %s %s --store %s/a.jsonl <&- >&- 2>&-')
      :format(support.program, SLOW, folder) }
    assert.is_true(result.status <= 1)
    for _, line in ipairs(lines_of(folder .. "/a.jsonl")) do assert.is_table((json.decode(line))) end
    assert.equal(REPETITIONS, stored_count(folder .. "/a.jsonl"))
  end)

  it("is an error where results were to go there, and none of the command's otherwise", function()
    support.need_unwatched("it opens what was closed", "valgrind")
    local function stat(redirection)
      return support.run { "sh", "-c", ("exec %s stat -e page-faults -- sh -c 'exit 6' %s")
        :format(support.program, redirection) }.status
    end
    assert.equal(6, stat "<&-")
    assert.equal(6, stat ">&-")
    assert.equal(125, stat "2>&-")
    assert.equal(1, support.run({ "sh", "-c", support.program .. " -e 'print(1)' >/dev/full" }).status)
  end)

  it("is an error where the calls of functions were to be reported there", function()
    local probes = lfs.attributes("/sys/bus/event_source/devices/uprobe", "mode")
    support.need(support.have_root() and probes, "needs root and the uprobe PMU")
    for _, redirection in ipairs { "2>&-", "-o - >/dev/full" } do
      local command = ("%s regions -e page-faults -f pmclua_empty_call %s -- %s-runner empty-calls 3")
        :format(support.program, redirection, support.program)
      assert.equal(125, support.run({ "sh", "-c", command }).status, redirection)
    end
  end)
end)
