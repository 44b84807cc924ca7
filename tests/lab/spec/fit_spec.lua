-- Slopes of known kernels: exactly their instructions, with what starting and stopping costs in the
-- intercept.

local lab = require "tests.lab.support"
local pmc = require "pmclua"
local support = require "tests.support"

local REPETITIONS = 10
local EVENTS = { "n = instructions:u", "c = cycles:u" }

-- Of kernels/known.S: instructions a turn.
local KERNELS = { turns_2 = 2, turns_7 = 7, turns_load = 3, turns_call = 5, turns_system = 4 }

local function kernel(symbol)
  return pmc.kernel { library = lab.built "known.so", symbol = symbol, name = symbol }
end

local function fitted(workload, options)
  local spec = { events = EVENTS, repetitions = REPETITIONS, warmup = 0, iterations = "fit", store = false }
  for name, value in pairs(options or {}) do spec[name] = value end
  return pmc.measure(workload, spec)
end

local function assert_exact(slope, summary)
  assert.equal("exact", summary.quality)
  assert.equal(slope, summary.median)
  assert.equal(slope, summary.low)
  assert.equal(slope, summary.high)
  assert.equal(1, summary.fit.r2)
  assert.is_true(summary.fit.intercept > 0)
end

describe("in the lab, the slope of a kernel", function()
  lazy_setup(lab.need_lab)

  for symbol, length in pairs(KERNELS) do
    it(("%s is its %d instructions, and the overhead is in the intercept"):format(symbol, length), function()
      local cell = fitted(kernel(symbol)):cells()()
      assert_exact(length, cell.n)
      assert_exact(lab.CYCLES_PER_INSTRUCTION * length, cell.c)
    end)
  end

  it("has the same intercept for kernels that begin and end alike", function()
    local two, seven = fitted(kernel "turns_2"):cells()(), fitted(kernel "turns_7"):cells()()
    assert.equal(two.n.fit.intercept, seven.n.fit.intercept)
  end)

  it("does not depend on which iterations it was fitted over", function()
    local cell = fitted(kernel "turns_7", { iterations = { 3, 50, 1000, 7000, 100000 } }):cells()()
    assert_exact(7, cell.n)
    assert.equal(3, cell.n.fit.least)
    assert.equal(100000, cell.n.fit.most)
  end)

  it("of a snippet is its copies and the two instructions of its loop", function()
    local result = fitted(pmc.snippet { asm = "nop", unroll = "{unroll}" },
      { factors = { { "unroll", { 10, 100 } } }, per = { operation = "unroll" }, repetitions = REPETITIONS })
    for unroll, length in pairs { [10] = 12, [100] = 102 } do
      local cell = result:only({ unroll = unroll }):cells()()
      assert_exact(length, cell.n)
      local each = cell.n_per_operation
      assert.equal("exact", each.quality)
      assert.equal(length / unroll, each.median)
    end
  end)

  it("makes metrics of slopes, and ratios, exact", function()
    local result = pmc.compare(kernel "turns_2", kernel "turns_7", { events = EVENTS,
      metrics = { "cpi = c / n" }, repetitions = REPETITIONS, warmup = 0, iterations = "fit", store = false })
    for cell in result:cells() do
      assert.equal(lab.CYCLES_PER_INSTRUCTION, cell.cpi.median)
      assert.equal("exact", cell.cpi.quality)
    end
    local row = result:compare({}).pairs[1].rows[1]
    assert.equal("exact", row.verdict.method)
    assert.equal(3.5, row.verdict.ratio)
    assert.equal("more", row.verdict.verdict)
  end)

  it("is the same of the stored counts", function()
    local path = support.folder() .. "/fit.jsonl"
    fitted(kernel "turns_7", { store = path })
    assert_exact(7, pmc.load(path):cells()().n)
  end)
end)
