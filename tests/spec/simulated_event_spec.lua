-- Events that Valgrind counts: their names, what is said of them, where they are refused. Nothing is run under Valgrind.

local event = require "pmclua.event"
local passes = require "pmclua.counting.passes"
local simulated = require "pmclua.event.simulated"
local support = require "tests.support"

local function only(spec)
  local events, problem = event.parse(spec)
  assert(events, problem and problem.message)
  assert.equal(1, #events)
  return events[1]
end

local function refusal(spec)
  local events, problem = event.parse(spec)
  assert.is_nil(events)
  return problem.message
end

describe("an event of Valgrind", function()
  it("has Valgrind's name wherever it stands, and is opened nowhere", function()
    local one = only "valgrind::l1d-misses"
    assert.same({ "valgrind::l1d-misses", "valgrind_l1d_misses", "valgrind", "valgrind" },
      { one.name, one.field, one.source, one.pmu })
    assert.same({ "D1mr", "D1mw" }, one.simulated)
    assert.is_nil(one.attr)
  end)

  it("can be given another name, and be asked for user space, which is all that it has", function()
    assert.equal("mine", only("mine = valgrind::Ir").field)
    assert.equal("valgrind::Ir", event.format(only "mine = valgrind::Ir"))
    assert.equal("valgrind_Ir", only("valgrind::Ir:u").field)
    assert.matches("takes no modifier but u", refusal "valgrind::Ir:k")
  end)

  it("is found by its name in formulae, each of them", function()
    for _, row in ipairs(simulated.events) do
      local one = only("valgrind::" .. row[1])
      assert.equal("valgrind::" .. row[1], simulated.spec_of(one.field))
    end
  end)

  it("that there is not is refused with the nearest name", function()
    local _, problem = event.parse "valgrind::instruction"
    assert.equal("instructions", problem.hint)
    assert.matches("`pmclua events valgrind`", refusal "valgrind")
  end)

  it("is listed, searched and explained", function()
    local found = event.find "valgrind indirect"
    assert.equal("valgrind::indirect-branches", found[1].spec)
    local explained = event.explain("valgrind::ll-misses")[1]
    assert.equal("accesses that miss the simulated last-level cache", explained.counts)
    assert.matches("ILmr %+ DLmr %+ DLmw", explained.notes[1])
    local shown = support.pmclua { "events", "--source", "valgrind" }
    assert.matches("valgrind::l1d%-load%-misses", shown.out)
  end)

  it("stands behind a {group}, in which nothing but what is opened can be", function()
    local events = event.parse "{page-faults,valgrind::Ir,task-clock}"
    assert.same({ "page-faults", "task-clock", "valgrind::Ir" },
      { events[1].name, events[2].name, events[3].name })
    assert.is_nil(events[3].leader)
  end)
end)

describe("the passes of a plan", function()
  it("are one more where Valgrind counts, whatever else is counted", function()
    local events = event.parse "page-faults,valgrind::Ir,valgrind::Bcm,duration_time"
    local list = passes.plan(events, "rerun")
    assert.equal(2, #list)
    assert.is_nil(list[1].simulated)
    assert.same({ { 2, 3 }, {}, { cache = false, branch = true } },
      { list[2].events, list[2].groups, list[2].simulated })
  end)

  it("are Valgrind's alone where nothing else was asked for", function()
    local list = passes.plan(event.parse "valgrind::Dr", "rerun")
    assert.equal(1, #list)
    assert.same({ cache = true, branch = false }, list[1].simulated)
    assert.equal(2, #passes.plan(event.parse "valgrind::Dr,duration_time", "rerun"))
  end)

  it("have none for what Valgrind does not run", function()
    local events = event.parse "valgrind::Ir,task-clock"
    passes.at_once(events)
    assert.equal("unsupported", events[1].status)
    assert.matches("only what an experiment runs", events[1].why)
    local read = support.pmclua { "stat", "-a", "-e", "valgrind::Ir", "--", "true" }
    assert.matches("simulated events and target cannot be combined", read.err)
  end)
end)

describe("an experiment", function()
  it("refuses Lua functions, and what is not counted whole, each with the reason", function()
    local pmc = require "pmclua"
    local why = support.message_of(pmc.experiment,
      { events = "valgrind::Ir", workloads = { function() end } })
    assert.matches("a Lua function, which runs in pmclua itself", why)
    why = support.message_of(pmc.experiment, { events = "valgrind::Ir", workloads = { "true" }, delay = 1 })
    assert.matches("simulated events and delay cannot be combined", why)
  end)

  it("refuses surroundings that make no sense", function()
    local pmc = require "pmclua"
    local function refused(simulation)
      return support.message_of(pmc.experiment, { events = "valgrind::Ir", workloads = { "true" },
        simulation = simulation })
    end
    assert.matches("the cache D1 is \"BYTES,WAYS,LINE\"", refused { D1 = "32000,8,64" })
    assert.matches("simulation has no 'enviroment'", refused { enviroment = "inherit" })
    assert.matches("environment is \"pinned\" or \"inherit\", not none", refused { environment = "none" })
  end)
end)
