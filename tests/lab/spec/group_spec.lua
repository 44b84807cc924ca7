-- The typed group and event names on a PMU that counts: one thing by all its names is one number.

local lab = require "tests.lab.support"
local pmc = require "pmclua"

local function work(turns)
  local sum = 0
  for i = 1, turns do sum = sum + i end
  return sum
end

local function counts_of(events)
  local group = pmc.group(events)
  local counts = group:count(work, 1e5)
  group:close()
  return counts
end

describe("in the lab, a group of this thread", function()
  lazy_setup(lab.need_lab)

  it("counts instructions alike by generic name, raw code, sysfs name, bare name, terms and in libpfm4",
    function()
      local counts = counts_of {
        "generic = instructions:u", "code = r8:u", "sysfs = armv8_pmuv3/inst_retired/u",
        "bare = inst_retired:u", "terms = armv8_pmuv3/event=0x8/u", "pfm = arm_n1::INST_RETIRED:u",
      }
      assert.is_true(counts.generic > 1e5)
      for _, name in ipairs { "code", "sysfs", "bare", "terms", "pfm" } do
        assert.equal(counts.generic, counts[name])
      end
    end)

  it("counts cycles alike by generic name, alias, raw code, sysfs name and libpfm4's name", function()
    local counts = counts_of {
      "generic = cycles:u", "alias = cpu-cycles:u", "code = r11:u", "sysfs = armv8_pmuv3/cpu_cycles/u",
      "pfm = arm_n1::CPU_CYCLES:u", "instructions:u",
    }
    for _, name in ipairs { "alias", "code", "sysfs", "pfm" } do
      assert.equal(counts.generic, counts[name])
    end
    assert.equal(lab.CYCLES_PER_INSTRUCTION * counts["instructions:u"], counts.generic)
  end)

  it("splits into what user mode and the OS kernel did", function()
    local counts = counts_of { "both = instructions", "user = instructions:u", "kernel = instructions:k" }
    -- Equal although one counter is read after the other: both reads do so alike.
    assert.is_true(counts.kernel > 0)
    assert.equal(counts.both, counts.user + counts.kernel)
  end)

  it("is refused with eight events, naming the eighth", function()
    local events = { "cycles:u" }
    for i = 2, 8 do events[i] = ("e%d = instructions:u"):format(i) end
    local ok, problem = pcall(pmc.group, events)
    assert.is_false(ok)
    assert.equal("EINVAL", problem.code)
    assert.matches("'e8' %(8 of a group of 8%)", tostring(problem))
    assert.matches("does not fit into this group", tostring(problem))
  end)

  it("has no number for a group that never gets onto the PMU", function()
    local events = {}
    for i = 1, 7 do events[i] = ("e%d = instructions:u"):format(i) end
    local counts = counts_of(events)
    assert.is_nil(counts.e1)
    assert.equal("not-counted", (counts:status "e1"))
  end)

  it("has no number for what the PMU lacks, and the rest is counted", function()
    local counts = counts_of { "instructions:u", "cache-misses" }
    assert.is_nil(counts["cache-misses"])
    assert.equal("unsupported", (counts:status "cache-misses"))
    assert.equal("counted", (counts:status "instructions:u"))
  end)
end)
