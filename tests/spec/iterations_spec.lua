-- How many iterations repetitions of kernels have: one number for what is set side by side.

local iterations = require "pmclua.experiment.iterations"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local MS = 1e6

local function kernel(name) return { name = name, per = "iteration" } end

-- A search over cells of these costs in ns per iteration, by "workload" or "workload/n"; `trial(cell, length)` may
-- change what a trial reads.
local function search_of(costs, options)
  options = options or {}
  local cells, levels, workloads, trials = {}, {}, {}, {}
  for _, cost in ipairs(costs) do
    local name, n = cost[1], cost.n
    workloads[name] = workloads[name] or kernel(name)
    cells[#cells + 1] = { index = #cells + 1, workload = workloads[name], levels = { n = n }, cost = cost[2] }
    levels[#levels + 1] = n
  end
  local declaration = { factors = #levels > 0 and { { name = "n", levels = lists.unique(levels) } } or {},
    baseline = options.baseline, iterations = options.iterations }
  local search = iterations.new(declaration, cells, options.kind or "time", function(cell, count)
    trials[cell] = (trials[cell] or 0) + 1
    local length = cell.cost * count
    if options.trial then return options.trial(cell, length, trials[cell]) end
    return length
  end, { reading_ns = options.reading_ns or 0,
    pages = function(cell) return (options.pages or {})[cell.index] or 0 end })
  return function(i, choice) return search:of { cell = cells[i], choice = choice } end, search, cells
end

describe("how long reading the counters takes", function()
  local function reading_ns(...)
    local events = { { unit = "" }, { unit = "ns" } }
    return require("pmclua.experiment.calibrate").reading_ns({ ... }, events)
  end

  it("is the least of empty regions, in the pass that takes longest", function()
    assert.equal(900, reading_ns({ minimum = { 5000, 700 } }, { minimum = { 6000, 900 } },
      { minimum = { 7000, false } }))
  end)

  it("is unknown where no time is counted", function()
    assert.equal(0, reading_ns({ minimum = { 5000, false } }, false))
    assert.equal(0, require("pmclua.experiment.calibrate").reading_ns(nil, {}))
  end)
end)

describe("the iterations of kernels that are set side by side", function()
  it("are one number, with which the fastest takes a millisecond", function()
    local of = search_of { { "slow", 100 }, { "fast", 10 }, { "middle", 30 } }
    assert.same({ 2 ^ 17, 2 ^ 17, 2 ^ 17 }, { of(1), of(2), of(3) })
  end)

  it("are fewer where repetitions are to be short", function()
    local of = search_of({ { "slow", 100 }, { "fast", 10 } }, { kind = "short" })
    assert.same({ 2 ^ 14, 2 ^ 14 }, { of(1), of(2) })
  end)

  it("are more of short repetitions where a kernel has memory that another evicts", function()
    local function count(pages)
      local of = search_of({ { "a", 10 }, { "b", 10 } }, { kind = "short", pages = { 0, pages } })
      return of(2)
    end
    assert.same({ 2 ^ 14, 2 ^ 14, 2 ^ 15, 2 ^ 17, 2 ^ 17 },
      { count(25), count(40), count(41), count(250), count(1e6) })
  end)

  it("are more of short repetitions where reading the counters takes long", function()
    local function count(reading_ns)
      local of = search_of({ { "a", 10 }, { "b", 10 } }, { kind = "short", reading_ns = reading_ns })
      return of(2)
    end
    assert.same({ 2 ^ 14, 2 ^ 15, 2 ^ 17, 2 ^ 17 }, { count(1600), count(1700), count(1e4), count(1e6) })
  end)

  it("are found for each group of short repetitions by its own memory", function()
    local of = search_of({ { "a", 10, n = 1 }, { "b", 10, n = 1 }, { "a", 1000, n = 100 },
      { "b", 1000, n = 100 } }, { kind = "short", baseline = { workload = "a" }, pages = { 250 } })
    assert.same({ 2 ^ 17, 2 ^ 17, 2 ^ 7, 2 ^ 7 }, { of(1), of(2), of(3), of(4) })
  end)

  it("are not fewer where a trial is interrupted", function()
    local function interrupted(_, length, number) return number % 3 == 0 and length + 8 * MS or length end
    local of = search_of({ { "a", 10 }, { "b", 10 } }, { trial = interrupted })
    assert.same({ 2 ^ 17, 2 ^ 17 }, { of(1), of(2) })
  end)

  it("are fewer where the slowest would take longer than 0.1 s", function()
    local of = search_of { { "slow", 3e6 }, { "fast", 10e3 } }
    assert.same({ 64, 64 }, { of(1), of(2) })
    local lengths = { 64 * 3e6, 64 * 10e3 }
    assert.is_true(lengths[1] >= 100 * MS and lengths[2] >= 0.1 * MS)
  end)

  it("differ only where one kernel takes more than a thousand times as long", function()
    local of = search_of { { "endless", 200 * MS }, { "fast", 10 }, { "other", 20 } }
    assert.same({ 1, 2 ^ 17, 2 ^ 17 }, { of(1), of(2), of(3) })
  end)

  it("are of one level where the levels' work differs and only workloads are compared", function()
    local of = search_of({ { "a", 10, n = 1 }, { "b", 20, n = 1 }, { "a", 1000, n = 100 },
      { "b", 2000, n = 100 } }, { baseline = { workload = "a" } })
    assert.same({ 2 ^ 17, 2 ^ 17, 2 ^ 10, 2 ^ 10 }, { of(1), of(2), of(3), of(4) })
  end)

  it("are the same at levels that are compared", function()
    local of = search_of({ { "a", 10, n = 1 }, { "a", 1000, n = 2 } }, { baseline = { n = 1 } })
    assert.same({ 2 ^ 17, 2 ^ 17 }, { of(1), of(2) })
  end)

  it("are the same at levels whose iterations take alike", function()
    local of = search_of { { "a", 10, n = 1 }, { "a", 16, n = 2 }, { "a", 40, n = 3 } }
    assert.same({ 2 ^ 17, 2 ^ 17, 2 ^ 15 }, { of(1), of(2), of(3) })
  end)

  it("are those of the others for a cell whose trial failed", function()
    local of = search_of({ { "a", 10 }, { "b", 10 } }, { trial = function(cell, length)
      if cell.index == 1 then return nil, { outcome = "signalled" } end
      return length
    end })
    assert.same({ 2 ^ 17, 2 ^ 17 }, { of(1), of(2) })
  end)

  it("cannot be found where every trial fails: the result says why", function()
    local of = search_of({ { "a", 10 } }, { trial = function() return nil, { outcome = "signalled" } end })
    local count, failed = of(1)
    assert.same({ nil, { outcome = "signalled" } }, { count, failed })
  end)

  it("are those of a stored run for the whole group", function()
    local of, search, cells = search_of { { "a", 10 }, { "b", 10 } }
    search:know(cells[2], 4096)
    assert.same({ 4096, 4096 }, { of(1), of(2) })
  end)

  it("are equal steps of it where a line is to be fitted", function()
    local of = search_of({ { "a", 10 }, { "b", 20 } }, { iterations = "fit" })
    local step = math.ceil(2 ^ 17 / 5)
    assert.same({ step, 5 * step, step }, { of(1, 1), of(1, 5), of(2, 1) })
  end)

  it("count a million instructions of the shortest where Valgrind counts", function()
    local of = search_of({ { "a", 4 }, { "b", 8 } }, { kind = "simulated" })
    assert.same({ 2 ^ 18, 2 ^ 18 }, { of(1), of(2) })
  end)
end)

describe("kernels that are measured", function()
  local SOURCE = [[
#include <pmclua_kernel.h>
void one(void *state, uint64_t n) { uint64_t sum = 0; while (n--) pmclua_keep(sum += n); (void)state; }
void nine(void *state, uint64_t n) { one(state, 9 * n); }
]]

  it("have the same iterations, which the result says", function()
    support.need(support.have "cc", "no C compiler")
    local function kernel_of(symbol) return pmc.kernel { code = SOURCE, symbol = symbol } end
    local r = pmc.compare(kernel_of "one", kernel_of "nine",
      { events = "duration_time", repetitions = 6, quiet = true, store = false })
    local counts = lists.map(r:list(), function(cell) return cell.columns.passes[1].iterations[1] end)
    assert.equal(counts[1], counts[2])
    assert.matches(("of %s each"):format(require("pmclua.base.text").count(counts[1])), tostring(r), 1, true)
  end)
end)
