-- Trees of Intel, AMD and Arm from folders of tables (made up: tests/fixtures/played), on a played PMU whose counts
-- are known: nodes, thresholds, constraints, and what has no share.

local event = require "pmclua.event"
local json = require "dkjson"
local passes = require "pmclua.counting.passes"
local played = require "tests.support.played"
local pmu = require "tests.support.pmu"
local support = require "tests.support"

local function env(sysfs, cpu, tables)
  return { SYSFS_PATH = support.fixture("played/sysfs/" .. sysfs), PERF_CPUID = cpu,
    PMCLUA_VENDOR = support.fixture("played/" .. tables) }
end

local OWN = { "0 0", "0 1" }

-- A piece of work has 10 cycles everywhere.
local function counts(more) return support.merged({ ["0 0"] = { 10 }, ["0 1"] = { 20 } }, more) end

local INTEL = { counters = 4, own = OWN, env = env("intel", "GenuineIntel-6-FE-1", "vendor"),
  events = counts { ["4 0x3c"] = { 10 }, ["4 0x180"] = { 4 }, ["4 0x181"] = { 2 }, ["4 0x182"] = { 10 },
    ["4 0x183"] = { 5 }, ["4 0x283"] = { 3 }, ["4 0x483"] = { 1 }, ["4 0x883"] = { 2 }, ["4 0x184"] = { 1 },
    ["4 0x284"] = { 3 } } }

local AMD = { counters = 6, own = OWN, env = env("intel", "AuthenticAMD-26-1-0", "vendor"),
  events = counts { ["4 0x76"] = { 10 }, ["4 0x1a0"] = { 12 }, ["4 0x1ea0"] = { 18 }, ["4 0x7aa"] = { 27 },
    ["4 0xc1"] = { 24 }, ["4 0xa2d6"] = { 2 }, ["4 0x2d6"] = { 8 } } }

local ARM = { counters = 6, own = OWN, env = env("arm", "0x00000000410fd980", "arm"),
  events = counts { ["77 0x11"] = { 10 }, ["77 0x8"] = { 20 }, ["77 0x3a"] = { 24 }, ["77 0x3b"] = { 30 },
    ["77 0x3f"] = { 20 }, ["77 0x3d"] = { 15 }, ["77 0x3e"] = { 5 }, ["77 0x3"] = { 3 },
    ["77 0x4"] = { 30 } } }

local function nodes_of(machine, ...)
  local on = played.machine(machine)
  local words = { "topdown", "--quiet", "--format", "json", "-r", "6", ... }
  for _, word in ipairs { "--", on.work, "1000" } do words[#words + 1] = word end
  local run = on.pmclua(words)
  local found, nodes = assert(json.decode(run.out), run.err), {}
  for _, node in ipairs(found.cells[1].nodes) do nodes[node.name] = node end
  return nodes, found
end

-- Shares to twelve digits: formulae of percents multiply and divide by 100.
local function assert_shares(expected, nodes)
  local names, there = {}, {}
  for name, share in pairs(expected) do
    names[name] = true
    assert.is_truthy(nodes[name], name)
    assert.is_true(math.abs(nodes[name].value - share) < 1e-12, ("%s: %s"):format(name, nodes[name].value))
  end
  for name, node in pairs(nodes) do there[name] = node.status == "counted" or nil end
  assert.same(names, there)
end

describe("the tree of", function()
  it("Intel's tables is drilled by their thresholds, and has what is absent with the reason", function()
    local nodes = nodes_of(INTEL)
    assert_shares({ tma_frontend_bound = 0.1, tma_bad_speculation = 0.05, tma_retiring = 0.25,
      tma_backend_bound = 0.6, tma_memory_bound = 0.3, tma_core_bound = 0.3, tma_near_bound = 0.2,
      tma_far_bound = 0.15 }, nodes)
    assert.same({ "tma_core_bound > 0.9 & tma_backend_bound > 0.2", false, false },
      { nodes.tma_core_bound.threshold, nodes.tma_core_bound.assumed, nodes.tma_core_bound.over })
    assert.is_true(nodes.tma_near_bound.over and nodes.tma_far_bound.over)
    assert.matches("needs MEM.GONE: there is no event 'MEM.GONE'", nodes.tma_gone_bound.why, 1, true)
    assert.is_nil(nodes.tma_ports)                     -- below a node that is not over its threshold
    assert.same({ 1, 3 }, { nodes.tma_backend_bound.level, nodes.tma_far_bound.level })
    assert.is_truthy(nodes_of(INTEL, "-l", "3").tma_ports)
  end)

  it("AMD's tables has shares of dispatch slots", function()
    local nodes = nodes_of(AMD)
    assert_shares({ frontend_bound = 20, bad_speculation = 5, backend_bound = 30, retiring = 40,
      backend_bound_by_memory = 7.5, backend_bound_by_cpu = 22.5 }, nodes)
    assert.same({ 0.3, "backend_bound", true }, { nodes.backend_bound.share,
      nodes.backend_bound_by_memory.parent, nodes.backend_bound.over })
  end)

  it("Arm's tables goes on with what their tree of decisions names, shares or not", function()
    local nodes = nodes_of(ARM)
    assert_shares({ frontend_bound = 0.1, backend_bound = 0.3, retiring = 0.48, bad_speculation = 0.12,
      l1d_cache_mpki = 150, l1d_cache_miss_ratio = 0.1 }, nodes)
    assert.same({ "backend_bound", 2, "MPKI" }, { nodes.l1d_cache_mpki.parent, nodes.l1d_cache_mpki.level,
      nodes.l1d_cache_mpki.unit })
    assert.is_nil(nodes.l1d_cache_mpki.share or nodes.l1d_cache_mpki.over)
  end)
end)

describe("a stored tree", function()
  it("is shown again where no table is", function()
    local on = played.machine(INTEL)
    local file = on.folder .. "/stored.jsonl"
    local before = on.pmclua { "topdown", "--quiet", "-r", "6", "--store", file, "--", on.work, "1000" }
    local after = support.pmclua { "topdown", file }
    assert.matches("memory_bound +30 %% ", before.out)
    assert.equal(before.out, after.out)
  end)
end)

describe("differences by node", function()
  local function difference(machine)
    local on = played.machine(machine)
    local run = on.pmclua { "topdown", "--quiet", "--format", "json", "-r", "6", on.work .. " 1000",
      on.work .. " 1100" }
    local comparison, by_name = assert(json.decode(run.out), run.err).comparisons[1], {}
    for _, node in ipairs(comparison.nodes) do
      if not node.rest then by_name[node.name] = node.difference end
    end
    return comparison.total.difference, by_name
  end

  it("are in cycles whatever unit the table has, and of shares alone", function()
    local total, by_name = difference(AMD)
    assert.equal(1000, total)
    assert.is_true(math.abs(by_name.backend_bound - 300) < 1e-9, by_name.backend_bound)
    assert.is_true(math.abs(by_name.backend_bound_by_memory - 75) < 1e-9)
    total, by_name = difference(ARM)
    assert.equal(1000, total)
    assert.is_true(math.abs(by_name.backend_bound - 300) < 1e-9)
    assert.is_nil(by_name.l1d_cache_mpki)
  end)
end)

describe("events that a table wants apart", function()
  it("are in one pass where they fit, each in a perf group of its own", function()
    local events = {}
    for _, spec in ipairs { "cycles", "cache-misses", "branches" } do
      event.append(events, event.encode(spec))
    end
    pmu.with({ counters = 4 }, function()
      local planned = passes.plan(events, "rerun", nil, { bundles = { { 2, 3, apart = true } } })
      assert.equal(1, #planned)
      assert.equal(3, #planned[1].groups)
    end)
  end)
end)
