-- From records to summaries of counts and metrics, with nothing invented on the way.

local made = require "tests.support.results"
local support = require "tests.support"

local BIGGEST = 18446744073709551615ULL

-- A result of these records. `more` replaces fields of the header.
local function of(records, more) return made.result(made.header(more), records) end

local function first_cell(records, more) return of(records, more):cells()() end

local COMMAND = { workloads = { { name = "rows", kind = "command", per = "run" } } }

local function command(more) return support.merged(COMMAND, more) end

local message_of = support.message_of

describe("a summary", function()
  it("of a command is of its counts, per run", function()
    local cycles = first_cell(made.records { { 7, 1, 9, 3, 5, 11, 2 }, {}, {} }, command()).cycles
    assert.same({ 5, 1, 11, 2.5, 8, 3, 7, "counted" },
      { cycles.median, cycles.min, cycles.max, cycles.q1, cycles.q3, cycles.mad, cycles.n, cycles.status })
    assert.same({ 1, 11 }, { cycles.low, cycles.high })       -- n = 7: the extremes, 98.4 %
    assert.near(0.984375, cycles.coverage, 1e-12)
    assert.same({ 7, 1, 9, 3, 5, 11, 2 }, cycles.values)
  end)

  it("of a kernel is per iteration", function()
    local records = made.records { { 100, 210, 330 }, {}, {} }
    records[3].iterations = 30
    assert.same({ 10, 21, 11 }, first_cell(records).cycles.values)
  end)

  it("has an interval of layouts where these were drawn: what ran in one is not independent", function()
    local values = {}
    for i = 1, 20 do values[i] = 100 + math.ceil(i / 2) end
    local function cycles(more) return first_cell(made.records { values, {}, {} }, command(more)).cycles end
    assert.same({ 105.5, 102, 109 }, { cycles { layouts = {} }.median, cycles { layouts = {} }.low,
      cycles({ layouts = {} }).high })                                                     -- n = 10
    assert.same({ 105.5, 103, 108 }, { cycles().median, cycles().low, cycles().high })     -- n = 20
    for i = #values, 9, -1 do values[i] = nil end
    assert.matches("needs 6 layouts, there are 4", cycles({ layouts = {} }).reason)
  end)

  it("is that of one iteration of a kernel, also where counts are too large for a number", function()
    local word = 2 ^ 60 + 0ULL
    local function median(iterations)
      local records = made.records({ { word, word, word }, {}, {} }, { iterations = iterations })
      return first_cell(records).cycles.median
    end
    assert.equal(2 ^ 60 / 16, median(16))
    assert.equal(word, median(1))
  end)

  it("has no interval below six values, and says why", function()
    local cycles = first_cell(made.records { { 1, 2, 3, 4, 5 }, {}, {} }, command()).cycles
    assert.is_nil(cycles.low)
    assert.matches("needs 6 values", cycles.reason)
  end)

  it("says how good its value is", function()
    local function quality(values)
      return first_cell(made.records { values, {}, {} }, command()).cycles.quality
    end
    assert.equal("exact", quality { 1204, 1204, 1204 })
    assert.equal("single", quality { 1204 })
    assert.equal("stable", quality { 100, 101, 102, 101, 100, 101, 102 })
    assert.equal("noisy", quality { 100, 150, 220, 90, 130, 300, 101 })
    assert.equal("exact", quality { 0, 0, 0 })
    assert.equal("noisy", quality { 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9 })
  end)

  it("flags outliers and keeps them", function()
    local values = { 100, 101, 99, 100, 102, 500, 101 }
    local cycles = first_cell(made.records { values, {}, {} }, command()).cycles
    assert.same({ 6 }, cycles.outliers)
    assert.equal(500, cycles.max)
  end)

  it("is exact for counts above 2^53", function()
    local big = 9007199254740993ULL
    local cycles = first_cell(made.records { { BIGGEST, big, BIGGEST - 1ULL }, {}, {} }, command()).cycles
    assert.equal(BIGGEST - 1ULL, cycles.median)
    assert.equal(big, cycles.min)
    assert.equal(BIGGEST, cycles.max)
    local same = first_cell(made.records { { BIGGEST, BIGGEST }, {}, {} }, command()).cycles
    assert.same({ BIGGEST, "exact" }, { same.median, same.quality })
  end)

  it("does not call counts equal that only round to the same double", function()
    local cycles = first_cell(made.records { { BIGGEST, BIGGEST - 1ULL, BIGGEST }, {}, {} }, command()).cycles
    assert.is_false(cycles.exact)
    assert.equal(BIGGEST, cycles.median)
  end)

  it("is in the unit of the event", function()
    local events = { made.event("energy", { scale = 0.5, unit = "Joules" }) }
    local records = made.records { { 4, 6, 8 } }
    local energy = first_cell(records, command { events = events, pass_events = { { 1 } } }).energy
    assert.same({ 3, "Joules", { 2, 3, 4 } }, { energy.median, energy.unit, energy.values })
  end)
end)

describe("a count that did not run all the time", function()
  local function partly(running)
    local records = made.records { { 1000, 1000, 1000 }, { 7, 7, 7 }, {} }
    for i, ran in ipairs(running) do records[i].enabled[1], records[i].running[1] = 800, ran end
    return first_cell(records, command { metrics = { "ipc" } })
  end

  it("is scaled, marked, and keeps its share", function()
    local cell = partly { 400, 400, 400 }
    assert.same({ "scaled", "scaled", 0.5, 2000 },
      { cell.cycles.status, cell.cycles.quality, cell.cycles.ran, cell.cycles.median })
    assert.equal("counted", cell.instructions.status)
  end)

  it("marks every metric that is computed from it", function()
    local ipc = partly({ 400, 800, 400 }).ipc
    assert.equal("scaled", ipc.status)
    assert.near(7 / 2000, ipc.median, 1e-15)
  end)

  it("is no number where it never ran, and never 0", function()
    local cell = partly { 0, 0, 0 }
    assert.same({ "not-counted", 0, 3 }, { cell.cycles.status, cell.cycles.n, cell.cycles.missing })
    assert.is_nil(cell.cycles.median)
    assert.matches("no free counter", cell.cycles.why)
    assert.same({ "not-counted", 0 }, { cell.ipc.status, cell.ipc.n })
  end)

  it("leaves out the repetitions in which it never ran, and says how many", function()
    local cycles = partly({ 800, 0, 800 }).cycles
    assert.same({ "counted", 2, 1 }, { cycles.status, cycles.n, cycles.missing })
  end)

  it("is not scaled where it ran on one kind of CPU only, as hybrid machines place it", function()
    local events = { made.event("cycles", { core_cpus = "0-15" }), made.event "instructions",
      made.event "page-faults" }
    local records = made.records { { 1000 }, { 7 }, {} }
    records[1].running[1] = records[1].enabled[1] / 2
    local cycles = first_cell(records, command { events = events }).cycles
    assert.same({ "placed", 1000, 0.5 }, { cycles.status, cycles.median, cycles.ran })
  end)

  it("is 0 on the kind of CPU where it never ran, if it ran on the other all the time", function()
    local events = {}
    for i, name in ipairs { "cpu_atom_cycles", "cpu_core_cycles", "cpu_atom_instructions",
      "cpu_core_instructions" } do
      events[i] = made.event(name, { core_cpus = "0-15", part_of = name:match "[^_]+$" })
    end
    local records = made.records { {}, { 1000, 1000, 700 }, {}, { 3000, 3000, 1400 } }
    for i, record in ipairs(records) do
      for _, part in ipairs { 1, 3 } do record.enabled[part], record.running[part] = 990000, 0 end
      for _, part in ipairs { 2, 4 } do record.running[part] = i < 3 and 990000 or 490000 end
    end
    local ipc = "ipc = (cpu_atom_instructions + cpu_core_instructions) / (cpu_atom_cycles + cpu_core_cycles)"
    local cell = first_cell(records, command { events = events, pass_events = { { 1, 2, 3, 4 } },
      metrics = { ipc } })
    assert.same({ 0, 0 }, cell.cpu_atom_cycles.values)
    assert.same({ "placed", 0 }, { cell.cpu_atom_cycles.status, cell.cpu_atom_cycles.ran })
    -- In the third it was elsewhere for half of the time, and that was not counted.
    assert.same({ 3, 3 }, cell.ipc.values)
    assert.equal(1, cell.ipc.missing)
  end)

  for whose, case in pairs {
    ["a target that never ran"] = { { target = "cgroup idle" }, "the target never ran" },
    ["a command, which always runs,"] = { {}, "Linux stopped counting a program when it was executed" },
  } do
    it("at all, of " .. whose .. " says why", function()
      local records = made.records { { 0 }, { 7 }, {} }
      records[1].enabled[1], records[1].running[1] = 0, 0
      local cycles = first_cell(records, command(case[1])).cycles
      assert.same({ "not-counted", 0 }, { cycles.status, cycles.n })
      assert.matches(case[2], cycles.why, 1, true)
    end)
  end
end)

describe("an event that could not be opened", function()
  local function with_status(status)
    local events = { made.event "cycles", made.event "instructions",
      made.event("page-faults", { status = status, why = "no PMU here" }) }
    return { events = events, pass_events = { { 1, 2 } },
      metrics = { "ipc", "faults = 1000 * page_faults / instructions" } }
  end

  it("is absent with its reason, and so is every metric that needs it", function()
    local cell = first_cell(made.records { { 10, 10 }, { 20, 20 } }, with_status "unsupported")
    assert.same({ "unsupported", "no PMU here", 0 },
      { cell.page_faults.status, cell.page_faults.why, cell.page_faults.n })
    assert.same({ "unsupported", "needs page-faults: no PMU here" }, { cell.faults.status, cell.faults.why })
    assert.equal(2, cell.ipc.median)
  end)

  it("is the reason of a metric, not an event that was left out for want of it", function()
    local header = support.merged(with_status "unsupported", { pass_events = { { 2 } },
      metrics = { "share = cycles / page_faults" } })
    local share = first_cell(made.records { [2] = { 20, 20 } }, header).share
    assert.same({ "unsupported", "needs page-faults: no PMU here" }, { share.status, share.why })
  end)

  it("that would always read 0 shows no 0", function()
    local cell = first_cell(made.records { { 10 }, { 20 } }, with_status "constant-zero")
    assert.same({ "constant-zero", 0 }, { cell.page_faults.quality, cell.page_faults.n })
  end)
end)

describe("a metric", function()
  it("is computed in each repetition and then summarised", function()
    local header = command { metrics = { "ipc", "both = cycles + instructions [things]" } }
    local cell = first_cell(made.records { { 10, 20, 40 }, { 30, 20, 20 }, {} }, header)
    assert.same({ 3, 1, 0.5 }, cell.ipc.values)
    assert.equal(1, cell.ipc.median)
    assert.same({ 40, "things" }, { cell.both.median, cell.both.unit })
  end)

  it("may use iterations, and then counts are those of whole repetitions", function()
    local header = { metrics = { "loops = instructions / iterations", "plain = instructions / 1" } }
    local cell = first_cell(made.records { {}, { 200 }, {} }, header)
    assert.same({ 20, 20 }, { cell.loops.median, cell.plain.median })
  end)

  it("may use factors, other metrics and the wall time", function()
    local header = { metrics = { "ipc", "twice = 2 * ipc", "size = n * 1", "time = wall_ns / 1 [ns]" } }
    local cell = first_cell(made.records { { 10 }, { 20 }, {} }, header)
    assert.same({ 4, 256, 100000 }, { cell.twice.median, cell.size.median, cell.time.median })
  end)

  it("divided by 0 is absent with the reason, where it is", function()
    local header = command { metrics = { "ipc" } }
    local cell = first_cell(made.records { { 0, 0 }, { 20, 20 }, {} }, header)
    assert.same({ "absent", "cycles is 0", 0 }, { cell.ipc.status, cell.ipc.why, cell.ipc.n })
    local once = first_cell(made.records { { 0, 10 }, { 20, 20 }, {} }, header).ipc
    assert.same({ 1, 1 }, { once.n, once.missing })
  end)

  it("of events that were counted in different passes is of the same repetition of each", function()
    local header = command { pass_events = { { 1 }, { 2 } }, metrics = { "ipc" } }
    local records = {
      made.record({ [1] = 10 }, { index = 1 }), made.record({ [2] = 40 }, { index = 2, pass = 2 }),
      made.record({ [1] = 20 }, { index = 2 }), made.record({ [2] = 50 }, { index = 1, pass = 2 }),
    }
    assert.same({ 40 / 20, 50 / 10 }, first_cell(records, header).ipc.values)
  end)

  it("of different passes is doubtful where their wall times differ, if no event repeats in them", function()
    local records = {}
    for index = 1, 8 do
      for pass = 1, 2 do
        records[#records + 1] = made.record(pass == 1 and { 100 } or { nil, 200 }, { pass = pass,
          index = index,
          order = #records + 1, wall_ns = pass * 1000000 + index })
      end
    end
    local header = { pass_events = { { 1 }, { 2 } }, metrics = { "ipc" } }
    local message = of(records, header):warnings()[1].message
    assert.matches("the wall time was 100.* µs in pass 1 and 200.* µs in pass 2", message)
    for _, record in ipairs(records) do record.wall_ns = 1000000 + record.index end
    assert.same({}, of(records, header):warnings())
  end)

  it("takes a pass that has all it needs", function()
    local header = command { pass_events = { { 1, 3 }, { 1, 2 } }, metrics = { "ipc" } }
    local records = { made.record({ [1] = 10, [3] = 1 }), made.record({ [1] = 20, [2] = 20 }, { pass = 2 }) }
    local cell = first_cell(records, header)
    assert.equal(1, cell.ipc.median)
    assert.equal(10, cell.cycles.median)
  end)

  it("that is named has its unit, also when a file has its formula alone", function()
    local events = { made.event "branches", made.event "branch-misses" }
    for _, source in ipairs { "branch_miss_rate", "branch_miss_rate = branch_misses / branches" } do
      local header = command { events = events, pass_events = { { 1, 2 } }, metrics = { source } }
      local rate = first_cell(made.records { { 100 }, { 4 } }, header).branch_miss_rate
      assert.same({ 0.04, "%" }, { rate.median, rate.unit })
    end
  end)

  it("that cannot be computed raises, with the nearest name", function()
    assert.matches("needs 'cyclse', which was not counted: did you mean 'cycles'",
      message_of(of, {}, { metrics = { "x = cyclse / instructions" } }))
    assert.matches("defined by itself", of(made.records { { 1 }, { 2 }, {} },
      { metrics = { "ipc", "a = ipc / 1" } }):with({ metrics = { "ipc = a / 2" } }):cells()().ipc.why)
  end)

  it("per element is there for each event", function()
    local cell = first_cell(made.records { { 655360 }, { 1310720 }, {} }, { per = { element = "n * n" } })
    assert.same({ 1, 2 }, { cell.cycles_per_element.median, cell.instructions_per_element.median })
    assert.equal("cycles/element", cell.cycles_per_element.title)
  end)
end)

describe("repetitions", function()
  it("of the warm-up are counted, and in no summary", function()
    local records = made.records { { 999, 10, 20 }, {}, {} }
    records[1].warmup = true
    local cell = first_cell(records, command())
    assert.same({ 1, 2, { 10, 20 } }, { cell.warmups, cell.repetitions, cell.cycles.values })
  end)

  it("that failed or were rejected are left out and counted", function()
    local records = made.records { { 1, 2, 3, 4, 5 }, {}, {} }
    records[1].exit = 3
    records[2].outcome, records[2].signal, records[2].why = "signalled", 11, "SIGSEGV"
    records[3].outcome = "rejected"
    local cell = first_cell(records, command())
    assert.same({ 4, 5 }, cell.cycles.values)
    assert.same({ { exit = 1, signalled = 1 }, 1, 2 }, { cell.failed, cell.rejected, cell.repetitions })
    assert.equal(3, cell.first_failure.exit)
  end)

  it("that failed are summarised where the experiment keeps them", function()
    local records = made.records { { 1, 2 }, {}, {} }
    records[1].exit = 1
    local cell = first_cell(records, command { on_failure = "keep" })
    assert.same({ { 1, 2 }, { exit = 1 } }, { cell.cycles.values, cell.failed })
  end)

  it("read a count that needs no descriptor from the record itself", function()
    local events = { made.event("duration_time", { tool = "wall_ns", unit = "ns" }), made.event "cycles" }
    local header = command { events = events, pass_events = { { 2 } },
      metrics = { "rate = cycles / duration_time" } }
    local cell = first_cell({ made.record { [2] = 500000 } }, header)
    assert.same({ 1000000, "ns", 0.5 },
      { cell.duration_time.median, cell.duration_time.unit, cell.rate.median })
  end)
end)
