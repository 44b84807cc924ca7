-- The tables that people read of a result.

local made = require "tests.support.results"
local reports = require "tests.support.reports"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local BIGGEST = 18446744073709551615ULL
local event = made.event
local around, same = reports.around, reports.same
local build, golden, shown = reports.build, reports.golden, reports.shown
local elements, one_cell = reports.elements, reports.one_cell
local strides, two_compilers = reports.strides, reports.two_compilers

describe("a table", function()
  it("of one cell has median, interval, shape and quality of each event", function()
    golden("one_cell.txt", shown(one_cell()))
  end)

  it("of cells with a baseline has ratios and verdicts, the primary's first and in capitals", function()
    golden("two_compilers.txt", shown(two_compilers()))
  end)

  it("over a factor has a row a level, and says what was left out", function()
    golden("strides.txt", shown(strides()))
  end)

  it("over a factor with one group has all that is known of each value", function()
    golden("one_stride.txt", shown(strides():only { stride = 64 }))
  end)

  -- Cells of two levels, of the parts `more` and as a whole.
  local function of_parts(header, ...)
    local records = {}
    for cell, n in ipairs { 256, 512 } do
      for i, more in ipairs { {}, ... } do
        local place = support.merged({ cell = cell, levels = { n = n } }, more)
        for _, record in ipairs(made.records({ { i, i, i, i, i, i, i, i, i, i, i, n } }, place)) do
          records[#records + 1] = record
        end
      end
    end
    return made.result(made.header(support.merged({ events = { event "cycles" }, pass_events = { { 1 } },
      workloads = { { name = "rows", kind = "command", per = "run" } } }, header)), records)
  end

  it("over a factor has a column for each part, beside the whole", function()
    local text = shown(of_parts({}, { cpu = 0 }, { cpu = 1 }))
    assert.matches("n +rows +± +cpu 0 +± +cpu 1 +±", text)
    assert.matches("256 +1 +0 %% +2 +0 %% +3 +0 %%", text)
  end)

  it("says which part is compared", function()
    local text = shown(of_parts({ baseline = { n = 256 } }, { region = "parse" }))
    assert.matches("n = 512 against n = 256 %(baseline%) · rows · 12 pairs", text)
    assert.matches("n = 512 against n = 256 %(baseline%) · rows · region parse\n +12 pairs", text)
  end)

  it("has = for what is one value alone", function()
    assert.matches("256 +1 +0 %%", shown(of_parts({}, { cpu = 0 })))
    assert.is_nil(shown(of_parts({}, { cpu = 0 })):find("=  ", 1, true))
  end)

  it("has what one element costs beside every event and time", function()
    local text = shown(elements())
    assert.matches("event +median +/element ", text)
    assert.matches("duration_time +4.10 µs +41 ns ", text)
    assert.matches("cycles +900 +9 +=", text)
    assert.matches("ipc +0.500 +=", text)
  end)

  it("over a factor has a column of it for each group", function()
    local text = shown(elements { baseline = { workload = "rows" } })
    for _, name in ipairs { "cycles", "duration_time", "instructions" } do
      local head = "\n n +rows +± +/element +columns +± +/element +ratio"
      assert.matches(name .. " per iteration[^\n]*" .. head, text)
    end
    assert.matches("10 +900 += +9 +900 += +9 +1.000  = +same", text)
    assert.matches("20 +900 += +2.25 ", text)
  end)

  it("of compared cells has it as rows, with a verdict where elements differ", function()
    local same_elements = shown(elements({ baseline = { workload = "rows" } }):only { n = 10 })
    assert.matches("cycles/element +9 +9\n", same_elements)
    local other = shown(elements({ baseline = { n = 10 } }):only { workload = "rows" })
    assert.matches("cycles/element +9 +2.25  0.250  = +±1 %%  fewer", other)
  end)

  it("is at most 80 columns wide, and at most as wide as asked for", function()
    for _, r in ipairs { one_cell(), two_compilers(), strides() } do
      assert.is_true(support.widest(shown(r)) <= 80)
      for _, width in ipairs { 70, 64, 58 } do
        assert.is_true(support.widest(shown(r, { width = width })) <= width)
      end
    end
  end)

  it("cuts names that begin and end alike to where they differ", function()
    local grid = { columns = { { name = "line" }, { name = "count", align = "right" } }, rows = {} }
    for i, name in ipairs { "xmltok_impl.c:644 contentTok", "xmltok_impl.c:645 contentTok",
      "é_impl.c:7 contentTok", "é_impl.c:7 contentTok", "short" } do
      grid.rows[i] = { name, tostring(i) }
    end
    local lines = require("pmclua.report.grid").lines(grid, 21)
    local names = {}
    for i = 2, #lines do names[#names + 1] = (lines[i]:gsub("%s+%d+$", "")) end
    assert.same({ "…:644 content…", "…:645 content…", "é_impl.c:7 co…", "é_impl.c:7 co…", "short" }, names)
  end)

  it("keeps its numbers and cuts long names above them", function()
    local compared = shown(two_compilers("./build-with-gcc/parse --input large.json",
      "./build-with-clang/parse --input large.json --validate"))
    assert.is_true(support.widest(compared) <= 80)
    assert.matches("event +%./buil…%.json +%./buil…idate +ratio +95 %% interval", compared)
    assert.matches("duration_time %*", compared)
  end)

  it("gives up its shapes first where there is no room", function()
    assert.matches("█", shown(one_cell()), 1, true)
    local narrow = shown(one_cell(), { width = 70 })
    assert.is_nil(narrow:find("█", 1, true))
    assert.matches("duration_time", narrow, 1, true)
    assert.matches("LLC%-load%-misses +–  +<not supported>", shown(one_cell(), { width = 56 }))
  end)

  it("is ASCII where UTF-8 cannot be shown", function()
    local plain = shown(one_cell(), { utf8 = false })
    assert.is_nil(plain:find "[\128-\255]")
    golden("one_cell_ascii.txt", plain)
  end)

  it("is coloured only where it was asked for", function()
    assert.is_nil(shown(two_compilers()):find("\27", 1, true))
    assert.matches("\27[32mFASTER", shown(two_compilers(), { colour = true }), 1, true)
  end)

  it("shows a u64 to its last digit", function()
    local header = { repetitions = 2, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local text = shown(build(header, { { { BIGGEST, BIGGEST }, { 1, 2 }, { 0, 0 } }, {} }):only { n = 256 })
    assert.matches("18,446,744,073,709,551,615  =", text, 1, true)
  end)

  it("never shows a zero for what was not counted", function()
    local header = { repetitions = 8, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = build(header, { { same(0, 8), same(7, 8), same(0, 8), ran = { 1, 0 } }, {} }):only { n = 256 }
    local text = shown(r)
    assert.matches("cycles *–  <not counted>: it never ran", text)
    assert.matches("page%-faults *0  =", text)
  end)

  it("says what makes noise on the machine, where the values are noisy", function()
    local values = { 100, 101, 100, 102, 101, 100, 101, 100, 400, 101 }
    local host = { virtual = true, smt = "1", governor = "powersave", turbo = true, load = 1.5, cpus = 2 }
    local function of_host(facts, column)
      local r = made.result(made.header { host = facts }, made.records { column, column, column })
      return (shown(r:only { n = 256 }):gsub("%s+", " "))
    end
    assert.is_truthy(of_host(host,
      values):find("what makes noise on this machine: it is a virtual machine, two threads "
      .. "share a core (SMT), its frequency governor is powersave, turbo is on and it had a load of 1.5 on 2 "
      .. "CPUs when this began", 1, true))
    assert.is_nil(of_host(host, same(100, 8)):find("noise", 1, true))
    assert.is_nil(of_host({ governor = "performance", smt = "0", load = 0.1 }, values):find("noise", 1, true))
  end)

  it("says what was rejected, what failed and why, and that a run was cut short", function()
    local header = made.header { workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = made.result(header, made.records { same(5, 8), same(6, 8), same(7, 8) })
    add_record(r, made.record({ 1, 1, 1 }, { outcome = "rejected", index = 9 }))
    local dead = { outcome = "signalled", signal = 11, why = "died of SIGSEGV", index = 9 }
    add_record(r, made.record({ 1, 1, 1 }, dead))
    r.status = "interrupted"
    local text = shown(r:only { n = 256 })
    for _, said in ipairs { "1 repetition left out", "died of SIGSEGV", "1 signalled", "interrupted" } do
      assert.matches(said, text, 1, true)
    end
  end)

  it("says a warning that cells share once", function()
    local header = { repetitions = 3, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = build(header, { { { 5, 6, 7 }, { 1, 1, 1 } }, { { 5, 7, 6 }, { 1, 1, 1 } } })
    local text = shown(r)
    assert.matches("! 2 cells, the first rows, n = 256: 3 repetitions: no 95 %", text, 1, true)
    assert.equal(1, select(2, text:gsub("no 95 %%", "")))
  end)

  it("says what stopped the run", function()
    local r = one_cell()
    r.status = "failed"
    r.problem = require("pmclua.base.problem").problem { code = "EWORKLOAD",
      message = "./parse: exited with status 3" }
    r.remarks = { "CPU 3 went offline" }
    for _, said in ipairs { "! ./parse: exited with status 3", "stopped at a failure",
        "CPU 3 went offline" } do
      assert.matches(said, shown(r), 1, true)
    end
  end)

  it("says how much of the spread is between drawn layouts, and how much between runs", function()
    local values, groups = {}, {}
    for layout = 1, 10 do
      groups[layout] = {}
      for run = 1, 2 do
        local value = 1e6 + (layout * 7 % 10 - 5) * 1e4 + (run == 1 and 3e3 or -3e3)
        values[#values + 1], groups[layout][run] = value, value
      end
    end
    local header = { repetitions = 20, layouts = {}, factors = {},
      cells = { { workload = "rows", levels = {} } },
      workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = build(header, { { values, same(7, 20), same(1, 20) } })
    local expected = require("pmclua.stats").components(groups)
    assert.same(expected, r:cells()():components "cycles")
    local percent = require("pmclua.base.text").percent
    assert.matches(("cycles: layout %s, run %s"):format(percent(expected.between_share),
      percent(expected.within_share)), shown(r), 1, true)
    assert.is_nil(shown(r):find("instructions: layout", 1, true))
    local decoded = require("dkjson").decode(shown(r, { format = "json" }))
    assert.near(expected.between_share, decoded.cells[1].values.cycles.components.layout, 1e-15)
    header.layouts = nil
    assert.is_nil(shown(build(header, { { values, same(7, 20), same(1, 20) } })):find "layout")
  end)

  it("says below it where zeros forbid a ratio, and the difference stands in its column", function()
    local cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } }
    local workloads = { { name = "old", kind = "command", per = "run" }, { name = "new", kind = "command",
      per = "run" } }
    local function note_of(new)
      return shown(build({ repetitions = 8, baseline = { workload = "old" }, cells = cells, factors = {},
        workloads = workloads }, { { same(0, 8), same(1, 8), same(1, 8) },
        { same(new, 8), same(1, 8), same(1, 8) } })):match "cycles: values of 0 or below[^*]-difference"
    end
    assert.matches("cycles: values of 0 or below have no ratio; in its place is the%s+difference", note_of(5))
    assert.is_nil(note_of(0))                               -- ±0 is clear
  end)

  it("over a factor stands beside the group that it is compared with alone", function()
    local cells, values = {}, {}
    for _, n in ipairs { 1, 2, 3 } do
      for _, file in ipairs { "old", "new" } do
        for _, name in ipairs { "rows", "columns" } do
          cells[#cells + 1] = { workload = name, levels = { n = n, file = file } }
          values[#values + 1] = { same(n * 10, 8), same(1, 8), same(1, 8) }
        end
      end
    end
    local text = shown(build({ repetitions = 8, baseline = { file = "old" }, cells = cells,
      factors = { { "n", { 1, 2, 3 } }, { "file", { "old", "new" } } },
      workloads = { { name = "rows", kind = "kernel", per = "iteration" },
        { name = "columns", kind = "kernel", per = "iteration" } } }, values))
    assert.matches("n   rows, file old  ±   rows, file new  ±  ratio", text, 1, true)
    assert.matches("n   columns, file old  ±   columns, file new  ±  ratio", text, 1, true)
  end)

  it("moves no cursor, whatever names hold", function()
    local text = shown(one_cell "evil\27[2J\r\nname\226\128\174")
    assert.is_nil(text:find "[%z\1-\9\11-\31\127]")
    assert.matches("evil\\e[2J\\r\\nname", text, 1, true)
  end)

  it("of many workloads compares each with the baseline, which stands once for each event", function()
    local workloads, cells, values = {}, {}, {}
    for i = 1, 4 do
      workloads[i] = { name = "w" .. i, kind = "command", per = "run" }
      cells[i] = { workload = "w" .. i, levels = {} }
      values[i] = { around(1000 * i, 0.01, 8) }
    end
    local r = build({ repetitions = 8, factors = {}, baseline = "w1", primary = "cycles", cells = cells,
      workloads = workloads, events = { event "cycles" }, pass_events = { { 1 } } }, values)
    local text = shown(r)
    assert.equal(1, select(2, text:gsub("against w1 %(baseline%)", "")))
    assert.matches("^[^\n]*\n\n3 others against w1 %(baseline%)", text)
    local rows_of_four = "\ncycles %* +w1 +[%d,]+ *\n +w2 +[%d,]+ +[%d.]+ .-\n +w3 .-\n +w4 +[%d,]+ .-MORE"
    assert.matches(rows_of_four, text)
  end)

  it("of few levels that are compared is a comparison of each with the baseline", function()
    local r = strides():only { bytes = 67108864 }
    assert.matches("^What.-stride = 4,096 against stride = 64 %(baseline%)", shown(r))
  end)

  it("is what printing a result or a comparison shows", function()
    assert.matches("duration_time", tostring(one_cell()), 1, true)
    local options = { width = 80, utf8 = true, colour = false }
    assert.equal(support.read(support.fixture "report/two_compilers.txt"):match "^(.-\n)\n",
      two_compilers():compare({}):report(options))
    assert.matches("FASTER", tostring(two_compilers():compare {}), 1, true)
  end)
end)

describe("what a run cannot know", function()
  local NOTE = "times hold for this run alone: how runs differ is not in their intervals"

  local function of(step, more)
    local times = support.sequence(22, function(i) return 1000000 + (i * 7 % 11 - 5) * step end)
    local r = made.result(made.header(support.merged({ events = { made.event("task-clock", { unit = "ns" }) },
      pass_events = { { 1 } } }, more)), made.records { times })
    r.status = "complete"
    return r:report():gsub("%s+", " ")
  end

  it("is said where a time's interval is narrow, and not where the run already looks noisy", function()
    assert.matches(NOTE, of(100), 1, true)
    assert.is_nil(of(100000):find(NOTE, 1, true))
  end)

  it("is said of other files, whose repetitions were not interleaved", function()
    local pmc, folder = require "pmclua", support.folder()
    local paths = {}
    for i = 1, 2 do
      paths[i] = made.stored(("%s/%d.jsonl"):format(folder, i), made.header(), made.records { { 1, 2, 3 } })
    end
    assert.matches("measured in runs of their own: how runs differ is not in these intervals",
      pmc.load(unpack(paths)):report():gsub("%s+", " "), 1, true)
  end)
end)
