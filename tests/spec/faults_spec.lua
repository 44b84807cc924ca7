--- A sample of the matrix of faults (tests/faults; all of it: make check-faults), and faults that had a
--- meaning of their own.

local calls = require "tests.faults.calls"
local faults = require "tests.faults"
local support = require "tests.support"

local SAMPLE = 36

--- The shim is built, and loaded into all that a scenario runs.
local function need_shim()
  support.need_unwatched "a watcher's own calls would fail, too"
  support.need(support.have "cc", "no C compiler")
end

local whole
--- All cases, made once.
local function matrix()
  whole = whole or faults.matrix()
  return whole
end

--- The matrix in equal steps, so that each program and most calls of each scenario are met.
local function sample(cases)
  local step, chosen = #cases / SAMPLE, {}
  for i = 0, SAMPLE - 1 do chosen[#chosen + 1] = cases[math.floor(i * step) + 1] end
  return chosen
end

describe("a system call that fails", function()
  it("costs a repetition or a run, said and bounded, wherever it is", function()
    need_shim()
    local complaints = {}
    for _, case in ipairs(sample(matrix())) do
      local problems = faults.try(case)
      if problems[1] then
        complaints[#complaints + 1] = faults.describe(case) .. ": " .. table.concat(problems, "; ")
      end
    end
    assert.equal("", table.concat(complaints, "\n"))
  end)

  -- What it does in words, and the case: scenario, program, call, occurrence, action.
  local cases = {
    { "releases no command that could not be released", "stored", "pmclua-runner", "write", 1, "EIO" },
    { "says that the end of a command is not known", "stored", "pmclua-runner", "wait4", 1, "ECHILD" },
    { "is not taken for the command's own end when the runner dies", "stored", "pmclua-runner", "recv", 1,
      "ECONNRESET" },
    { "makes a captured command wait for nobody", "stored", "pmclua-runner", "pidfd_open", 1, "ENOSYS" },
    { "leaves the folder of PMUs unread where it may not be read", "stat", "pmclua", "opendir", 1, "EACCES" },
    { "is a command's own that cannot be executed", "stat", "pmclua-runner", "child_execve", 2, "EACCES" },
    { "is no event that counted nothing", "stored", "pmclua-runner", "perf_read", 3, "ZERO" },
    { "ends facts about the machine, not the report", "stat", "pmclua", "fgets", 1, "EIO" },
    { "leaves nothing half made in the cache", "kernel", "pmclua", "rename", 2, "ENOSPC" },
    { "does not compile where the object has no place", "kernel", "pmclua", "mkostemp", 2, "EACCES" },
    { "keeps nobody waiting for a runner that cannot be let go on", "kernel", "pmclua", "kill", 5, "EPERM" },
    { "ends no compiler whose question was not taken in", "kernel", "pmclua-runner", "ioctl", 629, "ENOTTY" },
    { "leaves no compiler waiting that nobody watches", "kernel", "pmclua-runner", "read", 1, "EIO" },
    { "names the CPU that is not counted", "system", "pmclua", "perf_event_open", 3, "ENODEV" },
    { "is said of a command that cannot be let go on", "system", "pmclua", "kill", 1, "EPERM" },
    { "is not taken for the end of a command that is watched", "system", "pmclua", "recv", 2, "ECONNRESET" },
    { "holds no command for a pmclua that ended while its runner began", "system", "pmclua", "mprotect", 1,
      "ENOMEM" },
    { "makes no marks of a table that cannot be read", "marks", "pmclua", "fread", 6, "EIO" },
    { "is no function without returns", "functions", "pmclua", "pread", 2, "EIO" },
    { "is no function that was never called", "functions", "pmclua-runner", "perf_event_open", 17, "ESRCH" },
    { "is not believed of a CPU that runs programs", "functions", "pmclua-runner", "perf_event_open", 17,
      "ENODEV" },
    { "makes a success of no report that was cut short", "doctor", "pmclua", "fwrite", 1, "SHORT" },
    { "leaves no files of Valgrind's where there is no memory to tell the runner", "simulated", "pmclua",
      "realloc", 10, "ENOMEM" },
    { "is said where events are not listed for it", "events", "pmclua", "opendir", 1, "EMFILE" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      need_shim()
      support.need(faults.can_run(case[2]), "it takes root and tracefs, or valgrind")
      local problems = faults.try { scenario = case[2], program = case[3], call = case[4],
        occurrence = case[5], action = case[6] }
      assert.same({}, problems)
    end)
  end
end)

describe("the matrix of faults", function()
  it("has every call that is imported, or a reason why it cannot fail", function()
    support.need_unwatched "a watcher's own calls are imported, too"
    support.need(support.have "nm", "binutils are not installed")
    local in_shim, unknown = {}, {}
    for _, name in ipairs(calls.names()) do in_shim[name] = true end
    local luajit = support.read "/proc/self/maps":match "/%S*libluajit%S*"
    for _, file in ipairs { support.program, support.program .. "-runner", luajit,
      package.searchpath("lfs", package.cpath) } do
      for name in support.output_of("nm -D -u " .. support.quote(file)):gmatch "[Uw] ([%w_]+)" do
        if not calls.is_known(name, in_shim) then unknown[#unknown + 1] = name end
      end
    end
    assert.same({}, unknown)
  end)

  it("meets each of them in some scenario", function()
    need_shim()
    support.need(support.have_root() and support.have_tracefs(), "some scenarios take root and tracefs")
    local is_met, unmet = {}, {}
    for _, case in ipairs(matrix()) do is_met[case.call] = true end
    is_met.mprotect = is_met.mprotect or not jit.status()          -- it is of compiled code
    for _, name in ipairs(calls.names()) do
      if not is_met[name] then unmet[#unmet + 1] = name end
    end
    assert.same({}, unmet)
  end)

  it("knows ways to fail of each of them, and of no other", function()
    for _, name in ipairs(calls.names()) do
      assert.is_string(calls.WAYS[name], name)
      assert.is_nil(calls.LEFT[name], name)
    end
    local count = 0
    for _ in pairs(calls.WAYS) do count = count + 1 end
    assert.equal(#calls.names(), count)
  end)
end)

describe("a command that ends before it is released", function()
  it("does not take the runner along", function()
    local runner = require("pmclua.workload.session").new()
    local id = runner:workload(function(message)
      message:text("argument", "true"):text("directory", "/nowhere")
    end)
    for _ = 1, 50 do assert.equal("not-started", runner:run({ workload = id }).outcome) end
    runner:close()
  end)
end)

describe("a parent that ignores SIGCHLD", function()
  it("does not keep the ends of commands from being known", function()
    local result = support.run { "env", "--ignore-signal=CHLD", support.program, "stat", "-e", "task-clock",
      "--", "sh", "-c", "exit 7" }
    assert.equal(7, result.status, result.err)
    assert.is_nil(result.err:find "not known", result.err)
  end)
end)
