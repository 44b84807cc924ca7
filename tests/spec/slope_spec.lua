-- Slopes with intervals, against SciPy (tests/fixtures/stats/reference.lua) and against their definitions.

local stats = require "pmclua.stats"
local support = require "tests.support"

local reference = dofile(support.fixture "stats/reference.lua")

local function near(expected, actual, tolerance, what)
  local limit = tolerance * math.max(1, math.abs(expected))
  local is_near = math.abs(expected - actual) <= limit
  assert.is_true(is_near, ("%s: %.17g, not %.17g"):format(what, actual, expected))
end

local sequence = support.sequence

local function first(slopes) return slopes[1] end

describe("a slope", function()
  it("is scipy.stats.theilslopes', with its interval at several levels", function()
    for _, row in ipairs(reference.fits) do
      for _, level in ipairs { 90, 95, 99 } do
        local slope = stats.slope(reference.fit_x, row.y, level / 100)
        near(row.robust_b, slope.slope, 1e-14, "slope")
        near(row.robust_a, slope.intercept, 1e-12, "intercept")
        near(row["low" .. level], slope.low, 1e-14, "low")
        near(row["high" .. level], slope.high, 1e-14, "high")
      end
      local slope = stats.slope(reference.fit_x, row.y)
      near(row.near_low, slope.low, 1e-14, "SciPy's low")
      near(row.near_high, slope.high, 1e-14, "SciPy's high")
      near(row.r2, slope.r2, 1e-12, "R²")
    end
  end)

  it("is exact where every point lies on the line, with the rest in the intercept", function()
    local x = { 5, 1, 3, 2, 4 }
    local slope = stats.slope(x, sequence(5, function(i) return 120 + 102 * x[i] end))
    assert.is_true(slope.exact)
    assert.same({ 102, 102, 102, 120 }, { slope.slope, slope.low, slope.high, slope.intercept })
  end)

  it("of no cost is 0, and never -0", function()
    local x, y = {}, {}
    for i = 1, 200 do x[i], y[i] = 1000 - i, i == 7 and 8 or 7 end
    assert.equal("0", ("%.0f"):format(stats.slope(x, y).slope))
    assert.equal("0", ("%.0f"):format(stats.theil_sen(x, y).b))
  end)

  it("of two points is no exact one, and has no interval", function()
    local slope = stats.slope({ 1, 2 }, { 10, 20 })
    assert.is_false(slope.exact)
    assert.is_nil(slope.low)
    assert.equal("two points are always on a line", slope.reason)
  end)

  it("of few points has no interval, and says so", function()
    local slope = stats.slope({ 1, 2, 3, 4 }, { 10, 21, 30, 40 })
    assert.is_nil(slope.low)
    assert.equal("4 points are too few for a 95 % interval", slope.reason)
  end)

  it("is not moved by a disturbed repetition", function()
    local x = sequence(20, function(i) return 100 * (i % 5 + 1) end)
    local y = sequence(20, function(i) return 50 + 3 * x[i] + (i * 7) % 5 end)
    y[4] = y[4] + 1e6
    near(3, stats.slope(x, y).slope, 0.01, "slope")
  end)

  it("of many thousand points is found in no more memory than they take", function()
    local n = 20000
    local x = sequence(n, function(i) return 100 * (i % 5 + 1) end)
    local slope = stats.slope(x, sequence(n, function(i) return 50 + 3 * x[i] + (i * 7) % 11 end))
    near(3, slope.slope, 0.01, "slope")
    assert.is_true(slope.low <= slope.slope and slope.slope <= slope.high)
  end)

  it("cannot be had of one x", function()
    assert.same({ nil, "a line needs two different x" }, { stats.slope({ 4, 4, 4 }, { 1, 2, 3 }) })
  end)
end)

describe("what is computed from slopes", function()
  local x = sequence(12, function(i) return 100 * (i % 4 + 1) end)
  local y = sequence(12, function(i) return 40 + 2 * x[i] + (i * 5) % 7 end)

  it("is resampled as if points were drawn and fitted anew", function()
    for seed = 1, 20 do
      local generator, rx, ry = stats.random(seed, "slopes"), {}, {}
      for i = 1, #x do
        local pick = generator:integer(#x)
        rx[i], ry[i] = x[pick], y[pick]
      end
      local expected = stats.theil_sen(rx, ry).b
      local low, high = stats.slopes({ { x = x, y = y } }, first, { seed = seed, resamples = 1 })
      near(expected, low, 1e-14, "low")
      near(expected, high, 1e-14, "high")
    end
  end)

  it("takes points of one group together: a ratio of equals is one", function()
    local both = { { x = x, y = y }, { x = x, y = y } }
    local function ratio(slopes) return slopes[1] / slopes[2] end
    assert.same({ 1, 1 }, { stats.slopes(both, ratio) })
    both[2].group = 2
    local low, high = stats.slopes(both, ratio)
    assert.is_true(low < 1 and high > 1)
  end)

  it("is the same for the same seed", function()
    local list = { { x = x, y = y } }
    assert.same({ stats.slopes(list, first, { seed = 3 }) }, { stats.slopes(list, first, { seed = 3 }) })
  end)

  it("has no interval of few points, or of points that cannot be taken together", function()
    assert.same({ nil, "3 points are too few to be resampled" },
                { stats.slopes({ { x = { 1, 2, 3 }, y = { 1, 2, 4 } } }, first) })
    assert.same({ nil, "too few points to resample that are not at x = 1: 3 of the 4 that are needed" },
      { stats.slopes({ { x = { 1, 2, 1, 2, 1, 2 }, y = { 5, 9, 6, 8, 4, 9 } } }, first) })
    assert.same({ nil, "11 points cannot be paired with 12" },
                { stats.slopes({ { x = x, y = y }, { x = { unpack(x, 2) }, y = { unpack(y, 2) } } }, first) })
  end)
end)

describe("a line through few points", function()
  it("is not resampled where it hangs on fewer than four points that are not at the commonest x", function()
    local function why(...) return select(2, stats.bootstrap({ ... }, { 3, 5, 9, 2, 8, 6, 1, 7 })) end
    assert.equal("too few points to resample that are not at x = 2: 3 of the 4 that are needed",
      why(1, 1, 1, 2, 2, 2, 2, 2))
    assert.equal("too few points to resample that are not at x = 1: 1 of the 4 that are needed",
      why(1, 1, 1, 5, 1, 1, 1, 1))
    assert.is_nil(why(1, 1, 1, 1, 2, 2, 2, 2))
    assert.is_nil(why(1, 1, 1, 1, 2, 3, 4, 5))
    assert.is_truthy(stats.bootstrap({ 1, 1, 1, 5, 1, 1 }, { 2, 2, 2, 10, 2, 2 }))     -- on a line
  end)

  it("that is resampled at two x, four points each, holds the slope in 9 of 10 skewed experiments", function()
    local random, held = stats.random(4, "two x"), 0
    for seed = 1, 300 do
      local x, y = {}, {}
      for i = 1, 8 do
        x[i] = 200 * (i % 2 + 1)
        y[i] = 100 + 2 * x[i] + 20 * math.exp(random:normal())
      end
      local b = stats.bootstrap(x, y, { seed = seed, resamples = 300 }).b
      held = held + (b.low <= 2 and 2 <= b.high and 1 or 0)
    end
    assert.is_true(held >= 270, held)
  end)
end)

describe("the interval of a slope whose points come in clusters", function()
  it("holds the truth where the slope is each cluster's own", function()
    local slope, random = require "pmclua.stats.slope", require("pmclua.stats").random(3, "clusters")
    local held, plain, experiments = 0, 0, 200
    for experiment = 1, experiments do
      local series = { x = {}, y = {}, clusters = {} }
      for cluster = 1, 15 do
        local own = 10 * (1 + 0.1 * random:normal())
        for _, x in ipairs { 100, 500, 300, 200 } do
          local n = #series.x + 1
          series.x[n], series.y[n], series.clusters[n] = x, own * x + 50 + random:normal(), cluster
        end
      end
      local function holds(list)
        local low, high = slope.bootstrap({ list }, function(slopes) return slopes[1] end,
          { resamples = 400, seed = experiment })
        return low <= 10 and high >= 10
      end
      held = held + (holds(series) and 1 or 0)
      plain = plain + (holds { x = series.x, y = series.y } and 1 or 0)
    end
    assert.is_true(held / experiments > 0.92)
    assert.is_true(plain < held)
  end)

  it("is as wide as the number of clusters asks for, not that of points", function()
    local slope = require "pmclua.stats.slope"
    local single = { x = { 1, 2, 3, 4, 5, 6 }, y = { 3, 4, 8, 7, 12, 11 } }
    local double = { x = {}, y = {}, clusters = {} }
    for i = 1, 12 do
      local k = math.ceil(i / 2)
      double.x[i], double.y[i], double.clusters[i] = single.x[k], single.y[k], k
    end
    -- scipy: t.isf(0.1, 5) * sqrt(6 / 5) = 1.61675, 2 * norm.cdf(1.61675) - 1
    assert.same({ slope.bootstrap({ single }, first, { level = 0.8940677 }) },
      { slope.bootstrap({ double }, first, { level = 0.8 }) })
  end)
end)
