-- Reports that programs read, and what all reports have in common.

local report = require "pmclua.report"
local reports = require "tests.support.reports"
local support = require "tests.support"

local BIGGEST = 18446744073709551615ULL
local build, golden, shown = reports.build, reports.golden, reports.shown
local one_cell, strides, two_compilers = reports.one_cell, reports.strides, reports.two_compilers

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
    local r = build(header, { { { BIGGEST, BIGGEST - 1ULL }, { 1, 2 }, { 0, 0 } }, {} }):only { n = 256 }
    local text = shown(r, { format = "json" })
    assert.matches('"max":18446744073709551615', text, 1, true)
    assert.matches('"values":[18446744073709551615,18446744073709551614]', text, 1, true)
    assert.matches('"counts":{"cycles":[18446744073709551615,18446744073709551614]', text, 1, true)
  end)

  it("has null in a column for each number that is absent", function()
    local json = require "pmclua.base.json"
    local column = json.column({ 1, false, BIGGEST, nil, -0.5, 9007199254740993ULL }, 7)
    assert.equal('{"a":[1,null,18446744073709551615,null,-0.5,9007199254740993,null],"b":[]}',
      json.encode { a = column, b = json.column({}, 0) })
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

describe("a format of one's own", function()
  it("is one of the others, named among them, and has a name that no other has", function()
    local pmc = require "pmclua"
    pmc.format("own-format", function(result, put) put(#result:list() .. " cells\n") end)
    assert.equal("1 cells\n", one_cell():report { format = "own-format" })
    assert.matches("own%-format", support.message_of(function() one_cell():report { format = "nosuch" } end))
    assert.matches("there is a format 'csv' already", support.message_of(pmc.format, "csv", print), 1, true)
    assert.matches("a word in lower case, not 'a b'", support.message_of(pmc.format, "a b", print), 1, true)
  end)
end)
