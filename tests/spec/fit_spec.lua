-- Cells whose repetitions have several iteration counts, on counts that are known.

local report = require "pmclua.report"
local result = require "pmclua.result"
local made = require "tests.support.results"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local event = made.event
local STEPS = { 300, 100, 500, 200, 400 }

-- A result of kernels; cells[c][e](iterations, i) is the count of event e in repetition i of cell c.
local function build(header, cells, repetitions)
  header = made.header(header)
  header.iterations, header.repetitions = header.iterations or "fit", repetitions or 15
  local r, order = result.new(header), 0
  for i = 1, header.repetitions do
    for c, events in ipairs(cells) do
      local iterations, counts = STEPS[(i - 1) % #STEPS + 1], {}
      for e, count in ipairs(events) do counts[e] = count(iterations, i) end
      order = order + 1
      add_record(r, made.record(counts, { cell = c, index = i, order = order, iterations = iterations,
        workload = header.cells[c].workload, levels = header.cells[c].levels,
        wall_ns = 2 * iterations + 900 }))
    end
  end
  r.status = "complete"
  return r
end

local function straight(slope, overhead)
  return function(iterations) return overhead + slope * iterations end
end

-- Counts around a line, the same each time.
local function noisy(slope, overhead, spread)
  return function(iterations, i) return overhead + slope * iterations + (i * 7 % 11 - 5) * spread end
end

local function curved(iterations) return 3 * iterations + iterations * iterations / 50 end

local ONE = { factors = {}, workloads = { { name = "rows", kind = "kernel", per = "iteration" } },
  cells = { { workload = "rows", levels = {} } }, events = { event "cycles", event "instructions" },
  pass_events = { { 1, 2 } }, metrics = { "ipc = instructions / cycles" } }

local TWO = { factors = {}, baseline = { workload = "rows" }, primary = "cycles",
  workloads = { { name = "rows", kind = "kernel", per = "iteration" },
    { name = "columns", kind = "kernel", per = "iteration" } },
  cells = { { workload = "rows", levels = {} }, { workload = "columns", levels = {} } },
  events = { event "cycles", event "instructions" }, pass_events = { { 1, 2 } } }

local with = support.merged

local function only(r) return r:cells()() end

local function shown(r, width)
  return report.render(r, { width = width or 80, colour = false, utf8 = true })
end

describe("a fitted cell", function()
  it("has slopes for values, and the overhead in the intercept", function()
    local cell = only(build(ONE, { { straight(204, 2000), straight(102, 120) } }))
    assert.equal(102, cell.instructions.median)
    assert.equal("exact", cell.instructions.quality)
    assert.equal(120, cell.instructions.fit.intercept)
    assert.equal(1, cell.instructions.fit.r2)
    assert.equal(100, cell.instructions.fit.least)
    assert.equal(500, cell.instructions.fit.most)
  end)

  it("says from how many iterations on the overhead is 1 % of a count", function()
    local cell = only(build(ONE, { { straight(204, 2000), straight(102, 0) } }))
    local smallest = cell.cycles.fit.smallest
    assert.is_true(2000 <= 0.01 * (2000 + 204 * smallest))
    assert.is_true(2000 > 0.01 * (2000 + 204 * (smallest - 1)))
    assert.equal(1, cell.instructions.fit.smallest)
  end)

  it("gives the cost of an iteration in each repetition, the overhead taken off", function()
    local cell = only(build(ONE, { { straight(204, 2000), straight(102, 120) } }))
    for _, value in ipairs(cell:values "instructions") do assert.equal(102, value) end
  end)

  it("has metrics that are formulae over slopes, exact where the slopes are", function()
    local cell = only(build(ONE, { { straight(204, 2000), straight(102, 120) } }))
    assert.equal(0.5, cell.ipc.median)
    assert.equal("exact", cell.ipc.quality)
  end)

  it("has metrics with intervals where slopes have them", function()
    local cell = only(build(ONE, { { noisy(204, 2000, 20), straight(102, 120) } }))
    assert.is_true(cell.ipc.low < 0.5 and 0.5 < cell.ipc.high)
    assert.is_true(cell.ipc.low < cell.ipc.median and cell.ipc.median < cell.ipc.high)
  end)

  it("takes the slope of times too, and formulae may ask for iterations", function()
    local cell = only(build(with(ONE, { metrics = { "pace = wall_ns", "each = cycles / iterations" } }),
      { { straight(204, 2000), straight(102, 120) } }))
    assert.equal(2, cell.pace.median)
    assert.equal(204, cell.each.median)
  end)

  it("costs an element what its slope does", function()
    local r = build(with(ONE, { factors = { { "unroll", { 100 } } }, per = { operation = "unroll" },
      cells = { { workload = "rows", levels = { unroll = 100 } } } }),
      { { noisy(204, 2000, 20), straight(102, 120) } })
    local cell = only(r)
    assert.equal(1.02, cell.instructions_per_operation.median)
    assert.equal(cell.cycles.low / 100, cell.cycles_per_operation.low)
    assert.equal(cell.cycles.high / 100, cell.cycles_per_operation.high)
  end)

  it("is fitted over a list of iterations too, and not over one number", function()
    local list = build(with(ONE, { iterations = STEPS }), { { straight(204, 2000), straight(102, 120) } })
    assert.equal(102, only(list).instructions.median)
    local number = build(with(ONE, { iterations = 300 }), { { straight(204, 2000), straight(102, 120) } })
    assert.is_nil(only(number).instructions.fit)
  end)

  it("has no value, and says why, where all repetitions have one iteration count", function()
    local cell = only(build(ONE, { { straight(204, 2000), straight(102, 120) } }, 1))
    assert.equal(0, cell.cycles.n)
    assert.is_nil(cell.cycles.median)
    assert.equal("a line needs two different iteration counts", cell.cycles.why)
    assert.equal("absent", cell.ipc.status)
    assert.matches("<absent>: a line needs two different iteration counts", shown(cell.result, 100), 1, true)
  end)

  it("is no line where counts bend", function()
    local cell = only(build(ONE, { { curved, straight(102, 120) } }))
    assert.is_false(cell.cycles.fit.linear)
    assert.equal("curved", cell.cycles.fit.pattern)
    assert.is_true(cell.instructions.fit.linear)
  end)
end)

describe("a line through two points", function()
  it("is exact whatever its slope is, and has no errors", function()
    local found = require("pmclua.stats").line({ 3, 10 }, { 0.1, 0.7 })
    assert.same({ "exact", 2 }, { found.pattern, found.n })
    assert.is_nil(found.b_error)
    for i = 1, 100 do
      local other = require("pmclua.stats").line({ 3, 10 + i }, { 0.1 * i, 0.7 + i / 3 })
      assert.equal("exact", other.pattern)
    end
  end)
end)

describe("a comparison of fitted cells", function()
  local function compared(a, b) return build(TWO, { a, b }):compare({}).pairs[1] end

  it("has the ratio of slopes, with an interval from resampled blocks", function()
    local rows = compared({ noisy(100, 900, 20), straight(7, 1) },
      { noisy(110, 5000, 20), straight(14, 9) }).rows
    assert.equal("bootstrap", rows[1].verdict.method)
    assert.near(1.1, rows[1].verdict.ratio, 0.01)
    assert.is_true(rows[1].verdict.low < 1.1 and 1.1 < rows[1].verdict.high)
    assert.equal("more", rows[1].verdict.verdict)
    assert.equal("exact", rows[2].verdict.method)
    assert.equal(2, rows[2].verdict.ratio)
  end)

  it("does not see overhead that differs", function()
    local row = compared({ noisy(100, 900, 1), straight(7, 1) },
      { noisy(100, 90000, 1), straight(7, 1) }).rows[1]
    assert.equal("same", row.verdict.verdict)
  end)

  it("has a difference where the baseline's slope may be 0", function()
    local row = compared({ noisy(0, 900, 30), straight(7, 1) }, { noisy(5, 900, 30), straight(7, 1) }).rows[1]
    assert.is_nil(row.verdict.ratio)
    assert.near(5, row.verdict.difference.shift, 0.5)
    assert.is_true(row.verdict.difference.low > 0)
  end)

  it("is undecided without an interval", function()
    local r = build(TWO, { { noisy(100, 900, 20), straight(7, 1) },
      { noisy(110, 5000, 20), straight(7, 1) } }, 3)
    local verdict = r:compare({}).pairs[1].rows[1].verdict
    assert.equal("undecided", verdict.verdict)
    assert.matches("too few", verdict.reason, 1, true)
  end)
end)

describe("a table of fitted cells", function()
  it("has slope, interval, overhead and R² of each event", function()
    local text = shown(build(ONE, { { noisy(204, 2000, 2), straight(102, 120) } }))
    assert.matches("rows · 15 repetitions in one process · fit over 100 … 500 iterations", text, 1, true)
    assert.matches("event +per iteration +95 %% interval +overhead +R² +quality", text)
    assert.matches("instructions +102 +=[^\n]* 120 +1 +exact", text)
    assert.matches("cycles +204[%d.]* +203.- 204.- [%d,]+ +0.9999 +stable", text)
    assert.matches("overhead is 1 % of a count at most from ", text, 1, true)
  end)

  it("says where there is no line", function()
    local text = shown(build(ONE, { { curved, straight(102, 120) } }))
    assert.matches("cycles[^\n]* curved, R² 0.97", text)
  end)

  it("over a factor marks what is no line, with its R² below", function()
    local cells, counts = {}, {}
    for i, n in ipairs { 256, 512 } do
      for k, name in ipairs { "rows", "columns" } do
        cells[#cells + 1] = { workload = name, levels = { n = n } }
        counts[#counts + 1] = { i == 2 and k == 2 and curved or noisy(100 * k, 900, 3), straight(7, 1) }
      end
    end
    local text = shown(build(with(TWO, { factors = { { "n", { 256, 512 } } }, cells = cells }), counts))
    assert.matches("cycles per iteration · fit, 15 repetitions in one process · baseline rows", text, 1, true)
    assert.matches("512[^\n]+ %% !  ", text)
    assert.matches("! no linear fit (R² 0.97", text, 1, true)
  end)

  it("is at most 80 columns wide", function()
    local r = build(with(ONE, { factors = { { "unroll", { 100 } } }, per = { operation = "unroll" },
      cells = { { workload = "rows", levels = { unroll = 100 } } } }), { { noisy(204, 2000, 9), curved } })
    for line in shown(r):gmatch "[^\n]+" do
      assert.is_true(require("pmclua.base.text").width(line) <= 80, line)
    end
  end)
end)

describe("a fitted cell in a format for programs", function()
  local function rendered(format)
    return report.render(build(ONE, { { noisy(204, 2000, 2), straight(102, 120) } }), { format = format })
  end

  it("has slope, intercept and R² in JSON", function()
    local values = require("dkjson").decode(rendered "json").cells[1].values
    local fit = values.instructions.fit
    assert.same({ 102, 120, 1, 100, 500, true },
      { values.instructions.median, fit.intercept, fit.r2, fit.least, fit.most, fit.linear })
    assert.equal("exact", fit.pattern)
    assert.is_number(values.cycles.fit.smallest)
  end)

  it("has slope, intercept and R² on each line of CSV, and nothing there where nothing was fitted", function()
    local lines = {}
    for line in rendered("csv"):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.matches(",why,slope,intercept,r2$", lines[1])
    assert.matches("instructions,,1,1,1,102,counted,30720,,,300,,102,120,1$", lines[17])
    local plain = build(with(ONE, { iterations = 300 }), { { straight(204, 2000), straight(102, 120) } })
    assert.matches(",300,,,,\n", report.render(plain, { format = "csv" }))
  end)

  it("has them in HTML", function()
    local page = rendered "html"
    for _, said in ipairs { "R²", "overhead", "fit over 100 … 500 iterations" } do
      assert.matches(said, page, 1, true)
    end
  end)
end)
