-- Rooflines: what kernels do by definition gives rates without a PMU, and cells become roofs or points.

local pmc = require "pmclua"
local roofline = require "pmclua.report.plot.roofline"
local support = require "tests.support"

local CODE = [[
  #include <stdint.h>
  void spin(void *state, uint64_t iterations) {
    (void)state;
    for (volatile uint64_t i = 0; i < iterations; i++) { }
  }]]

local function kernel(name, flops, moved)
  return pmc.kernel { name = name, symbol = "spin", code = CODE, params = { flops = flops, moved = moved } }
end

local RATES = { "flops_rate = flops / duration_time [GFLOP/s]", "bandwidth = moved / duration_time [GB/s]" }

local function measured(workloads, options)
  return pmc.experiment(support.merged({ events = "duration_time", metrics = RATES, repetitions = 6,
    iterations = 1000, workloads = workloads }, options)):run { store = false, quiet = true }
end

local function cells_of(result)
  local cells = {}
  for cell in result:cells() do cells[cell.workload] = cell end
  return cells
end

describe("a kernel's parameters", function()
  before_each(function() support.need(support.have "cc", "no C compiler") end)

  it("are names in formulae, in results that are stored too", function()
    local file = support.folder() .. "/r.jsonl"
    local experiment = pmc.experiment { events = "duration_time", metrics = RATES, repetitions = 2,
      iterations = 1000, reject_if = "flops < 0", workloads = { kernel("both", 2, "16") } }
    experiment:run { store = file, quiet = true }
    local cell = cells_of(pmc.load(file)).both
    local times, rates = cell:values "duration_time", cell:values "flops_rate"
    for i, time in ipairs(times) do assert.near(2 / time, rates[i], 1e-12 / time) end
    assert.near(16 / times[1], cell:values("bandwidth")[1], 1e-12)
  end)

  it("are absent, with the reason, where another workload lacks them", function()
    local cells = cells_of(measured { kernel("both", 2, 16), kernel("other", 1) })
    assert.is_number(cells.both.flops_rate.median)
    assert.is_number(cells.other.flops_rate.median)
    assert.is_nil(cells.other.bandwidth.median)
    assert.match("other has no moved", cells.other.bandwidth.why)
  end)
end)

describe("a roofline", function()
  it("has slanted roofs up to the highest flat one, and points with intervals", function()
    support.need(support.have "cc", "no C compiler")
    local result = measured { kernel("copy", 0, 16), kernel("peak", 8, 0), kernel("triad", 2, 24) }
    local cells, panel = cells_of(result), roofline.chart({ result }).panels[1]
    local slanted, flat, point = unpack(panel.series)
    local bandwidth, peak = cells.copy.bandwidth.median, cells.peak.flops_rate.median
    assert.near(peak, slanted.data[2][2], 1e-9)
    assert.near(bandwidth, slanted.data[1][2] / slanted.data[1][1], bandwidth * 1e-9)
    assert.near(peak / bandwidth, flat.data[1][1], 1e-9)
    assert.same({ peak, peak }, { flat.data[1][2], flat.data[2][2] })
    assert.near(2 / 24, point.data[1][1], 1e-9)
    assert.equal(cells.triad.flops_rate.median, point.data[1][2])
    assert.equal(cells.triad.flops_rate.high, point.data[1][4])
    assert.equal(3, #panel.series)
  end)

  it("has points of other results, each by its own formulae", function()
    support.need(support.have "cc", "no C compiler")
    local roofs = measured { kernel("copy", 0, 16), kernel("peak", 8, 0) }
    local program = measured({ kernel("solver", 5, 1) }, { metrics = {
      "flops_rate = 7 / duration_time [GFLOP/s]", "memory_bandwidth = 1e9 * 3 / duration_time [MiB/s]" } })
    local series = roofline.chart({ roofs, program }).panels[1].series
    assert.equal("solver", series[3].title)
    assert.near(7 / (3e9 * 2 ^ 20 / 1e9), series[3].data[1][1], 1e-12)
    assert.equal(3, #series)
  end)

  it("is refused where there are no rates, with what measures them", function()
    local result = pmc.measure("true", { events = "page-faults", repetitions = 1 })
    local ok, problem = pcall(result.plot, result, "roofline")
    assert.is_false(ok)
    assert.match("takes the metrics flops_rate and bandwidth", tostring(problem))
    assert.match("pmclua roofline %-%-store FILE", tostring(problem))
  end)

  it("is measured by the script: each kernel's operations and bytes are as their definition says", function()
    support.need(support.have "cc", "no C compiler")
    local file = support.folder() .. "/r.jsonl"
    local run = support.pmclua { "roofline", "--store", file, "--repetitions", "1", "--warmup", "0", "--set",
      "bytes=9216", "--quiet" }
    assert.equal(0, run.status, run.err)
    local cells = cells_of(pmc.load(file))
    assert.near(2 / 24, cells.triad.flops_rate.median / cells.triad.bandwidth.median, 1e-9)
    assert.near(2, cells.horner.flops_rate.median / cells.horner.bandwidth.median, 1e-9)
    assert.near(16 * 384 / cells.copy:values("duration_time")[1], cells.copy.bandwidth.median, 1e-6)
    assert.equal(0, cells.copy.flops_rate.median)
    assert.is_true(cells.vector.flops_rate.median > 0 and cells.vector.bandwidth.median == 0)
  end)
end)
