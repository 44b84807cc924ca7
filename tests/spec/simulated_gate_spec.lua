-- Limits and comparisons of simulated counts: two that agree are enough, counts that differ decide by how far they are
-- from the limit, and more are made by themselves where they would decide.

local made = require "tests.support.results"
local metric = require "pmclua.metric"
local stats = require "pmclua.stats"
local stop = require "pmclua.verdict.stop"
local support = require "tests.support"
local verdict = require "pmclua.verdict"
local check = require "pmclua.verdict.check"

local SIMULATED = made.event("valgrind::instructions",
  { field = "valgrind_instructions", simulated = { "Ir" } })

-- A result of a command whose instructions were simulated, with as many repetitions as values.
local function of(values, more)
  SIMULATED.attr = nil
  local header = made.header(support.merged({ workloads = { { name = "it", kind = "command", per = "run" } },
    factors = {}, cells = { { workload = "it", levels = {} } }, repetitions = #values,
    events = { SIMULATED }, pass_events = { { 1 } }, simulation = {} }, more))
  return made.complete(header, made.records({ values }, { workload = "it", levels = {} }))
end

local function gate(new, before, limit)
  return of(new):gate { limits = { "valgrind_instructions " .. limit }, baseline = before and of(before) }
end

local function state_of(...) return gate(...).state end

-- What a program counts that jitters by a few instructions.
local JITTER = { 3269464, 3269466, 3269464, 3269464, 3269466 }

describe("a limit on simulated counts", function()
  it("is decided by two equal values on each side, however many were asked for", function()
    assert.equal("fail", state_of({ 1690000, 1690000 }, { 1000000, 1000000 }, "<= +0.1%"))
    assert.equal("pass", state_of({ 1000000, 1000000 }, { 1000000, 1000000 }, "<= +0%"))
    assert.equal("fail", state_of({ 1000001, 1000001 }, { 1000000, 1000000 }, "<= +0%"))
  end)

  it("is decided by few on either side that differ by far less than the limit", function()
    local equal, more = { 3269464, 3269464 }, { 3521213, 3521213 }
    assert.equal("fail", state_of(more, JITTER, "<= +0.1%"))
    assert.equal("fail", state_of({ 3521213, 3521215 }, { 3269466, 3269464 }, "<= +0.1%"))
    for _, pair in ipairs { { equal, JITTER }, { JITTER, equal }, { JITTER, JITTER },
        { { 3269464, 3269466 }, { 3269466, 3269464 } } } do
      local checked = gate(pair[1], pair[2], "<= +0.1%")
      assert.equal("pass", checked.state)
      assert.matches("its counts differ by 2 (6e-05 %) from run to run, too little to cross the limit",
        tostring(checked), 1, true)
    end
  end)

  it("neither holds nor fails where counts differ by as much", function()
    assert.equal("undecided", state_of({ 1000, 1002 }, { 1000, 1000 }, "<= +0.1%"))
    assert.equal("undecided", state_of(JITTER, JITTER, "<= +0%"))
    assert.matches("undecided: 3,269,464, was 3,269,464 %(±0 %%, interval [^)]+%), in runs of one program "
      .. "that differ by 2 %(6e%-05 %%%): it would have taken", tostring(gate(JITTER, JITTER, "<= +0%")))
  end)

  it("that is absolute is as sure", function()
    assert.equal("pass", state_of(JITTER, nil, "<= 3270000"))
    assert.equal("fail", state_of(JITTER, nil, "<= 3269000"))
    assert.equal("undecided", state_of(JITTER, nil, "<= 3269465"))
    assert.equal("undecided", state_of({ 3269464, 3269466 }, nil, "<= 3269467"))
    assert.equal("pass", state_of({ 3269464, 3269464 }, nil, "<= 3269464"))
  end)

  it("is not decided by one value, which does not show whether it varies", function()
    for _, pair in ipairs { { { 1000 }, { 1000, 1000 } }, { { 1000, 1000 }, { 1000 } },
        { { 1000 }, { 1000 } }, { { 1000 }, { 1000, 1001 } } } do
      assert.equal("uncountable", state_of(pair[1], pair[2], "<= +1%"))
    end
  end)

  it("shows in JSON how far they are apart, and how many would decide", function()
    local function row(...)
      return require("dkjson").decode(gate(...):report { format = "json" }).limits[1]
    end
    local open = row({ 1000, 1002 }, { 1000, 1000 }, "<= +0.2%")
    assert.same({ "undecided", 2 }, { open.state, open.jitter })
    assert.is_true(open.needed > 2 and open.needed % 1 == 0)
    assert.is_nil(row({ 1000, 1002 }, { 1000, 1002 }, "<= +0%").needed)
    assert.is_nil(row({ 1000, 1000 }, { 1000, 1000 }, "<= +0%").jitter)
  end)

  it("may be of counts that are 0", function()
    assert.equal("pass", state_of({ 0, 0 }, { 0, 0 }, "<= +1%"))
    assert.equal("fail", state_of({ 5, 5 }, { 0, 0 }, "<= +1%"))
    assert.equal("fail", state_of({ 900, 901 }, { 0, 1, 0 }, "<= +1%"))
  end)

  it("is not taken for one on times that a simulated count is divided by", function()
    local r = of { 1000, 1000 }
    local values = require "pmclua.result.values"
    assert.is_true(values.is_simulated(r, metric.limit "valgrind_instructions <= 5"))
    assert.is_false(values.is_simulated(r, metric.limit "valgrind_instructions / wall_ns <= 5"))
    assert.is_false(values.is_simulated(r, metric.limit "wall_ns <= 5"))
  end)
end)

describe("a comparison of simulated counts", function()
  local function verdict_of(new, before)
    local found = verdict.compare(new, before, { simulated = true })
    return found.verdict, found.method
  end

  it("concludes from two repetitions as a limit does", function()
    assert.same({ "more", "exact" }, { verdict_of({ 169, 169 }, { 100, 100 }) })
    assert.same({ "same", "Student" }, { verdict_of({ 3269464, 3269466 }, { 3269466, 3269464 }) })
    assert.same({ "more", "Student" }, { verdict_of({ 3521213, 3521215 }, JITTER) })
    assert.same({ "undecided", "Student" }, { verdict_of({ 100, 102 }, { 100, 100 }) })
    assert.same({ "same", "Hodges-Lehmann" }, { verdict_of(JITTER, JITTER) })
  end)
end)

describe("how many simulated repetitions would decide", function()
  it("follows from how far counts are from the bound, and apart", function()
    local values = { 100, 102, 101, 99, 98 }           -- variance 2.5
    local z = require("pmclua.stats.distribution").normal_upper((1 - stop.simulated_level(0.95)) / 2)
    local function needed(...) return (stop.needed(...)) end
    assert.equal(math.ceil(z ^ 2 * 2.5 / 0.04), needed(0.2, values, nil, false, 0.95))
    assert.equal(math.ceil(z ^ 2 * 5 / 0.04), needed(-0.2, values, values, false, 0.95))
    assert.equal(math.ceil(z ^ 2 * 2.5 / (4 - z ^ 2 * 2.5 / 5)), needed(2, values, values, true, 0.95))
    assert.is_nil(needed(0, values, values, false, 0.95))
    assert.is_nil(needed(0.5, { 100, 100 }, values, true, 0.95))
  end)
end)

describe("programs that seed themselves", function()
  local EXPERIMENTS = 300
  local limit = metric.limit "n <= +0.1%"

  -- A gate as it runs by itself: looks at few numbers of pairs, until what there is decides.
  local function state(random, ratio)
    local new, old = {}, {}
    for n = 1, 30 do
      new[n], old[n] = ratio * math.exp(0.002 * random:normal()), math.exp(0.002 * random:normal())
      if require("pmclua.base.lists").contains(stop.SIMULATED_LOOKS, n) then
        local found = verdict.compare(new, old, { simulated = true })
        local concluded = check.judge(limit, found, stats.median(new), stats.median(old)).state
        if concluded ~= "undecided" then return concluded end
      end
    end
    return "undecided"
  end

  local function share(wanted, ratio, seed)
    local random, count = stats.random(seed), 0
    for _ = 1, EXPERIMENTS do
      if state(random, ratio) == wanted then count = count + 1 end
    end
    return count / EXPERIMENTS
  end

  it("fail a limit that they are within in no more than 2.5 %, looks and all", function()
    local bound = 0.025 + 5 * math.sqrt(0.025 * 0.975 / EXPERIMENTS)
    assert.is_true(share("fail", 1.001, 1) <= bound)
    assert.is_true(share("pass", 1.001, 2) <= bound)
  end)

  it("fail it where they are 0.4 % above it", function()
    assert.is_true(share("fail", 1.005, 3) > 0.95)
  end)
end)

-- ---- as it runs ------------------------------------------------------------------------------------------------

-- A program that loops so often, and `jitter` times more in every other run.
local function looping(folder, name, loops, jitter)
  support.write(("%s/%s.count"):format(folder, name), "0\n")
  return ("sh %s"):format(support.write(("%s/%s"):format(folder, name), ([[
    read n < %s/%s.count
    echo $((1 - n)) > %s/%s.count
    i=0
    while [ $i -lt $((%d + n * %d)) ]; do i=$((i + 1)); done
  ]]):format(folder, name, folder, name, loops, jitter)))
end

local function need()
  support.need(support.have "valgrind", "Valgrind is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
  support.need(not support.have_pmu(), "hardware events can be opened here")
end

-- The gate's end, and how many simulated repetitions each side had.
local function run(old, new, limit, repetitions)
  local path = support.folder() .. "/gate.jsonl"
  local ended = support.pmclua { "gate", "--simulate", "--against", old, "--limit", "instructions " .. limit,
    "--store", path, "--quiet", "-r", repetitions, "--", new }
  local r = require("pmclua").load(path)
  local counts = {}
  for cell in r:cells() do counts[cell.workload] = #cell:values "valgrind_instructions" end
  return ended, counts
end

describe("pmclua gate --simulate", function()
  it("decides with two repetitions, and with one that was asked for makes the second", function()
    need()
    local folder = support.folder()
    local old, new = looping(folder, "old", 300, 0), looping(folder, "new", 507, 0)
    local ended, counts = run(old, new, "<= +0.1%", "1")
    assert.equal(3, ended.status, ended.err)
    assert.same({ old = 2, new = 2 }, counts)
  end)

  it("stops early where the counts jitter far below the limit", function()
    need()
    local folder = support.folder()
    local old, new = looping(folder, "old", 2000, 1), looping(folder, "new", 2000, 1)
    local ended, counts = run(old, new, "<= +20%", "30")
    assert.equal(0, ended.status, ended.err)
    assert.same({ old = 2, new = 2 }, counts)
  end)

  it("makes more than were asked for where these would decide, and no more than that", function()
    need()
    local folder = support.folder()
    local old, new = looping(folder, "old", 500, 10), looping(folder, "new", 500, 10)
    local ended, counts = run(old, new, "<= +8%", "2")
    assert.equal(0, ended.status, ended.err)
    assert.is_true(counts.new > 2 and counts.new <= 10, tostring(counts.new))
  end)

  it("makes no more where they would not decide", function()
    need()
    local folder = support.folder()
    local old, new = looping(folder, "old", 100, 20), looping(folder, "new", 100, 20)
    local ended, counts = run(old, new, "<= +0.01%", "3")
    assert.equal(0, ended.status, ended.err)
    assert.matches("undecided", ended.out)
    assert.equal(5, counts.new)
  end)

  it("checks against a stored result with as few", function()
    need()
    local folder = support.folder()
    local path, program = folder .. "/base.jsonl", looping(folder, "it", 300, 1)
    local stored = support.pmclua { "instructions", "--store", path, "--", "sh", program:match " (.*)" }
    assert.equal(0, stored.status, stored.err)
    local checked = support.pmclua { "stat", "--simulate", "--limit", "instructions <= +20%", "--gate", path,
      "--no-report", "--", "sh", program:match " (.*)" }
    assert.equal(0, checked.status, checked.err)
  end)
end)
