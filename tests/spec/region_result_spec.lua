-- The calls of functions are a part of a result as any other: stored, shown, merged, compared, gated and drawn alike.

local explain = require "pmclua.explain"
local ffi = require "ffi"
local made = require "tests.support.regions"
local pmc = require "pmclua"
local results = require "tests.support.results"
local support = require "tests.support"

local WIDE = ffi.new("uint64_t", 2 ^ 62) + 1

-- A result of one run of "parse", whose function lex made calls of these durations.
local function result_of(durations, faults)
  local header = results.header { name = "regions", factors = {}, repetitions = 1,
    workloads = { { name = "parse", kind = "command", per = "run" } },
    cells = { { workload = "parse", levels = {} } }, events = { results.event "page-faults" },
    pass_events = { { 1 } }, regions = { kind = "functions" } }
  local sum = 0
  for _, duration in ipairs(durations) do sum = sum + duration end
  local own = { workload = "parse", levels = {}, iterations = 1, wall_ns = 1000000 }
  local record = results.record({ 900 }, own)
  record.followed = made.followed("lex", durations, faults or 3)
  local part = results.record({ 3 * #durations }, support.merged(own, { region = "lex",
    iterations = #durations, wall_ns = sum }))
  local made_of = results.result(header, { record, part })
  made_of.status = "complete"
  return made_of
end

local function stored(result)
  local path = support.folder() .. "/r.jsonl"
  result:store(path)
  return path
end

describe("a result with calls", function()
  it("has a cell of each region, and its calls", function()
    local result = result_of { 100, 200, 900 }
    local cells = {}
    for cell in result:cells() do cells[#cells + 1] = { cell.region or "whole", cell.page_faults.median } end
    assert.same({ { "whole", 900 }, { "lex", 9 } }, cells)
    local lex = result:calls():region "lex"
    assert.same({ 3, 200, 1200 }, { lex.calls, (lex:quantile("duration", 0.5)), lex:values("duration").sum })
    assert.matches("lex · 3 calls", result:report(), 1, true)
  end)

  it("is the same from a file, single calls and counts beyond 2^53 included", function()
    local result = result_of({ 100, 200, 900 }, WIDE)
    local read = pmc.load(stored(result))
    for _, format in ipairs { "table", "markdown", "csv", "html" } do
      local function shown(one) return one:report { format = format, width = 100 } end
      assert.equal(shown(result), shown(read))
    end
    assert.equal(result:calls():calls_csv(), read:calls():calls_csv())
    assert.matches("4611686018427387905", read:calls():calls_csv(), 1, true)
    assert.same({ 100, 200, 900 }, read:calls()[1]:list "duration")
  end)

  it("keeps calls that do not fit on one line of a file", function()
    local durations = {}
    for i = 1, 6000 do durations[i] = i end
    local read = pmc.load(stored(result_of(durations))):calls()[1]
    assert.same({ 6000, 3000.5, true }, { #read:list "duration", read:quantile("duration", 0.5) })
  end)

  it("is merged with others, whose calls stay apart", function()
    local both = pmc.load { stored(result_of { 100, 200, 900 }), stored(result_of { 150, 250, 950 }) }
    local shown = both:report { width = 100 }
    assert.equal(2, select(2, shown:gsub("lex · 3 calls", "")))
    local message = support.message_of(both.calls, both)
    assert.matches("2 cells have calls: say which one", message, 1, true)
    local chart = pmc.plot(both).chart
    assert.same({ 1, 2 }, { #chart.panels, #chart.panels[1].series })
  end)

  it("is gated and compared by its cells", function()
    local before, after = stored(result_of { 100, 200, 900 }), result_of { 100, 200, 900, 900 }
    local gate = after:gate { limits = { "page_faults <= 1000" } }
    assert.equal("pass", gate.state)
    assert.equal("fail", after:gate({ limits = { "page_faults <= 10" } }).state)
    assert.is_table(after:gate { limits = { "page_faults <= +1%" }, baseline = before })
  end)

  it("is drawn by how much its calls took", function()
    local chart, count = pmc.plot(result_of { 100, 200, 9000 }).chart, 0
    for _, bar in ipairs(chart.panels[1].series[1].data) do count = count + bar[2] end
    assert.same({ 3, "duration per call (µs)" }, { count, chart.panels[1].x.label })
    assert.matches("regions have no 'cycels'", support.message_of(pmc.plot, result_of { 1, 2 },
      { name = "cycels" }), 1, true)
  end)
end)

describe("a file with calls", function()
  it("is data, whatever it contains", function()
    local text = support.read(stored(result_of { 100, 200, 900 }))
    local random = require("pmclua.stats.random").new(3)
    local from, to = text:find '{"kind":"followed"[^\n]*"regions":[^\n]*'
    local WORDS = { "null", "-1", "1e300", '"x"', "[]", "{}", "0.5", '"0xfffffffffffffffff"',
      "18446744073709551616" }
    for _ = 1, 300 do
      local at = random:integer(to - from) + from
      local first, last = text:find('[%d]+', at)
      if first and last < to then
        local path = support.folder() .. "/odd.jsonl"
        support.write(path, text:sub(1, first - 1) .. WORDS[random:integer(#WORDS)] .. text:sub(last + 1))
        local ok, why = pcall(function() return pmc.load(path):report { format = "json" } end)
        assert.is_true(ok or explain.is(why), tostring(why))
      end
    end
  end)
end)

describe("pmclua regions --store", function()
  it("stores what report, plot and gate take", function()
    made.need_probes()
    support.need_unwatched("functions of the runner run as copies, without probes", "valgrind")
    local path = support.folder() .. "/r.jsonl"
    local done = support.pmclua { "regions", "-e", made.FAULTS, "-f", "touch", "--store", path, "--",
      made.program "pages.c", "calls", "4" }
    assert.equal(0, done.status)
    local shown = support.pmclua { "report", path }
    assert.equal(done.err, shown.out)
    assert.equal(3, support.pmclua({ "gate", path, "--limit", "page_faults <= 1" }).status)
    assert.matches("already", support.pmclua({ "regions", "-f", "touch", "--store", path, "--",
      made.program "pages.c", "calls", "4" }).err)
  end)
end)
