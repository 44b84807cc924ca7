-- The rule from a raw count and its times to a value: every state that a reading can be in.

local made = require "tests.support.results"
local reading = require "pmclua.counting.reading"
local record = require "pmclua.experiment.record"
local report = require "pmclua.report"
local support = require "tests.support"

local BIGGEST = 18446744073709551615ULL

local PLAIN = { name = "cycles", scale = 1 }
local ENERGY = { name = "energy", unit = "Joules", scale = 0.5, attr = { type = 30 } }
local CYCLES = { name = "cycles", scale = 1, source = "hardware", attr = { type = 0, config = 0 } }
local RAW = { name = "r1", scale = 1, source = "raw", attr = { type = 4, config = 1 } }
local UNCORE = { name = "imc", scale = 1, source = "pmu", pmu = "uncore_imc_0", attr = { type = 14 } }
local BACKWARDS = 0ULL - 4294967000ULL
local SAMPLED = { name = "user_time", tool = "user_ns", grain_ns = 4e6, scale = 1 }
local CORE = { name = "cpu_core/cycles/", core_cpus = "0-15", part_of = "cycles", scale = 1 }
local ATOM = { name = "cpu_atom/cycles/", core_cpus = "16-23", part_of = "cycles", scale = 1 }

-- event, raw, enabled, running; value, status, share, cause
local STATES = {
  ["counted all the time"] = { PLAIN, 7, 100, 100, 7, "counted", 1 },
  ["that ran longer than it was enabled"] = { PLAIN, 7, 100, 101, 7, "counted", 1 },
  ["without times"] = { PLAIN, 7, nil, nil, 7, "counted", 1 },
  ["in a unit"] = { ENERGY, 7, 100, 100, 3.5, "counted", 1 },
  ["of 0"] = { PLAIN, 0, 100, 100, 0, "counted", 1 },
  ["above 2^53"] = { PLAIN, BIGGEST, 100ULL, 100ULL, 2 ^ 64, "counted", 1 },
  ["that shared its counters"] = { PLAIN, 7, 100, 25, 28, "scaled", 0.25 },
  ["that shared its counters, in a unit"] = { ENERGY, 7, 100, 50, 7, "scaled", 0.5 },
  ["of times above 2^53"] = { PLAIN, 7, 2ULL ^ 60, 2ULL ^ 58, 28, "scaled", 0.25 },
  ["of 0 from less than 1 % of the time"] = { PLAIN, 0, 1000, 9, nil, "not-counted", 0.009, "too-short" },
  ["from 1 % of the time"] = { PLAIN, 7, 1000, 10, 700, "scaled", 0.01 },
  ["of one kind of core, for next to no time"] = { CORE, 7, 1000, 1, 7, "placed", 0.001 },
  ["of a counter that went backwards"] = { CYCLES, BACKWARDS, 1e9, 1e9, nil, "not-counted", 1, "impossible" },
  ["that went backwards, without times"] = { RAW, BACKWARDS, nil, nil, nil, "not-counted", 1, "impossible" },
  ["of as many cycles as a clock can have"] = { CYCLES, 6e9, 1e9, 1e9, 6e9, "counted", 1 },
  ["of more cycles than any clock has"] = { CYCLES, 3e10, 1e9, 1e9, nil, "not-counted", 1, "impossible" },
  ["of loads that wait, many in each cycle"] = { RAW, 3e11, 1e9, 1e9, 3e11, "counted", 1 },
  ["of more than a core does"] = { RAW, 2e12, 1e9, 1e9, nil, "not-counted", 1, "impossible" },
  ["of no core"] = { UNCORE, 2e12, 1e9, 1e9, 2e12, "counted", 1 },
  ["of next to no time, when times are read a moment before"] = { CYCLES, 1e6, 100, 100, 1e6, "counted", 1 },
  ["of one kind of core, all the time"] = { CORE, 7, 100, 100, 7, "counted", 1 },
  ["of one kind of core, for a while"] = { CORE, 7, 100, 25, 7, "placed", 0.25 },
  ["that never had a counter"] = { PLAIN, 0, 100, 0, nil, "not-counted", 0, "never-on" },
  ["of a kind of core, that never ran"] = { CORE, 0, 100, 0, nil, "not-counted", 0, "not-there" },
  ["that was never enabled"] = { PLAIN, 0, 0, 0, nil, "not-counted", nil, "never-enabled" },
  ["that is lost"] = { PLAIN, 0, 1, 0, nil, "not-counted", 0, "lost" },
  ["of a kind of core, that is lost"] = { CORE, 0, 1, 0, nil, "not-counted", 0, "lost" },
  ["that is not there"] = { PLAIN, nil, nil, nil, nil, "not-counted", 1, "no-reading" },
  ["of a counter that stood still"] = { ENERGY, 0, 100, 100, nil, "not-counted", 1, "too-small" },
  ["of a sampled time, below a tick"] = { SAMPLED, 3.9e6, nil, nil, nil, "not-counted", 1, "too-small" },
  ["of a sampled time, of a tick"] = { SAMPLED, 4e6, nil, nil, 4e6, "counted", 1 },
}

describe("a reading", function()
  for name, state in pairs(STATES) do
    local event, raw, enabled, running, value, status, share, cause = unpack(state, 1, 8)
    it(("%s is %s%s"):format(name, status, cause and ": " .. cause or ""), function()
      local found = { reading.of(event, raw, enabled, running) }
      assert.same({ value, status, share, cause }, found)
      local has_reason = cause == nil or #reading.why(event, cause) > 0
      assert.is_true(has_reason)
    end)
  end
end)

describe("a reading of a kind of core where the program never was", function()
  -- Of the other kind: raw, enabled, running.
  local function of(other, own)
    local elsewhere = reading.elsewhere(ATOM, { ATOM, PLAIN, CORE }, function(index)
      assert.equal(3, index)
      return unpack(other, 1, 3)
    end)
    return { reading.of(ATOM, 0, own or 100, 0, elsewhere) }
  end

  it("is 0 where the other kind was counted all the time", function()
    assert.same({ 0, "placed", 0 }, of { 900, 100, 100 })
    assert.same({ 0, "placed", 0 }, of { 900 })
  end)

  it("is unknown where the other kind was not, or not all the time", function()
    for _, other in ipairs { { 900, 100, 99 }, { nil, 100, 100 }, { 0, 100, 0 }, {} } do
      assert.same({ nil, "not-counted", 0, "not-there" }, of(other))
    end
  end)

  it("is unknown where it is lost, or was never enabled", function()
    assert.same({ nil, "not-counted", 0, "lost" }, of({ 900, 100, 100 }, 1))
    assert.same({ nil, "not-counted", nil, "never-enabled" }, of({ 900, 100, 100 }, 0))
  end)

  it("names its CPUs where they are known", function()
    assert.matches("not on CPUs 16-23,", reading.why(ATOM, "not-there"), 1, true)
    assert.matches("not on this kind of core,", reading.why({ core_cpus = "" }, "not-there"), 1, true)
  end)
end)

-- ---- those that ask ----

local HYBRID = { made.event("cpu_atom_cycles", { core_cpus = "16-23", part_of = "cycles" }),
  made.event("cpu_core_cycles", { core_cpus = "0-15", part_of = "cycles" }) }

local function hybrid_header(more)
  return made.header(support.merged({ events = HYBRID, pass_events = { { 1, 2 } },
    workloads = { { name = "rows", kind = "command", per = "run" } } }, more))
end

local function hybrid_record(atom, core)
  local one = made.record {}
  one.counts, one.enabled, one.running = { atom[1], core[1] }, { atom[2], core[2] }, { atom[3], core[3] }
  return one
end

describe("records, cells and exports", function()
  it("have the same value of one reading", function()
    for _, case in ipairs { { { 40, 1000, 250 }, { 900, 1000, 750 }, 40, 900 },
      { { nil, 1000, 0 }, { 900, 1000, 1000 }, 0, 900 }, { { nil, 1, 0 }, { 900, 1000, 1000 }, nil, 900 },
      { { nil, 1000, 0 }, { 900, 1000, 600 }, nil, 900 } } do
      local one = hybrid_record(case[1], case[2])
      local lookup = record.lookup(one, { events = HYBRID }, true)
      local result = made.result(hybrid_header(), { one })
      local cell = result:cells()()
      for i, event in ipairs(HYBRID) do
        assert.equal(case[2 + i], (lookup(event.field)))
        assert.equal(case[2 + i], cell[event.field].median)
      end
    end
  end)

  it("say of each repetition in CSV how it was counted, of metrics too", function()
    local records = made.records { { 1000, 1000, 1000 }, { 500, 500, 500 } }
    records[2].running[1], records[3].running[1] = 495000, 0
    local result = made.result(made.header { metrics = { "ipc" },
      events = { made.event "cycles", made.event "instructions" }, pass_events = { { 1, 2 } } }, records)
    assert.is_not_nil(report)
    local found = { cycles = {}, instructions = {}, ipc = {} }
    for line in result:report({ format = "csv" }):gmatch "[^\n]+" do
      local name, status = line:match "^rows,256,,,,,([^,]+),[^,]*,1,%d+,%d+,[^,]*,([^,]+)"
      if name then table.insert(found[name], status) end
    end
    assert.same({ cycles = { "counted", "scaled", "not-counted" }, ipc = { "counted", "scaled", "absent" },
      instructions = { "counted", "counted", "counted" } }, found)
  end)

  it("read files of before, which say only that an event is of one kind of core", function()
    local path = support.folder() .. "/before.jsonl"
    local events = {}
    for i, event in ipairs(HYBRID) do
      events[i] = support.merged(event, { hybrid = true })
      events[i].core_cpus = nil
    end
    made.stored(path, hybrid_header { events = events },
      { hybrid_record({ 40, 1000, 250 }, { 900, 1000, 750 }) })
    local cell = require("pmclua.result.files").load(path):cells()()
    assert.same({ "placed", 40, 0.25 }, { cell.cpu_atom_cycles.status, cell.cpu_atom_cycles.median,
      cell.cpu_atom_cycles.ran })
  end)
end)

describe("the sum over the threads of a record", function()
  local PASS = { groups = { { events = { 1 } } }, events = { 1 } }
  local STEP = { cell = { workload = { name = "rows" }, levels = {}, index = 1 }, pass = 1, index = 1,
    order = 1 }

  local function sum_of(...)
    local readings = {}
    for _, thread in ipairs { ... } do
      for _, value in ipairs(thread) do readings[#readings + 1] = value end
    end
    local one = record.new(STEP, { outcome = "done", exit = 0, signal = 0, threads = select("#", ...),
      readings = readings }, PASS, { PLAIN })
    return { one.counts[1], one.enabled[1], one.running[1] }
  end

  it("is lost with the counts of one whose pinned group lost its place", function()
    assert.same({ 12, 200, 200 }, sum_of({ 100, 100, 5 }, { 100, 100, 7 }))
    for _, threads in ipairs { { { 100, 100, 5 }, { 1, 0, 0 } }, { { 1, 0, 0 }, { 100, 100, 5 } },
      { { 1, 0, 0 }, { 1, 0, 0 }, { 100, 100, 5 } } } do
      assert.same({ nil, 1, 0 }, sum_of(unpack(threads)))
    end
  end)
end)
