-- Instructions of each call of a function of an unmodified program: equal to what its code says.

local lab = require "tests.lab.support"
local lfs = require "lfs"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

local INSTRUCTIONS = "instructions:u"
local TURN, BEFORE = 4, 1            -- instructions, in tests/fixtures/region/counted.c: of work, before its return

local path

--- The program, compiled in the guest when it is first needed.
local function program()
  if path then return path end
  path = support.folder() .. "/counted"
  local built = support.run { "cc", "-O2", "-o", path, support.fixture "region/counted.c", "-lpthread" }
  assert(built.status == 0, built.err)
  return path
end

local function follow(shape, n, spec)
  local result = regions.measure({ program(), shape, tostring(n) }, { regions = spec,
    events = { INSTRUCTIONS, "cycles:u" }, calibrate = false, timeout = 60 })
  assert.equal(0, result.exit)
  assert.equal(0, result.lost)
  return result
end

local function follows_threads() return follow("works", 1, { "work" }).path == "all threads" end

describe("in the lab, a function's calls", function()
  lazy_setup(lab.need_lab)

  for _, threads in ipairs { "all", "one" } do
    local followed = threads == "all" and "all threads followed" or "one thread followed"

    it("cost a constant and their turns, equal calls equally, with " .. followed, function()
      support.need(threads == "one" or follows_threads(), "threads are followed from Linux 6.12 on")
      local work = follow("works", 16, { "work", threads = threads })[1]
      local list = work:list(INSTRUCTIONS)
      assert.equal(16, #list)
      local fixed = list[1] - TURN * 1000
      assert.is_true(fixed > 0 and fixed < 20, fixed)
      for i, count in ipairs(list) do assert.equal(fixed + TURN * 1000 * math.ceil(i / 2), count) end
      for i, count in ipairs(work:list "cycles:u") do
        assert.equal(lab.CYCLES_PER_INSTRUCTION * list[i], count)
      end
    end)
  end

  it("cost the same 100,000 times, and none is lost", function()
    local brief = follow("briefs", 100000, { "brief" })[1]
    assert.equal(100000, brief.calls)
    local values = brief:values(INSTRUCTIONS)
    assert.equal(values.min, values.max)
    assert.equal(100000, values.n)
    assert.equal(100000 * values.min, values.sum)
  end)

  it("cost what the code says once what probes change is taken off", function()
    local result = regions.measure({ program(), "works", "16" }, { regions = { "work" },
      events = { INSTRUCTIONS }, subtract = true, timeout = 60 })
    local work = result[1]
    assert.equal(16, work.calls)
    local values, sum = work:values(INSTRUCTIONS), 0
    for i = 1, 16 do sum = sum + BEFORE + TURN * 1000 * math.ceil(i / 2) end
    assert.same({ sum, sum / 16 }, { values.sum, values.mean }, result:report { width = 200 })
    assert.same({ BEFORE + TURN * 1000, BEFORE + TURN * 8000 }, { values.min, values.max })
  end)

  it("cost their caller the same whether they are followed, too, or not", function()
    local sums = {}
    for i, names in ipairs { { "recurse" }, { "recurse", "work" } } do
      local result = regions.measure({ program(), "recursion", "50" }, { regions = names,
        events = { INSTRUCTIONS }, subtract = true, timeout = 60 })
      sums[i] = result:region("recurse"):values(INSTRUCTIONS).sum
    end
    assert.is_true(sums[1] > 50 * 100 * TURN)
    assert.equal(sums[1], sums[2])
  end)

  it("on an older OS kernel are of one thread, which is said", function()
    local result = follow("works", 1, { "work" })
    support.need(result.path ~= "all threads", "this OS kernel follows threads")
    assert.truthy(result:report { width = 200 }:find("takes Linux 6.12 or later", 1, true))
  end)

  it("recurse 1,000 deep, each itself equally, all of them in the outermost", function()
    local result = follow("recursion", 1000, { "recurse", "work" })
    local recurse, work = result:region "recurse", result:region "work"
    assert.equal(1000, recurse.calls)
    assert.equal(999, recurse.nested)
    assert.equal(1, work.calls)
    local own = recurse:list(INSTRUCTIONS, true)
    -- The innermost calls work instead of itself.
    for i = 3, 1000 do assert.equal(own[2], own[i]) end
    local total, itself = recurse:values(INSTRUCTIONS), recurse:values(INSTRUCTIONS, true)
    assert.equal(itself.sum + work:values(INSTRUCTIONS).sum, total.sum)
    assert.equal(total.max, total.sum)
    local list = recurse:list(INSTRUCTIONS)
    local step = list[3] - list[2]
    assert.equal(own[2], step)
    for i = 3, 1000 do assert.equal(step, list[i] - list[i - 1]) end
  end)

  it("of two threads that are moved between two CPUs lose and gain nothing", function()
    support.need(lfs.attributes "/sys/devices/system/cpu/cpu1", "one CPU alone")
    support.need(follows_threads(), "threads are followed from Linux 6.12 on")
    local moved = follow("moves", 50, { "moved" })[1]
    assert.equal(100, moved.calls)
    assert.equal(2, #moved.threads)
    local least, equal = moved:values(INSTRUCTIONS).min, 0
    assert.is_true(least >= TURN * 6000 and least < TURN * 6000 + 200, least)
    for _, count in ipairs(moved:list(INSTRUCTIONS)) do equal = equal + (count == least and 1 or 0) end
    -- QEMU's CPUs take turns and share one count of instructions: one that is in user mode when it is the
    -- other's turn counts the other's, too.
    assert.is_true(equal >= 90, equal)
  end)
end)
