-- What was not counted completely holds no limit and has no verdict, no fit and no ledger that concludes: CPUs that
-- came or went, repetitions without a value, and samples that are lost.

local expect = require "pmclua.experiment.expect"
local json = require "dkjson"
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local metric = require "pmclua.metric"
local profiles = require "tests.support.profiles"
local store = require "pmclua.store"
local support = require "tests.support"
local why = require "pmclua.why"

local sequence = support.sequence
local WENT = "CPU 1 went offline: counted only until then"
local CAME = "CPU 2-3,5 came online: counted only from when this was noticed"
local MISSED = "CPU 7 was online for a while: what ran there is not counted"

local WORKLOADS = { { name = "old", kind = "command", per = "run" },
  { name = "new", kind = "command", per = "run" } }

-- An event whose counts cannot be impossible, and one of a core, whose counts can.
local EVENTS = { made.event "page-faults", made.event("cycles", { source = "hardware" }) }

local function header(more)
  return made.header(support.merged({ events = EVENTS, pass_events = { { 1, 2 } }, workloads = WORKLOADS,
    factors = {}, cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } },
    baseline = { workload = "old" }, primary = "page_faults", target = "all CPUs", repetitions = 10 }, more))
end

-- Ten pairs: new takes twice as many page faults. `cycles_of(index)` of new.
local function records(cycles_of)
  local list = {}
  for index = 1, 10 do
    for cell, name in ipairs { "old", "new" } do
      local cycles = cell == 2 and cycles_of and cycles_of(index) or 1000
      list[#list + 1] = made.record({ 100 * cell, cycles }, { workload = name, levels = {}, cell = cell,
        index = index, order = 2 * index + cell, exit = 0 })
    end
  end
  return list
end

local function result_of(remarks, cycles_of, more)
  local result = made.result(header(more), records(cycles_of))
  result.status = "complete"
  result.remarks = remarks
  return result
end

-- Cycles of a command that grow with n: `cycles_of(n, index)`, else a thousand for each.
local function growth_of(remarks, cycles_of)
  local sizes, cells, list = { 1000, 2000, 4000, 8000 }, {}, {}
  for cell, n in ipairs(sizes) do
    cells[cell] = { workload = "old", levels = { n = n } }
    for index = 1, 10 do
      list[#list + 1] = made.record({ 5, cycles_of and cycles_of(n, index) or 1000 * n },
        { workload = "old", levels = { n = n }, cell = cell, index = index, order = #list, exit = 0 })
    end
  end
  local result = made.result(header { factors = { { "n", sizes } }, cells = cells, primary = "cycles" }, list)
  result.remarks = remarks
  return result:fit("n", { names = "cycles", exponent = 1 })[1]
end

-- The names of what differs besides times, and what is said to be absent.
local function suspected(result)
  local found = why.of(result, { a = "old", b = "new" })
  local absent = {}
  for _, about in ipairs(found.absent) do absent[#absent + 1] = about.what .. ": " .. about.why end
  return lists.column(found.suspects, "title"), table.concat(absent, "\n")
end

local function row_of(result, name)
  for _, row in ipairs(result:compare().pairs[1].rows) do
    if row.name == name then return row end
  end
end

describe("counts of CPUs that came or went", function()
  for remark, change in pairs { [WENT] = "CPU 1 went offline", [CAME] = "CPU 2-3,5 came online",
    [MISSED] = "CPU 7 was online for a while", ["new.jsonl: " .. WENT] = "CPU 1 went offline" } do
    it("have no verdict and hold no limit: " .. remark, function()
      local result = result_of { "another remark", remark }
      local row = row_of(result, "page_faults")
      assert.is_nil(row.verdict)
      assert.equal(change .. ": not all that there was to count was counted", row.why)
      for _, limit in ipairs { "page_faults <= 1000", "page_faults <= 1" } do
        local gate = result:gate { limits = { limit } }
        assert.same({ "uncountable", 77 }, { gate.state, gate:status() })
        assert.equal(row.why, gate.results[1].reason)
      end
    end)
  end

  it("of a baseline are no baseline", function()
    local function gated(baseline)
      return result_of({}):gate { limits = { "page_faults <= +1%" }, baseline = baseline }
    end
    local gate = gated(result_of { WENT })
    assert.equal("uncountable", gate.state)
    assert.matches("^in the baseline, CPU 1 went offline", gate.results[1].reason)
    assert.equal("pass", gated(result_of {}).state)
  end)

  it("keep no prediction", function()
    local function state_of(remarks)
      local declared = { expect = { (metric.comparison "page_faults <= 1000") }, events = EVENTS }
      local expectations = expect.new(declared)
      for _, record in ipairs(records()) do expectations:take(record) end
      return expectations:results(remarks)[1].state
    end
    assert.same({ "pass", "uncountable" }, { state_of {}, state_of { CAME } })
  end)

  it("are in no fit over a factor", function()
    assert.equal("same", growth_of({}).verdict)
    local growth = growth_of { WENT }
    assert.same({ nil, nil, "CPU 1 went offline: not all that there was to count was counted" },
      { growth.verdict, growth.exponent, growth.why })
  end)

  it("are no suspects of a difference, and that is said", function()
    local titles, absent = suspected(result_of {})
    assert.same({ "page-faults" }, titles)
    assert.is_nil(absent:find "page%-faults")
    titles, absent = suspected(result_of { WENT })
    assert.same({}, titles)
    assert.matches("page-faults and cycles: CPU 1 went offline: not all", absent, 1, true)
  end)

  it("say nothing against times, and other remarks nothing against counts", function()
    local timed = { events = { made.event("duration_time", { tool = "wall_ns", unit = "ns", attr = {} }) },
      pass_events = { {} }, primary = "duration_time" }
    assert.is_table(row_of(result_of({ WENT }, nil, timed), "duration_time").verdict)
    local other = { "CPU time was short", "the CPU went to sleep" }
    assert.equal("more", row_of(result_of(other), "page_faults").verdict.verdict)
  end)

  it("stored, end a comparison and a gate with 77", function()
    local folder = support.folder()
    local function stored(name, remarks)
      local writer = store.create(folder .. "/" .. name .. ".jsonl", header())
      for _, record in ipairs(records()) do writer:add(record) end
      writer:finish("complete", { remarks = remarks })
      return writer.path
    end
    local whole, broken = stored("whole", {}), stored("broken", { WENT })
    assert.equal(0, support.pmclua({ "compare", whole, stored("same", {}) }).status)
    local run = support.pmclua { "compare", whole, broken }
    assert.equal(77, run.status, run.out .. run.err)
    assert.is_nil(run.out:find "same")
    local gated = support.pmclua { "gate", broken, "--limit", "page_faults <= 1000" }
    assert.equal(77, gated.status)
    assert.matches("went offline", gated.out .. gated.err)
  end)
end)

local IMPOSSIBLE = 0ULL - 4294967000ULL

describe("repetitions without a value", function()
  -- So many of ten repetitions have a count that no core can reach.
  local function with_lost(count)
    return result_of({}, function(index) return index <= count and IMPOSSIBLE or 1000 + index end)
  end

  it("leave a verdict to the others, unless they are half of all", function()
    assert.is_table(row_of(with_lost(4), "cycles").verdict)
    local row = row_of(with_lost(5), "cycles")
    assert.is_nil(row.verdict)
    assert.equal("5 of 10 repetitions have no value", row.why)
    assert.matches("more than a core can do", row_of(with_lost(10), "cycles").why)
    assert.equal("uncountable", with_lost(10):gate({ limits = { "cycles >= 0" } }).state)
    assert.equal("uncountable", with_lost(5):gate({ limits = { "cycles <= 5000" } }).state)
  end)

  it("leave a fit over a factor to the others, unless they are half of a cell's", function()
    local function lost(count)
      return growth_of({}, function(n, index)
        return n == 4000 and index <= count and IMPOSSIBLE or 1000 * n + index
      end)
    end
    assert.equal("same", lost(4).verdict)
    assert.same({ nil, "5 of 10 repetitions have no value" }, { lost(5).verdict, lost(5).why })
  end)

  it("leave a suspect to the others, unless they are half of all", function()
    local function lost(count)
      return result_of({}, function(index) return index <= count and IMPOSSIBLE or 9000 + index end)
    end
    assert.same({ "cycles", "page-faults" }, suspected(lost(4)))
    local titles, absent = suspected(lost(5))
    assert.same({ "page-faults" }, titles)
    assert.matches("cycles: 5 of 10 repetitions have no value", absent, 1, true)
  end)

  it("leave a line to the others, unless they are half of all", function()
    local function fitted(count)
      local list = {}
      for index = 1, 10 do
        local iterations = 1000 * (1 + index % 5)
        local cycles = index <= count and IMPOSSIBLE or 50 + 3 * iterations
        list[index] = made.record({ 5, cycles }, { index = index, order = index, iterations = iterations })
      end
      return made.result(made.header { events = EVENTS, pass_events = { { 1, 2 } }, iterations = "fit",
        repetitions = 10 }, list):cells()().cycles
    end
    assert.equal(3, fitted(4).median)
    assert.same({ "absent", "5 of 10 repetitions have no value" }, { fitted(5).status, fitted(5).why })
  end)
end)

describe("a primary quantity that was read and is no count", function()
  -- The exit status of comparing stored results; the second has these cycles, its primary quantity.
  local function status_of(cycles, more)
    local folder = support.folder()
    local function stored(name, count)
      local events = { EVENTS[1], support.merged(EVENTS[2], more) }
      local head = header { primary = "cycles", events = events }
      local writer = store.create(folder .. "/" .. name .. ".jsonl", head)
      for _, record in ipairs(count and records(function() return count end) or {}) do writer:add(record) end
      writer:finish "complete"
      return writer.path
    end
    return support.pmclua({ "compare", stored("whole", 1000), stored("other", cycles) }).status
  end

  it("ends a comparison with 77", function()
    assert.equal(0, status_of(1000))
    assert.equal(77, status_of(IMPOSSIBLE))
    assert.equal(77, status_of(0, { verified = false }))
  end)

  it("is another thing than a cell of which nothing ran: 0", function()
    assert.equal(0, status_of(nil))
  end)

  it("which the machine cannot count, leaves the others: 0", function()
    assert.equal(0, status_of(1000, { status = "unsupported", why = "no PMU" }))
  end)
end)

describe("a profile of a code that the PMU may lack", function()
  -- Twelve pairs; B's totals are these, A's 0.
  local function code(count, verified)
    local function side(total)
      return sequence(12, function()
        return profiles.profile(total > 0 and { profiles.line("parse", total) } or {})
      end)
    end
    local event = made.event("page-faults", { verified = verified })
    return profiles.code(side(0), side(count), { events = { event } })
  end

  it("concludes nothing from zeros alone", function()
    local conclusion = code(0, false):ledger().conclusion
    assert.same({ "incomplete", "it read only 0, and nothing confirms that the PMU has this code" },
      { conclusion.kind, conclusion.why })
  end)

  it("believes the zeros of a code that counted, and of one that the PMU has", function()
    assert.equal("named", code(5, false):ledger().conclusion.kind)
    assert.equal("none", code(0, true):ledger().conclusion.kind)
  end)
end)

describe("lost samples", function()
  -- Twelve pairs in which B's parse takes half as much again, with `lost` of 1000 samples of a period of 10.
  local function code(lost, more)
    local function side(factor)
      return sequence(12, function(i)
        local kept = 1000 - lost
        local lines = { profiles.line("parse", factor * 10 * kept + 10 * i, { samples = kept }) }
        return profiles.profile(lines, support.merged({ period = 10, exact = false, event = "cycles",
          rest = { lost = factor * 10 * lost } }, more))
      end)
    end
    return profiles.code(side(1), side(1.5), { events = { made.event "cycles" } })
  end

  it("leave a conclusion up to a fifth of them, and none beyond", function()
    assert.equal("named", code(190):ledger().conclusion.kind)
    local found = code(300)
    local conclusion = found:ledger().conclusion
    assert.same({ "incomplete", {} }, { conclusion.kind, conclusion.names })
    assert.matches("^30 %% of the samples are lost %(3[,%d]+ of 12[,%d]+ that were due%)$", conclusion.why)
    for _, row in ipairs(found:ledger().lines) do assert.is_nil(row.verdict) end
    local shown = tostring(found):gsub("%s+", " ")
    assert.matches("nothing is concluded: 30 % of the samples are lost", shown, 1, true)
  end)

  it("are those, too, of the time that the event was not on the PMU", function()
    assert.equal("named", code(0, { ran = 0.9 }):ledger().conclusion.kind)
    assert.equal("incomplete", code(0, { ran = 0.5 }):ledger().conclusion.kind)
  end)

  it("of interrupts that came late have advice: to sample cycles, unless those were", function()
    local function shown(spec)
      local event = made.event("page-faults", { source = "hardware", spec = spec })
      local profile = profiles.profile({ profiles.line("parse", 5000) },
        { period = 10, exact = false, rest = { lost = 5000 } })
      local found = profiles.code({ profile }, { profile }, { events = { event } })
      return (tostring(found):gsub("%s+", " "))
    end
    assert.matches("came late or not at all: sample cycles", shown "instructions:u", 1, true)
    for _, spec in ipairs { "cycles:u", "armv8_pmuv3/cpu_cycles/u", "cpu-cycles" } do
      local of_cycles = shown(spec)
      assert.matches("came late or not at all", of_cycles, 1, true)
      assert.is_nil(of_cycles:find "sample cycles")
    end
  end)

  it("are counted in JSON", function()
    local shown = assert(json.decode(code(300):report { format = "json" }))
    assert.same({ "incomplete", 3600, 12078 },
      { shown.conclusion, shown.a.samples.lost, shown.a.samples.due })
    assert.matches("samples are lost", shown.why)
  end)
end)
