-- Whole experiments on counts that are known: what is stored and summarised is the source's length.

local lab = require "tests.lab.support"
local pmc = require "pmclua"
local support = require "tests.support"

local REPETITIONS = 6
local CHILDREN = 6 + 2 * (16 + 20005)       -- of commands/children.S with two words

local function children() return pmc.command { lab.built "children", "one", "two" } end

--- A kernel of kernels/known.S.
local function kernel(symbol) return pmc.kernel { library = lab.built "known.so", symbol = symbol } end

--- Cycles and `others` more events of one kind: more than the PMU's counters hold at once.
local function many_events(others)
  local events = { "cycles = cycles:u" }
  for i = 1, others do events[i + 1] = ("e%d = instructions:u"):format(i) end
  return events
end

describe("in the lab, an experiment", function()
  lazy_setup(lab.need_lab)

  it("stores counts whose slope over iterations is the kernel's length, with one intercept", function()
    local path = support.folder() .. "/stored.jsonl"
    pmc.measure(kernel "turns_7",
      { events = { "n = instructions:u" }, repetitions = REPETITIONS, iterations = "fit", store = path })
    local intercept, seen, distinct = nil, {}, 0
    for iterations, count in support.read(path):gmatch '"iterations":(%d+),.-"counts":%[(%d+)%]' do
      local rest = tonumber(count) - 7 * tonumber(iterations)
      intercept = intercept or rest
      assert.equal(intercept, rest)
      if not seen[iterations] then distinct = distinct + 1 end
      seen[iterations] = true
    end
    assert.is_true(distinct >= 3)
  end)

  it("counts more events than the PMU has counters for in the fewest passes, each exactly", function()
    local options = { events = many_events(19), repetitions = REPETITIONS, store = false }
    local result = pmc.measure(children(), options)
    -- Cycles and the first instructions are in each pass, beside five of the other 18: 6 counters and the
    -- cycle counter.
    assert.same({ 4, { 1, 2 } }, { #result.header.pass_events, result.header.anchors })
    local cell = result:cells()()
    assert.equal(lab.CYCLES_PER_INSTRUCTION * CHILDREN, cell.cycles.median)
    for i = 1, 19 do
      local summary = cell["e" .. i]
      assert.equal("counted", summary.status)
      assert.equal(CHILDREN, summary.min)
      assert.equal(CHILDREN, summary.max)
    end
  end)

  it("lets the OS kernel rotate them where it is told to, and marks the estimates", function()
    local cell = pmc.measure(kernel "turns_2", {
      events = many_events(11), repetitions = REPETITIONS,
      passes = "multiplex", iterations = 2e7, store = false,
    }):cells()()
    for i = 1, 11 do
      local summary = cell["e" .. i]
      assert.equal("scaled", summary.status)
      assert.near(2, summary.median, 0.02)
    end
  end)

  it("compares commands of known lengths at their exact ratio", function()
    local two = pmc.command { lab.built "turns", "two", name = "two" }
    local three = pmc.command { lab.built "turns", "two", "three", name = "three" }
    local result = pmc.compare(two, three,
      { events = { "n = instructions:u" }, repetitions = REPETITIONS, store = false })
    for _, value in ipairs(result:values("n", { workload = "two" })) do assert.equal(40006, value) end
    for _, value in ipairs(result:values("n", { workload = "three" })) do assert.equal(60006, value) end
  end)
end)
