-- The ledger of cycles in pmclua why: on a PMU that is played, whose counts are known, to the last count.

local json = require "dkjson"
local played = require "tests.support.played"
local pmc = require "pmclua"
local support = require "tests.support"

-- Tables made up for Intel (tests/fixtures/played). A piece of work of the first kind has 10 cycles, one of the
-- second 40 more, 30 of them in what is memory-bound.
local CYCLES = { 10, 40 }
local INTEL = { counters = 4, own = { "0 0", "0 1" }, env = {
    SYSFS_PATH = support.fixture "played/sysfs/intel", PERF_CPUID = "GenuineIntel-6-FE-1",
    PMCLUA_VENDOR = support.fixture "played/vendor" },
  events = { ["0 0"] = CYCLES, ["0 1"] = { 20, 20 }, ["4 0x3c"] = CYCLES, ["4 0x180"] = { 4, 16 },
    ["4 0x181"] = { 2, 8 }, ["4 0x182"] = { 10, 40 }, ["4 0x183"] = { 5, 35 }, ["4 0x283"] = { 3, 30 },
    ["4 0x483"] = { 1, 1 }, ["4 0x883"] = { 2, 2 }, ["4 0x184"] = { 1, 1 }, ["4 0x284"] = { 3, 3 } } }

local A, B = { 1000, 0 }, { 1000, 100 }

-- What the tables' formulae make of the counts: 60 % of all slots are backend-bound, of A's and of B's.
local NODES = {
  memory_bound = { 3000, 5100 }, retiring = { 2500, 3500 }, frontend_bound = { 1000, 1400 },
  core_bound = { 3000, 3300 }, bad_speculation = { 500, 700 },
}

local function commands(on)
  return ("%s %d %d"):format(on.work, unpack(A)), ("%s %d %d"):format(on.work, unpack(B))
end

local function why(on, ...)
  local words = { "why", "--quiet", "--no-simulate", "-r", "10", ... }
  for _, word in ipairs { commands(on) } do words[#words + 1] = word end
  local run = on.pmclua(words)
  assert.equal(0, run.status, run.err)
  return run.out
end

local function as_json(on) return assert(json.decode(why(on, "--format", "json"))) end

local function sum_of(ledger, side)
  local sum = 0
  for _, rows in ipairs { ledger.lines, ledger.rest } do
    for _, row in ipairs(rows) do sum = sum + row[side] end
  end
  return sum
end

local function sides_of(ledger)
  local nodes = {}
  for _, row in ipairs(ledger.lines) do
    nodes[row.label] = { math.floor(row.a + 0.5), math.floor(row.b + 0.5) }
    for i, side in ipairs { "a", "b" } do
      assert.is_true(math.abs(row[side] - nodes[row.label][i]) < 1e-6, row.label)
    end
  end
  return nodes
end

local function absent(found)
  local said = {}
  for _, one in ipairs(found.absent) do said[one.what] = one.why end
  return said
end

-- What a script prints on a played machine.
local function printed(on, code)
  local run = on.pmclua { support.write(on.folder .. "/script.lua", code) }
  assert.equal(0, run.status, run.err)
  return run.out
end

describe("the ledger of cycles", function()
  it("has what the table makes of the counts at the lowest nodes, and adds up to the cycles", function()
    local found = as_json(played.machine(INTEL))
    local cycles = found.cycles
    assert.same(NODES, sides_of(cycles))
    assert.same({ "cycles", 10000, 14000, 4000 }, { cycles.of, cycles.total.a, cycles.total.b,
      cycles.total.difference })
    for _, side in ipairs { "a", "b", "difference" } do
      assert.is_true(math.abs(sum_of(cycles, side) - cycles.total[side]) < 1e-6, side)
    end
    assert.same({ "memory_bound", "more", "named" }, { cycles.lines[1].label, cycles.lines[1].verdict,
      cycles.conclusion })
    assert.matches("of 40 % more cycles 53 % are memory_bound.", found.sentence, 1, true)
    assert.is_nil(absent(found)["cycles by node"])
    for _, one in ipairs(found.suspects) do assert.is_nil(one.name:find "^tma_") end
  end)

  it("adds up where the work differs from run to run", function()
    local on = played.machine(INTEL)
    local run = on.pmclua { "why", "--quiet", "--no-simulate", "-r", "12", "--format", "json",
      on.work .. " 1000+40 0+20", on.work .. " 1100+40 50+20" }
    local cycles = assert(json.decode(run.out), run.err).cycles
    assert.is_true(cycles.total.low < cycles.total.high)
    for _, side in ipairs { "a", "b", "difference" } do
      assert.is_true(math.abs(sum_of(cycles, side) - cycles.total[side]) < 1e-6, side)
    end
  end)

  it("is in the table, in Markdown and on the page", function()
    local on = played.machine(INTEL)
    assert.matches("\nmemory_bound +3,000 +5,100 +%+2,100 .-53 %% +MORE\n", why(on))
    assert.matches("| memory\\_bound | 3,000 | 5,100 | +2,100 |", why(on, "--format", "markdown"), 1, true)
    assert.matches("cycles by node of the vendor", why(on, "--format", "html"), 1, true)
  end)

  it("is the same of the stored result, on a machine without the PMU and its tables", function()
    local on = played.machine(INTEL)
    local file = on.folder .. "/stored.jsonl"
    local first = assert(json.decode(why(on, "--format", "json", "--store", file)))
    local again = support.pmclua { "why", "--format", "json", file }
    assert.same(first.cycles, assert(json.decode(again.out), again.err).cycles)
  end)

  -- Noise of the order of the difference, so that some lines are named and some are not.
  local function stored(on, seed, pairs_of_runs)
    local file = ("%s/%d-%d.jsonl"):format(on.folder, seed, pairs_of_runs)
    local run = on.pmclua { "compare", "--quiet", "-r", tostring(pairs_of_runs), "--seed", tostring(seed),
      "--store", file, "-e", "cycles", "-M", "TopdownL1", "-M", "tma_memory_bound", "-M", "tma_core_bound",
      on.work .. " 1000+60 0+20", on.work .. " 1030+60 6+20" }
    assert.equal(0, run.status, run.err)
    return file
  end

  local function read_json(...)
    local run = support.pmclua { ... }
    return assert(json.decode(run.out), run.err)
  end

  it("has the verdicts that topdown, compare and their tables have for the same records", function()
    local on, verdicts = played.machine(INTEL), {}
    for seed, pairs_of_runs in ipairs { 8, 12, 30 } do
      local file = stored(on, seed, pairs_of_runs)
      local tree = read_json("topdown", "--format", "json", file).comparisons[1]
      assert.same(tree, read_json("report", "--format", "json", file).topdown.comparisons[1])
      local rows = {}
      for _, node in ipairs(tree.nodes) do rows[node.name:gsub("^tma_", "")] = node end
      local shown = support.pmclua({ "topdown", file }).out
      local page = support.pmclua({ "topdown", "--format", "html", file }).out
      for _, line in ipairs(read_json("why", "--format", "json", file).cycles.lines) do
        local node = rows[line.label]
        assert.same({ node.a, node.b, node.difference, node.low, node.high, node.adjusted, node.verdict },
          { line.a, line.b, line.difference, line.low, line.high, line.p_adjusted, line.verdict }, line.label)
        verdicts[line.verdict] = true
        assert.matches(line.label .. "[^\n]* " .. line.verdict, shown)
        local row = page:match("difference</th>.-" .. line.label .. "(<.-</tr>)")
        assert.matches(">" .. line.verdict, row, 1, true)
      end
    end
    assert.same({ more = true, undecided = true }, verdicts)
  end)

  it("has the node above where those below it cannot be counted, and says which and why", function()
    local events = support.merged(INTEL.events, {})
    events["4 0x183"] = nil
    local found = as_json(played.machine(support.merged(INTEL, { events = events })))
    assert.same({ 6000, 8400 }, sides_of(found.cycles).backend_bound)
    local said = absent(found)["the tree's tma_core_bound and tma_memory_bound"]
    assert.matches("needs MEM.STALLS: ", said, 1, true)
  end)

  it("has what the nodes below leave, where not all of them were measured", function()
    local on = played.machine(INTEL)
    local a, b = commands(on)
    local nodes = assert(json.decode(printed(on, ([[
      local pmc = require "pmclua"
      local result = pmc.compare("%s", "%s", { repetitions = 10, events = "cycles", quiet = true,
        metrics = { "TopdownL1", "tma_memory_bound" } })
      io.write(result:why():report { format = "json" })]]):format(a, b)))).cycles
    assert.same({ memory_bound = NODES.memory_bound, ["backend_bound (rest)"] = NODES.core_bound,
      retiring = NODES.retiring, frontend_bound = NODES.frontend_bound,
      bad_speculation = NODES.bad_speculation }, sides_of(nodes))
  end)

  it("is of kernels too, for each iteration", function()
    support.need(support.have "cc", "no C compiler")
    local on = played.machine(INTEL)
    local source = support.root .. "/tests/support/played/work_kernel.c"
    local found = assert(json.decode(printed(on, ([[
      local pmc = require "pmclua"
      local function kernel(name)
        return pmc.kernel { name = name, source = "%s", symbol = "work" }
      end
      local found = pmc.why(kernel "a", kernel "b", { repetitions = 10, simulate = false, quiet = true })
      io.write(found:report { format = "json" })]]):format(source))))
    assert.same({ 70, 70, "none" }, { found.cycles.total.a, found.cycles.total.b, found.cycles.conclusion })
  end)

  it("is not there without a PMU, for a reason of one line", function()
    support.need(not pmc.events.available "cycles", "this machine has a PMU")
    local run = support.pmclua { "why", "--quiet", "--no-simulate", "-r", "10", "--format", "json", "true",
      "sleep 0.01" }
    local found = assert(json.decode(run.out), run.err)
    assert.is_truthy(found.cycles == nil or found.cycles == json.null)
    local said = absent(found)["cycles by node"]
    assert.is_truthy(said)
    assert.is_nil(said:find "[;\n]")
  end)

  it("gives up its second level before its first where the budget is short", function()
    local plan = require("pmclua.why.collect").plan
    local can = { sample = true, trace = true, simulate = false, tree = true,
      counted = { [0] = 1, [1] = 2, [2] = 6 } }
    local roomy, tight, none = plan(can, 0.1, 600), plan(can, 0.1, 8), plan(can, 0.1, 2)
    assert.same({ true, true, true }, { roomy.tree, roomy.below, roomy.trace })
    assert.same({ true, false, true }, { tight.tree, tight.below, tight.trace })
    assert.is_true(tight.seconds <= 8)
    assert.same({ false, false, false }, { none.tree, none.below, none.trace })
    assert.matches("left out: it does not fit", none.left_out.tree, 1, true)
  end)
end)
