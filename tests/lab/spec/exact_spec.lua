-- Counts of code whose length is read off its source, by the core: equal, not near.

local lab = require "tests.lab.support"

local REPETITIONS = 3

-- Of kernels/known.S: instructions a turn, and besides the turns.
local KERNELS = {
  { "turns_2", 2, 1 }, { "turns_7", 7, 1 }, { "turns_load", 3, 1 }, { "turns_call", 5, 3 },
  { "turns_system", 4, 1 },
}
local TURNS = { 1, 10, 1000, 100000 }

describe("in the lab, a kernel", function()
  lazy_setup(lab.need_lab)

  local groups = { { lab.instructions() } }
  local overhead                       -- what a count holds besides the kernel: the same for all of them

  for _, known in ipairs(KERNELS) do
    local symbol, length, rest = unpack(known)
    local name = ("%s costs its %d instructions a turn, whatever the turns, each time"):format(symbol, length)

    it(name, function()
      local list = lab.count(lab.kernel(symbol), groups, { iterations = TURNS, repetitions = REPETITIONS })
      assert.equal(#TURNS * REPETITIONS, #list)
      for i, counts in ipairs(list) do
        local turns = TURNS[math.ceil(i / REPETITIONS)]
        local besides = counts.values[1][1] - (length * turns + rest)
        overhead = overhead or besides
        assert.equal(overhead, besides)
      end
    end)
  end

  it("takes two cycles an instruction", function()
    local group = { lab.instructions(), lab.cycles() }
    local counts = lab.count_once(lab.kernel "turns_7", { group }, { iterations = 1000 })
    local instructions, cycles = unpack(counts.values[1])
    assert.equal(lab.CYCLES_PER_INSTRUCTION * instructions, cycles)
  end)

  it("costs in user mode and in the OS kernel what it costs in both", function()
    local both, user = lab.instructions { exclude_kernel = 0 }, lab.instructions()
    local system = lab.instructions { exclude_kernel = 0, exclude_user = 1 }
    for _, symbol in ipairs { "turns_2", "turns_system" } do
      local counts = lab.count_once(lab.kernel(symbol), { { both, user, system } }, { iterations = 1000 })
      local values = counts.values[1]
      assert.equal(values[1], values[2] + values[3])
      assert.is_true(values[3] > 0)
    end
  end)

  it("costs the same in user mode whether or not its group counts the OS kernel too", function()
    local with = { { lab.instructions { exclude_kernel = 0 }, lab.instructions() } }
    local without = { { lab.instructions(), lab.instructions() } }
    local all, user, alone = {}, {}, {}
    for i, turns in ipairs { 1000, 3000 } do
      local kernel = lab.kernel "turns_system"
      all[i], user[i] = unpack(lab.count_once(kernel, with, { iterations = turns }).values[1])
      alone[i] = lab.count_once(kernel, without, { iterations = turns }).values[1][1]
    end
    assert.equal(4 * 2000, user[2] - user[1])
    assert.equal(4 * 2000, alone[2] - alone[1])
    assert.is_true(all[2] - all[1] > 4 * 2000)
  end)

  it("is counted for each of its threads alone", function()
    local kernel = lab.kernel("turns_7", { threads = 2 })
    local list = lab.count(kernel, groups, { iterations = 1000, repetitions = REPETITIONS })
    local more = lab.count(kernel, groups, { iterations = 3000, repetitions = REPETITIONS })
    for i in ipairs(list) do
      for thread = 1, 2 do
        assert.equal(7 * 2000, more[i].threads[thread][1][1] - list[i].threads[thread][1][1])
      end
    end
  end)
end)

describe("in the lab, a program", function()
  lazy_setup(lab.need_lab)

  local inherited = { { lab.instructions { inherit = 1 }, lab.cycles { inherit = 1 } } }
  local own = { { lab.instructions(), lab.cycles() } }

  local function assert_counts(expected, command, groups)
    for _, counts in ipairs(lab.count(command, groups, { repetitions = REPETITIONS })) do
      assert.equal("done", counts.outcome)
      assert.equal(expected, counts.values[1][1])
      assert.equal(lab.CYCLES_PER_INSTRUCTION * expected, counts.values[1][2])
    end
  end

  it("is counted from its first instruction to its last, and nothing of who started it", function()
    assert_counts(20006, lab.command { lab.built "turns" }, own)
    assert_counts(60006, lab.command { lab.built "turns", "two", "three" }, own)
  end)

  it("is counted with its children where events are inherited, and without them where not", function()
    local children = lab.command { lab.built "children", "one", "two", "three" }
    assert_counts(6 + 3 * (16 + 20005), children, inherited)
    assert_counts(6 + 3 * 16, children, own)
  end)

  it("is counted with its threads where events are inherited, and without them where not", function()
    assert_counts(18 + 20005, lab.command { lab.built "thread" }, inherited)
    assert_counts(18, lab.command { lab.built "thread" }, own)
  end)
end)
