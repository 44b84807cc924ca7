-- What the lab's one CPU does not show of regions: threads that are moved between two.

local support = require "tests.support"

local LAB = support.root .. "/tests/lab/lab.sh"

describe("the lab with two CPUs", function()
  it("counts calls of threads that are moved between them to the instruction", function()
    local specs = { support.root .. "/tests/support/specs.lua", "two", "--filter=moved between two CPUs",
      support.root .. "/tests/lab/spec/region_spec.lua" }
    local run = support.run({ LAB, "run", "--smp", "2", "--timeout", "120", "--", "pmclua", unpack(specs) },
      { limit_s = 150 })
    assert.truthy(run.out:find("[two] passed 1, failed 0, skipped 0", 1, true), run.out .. run.err)
  end)
end)
