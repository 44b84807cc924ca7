-- What following functions costs the program: that it is measured for each as it is, and what is left without it.

local core_regions = require "pmclua.core.regions"
local fixture = require "tests.support.regions"
local follower_of = require "tests.support.follower"
local lfs = require "lfs"
local pmc = require "pmclua"
local probing = require "pmclua.experiment.probing"
local region = require "pmclua.workload.region"
local regions = require "pmclua.experiment.regions"
local spent = require "pmclua.result.spent"
local support = require "tests.support"

local FAULTS = fixture.FAULTS
local DURATION, ENABLED, EVENT = 1, 2, 4

-- ---- by samples made by hand -----------------------------------------------------------------------------

-- Columns are duration, enabled, running and an event. f's entry costs 5, its return 3, of which 2 are within; g's
-- are 50, 30 and 20. Of the event each probe of f takes one away.
local F = { 5, 5, 5, -1, 3, 3, 3, -1, 2, 2, 2, -1 }
local G = { 50, 50, 50, 0, 30, 30, 30, 0, 20, 20, 20, 0 }

local function new_thread()
  local follower = follower_of { regions = { { name = "f", costs = F }, { name = "g", costs = G } },
    events = 1, cpus = 1 }
  local thread, now = {}, 0
  function thread.at(kind, which, sp, passed)
    now = now + passed
    assert.equal(0, (follower:point { kind = kind, region = which, sp = sp, time = now, tid = 7,
      values = { now, now, 10 * now } }))
  end
  function thread.finish() return follower:finish() end
  return thread
end

-- What of a column of a sum is the cost of probing.
local function cost(found, sums, column) return core_regions.signed(sums[column + found.costs_from]) end

local function calls_of(...) return pmc.regions(...):calls() end

describe("the cost of probing", function()
  it("is of a call's own two probes, and of all of the calls within it", function()
    local t = new_thread()
    t.at("entry", 1, 1000, 0)
    t.at("entry", 2, 900, 100)
    t.at("return", 2, 900, 40)
    t.at("entry", 2, 900, 100)
    t.at("return", 2, 900, 40)
    t.at("return", 1, 1000, 100)
    local found = t.finish()
    local f, g = found[1], found[2]
    assert.equal(4, found.costs_from)
    assert.equal(380, f.outermost[DURATION])
    assert.equal(2 + 2 * (50 + 30), cost(found, f.outermost, DURATION))
    assert.equal(-1, cost(found, f.outermost, EVENT))
    assert.equal(2 * 20, cost(found, g.outermost, ENABLED))
    -- By itself f has all of these but what is in g's own values.
    assert.equal(300, f.threads[1].self[DURATION])
    assert.equal(2 + 2 * (50 + 30 - 20), cost(found, f.threads[1].self, DURATION))
    assert.same({ 8, 160 }, { f.spent[DURATION], g.spent[DURATION] })
    assert.equal(-2, core_regions.signed(f.spent[EVENT]))
    -- Beside the values are those without it.
    assert.same({ 380, 218 }, { f.total[DURATION].sum, f.total[DURATION + 4].sum })
    assert.same({ 40, 20 }, { g.total[DURATION].min, g.total[DURATION + 4].min })
    assert.equal(3801, f.total[EVENT + 4].sum)
  end)

  it("is in its caller where a call is left without return, with that of its entry alone", function()
    local t = new_thread()
    t.at("entry", 1, 1000, 0)
    t.at("entry", 2, 900, 100)
    t.at("return", 1, 1000, 200)
    local found = t.finish()
    assert.equal(2 + 50, cost(found, found[1].outermost, DURATION))
    assert.equal(2 + 50, cost(found, found[1].threads[1].self, DURATION))
    assert.equal(50, found[2].spent[DURATION])
  end)

  it("is of one probe where a function is one instruction, and of each turn of a loop to an entry", function()
    local t = new_thread()
    t.at("entry", 1, 1000, 0)
    t.at("whole", 2, 900, 100)
    t.at("return", 1, 1000, 100)
    local found = t.finish()
    assert.equal(2 + 50, cost(found, found[1].outermost, DURATION))
    local follower = follower_of { regions = { { name = "f", costs = F, loops = true } }, events = 1 }
    for i, kind in ipairs { "entry", "entry", "entry", "return" } do
      follower:point { kind = kind, region = 1, sp = 1000, time = 10 * i, tid = 7, values = { i, i, i } }
    end
    found = follower:finish()
    assert.equal(1, found[1].calls)
    assert.equal(2 + 2 * 5, cost(found, found[1].outermost, DURATION))
  end)

  it("is not taken off where threads share stacks: what a thread spent is no call's", function()
    local follower = follower_of { regions = { { name = "f", costs = F } }, events = 1 }
    for i, kind in ipairs { "entry", "return" } do
      follower:point { kind = kind, region = 1, sp = 1000, time = 10 * i, pid = 7, tid = 6 + i,
        values = { 1, 1, 1 } }
    end
    local found = follower:finish()
    assert.equal(1, found[1].switching)
    local run = { regions = found, costs = { {} } }
    assert.is_falsy(spent.is_taken_off({ index = 1, subtracted = true }, run))
    assert.is_nil((spent.of_calls({ index = 1 }, run, found[1].outermost, DURATION)))
  end)

  it("is in a region of two points that probed calls lie in", function()
    local t = new_thread()
    t.at("from", 1, 0, 0)
    t.at("entry", 2, 900, 100)
    t.at("return", 2, 900, 100)
    t.at("to", 1, 0, 100)
    local found = t.finish()
    assert.equal(2 + 80, cost(found, found[1].outermost, DURATION))
  end)
end)

-- ---- measured --------------------------------------------------------------------------------------------

local library

local function first_library()
  library = library or support.build(support.folder() .. "/libfirst.so", "cc", "-shared", "-fPIC",
    support.fixture "region/first.S")
  return library
end

-- A program of no interest that every machine has.
local function costs_of_all(spec)
  local list = region.find(spec, { program = first_library() })
  local session = require("pmclua.workload.session").new()
  local event = require("pmclua.event").parse(FAULTS)[1]
  local costs, why = probing.measure(list, spec, function(workload)
    local id = session:workload(function(message) workload:define(message, {}, { session = session }) end)
    local result = session:run { workload = id, events = session:events { { attrs = { event.attr } } },
      timeout_ns = 60e9 }
    session:forget(id)
    return assert(result.regions and result, result.output)
  end)
  session:close()
  local by_name = {}
  for i, found in ipairs(list) do by_name[found.name] = costs[i] or false end
  return by_name, why
end

local function check(spec)
  local checked, mistakes = region.check(spec)
  assert.same({}, mistakes)
  return checked
end

describe("what probes cost, measured", function()
  lazy_setup(fixture.need_probes)
  lazy_setup(function()
    support.need_unwatched("functions of the runner run as copies, without probes", "valgrind")
  end)

  it("is known whatever a function begins with, and nothing comes of what it would do", function()
    local costs, why = costs_of_all(check { "first_*", "only_return", "ends_elsewhere" })
    assert.is_nil(why)
    local count = 0
    for name, columns in pairs(costs) do
      count = count + 1
      assert.is_truthy(columns, name)
      -- No probe makes a page fault but the first of a process.
      assert.same({ 0, 0, 0 }, { columns[EVENT].entry, columns[EVENT].both, columns[EVENT].inside }, name)
      assert.is_true(columns[DURATION].both > 0, name)
    end
    assert.is_true(count >= 12, count)
    assert.equal(0, costs.only_return[DURATION].inside)
  end)

  it("is more where Linux steps over the first instruction than where it carries it out", function()
    support.need(jit.arch == "x64", "what Linux carries out differs by machine")
    local costs = costs_of_all(check { "first_nop", "first_push", "first_sub", "first_mov" })
    for _, name in ipairs { "first_sub", "first_mov" } do
      for _, cheap in ipairs { "first_nop", "first_push" } do
        assert.is_true(costs[name][ENABLED].inside > costs[cheap][ENABLED].inside, name .. " " .. cheap)
      end
    end
  end)

  it("is taken off sums, means, quantiles and histograms, and single calls stay as they were", function()
    local result = calls_of({ fixture.program "pages.c", "outers", "10" },
      { regions = { "outer", "touch" }, events = { FAULTS } })
    local outer = result:region "outer"
    local before, raw = outer:values "duration", outer:list "duration"
    local faults, median = outer:values(FAULTS), outer:quantile(FAULTS, 0.5)
    assert.is_true(before.probing > 0)
    require("pmclua.result.regions").subtract(result)
    local after = outer:values "duration"
    if after.sum then
      assert.is_true(math.abs(before.sum - before.probing - after.sum) < 1e-3)
      assert.equal(after.sum / outer.calls, after.mean)
      assert.is_true(after.sum > 2 * after.probing_spread)
    else
      assert.same({ "below-probing", true }, { after.status, after.is_below })
      assert.is_true(before.sum - before.probing <= 2 * before.probing_spread)
    end
    assert.same(raw, outer:list "duration")
    -- Exact counts stay exact.
    assert.equal(10, outer.calls)
    assert.same({ faults.sum, faults.max, median },
      { outer:values(FAULTS).sum, outer:values(FAULTS).max, (outer:quantile(FAULTS, 0.5)) })
    assert.truthy(result:report { width = 200 }:find("taken off for probing, in all of these calls", 1, true))
  end)

  it("is no number where what is left is within what probing may differ", function()
    local result = calls_of({ fixture.program "pages.c", "many", "500" },
      { regions = { "empty" }, events = { FAULTS }, subtract = true })
    local empty = result[1]
    -- It takes a nanosecond.
    local values = empty:values "cpu_time"
    local most = values.sum or 0
    assert.is_true(most == 0 or most / empty.calls < empty.runs[1].costs[1][ENABLED].both, most)
    assert.is_true(empty:values(FAULTS).sum <= 1)            -- the first of a process may have one
    if values.is_below then
      assert.is_nil(values.share)
      assert.truthy(result:report { width = 200 }:find("<below what probing costs>", 1, true))
    end
  end)

  it("is scaled as the sum is, where the event was counted for a part of the time", function()
    local values = { sum = 1000, mean = 100, least = 60, ran = 0.5, probing = 200, probing_spread = 10 }
    spent.take_off(values, 10)
    assert.same({ 600, 60, 0 }, { values.sum, values.mean, values.least })
    values = { sum = 420, mean = 42, ran = 0.5, probing = 200, probing_spread = 10 }
    spent.take_off(values, 10)
    assert.is_true(values.is_below)
  end)

  it("is left out of shares of the run, which say so", function()
    local result = calls_of({ fixture.program "pages.c", "outers", "20" },
      { regions = { "outer", "touch" }, events = { FAULTS } })
    local all, spread, whole = result:probing "cpu_time"
    assert.is_true(all > 0 and whole > 0)
    local values = result:region("outer"):values "cpu_time"
    if whole - all > 2 * spread then
      local share = (values.sum - values.probing) / (whole - all)
      assert.is_true(math.abs(values.share - math.max(0, math.min(1, share))) < 1e-9)
    else
      assert.is_nil(values.share)
    end
    assert.matches("probing took .- of the run's .- of CPU time: ", result:report { width = 300 })
  end)

  it("is small however many functions are followed, with threads or without", function()
    support.need(lfs.attributes "/sys/kernel/tracing/uprobe_events", "no tracefs")
    for _, threads in ipairs { "all", "one" } do
      local result = regions.measure({ fixture.program "pages.c", "calls", "3" },
        { regions = { "touch", "outer", "recurse", "empty", threads = threads }, events = { fixture.MADVISE },
          calibrate = false, timeout = 30 })
      assert.equal(3, result:region("touch"):values(fixture.MADVISE).sum)
    end
  end)
end)
