-- What comparisons, predictions and limits conclude.

local check = require "pmclua.verdict.check"
local verdict = require "pmclua.verdict"
local metric = require "pmclua.metric"
local stats = require "pmclua.stats"
local support = require "tests.support"

local reference = dofile(support.fixture "stats/reference.lua")

local sequence = support.sequence

local function constant(n, value) return sequence(n, function() return value end) end

-- 30 values about `centre`, spread by up to `share` of it, the same each time.
local function about(centre, share, seed)
  local random = stats.random(seed or 1)
  return sequence(30, function() return centre * (1 + share * (2 * random:uniform() - 1)) end)
end

local function scaled(values, factor)
  return sequence(#values, function(i) return values[i] * factor end)
end

local function shifted(values, by)
  return sequence(#values, function(i) return values[i] + by end)
end

describe("two cells, paired by block", function()
  it("have the ratio and interval that an independent calculation gives", function()
    for _, row in ipairs(reference.paired_ratios) do
      local values, reversed = reference.sample[row.sample], {}
      for i = 1, #values do reversed[i] = values[#values + 1 - i] * 1.02 end
      local result = verdict.compare(values, reversed, { level = row.level })
      assert.equal("sign", result.method)
      for _, field in ipairs { "ratio", "low", "high" } do
        assert.is_true(math.abs(result[field] / row[field] - 1) < 1e-12, row.sample .. " " .. field)
      end
      assert.is_true(result.coverage >= row.level)
    end
  end)

  it("are the same where the whole interval is within the margin", function()
    local base = about(1000, 0.002)
    local result = verdict.compare(scaled(base, 1.004), base, { margin = 0.01 })
    assert.equal("same", result.verdict)
    assert.equal(30, result.n)
    assert.equal(0.01, result.margin)
  end)

  it("are different only where the whole interval is beyond the margin", function()
    local base, other = about(1000, 0.005, 1), about(1000, 0.005, 2)
    assert.equal("more", verdict.compare(scaled(other, 1.02), base, { margin = 0.01 }).verdict)
    assert.equal("undecided", verdict.compare(scaled(other, 1.01), base, { margin = 0.01 }).verdict)
    assert.equal("fewer", verdict.compare(scaled(other, 0.98), base, { margin = 0.01 }).verdict)
  end)

  it("are judged in the words of their kind", function()
    local base = about(1000, 0.005)
    local words = { time = { "slower", "faster" }, count = { "more", "fewer" },
                    ratio = { "higher", "lower" } }
    for kind, pair in pairs(words) do
      assert.equal(pair[1], verdict.compare(scaled(base, 1.1), base, { kind = kind }).verdict)
      assert.equal(pair[2], verdict.compare(scaled(base, 0.9), base, { kind = kind }).verdict)
    end
    assert.has_error(function() verdict.compare(base, base, { kind = "speed" }) end)
  end)

  it("cancel what a block does to both", function()
    local random = stats.random(5)
    local base = sequence(30, function() return 1000 * math.exp(random:normal()) end)
    assert.equal("more", verdict.compare(scaled(base, 1.02), base).verdict)
    assert.equal("undecided", verdict.compare(scaled(base, 1.02), base, { paired = false }).verdict)
  end)

  it("are undecided under 6 pairs, and say how many are needed", function()
    local result = verdict.compare({ 10, 11, 12 }, { 1, 2, 3 })
    assert.equal("undecided", result.verdict)
    assert.is_nil(result.low)
    assert.equal("95 % interval needs 6 values, there are 3", result.reason)
  end)

  it("need as many values on both sides, and any at all", function()
    assert.same({ nil, "3 values cannot be paired with 2" }, { verdict.compare({ 1, 2, 3 }, { 1, 2 }) })
    assert.same({ nil, "no values" }, { verdict.compare({}, { 1 }) })
    assert.same({ nil, "of the baseline, no values" }, { verdict.compare({ 1 }, {}) })
  end)

  it("keep the blocks that both have", function()
    local a, b = verdict.pair({ [1] = 10, [2] = 20, [4] = 40 }, { [4] = 4, [1] = 1, [3] = 3 })
    assert.same({ { 10, 40 }, { 1, 4 } }, { a, b })
  end)
end)

describe("exact values", function()
  it("are compared exactly from three on", function()
    local result = verdict.compare(constant(3, 1010), constant(3, 1000), { margin = 0.001 })
    assert.same({ "exact", 1.01, 1.01, 1.01, "more" },
                { result.method, result.ratio, result.low, result.high, result.verdict })
    assert.equal("same", verdict.compare(constant(3, 1000), constant(3, 1000), { margin = 0 }).verdict)
    assert.equal("same", verdict.compare(constant(3, 1010), constant(3, 1000), { margin = 0.01 }).verdict)
    assert.equal(4, verdict.compare(constant(3, 2), constant(3, 0.5)).ratio)
  end)

  it("are not concluded from a single repetition, nor from two that may agree by chance", function()
    assert.equal("undecided", verdict.compare({ 2000 }, { 1000 }).verdict)
    local two = verdict.compare(constant(2, 1010), constant(2, 1000))
    assert.same({ "undecided", "3 equal values are needed, there are 2" },
      { two.verdict, two.reason })
  end)

  it("that differ take more values at a higher level, those within the margin do not", function()
    local function reason(count, value, level)
      return verdict.compare(constant(count, value), constant(count, 1000), { level = level }).reason
    end
    assert.equal("4 equal values are needed, there are 3", reason(3, 1011, 1 - 0.05 / 2))
    assert.equal("5 equal values are needed, there are 4", reason(4, 1011, 1 - 0.05 / 7))
    assert.equal("5 equal values are needed, there are 4", reason(4, 989, 1 - 0.05 / 25))
    assert.equal("6 equal values are needed, there are 5", reason(5, 1011, 1 - 0.05 / 26))
    for _, case in ipairs { { 3, 1011, 0.95 }, { 3, 1010, 0.999 }, { 4, 1011, 1 - 0.05 / 6 },
      { 5, 989, 1 - 0.05 / 25 } } do
      assert.is_nil(reason(unpack(case)))
    end
    assert.equal("exact", verdict.compare(constant(3, 1000), constant(3, 1000), { level = 0.999 }).method)
  end)

  it("differ by chance in no more than 5 of 100 equal experiments, however few they are", function()
    local random = stats.random(9)
    for n = 2, 6 do
      local different = 0
      local function either() return 50 + (random:uniform() < 0.5 and 1 or 0) end
      for _ = 1, 2000 do
        local found = verdict.compare(sequence(n, either), sequence(n, either), { margin = 0.001 })
        if found.verdict ~= "same" and found.verdict ~= "undecided" then different = different + 1 end
      end
      assert.is_true(different <= 100, n .. ": " .. different)
    end
  end)

  it("of 0 have no ratio but a difference", function()
    local same = verdict.compare(constant(5, 0), constant(5, 0))
    assert.equal("same", same.verdict)
    assert.is_nil(same.ratio)
    local more = verdict.compare(constant(5, 3), constant(5, 0))
    assert.equal("more", more.verdict)
    assert.equal(3, more.difference.shift)
    assert.equal(0, verdict.compare(constant(5, 0), constant(5, 3)).ratio)
  end)

  it("below 0 are compared by their difference too", function()
    assert.equal("lower", verdict.compare(constant(3, -4), constant(3, -2), { kind = "ratio" }).verdict)
    assert.equal("same", verdict.compare(constant(3, -2.01), constant(3, -2), { kind = "ratio" }).verdict)
  end)
end)

describe("counts that may be 0", function()
  local some = sequence(20, function(i) return i % 3 end)

  it("are compared by their shift and the Mann-Whitney test", function()
    local many = sequence(20, function(i) return 10 + i % 3 end)
    local result = verdict.compare(many, some)
    assert.equal("Mann-Whitney", result.method)
    assert.equal("more", result.verdict)
    assert.equal(stats.mann_whitney(many, some).p, result.p)
    assert.same(stats.hodges_lehmann(many, some).shift, result.difference.shift)
    for end_of, of_shift in pairs { ratio = "shift", low = "low", high = "high" } do
      assert.equal(1 + result.difference[of_shift] / stats.median(some), result[end_of])
    end
  end)

  it("are undecided where the shift may be none", function()
    assert.equal("undecided", verdict.compare(sequence(20, function(i) return (i + 1) % 4 end), some).verdict)
  end)

  it("of a baseline mostly 0 count any shift that is surely none", function()
    local rare = sequence(20, function(i) return i == 7 and 1 or 0 end)
    local result = verdict.compare(sequence(20, function(i) return 5 + i % 2 end), rare)
    assert.is_nil(result.ratio)
    assert.equal("more", result.verdict)
    assert.equal("same", verdict.compare(rare, rare).verdict)
  end)
end)

describe("unpaired cells", function()
  it("are compared by the Hodges-Lehmann shift of logarithms", function()
    local a, b = reference.sample.skewed10, reference.sample.skewed13
    local result = verdict.compare(a, b, { paired = false })
    local function logs(values) return sequence(#values, function(i) return math.log(values[i]) end) end
    local shift = stats.hodges_lehmann(logs(a), logs(b))
    assert.equal("Hodges-Lehmann", result.method)
    assert.same({ math.exp(shift.shift), math.exp(shift.low), math.exp(shift.high) },
                { result.ratio, result.low, result.high })
    assert.same({ 10, 13 }, { result.n, result.n_baseline })
  end)
end)

describe("the noise floor", function()
  it("is how far the interval of a baseline against itself reaches", function()
    local aa = verdict.compare(about(1000, 0.02, 1), about(1000, 0.02, 2))
    local floor = verdict.noise_floor(aa)
    assert.equal(math.max(aa.high - 1, 1 - aa.low), floor)
    assert.is_nil(verdict.noise_floor(verdict.compare({ 1, 2 }, { 1, 2.5 })))
  end)

  it("makes a difference below it undecided, and says so", function()
    local base = about(1000, 0.005)
    local faster = scaled(base, 0.97)
    assert.equal("faster", verdict.compare(faster, base, { kind = "time", floor = 0.02 }).verdict)
    local hidden = verdict.compare(faster, base, { kind = "time", floor = 0.04 })
    assert.equal("undecided", hidden.verdict)
    assert.equal("the noise floor (A/A) is 4 %", hidden.reason)
  end)

  it("allows no sameness finer than itself", function()
    local base = about(1000, 0.002)
    assert.equal("same", verdict.compare(base, base, { floor = 0.005 }).verdict)
    assert.equal("undecided", verdict.compare(about(1000, 0.002, 2), base, { floor = 0.03 }).verdict)
  end)
end)

describe("several comparisons that are told together", function()
  -- A comparison that differs at levels up to this one.
  local function sure_to(highest)
    return function(level) return { verdict = level <= highest and "more" or "undecided", level = level } end
  end

  local function together(highest, level)
    local tests = support.sequence(#highest, function(i) return sure_to(highest[i]) end)
    local conclusions = verdict.together(tests, verdict.differs, level)
    return support.sequence(#highest, function(i) return conclusions[i].verdict end), conclusions
  end

  it("have intervals at 1 - α/m where none differs", function()
    local words, conclusions = together { 0.98, 0.97, 0.6, 0.9 }
    assert.same({ "undecided", "undecided", "undecided", "undecided" }, words)
    for i = 1, 4 do assert.near(0.9875, conclusions[i].level, 1e-12) end
  end)

  it("are told by Holm's steps: those that differ make room for the others", function()
    local words, conclusions = together { 0.9876, 0.976, 0.96, 0.984 }
    assert.same({ "more", "more", "more", "more" }, words)
    for i, m in ipairs { 4, 2, 1, 3 } do assert.near(1 - 0.05 / m, conclusions[i].level, 1e-12) end
    assert.same({ "more", "undecided", "undecided", "undecided" }, (together { 0.99, 0.96, 0.96, 0.983 }))
  end)

  it("are as asked where there is one, and none where there is none", function()
    local _, conclusions = together({ 0.5 }, 0.9)
    assert.equal(0.9, conclusions[1].level)
    assert.same({}, (together {}))
  end)

  it("agree with Holm's procedure on p", function()
    local random = require("pmclua.stats").random(7, "holm")
    for _ = 1, 200 do
      local p = support.sequence(6, function() return random:uniform() ^ 3 end)
      local words = together(support.sequence(6, function(i) return 1 - p[i] end))
      for i, tested in ipairs(require("pmclua.stats.multiple").holm(p, 0.05)) do
        assert.equal(tested.rejected and "more" or "undecided", words[i])
      end
    end
  end)
end)

describe("the quality of a value", function()
  local function quality(values, status, margin) return verdict.quality(status or "counted",
                                                                        stats.summary(values), margin) end

  it("is exact, stable, noisy, of too few values, or a single repetition", function()
    assert.equal("exact", quality(constant(2, 7)))
    assert.equal("stable", quality(about(1000, 0.01)))
    assert.equal("noisy", quality(about(1000, 0.2)))
    assert.equal("stable", quality(about(1000, 0.2), nil, 0.3))
    assert.equal("few", quality { 100, 100, 101 })
    assert.equal("single", quality { 7 })
  end)

  it("is the event's status where it was not simply counted", function()
    assert.equal("scaled", quality(about(1000, 0.01), "scaled"))
    for _, status in ipairs { "not-counted", "unsupported", "constant-zero" } do
      assert.equal(status, verdict.quality(status, nil))
    end
  end)
end)

describe("a prediction", function()
  local function expect(source, lookups)
    local prediction = check.prediction(assert(metric.comparison(source)))
    for _, lookup in ipairs(lookups) do prediction:take(lookup) end
    return prediction:result()
  end

  it("without a tolerance holds in every repetition", function()
    local lookups = sequence(5, function(i) return { instructions = 300 * i + 2, iterations = 100 * i } end)
    local result = expect("instructions == 3 * iterations + 2", lookups)
    assert.same({ "pass", 5, 0 }, { result.state, result.n, result.failed })
    lookups[3].instructions = 903
    result = expect("instructions == 3 * iterations + 2", lookups)
    assert.same({ "fail", 1, 3, 903, 902 },
                { result.state, result.failed, result.index, result.observed, result.expected })
  end)

  it("with a tolerance holds at the median", function()
    local lookups = sequence(9, function(i) return { cycles = i == 9 and 50 or 3 + 0.01 * i } end)
    local result = expect("cycles == 3 +- 2%", lookups)
    assert.same({ "pass", 3.05, 3 }, { result.state, result.observed, result.expected })
    assert.equal("fail", expect("cycles == 3 +- 0.04", lookups).state)
    assert.equal("pass", expect("cycles == 3 ± 0.06", lookups).state)
  end)

  it("about what was not counted neither passes nor fails", function()
    local result = expect("cycles == 3", { {}, {} })
    assert.same({ "uncountable", "cycles is absent" }, { result.state, result.reason })
    assert.equal("uncountable", expect("cycles == 3", { { cycles = 3 }, {} }).state)
    assert.equal("fail", expect("cycles == 3", { { cycles = 4 }, {} }).state)
    assert.equal("there are no repetitions", expect("cycles == 3", {}).reason)
  end)
end)

describe("a gate", function()
  local function absolute(source, values, allowed)
    return check.absolute(assert(metric.limit(source)), values, allowed)
  end

  local function relative(source, new, old)
    local found = verdict.compare(new, old, { paired = false })
    return check.judge(assert(metric.limit(source)), found, stats.median(new), stats.median(old))
  end

  it("with an absolute limit looks at the median", function()
    local run = { 4990, 5000, 5100 }
    local result = absolute("page_faults <= 5000", run, { 5000, 5000, 5000 })
    assert.same({ "pass", 5000, 5000 }, { result.state, result.observed, result.allowed })
    assert.equal("fail", absolute("page_faults < 5000", run, { 5000 }).state)
    assert.equal("fail", absolute("page_faults <= 4999", run, { 4999 }).state)
    assert.equal("uncountable", absolute("page_faults <= cycles", run, {}).state)
  end)

  it("with a relative limit fails only where the whole interval is above it", function()
    local old = about(1e6, 0.01, 1)
    local function new(factor) return scaled(about(1e6, 0.01, 2), factor) end
    assert.equal("pass", relative("instructions <= +2%", new(1.00), old).state)
    local failed = relative("instructions <= +1%", new(1.03), old)
    assert.equal("fail", failed.state)
    assert.is_true(failed.low > 1.01 and failed.low < failed.ratio and failed.ratio < failed.high)
    assert.is_true(math.abs(failed.allowed / failed.baseline - 1.01) < 1e-12)
  end)

  it("is undecided where the interval crosses the limit, with the change that would have failed", function()
    local old = about(1e6, 0.01, 1)
    local function new(factor) return scaled(about(1e6, 0.01, 2), factor) end
    local close = relative("instructions <= +1%", new(1.01), old)
    assert.equal("undecided", close.state)
    assert.is_true(close.low < 1.01 and close.high > 1.01)
    -- The same values, moved by as much, are just beyond the limit.
    local share = (1 + close.detectable) / close.ratio
    assert.equal("fail", relative("instructions <= +1%", new(1.01 * share * 1.0001), old).state)
    assert.equal("undecided", relative("instructions <= +1%", new(1.01 * share * 0.9999), old).state)
  end)

  it("says which change would have failed, from above and below, also where there is no ratio", function()
    for _, source in ipairs { "n <= +1%", "n >= -1%" } do
      for _, middle in ipairs { 100, -100 } do
        local old, new = about(middle, 0.1, 1), about(middle, 0.1, 2)
        local found = relative(source, new, old)
        assert.equal("undecided", found.state)
        -- Moved by what is missing to it, the same values are at the limit.
        local is_upper, estimate = source:find "<=" ~= nil, nil
        if middle > 0 then estimate = found.ratio - 1
        else
          local difference = verdict.compare(new, old, { paired = false }).difference
          estimate = difference.shift / math.abs(found.baseline)
        end
        assert.equal(is_upper, found.detectable > 0.01)
        assert.equal(not is_upper, found.detectable < -0.01)
        local function moved(by)
          if middle > 0 then return scaled(new, (1 + found.detectable + by) / (1 + estimate)) end
          return shifted(new, (found.detectable + by - estimate) * math.abs(found.baseline))
        end
        local beyond, within = moved(is_upper and 1e-6 or -1e-6), moved(is_upper and -1e-6 or 1e-6)
        assert.equal("fail", relative(source, beyond, old).state)
        assert.equal("undecided", relative(source, within, old).state)
      end
    end
  end)

  it("may ask for more as well as for less", function()
    local old = about(2, 0.01, 1)
    assert.equal("pass", relative("ipc >= -2%", about(1.99, 0.01, 2), old).state)
    assert.equal("fail", relative("ipc >= -2%", about(1.9, 0.01, 2), old).state)
  end)

  it("compares exact counts exactly", function()
    local old, zero = constant(3, 1000), constant(3, 0)
    assert.equal("pass", relative("n <= +1%", constant(3, 1010), old).state)
    assert.equal("fail", relative("n <= +1%", constant(3, 1011), old).state)
    assert.equal("pass", relative("n <= +0%", old, old).state)
    assert.equal("fail", relative("n < +0%", old, old).state)
    assert.equal("pass", relative("n >= +0%", old, old).state)
    assert.equal("fail", relative("n > +0%", old, old).state)
    assert.equal("fail", relative("n <= +1%", constant(3, 1), zero).state)
    assert.equal("pass", relative("n <= +1%", zero, zero).state)
  end)

  it("on too few repetitions is no pass", function()
    local few = relative("n <= +1%", { 1, 2 }, { 1, 2 })
    assert.same({ "uncountable", "2 and 2 values are too few for a 95 % interval" },
      { few.state, few.reason })
  end)

  it("fails as a whole where one limit fails, before one that is uncountable", function()
    local pass, fail, unknown = { state = "pass" }, { state = "fail" }, { state = "uncountable" }
    local undecided = { state = "undecided" }
    assert.equal("pass", check.gravest { pass, pass })
    assert.equal("uncountable", check.gravest { pass, unknown })
    assert.equal("fail", check.gravest { unknown, fail, pass })
    assert.equal("uncountable", check.gravest { unknown, undecided, pass })
    assert.equal("undecided", check.gravest { undecided, pass })
    assert.equal("uncountable", check.gravest {})
  end)
end)
