--- A sample of the matrix of faults (tests/faults; all of it: make check-faults), and faults that had a
--- meaning of their own.

local faults = require "tests.faults"
local support = require "tests.support"

local SAMPLE = 75

--- The matrix in equal steps, so that each program and most calls of each scenario are met.
local function sample(cases)
  local step, chosen = #cases / SAMPLE, {}
  for i = 0, SAMPLE - 1 do chosen[#chosen + 1] = cases[math.floor(i * step) + 1] end
  return chosen
end

describe("a system call that fails", function()
  it("costs a repetition or a run, said and bounded, wherever it is", function()
    support.need(support.have "cc", "no C compiler")
    local cases, complaints = faults.matrix(), {}
    for _, case in ipairs(sample(cases)) do
      local problems = faults.try(case)
      if problems[1] then
        complaints[#complaints + 1] = faults.describe(case) .. ": " .. table.concat(problems, "; ")
      end
    end
    assert.equal("", table.concat(complaints, "\n"))
  end)

  local cases = {
    { "releases no command that could not be released", "write", "EIO" },
    { "says that the end of a command is not known", "wait4", "ECHILD" },
    { "is not taken for the command's own end when the runner dies", "recv", "ECONNRESET" },
    { "makes a captured command wait for nobody", "pidfd_open", "ENOSYS" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      support.need(support.have "cc", "no C compiler")
      local problems = faults.try { scenario = "stored", program = "pmclua-runner", call = case[2],
        occurrence = 1, action = case[3] }
      assert.same({}, problems)
    end)
  end

  it("leaves the folder of PMUs unread where it may not be read", function()
    support.need(support.have "cc", "no C compiler")
    assert.same({}, (faults.try { scenario = "stat", program = "pmclua", call = "opendir", occurrence = 1,
      action = "EACCES" }))
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
