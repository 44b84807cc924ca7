-- A and B over nodes: pairs on each node, then the nodes as a random effect.

local between = require "pmclua.result.between"
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local means = require "pmclua.stats.mean"
local pmc = require "pmclua"
local random = require "pmclua.stats.random"
local support = require "tests.support"

-- A result of a and b on nodes, in the same blocks: nodes differ by 20 %, repetitions by 1 %, b's effect by node.
-- The node `lacking` has none of b.
local function simulated(seed, nodes, effect, of_node, lacking)
  local generator, cells, records, names = random.new(seed, "nodes"), {}, {}, {}
  for node = 1, nodes do
    names[node] = ("n%02d"):format(node)
    local own = math.exp(0.2 * generator:normal())
    local shift = math.log(effect) + (of_node or 0) * generator:normal()
    for _, workload in ipairs { "a", "b" } do
      cells[#cells + 1] = { workload = workload, levels = { host = names[node] } }
      for index = 1, workload == "b" and node == lacking and 0 or 6 do
        local value = 1e9 * own * math.exp((workload == "b" and shift or 0) + 0.01 * generator:normal())
        records[#records + 1] = made.record({ math.floor(value) }, { workload = workload, cell = #cells,
          levels = cells[#cells].levels, index = index, order = #records + 1, iterations = 1 })
      end
    end
  end
  return made.result(made.header { factors = { { "host", names } }, cells = cells, unpaired = "host",
    workloads = { { name = "a", kind = "command" }, { name = "b", kind = "command" } }, baseline = "a",
    events = { made.event "cycles" }, pass_events = { { 1 } }, primary = "cycles" }, records)
end

local function verdict_of(...)
  local found = between.of(simulated(...), "host", { "cycles" })
  return found[1].rows[1].verdict
end

local function share_of(count, test)
  local hits = 0
  for seed = 1, count do hits = hits + (test(seed) and 1 or 0) end
  return hits / count
end

describe("a comparison over nodes", function()
  it("has the mean of the nodes' log ratios, with Student's t over nodes", function()
    local result = simulated(3, 6, 1.03)
    local ratios = {}
    for _, pair in ipairs(result:compare({ names = { "cycles" } }).pairs) do
      ratios[#ratios + 1] = math.log(pair.rows[1].verdict.ratio)
    end
    local low, high = means.interval(means.of(ratios), 0.95)
    local found = between.of(result, "host", { "cycles" })[1]
    local verdict = found.rows[1].verdict
    assert.equal(6, #found.nodes)
    assert.near(math.exp(means.average(ratios)), verdict.ratio, 1e-12)
    assert.near(math.exp(low), verdict.low, 1e-12)
    assert.near(math.exp(high), verdict.high, 1e-12)
  end)

  it("takes equals for different in at most 5 of 100, where nodes differ, in B's effect, too", function()
    local wrong = share_of(200, function(seed)
      local verdict = verdict_of(seed, 6, 1, 0.03)
      return verdict.low > 1 or verdict.high < 1
    end)
    assert.is_true(wrong <= 0.08, wrong)            -- 5 % and two standard errors of 200
    assert.is_true(share_of(100, function(seed) return verdict_of(seed, 6, 1).verdict == "more" end) <= 0.05)
  end)

  it("is none where a node lacks a value that the others have", function()
    local row = between.of(simulated(3, 6, 1.03, nil, 2), "host", { "cycles" })[1].rows[1]
    assert.is_nil(row.verdict)
    assert.matches("on n02", row.why, 1, true)
  end)

  it("finds 3 % on six nodes that differ by 20 %", function()
    local hits = share_of(100, function(seed) return verdict_of(1000 + seed, 6, 1.03).verdict == "more" end)
    assert.is_true(hits >= 0.95, hits)
  end)

  it("is shown with the number of nodes, which few of are said; one node is none", function()
    local report = simulated(5, 3, 1.03):report { over = "host", width = 120 }
    assert.matches("b against a (baseline) · 3 nodes: pairs on each, then over nodes", report,
      1, true)
    assert.matches("3 nodes are few", report, 1, true)
    assert.same({}, (between.of(simulated(5, 1, 1.03), "host", { "cycles" })))
    local facts = require("dkjson").decode(simulated(5, 6, 1.03):report { over = "host", format = "json" })
    assert.same({ 6, "cycles", "more" }, { facts.comparisons[1].nodes, facts.comparisons[1].verdicts[1].name,
      facts.comparisons[1].verdicts[1].verdict })
  end)

  -- Three workloads against a, on five nodes: the second of two quantities has 12 % more, more or less by node.
  local function several(doubtful)
    local generator, cells, records, names = random.new(2, "several"), {}, {}, {}
    for node = 1, 5 do
      names[node] = "n" .. node
      for _, workload in ipairs { "a", "b", "c", "d" } do
        cells[#cells + 1] = { workload = workload, levels = { host = names[node] } }
        local own = (workload == "a" and 1 or 1.12) * math.exp(0.04 * generator:normal())
        for index = 1, 6 do
          records[#records + 1] = made.record({ 1000 * node + index, math.floor(1e6 * own) + index },
            { workload = workload, cell = #cells, levels = cells[#cells].levels, index = index,
              order = #records + 1, iterations = workload == "b" and node == doubtful and 2 or 1 })
        end
      end
    end
    return made.result(made.header { factors = { { "host", names } }, cells = cells, unpaired = "host",
      workloads = lists.map({ "a", "b", "c", "d" }, function(name)
        return { name = name, kind = doubtful and "kernel" or "command", per = doubtful and "iteration" }
      end), baseline = "a", events = { made.event "cycles", made.event "page-faults" },
      pass_events = { { 1, 2 } }, primary = "cycles" }, records)
  end

  it("is judged with all quantities, whichever are shown, and says with how many", function()
    local all = several():report { over = "host", width = 120 }
    local one = several():report { over = "host", width = 120, show = "page-faults" }
    local rows, count = {}, 0
    for line in all:gmatch "\n(page%-faults [^\n]*±[^\n]*)" do rows[(line:gsub("%s+", " "))] = true end
    for line in one:gmatch "\n(page%-faults [^\n]*±[^\n]*)" do
      count = count + 1
      assert.is_true(rows[(line:gsub("%s+", " "))], line)
    end
    assert.equal(3, count)
    assert.matches("\n* primary, corrected for 3 comparisons; the others for 3\n", all, 1, true)
    assert.matches("\nverdicts corrected for 3 comparisons\n", one, 1, true)
  end)

  it("has the doubts of each node", function()
    local function doubts(doubtful)
      return between.of(several(doubtful), "host", { "cycles" })[1].rows[1].doubts
    end
    assert.same({ 0, 1, 2 }, { #doubts(nil), #doubts(0), #doubts(4) })
    assert.matches("its repetitions have 2 iterations", doubts(4)[2], 1, true)
    assert.same(lists.set(doubts(1)), lists.set(doubts(4)))
    local facts = require("dkjson").decode(several(4):report { over = "host", format = "json" })
    assert.same({ 2, 1 }, { #facts.comparisons[1].verdicts[1].doubts,
      #facts.comparisons[2].verdicts[1].doubts })
    local report = several(0):report { over = "host", width = 200 }
    assert.matches("\nall repetitions of a kernel are of one process", report, 1, true)
  end)

  it("is that of two files of several hosts, whose nodes they share", function()
    local folder, paths = support.folder(), {}
    for i, factor in ipairs { 1, 1.5 } do
      local parts = {}
      for node = 1, 6 do
        local count = 1000 * node * factor
        parts[node] = made.stored(("%s/%d-%d.jsonl"):format(folder, i, node), made.header { factors = {},
          cells = { { workload = "rows", levels = {} } }, events = { made.event "cycles" },
          pass_events = { { 1 } }, primary = "cycles", host = { hostname = "n" .. node } },
          made.records({ { count, count + 1, count + 2, count + 3 } }, { levels = {}, iterations = 1 }))
      end
      paths[i] = ("%s/%s.jsonl"):format(folder, i == 1 and "a" or "b")
      parts.by = "none"
      pmc.stored.merge(parts, paths[i])
    end
    local run = support.pmclua { "compare", paths[1], paths[2] }
    assert.equal(0, run.status)
    assert.equal(0, support.pmclua({ "compare", paths[1], paths[2], "--format", "hyperfine" }).status)
    assert.matches("6 nodes: unpaired on each, then over nodes", run.out, 1, true)
    assert.matches("cycles %*.*1%.%d+ .* more", run.out)
  end)
end)
