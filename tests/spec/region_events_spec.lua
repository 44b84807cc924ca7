-- Events that cannot be counted in the calls of functions: pmc.regions and experiments say the same of them.

local made = require "tests.support.regions"
local pmc = require "pmclua"

local function calls_of(...) return pmc.regions(...):calls() end

-- What both say of each of these events beside one that is counted, by field.
local function reasons(events)
  local command, said = { made.program "pages.c", "calls", "3" }, { {}, {} }
  local result = calls_of(command, { regions = { "touch" }, events = events, calibrate = false })
  assert.equal(6, result:region("touch"):values(made.FAULTS).sum)
  for _, event in ipairs(result.events) do said[1][event.field] = event.why end
  local stored = pmc.measure(command, { regions = { "touch" }, events = events, repetitions = 1, warmup = 0 })
  for _, event in ipairs(stored.header.events) do said[2][event.field] = event.why end
  return said[1], said[2]
end

describe("an event that no call can be counted by", function()
  lazy_setup(made.need_probes)

  it("is absent with the same reason from pmc.regions and from an experiment", function()
    local probe = "probe = uprobe:" .. made.program "pages.c" .. ":outer"
    local of_regions, of_experiment = reasons { made.FAULTS, "clock = task-clock:D", probe }
    assert.same(of_experiment, of_regions)
    assert.matches("pinned", of_regions.clock)
    assert.matches("threads could not inherit it", of_regions.probe)
  end)

  it("is said to be of the whole run where it is no count of a thread", function()
    local result = calls_of({ made.program "pages.c", "calls", "3" },
      { regions = { "touch" }, events = { made.FAULTS, "duration_time" }, calibrate = false })
    local values = result:region("touch"):values "duration_time"
    local why = "it is known of the whole run, and of no single call"
    assert.same({ status = "not-counted", why = why, n = 0 }, values)
    assert.matches("duration_time: it is known of the whole run", result:report { width = 200 })
  end)

  it("is refused before anything runs where it is none, each with its reason", function()
    local ok, why = pcall(pmc.regions, made.program "pages.c",
      { regions = { "touch" }, events = { "no-such", "nor-this" } })
    assert.is_false(ok)
    assert.matches("no%-such.*\n.*nor%-this", tostring(why))
  end)
end)
