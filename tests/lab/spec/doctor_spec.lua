-- The doctor on a machine with a PMU that is known: its counters found, its figures true.

local lab = require "tests.lab.support"
local pmc = require "pmclua"

describe("in the lab, the doctor", function()
  lazy_setup(lab.need_lab)

  it("finds six counters by trying, and one of the cycles' own", function()
    local found = pmc.doctor.examine()
    local core
    for _, one in ipairs(found.pmus) do core = one.kind == "core" and one or core end
    assert.same({ 6, { "cycles" } }, { core.counters.any, core.counters.own })
    assert.match("6 counters, and one for cycles only", tostring(found))
    assert.is_true(found.can_count)
  end)

  it("finds that counters can be read in user space", function()
    for _, finding in ipairs(pmc.doctor.examine().findings) do
      if finding.name == "user-space reads" then assert.is_true(finding.value) end
    end
  end)

  it("counts twelve instructions for each turn of a loop of twelve", function()
    local seen
    for _, truth in ipairs(pmc.doctor.truths().list) do
      if truth.name == "instructions" then
        seen = true
        assert.same({ "exact", 12 }, { truth.verdict, truth.least })
      end
      assert.not_equal("wrong", truth.verdict)
    end
    assert.is_true(seen)
  end)
end)
