-- The tree of a real CPU (perf's table of Ice Lake servers), drilled on a played PMU with four counters and with
-- eight: what is measured, in which passes, and whether each share is what the table's formula makes of the counts.

local json = require "dkjson"
local made = require "tests.support.played_tree"
local played = require "tests.support.played"
local pmc = require "pmclua"
local support = require "tests.support"

local WORK = { 1000, 100 }
local ENV, FIXED, key_of, machine = made.ENV, made.FIXED, made.key_of, made.machine

-- What a field counts of WORK.
local total

local function tree(on, ...)
  local run = on.pmclua({ "topdown", "--quiet", "--format", "json", "-r", "2", ... }, { limit_s = 120 })
  return assert(json.decode(run.out), run.err)
end

local function truth(name) return made.truth(name, total) end

local function by_name(found)
  local nodes = {}
  for _, node in ipairs(found.cells[1].nodes) do nodes[node.name] = node end
  return nodes
end

describe("a vendor's tree", function()
  setup(function()
    total = made.total(WORK)
  end)

  for _, counters in ipairs { 4, 8 } do
    it(("has what the table makes of the counts at every node, with %d counters"):format(counters), function()
      local found = tree(machine(counters), "-l", "4", "--", played.work(), "1000", "100")
      local seen, most = 0, 0
      support.with_env(ENV, function()
        for _, node in ipairs(found.cells[1].nodes) do
          local expected = truth(node.name)
          assert.equal(expected, node.share or nil, node.name)
          most = math.max(most, node.level)
          seen = seen + 1
        end
      end)
      assert.is_true(seen > 40 and most == 4, ("%d nodes down to level %d"):format(seen, most))
    end)
  end

  it("is drilled below the nodes over their threshold, and nowhere else", function()
    local found = tree(machine(4), "--", played.work(), "1000", "100")
    local nodes = by_name(found)
    support.with_env(ENV, function()
      for _, node in ipairs(found.cells[1].nodes) do
        local children = pmc.metrics.group(node.name .. "_group") or {}
        for _, child in ipairs(children) do
          assert.equal(node.over == true, nodes[child] ~= nil, node.name .. " and " .. child)
          if nodes[child] then assert.equal(node.name, nodes[child].parent) end
        end
      end
    end)
    assert.is_true(nodes.tma_backend_bound.over and not nodes.tma_bad_speculation.over)
    assert.is_truthy(nodes.tma_ports_utilized_0)
  end)

  it("is of one pass wherever a node's events fit one, and says where they do not", function()
    for _, counters in ipairs { 4, 8 } do
      local found = tree(machine(counters), "--", played.work(), "1000", "100")
      local is_fixed, across = {}, 0
      for _, key in ipairs(FIXED) do is_fixed[key:gsub("(%d) (%d)$", "%1 0x%2")] = true end
      support.with_env(ENV, function()
        for _, node in ipairs(found.cells[1].nodes) do
          local general, seen = 0, {}
          for _, spec in ipairs(node.share and pmc.metrics.named(node.name).events or {}) do
            local key = key_of(pmc.events.encode(spec)[1])
            if not seen[key] and not is_fixed[key:match "^(%S+ %S+)"] then general = general + 1 end
            seen[key] = true
          end
          if node.share then
            assert.equal(general <= counters, node.passes == 1, ("%s: %d"):format(node.name, general))
            across = across + (node.passes > 1 and 1 or 0)
          end
        end
      end)
      assert.is_true(counters == 8 or across > 3, across)
      for _, anchor in ipairs(found.anchors) do assert.equal(0, anchor.spread, anchor.name) end
      assert.equal(2, #found.anchors)
    end
  end)

  it("is measured below one node alone where that is asked", function()
    local found = tree(machine(4), "--below", "memory_bound", "--", played.work(), "1000", "100")
    local nodes = by_name(found)
    assert.is_truthy(nodes.tma_memory_bound and nodes.tma_dram_bound)
    assert.is_nil(nodes.tma_backend_bound or nodes.tma_core_bound)
  end)

  it("has B's difference from A add up at every node, to the last digit", function()
    local on = machine(4)
    local work = played.work()
    local found = tree(on, "-l", "3", "-r", "8", work .. " 1000+5 100", work .. " 1000+5 200")
    local comparison, children = found.comparisons[1], {}
    local parents = {}
    for _, node in ipairs(found.cells[1].nodes) do parents[node.name] = node.parent or "total" end
    local function add(name, value) children[name] = (children[name] or 0) + value end
    for _, row in ipairs(comparison.nodes) do
      add(row.rest and (row.name == comparison.total.name and "total" or row.name) or parents[row.name],
        row.difference)
    end
    for _, row in ipairs(comparison.nodes) do
      if not row.rest and children[row.name] then
        assert.is_true(math.abs(children[row.name] - row.difference) < 1e-6, row.name)
      end
    end
    assert.is_true(math.abs(children.total - comparison.total.difference) < 1e-6)
  end)

  it("is drilled between a program's marks, with what the table makes of the counts there", function()
    local on = machine(4)
    local program = support.build(on.folder .. "/marked", "cc", "-O1", "-I" .. support.root .. "/core",
      support.root .. "/tests/support/played/marked.c", "-lpthread")
    local of_parse, seen, most = made.total { 3000, 30 }, 0, 0
    for _, cell in ipairs(tree(on, "--marks", "--", program).cells) do
      for _, node in ipairs(cell.region == "parse" and cell.nodes or {}) do
        support.with_env(ENV, function()
          assert.equal(made.truth(node.name, of_parse), node.share or nil, node.name)
        end)
        seen, most = seen + 1, math.max(most, node.level)
      end
    end
    assert.is_true(seen > 10 and most > 2, ("%d nodes down to level %d"):format(seen, most))
  end)

  it("is that of a CPU, of all, and of what is below a node there", function()
    support.need(support.have_root(), "counting CPUs takes root")
    for _, words in ipairs { { "-a", "-l", "2" }, { "-C", "0", "--below", "backend_bound" } } do
      for _, word in ipairs { "--", played.work(), "1000", "100" } do words[#words + 1] = word end
      local found = tree(machine(4), unpack(words))
      support.with_env(ENV, function()
        for _, node in ipairs(found.cells[1].nodes) do
          assert.equal(truth(node.name), node.share or nil, node.name)
        end
      end)
      assert.is_truthy(by_name(found).tma_memory_bound)
    end
  end)

  it("is a plot with a line for each node, and a page, indented as the tree is", function()
    support.need(support.have "gnuplot", "gnuplot is not installed")
    local on = machine(4)
    local file, picture = on.folder .. "/tree.jsonl", on.folder .. "/tree.txt"
    local found = tree(on, "-l", "3", "--store", file, "--", played.work(), "1000", "100")
    support.pmclua { "topdown", "--plot", picture, file }
    local drawn, page = support.read(picture), support.pmclua({ "topdown", "--format", "html", file }).out
    local place, in_page = 0, 0
    for _, node in ipairs(found.cells[1].nodes) do
      local name = node.name:gsub("^tma_", "")
      local depth = 2 * (node.level - 1)
      place = assert(drawn:find(("\n" .. (" "):rep(2 + depth) .. name .. " "), place, true), name)
      in_page = assert(page:find("<td>" .. ("\194\160"):rep(2 * depth) .. name, in_page, true)
        or page:find((">%s%s<"):format(("\194\160"):rep(2 * depth), name), in_page, true), name)
    end
  end)

  it("of a hybrid CPU is that of one kind of core", function()
    local env = { SYSFS_PATH = support.fixture "perf/sysfs/hybrid", PERF_CPUID = "GenuineIntel-6-97-2" }
    local atom, expected = { ["10 0x3c 0x0"] = { 10 } }, {}
    support.with_env(env, function()
      for _, name in ipairs(pmc.metrics.group "TopdownL1") do
        local metric = pmc.metrics.of_vendor(("cpu_atom/%s/"):format(name))
        local sum = {}
        for _, spec in ipairs(metric.events) do
          local one = pmc.events.encode(spec)[1]
          atom[key_of(one)] = atom[key_of(one)] or made.made_up(one.name)
          sum[one.field] = 100 * atom[key_of(one)][1]
        end
        expected[name] = metric.evaluate(function(field) return sum[field] end)
      end
    end)
    local on = played.machine { counters = 6, env = env, events = atom }
    local found, shares = tree(on, "--cores", "cpu_atom", "-l", "1", "--", played.work(), "100"), {}
    for _, node in ipairs(found.cells[1].nodes) do shares[node.name] = node.share end
    assert.same(expected, shares)
    for _, node in ipairs(tree(on, "-l", "1", "--", played.work(), "100").cells[1].nodes) do
      assert.is_nil(node.share, node.name)                       -- the other kind's, which this PMU lacks
    end
  end)

  it("has each kind's own metric where one of that name is asked for on a hybrid CPU", function()
    local env = { SYSFS_PATH = support.fixture "perf/sysfs/hybrid", PERF_CPUID = "GenuineIntel-6-97-2" }
    local on = played.machine { counters = 6, env = env, events = { ["4 0xc0 0x0"] = { 12 },
      ["4 0x3c 0x0"] = { 4 }, ["10 0xc0 0x0"] = { 3 }, ["10 0x3c 0x0"] = { 6 } } }
    local run = on.pmclua { "stat", "-r", "6", "-e", "page-faults", "-M", "IPC", "-o", "-", "--json", "--",
      played.work(), "100" }
    local values = assert(json.decode(run.out), run.err).cells[1].values
    assert.same({ 3, 0.5 }, { values.cpu_core_IPC.median, values.cpu_atom_IPC.median })
  end)

  it("is a group's metrics for stat and experiments, by the group's name", function()
    local run = machine(8).pmclua { "stat", "-r", "6", "-e", "cycles", "-M", "TopdownL1", "-o", "-", "--json",
      "--", played.work(), "1000", "100" }
    local values = assert(json.decode(run.out), run.err).cells[1].values
    support.with_env(ENV, function()
      for _, name in ipairs(pmc.metrics.group "TopdownL1") do
        assert.same({ truth(name), "exact" }, { values[name].median, values[name].quality })
      end
    end)
  end)
end)
