-- Results: from records to summaries, with nothing invented on the way.

local result = require "pmclua.experiment.result"
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
    assert.matches("no counter free", cell.cycles.why)
    assert.same({ "not-counted", 0 }, { cell.ipc.status, cell.ipc.n })
  end)

  it("leaves out the repetitions in which it never ran, and says how many", function()
    local cycles = partly({ 800, 0, 800 }).cycles
    assert.same({ "counted", 2, 1 }, { cycles.status, cycles.n, cycles.missing })
  end)

  it("is not scaled where it ran on one kind of CPU only, as hybrid machines place it", function()
    local events = { made.event("cycles", { hybrid = true }), made.event "instructions",
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
      events[i] = made.event(name, { hybrid = true, part_of = name:match "[^_]+$" })
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

  it("of a target that never ran says so", function()
    local records = made.records { { 0 }, { 7 }, {} }
    records[1].enabled[1], records[1].running[1] = 0, 0
    local cycles = first_cell(records, command()).cycles
    assert.same({ "not-counted", 0 }, { cycles.status, cycles.n })
    assert.matches("the target never ran", cycles.why)
  end)
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

describe("a result", function()
  local function two_cells()
    local records = made.records { { 10, 20, 30 }, { 1, 2, 3 }, {} }
    local others = made.records({ { 50, 60, 70 }, { 5, 6, 7 }, {} }, { cell = 2, levels = { n = 512 } })
    for _, record in ipairs(others) do records[#records + 1] = record end
    return of(records, command())
  end

  it("gives its cells in the order of the plan, with their levels as fields", function()
    local seen = {}
    for cell in two_cells():cells() do seen[#seen + 1] = { cell.workload, cell.n, cell.cycles.median } end
    assert.same({ { "rows", 256, 20 }, { "rows", 512, 60 } }, seen)
  end)

  it("gives values by name and conditions", function()
    local r = two_cells()
    assert.same({ 50, 60, 70 }, r:values("cycles", { n = 512 }))
    assert.same({ 10, 20, 30 }, r:values("cycles", { n = "<512", workload = "rows" }))
    assert.matches("2 have them: say which", message_of(r.values, r, "cycles"))
  end)

  it("is narrowed by where: levels, lists, comparisons, functions", function()
    local r = two_cells()
    local function ns(conditions)
      local list = {}
      for cell in r:where(conditions):cells() do list[#list + 1] = cell.n end
      return list
    end
    assert.same({ 512 }, ns { n = 512 })
    assert.same({ 512 }, ns { n = ">=512" })
    assert.same({ 256 }, ns { n = "~=512" })
    assert.same({ 256, 512 }, ns { n = { 256, 512, 1024 } })
    assert.same({ 256 }, ns { n = function(n) return n < 300 end })
    assert.matches("no cell has n = >1000", message_of(ns, { n = ">1000" }))
    assert.matches("no factor is called 'm'", message_of(ns, { m = 1 }))
  end)

  it("takes more metrics without changing the one it was", function()
    local r = two_cells()
    local more = r:with { metrics = { "ipc", "cpi" } }
    assert.equal(0.1, more:cells()().ipc.median)
    assert.matches("nothing here is called 'ipc'", message_of(function() return r:cells()().ipc end))
    assert.matches("with takes metrics, baseline and primary, not 'metric'",
      message_of(r.with, r, { metric = "ipc" }))
    assert.equal(0.1, more:where({ n = 512 }):cells()().ipc.median)
  end)

  it("raises for a name that was not asked for, with the nearest, at the caller's line", function()
    local cell = two_cells():cells()()
    assert.matches("result_spec.lua:%d+: nothing here is called 'cyclse': did you mean 'cycles'",
      message_of(function() return cell.cyclse end))
    assert.matches("did you mean 'page_faults'", message_of(cell.summary, cell, "page-fautls"))
    assert.equal(cell.page_faults, cell:summary "page-faults")
  end)

  it("does not hold the command's CPU time against what was counted of others, or of one thread", function()
    local function kinds(more)
      more.workloads = { { name = "rows", kind = "command", per = "run" } }
      local r, list = result.new(made.header(more)), {}
      for i = 1, 3 do r:add(made.record({ 10, 20, 30 }, { index = i, user_ns = 9e8 })) end
      for _, warning in ipairs(r:warnings()) do list[warning.kind] = true end
      return list
    end
    assert.is_true(kinds({}).uncounted)
    assert.is_nil(kinds({ target = "process 1" }).uncounted)
    assert.is_nil(kinds({ inherit = false }).uncounted)
  end)

  it("has a cell for each region that was recorded", function()
    local records = { made.record { 10, 1 }, made.record({ 4, 1 }, { region = "parse" }),
      made.record({ 6, 1 }, { region = "print" }) }
    local labels = {}
    for cell in of(records, command()):where({ n = 256 }):cells() do
      labels[#labels + 1] = { cell:label(), cell.cycles.median }
    end
    assert.same({ { "rows, n = 256", 10 }, { "rows, n = 256, region parse", 4 },
      { "rows, n = 256, region print", 6 } }, labels)
  end)

  it("is told again by its stored file", function()
    local header = command { metrics = { "ipc" } }
    local records = made.records { { 10, BIGGEST, 30 }, { 1, 2, 3 }, {} }
    local path = made.stored(support.folder() .. "/r.jsonl", made.header(header), records)
    local live, stored = of(records, header):cells()(), require("pmclua").load(path)
    assert.same({ "complete", path }, { stored.status, stored.path })
    for _, name in ipairs { "cycles", "instructions", "ipc" } do
      local a, b = live[name], stored:cells()()[name]
      assert.same(a.values, b.values)
      assert.equal(a.max, b.max)
      assert.equal(a.quality, b.quality)
    end
  end)

  it("refuses a factor that would hide a field of its cells", function()
    assert.matches("cannot be called 'kind'", message_of(of, {}, { factors = { { "kind", { 1 } } } }))
  end)
end)

describe("a comparison", function()
  local function around(middle, count)
    local values = {}
    for i = 1, count do values[i] = middle + (i * 7) % count end
    return values
  end

  -- Two workloads at two levels; `columns` is twice as expensive as `rows`.
  local function two_by_two(more)
    local header = { baseline = { workload = "rows" }, primary = "cycles",
      workloads = { { name = "rows", kind = "command", per = "run" },
        { name = "columns", kind = "command", per = "run" } }, cells = {} }
    for _, n in ipairs { 256, 512 } do
      for _, name in ipairs { "rows", "columns" } do
        header.cells[#header.cells + 1] = { workload = name, levels = { n = n } }
      end
    end
    header = support.merged(header, more)
    local records = {}
    for c, middle in ipairs { 1000, 2000, 4000, 8000 } do
      local place = { cell = c, workload = header.cells[c].workload, levels = header.cells[c].levels }
      for _, record in ipairs(made.records({ around(middle, 12), {}, {} }, place)) do
        records[#records + 1] = record
      end
    end
    return of(records, header)
  end

  it("is of each cell with the cell that has the baseline's workload and else its levels", function()
    local comparison = two_by_two():compare {}
    local seen = {}
    for _, pair in ipairs(comparison.pairs) do
      local row = pair.rows[1]
      seen[#seen + 1] = { pair.cell.workload, pair.baseline.workload, pair.cell.n, pair.baseline.n,
        pair.pairs, row.verdict.verdict, row.verdict.ratio > 1.9 and row.verdict.ratio < 2 }
    end
    assert.same({ { "columns", "rows", 256, 256, 12, "more", true },
      { "columns", "rows", 512, 512, 12, "more", true } }, seen)
  end)

  it("takes any partial cell as baseline", function()
    local pairs_of = two_by_two():compare({ baseline = { n = 256 } }).pairs
    assert.same({ 2, 512, 256 }, { #pairs_of, pairs_of[1].cell.n, pairs_of[1].baseline.n })
    assert.equal(3, #two_by_two():compare({ baseline = { n = 256, workload = "rows" } }).pairs)
    assert.matches("no factor is called 'm'",
      message_of(function() two_by_two():compare { baseline = { m = 1 } } end))
  end)

  it("is of layouts where these were drawn, by the mean ratio of each", function()
    local ours, theirs, records = {}, {}, {}
    for i = 1, 24 do theirs[i], ours[i] = 100 + i, (100 + i) * (1.1 + 0.01 * math.ceil(i / 2)) end
    for cell, values in ipairs { theirs, ours } do
      for i, value in ipairs(values) do
        records[#records + 1] = made.record({ math.floor(1000 * value) }, { cell = cell, index = i,
          levels = { n = cell == 1 and 256 or 512 }, order = 2 * i + cell })
      end
    end
    local pair = of(records, command { layouts = {},
      baseline = { n = 256 } }):compare({ names = { "cycles" } }).pairs[1]
    local found = pair.rows[1].verdict
    assert.same({ 24, 12 }, { pair.pairs, found.n })
    assert.near(1.165, found.ratio, 1e-4)
    assert.near(1.13, found.low, 1e-4)
    assert.near(1.20, found.high, 1e-4)
  end)

  it("pairs repetitions by block, leaving out those that one side has not", function()
    local r = two_by_two()
    r:add(made.record({ 1 }, { cell = 1, index = 13, order = 99 }))
    assert.equal(12, r:compare({}).pairs[1].pairs)
  end)

  it("corrects the others' intervals and not the primary's", function()
    local comparison = two_by_two({ metrics = { "twice = 2 * cycles", "half = cycles / 2" } }):compare {}
    local rows = comparison.pairs[1].rows
    assert.equal(0.95, rows[1].verdict.level)
    assert.equal(4, comparison.corrected)       -- two metrics in two pairs; what is absent is none
    assert.near(1 - 0.05 / 4, rows[4].verdict.level, 1e-12)
  end)

  it("says why where a side is absent", function()
    local row = two_by_two():compare({}).pairs[1].rows[2]
    assert.is_nil(row.verdict)
    assert.matches("no repetition has a count", row.why)
  end)

  it("takes margins as an experiment does", function()
    local row = two_by_two():compare({ baseline = "columns", margin = "99%" }).pairs[1].rows[1]
    assert.same({ "same", 0.99 }, { row.verdict.verdict, row.verdict.margin })
  end)
end)

describe("a result with another baseline", function()
  local function two_levels()
    return of(made.records { { 100, 110, 105 }, {}, {} }, COMMAND)
  end

  it("compares with it, and does not change the one it was", function()
    local r = two_levels()
    assert.same({ n = 256 }, r:with({ baseline = "n=256" }).header.baseline)
    assert.equal("rows", r:with({ baseline = "rows" }).header.baseline.workload)
    assert.equal("instructions", r:with({ primary = "instructions" }).header.primary)
    assert.is_nil(r.header.baseline)
  end)

  it("raises for what is no workload, factor or level", function()
    local r = two_levels()
    local function refused(baseline) return message_of(r.with, r, { baseline = baseline }) end
    assert.matches("no workload is 'row': did you mean 'rows'?", refused "row", 1, true)
    assert.matches("no n is '3': there are 256 and 512", refused { n = 3 }, 1, true)
    assert.matches("no factor is called 'm'", refused { m = 3 }, 1, true)
  end)
end)
