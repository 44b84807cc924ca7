-- The events that metrics and other formulae bring into an experiment.

local bring = require "pmclua.counting.needed"
local declare = require "pmclua.experiment.declare"
local event = require "pmclua.event"
local metric = require "pmclua.metric"
local passes = require "pmclua.counting.passes"
local pmc = require "pmclua"
local pmu = require "tests.support.pmu"
local support = require "tests.support"

local sysfs = support.fixture "perf/sysfs"

-- The declaration of an experiment on a machine of the fixtures (nil: this one).
local function declared(spec, machine)
  local made, mistakes
  spec.workloads = spec.workloads or { "true" }
  support.with_env({ SYSFS_PATH = machine and ("%s/%s"):format(sysfs, machine) or false }, function()
    made, mistakes = declare.check(spec)
  end)
  return made, mistakes
end

local function fields_of(made)
  local fields = {}
  for i, one in ipairs(made.events) do fields[i] = one.field end
  return fields
end

describe("a metric", function()
  it("brings its events once, after the script's own", function()
    local made = declared { events = { "page-faults", "cycles" },
      metrics = { "ipc", "cpi", "x = cycles / 2" } }
    assert.same({ "page_faults", "cycles", "instructions" }, fields_of(made))
    assert.same({ nil, true }, { made.events[2].brought, made.events[3].brought })
  end)

  it("is over the sum of the events that one word stands for: the boxes of a memory controller", function()
    local made = declared({ events = { "page-faults" }, metrics = { "memory_bandwidth" } }, "x86_intel")
    assert.same({ "page_faults", "uncore_imc_0_memory_reads", "uncore_imc_1_memory_reads",
      "uncore_imc_0_memory_writes", "uncore_imc_1_memory_writes", "duration_time" }, fields_of(made))
    local bound = made.metrics[1]
    assert.equal("MiB/s", bound.unit)
    assert.equal(600, bound.evaluate { uncore_imc_0_memory_reads = 100, uncore_imc_1_memory_reads = 200,
      uncore_imc_0_memory_writes = 40, uncore_imc_1_memory_writes = 260, duration_time = 1e9 })
  end)

  it("is over both kinds of cores on a hybrid CPU, also where the script named the events", function()
    for _, events in ipairs { { "page-faults" }, { "cycles", "instructions" } } do
      local made = declared({ events = events, metrics = { "ipc", "mine = 2 * cycles [c]" } }, "hybrid")
      assert.equal("(cpu_atom_instructions + cpu_core_instructions) / (cpu_atom_cycles + cpu_core_cycles)",
        made.metrics[1].formula)
      assert.same({ "2 * (cpu_atom_cycles + cpu_core_cycles)", "c" },
        { made.metrics[2].formula, made.metrics[2].unit })
    end
  end)

  it("and a prediction, a limit and a condition are over both kinds of cores alike", function()
    local made = declared({ events = { "cycles" }, expect = { "cycles == 3 * iterations" },
      gate = { "cycles <= +1%" }, reject_if = "cycles > 5 and cycles < 7" }, "hybrid")
    local sum = "(cpu_atom_cycles + cpu_core_cycles)"
    assert.same({ sum .. " == 3 * iterations", sum .. " <= +1%", sum .. " > 5 and " .. sum .. " < 7" },
      { made.expect[1].formula, made.gate[1].formula, made.reject_if.formula })
    assert.is_true(made.reject_if.evaluate { cpu_atom_cycles = 2, cpu_core_cycles = 4 })
  end)

  it("of a program that was on one kind of cores all the time counts 0 on the other", function()
    local made = declared({ events = { "cycles" }, expect = { "cycles == 9" } }, "hybrid")
    local lookup = require("pmclua.experiment.record").lookup
    local function observed(running)
      local record = { levels = {}, counts = { [2] = 9 }, enabled = { 10, 10 }, running = { 0, running } }
      return made.expect[1].left(lookup(record, made, true))
    end
    assert.equal(9, observed(10))
    assert.same({ nil, "cpu_atom_cycles was not counted" }, { observed(5) })
  end)

  it("over both kinds of cores is computed from one pass, in which each has a group of its own", function()
    local made = declared({ events = { "page-faults" }, metrics = { "ipc" } }, "hybrid")
    local planned
    pmu.with({ counters = 4 }, function() planned = passes.plan(made.events, "rerun") end)
    local names = {}
    for i, group in ipairs(planned[1].groups) do
      names[i] = {}
      for k, index in ipairs(group.events) do names[i][k] = made.events[index].field end
    end
    assert.same({ { "page_faults" }, { "cpu_atom_instructions", "cpu_atom_cycles" },
      { "cpu_core_instructions", "cpu_core_cycles" } }, names)
    assert.equal(1, #planned)
  end)

  it("without its events here is absent with the reason, and no mistake", function()
    local made, mistakes = declared { events = { "page-faults" }, metrics = { "retiring" } }
    support.need(event.parse "slots" == nil, "this CPU has topdown events")
    assert.same({}, mistakes)
    local result = pmc.measure("true", { events = { "page-faults" }, metrics = { "retiring" }, store = false,
      repetitions = 2, quiet = true })
    assert.equal("topdown_retiring", made.events[2].field)
    assert.same({ "unsupported", 0 }, { result:cells()().retiring.status, result:cells()().retiring.n })
    assert.match("there is no event 'topdown%-retiri", tostring(result))
    local _, own = declared { events = { "page-faults" }, metrics = { "x = nonsense_here / 2" } }
    assert.match("needs 'nonsense_here', which is not an event or factor here", own[1])
  end)

  it("of several variants is the first whose events open here", function()
    local real = event.available
    finally(function() event.available = real end)
    local asked = {}
    event.available = function(spec)
      asked[#asked + 1] = spec
      return not spec:find "slots,"
    end
    local chosen = bring.variant(metric.named "retiring")
    assert.equal("topdown_slots_retired / topdown_total_slots", chosen.formula)
    event.available = function() return false end
    assert.equal(metric.named("retiring").formula, bring.variant(metric.named "retiring").formula)
    event.available = function() error "a metric without variants needs no trying" end
    assert.equal("instructions / cycles", bring.variant(metric.named "ipc").formula)
  end)
end)

describe("events that open behind their leader alone", function()
  -- branches (4) and bus-cycles (6) are to be led by cache-misses (3), as topdown-* by slots.
  local MACHINE = { counters = 4, led = { [4] = 3, [6] = 3 } }

  it("are counted in their group, which leads its pass", function()
    local events, names = {}, {}
    for _, spec in ipairs { "cycles", "{cache-misses,branches,bus-cycles}" } do
      event.append(events, event.encode(spec))
    end
    pmu.with(MACHINE, function()
      for i, pass in ipairs((passes.plan(events, "rerun"))) do
        names[i] = {}
        for k, index in ipairs(pass.events) do names[i][k] = events[index].name end
      end
    end)
    assert.same({ { "cache-misses", "branches", "bus-cycles", "cycles" } }, names)
    for _, one in ipairs(events) do assert.is_nil(one.status) end
  end)

  it("are available as that group, and not alone", function()
    pmu.with(MACHINE, function()
      assert.is_true(event.available "{cache-misses,branches}")
      assert.is_false(event.available "{cycles,branches}")
      assert.is_false(event.available "branches")
      local g = pmc.group "{cache-misses,branches}"
      assert.equal("counted", g:start():read():status "branches")
      g:close()
    end)
  end)
end)
