-- Formulae over counts: what they mean, what they refuse and where they point.

local metric = require "pmclua.metric"

local function value_of(formula, counts)
  return assert(metric.formula(formula)).evaluate(counts or {})
end

local function refusal(kind, source)
  local result, problem = metric[kind](source)
  assert.is_nil(result, source)
  return problem
end

describe("a formula", function()
  it("takes an event as reports show it, and leaves what is subtracted alone", function()
    local limit = metric.limit "page-faults <= 500"
    assert.same({ { "page_faults" }, "page-faults <= 500" }, { limit.needs, limit.formula })
    assert.same({ "valgrind_l1d_misses" }, metric.limit("valgrind::l1d-misses <= +1%").needs)
    assert.same({ "cycles", "instructions" }, metric.comparison("cycles-instructions > 0").needs)
    assert.equal(10, metric.comparison("n == 2 * page-faults").places.page_faults)
  end)
end)

describe("a formula", function()
  it("follows the rules of arithmetic, from the left", function()
    local rows = {
      { "1 + 2 * 3", 7 }, { "(1 + 2) * 3", 9 }, { "10 - 4 - 3", 3 }, { "100 / 10 / 5", 2 },
      { "2 * 3 / 4", 1.5 }, { "-2 * -3", 6 }, { "- -2", 2 }, { "1 - -1", 2 }, { "1e3 + .5 + 2.", 1002.5 },
      { "2.5E-1", 0.25 }, { " \t1\n+ 1 ", 2 }, { "-(1 + 2)", -3 }, { "6 / -2", -3 }, { "1+-1", nil },
    }
    for _, row in ipairs(rows) do
      local parsed = metric.formula(row[1])
      assert.equal(row[2], parsed and parsed.evaluate {}, row[1])
    end
  end)

  it("has min, max, abs, log and sqrt", function()
    assert.equal(2, value_of "min(3, 2, 4)")
    assert.equal(4, value_of "max(3, 2, 4)")
    assert.equal(3, value_of "abs(-3)")
    assert.equal(3, value_of "sqrt(9)")
    assert.equal(1, value_of "log(2.718281828459045)")
    assert.equal(5, value_of("max(a, b) + sqrt(abs(c))", { a = 1, b = 2, c = -9 }))
  end)

  it("takes event names with '_' for '-', and '-' and '/' as operators only", function()
    local counts = { cache_misses = 6, cache = 10, misses = 4,
                     ["cycles:u"] = 3, ["a::B:C"] = 7, ["m.all"] = 2 }
    assert.equal(6, value_of("cache_misses", counts))
    assert.equal(6, value_of("cache-misses", counts))
    assert.equal(2.5, value_of("cache/misses", counts))
    assert.equal(12, value_of("cycles:u + a::B:C + m.all", counts))
  end)

  it("says which names it needs, in order, once each, and where", function()
    local parsed = metric.formula "b * (a + max(b, c)) / iterations"
    assert.same({ "b", "a", "c", "iterations" }, parsed.needs)
    assert.same({ b = 1, a = 6, c = 17, iterations = 23 }, parsed.places)
    assert.is_true(parsed.uses_iterations)
    assert.is_false(metric.formula("n * n").uses_iterations)
  end)

  it("may be a list of any length and nest 30 deep", function()
    assert.equal(1000, value_of(("1+"):rep(999) .. "1"))
    assert.equal(7, value_of(("("):rep(30) .. "7" .. (")"):rep(30)))
    assert.equal(1, value_of(("-"):rep(2000) .. "1"))
    for _, level in ipairs { "abs(", "1/(1*", "-(1+ ", "1+2*-max(3,4/" } do
      assert.is_number(value_of(level:rep(30) .. "3" .. (")"):rep(30)))
      local condition = "a > 0 and b == 2 or " .. level:rep(30) .. "3" .. (")"):rep(30) .. " < 1"
      assert.is_table(metric.condition(condition))
    end
  end)

  it("is refused when it nests deeper or is longer, at the place", function()
    local problem = refusal("formula", ("("):rep(31) .. "7" .. (")"):rep(31))
    assert.equal("parentheses nest at most 30 deep", problem.message)
    assert.equal(31, problem.position)
    problem = refusal("formula", ("1+"):rep(3000) .. "1")
    assert.equal("a formula has at most 4000 characters", problem.message)
  end)
end)

describe("an absent value", function()
  it("makes what is computed from it absent, with its reason", function()
    local function lookup(name)
      if name == "cycles" then return nil, "cycles could not be opened: no PMU" end
      return 5
    end
    local formulae = { "cycles", "x + cycles", "cycles / x", "-cycles", "max(x, cycles)", "0 * cycles" }
    for _, formula in ipairs(formulae) do
      assert.same({ nil, "cycles could not be opened: no PMU" }, { value_of(formula, lookup) }, formula)
    end
    assert.same({ nil, "cycles is absent" }, { value_of("cycles", {}) })
  end)

  it("comes from a division by zero, which names the divisor", function()
    local counts = { a = 1, b = 1, instructions = 3, cycles = 0 }
    assert.same({ nil, "cycles is 0" }, { value_of("instructions / cycles", counts) })
    assert.same({ nil, "(a - b) is 0" }, { value_of("1 / (a - b) + 2", counts) })
  end)

  it("comes from what is no finite number", function()
    assert.same({ nil, "the result is not a finite number" }, { value_of("1e308 * 10", {}) })
    assert.same({ nil, "the logarithm of a value that is not above 0" }, { value_of "log(0)" })
    assert.same({ nil, "the square root of a value below 0" }, { value_of "sqrt(-1)" })
  end)

  it("is not made of a count of 0", function()
    assert.equal(0, value_of("a / b", { a = 0, b = 5 }))
  end)
end)

describe("a metric", function()
  it("is a name, a formula and its unit", function()
    local mpki = metric.parse "mpki = 1000 * cache_misses / instructions"
    assert.equal("mpki", mpki.name)
    assert.equal("1000 * cache_misses / instructions", mpki.formula)
    assert.equal("", mpki.unit)
    assert.same({ "cache_misses", "instructions" }, mpki.needs)
    assert.equal(2.5, mpki.evaluate { cache_misses = 5, instructions = 2000 })
    local rate = metric.parse " rate = 1e9 * bytes / duration_time [B/s] "
    assert.same({ "rate", "1e9 * bytes / duration_time", "B/s" }, { rate.name, rate.formula, rate.unit })
  end)

  it("may be one that has a name, and then brings its events", function()
    local ipc = metric.parse "ipc"
    assert.equal("instructions / cycles", ipc.formula)
    assert.same({ "instructions", "cycles" }, ipc.events)
    assert.equal(2, ipc.evaluate { instructions = 10, cycles = 5 })
  end)

  it("of a name that there is not is refused with the nearest", function()
    local problem = refusal("parse", "branch_mis_rate")
    assert.equal("there is no metric 'branch_mis_rate'", problem.message)
    assert.equal("did you mean 'branch_miss_rate'?", problem.hint)
    assert.equal("write a metric of your own as name = formula", refusal("parse", "quux").hint)
    assert.equal("a metric is written name = formula", refusal("parse", "instructions / cycles").hint)
    assert.equal("a formula must be a string, not a table", refusal("parse", {}).message)
  end)
end)

describe("the named metrics", function()
  local function labels(specs)
    local set = {}
    for _, spec in ipairs(specs) do
      for one in (spec:match "^{(.*)}$" or spec):gmatch "[^,]+" do
        set[one:match "^([%w_]+) = " or one:gsub("::?", "_"):gsub("-", "_")] = true
      end
    end
    return set
  end

  it("each need exactly the events that they bring, in every variant", function()
    for _, name in ipairs(metric.names()) do
      for _, variant in ipairs(metric.named(name).variants) do
        local brought = labels(variant.events)
        for _, need in ipairs(variant.needs) do assert.is_true(brought[need], name .. " needs " .. need) end
        assert.is_string(variant.meaning)
        assert.is_string(variant.unit)
      end
    end
  end)

  it("have names of their own, which are words of the grammar", function()
    local seen = {}
    for _, name in ipairs(metric.names()) do
      assert.is_nil(seen[name])
      assert.matches("^[%l_][%l%d_]*$", name)
      seen[name] = true
    end
  end)

  it("are listed with their meanings, as each has them", function()
    local listed = {}
    for i, one in ipairs(metric.own_list()) do
      listed[i] = one.name
      assert.equal(metric.own(one.name).meaning, one.meaning)
    end
    assert.same(metric.names(), listed)
  end)

  it("compute what their meaning says", function()
    local rows = {
      { "cpi", { cycles = 10, instructions = 5 }, 2 },
      { "branch_miss_rate", { branch_misses = 2, branches = 100 }, 0.02 },
      { "branch_mpki", { branch_misses = 2, instructions = 4000 }, 0.5 },
      { "l1d_miss_rate", { L1_dcache_load_misses = 1, L1_dcache_loads = 4 }, 0.25 },
      { "dtlb_mpki", { dTLB_load_misses = 3, instructions = 1000 }, 3 },
      { "stalls_per_instruction",
        { stalled_cycles_frontend = 10, stalled_cycles_backend = 30, instructions = 60 }, 0.5 },
      { "cpus_utilised", { task_clock = 1.5e9, duration_time = 1e9 }, 1.5 },
      { "context_switches_per_second", { context_switches = 10, duration_time = 2e9 }, 5 },
      { "frequency", { all_cycles = 3e9, task_clock = 1e9 }, 3 },
      { "busy_frequency", { tsc = 2.4e9, aperf = 3, mperf = 2, duration_time = 1e9 }, 3.6 },
      { "package_power", { energy_pkg = 30, duration_time = 2e9 }, 15 },
      { "memory_bandwidth", { memory_reads = 100, memory_writes = 50, duration_time = 0.5e9 }, 300 },
    }
    for _, row in ipairs(rows) do
      local name, counts, expected = unpack(row)
      assert.is_true(math.abs(metric.named(name).evaluate(counts) - expected) < 1e-12 * expected, name)
    end
  end)

  it("of topdown level 1 share out all slots in both variants", function()
    local counts = {
      { topdown_retiring = 40, topdown_bad_spec = 10, topdown_fe_bound = 20, topdown_be_bound = 30 },
      { topdown_total_slots = 400, topdown_slots_issued = 200, topdown_slots_retired = 160,
        topdown_fetch_bubbles = 80, topdown_recovery_bubbles = 20 },
    }
    for variant = 1, 2 do
      local sum = 0
      for _, name in ipairs { "retiring", "bad_speculation", "frontend_bound", "backend_bound" } do
        sum = sum + metric.named(name).variants[variant].evaluate(counts[variant])
      end
      assert.is_true(math.abs(sum - 1) < 1e-12)
    end
  end)
end)

describe("a refused formula", function()
  it("says what was expected, what stands there and where", function()
    local rows = {
      { "formula", "", 1, "expected a number, a name or '(', not the end" },
      { "formula", "a +", 4, "expected a number, a name or '(', not the end" },
      { "formula", "a b", 3, "expected an operator or the end, not 'b'" },
      { "formula", "(a + b", 7, "expected ')', not the end" },
      { "formula", "3x", 2, "expected an operator after the number, not 'x'" },
      { "formula", "1..2", 3, "expected an operator or the end, not '.'" },
      { "formula", "a * / b", 5, "expected a number, a name or '(', not '/'" },
      { "formula", "min(a)", 1, "min takes two values or more, not 1" },
      { "formula", "sqrt(a, b)", 1, "sqrt takes one value, not 2" },
      { "parse", "x == y", 3, "expected '=', not '=='" },
      { "parse", "x = y [unit", 12, "expected ']', not the end" },
      { "comparison", "a + 3", 6, "expected a comparison (== ~= < <= > >=), not the end" },
      { "comparison", "a < 3 +- 2", 7, "a tolerance is allowed only after '=='" },
      { "limit", "a <= 1%", 6, "expected a sign before the percentage, not '1'" },
      { "limit", "a <= +1", 6, "expected a number without a sign, or a percentage, not '+'" },
      { "limit", "a == +1%", 3, "a relative limit must be an upper or a lower one" },
      { "condition", "a > 1 and", 10, "expected a number, a name or '(', not the end" },
    }
    for _, row in ipairs(rows) do
      local problem = refusal(row[1], row[2])
      assert.same({ row[3], row[4] }, { problem.position, problem.message }, row[2])
    end
  end)

  it("hints at what was probably meant", function()
    assert.equal("to compare, write '=='", refusal("comparison", "a = 3").hint)
    assert.equal("write '<='", refusal("limit", "a =< +1%").hint)
    assert.equal("there is no power operator: multiply", refusal("formula", "a ^ 2").hint)
    assert.equal("did you mean 'min'?", refusal("formula", "mim(a, b)").hint)
    assert.equal("there are abs, log, max, min and sqrt", refusal("formula", "rate(a)").hint)
    assert.equal("a relative limit is written +1% or -1%", refusal("limit", "a <= 5 %").hint)
    assert.matches("tolerance", refusal("formula", "a +- 3").hint)
  end)

  it("prints as one sentence, harmless and not long", function()
    assert.equal("expected an operator or the end, not '^', at character 3 of 'a ^ 2'; "
      .. "there is no power operator: multiply", tostring(refusal("formula", "a ^ 2")))
    local long = tostring(refusal("formula", ("a + "):rep(500) .. "\27[31m"))
    assert.is_nil(long:find "%c")
    assert.is_true(#long < 200)
  end)

  it("is never a crash, whatever the text", function()
    local random = require("pmclua.stats.random").new(9)
    local pieces = { "a", "cache_misses", "1", "2.5", "+", "-", "*", "/", "(", ")", ",", " ", "==", "<=",
                     "+-", "%", "and", "or", "min(", "log(", "=", "[", "]", "\0", "\255", "é", "1e", "0x",
                     ":", "~" }
    local kinds = { "formula", "parse", "comparison", "condition", "limit" }
    local accepted = 0
    for _ = 1, 20000 do
      local list = {}
      for i = 1, random:integer(12) do list[i] = pieces[random:integer(#pieces)] end
      local source, kind = table.concat(list), kinds[random:integer(#kinds)]
      local result, problem = metric[kind](source)
      if result then
        accepted = accepted + 1
      else
        assert.is_true(problem.position >= 1 and problem.position <= #source + 1, source)
        assert.is_string(tostring(problem))
      end
    end
    assert.is_true(accepted > 50)
  end)
end)

describe("names that nothing has", function()
  local known = { "cache_misses", "slow_loads", "instructions", "n", "iterations" }

  local function complaints(source)
    local list = metric.unknown(assert(metric.parse(source)), known)
    for i, problem in ipairs(list) do list[i] = tostring(problem) end
    return list
  end

  it("are reported with the nearest", function()
    assert.same({ "nothing is called 'instrutions', at character 5 of 'x = instrutions'; "
      .. "did you mean 'instructions'?" }, complaints "x = instrutions")
    assert.same({}, complaints "x = 2 * instructions / n")
  end)

  it("are recognised as labels with dashes", function()
    assert.same({ "nothing is called 'slow', at character 5 of 'x = slow-loads / n'; "
      .. "'-' is minus in a formula: write slow_loads" }, complaints "x = slow-loads / n")
    assert.same(1, #complaints "x = cache-misses / n + quux")
  end)
end)

describe("a condition", function()
  local function holds(source, counts) return assert(metric.condition(source)).evaluate(counts) end

  it("compares, and joins by 'and' before 'or'", function()
    assert.is_true(holds("a > 0", { a = 1 }))
    assert.is_false(holds("a > 0", { a = 0 }))
    assert.is_true(holds("a ~= 1 and a != 2", { a = 3 }))
    assert.is_true(holds("a == 1 or b == 2 and c == 3", { a = 1, b = 0, c = 0 }))
    assert.is_false(holds("a == 1 or b == 2 and c == 3", { a = 0, b = 2, c = 0 }))
    assert.is_true(holds("a == 3 ± 10%", { a = 3.2 }))
  end)

  it("is unknown only where what is absent could decide it", function()
    assert.same({ nil, "b is absent" }, { holds("a > 0 and b > 0", { a = 1 }) })
    assert.is_false(holds("a > 0 and b > 0", { a = 0 }))
    assert.is_true(holds("a > 0 or b > 0", { a = 1 }))
    assert.same({ nil, "b is absent" }, { holds("a > 0 or b > 0", { a = 0 }) })
  end)

  it("does not take 'and' and 'or' for names", function()
    assert.equal("a and b", refusal("condition", "a and b").text)
    assert.is_true(holds("order > 0 and android > 0", { order = 1, android = 1 }))
  end)
end)

describe("a comparison", function()
  it("has two sides, an operator and perhaps a tolerance", function()
    local exact = metric.comparison "instructions == 3 * iterations + 2"
    assert.equal("==", exact.operator)
    assert.is_true(exact.uses_iterations)
    assert.equal(302, exact.right { iterations = 100 })
    local within = metric.comparison "cycles == 3 +- 2%"
    assert.same({ value = 2, percent = true }, within.tolerance)
    assert.same({ value = 2 }, metric.comparison("cycles == 3 ± 2").tolerance)
  end)

  it("holds within its tolerance and not beyond", function()
    local percent, plain = { value = 2, percent = true }, { value = 0.5 }
    assert.is_true(metric.holds("==", 306, 300, percent))
    assert.is_false(metric.holds("==", 306.1, 300, percent))
    assert.is_true(metric.holds("==", -306, -300, percent))
    assert.is_true(metric.holds("==", 3.5, 3, plain))
    assert.is_false(metric.holds("==", 3.6, 3, plain))
  end)
end)

describe("a limit", function()
  it("is relative where a signed percentage stands, else absolute", function()
    assert.equal(0.01, metric.limit("instructions <= +1%").relative)
    assert.equal(-0.02, metric.limit("ipc >= - 2 %").relative)
    local absolute = metric.limit "page_faults <= 5000"
    assert.is_nil(absolute.relative)
    assert.equal(5000, absolute.right {})
    assert.equal(-5, metric.limit("a >= -5").right {})
  end)
end)

describe("a number in a formula", function()
  it("that no double holds is refused, however it is written", function()
    for _, written in ipairs { "1e999", "1e99999999999999999999", ("9"):rep(400) } do
      local parsed, problem = metric.formula("a + " .. written)
      assert.is_nil(parsed)
      assert.equal(5, problem.position)
      assert.matches("too large", problem.message)
    end
  end)
end)
