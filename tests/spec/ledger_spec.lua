-- Ledgers: lines that add up, whom they name, which function of A is which of B. The long form of the
-- simulation is tests/bench/ledger.lua.

local code = require "pmclua.ledger.code"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local made = require "tests.support.profiles"
local mean = require "pmclua.stats.mean"
local model = require "tests.bench.ledger_model"
local multiple = require "pmclua.stats.multiple"
local random = require "pmclua.stats.random"
local support = require "tests.support"

local function near(expected, actual)
  if math.abs(expected - actual) > 1e-8 * math.max(1e-6, math.abs(expected)) then
    error(("expected %.12g, got %.12g"):format(expected, actual), 2)
  end
end

local function by_label(found)
  local rows = {}
  for _, list in ipairs { found.lines, found.rest } do
    for _, row in ipairs(list) do rows[row.label] = row end
  end
  return rows
end

-- n repetitions of one profile.
local function same(n, lines, more)
  local list = {}
  for i = 1, n do list[i] = made.profile(lines(), more) end
  return list
end

describe("means", function()
  local a, b = { 10, 12, 9, 14, 11, 13 }, { 11, 15, 9, 17, 12, 15 }

  -- scipy.stats.ttest_rel(b, a), and its confidence_interval()
  it("of pairs agree with SciPy on p and interval", function()
    local found = mean.paired(a, b)
    near(1.6666666666666667, found.mean)
    near(0.019868051523379407, mean.p(found))
    local low, high = mean.interval(found, 0.95)
    near(0.3957369914894786, low)
    near(2.9375963418438547, high)
  end)

  -- 2 * scipy.stats.t.sf(t, df)
  it("have SciPy's tails of Student's distribution", function()
    local rows = { { 3.9, 29, 0.0005245207593004633 }, { 0.5, 9, 0.6290712998260264 },
      { 12, 10, 2.92140882476998e-07 }, { -2, 1, 0.2951672353008664 } }
    for _, row in ipairs(rows) do near(row[3], mean.p { mean = row[1], error = 1, df = row[2] }) end
  end)

  it("of unpaired values that do not vary have all degrees of freedom, and no error", function()
    local found = mean.unpaired({ 5, 5, 5 }, { 6, 6 })
    assert.same({ 1, 0, 3 }, { found.mean, found.error, found.df })
  end)

  it("of unpaired values that spread alike have all degrees of freedom", function()
    for n = 3, 12 do
      local old, new = {}, {}
      for i = 1, n do old[i], new[i] = i / 3, 10 + i / 3 end
      assert.equal(2 * n - 2, mean.unpaired(old, new).df)
    end
  end)

  it("of unpaired values have Welch's degrees of freedom, rounded down", function()
    local found = mean.unpaired(a, b)
    near(1.6666666666666667, found.mean)
    assert.equal(8, found.df)
  end)

  it("of equal values have no error", function()
    local found = mean.paired({ 3, 3, 3 }, { 5, 5, 5 })
    assert.same({ 2, 0, 0 }, { found.mean, found.error, mean.p(found) })
    assert.same({ 2, 2 }, { mean.interval(found, 0.95) })
  end)
end)

describe("Holm's procedure", function()
  it("agrees with R's p.adjust", function()
    local adjusted = {}
    for i, tested in ipairs(multiple.holm({ 0.01, 0.02, 0.03, 0.005 }, 0.05)) do
      adjusted[i] = tested.adjusted
    end
    for i, expected in ipairs { 0.03, 0.04, 0.04, 0.02 } do near(expected, adjusted[i]) end
    assert.equal(1, multiple.holm({ 0.9, 0.95 }, 0.05)[1].adjusted)
  end)

  it("stops at the first that fails, however small the next p is", function()
    local tested = multiple.holm({ 0.001, 0.03, 0.031 }, 0.05)
    assert.same({ true, false, false }, { tested[1].rejected, tested[2].rejected, tested[3].rejected })
    near(1 - 0.05 / 3, tested[1].level)
    near(1 - 0.05 / 2, tested[3].level)
  end)
end)

describe("a ledger", function()
  it("has lines that add up to the total to the last count, whatever it was made of", function()
    local source = random.new(5, "sums")
    for _ = 1, 50 do
      local a, b, lines = {}, {}, {}
      local n = source:integer(12)
      for k = 1, source:integer(9) do
        local line = { key = k, label = "f" .. k, a = {}, b = {}, samples = source:integer(60) }
        for i = 1, n do line.a[i], line.b[i] = source:integer(2 ^ 30), source:integer(2 ^ 30) end
        lines[k] = line
      end
      for i = 1, n do a[i], b[i] = 2 ^ 34 + source:integer(9), 2 ^ 34 + source:integer(9) end
      local found = ledger.new { a = a, b = b, lines = lines }
      local sum_a, sum_b = 0, 0
      for _, list in ipairs { found.lines, found.rest } do
        for _, row in ipairs(list) do sum_a, sum_b = sum_a + row.a_sum, sum_b + row.b_sum end
      end
      assert.same({ found.total.a_sum, found.total.b_sum }, { sum_a, sum_b })
    end
  end)

  it("says as a line what its lines lack of the total", function()
    local found = ledger.new { a = { 10, 20 }, b = { 30, 30 }, lines = { { key = 1, label = "f",
      a = { 9, 20 }, b = { 25, 30 } } } }
    local row = found.rest[1]
    assert.same({ "not attributed", 1, 5 }, { row.label, row.a_sum, row.b_sum })
    assert.is_nil(row.verdict)
  end)

  it("names nothing below 10 pairs, and says that they are too few", function()
    local function of(n)
      local a, b, line_a, line_b = {}, {}, {}, {}
      for i = 1, n do
        a[i], b[i] = 1000 + i % 3, 2000 + i % 2
        line_a[i], line_b[i] = a[i] - 1, b[i] - 1
      end
      return ledger.new { a = a, b = b, lines = { { key = 1, label = "f", a = line_a, b = line_b } } }
    end
    local few, enough = of(9), of(10)
    assert.same({ "few", "undecided" }, { few.conclusion.kind, few.lines[1].verdict })
    assert.same({ "named", "more" }, { enough.conclusion.kind, enough.lines[1].verdict })
    assert.is_true(enough.lines[1].low > 0)
  end)

  it("knows exact counts from one repetition", function()
    local found = code.new { a = { made.profile { made.line("f", 100), made.line("g", 50) } },
      b = { made.profile { made.line("f", 103), made.line("g", 50) } } }
    local rows = by_label(found)
    assert.same({ "more", 3, 1 }, { rows.f.verdict, rows.f.difference, rows.f.share })
    assert.same("same", rows.g.verdict)
    assert.same({ 150, 153, 3 }, { found.total.a, found.total.b, found.total.difference })
  end)

  it("joins lines of fewer than 20 samples", function()
    local function lines() return { made.line("f", 40), made.line("g", 1), made.line("h", 0.5) } end
    local found = code.new { a = same(6, lines, { exact = false }), b = same(6, lines, { exact = false }) }
    assert.same({ "f", "2 others" }, { found.lines[1].label, found.lines[2].label })
    assert.equal(2, found.few)
  end)

  it("says that a difference is spread over many where the total differs and no line does", function()
    local source, a, b, lines = random.new(1, "spread"), {}, {}, {}
    for k = 1, 40 do lines[k] = { key = k, label = "f" .. k, a = {}, b = {} } end
    for i = 1, 12 do
      a[i], b[i] = 0, 0
      for _, line in ipairs(lines) do
        line.a[i], line.b[i] = 1000 + source:integer(100), 1007 + source:integer(100)
        a[i], b[i] = a[i] + line.a[i], b[i] + line.b[i]
      end
    end
    local found = ledger.new { a = a, b = b, lines = lines }
    assert.equal("spread", found.conclusion.kind)
    assert.equal(40, found.comparisons)
  end)

  it("names a line where its mean says so, and calls it skewed where signs alone do", function()
    local function of(differences)
      local a, b = {}, {}
      for i, difference in ipairs(differences) do a[i], b[i] = 1000, 1000 + difference end
      return ledger.new { a = a, b = b, lines = { { key = 1, label = "f", a = a, b = b } } }.lines[1]
    end
    local outlier = of { 5, 6, 5, 7, 5, 6, 5, 6, 5, 6, 5, 900 }
    assert.equal("skewed", outlier.verdict)
    assert.is_true(outlier.low < 0 and outlier.high > 0)
    local mixed = of { 9, 8, 9, 9, 8, 9, 8, 9, -1, -1, -1, -1 }
    assert.same({ "more", true }, { mixed.verdict, mixed.low > 0 })
    assert.equal("skewed", of({ -5, -6, -5, -7, -5, -6, -5, -6, -5, -6, -5, 900 }).verdict)
    assert.equal("undecided", of({ 9, -8, 9, -9, 8, -9, 8, -9, -1, 1, -1, 1 }).verdict)
  end)

  it("names no trifle, below the margin of the total, and joins rows with their interval", function()
    local a, b, total_a, total_b = {}, {}, {}, {}
    for i = 1, 12 do
      a[i], b[i] = 100 + i % 2, 104 + i % 3
      total_a[i], total_b[i] = 1000 + i % 2, 1004 + i % 3
    end
    local function of(margin)
      return ledger.new { a = total_a, b = total_b, margin = margin,
        lines = { { key = 1, label = "f", a = a, b = b } } }
    end
    assert.same({ "named", "more" }, { of().conclusion.kind, of().lines[1].verdict })
    assert.is_nil(of().lines[1].trifle)
    local found = of(0.01)
    assert.same({ "more", true }, { found.lines[1].verdict, found.lines[1].trifle })
    assert.same({}, found.conclusion.names)
    local whole = ledger.joined(found, lists.joined { found.lines, found.rest }, "all")
    assert.same({ found.total.difference, found.total.low, found.total.high },
      { whole.difference, whole.low, whole.high })
  end)

  it("takes repetitions of one layout as one observation", function()
    local a, b, groups = {}, {}, {}
    for i = 1, 20 do
      groups[i] = math.ceil(i / 2)
      a[i], b[i] = 1000, 1000 + 10 * (groups[i] % 2) - 4
    end
    local asked = { a = a, b = b, lines = { { key = 1, label = "f", a = a, b = b } } }
    local alone = ledger.new(asked).total
    asked.groups = groups
    local grouped = ledger.new(asked).total
    assert.equal(alone.difference, grouped.difference)
    assert.is_true(grouped.high - grouped.low > alone.high - alone.low)
  end)

  it("compares repetitions that did not run in one block, however many each side has", function()
    local a, b = {}, {}
    for i = 1, 12 do a[i] = 100 + i % 4 end
    for i = 1, 15 do b[i] = 120 + i % 3 end
    local found = ledger.new { a = a, b = b, paired = false,
      lines = { { key = 1, label = "f", a = a, b = b } } }
    assert.same({ "more", 12, 15, false },
      { found.lines[1].verdict, found.n, found.n_b, found.paired })
  end)

  it("of kernels is of one iteration, however many each repetition had", function()
    local function side(f)
      local list = {}
      for i = 1, 12 do
        list[i] = made.profile({ made.line("f", 3 * f * i), made.line("g", 7 * i) },
          { iterations = 3 * i, exact = false })
      end
      return list
    end
    local found = code.new { a = side(10), b = side(11) }
    local row = found.lines[1]
    assert.same({ "f", 10, 11, "more" }, { row.label, row.a, row.b, row.verdict })
    near(10 + 7 / 3, found.total.a)
    assert.equal(0, #found.rest)
  end)

  it("of one side has shares of its total, and medians with their intervals", function()
    local found = code.new { a = same(8, function() return { made.line("f", 30), made.line("g", 10) } end) }
    local row = found.lines[1]
    assert.same({ "f", 30, 30, 0.75 }, { row.label, row.a, row.median, row.share })
    assert.same({ "one", nil }, { found.conclusion.kind, row.verdict })
  end)
end)

describe("the functions of two programs", function()
  local function matched(a, b, by)
    local found = code.new { a = { made.profile(a) }, by = by,
      b = { made.profile(b, { program = "/home/u/new/parse2" }) } }
    return by_label(found), found
  end
  local NEW = { file = "/home/u/new/parse2", build_id = "bb" }

  it("are matched by name although the programs have other names", function()
    local rows = matched({ made.line("f", 5) }, { made.line("f", 7, NEW) })
    assert.same({ 5, 7 }, { rows.f.a, rows.f.b })
  end)

  it("are matched although their library has another name, which its version is in", function()
    local function deflate(version, id, count)
      return made.line("deflate", count,
        { file = "/lib/libz.so." .. version, build_id = id, source = "/src/z/deflate.c" })
    end
    local rows = matched({ deflate("1.2", "cc", 5) }, { deflate("1.3", "dd", 7) })
    local row = rows["deflate [libz.so.1.2]"]
    assert.same({ 5, 7 }, { row.a, row.b })
  end)

  it("are told apart where a name is in several files", function()
    local LIBRARY = { file = "/lib/libz.so.1", source = "z.c" }
    local rows = matched({ made.line("init", 5), made.line("init", 2, LIBRARY) },
      { made.line("init", 6, NEW), made.line("init", 9, LIBRARY) })
    assert.same({ 5, 6 }, { rows.init.a, rows.init.b })
    assert.same({ 2, 9 }, { rows["init [libz.so.1]"].a, rows["init [libz.so.1]"].b })
  end)

  it("are one line a file where they have no names and the builds differ", function()
    local function nameless(offset, count, id)
      return made.line(("libx.so+0x%x"):format(offset), count, { file = "/lib/libx.so", build_id = id })
    end
    local other = matched({ nameless(16, 5, "aa"), nameless(64, 6, "aa") }, { nameless(48, 4, "bb") })
    local row = other["code without symbols [libx.so]"]
    assert.same({ 11, 4 }, { row.a, row.b })
    local rows = matched({ nameless(16, 5, "aa"), nameless(64, 6, "aa") }, { nameless(16, 4, "aa") })
    assert.same({ 5, 4 }, { rows["libx.so+0x10"].a, rows["libx.so+0x10"].b })
  end)

  it("have a line of a header and one of their own source apart that have the same number", function()
    local function part(source, count)
      return { line = 7, source = source, address = 0x1000, count = count, samples = count }
    end
    local f = made.line("f", 9, { at = { part("/home/u/parse.c", 4), part("/home/u/parse.h", 5) } })
    f.source = nil
    local found = code.new { a = { made.profile { f } }, by = "line" }
    local counts = lists.map(lists.joined { found.lines, found.rest }, function(row) return row.a end)
    table.sort(counts)
    assert.same({ 4, 5 }, counts)
  end)

  it("have source lines that add up, what has no line among them", function()
    local rows, found = matched({ made.line("f", 10, { lines = { [3] = 4, [5] = 5 } }) },
      { made.line("f", 12, { lines = { [3] = 4, [5] = 8 }, file = NEW.file }) }, "line")
    assert.same({ 5, 8, 1 }, { rows["parse.c:5 f"].a, rows["parse.c:5 f"].b, rows.f.a })
    assert.same({ 10, 12 }, { found.total.a, found.total.b })
  end)
end)

-- Few experiments of each; the seeds are fixed, so are the shares.
describe("of simulated experiments", function()
  local function asked(effect)
    return { shares = model.shapes[1].shares(), target = 7, effect = effect, samples = 300, pairs = 30,
      noise = 0.01, block = 0.05 }
  end

  it("+5 % of the whole run in one of twenty functions names it alone in 95 of 100", function()
    local found = model.named(asked(0.05), 40, 1)
    assert.is_true(found.alone >= 0.95, ("%g"):format(found.alone))
    assert.equal(1, found.sums)
  end)

  it("A against A names nobody in 95 of 100", function()
    local found = model.named(asked(0), 40, 2)
    assert.is_true(found.none >= 0.95, ("%g"):format(found.none))
    assert.equal(1, found.sums)
  end)
end)

describe("the rule of verdicts on lines", function()
  it("names nobody among equals in 99 of 100, and calls skewed what outliers hide", function()
    local asked = { lines = 3, pairs = 20, outliers = 0.1, effect = 0 }
    local equal = model.times_named(asked, 150, 5)
    assert.is_true(equal.first + equal.others <= 0.03)
    asked.effect = 0.03
    local planted = model.times_named(asked, 150, 5)
    assert.is_true(planted.skewed > 0.3 and planted.first < 0.1 and planted.others <= 0.03)
  end)

  it("is what the documents say", function()
    local rule = require "pmclua.ledger.rule"
    for _, path in ipairs { "lua/pmclua/report/READING.md", "lua/pmclua/ledger/README.md" } do
      local text = support.read(support.root .. "/" .. path)
      local level = ("at %g %% for all lines together"):format(100 * rule.LEVEL)
      assert.matches(level, text:gsub("%s+", " "), 1, true)
      assert.matches(("elow %d pairs"):format(rule.FEWEST_PAIRS), text, 1, true)
    end
  end)
end)
