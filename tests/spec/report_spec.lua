-- Reports: what people and programs read of a result.

local result = require "pmclua.experiment.result"
local report = require "pmclua.report"
local support = require "tests.support"
local made = require "tests.support.results"

local BIGGEST = 18446744073709551615ULL
local event = made.event

-- `count` whole numbers around `middle`, `share` away at most, in an order that does not drift.
local function around(middle, share, count, step)
  local values = {}
  for i = 1, count do
    local place = (i * (step or 7)) % count / (count - 1) * 2 - 1
    values[i] = math.floor(middle * (1 + share * place * math.abs(place)) + 0.5)
  end
  return values
end

local function duration() return event("duration_time", { tool = "wall_ns", unit = "ns" }) end

local function same(value, count)
  local values = {}
  for i = 1, count do values[i] = value end
  return values
end

-- A result: cells[c][e] has the values of event e in cell c.
local function build(header, cells)
  header = made.header(header)
  local r, order = result.new(header), 0
  for i = 1, header.repetitions do
    for c, columns in ipairs(cells) do
      order = order + 1
      local counts = {}
      for e, values in pairs(columns) do
        if type(e) == "number" then counts[e] = values[i] end
      end
      local planned = header.cells[c]
      local more = { cell = c, index = i, order = order, iterations = 1, workload = planned.workload,
        levels = planned.levels, wall_ns = columns.wall and columns.wall[i] or 1000 }
      local record = made.record(counts, more)
      local partly = columns.ran
      if partly then record.running[partly[1]] = record.enabled[partly[1]] * partly[2] end
      r:add(record)
    end
  end
  r:finish "complete"
  return r
end

local NO_EVENT = "cannot open 'LLC-load-misses': no such event on this PMU: try `pmclua events LLC`"

local function one_cell(name)
  return build({
    question = false, repetitions = 20, warmup = 2, factors = {}, metrics = { "ipc" },
    workloads = { { name = name or "./parse large.json", kind = "command", per = "run" } },
    cells = { { workload = name or "./parse large.json", levels = {} } },
    events = { duration(), event "cycles", event "instructions",
      event "page-faults", event "branch-misses",
      event("LLC-load-misses", { status = "unsupported", why = NO_EVENT }) },
    pass_events = { { 2, 3, 4, 5 } },
  }, { { wall = around(41200000, 0.02, 20), [2] = around(128441020, 0.02, 20),
    [3] = around(302100000, 0.001, 20), [4] = same(1204, 20), [5] = around(746685, 0.1, 20),
    ran = { 5, 0.62 } } })
end

local function two_compilers(other, name)
  name = name or "clang"
  return build({
    question = false, repetitions = 30, warmup = 0, factors = {}, metrics = {},
    baseline = { workload = other or "gcc" }, primary = "duration_time",
    margin = { default = 0.01, instructions = 0.001 },
    workloads = { { name = other or "gcc", kind = "command", per = "run" },
      { name = name, kind = "command", per = "run" } },
    cells = { { workload = other or "gcc", levels = {} }, { workload = name, levels = {} } },
    events = { duration(), event "cycles", event "instructions",
      event "cache-misses", event("stalls", { status = "unsupported", why = "no such event on this PMU" }) },
    pass_events = { { 2, 3, 4 } },
  }, {
    { wall = around(41200000, 0.02, 30), [2] = around(128400000, 0.02, 30),
      [3] = around(302100000, 0.0002, 30), [4] = around(1200000, 0.3, 30) },
    { wall = around(38310000, 0.02, 30, 11), [2] = around(119500000, 0.02, 30, 11),
      [3] = around(302200000, 0.0002, 30, 11), [4] = around(1240000, 0.3, 30, 11) },
  })
end

local function strides()
  local cells, values = {}, {}
  for _, bytes in ipairs { 4096, 65536, 67108864 } do
    for _, stride in ipairs { 64, 4096 } do
      if bytes > stride then
        cells[#cells + 1] = { workload = "walk", levels = { bytes = bytes, stride = stride } }
        local cost = bytes == 67108864 and (stride == 64 and 212 or 331) or 4
        values[#values + 1] = { around(cost * 1000, 0.05, 15), same(8000, 15) }
      end
    end
  end
  return build({
    question = "What does a load cost?", repetitions = 15, warmup = 2, baseline = { stride = 64 },
    primary = "cycles", factors = { { "bytes", { 4096, 65536, 67108864 } }, { "stride", { 64, 4096 } } },
    workloads = { { name = "walk", kind = "kernel", per = "iteration" } }, cells = cells,
    events = { event "cycles", event "instructions" }, pass_events = { { 1, 2 } },
  }, values)
end

-- Two workloads at two sizes whose counts are those of n * n elements; without a baseline one cell of them.
local function elements(header)
  local cells, values = {}, {}
  local all = { per = { element = "n * n" }, question = false, repetitions = 8,
    metrics = { "ipc" }, factors = { { "n", { 10, 20 } } }, primary = "cycles",
    workloads = { { name = "rows", kind = "kernel", per = "iteration" },
      { name = "columns", kind = "kernel", per = "iteration" } },
    events = { duration(), event "cycles", event "instructions" }, pass_events = { { 2, 3 } }, cells = cells }
  for _, n in ipairs { 10, 20 } do
    for _, name in ipairs { "rows", "columns" } do
      cells[#cells + 1] = { workload = name, levels = { n = n } }
      values[#values + 1] = { wall = same(4100, 8), [2] = same(900, 8), [3] = same(450, 8) }
    end
  end
  for key, value in pairs(header or {}) do all[key] = value end
  local r = build(all, values)
  return header and r or r:where { workload = "rows", n = 10 }
end

local function shown(r, options)
  options = options or {}
  options.width, options.colour = options.width or 80, options.colour or false
  if options.utf8 == nil then options.utf8 = true end
  return report.render(r, options)
end

-- The text of a golden file; PMCLUA_WRITE_GOLDEN=1 writes it anew, for a person to look at.
local function golden(name, text)
  local path = support.fixture("report/" .. name)
  if os.getenv "PMCLUA_WRITE_GOLDEN" then support.write(path, text) end
  assert.equal(support.read(path), text)
end

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
    golden("one_stride.txt", shown(strides():where { stride = 64 }))
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
    assert.matches("10 +900 += +9 +900 += +9 +1.000  same", text)
    assert.matches("20 +900 += +2.25 ", text)
  end)

  it("of compared cells has it as rows, with a verdict where elements differ", function()
    local same_elements = shown(elements({ baseline = { workload = "rows" } }):where { n = 10 })
    assert.matches("cycles/element +9 +9\n", same_elements)
    local other = shown(elements({ baseline = { n = 10 } }):where { workload = "rows" })
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
    local text = shown(build(header, { { { BIGGEST, BIGGEST }, { 1, 2 }, { 0, 0 } }, {} }):where { n = 256 })
    assert.matches("18,446,744,073,709,551,615  =", text, 1, true)
  end)

  it("never shows a zero for what was not counted", function()
    local header = { repetitions = 8, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = build(header, { { same(0, 8), same(7, 8), same(0, 8), ran = { 1, 0 } }, {} }):where { n = 256 }
    local text = shown(r)
    assert.matches("cycles *–  <not counted>: it never ran", text)
    assert.matches("page%-faults *0  =", text)
  end)

  it("says what makes noise on the machine, where the values are noisy", function()
    local values = { 100, 101, 100, 102, 101, 100, 101, 100, 400, 101 }
    local host = { virtual = true, smt = "1", governor = "powersave", turbo = true, load = 1.5, cpus = 2 }
    local function of_host(facts, column)
      local r = made.result(made.header { host = facts }, made.records { column, column, column })
      return (shown(r:where { n = 256 }):gsub("%s+", " "))
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
    r:add(made.record({ 1, 1, 1 }, { outcome = "rejected", index = 9 }))
    local dead = { outcome = "signalled", signal = 11, why = "died of SIGSEGV", index = 9 }
    r:add(made.record({ 1, 1, 1 }, dead))
    r:finish "interrupted"
    local text = shown(r:where { n = 256 })
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
    r.status, r.problem = "failed", "./parse: exited with status 3"
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
    local percent = require("pmclua.text").percent
    assert.matches(("cycles: layout %s, run %s"):format(percent(expected.between_share),
      percent(expected.within_share)), shown(r), 1, true)
    assert.is_nil(shown(r):find("instructions: layout", 1, true))
    local decoded = require("dkjson").decode(shown(r, { format = "json" }))
    assert.near(expected.between_share, decoded.cells[1].values.cycles.components.layout, 1e-15)
    header.layouts = nil
    assert.is_nil(shown(build(header, { { values, same(7, 20), same(1, 20) } })):find "layout")
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

  it("of many workloads compares each with the baseline in a table of its own", function()
    local workloads, cells, values = {}, {}, {}
    for i = 1, 4 do
      workloads[i] = { name = "w" .. i, kind = "command", per = "run" }
      cells[i] = { workload = "w" .. i, levels = {} }
      values[i] = { around(1000 * i, 0.01, 8) }
    end
    local r = build({ repetitions = 8, factors = {}, baseline = "w1", primary = "cycles", cells = cells,
      workloads = workloads, events = { event "cycles" }, pass_events = { { 1 } } }, values)
    assert.equal(3, select(2, shown(r):gsub("against w1 %(baseline%)", "")))
  end)

  it("of few levels that are compared is a comparison of each with the baseline", function()
    local r = strides():where { bytes = 67108864 }
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

describe("JSON", function()
  local function decoded(r) return (require("dkjson").decode(shown(r, { format = "json" }))) end

  it("has every summary and every raw count", function()
    local data = decoded(one_cell())
    local cell = data.cells[1]
    assert.same({ 20, "counted", "stable" }, { cell.values.cycles.n, cell.values.cycles.status,
      cell.values.cycles.quality })
    assert.equal(cell.values.cycles.median, one_cell():cells()().cycles.median)
    assert.equal(20, #cell.passes[1].counts.page_faults)
    assert.same({ repetition = 1, enabled_ns = 990000, running_ns = 613800 },
      cell.passes[1].partial.branch_misses[1])
    assert.near(0.62, cell.values.branch_misses.ran, 1e-9)
  end)

  it("has null and the reason for what is absent", function()
    local text = shown(one_cell(), { format = "json" })
    local entry = text:match '"LLC_load_misses":(%b{})'
    assert.matches('"status":"unsupported"', entry, 1, true)
    assert.matches('"median":null', entry, 1, true)
    assert.matches("no such event on this PMU", entry, 1, true)
  end)

  it("keeps a u64 exact in summaries, values and counts", function()
    local header = { repetitions = 2, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = build(header, { { { BIGGEST, BIGGEST - 1ULL }, { 1, 2 }, { 0, 0 } }, {} }):where { n = 256 }
    local text = shown(r, { format = "json" })
    assert.matches('"max":18446744073709551615', text, 1, true)
    assert.matches('"values":[18446744073709551615,18446744073709551614]', text, 1, true)
    assert.matches('"counts":{"cycles":[18446744073709551615,18446744073709551614]', text, 1, true)
  end)

  it("has the comparisons with their verdicts", function()
    local pair = decoded(two_compilers()).comparisons[1]
    assert.same({ "clang", "gcc", 30 }, { pair.workload, pair.baseline.workload, pair.pairs })
    local by_name = {}
    for _, row in ipairs(pair.verdicts) do by_name[row.name] = row end
    assert.equal("faster", by_name.duration_time.verdict)
    assert.is_true(by_name.duration_time.primary)
    assert.is_nil(by_name.stalls.verdict)
    assert.equal("no such event on this PMU", by_name.stalls.why)
  end)

  it("is valid for every name", function()
    local core, values = require "pmclua.core", {}
    local text = shown(one_cell "evil\27 \"quoted\" \\ \255 </script>\0", { format = "json" })
    assert.is_string(core.line_scan(text, values))
  end)
end)

describe("CSV", function()
  local function rows(text)
    local list = {}
    for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
    return list
  end

  it("has one header and one shape of record, a line a repetition", function()
    local list = rows(shown(one_cell(), { format = "csv" }))
    assert.equal("workload,region,thread,cpu,interval,name,unit,pass,repetition,order,value,status,raw,"
      .. "enabled_ns,running_ns,iterations,why,slope,intercept,r2", list[1])
    assert.equal(1 + 5 * 20 + 1 + 20, #list)
    for _, line in ipairs(list) do assert.equal(19, select(2, line:gsub('"[^"]*"', ""):gsub(",", ""))) end
    assert.equal("./parse large.json,,,,,page_faults,,1,1,1,1204,counted,1204,,,1,,,,", list[62])
  end)

  it("marks what was scaled, with the raw count and both times", function()
    assert.matches("branch_misses,,1,1,1,%d+%.?%d*,scaled,%d+,990000,613800,1,,,,\n",
      shown(one_cell(), { format = "csv" }))
  end)

  it("has an empty value, a status and the reason for what is absent", function()
    assert.matches("LLC_load_misses,,,,,,unsupported,,,,,cannot open 'LLC",
      shown(one_cell(), { format = "csv" }), 1, true)
  end)

  it("has a column for each factor, whatever it is called", function()
    local r = build({ repetitions = 1, factors = { { "name", { "a,b" } } }, cells = {
      { workload = "rows", levels = { name = "a,b" } } } }, { { { 1 }, { 2 }, { 3 } } })
    local list = rows(shown(r, { format = "csv" }))
    assert.matches("^workload,factor_name,", list[1])
    assert.matches('^rows,"a,b",', list[2])
  end)

  it("keeps a u64 exact", function()
    local header = { repetitions = 1, workloads = { { name = "rows", kind = "command", per = "run" } } }
    local text = shown(build(header, { { { BIGGEST }, { 1 }, { 0 } }, {} }), { format = "csv" })
    assert.matches("cycles,,1,1,1,18446744073709551615,counted,18446744073709551615,", text, 1, true)
  end)

  it("lets no name be a formula of a spreadsheet", function()
    for _, name in ipairs { "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1" } do
      local line = rows(shown(one_cell(name), { format = "csv" }))[2]
      assert.is_nil(line:find "^\"?[=+@\t-]")
    end
  end)
end)

describe("Markdown", function()
  it("has the tables of the terminal", function()
    golden("two_compilers.md", shown(two_compilers(), { format = "markdown" }))
  end)

  it("escapes what Markdown or HTML would act upon", function()
    local text = shown(one_cell "a|b*c<img src=x>`d`", { format = "markdown" })
    assert.matches("a\\|b\\*c&lt;img src=x&gt;\\`d\\`", text, 1, true)
  end)
end)

describe("a report", function()
  it("of an unknown format says which there are", function()
    local ok, problem = pcall(shown, one_cell(), { format = "markdwon" })
    assert.is_false(ok)
    assert.matches("no format 'markdwon'; did you mean 'markdown'", tostring(problem))
  end)

  it("obeys COLUMNS and the locale where nothing else is said", function()
    local function plainly() return report.render(one_cell()) end
    local text = support.with_env({ COLUMNS = "70", LC_ALL = "C" }, plainly)
    assert.is_nil(text:find "[\128-\255]")
    assert.is_true(support.widest(text) <= 70)
    local wide = support.with_env({ COLUMNS = false, LC_ALL = "C.UTF-8", TERM = "xterm" }, plainly)
    assert.matches("█", wide, 1, true)
  end)

  it("is the same whatever the order of hash tables is", function()
    for _, format in ipairs { "table", "json", "csv", "markdown" } do
      local first = shown(strides(), { format = format })
      for _ = 1, 5 do assert.equal(first, shown(strides(), { format = format })) end
    end
  end)
end)
