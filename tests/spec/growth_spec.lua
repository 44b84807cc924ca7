-- How quantities grow with a size: shapes, parameters, intervals, predictions, and what reports say of them.

local curves = require "pmclua.stats.curve"
local made = require "tests.support.results"
local pmc = require "pmclua"
local simulate = require "tests.bench.simulate"
local support = require "tests.support"

local SIZES = { 16, 32, 64, 128, 256, 512, 1024, 2048 }
-- 3 n + 500, and noise. Expected values are scipy.optimize.curve_fit's on logarithms, and linregress's, SciPy 1.10.
local VALUES = { 548.1, 601.7, 688.0, 889.2, 1270.4, 2031.9, 3570.2, 6660.8 }

local function near(expected, found, share)
  assert.is_true(math.abs(found - expected) <= (share or 1e-6) * math.abs(expected),
    ("%.12g is not %.12g"):format(found, expected))
end

local function values_of(f)
  local list = {}
  for i, n in ipairs(SIZES) do list[i] = f(n) end
  return list
end

describe("a curve of growth", function()
  it("has the breaks where its exponent changes, each between its neighbours", function()
    local x, y = {}, {}
    for k = 1, 20 do x[k] = 2 ^ k end
    for k, size in ipairs(x) do
      y[k] = 3 * size ^ 0.5 * math.max(1, size / 2 ^ 4.5) ^ 1.5 * math.max(1, size / 2 ^ 7.5) ^ -1.2
    end
    local found = pmc.stats.growth(x, y)
    assert.same({ "steps", 2 }, { found.shape, #found.parameters.breaks })
    near(2 ^ 4.5, found.parameters.breaks[1].value, 1e-3)
    near(2 ^ 7.5, found.parameters.breaks[2].value, 1e-3)
  end)

  it("has four breaks at most", function()
    local x, y = {}, {}
    for k = 1, 30 do
      local exponent = 0.2 * k
      for j = 1, 5 do exponent = exponent + 0.7 * j * math.max(0, k - 5 * j + 1) end
      x[k], y[k] = 2 ^ k, 2 ^ exponent
    end
    assert.equal(4, #pmc.stats.growth(x, y).parameters.breaks)
  end)

  -- The last exponent is that of the last size alone: nothing is left there, whatever its leverage.
  it("has intervals where one size decides a parameter", function()
    local x, y = {}, {}
    for k = 1, 14 do
      x[k] = 2 ^ k
      y[k] = 3 * x[k] ^ 0.5 * (1 + 0.01 * (-1) ^ k) * (k == 14 and 20 or 1)
    end
    local last = pmc.stats.growth(x, y).parameters.exponents[2]
    assert.is_true(last.high - last.low < 0.1)
  end)

  it("has the derivatives of its logarithm by each parameter, as differences have them", function()
    local x, y, logs = {}, {}, {}
    for k = 1, 12 do
      x[k] = 2 ^ k
      y[k] = 3 * math.max(x[k], x[k] ^ 1.8 / 40) * (1 + 0.01 * (-1) ^ k)
      logs[k] = math.log(y[k])
    end
    local fixed = curves.power(x, logs, { math.log(90) })
    for _, curve in ipairs { fixed, curves.free(fixed, x, logs), curves.linear(x, y, logs),
      curves.n_log_n(x, y, logs) } do
      for _, at in ipairs { 3, 50, 300, 4000 } do
        local slopes = curve.slopes(curve.p, at)
        assert.equal(#curve.p, #slopes)
        for k = 1, #curve.p do
          local step, more, less = 1e-6 * math.abs(curve.p[k]), support.sequence(#curve.p, function(i)
            return curve.p[i]
          end), support.sequence(#curve.p, function(i) return curve.p[i] end)
          more[k], less[k] = more[k] + step, less[k] - step
          local difference = (curve.log(more, at) - curve.log(less, at)) / (2 * step)
          assert.is_true(math.abs(slopes[k] - difference) <= 1e-5 * math.max(1, math.abs(difference)),
            ("%s at %d, parameter %d: %g, %g"):format(curve.shape, at, k, slopes[k], difference))
        end
      end
    end
  end)

  -- The straight line of least relative errors falls below 0 here. 5,000 rounds in place of 50 leave 39.1930962.
  it("comes near the least squares from a start through the origin, too", function()
    local x, y, logs = {}, { 4.287, 776, 3.482, 52, 3.03, 1.741, 23.4, 955 }, {}
    for k, value in ipairs(y) do x[k], logs[k] = 2 ^ k, math.log(value) end
    near(39.1930962, curves.linear(x, y, logs).squares, 2e-5)
  end)

  -- The fixed breaks, the curve of them, and of free ones.
  local function with_breaks(logs, first, second)
    local x = {}
    for k = 1, #logs do x[k] = 2 ^ k end
    local breaks = { math.log(first), math.log(second) }
    local fixed = assert(curves.power(x, logs, breaks))
    return breaks, fixed, curves.free(fixed, x, logs)
  end

  it("keeps the breaks where they were, if freed they change places", function()
    local logs = { 1, 1, 8, 4, 8, 5, 2, 0, 8, 0, 3 }
    local breaks, fixed, free = with_breaks(logs, 2 ^ 7, 2 ^ 9)
    assert.equal(fixed, free)
    assert.same(breaks, free.breaks)
  end)

  it("has its breaks where the squares are least, if they stay in order", function()
    local logs = {}
    for k = 1, 12 do logs[k] = math.max(0, k - 4.5) - 2 * math.max(0, k - 8.25) end
    local breaks, fixed, free = with_breaks(logs, 2 ^ 4, 2 ^ 9)
    assert.same({ math.log(2 ^ 4), math.log(2 ^ 9) }, breaks)
    assert.not_equal(fixed, free)
    assert.equal(2, #free.breaks)
    near(4.5 * math.log(2), free.breaks[1])
    near(8.25 * math.log(2), free.breaks[2])
  end)
end)

describe("a fit over sizes", function()
  it("agrees with SciPy", function()
    local found = pmc.stats.growth(SIZES, VALUES)
    assert.equal("linear", found.shape)
    near(3.0003928, found.parameters.a.value)
    near(501.43004686, found.parameters.b.value)
    near(0.024756, found.parameters.a.high - found.parameters.a.value, 1e-4)
    near(7.30078495, found.parameters.b.high - found.parameters.b.value)     -- HC3, the larger one
    near(0.5151009987157, found.exponent.value)
    near(-75.04651975, found.shapes[1].criterion)
    assert.same({ "n log n", -34.108376 },
      { found.shapes[2].shape, tonumber(("%.6f"):format(found.shapes[2].criterion)) })
  end)

  it("finds each shape, exactly where values are", function()
    local power = pmc.stats.growth(SIZES, values_of(function(n) return 5 * n ^ 2 end))
    assert.equal("power", power.shape)
    near(2, power.parameters.exponents[1].value)
    near(5, power.parameters.factor.value)
    local linear = pmc.stats.growth(SIZES, values_of(function(n) return 7 * n + 40 end))
    near(7, linear.parameters.a.value)
    near(40, linear.parameters.b.value)
    local sorting = pmc.stats.growth(SIZES,
      values_of(function(n) return 2 * n * math.log(n) / math.log(2) + 9 end))
    assert.equal("n log n", sorting.shape)
    near(2, sorting.parameters.a.value)
  end)

  it("finds where the exponent changes", function()
    local x, y = {}, {}
    for i = 1, 14 do
      x[i] = 2 ^ (9 + i)
      y[i] = (x[i] < 3e5 and 4 or 4 * (x[i] / 3e5)) * (1 + 0.01 * (i * 5 % 3 - 1))
    end
    local found = pmc.stats.growth(x, y)
    assert.same({ "steps", 1 }, { found.shape, #found.parameters.breaks })
    local at = found.parameters.breaks[1]
    assert.is_true(at.low < 3e5 and at.high > 3e5 and at.high / at.low < 1.5)
    near(1, found.parameters.exponents[2].value, 0.05)
  end)

  it("falls, too", function()
    local found = pmc.stats.growth(SIZES, values_of(function(n) return 1e6 / n end))
    near(-1, found.exponent.value)
  end)

  it("without an answer says why", function()
    local _, few = pmc.stats.growth({ 1, 2, 3 }, { 1, 2, 3 })
    local _, zero = pmc.stats.growth({ 1, 2, 3, 4 }, { 1, 2, 0, 4 })
    local _, size = pmc.stats.growth({ 0, 2, 3, 4 }, { 1, 2, 3, 4 })
    local _, twice = pmc.stats.growth({ 1, 1, 3, 4 }, { 1, 2, 3, 4 })
    assert.same({ "a fit takes 4 sizes, there are 3", "the value at 3 is 0, which has no logarithm",
      "a size of 0 has no logarithm", "a size comes twice" }, { few, zero, size, twice })
  end)

  it("has intervals that hold the truth in 93 % at least", function()
    for i, shape in ipairs(simulate.shapes_of_growth) do
      local noise, sizes = simulate.noises_of_growth[1 + i % 2], shape.name == "steps" and 14 or 8
      for name, share in pairs(simulate.growth(shape, noise, sizes, 200, i)) do
        assert.is_true(share > 0.93 - 5 * math.sqrt(0.05 * 0.95 / 200), shape.name .. name)
      end
    end
  end)
end)

-- Cells of one kernel over n, whose cycles are these; instructions are always 7, page faults 0.
local function result_of(values, more)
  local cells = {}
  for i in ipairs(values) do cells[i] = { workload = "rows", levels = { n = SIZES[i] } } end
  local sizes = { unpack(SIZES, 1, #values) }
  local header = made.header(support.merged({ cells = cells, factors = { { "n", sizes } },
    primary = "cycles", repetitions = 2,
    workloads = { { name = "rows", kind = "command", per = "run" } } }, more))
  local records = {}
  for i, cell in ipairs(cells) do
    for _, record in ipairs(made.records({ { values[i], values[i] }, { 7, 7 }, { 0, 0 } },
      { workload = "rows", levels = cell.levels, cell = i })) do records[#records + 1] = record end
  end
  return made.complete(header, records)
end

local function squares() return values_of(function(n) return 5 * n ^ 2 end) end

describe("a result", function()
  it("says how each quantity grows, and whether as predicted", function()
    local r = result_of(squares())
    local growth = r:fit("n", { names = "cycles", exponent = 3 })[1]
    assert.same({ "differs", "power" }, { growth.verdict, growth.shape })
    assert.matches("exponent 2 [2.00 … 2.00]: not 3", tostring(growth), 1, true)
    assert.equal("same", r:fit("n", { names = "cycles", exponent = 2 })[1].verdict)
    assert.matches(": n²$", tostring(r:fit("n", { names = "cycles" })[1]))
    local constant = r:fit("n", { names = "instructions" })[1]
    assert.matches(": constant$", tostring(constant))
    assert.matches("no fit: the value at 16 is 0", tostring(r:fit("n", { names = "page-faults" })[1]))
  end)

  it("predicts, and marks what lies beyond its sizes", function()
    local growth = result_of(squares()):fit("n", { names = "cycles" })[1]
    near(5 * 100 ^ 2, growth:at(100).value)
    assert.same({ false, true, true }, { growth:at(100).beyond, growth:at(8).beyond, growth:at(4096).beyond })
  end)

  it("says why there is no fit of a workload that was measured at one size", function()
    local header = result_of(squares()).header
    local lone = #header.cells + 1
    header.workloads[2] = { name = "columns", kind = "command", per = "run" }
    header.cells[lone] = { workload = "columns", levels = { n = SIZES[1] } }
    local records = made.records({ { 5, 5 } },
      { workload = "columns", levels = { n = SIZES[1] }, cell = lone })
    local growths = made.complete(header, records):fit("n", { names = "cycles" })
    assert.equal("a fit takes 4 sizes, there are 1", growths[2].why)
  end)

  it("refuses factors that nothing can grow over", function()
    local r = result_of(squares())
    assert.matches("there is no such factor; did you mean 'n'", support.message_of(r.fit, r, "N"), 1, true)
    local few = result_of { 1, 2, 3 }
    assert.matches("a fit takes 4 levels, there are 3", support.message_of(few.fit, few, "n"), 1, true)
    assert.matches("fit", support.message_of(r.with, r, { fit = { "n", exponents = 2 } }), 1, true)
  end)

  it("shows fits in every format for people, and in JSON", function()
    local r = result_of(squares()):with { fit = { "n", exponent = 3, at = 4096, names = "cycles" } }
    for _, format in ipairs { "table", "markdown", "html" } do
      local text = r:report { format = format, width = 120, utf8 = true, plots = {} }
      assert.matches("growth over n", text, 1, true)
      assert.matches("not 3", text, 1, true)
      assert.matches("at 4,096 (beyond the data)", (text:gsub("\\", "")), 1, true)
    end
    local fits = require("dkjson").decode(r:report { format = "json" }).fits
    assert.same({ 1, "differs", true }, { #fits, fits[1].verdict, fits[1].predictions[1].beyond })
  end)

  it("has a plot of it, with residuals, and dashed beyond the data", function()
    local chart = require("pmclua.report.plot").new(result_of(squares()), { kind = "fit" }).chart
    local curve, beyond, medians = unpack(chart.panels[1].series)
    assert.same({ "curve", "beyond", "marked", 8 },
      { curve.style, beyond.style, medians.style, #medians.data })
    assert.equal(2048, beyond.data[1][1])
    assert.is_true(chart.panels[2].y.zero)
  end)
end)

describe("an experiment's fit", function()
  local function declared(fit)
    return { workloads = "head -c {n} /dev/zero", factors = { { "n", { 1e5, 2e5, 4e5, 8e5 } } },
      fit = fit, events = "page-faults", repetitions = 2, warmup = 0 }
  end

  it("is checked with the rest", function()
    local message = support.message_of(pmc.experiment, declared { "m" })
    assert.matches("fit over 'm': there is no such factor", message, 1, true)
    message = support.message_of(pmc.experiment, declared { "n", names = "cycles", exponents = 2 })
    assert.matches("fit: there is no 'cycles' here", message, 1, true)
    assert.matches("exponents", message, 1, true)
  end)

  it("is a prediction: where the exponent differs, the exit status is 3", function()
    local folder = support.folder()
    local script = support.write(folder .. "/grow.lua", [[
      return require("pmclua").experiment { workloads = "head -c {n} /dev/zero", repetitions = 2, warmup = 0,
        factors = { { "n", { 1e5, 2e5, 4e5, 8e5 } } }, fit = { "n", exponent = 2 },
        events = "page-faults" } ]])
    local run = support.pmclua { script, "--no-store" }
    assert.equal(3, run.status, run.err)
    assert.matches("expect 'exponent of page_faults over n == 2': page%-faults, .*: not 2\n", run.err)
  end)
end)
