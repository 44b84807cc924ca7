-- What is rejected and repeated, and what is predicted of what was measured.

local pmc = require "pmclua"
local support = require "tests.support"

local kernel = require("tests.support.kernels").pages
local run = support.experiment

describe("reject_if", function()
  it("may name metrics", function()
    local ok, problem = pcall(run, { events = { "page-faults" }, metrics = { "twice = 2 * page_faults" },
      workloads = { "true" }, repetitions = 2, reject_if = "twice > 0" })
    assert.matches("rejected by 'twice > 0'", tostring(not ok and problem or problem.problem))
  end)

  it("repeats what it rejects, and records it as rejected", function()
    local tries, outcomes = 0, {}
    local result = run({ events = { "page-faults", "wanted = task-clock" }, repetitions = 2, warmup = 0,
      workloads = { pmc.command { "true" } }, prepare = function() tries = tries + 1 end,
      reject_if = "wanted < 0" }, { each = function(record) outcomes[#outcomes + 1] = record.outcome end })
    assert.equal(2, tries)
    assert.same({ "done", "done" }, outcomes)
    assert.equal("complete", result.status)
  end)

  it("gives up after a bounded number of tries, says so, and keeps what was measured", function()
    local result = run { events = { "page-faults" }, repetitions = 3, warmup = 0, workloads = { "true",
      "false" },
      -- This seed has a cell of n = 1 first.
      seed = 9, on_failure = "keep", factors = { { "n", { 1, 2 } } }, reject_if = "n == 2" }
    assert.equal("failed", result.status)
    assert.matches("20 repetitions in a row were rejected", tostring(result.problem))
    local rejected = 0
    for cell in result:cells() do rejected = rejected + cell.rejected end
    assert.equal(20, rejected)
    assert.matches("20 repetitions rejected by 'n == 2', and repeated", tostring(result))
  end)
end)

describe("expect", function()
  local function expectation(prediction)
    return run({ events = { "page-faults" }, workloads = { kernel("pages", { params = { n = 5 } }) },
      repetitions = 4,
      iterations = 3, expect = { prediction } }).expectations[1]
  end

  it("holds where a prediction is true of every repetition", function()
    support.need(support.have "cc", "no C compiler")
    assert.equal("pass", expectation("page_faults == 5 * iterations").state)
  end)

  it("fails with what was observed and expected, and where", function()
    support.need(support.have "cc", "no C compiler")
    local result = expectation "page_faults == 5 * iterations + 1"
    assert.equal("fail", result.state)
    assert.equal(15, result.observed)
    assert.equal(16, result.expected)
    assert.equal(1, result.index)
    assert.matches("fails: repetition 1: observed 15, expected 16 %(fails in 4 of 4%)",
      require("pmclua.experiment.expect").line(result))
  end)

  it("is of one iteration where it does not name iterations, as every value of a kernel", function()
    support.need(support.have "cc", "no C compiler")
    assert.equal("pass", expectation("page_faults == 5").state)
    local result = expectation "page_faults == 4 +- 5%"
    assert.same({ "fail", 5, 4 }, { result.state, result.observed, result.expected })
  end)

  it("may name metrics", function()
    local result = run { events = { "page-faults" },
      metrics = { "twice = 2 * page_faults", "more = twice + 1" }, workloads = { "true" }, repetitions = 2,
      expect = { "more == 2 * page_faults + 1", "more < twice" } }
    assert.same({ "pass", "fail" }, { result.expectations[1].state, result.expectations[2].state })
  end)

  it("may be of one workload, which must be there", function()
    local declared = { events = { "page-faults" }, repetitions = 2,
      workloads = { "true", pmc.command { "true", name = "again" } },
      expect = { "again: page_faults == 0", "page_faults > 0" } }
    local seen = {}
    for _, found in ipairs(run(declared).expectations) do
      seen[#seen + 1] = ("%s %s %s"):format(found.workload, found.state, found.text)
    end
    assert.same({ "true pass page_faults > 0", "again fail again: page_faults == 0",
      "again pass page_faults > 0" }, seen)
    declared.expect = "agan: page_faults == 0"
    assert.matches("there is no workload 'agan', did you mean 'again'",
      tostring(select(2, pcall(pmc.experiment, declared))))
  end)
end)
