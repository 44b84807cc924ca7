-- The PMU's limits, 6 counters and a cycle counter, as the core meets them.

local json = require "dkjson"
local lab = require "tests.lab.support"
local pmc = require "pmclua"

local EINVAL = 22

local function repeated(attr, times)
  local list = {}
  for i = 1, times do list[i] = attr end
  return list
end

--- Cycles, which have a counter of their own, and `others` times instructions.
local function group_of(others)
  local group = repeated(lab.instructions(), others)
  table.insert(group, 1, lab.cycles())
  return group
end

describe("in the lab, the PMU", function()
  lazy_setup(lab.need_lab)

  it("holds a group of cycles and six more, all of the time", function()
    local counts = lab.count_once(lab.kernel "turns_2", { group_of(6) }, { iterations = 1000 })
    assert.equal(counts.enabled[1], counts.running[1])
    local cycles, instructions = unpack(counts.values[1])
    assert.equal(lab.CYCLES_PER_INSTRUCTION * instructions, cycles)
    for i = 3, 7 do assert.equal(instructions, counts.values[1][i]) end
  end)

  it("refuses the eighth event of a group, and says that it is the eighth", function()
    local counts = lab.count_once(lab.kernel "turns_2", { group_of(8) })
    assert.equal("not-counted", counts.outcome)
    assert.equal(EINVAL, counts.failure.errnum)
    assert.equal(8, counts.failure.index)
    assert.equal(1, counts.failure.group)
  end)

  it("opens a group of seven without cycles, and then never runs it", function()
    local group = repeated(lab.instructions(), 7)
    local counts = lab.count_once(lab.kernel "turns_2", { group }, { iterations = 1000 })
    assert.equal("done", counts.outcome)
    assert.is_true(counts.enabled[1] > 0)
    assert.equal(0, counts.running[1])
  end)

  it("has no room for a second pinned group, which then has no counts, however it is read", function()
    local turns = lab.kernel "turns_2"
    for _, workload in ipairs { turns, lab.command { lab.built "turns" } } do
      for _, read in ipairs { "syscall", "toggle", "user" } do
        local group = repeated(lab.instructions(), 4)
        group.pinned, group.read = true, read
        for _, counts in ipairs(lab.count(workload, { group, group }, { repetitions = 3 })) do
          assert.same({ "done", 0 }, { counts.outcome, counts.errnum })
          assert.is_true(counts.enabled[1] > 0 and counts.values[1][1] > 0)
          -- Enabled for 1 ns, and never running: core/pmclua.h.
          local lost = { counts.enabled[2], counts.running[2], unpack(counts.values[2]) }
          assert.same({ 1, 0, 0, 0, 0, 0 }, lost)
        end
      end
    end
  end)

  it("rotates twelve events, each scaled to within 1 % of the truth", function()
    local turns, groups = 100e6, {}
    for i = 1, 12 do groups[i] = { lab.instructions() } end
    local counts = lab.count_once(lab.kernel "turns_2", groups, { iterations = turns })
    local truth = 2 * turns
    for g = 1, 12 do
      assert.is_true(counts.running[g] > 0 and counts.running[g] < counts.enabled[g])
      local estimate = counts.values[g][1] * counts.enabled[g] / counts.running[g]
      assert.near(truth, estimate, truth / 100)
    end
  end)

  it("loses most samples of instructions, from which nothing is concluded, and none of cycles", function()
    local function profile_of(event)
      local workload = pmc.kernel { library = lab.built "known.so", symbol = "turns_2" }
      local found = pmc.measure(workload, { sample = event, iterations = 1e6, repetitions = 2, warmup = 0,
        store = false, quiet = true }):where()
      return assert(json.decode(found:report { format = "json" })), tostring(found):gsub("%s+", " ")
    end
    local of_cycles = profile_of "cycles:u"
    assert.same({ 0, "one" }, { of_cycles.a.samples.lost, of_cycles.conclusion })
    local found, shown = profile_of "instructions:u"
    assert.is_true(found.a.samples.lost > 0.5 * found.a.samples.due)
    assert.equal("incomplete", found.conclusion)
    assert.matches("sample cycles nothing is concluded: %d+ %% of the samples are lost", shown)
  end)
end)
