-- What a reader is warned of, and what not.

local lists = require "pmclua.base.lists"
local warning = require "pmclua.verdict.warning"
local stats = require "pmclua.stats"
local support = require "tests.support"

local sequence = support.sequence

local function noisy(n, seed)
  local random = stats.random(seed or 1)
  return sequence(n, function() return 1000 * math.exp(0.02 * random:normal()) end)
end

local function event(values, more)
  return support.merged({ title = "cycles", status = "counted", values = values }, more)
end

local function cell(events, more)
  return support.merged({ label = "rows", warmups = 2, events = events }, more)
end

-- Kinds and messages of a cell's warnings.
local function of(...)
  local kinds, by_kind = {}, {}
  for i, found in ipairs(warning.of_cell(cell(...))) do
    kinds[i], by_kind[found.kind] = found.kind, found
    assert.equal("rows", found.cell)
  end
  return kinds, by_kind
end

describe("no warning", function()
  it("is given of quiet, complete measurements", function()
    assert.same({}, (of { event(noisy(30)) }))
    assert.same({}, (of { event(sequence(3, function() return 7 end)) }))
    assert.same({}, (of { event({}, { status = "unsupported" }) }))
    assert.same({}, (of {}))
  end)

  it("of drift is given for noise: in at most 1 of 100 cells", function()
    local alarms = 0
    for seed = 1, 500 do
      local _, found = of { event(noisy(10 + seed % 30, seed)) }
      if found.drift then alarms = alarms + 1 end
    end
    assert.is_true(alarms <= 10, alarms .. " of 500")
  end)
end)

describe("a warning", function()
  it("of drift says which way, when order and value correlate above 0.5", function()
    local grew = noisy(30)
    for i = 1, 30 do grew[i] = grew[i] * (1 + 0.01 * i) end
    local kinds, found = of { event(grew) }
    assert.same({ "drift" }, kinds)
    assert.matches("^drift: cycles grew %(rank correlation with time 0%.9%d%)$", found.drift.message)
    assert.matches("frequency", found.drift.hint)
    table.sort(grew, function(a, b) return a > b end)
    assert.matches("cycles fell", select(2, of { event(grew) }).drift.message)
  end)

  it("of events that others kept off the PMU names them and how often", function()
    local _, found = of { event(noisy(30)), event(noisy(27), { title = "loads", kept_off = 3 }),
      event({}, { title = "stores", status = "not-counted", kept_off = 30 }) }
    assert.equal("loads and stores never on the PMU in 30 repetitions: something else was using its counters",
      found.kept_off.message)
  end)

  it("of merged runs says that they differ, where that is more than chance and the margin", function()
    local function runs(factor)
      local first, second = noisy(10, 1), noisy(10, 2)
      for i = 1, 10 do second[i] = second[i] * factor end
      return event(lists.joined { first, second }, { runs = { first, second } })
    end
    local _, found = of { runs(1.2) }
    assert.matches("^the 2 runs that were merged differ: cycles by 1[89]%.?%d* %%$", found.mixed.message)
    assert.is_nil(select(2, of { runs(1.005) }).mixed)
    assert.is_nil(select(2, of({ runs(1.2) }, { are_ranks = true })).mixed)
    local _, chance = of { event({ 1, 1, 1, 2, 2, 2 }, { runs = { { 1, 1, 1 }, { 2, 2, 2 } } }) }
    assert.is_nil(chance.mixed)
  end)

  it("of drift is not given where it is within the margin", function()
    local little = sequence(30, function(i) return 1000 + 0.1 * i end)
    assert.same({}, (of { event(little) }))
    assert.same({ "drift" }, (of({ event(little) }, { margin = 0.0001 })))
  end)

  it("of a slow first repetition knows whether there were warm-ups", function()
    local values = noisy(30)
    values[1] = 2200
    local kinds, found = of({ event(values) }, { warmups = 0 })
    assert.same({ "first" }, kinds)
    assert.matches("first repetition is the largest of all in cycles %(2%.%d+ times", found.first.message)
    assert.equal("run warm-up repetitions first: warmup = 3", found.first.hint)
    assert.equal("one warm-up is not enough: run more", select(2, of({ event(values) },
                                                                      { warmups = 1 })).first.hint)
    assert.equal("2 warm-ups are not enough: run more", select(2, of { event(values) }).first.hint)
  end)

  it("of outliers counts them and says that they are kept", function()
    local values = noisy(30)
    values[7], values[20] = 1500, 3000
    local kinds, found = of { event(values), event(noisy(30), { title = "quiet" }) }
    assert.same({ "outliers" }, kinds)
    assert.equal("outliers, kept: 2 of 30 values of cycles", found.outliers.message)
  end)

  it("of scaled events names them and the least share", function()
    local _, found = of { event(noisy(30), { status = "scaled", ran = 0.62 }),
                          event(noisy(30), { title = "loads", status = "scaled", ran = 0.5 }) }
    assert.equal("cycles and loads shared the counters and are estimates "
      .. "(each was counted at least 50 % of the time on average)",
                 found.scaled.message)
    assert.matches("passes", found.scaled.hint)
  end)

  it("of few repetitions is given under 6 that are not all equal", function()
    local _, found = of { event { 7, 8, 7 } }
    assert.equal("3 repetitions: no 95 % interval can be given", found.few.message)
    assert.equal("1 repetition: no 95 % interval can be given", select(2, of { event { 7 } }).few.message)
    assert.is_nil(select(2, of { event { 7, 8, 7, 8, 7, 8 } }).few)
    assert.is_nil(select(2, of({ event { 7 } }, { repetitions = 1 })).few)
  end)

  it("of a small region is given where the overhead is above 1 %", function()
    local values = sequence(10, function(i) return 2850 + i end)
    local _, found = of { event(values, { overhead = 120 }) }
    assert.equal("the measured work is small: starting and stopping the counters adds 4.2 % of cycles",
                 found.small.message)
    assert.matches("iterations", found.small.hint)
    assert.is_nil(select(2, of { event(values, { overhead = 20 }) }).small)
    assert.matches("adds all of cycles", select(2, of { event(sequence(9, function() return 0 end),
                                                               { overhead = 3 }) }).small.message)
  end)

  it("of nothing measured is given where an iteration takes less than any instruction", function()
    local values = sequence(10, function() return 3e-11 end)
    local _, found = of({ event(values) }, { iteration_ns = 3e-11 })
    assert.equal("an iteration took 3e-11 ns, less than any instruction does: nothing was measured",
      found.empty.message)
    assert.is_nil(select(2, of({ event(values) }, { iteration_ns = 0.03 })).empty)
  end)

  it("of how a repetition ended is not given of a single one: its failure says all", function()
    assert.is_nil(select(2, of({}, { repetitions = 1, exits = { [2] = 1 } })).exit)
    assert.is_truthy(select(2, of({}, { repetitions = 2, exits = { [2] = 1 } })).exit)
  end)

  it("of anchors is given where passes differ by more than their spread", function()
    local one, other = noisy(30, 1), noisy(30, 2)
    local _, found = of({}, { anchors = { { title = "cycles", passes = { one, other } } } })
    assert.is_nil(found.anchors)
    for i = 1, 30 do other[i] = other[i] * 1.2 end
    -- Wall times of equal work agree less well than its counts.
    local function of_steady(unit, value)
      local passes = { sequence(10, function() return 1000 end), sequence(10, function() return value end) }
      return select(2, of({}, { anchors = { { title = "it", unit = unit, passes = passes } } })).anchors
    end
    assert.is_nil(of_steady("ns", 1020))
    assert.matches("^it was", of_steady("ns", 1200).message)
    assert.matches("^it was", of_steady(nil, 1020).message)
    _, found = of({}, { anchors = { { title = "cycles", passes = { one, one, other } } } })
    assert.matches("^cycles was [%d.,]+ in pass 1 and [%d.,]+ in pass 3: ratios", found.anchors.message)
  end)

  it("of events dropped at exec is given where enabled time is far below the CPU time", function()
    local _, found = of({}, { enabled_ns = 3e3, cpu_ns = 50e6 })
    assert.matches("counting covered 3.00 µs of 50.00 ms of CPU time", found.uncounted.message)
    assert.matches("may not be read", found.uncounted.hint)
    assert.is_nil(select(2, of({}, { enabled_ns = 49e6, cpu_ns = 50e6 })).uncounted)
    assert.is_nil(select(2, of({}, { enabled_ns = 3e3, cpu_ns = 1e6 })).uncounted)
  end)

  it("of failed repetitions says how they ended", function()
    local _, found = of({}, { repetitions = 30, exits = { [0] = 26, [3] = 2 },
                              outcomes = { ["timed-out"] = 1, signalled = 1 } })
    assert.equal("not all of 30 repetitions ended well: 1 signalled, 1 timed-out and 2 with exit status 3",
                 found.exit.message)
    assert.is_nil(select(2, of({}, { exits = { [0] = 30 } })).exit)
  end)
end)

describe("the warnings of several cells", function()
  local function check(cells) return warning.check(cells, function(one) return one end) end

  local function scaled(label)
    return { label = label, warmups = 0, events = { event(noisy(30), { status = "scaled", ran = 0.5 }) } }
  end

  it("are in the order of their gravity", function()
    local failed = cell({ event { 1, 2 } }, { exits = { [1] = 1 } })
    local kinds = {}
    for i, found in ipairs(check { cell { event { 1, 2 } }, failed, scaled "x" }) do kinds[i] = found.kind end
    assert.same({ "exit", "scaled", "few" }, kinds)
  end)

  it("of one kind are one, with the cells that share it", function()
    local list = check { scaled "a", scaled "b", cell { event { 1, 2 } } }
    assert.equal(2, #list)
    assert.equal("scaled", list[1].kind)
    assert.equal("a", list[1].cell)
    assert.same({ "a", "b" }, list[1].cells)
  end)

  it("says that a command waited for CPUs more than the margin", function()
    local function waiting(share, over)
      return { waited = { count = 10, over = over, wait_ns = share * 1e8, wall_ns = 1e8 } }
    end
    local _, found = of({}, waiting(0.1, 5))
    assert.equal("noise: it waited for a CPU for 10 % of its time (more than 1 % in 5 of 10 repetitions)",
      found.waited.message)
    assert.matches("compare CPU time %(task%-clock%)$", found.waited.hint)
    _, found = of({ event({ 1, 2 }, { title = "task-clock" }) }, waiting(0.1, 5))
    assert.matches("look at task%-clock, which leaves that out$", found.waited.hint)
    -- One wait is an outlier, and what any wake-up takes is no noise.
    assert.is_nil(select(2, of({}, waiting(0.09, 1))).waited)
    assert.is_nil(select(2, of({}, waiting(0.009, 10))).waited)
    assert.is_false(warning.has_waited(2e4, 1e5, 0.01))
    assert.is_true(warning.has_waited(2e5, 1e6, 0.01))
  end)
end)
