-- What Valgrind counts is what the PMU counts in user space: of kernels and programs of known length.

local lab = require "tests.lab.support"
local pmc = require "pmclua"

-- Of kernels/known.S: instructions a turn, and besides the turns.
local KERNELS = { turns_2 = { 2, 1 }, turns_7 = { 7, 1 }, turns_load = { 3, 1 }, turns_call = { 5, 3 },
  turns_system = { 4, 1 } }

describe("in the lab, Valgrind", function()
  lazy_setup(lab.need_lab)

  it("counts a kernel's instructions as its source says, and its slope as the PMU does", function()
    -- After the warm-up fewer repetitions than numbers of iterations: one that is repeated starts another Valgrind.
    for symbol, length in pairs(KERNELS) do
      local kernel = pmc.kernel { library = lab.built "known.so", symbol = symbol }
      local expected = ("valgrind_instructions == %d * iterations + %d"):format(unpack(length))
      local result = pmc.measure(kernel, { events = "valgrind::instructions,hardware=instructions:u",
        iterations = { 10, 1000, 2000, 5000, 20000 }, repetitions = 4, expect = { expected } })
      assert.equal("pass", result.expectations[1].state, symbol)
      assert.equal(4, result.expectations[1].n)
      local cell = result:cells()()
      assert.equal(length[1], cell.valgrind_instructions.median, symbol)
      assert.equal(length[1], cell.hardware.median, symbol)
    end
  end)

  it("counts a program's instructions as the PMU does", function()
    for name, count in pairs { turns = 20006, calls = 20032 } do
      local result = pmc.measure(pmc.command { lab.built(name) }, { repetitions = 3,
        events = "valgrind::instructions,hardware=instructions:u" })
      local cell = result:cells()()
      assert.equal(cell.hardware.median, cell.valgrind_instructions.median, name)
      assert.equal(count, cell.valgrind_instructions.median, name)
    end
  end)
end)
