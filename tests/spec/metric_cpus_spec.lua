-- The groups of metrics that come with pmclua, CPU by CPU: each metric is of events that this CPU has by a name which
-- libpfm4, perf's tables or its PMUs in sysfs know, or is absent.

local lists = require "pmclua.base.lists"
local metric = require "pmclua.metric"
local support = require "tests.support"

local INTEL = lists.set { "uncore_imc/cas_count_read/", "uncore_imc/cas_count_write/", "power/energy-pkg/",
  "power/energy-ram/" }
local AMD = lists.set { "power/energy-pkg/" }
local UMC = lists.set { "power/energy-pkg/", "amd_umc/event=0xa,rdwrmask=0x1/",
  "amd_umc/event=0xa,rdwrmask=0x2/" }

-- pfm: its PMU in libpfm4; perf: its name in perf's tables; sysfs: events of other PMUs that Linux has there.
local CPUS = {
  skylake = { pfm = "skx", sysfs = INTEL },
  cascade_lake = { pfm = "clx", sysfs = INTEL },
  ice_lake = { pfm = "icx", sysfs = INTEL },
  sapphire_rapids = { pfm = "spr", sysfs = INTEL },
  zen2 = { pfm = "amd64_fam17h_zen2", perf = "AuthenticAMD-23-31-0", sysfs = AMD },
  zen3 = { pfm = "amd64_fam19h_zen3", perf = "AuthenticAMD-25-1-1", sysfs = AMD },
  zen4 = { pfm = "amd64_fam19h_zen4", perf = "AuthenticAMD-25-11-1", sysfs = UMC },
  zen5 = { listed = true, sysfs = UMC },
  n1 = { listed = true, sysfs = {} },
  v1 = { listed = true, sysfs = {} },
  v2 = { listed = true, sysfs = {} },
  n2 = { listed = true, sysfs = {} },
}

-- Those that perf's own grammar has are asked of every CPU; whether one counts them its driver says.
local GENERIC = lists.set { "cycles", "instructions", "duration_time", "branches", "branch-misses",
  "cache-references", "cache-misses", "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads",
  "LLC-load-misses" }

local function listed(cpu, name)
  for _, line in ipairs(support.lines_of(support.fixture "vendor/names.txt")) do
    local its, names = line:match "^(%w+) (.*)$"
    if its == cpu and lists.contains(lists.collect(names:gmatch "%S+"), name) then return true end
  end
  return false
end

local asked = {}

-- Whether pmclua encodes a name in surroundings where that CPU's tables are.
local function is_encoded(name, env)
  local key = name .. "\0" .. table.concat(lists.assignments(env), " ")
  if asked[key] == nil then
    asked[key] = support.pmclua({ "events", "--encode", name }, { env = env }).status == 0
  end
  return asked[key]
end

local function knows(name, cpu)
  local facts = CPUS[cpu]
  local spec = name:match "^[%w_]+ = (.*)$" or name
  if GENERIC[spec] then return true end
  if spec:find "/" then return facts.sysfs[spec] == true end
  local owner, event = spec:match "^([%w_]+)::(.*)$"
  if owner then return owner == "arm_" .. cpu and listed(cpu, event:lower()) end
  if facts.listed then return listed(cpu, spec) end
  if spec:find ":" then return is_encoded(facts.pfm .. "::" .. spec, { LIBPFM_ENCODE_INACTIVE = "1" }) end
  return facts.perf ~= nil and is_encoded(spec, { PERF_CPUID = facts.perf,
    SYSFS_PATH = support.fixture "perf/sysfs/x86_amd" })
end

-- Where the variant is from whose events a CPU has: the first; false: none.
local function variant_on(cpu, name)
  local found = lists.find(metric.own(name).variants, function(variant)
    return lists.all(variant.events, function(event) return knows(event, cpu) end)
  end)
  return found and (found.where or "any") or false
end

local function on(cpu, names)
  local found = {}
  for name in pairs(names) do found[name] = variant_on(cpu, name) end
  assert.same(names, found, cpu)
end

describe("groups of metrics", function()
  before_each(function()
    support.need(require("pmclua.core").pfm.is_installed() and support.have "perf", "libpfm4 and perf")
  end)

  it("are of events that Intel's servers have", function()
    for _, cpu in ipairs { "skylake", "cascade_lake", "ice_lake", "sapphire_rapids" } do
      on(cpu, { flops = "Intel servers since Skylake", vector_share = "Intel servers since Skylake",
        l2_miss_rate = "Intel since Skylake", l2_mpki = "Intel since Skylake",
        memory_bandwidth = "Intel servers", package_power = "any", memory_power = "any",
        branch_mpki = "any", llc_mpki = "any" })
    end
  end)

  it("are of events that AMD's have, or absent", function()
    for cpu, flops in pairs { zen2 = "AMD Zen, by libpfm4's name", zen3 = "AMD Zen, by libpfm4's name",
        zen4 = "AMD Zen, by libpfm4's name", zen5 = "AMD Zen, by perf's names" } do
      local has_controllers = CPUS[cpu].sysfs == UMC
      on(cpu, { flops = flops, flops_per_cycle = flops, vector_share = false, l2_miss_rate = "AMD Zen",
        memory_bandwidth = has_controllers and "AMD since Zen 4", package_power = "any", memory_power = false,
        branch_mpki = "any" })
    end
  end)

  it("are of events that Arm's Neoverse have, or absent", function()
    for cpu, flops in pairs { n1 = false, v1 = "Arm Neoverse V1",
        v2 = "Arm Neoverse V2", n2 = "Arm Neoverse N2" } do
      on(cpu, { flops = flops, flops_rate = flops, vector_share = false, l2_miss_rate = "Arm Neoverse",
        memory_bandwidth = "Arm Neoverse", package_power = false, branch_mpki = "any" })
    end
  end)

  it("count what instructions of each width do, and lines of 64 bytes", function()
    local function value(name, where, counts)
      local variant = lists.find(metric.own(name).variants, function(one) return one.where == where end)
      return variant.evaluate(counts)
    end
    assert.equal(1 + 2 * 10 + 4 * 100 + 8 * 1000, value("flops", "Intel servers since Skylake",
      { scalar = 1, sse = 10, avx = 100, avx512 = 1000 }))
    assert.equal(7 + 2 * 100, value("flops", "Arm Neoverse V1", { fixed = 7, scalable = 100 }))
    assert.equal(1111, value("flops", "AMD Zen, by perf's names",
      { adds = 1, products = 10, quotients = 100, fused = 1000 }))
    assert.equal(64, value("memory_bandwidth", "AMD since Zen 4",
      { memory_reads = 2 ^ 19, memory_writes = 2 ^ 19, duration_time = 1e9 }))
  end)
end)
