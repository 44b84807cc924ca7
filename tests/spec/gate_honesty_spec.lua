-- Are the gates of times honest? Simulated experiments whose truth is known, a short form of
-- tests/bench/honesty.lua: bounds are five standard errors from what was found in many.

local simulate = require "tests.bench.simulate"
local distribution = require "pmclua.stats.distribution"
local runs = require "pmclua.verdict.runs"

local EXPERIMENTS = 200

local function gates(options, seed) return simulate.gates(options, EXPERIMENTS, seed) end

-- The largest share of so many that comes of a true share by chance.
local function at_most(share) return share + 5 * math.sqrt(share * (1 - share) / EXPERIMENTS) end

-- Runs that differ by 14 %, repetitions within one by 10 %: what a busy virtual machine does.
local BUSY = { n = 100, between = 0.14, within = 0.1, ratio = 1, limit = "t <= +3%" }

local function busy(more) return setmetatable(more, { __index = BUSY }) end

describe("of simulated time gates", function()
  it("no more than 2.5 % of equals fail, however many runs of the baseline are stored", function()
    for _, count in ipairs { 2, 3, 5 } do
      local found = gates(busy { runs = count }, count)
      assert.is_true(found.fail <= at_most(0.025), ("%d runs: %g"):format(count, found.fail))
    end
    assert.is_true(gates(busy { runs = 1, assumed = runs.ASSUMED_SPREAD }, 1).fail <= at_most(0.025))
  end)

  it("a third of equals would fail by the noise within one run: which is why", function()
    assert.is_true(gates(busy { runs = 1, assumed = 0 }, 7).fail > 0.2)
  end)

  it("what runs cannot tell from chance is undecided, and seldom said to hold", function()
    local found = gates(busy { runs = 5, ratio = 1.05 }, 8)
    assert.is_true(found.pass <= at_most(0.025), tostring(found.pass))
    assert.is_true(found.undecided > 0.8)
  end)

  it("a planted 50 % is found against five runs that differ by 2 %", function()
    assert.is_true(gates(busy { runs = 5, between = 0.02, ratio = 1.5 }, 9).fail > 0.99)
  end)

  it("interleaved, a planted 5 % is found and equals hold, on the same machine", function()
    local quiet = { interleaved = true, within = 0.02 }
    assert.is_true(gates(busy(quiet), 10).pass > 0.99)
    quiet.ratio = 1.05
    assert.is_true(gates(busy(quiet), 11).fail > 0.99)
    local noisy = { interleaved = true, n = 30 }
    assert.is_true(gates(busy(noisy), 12).fail <= at_most(0.025))
  end)
end)

describe("runs of a baseline", function()
  local function ratio(value, width)
    return { method = "Hodges-Lehmann", ratio = value, low = value * (1 - width), high = value * (1 + width) }
  end

  it("give Student's prediction interval about the mean of their ratios", function()
    local found = runs.several({ ratio(1.0, 0), ratio(1.1, 0), ratio(1.21, 0) }, 0.95)
    -- Logarithms 0, l, 2l: mean l, deviation l, t(2) = 4.3027, sqrt(4/3).
    local l = math.log(1.1)
    local reach = 4.302652729696 * l * math.sqrt(4 / 3)
    assert.is_true(math.abs(found.ratio - 1.1) < 1e-12)
    assert.is_true(math.abs(found.low - math.exp(l - reach)) < 1e-9)
    assert.is_true(math.abs(found.high - math.exp(l + reach)) < 1e-9)
    assert.is_true(math.abs(found.spread - l) < 1e-12)
  end)

  it("are never known better than a run is within itself", function()
    local found = runs.several({ ratio(1, 0.1), ratio(1, 0.1), ratio(1, 0.1) }, 0.95)
    assert.is_true(math.abs(found.low - 0.9) < 1e-12)
    assert.is_true(math.abs(found.high - 1.1) < 1e-12)
  end)

  it("that are exact and agree stay exact", function()
    local exact = { method = "exact", ratio = 1.01, low = 1.01, high = 1.01 }
    assert.same({ "exact", 1.01 }, { runs.several({ exact, exact }, 0.95).method,
      runs.several({ exact, exact }, 0.95).low })
    local other = { method = "exact", ratio = 1, low = 1, high = 1 }
    assert.is_true(runs.several({ exact, other }, 0.95).high > 1.01)
  end)

  it("are compared by differences where one has no ratio, and not without an interval", function()
    local shift = { difference = { shift = 2, low = 1, high = 3 } }
    assert.same({ 2, 1, 3 }, (function(found)
      return { found.shift, found.low, found.high }
    end)(runs.several({ shift, shift }, 0.95).difference))
    local found, why = runs.several({ ratio(1, 0.1), { ratio = 1, reason = "too few" } }, 0.95)
    assert.same({ nil, "too few" }, { found, why })
  end)

  it("widen the interval of the only one by what they are taken to differ", function()
    local found = runs.single(ratio(1, 0), 0.15, 0.95)
    assert.is_true(math.abs(math.log(found.high) - 1.959963984540 * 0.15 * math.sqrt(2)) < 1e-9)
    assert.is_true(found.is_assumed)
  end)
end)

describe("Student's distribution", function()
  it("has the quantiles of the tables", function()
    -- Abramowitz, Stegun: table 26.10.
    for _, row in ipairs { { 0.025, 1, 12.706 }, { 0.025, 2, 4.303 }, { 0.025, 3, 3.182 },
        { 0.025, 4, 2.776 }, { 0.025, 9, 2.262 }, { 0.005, 5, 4.032 }, { 0.025, 30, 2.042 },
        { 0.0005, 10, 4.587 } } do
      assert.is_true(math.abs(distribution.student_upper(row[1], row[2]) - row[3]) < 0.0005)
    end
  end)

  it("comes near the normal one with many degrees of freedom", function()
    local normal = distribution.normal_upper(0.025)
    assert.is_true(math.abs(distribution.student_upper(0.025, 5000) - normal) < 1e-3)
  end)
end)
