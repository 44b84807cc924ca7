-- Raw codes that nothing vouches for: a 0 of one is no count, and what it shows of itself is one.

local expect = require "pmclua.experiment.expect"
local made = require "tests.support.results"
local metric = require "pmclua.metric"

local EVENTS = { made.event("x", { verified = false, spec = "r3" }), made.event "cycles" }

local function of(counts)
  local header = made.header { events = EVENTS, pass_events = { { 1, 2 } },
    metrics = { "m = x / cycles" },
    cells = { { workload = "rows", levels = { n = 256 } } }, factors = { { "n", { 256 } } },
    workloads = { { name = "rows", kind = "command", per = "run" } } }
  return made.result(header, made.records { counts, { 10, 10, 10 } })
end

local WHY = "it read only 0, and nothing confirms that the PMU has this code"

describe("an unverified code", function()
  it("that read only 0 has no number, nor have metrics of it", function()
    local cell = of({ 0, 0, 0 }):cells()()
    assert.same({ "unverified", 0, WHY }, { cell.x.status, cell.x.n, cell.x.why })
    assert.is_nil(cell.x.median)
    assert.same({ "unverified", "needs x: " .. WHY }, { cell.m.status, cell.m.why })
    assert.match("x +–  <unverified>: it read only 0", tostring(of { 0, 0, 0 }))
  end)

  it("that counted anything is there, and its zeros are counts", function()
    local cell = of({ 0, 4, 0 }):cells()()
    assert.same({ "counted", 0, 3 }, { cell.x.status, cell.x.median, cell.x.n })
    assert.same({ 0, 0.4, 0 }, cell.m.values)
    assert.match("x: unverified, nothing says that this PMU has the event", tostring(of { 0, 4, 0 }))
  end)

  it("that was not counted has that reason, and not the other", function()
    local cell = of({}):cells()()
    assert.equal("not-counted", cell.x.status)
  end)

  it("that read only 0 holds no gate and no prediction", function()
    assert.equal("uncountable", of({ 0, 0, 0 }):gate({ limits = { "x <= 5" } }).state)
    local counted = of { 0, 4, 0 }
    counted:finish "complete"
    assert.equal("pass", counted:gate({ limits = { "x <= 5" } }).state)
    local function predicted(counts)
      local expectations = expect.new { expect = { (metric.comparison "x <= 5") }, events = EVENTS }
      for _, record in ipairs(made.records { counts, { 10, 10, 10 } }) do expectations:take(record) end
      return expectations:results()[1]
    end
    local doubtful, real = predicted { 0, 0, 0 }, predicted { 0, 4, 0 }
    assert.same({ "uncountable", "needs x: " .. WHY }, { doubtful.state, doubtful.reason })
    assert.same({ "pass", 3 }, { real.state, real.n })
  end)
end)
