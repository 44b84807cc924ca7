-- Results as a whole: their cells, what narrows and compares them, what is asked of them by name.

local json = require "dkjson"
local lists = require "pmclua.base.lists"
local result = require "pmclua.result"
local made = require "tests.support.results"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local BIGGEST = 18446744073709551615ULL

-- A result of these records. `more` replaces fields of the header.
local function of(records, more) return made.result(made.header(more), records) end

local COMMAND = { workloads = { { name = "rows", kind = "command", per = "run" } } }

local function command(more) return support.merged(COMMAND, more) end

local message_of = support.message_of

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
      for cell in r:only(conditions):cells() do list[#list + 1] = cell.n end
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
    assert.matches("result:with has no option 'metric', did you mean 'metrics'",
      message_of(r.with, r, { metric = "ipc" }))
    assert.equal(0.1, more:only({ n = 512 }):cells()().ipc.median)
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
      for i = 1, 3 do add_record(r, made.record({ 10, 20, 30 }, { index = i, user_ns = 9e8 })) end
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
    for cell in of(records, command()):only({ n = 256 }):cells() do
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

  it("takes no metric that an event or a level would hide", function()
    local one = of({}, command())
    for name, whose in pairs { cycles = "an event", n = "a factor", values = "cells" } do
      assert.matches(("cannot be called '%s': %s"):format(name, whose),
        message_of(one.with, one, { metrics = name .. " = 2 * cycles" }))
    end
  end)
end)

describe("a stop rule", function()
  it("is said to have ended a run by the blocks that it had, those that failed among them", function()
    local records = made.records { { 100, 100, 100, 100, 100, 100, 100, 100, 100, 100 }, {}, {} }
    records[10].outcome, records[10].exit = "rejected", 1
    local one = of(records, command { stop = { interval = 0.5, seconds = 100 }, primary = "cycles",
      cells = { { workload = "rows", levels = { n = 256 } } } })
    one.status = "complete"
    assert.same({ "narrow", 10 }, { require("pmclua.result.stopping").why(one) })
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

  it("is undecided where the baseline has one value", function()
    local function of_workload(name, cell, values)
      return made.records({ values, {}, {} }, { workload = name, levels = {}, cell = cell })
    end
    local header = made.header { repetitions = 3, factors = {}, baseline = { workload = "old" },
      workloads = { { name = "old", kind = "command", per = "run" },
        { name = "new", kind = "command", per = "run" } },
      cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } } }
    local records = lists.joined { of_workload("old", 1, { 100 }), of_workload("new", 2, { 120, 121, 119 }) }
    local row = made.result(header, records):compare({ names = "cycles" }).pairs[1].rows[1]
    assert.equal("undecided", row.verdict.verdict)
  end)

  it("takes one name, margins in either spelling, and nothing that it does not know", function()
    local one = two_by_two()
    local comparison = one:compare { names = "page-faults", margin = { ["page-faults"] = "3%" } }
    assert.same({ "page_faults" }, { comparison.pairs[1].rows[1].name, comparison.pairs[1].rows[2] })
    local row = one:compare({ names = "cycles", margin = { "1%", cycles = "90%" } }).pairs[1].rows[1]
    assert.equal(0.9, row.verdict.margin)
    row = one:compare({ names = "cycles", margin = "±250 %" }).pairs[1].rows[1]
    assert.equal(2.5, row.verdict.margin)
    for _, call in ipairs {
      { "compare has no option 'baseliine', did you mean 'baseline'", "compare", { baseliine = "rows" } },
      { 'margin must be a percentage such as "1%", not 0.5: write "0.5%", or "50%"', "compare",
        { margin = 0.5 } },
      { 'run_spread must be a percentage such as "1%", not 5: write "5%"', "gate",
        { limits = "cycles <= +5%", baseline = one, run_spread = 5 } },
      { "nothing here is called 'cylces': did you mean 'cycles'", "compare", { margin = { cylces = "1%" } } },
      { "gate has no option 'limit', did you mean 'limits'", "gate", { limit = { "cycles <= 5" } } },
      { "report has no option 'fromat', did you mean 'format'", "report", { fromat = "csv" } },
      { "gate has no option 'q'; there are ", "gate", { q = 1 } },
      { "plot has no option 'kidn', did you mean 'kind'", "plot", { kidn = "ecdf" } },
      { "no cell has workload = a or b", "where", { workload = { "a", "b" } } },
    } do
      assert.matches(call[1], message_of(one[call[2]], one, call[3]), 1, true)
    end
    one.status = "complete"
    assert.equal("pass", one:gate({ limits = "cycles <= 9000" }).state)
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
    add_record(r, made.record({ 1 }, { cell = 1, index = 13, order = 99 }))
    assert.equal(12, r:compare({}).pairs[1].pairs)
  end)

  it("corrects the primary's intervals for its cells, and the others' for all of theirs", function()
    local comparison = two_by_two({ metrics = { "twice = 2 * cycles", "half = cycles / 2" } }):compare {}
    -- Two metrics in two pairs; what is absent is none.
    assert.same({ 2, 4 }, { comparison.primaries, comparison.others })
    for _, pair in ipairs(comparison.pairs) do
      for row, m in pairs { [1] = 2, [4] = 4 } do
        local verdict = pair.rows[row].verdict
        local is_done = verdict.verdict ~= "same" and verdict.verdict ~= "undecided"
        assert.is_true(verdict.level <= 1 - 0.05 / m + 1e-12 and verdict.level >= 0.95)
        if not is_done then assert.is_true(verdict.level > 0.95 or m == 1) end
      end
    end
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

describe("a comparison over a factor that an element's cost is computed with", function()
  it("has one verdict in the report, in JSON and for scripts", function()
    local function counts(base)
      return { support.sequence(8, function(i) return base + i % 5 end),
        support.sequence(8, function(i) return 3 * base + i % 7 end) }
    end
    local swept = made.result(made.header { events = { made.event "cycles", made.event "instructions" },
      pass_events = { { 1, 2 } }, primary = "cycles", baseline = { n = 256 }, per = { element = "n" } },
      lists.joined { made.records(counts(1000)),
        made.records(counts(1010), { cell = 2, levels = { n = 512 } }) })
    local compared = swept:compare()
    local rows = compared.pairs[1].rows
    assert.same({ 1, 3 }, { compared.primaries, compared.others })
    assert.same({ "cycles", "instructions", "cycles_per_element", "instructions_per_element" },
      lists.column(rows, "name"))
    assert.matches("* primary; the others corrected for 3 comparisons", (swept:report {}), 1, true)
    assert.matches("* primary; the others corrected for 3 comparisons", tostring(compared), 1, true)
    local stated = json.decode(swept:report { format = "json" }).comparisons[1].verdicts
    for i, row in ipairs(rows) do
      assert.same({ row.name, row.verdict.level, row.verdict.verdict },
        { stated[i].name, stated[i].level, stated[i].verdict })
    end
  end)
end)

describe("many comparisons of a count that takes one of two values", function()
  -- The same program under sixteen names, compared with the first.
  local function equals(generator, repetitions)
    local workloads, cells, records = {}, {}, {}
    for i = 1, 16 do
      workloads[i] = { name = "w" .. i, kind = "command", per = "run" }
      cells[i] = { workload = "w" .. i, levels = {} }
      local counts = support.sequence(repetitions, function()
        return generator:uniform() < 0.5 and 49 or 50
      end)
      lists.append(records, made.records({ counts }, { workload = "w" .. i, cell = i, levels = {} }))
    end
    return made.result(made.header { workloads = workloads, factors = {}, cells = cells, baseline = "w1",
      events = { made.event "cycles" }, pass_events = { { 1 } }, primary = "cycles" }, records)
  end

  it("find a difference in 5 of 100 experiments at most, however few the repetitions", function()
    local verdict, generator = require "pmclua.verdict", require("pmclua.stats.random").new(1, "two values")
    for _, repetitions in ipairs { 3, 4, 5, 6 } do
      local wrong = 0
      for _ = 1, 100 do
        local is_wrong = lists.any(equals(generator, repetitions):compare().pairs, function(pair)
          return verdict.differs(pair.rows[1].verdict)
        end)
        wrong = wrong + (is_wrong and 1 or 0)
      end
      assert.is_true(wrong <= 5, ("%d of 100, of %d repetitions"):format(wrong, repetitions))
    end
  end)
end)
