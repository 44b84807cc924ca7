-- Raw codes that nothing vouches for: a 0 of one is no count, and what it shows of itself is one.

local expect = require "pmclua.experiment.expect"
local json = require "dkjson"
local made = require "tests.support.results"
local metric = require "pmclua.metric"
local played = require "tests.support.played"
local support = require "tests.support"

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
    counted.status = "complete"
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

-- The table of the played Arm CPU names BR_RETIRED, which sysfs would name if the PMU had it, and two codes that are
-- the CPU's own. Of these TOY_OTHER counts.
describe("an event of an Arm CPU's table", function()
  local ENV = { SYSFS_PATH = support.fixture "played/sysfs/arm", PERF_CPUID = "0x00000000410fd980",
    PMCLUA_VENDOR = support.fixture "played/arm" }
  local LACKS = "this PMU lacks it, or a hypervisor hides it"

  local function machine()
    return played.machine { counters = 6, env = ENV, events = { ["77 0x11"] = { 10 }, ["77 0x8"] = { 20 },
      ["77 0x21"] = { 0 }, ["77 0xc0"] = { 0 }, ["77 0xc1"] = { 3 } } }
  end

  local function values_of(on)
    local run = on.pmclua { "stat", "--json", "-o", "-", "-r", "3", "-e",
      "br_retired:u,TOY_OWN,TOY_OTHER,inst_retired", "--", on.work, "100" }
    return assert(json.decode(run.out), run.err).cells[1].values
  end

  it("has no 0 as its count where nothing vouches for its code", function()
    local values = values_of(machine())
    assert.same({ "unsupported", "unverified", "counted", "counted" }, { values["br_retired:u"].status,
      values.TOY_OWN.status, values.TOY_OTHER.status, values.inst_retired.status })
    assert.same({ 300, 2000 }, { values.TOY_OTHER.median, values.inst_retired.median })
    assert.matches(LACKS, values["br_retired:u"].why, 1, true)
  end)

  it("is no number second by second, and the end says why", function()
    local on = machine()
    local run = on.pmclua { "monitor", "-I", "100", "-e", "TOY_OWN,TOY_OTHER", "--", on.work, "100" }
    local said = (run.out .. run.err):gsub("%s+", " ")
    assert.matches("TOY_OWN: it read only 0, and nothing confirms that the PMU has this code", said, 1, true)
    assert.is_nil(said:find("TOY_OTHER: ", 1, true))
  end)

  for _, name in ipairs { "BR_RETIRED", "TOY_OWN" } do
    it("holds no limit and no comparison: " .. name, function()
      local on = machine()
      local stored = on.folder .. "/stored.jsonl"
      on.pmclua { "stat", "--store", stored, "-r", "3", "-e", name .. ",inst_retired", "--", on.work, "100" }
      local gate = on.pmclua { "gate", stored, "--limit", name .. " <= 5" }
      assert.equal(77, gate.status, gate.out .. gate.err)
      local compared = on.pmclua { "compare", "-r", "6", "-e", name, on.work .. " 100", on.work .. " 200" }
      assert.is_nil(compared.out:find "same", compared.out)
    end)
  end

  it("is explained as what it is, and listed as available only where the PMU is known to have it", function()
    local on = machine()
    local run = on.pmclua { "events", "--explain", "br_retired:u" }
    assert.matches("here +unsupported: " .. LACKS, run.out)
    assert.matches("here +unverified", on.pmclua { "events", "--explain", "TOY_OTHER" }.out)
    local listed = on.pmclua { "events", "--available", "--source", "vendor" }
    assert.matches("INST_RETIRED", listed.out)
    for _, name in ipairs { "BR_RETIRED", "TOY_OWN", "TOY_OTHER" } do
      assert.is_nil(listed.out:find(name), name)
    end
    assert.matches("whose codes nothing confirms are not listed", listed.err)
  end)
end)
