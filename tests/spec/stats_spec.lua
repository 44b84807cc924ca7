-- The statistics against independent figures: tests/fixtures/stats/reference.lua, made by SciPy and R.

local stats = require "pmclua.stats"
local distribution = require "pmclua.stats.distribution"
local support = require "tests.support"

local reference = dofile(support.fixture "stats/reference.lua")
local sample = reference.sample

local function near(expected, actual, tolerance, what)
  local allowed = (tolerance or 1e-12) * math.max(1e-300, math.abs(expected))
  if math.abs(actual - expected) > allowed then
    error(("%s: expected %.17g, got %.17g"):format(what or "value", expected, actual), 2)
  end
end

local sequence = support.sequence

describe("order statistics", function()
  it("agree with NumPy on quantiles of type 7", function()
    for _, row in ipairs(reference.quantiles) do
      near(row.value, stats.quantile(sample[row.sample], row.p), 1e-14, row.sample .. " " .. row.p)
    end
  end)

  it("agree with SciPy on the median absolute deviation", function()
    for _, row in ipairs(reference.mads) do
      near(row.value, (stats.mad(sample[row.sample])), 1e-14, row.sample)
    end
  end)

  it("sort as table.sort does, whatever the length and order", function()
    local random = stats.random(3)
    for n = 1, 200 do
      local values = sequence(n, function() return random:integer(n) - n / 2 end)
      local copy = { unpack(values) }
      local expected = { unpack(values) }
      table.sort(expected)
      assert.same(expected, stats.sorted(values))
      assert.same(copy, values)
      assert.same(expected, stats.sorted(expected))
    end
  end)

  it("give the median of two values as their middle, and of one as itself", function()
    assert.equal(2.5, stats.median { 3, 2 })
    assert.equal(7, stats.median { 7 })
  end)

  it("share ranks among ties as scipy.stats.rankdata does", function()
    for _, row in ipairs(reference.ranks) do assert.same(row.ranks, stats.ranks(sample[row.sample])) end
  end)

  it("answer no values, NaN and infinity with nil and a reason", function()
    local functions = { "median", "mad", "summary", "sorted", "ranks", "outliers" }
    for _, name in ipairs(functions) do
      local f = stats[name]
      local result, reason = f {}
      assert.is_nil(result)
      assert.equal("no values", reason)
      for _, bad in ipairs { 0 / 0, math.huge, -math.huge, "7" } do
        result, reason = f { 1, 2, bad }
        assert.is_nil(result)
        assert.equal("value 3 is not a finite number", reason)
      end
    end
  end)

  it("refuse a quantile outside 0 to 1 at the caller's line", function()
    for _, p in ipairs { -0.1, 1.1, 0 / 0 } do
      local ok, message = pcall(function() stats.quantile({ 1 }, p) end)
      assert.is_false(ok)
      assert.matches("stats_spec.lua:%d+: quantile%(values, p%) takes a p from 0 to 1", message)
    end
  end)
end)

describe("the interval of the median", function()
  it("takes exactly the ranks that the binomial distribution gives, to n = 10^6", function()
    for _, row in ipairs(reference.median_ranks) do
      local k, coverage = distribution.median_rank(row.n, row.level)
      assert.equal(row.k, k, ("n %d level %g"):format(row.n, row.level))
      near(row.coverage, coverage, 1e-11, "coverage of n " .. row.n)
    end
  end)

  it("covers 98.4 % at 7 values, 99.2 at 8, 97.9 at 10: a staircase", function()
    for n, coverage in pairs { [7] = 0.984375, [8] = 0.9921875, [10] = 0.978515625 } do
      assert.equal(coverage, stats.median_interval(sequence(n, tonumber)).coverage)
    end
  end)

  it("is from x(k) to x(n+1-k)", function()
    local interval = stats.median_interval(sequence(30, function(i) return 10 * ((i * 7) % 30 + 1) end))
    assert.same({ 155, 100, 210 }, { interval.median, interval.low, interval.high })
  end)

  it("does not exist under 6 values at 95 %, and says how many are needed", function()
    local interval = stats.median_interval { 1, 2, 3, 4, 5 }
    assert.equal(3, interval.median)
    assert.is_nil(interval.low)
    assert.equal("95 % interval needs 6 values, there are 5", interval.reason)
    assert.equal(1, stats.median_interval({ 1, 2, 3, 4, 5, 6 }).low)
    assert.matches("needs 8 values", stats.median_interval({ 1, 2 }, 0.99).reason)
    assert.equal(5, stats.median_interval({ 1, 2, 3, 4, 5 }, 0.9).high)
  end)
end)

describe("a summary", function()
  it("holds what each function says alone", function()
    local values = sample.wild20
    local summary = stats.summary(values)
    local mad, median = stats.mad(values)
    assert.equal(median, summary.median)
    assert.equal(mad, summary.mad)
    assert.equal(stats.quantile(values, 0.25), summary.q1)
    assert.equal(stats.quantile(values, 0.75), summary.q3)
    assert.equal(stats.quantile(values, 0), summary.minimum)
    assert.equal(stats.quantile(values, 1), summary.maximum)
    assert.equal(20, summary.n)
    assert.is_false(summary.exact)
  end)

  it("flags the outliers that an independent calculation flags", function()
    for _, row in ipairs(reference.outliers) do
      assert.same(row.places, stats.outliers(sample[row.sample]), row.sample)
    end
  end)

  it("flags outliers by their index and drops none", function()
    local summary = stats.summary(sample.wild20)
    assert.same({ 19, 20 }, summary.outliers)
    assert.equal(35.5, summary.minimum)
  end)

  it("calls one value in several repetitions exact, but a single repetition not", function()
    assert.is_true(stats.summary({ 5, 5, 5 }).exact)
    assert.is_false(stats.summary({ 5 }).exact)
    assert.is_false(stats.summary({ 5, 5, 6 }).exact)
  end)

  it("flags nothing where the MAD is 0", function()
    local summary = stats.summary { 50, 50, 50, 50, 52 }
    assert.equal(0, summary.mad)
    assert.same({}, summary.outliers)
  end)

  it("takes a million values", function()
    local random = stats.random(11)
    local summary = stats.summary(sequence(1e6, function() return random:integer(2 ^ 32) end))
    local middle = 2 ^ 31
    assert.is_true(summary.low < middle and middle < summary.high)
    assert.is_true(summary.high - summary.low < 0.005 * middle)
  end)
end)

describe("the normal distribution", function()
  it("agrees with SciPy", function()
    for _, row in ipairs(reference.normal) do near(row.p, distribution.normal_cdf(row.z), 1e-13, row.z) end
    for _, row in ipairs(reference.upper) do
      near(row.z, distribution.normal_upper(row.tail), 1e-13, row.tail)
    end
  end)
end)

describe("ranks of two samples", function()
  it("correlate as scipy.stats.spearmanr says", function()
    for _, row in ipairs(reference.spearman) do
      local values = sample[row.sample]
      near(row.r, stats.spearman(sequence(#values, tonumber), values), 1e-12, row.sample)
    end
  end)

  it("have no correlation where there is nothing to correlate", function()
    assert.same({ nil, "all values are equal" }, { stats.spearman({ 1, 2, 3 }, { 4, 4, 4 }) })
    assert.same({ nil, "a rank correlation needs 3 pairs" }, { stats.spearman({ 1, 2 }, { 1, 2 }) })
    assert.same({ nil, "3 values against 2" }, { stats.spearman({ 1, 2, 3 }, { 1, 2 }) })
  end)

  it("are tested as scipy.stats.mannwhitneyu does, exact and with ties", function()
    local methods = {}
    for _, row in ipairs(reference.mann_whitney) do
      local result = stats.mann_whitney(sample[row.x], sample[row.y])
      assert.equal(row.method, result.method)
      near(row.u, result.u, 1e-15, row.x)
      near(row.p, result.p, 1e-12, row.x .. " " .. row.y)
      methods[result.method] = true
    end
    assert.same({ exact = true, normal = true }, methods)
  end)

  -- Counted out in whole numbers of any size (Python's), of samples in which u pairs have x > y.
  it("are tested exactly to sizes of 50", function()
    for _, row in ipairs { { 50, 50, 0, 1.9823306042836678e-29 }, { 50, 50, 965, 0.04954772359884634 },
      { 50, 49, 1000, 0.11644265407980951 }, { 49, 50, 1000, 0.11644265407980951 },
      { 50, 50, 1249, 0.9972622089984723 }, { 30, 41, 400, 0.01188338866667881 } } do
      local n1, n2, left, p = unpack(row)
      local x, y = {}, {}
      for j = 1, n2 do y[j] = 10 * j end
      for i = 1, n1 do
        local below = math.min(n2, left)
        x[i], left = 10 * below + 1 + i / 100, left - below
      end
      local result = stats.mann_whitney(x, y)
      assert.equal("exact", result.method)
      assert.equal(row[3], result.u)
      near(p, result.p, 1e-14, table.concat(row, " "))
    end
  end)

  it("cannot differ where all values are one value", function()
    assert.equal(1, stats.mann_whitney({ 4, 4, 4 }, { 4, 4 }).p)
  end)

  it("shift as R's wilcox.test estimates, with its exact interval", function()
    for _, row in ipairs(reference.hodges_lehmann) do
      local result = stats.hodges_lehmann(sample[row.x], sample[row.y], row.level)
      near(row.shift, result.shift, 1e-14, "shift")
      near(row.low, result.low, 1e-14, "low")
      near(row.high, result.high, 1e-14, "high")
      assert.is_true(result.coverage >= row.level)
    end
  end)

  it("shift as all sorted differences say where samples are larger", function()
    for _, row in ipairs(reference.hodges_lehmann_large) do
      local result = stats.hodges_lehmann(sample[row.x], sample[row.y])
      assert.same({ row.shift, row.low, row.high }, { result.shift, result.low, result.high })
    end
  end)

  it("find each order statistic of the differences, ties and all", function()
    local random = stats.random(5)
    for _ = 1, 50 do
      local x = sequence(random:integer(7), function() return random:integer(4) end)
      local y = sequence(random:integer(7), function() return random:integer(4) end)
      local differences = {}
      for _, a in ipairs(x) do
        for _, b in ipairs(y) do differences[#differences + 1] = a - b end
      end
      assert.equal(stats.median(differences), stats.hodges_lehmann(x, y).shift)
    end
  end)

  it("say that three values against three have no 95 % interval", function()
    local result = stats.hodges_lehmann({ 4, 5, 6 }, { 1, 2, 3 })
    assert.equal(3, result.shift)
    assert.is_nil(result.low)
    assert.equal("3 and 3 values are too few for a 95 % interval", result.reason)
  end)
end)

describe("pairs", function()
  it("give the ratio as exp of the median log ratio, with the sign test's interval", function()
    local a = { 2, 4, 8, 16, 32, 64, 128 }
    local b = { 1, 1, 1, 1, 1, 1, 1 }
    local ratio = stats.paired_ratio(a, b)
    near(16, ratio.median)
    near(2, ratio.low)
    near(128, ratio.high)
    assert.equal(0.984375, ratio.coverage)
  end)

  it("have no ratio where a value is 0, but a difference", function()
    assert.same({ nil, "value 2 is not above 0: it has no logarithm" },
                { stats.paired_ratio({ 1, 0 }, { 1, 1 }) })
    assert.equal(-0.5, stats.paired_difference({ 1, 0 }, { 1, 1 }).median)
    assert.same({ nil, "1 values cannot be paired with 2" }, { stats.paired_difference({ 1 }, { 1, 1 }) })
  end)

  it("have the difference and interval that an independent calculation gives", function()
    for _, row in ipairs(reference.paired_differences) do
      local values, reversed = sample[row.sample], {}
      for i = 1, #values do reversed[i] = values[#values + 1 - i] * 1.02 end
      local found = stats.paired_difference(values, reversed, row.level)
      for _, field in ipairs { "median", "low", "high" } do near(row[field], found[field], 1e-9, field) end
    end
  end)

  it("are corrected by Bonferroni: 1 - α/m", function()
    near(0.9975, stats.bonferroni(0.95, 20))
    assert.equal(0.95, stats.bonferroni(0.95, 1))
    assert.equal(0.95, stats.bonferroni(0.95, 0))
  end)
end)

describe("a line through counts", function()
  it("agrees with scipy.stats.linregress and theilslopes", function()
    for _, row in ipairs(reference.fits) do
      local fit = stats.line(reference.fit_x, row.y)
      for _, field in ipairs { "a", "b", "a_error", "b_error" } do
        near(row[field], fit[field], 1e-9, field)
      end
      near(row.r2, fit.r2, 1e-12, "R²")
      local robust = stats.theil_sen(reference.fit_x, row.y)
      near(row.robust_b, robust.b, 1e-14, "Theil-Sen slope")
      near(row.robust_a, robust.a, 1e-12, "Theil-Sen intercept")
    end
  end)

  it("names the pattern of its residuals", function()
    local expected = { noisy = "none", curved = "curved", fanned = "fanning" }
    for _, row in ipairs(reference.fits) do
      assert.equal(expected[row.name], stats.line(reference.fit_x, row.y).pattern, row.name)
    end
    assert.equal("unknown", stats.line({ 1, 2, 3 }, { 1, 2, 4 }).pattern)
  end)

  it("bends where R's quadratic term is far from 0: its t is R's", function()
    local curved = stats.line(reference.fit_x, reference.fits[2].y)
    for _, row in ipairs(reference.quadratic_t) do
      if row.name == "curved" then
        assert.equal(("t of a quadratic term %.3g"):format(row.t), curved.why)
      else
        assert.is_true(math.abs(row.t) < 3.3)
      end
    end
  end)

  it("is exact, without rounding, where every point lies on it", function()
    local x = { 3, 1000, 7, 99999, 12345, 1000 }
    for _, slope in ipairs { 3, 7, 11, 0.1, 1 / 3 } do
      local y = sequence(#x, function(i) return 1234567 + slope * x[i] end)
      local fit = stats.line(x, y)
      near(slope, fit.b, slope % 1 == 0 and 0 or 1e-9)
      near(1234567, fit.a, slope % 1 == 0 and 0 or 1e-9)
    end
    local fit = stats.line(x, sequence(#x, function(i) return 42 + 3 * x[i] end))
    assert.same({ 42, 3, 0, 0, 1 }, { fit.a, fit.b, fit.a_error, fit.b_error, fit.r2 })
    assert.equal("exact", fit.pattern)
  end)

  it("keeps the overhead out of the slope", function()
    local x, y = {}, {}
    for i = 1, 50 do x[i], y[i] = i, 5000 + 2 * i + (i % 3 - 1) end
    local fit = stats.line(x, y)
    near(2, fit.b, 1e-2)
    near(5000, fit.a, 1e-3)
  end)

  it("has R² about the mean: none for a constant, near 0 for noise on a level", function()
    assert.is_nil(stats.line({ 1, 2, 3 }, { 5, 5, 5 }).r2)
    local x, y = sequence(100, tonumber), sequence(100, function(i) return 1e6 + (i * 37) % 11 end)
    assert.is_true(stats.line(x, y).r2 < 0.01)
  end)

  it("cannot be drawn through one x", function()
    for _, f in ipairs { stats.line, stats.theil_sen, stats.bootstrap } do
      assert.same({ nil, "a line needs two different x" }, { f({ 4, 4, 4 }, { 1, 2, 3 }) })
      assert.same({ nil, "2 x values against 1 y values" }, { f({ 4, 4 }, { 1 }) })
    end
  end)

  it("by Theil-Sen ignores a quarter of wild points, also among thousands", function()
    for _, n in ipairs { 40, 4000 } do
      local x = sequence(n, tonumber)
      local y = sequence(n, function(i) return i % 4 == 0 and 1e9 or 10 + 5 * i end)
      local fit = stats.theil_sen(x, y)
      assert.is_true(math.abs(fit.b - 5) < 1e-6, fit.method)
      assert.equal(n == 40 and "Theil-Sen" or "Theil-Sen, incomplete", fit.method)
    end
  end)

  it("has a bootstrap interval that is the same for the same seed and holds the slope", function()
    local y = reference.fits[1].y
    local first = stats.bootstrap(reference.fit_x, y, { seed = 1 })
    assert.same(first, stats.bootstrap(reference.fit_x, y, { seed = 1 }))
    assert.are_not.same(first, stats.bootstrap(reference.fit_x, y, { seed = 2 }))
    assert.is_true(first.b.low < 3.25 and 3.25 < first.b.high)
    -- About the width that theory gives: 2·1.96 standard errors.
    near(2 * 1.96 * reference.fits[1].b_error, first.b.high - first.b.low, 0.3, "width")
    local robust = stats.bootstrap(reference.fit_x, y, { seed = 1, resamples = 200, robust = true })
    assert.is_true(robust.b.low < 3.25 and 3.25 < robust.b.high)
  end)

  it("has resampled ends at percentiles as wide as the number of points asks for", function()
    local x, y = { 1, 2, 3, 4, 5, 6 }, { 3, 4, 8, 7, 12, 11 }
    local generator, slopes = stats.random(9, "bootstrap"), {}
    for i = 1, 500 do
      local rx, ry = {}, {}
      for k = 1, #x do
        local pick = generator:integer(#x)
        rx[k], ry[k] = x[pick], y[pick]
      end
      slopes[i] = stats.line(rx, ry).b
    end
    table.sort(slopes)
    -- scipy: t.isf(0.1, 4) * sqrt(6 / 4) = 1.8777865, 2 * norm.cdf(1.8777865) - 1
    local level = 0.9395896250666
    local b = stats.bootstrap(x, y, { seed = 9, resamples = 500, level = 0.8 }).b
    near(stats.quantile(slopes, (1 - level) / 2), b.low, 1e-6)
    near(stats.quantile(slopes, (1 + level) / 2), b.high, 1e-6)
  end)

  it("is not resampled from fewer than five points", function()
    assert.same({ nil, "4 points are too few to resample: 5 are needed" },
      { stats.bootstrap({ 1, 2, 3, 4 }, { 1, 5, 2, 8 }) })
  end)

  it("has an interval of no width where all points lie on it", function()
    local x = { 1, 2, 3, 4, 5 }
    local result = stats.bootstrap(x, { 12, 14, 16, 18, 20 })
    assert.same({ { low = 10, high = 10 }, { low = 2, high = 2 } }, { result.a, result.b })
  end)
end)

describe("pairs of points of a line", function()
  local each = require("pmclua.stats.pairs").each

  local function visited(x, limit)
    local list = {}
    each(x, limit, function(i, j) list[#list + 1] = ("%d-%d"):format(i, j) end)
    return table.concat(list, " ")
  end

  it("are all of few, and of many each with the one half of them further on", function()
    assert.equal("1-2 1-3 2-3", visited({ 3, 1, 2 }, 3))
    assert.equal("2-1 3-4 5-6", visited({ 4, 1, 2, 5, 3, 6 }, 5))
  end)

  it("have two different x", function() assert.equal("1-3 2-3", visited({ 1, 1, 2 }, 3)) end)
end)

describe("variance components", function()
  it("agree with R's analysis of variance for groups of different sizes", function()
    for _, row in ipairs(reference.components) do
      local result = stats.components(row.groups)
      near(row.between, result.between, 1e-11, "between")
      near(row.within, result.within, 1e-11, "within")
      assert.equal(6, result.groups)
      near(math.sqrt(row.within) / result.mean, result.within_share, 1e-11)
    end
  end)

  it("are never negative", function()
    local result = stats.components { { 1, 5, 9 }, { 2, 5, 8 }, { 0, 5, 10 } }
    assert.equal(0, result.between)
  end)

  it("need two groups, and two values in one", function()
    assert.same({ nil, "variance between groups needs two groups" }, { stats.components { { 1, 2 } } })
    assert.same({ nil, "variance within groups needs a group of two values" },
                { stats.components { { 1 }, { 2 } } })
    assert.same({ nil, "no values" }, { stats.components { { 1 }, {} } })
  end)
end)
