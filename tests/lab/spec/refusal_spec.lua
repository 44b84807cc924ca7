-- What perf_event_paranoid forbids an ordinary user, on a machine whose distribution knows a 3.

local lab = require "tests.lab.support"
local support = require "tests.support"

local PARANOID = "/proc/sys/kernel/perf_event_paranoid"

local COUNT = [[
  local counts = require("pmclua").group{ "instructions:u" }:count(function() end)
  print(counts["instructions:u"], counts:status "instructions:u")]]

describe("in the lab, an ordinary user", function()
  local before

  lazy_setup(function()
    lab.need_lab()
    before = support.read(PARANOID)
  end)
  lazy_teardown(function() if before then support.write(PARANOID, before) end end)

  it("is refused even user mode under perf_event_paranoid 3, and reads why", function()
    support.write(PARANOID, "3")
    local run = support.pmclua({ "-e", COUNT }, { user = true })
    assert.matches("permission denied: kernel.perf_event_paranoid is 3", run.out .. run.err, 1, true)
    assert.not_matches("counted", run.out)
  end)

  it("counts user mode under 2, to the instruction", function()
    support.write(PARANOID, "2")
    local words = { support.program, "stat", "-e", "instructions:u", "--", lab.built "turns" }
    local run = support.run(words, { user = true })
    assert.matches("instructions:u%s+20,006 ", run.err)
    assert.equal(0, run.status)
  end)
end)
