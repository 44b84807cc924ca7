-- What a region has no numbers of: all, if no call of it returned, in reports, JSON, CSV, plots and experiments; events
-- that cannot be counted here.

local made = require "tests.support.regions"
local pmc = require "pmclua"
local support = require "tests.support"

local ABSENT = { status = "not-counted", why = "no call of it returned", n = 0 }

-- A function of throws.cc that always throws.
local function result()
  return require("pmclua.experiment.regions").measure({ made.program "throws.cc" },
    { regions = { "work::deep" }, events = { made.FAULTS }, calibrate = false, timeout = 30 })
end

describe("a region of which no call returned", function()
  lazy_setup(made.need_probes)

  it("has no values, and says why", function()
    local deep = result():region "work::deep(int)"
    assert.equal(0, deep.calls)
    assert.is_true(deep.entries > 0)
    for _, name in ipairs { "duration", "cpu_time", made.FAULTS } do
      for _, is_self in ipairs { false, true } do
        assert.same(ABSENT, deep:values(name, is_self))
        assert.is_nil(deep:quantile(name, 0.5, is_self))
      end
    end
  end)

  it("has none in JSON, CSV and plots", function()
    local whole = pmc.regions({ made.program "throws.cc" }, { regions = { "work::deep" },
      events = { made.FAULTS }, calibrate = false, timeout = 30 })
    local found = whole:calls()
    local read = require("dkjson").decode(whole:report { format = "json" }).calls[1].regions[1]
    for _, kind in ipairs { "events", "itself" } do
      for _, values in pairs(read[kind]) do
        assert.same(ABSENT, values)
      end
    end
    assert.equal("region,tid,start_ns,level,duration,cpu_time,page_faults\n", found:calls_csv())
    local ok, problem = pcall(pmc.plot, whole)
    assert.is_false(ok)
    assert.matches("no call of it returned", tostring(problem))
  end)

  it("has none in experiments, which do not say that it was never called", function()
    local path = support.folder() .. "/stored.jsonl"
    local stored = pmc.measure(pmc.command { made.program "throws.cc" }, { events = made.FAULTS,
      regions = { "work::deep" }, repetitions = 2, warmup = 0, store = path, quiet = true })
    local said = stored:report()
    assert.matches("no call of work::deep%(int%) returned", (said:gsub("%s+", " ")))
    assert.is_nil(said:find("never called", 1, true))
    assert.is_nil(support.read(path):find('"region":"work::deep', 1, true))
  end)
end)

describe("a region without any event that can be counted", function()
  lazy_setup(made.need_probes)

  it("is shown with its times, and with what probing took", function()
    support.need(not support.have_pmu(), "this machine has a PMU")
    local whole = pmc.regions({ made.program "pages.c", "calls", "9" }, { regions = { "touch" },
      events = { "cycles:u" }, timeout = 30 })
    local said = (whole:report():gsub("%s+", " "))
    assert.matches("cycles:u – <not supported>", said, 1, true)
    assert.matches("probing took %S+ %S+ ± %S+ %S+ of CPU time; the run's is not known", said)
  end)
end)
