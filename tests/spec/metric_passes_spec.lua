-- The passes of metrics, on a PMU that is played for pmclua and its runner: which events share a pass, what shows
-- that passes did the same work, and what the report says of metrics across passes.

local json = require "dkjson"
local played = require "tests.support.played"
local support = require "tests.support"

-- Hardware events by config: what one piece of work of the first and of the second kind counts.
local EVENTS = { ["0 0"] = { 10, 40 }, ["0 1"] = { 20, 20 }, ["0 2"] = { 4, 4 }, ["0 3"] = { 1, 2 },
  ["0 4"] = { 5, 2 }, ["0 5"] = { 1, 0 }, ["0 6"] = { 2, 8 }, ["0 7"] = { 3, 6 }, ["0 8"] = { 1, 9 } }

local NAMES = { cycles = 0, instructions = 1, ["cache-references"] = 2, ["cache-misses"] = 3, branches = 4,
  ["branch-misses"] = 5, ["bus-cycles"] = 6, ["stalled-cycles-frontend"] = 7, ["stalled-cycles-backend"] = 8 }

local ALL = "cache-references,branches,bus-cycles,stalled-cycles-frontend,cache-misses,branch-misses,"
  .. "stalled-cycles-backend,cycles,instructions"

local function measure(machine, words)
  local run = machine.pmclua { "stat", "-r", "7", "-o", "-", "--json", unpack(words) }
  local found = assert(json.decode(run.out), run.err)
  local passes = {}
  for i, pass in ipairs(found.cells[1].passes) do
    passes[i] = {}
    for field in pairs(pass.counts) do passes[i][field] = true end
  end
  return found, passes
end

describe("the passes of metrics", function()
  it("hold a metric's events together, whatever the order of events", function()
    local machine = played.machine { counters = 4, events = EVENTS }
    local found, passes = measure(machine, { "-e", ALL, "-M", "cache_miss_rate", "-M", "branch_miss_rate",
      "-M", "backend_stalls", "--", machine.work, "1000", "10" })
    local function share_one(...)
      for _, pass in ipairs(passes) do
        local all = true
        for _, name in ipairs { ... } do all = all and pass[name] end
        if all then return true end
      end
    end
    assert.is_true(share_one("cache_references", "cache_misses"))
    assert.is_true(share_one("branches", "branch_misses"))
    for _, metric in ipairs(found.metrics) do assert.equal(1, metric.passes, metric.name) end
    for _, pass in ipairs(passes) do assert.is_true(pass.cycles and pass.instructions) end
  end)

  it("give exact counts and metrics with four counters and with eight", function()
    for _, counters in ipairs { 4, 8 } do
      local machine = played.machine { counters = counters, events = EVENTS }
      local words = { "-e", ALL, "-M", "cache_miss_rate", "--", machine.work, "1000", "10" }
      local found, passes = measure(machine, words)
      local values = found.cells[1].values
      for name, config in pairs(NAMES) do
        local per_work = EVENTS["0 " .. config]
        local value = values[(name:gsub("-", "_"))]
        assert.same({ 1000 * per_work[1] + 10 * per_work[2], "exact" }, { value.median, value.quality }, name)
      end
      assert.equal(1020 / 4040, values.cache_miss_rate.median)
      assert.equal(counters == 4 and 4 or 2, #passes)
    end
  end)

  it("are told from those that a metric is computed across, with what shows the same work", function()
    local machine = played.machine { counters = 4, events = EVENTS }
    local sum = "stalls = (bus_cycles + stalled_cycles_frontend + stalled_cycles_backend + branches) / cycles"
    local words = { "-e", ALL, "-M", "ipc", "-M", sum, "--", machine.work, "1000", "10" }
    local found = measure(machine, words)
    assert.equal((2080 + 3060 + 1090 + 5020) / 10400, found.cells[1].values.stalls.median)
    assert.same({ 1, 2 }, { found.metrics[1].passes, found.metrics[2].passes })
    local run = machine.pmclua { "stat", "-r", "7", unpack(words) }
    local said = run.err:gsub("%s+", " ")
    assert.matches("metrics of one pass: ipc ", said, 1, true)
    assert.matches("metrics across passes: stalls (2 passes); the passes agree in cycles within 0 % and "
      .. "instructions within 0 %", said, 1, true)
  end)

  it("bring cycles and instructions where nothing else shows that they did the same work", function()
    local machine = played.machine { counters = 4, events = EVENTS }
    local sum = "sum = cache_references + cache_misses + branches + branch_misses + bus_cycles"
    local words = { "-e", "page-faults", "-M", sum, "--", machine.work, "1000", "10" }
    local found, passes = measure(machine, words)
    assert.equal(4040 + 1020 + 5020 + 1000 + 2080, found.cells[1].values.sum.median)
    assert.is_true(#passes > 1)
    for _, pass in ipairs(passes) do assert.is_true(pass.cycles and pass.instructions) end
  end)

  it("are said to agree as far as they do, where runs differ", function()
    local machine = played.machine { counters = 4, events = EVENTS }
    local run = machine.pmclua { "stat", "-r", "7", "-e", ALL, "-M", "stalls = (bus_cycles + branches + "
      .. "stalled_cycles_frontend + stalled_cycles_backend) / cycles", "--", machine.work, "1000+500", "10" }
    local share = tonumber(run.err:gsub("%s+", " "):match "the passes agree in cycles within ([%d.]+) %%")
    assert.is_true(share > 0 and share < 50, share)        -- the work differs by half at most
  end)

  it("have slots first where Intel's topdown events are led by it, whatever the order", function()
    local intel = { counters = 4, env = { SYSFS_PATH = support.fixture "played/sysfs/intel" },
      own = { "0 0", "0 1", "4 0x400", "4 0x8000", "4 0x8100", "4 0x8200", "4 0x8300" },
      events = support.merged(EVENTS, { ["4 0x400"] = { 50, 200 }, ["4 0x8000"] = { 20, 20 },
        ["4 0x8100"] = { 5, 0 }, ["4 0x8200"] = { 5, 20 },
        ["4 0x8300"] = { 20, 160 } }),
      led = { ["4 0x8000"] = "0x400", ["4 0x8100"] = "0x400", ["4 0x8200"] = "0x400",
        ["4 0x8300"] = "0x400" } }
    local machine = played.machine(intel)
    local events = "cycles,topdown-be-bound,topdown-retiring,topdown-bad-spec,topdown-fe-bound,cache-misses,"
      .. "branches,branch-misses,bus-cycles,cache-references,slots"
    local words = { "-e", events, "-M", "retiring", "--", machine.work, "100", "10" }
    local found, passes = measure(machine, words)
    local values = found.cells[1].values
    assert.same({ 7000, 2200, 3600 }, { values.slots.median, values.topdown_retiring.median,
      values.topdown_be_bound.median })
    assert.equal(2200 / 7000, values.retiring.median)
    assert.equal(2, #passes)
    for _, pass in ipairs(passes) do assert.is_true(pass.slots and pass.cycles) end
  end)
end)
