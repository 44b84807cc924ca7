-- Repetitions of one process or layout: as one value of it, and compared by it.

local clusters = require "pmclua.result.clusters"
local json = require "dkjson"
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local support = require "tests.support"

describe("pairs of repetitions by cluster", function()
  local ids = { "p", "p", "p", "q", "q", "q" }

  it("are one pair each: geometric means, or means where a value is not above 0", function()
    local ours, theirs = clusters.pairs(ids, { 1, 2, 4, 3, 3, 3 }, { 8, 8, 8, 1, 10, 100 })
    assert.same({ 8, 3 }, { theirs[1], ours[2] })
    assert.is_true(math.abs(ours[1] - 2) < 1e-12 and math.abs(theirs[2] - 10) < 1e-12)
    local differences, zeros = clusters.pairs(ids, { 5, 6, 10, 1, 2, 3 }, { 0, 1, 2, 1, 2, 3 })
    assert.same({ 7, 2, 1, 2 }, { differences[1], differences[2], zeros[1], zeros[2] })
  end)
end)

describe("a comparison by clusters", function()
  local CLUSTERS, EACH = 15, 8
  local cell = { result = { header = {} }, summaries = {}, columns = { passes = {} } }

  -- Repetitions of clusters, by the number of each in its cluster, and that of the cluster.
  local function values(of)
    local list = {}
    for cluster = 1, CLUSTERS do
      for i = 1, EACH do list[#list + 1] = of(i, cluster) end
    end
    return list
  end

  local ids = values(function(_, cluster) return cluster end)

  local function compare(ours, theirs, options)
    local asked = support.merged({ level = 0.95, margin = 0.01, kind = "time", paired = true }, options)
    return clusters.compare(cell, ids, ours, theirs, asked)
  end

  -- A little that differs from repetition to repetition, and is not the same on both sides.
  local function jitter(i, cluster) return 1 + (i * 7 + cluster * 3) % 5 * 1e-4 end

  it("finds what most repetitions show, whatever disturbs the others of one side or the other", function()
    local ours = values(function(i, cluster)
      return 102 * jitter(i, cluster) * ((i + cluster) % 4 == 0 and 1.8 or 1)
    end)
    local theirs = values(function(i, cluster)
      return 100 * jitter(i + 2, cluster) * ((i + 2 * cluster) % 4 == 1 and 1.8 or 1)
    end)
    local found = compare(ours, theirs)
    assert.equal("slower", found.verdict)
    assert.is_nil(found.by_means)
    assert.is_true(found.low > 1.019 and found.high < 1.021)
    assert.equal(0.95, found.level)
  end)

  it("is by means where only a part of the repetitions costs more", function()
    local ours = values(function(i, cluster) return 100 * jitter(i, cluster) * (i == 5 and 4 or 1) end)
    local theirs = values(function(i, cluster) return 100 * jitter(i + 2, cluster) end)
    local found = compare(ours, theirs)
    assert.equal("slower", found.verdict)
    assert.is_true(found.low > 1.15)
    assert.is_true(found.by_means)
    local counted = compare(values(function(i) return i == 5 and 8 or 0 end), values(function() return 0 end),
      { kind = "count" })
    assert.same({ "more", 1 }, { counted.verdict, counted.difference.shift })
  end)

  it("is said to be by means where these have another verdict, or differ by more than the margin", function()
    local theirs = values(function(i, cluster) return 100 * jitter(i + 2, cluster) end)
    -- The median of a process is `most` percent more, and one of its eight repetitions costs `times` as much.
    local function compared(most, times)
      local ours = values(function(i, cluster)
        return (100 + most) * jitter(i, cluster) * (i == 5 and times or 1)
      end)
      local found, turned = compare(ours, theirs), compare(theirs, ours)
      assert.equal(found.by_means, turned.by_means)
      return { found.verdict, turned.verdict, found.by_means }
    end
    assert.same({ "slower", "faster", true }, compared(3, 4))
    assert.same({ "slower", "faster", true }, compared(0.8, 1.06))
    assert.same({ "slower", "faster" }, compared(3, 1.02))
    assert.same({ "same", "same" }, compared(0, 1.02))
  end)

  it("is exact where each side has one value", function()
    local sevens, threes = values(function() return 7 end), values(function() return 3 end)
    local found = compare(sevens, threes, { kind = "count" })
    assert.same({ "exact", 7 / 3, "more" }, { found.method, found.ratio, found.verdict })
  end)

  it("has no interval where a value is not finite", function()
    local found, why = compare(values(function(i) return i == 3 and math.huge or 1 end),
      values(function() return 1 end))
    assert.is_nil(found and found.low)
    assert.is_string(why or found.reason)
  end)

  it("of equals says that they differ in 5 % at most", function()
    local random = require("pmclua.stats.random").new(1, "clusters")
    local function drawn()
      local side = {}
      for cluster = 1, CLUSTERS do side[cluster] = 1 + 0.02 * random:uniform() end
      return values(function(_, cluster)
        return side[cluster] * (1 + 0.05 * random:uniform()) * (random:uniform() < 0.2 and 1.8 or 1)
      end)
    end
    local differ, experiments = 0, 400
    for _ = 1, experiments do
      local found = compare(drawn(), drawn(), { margin = 0 })
      differ = differ + (found.low and (found.low > 1 or found.high < 1) and 1 or 0)
    end
    -- 20 are expected at most; 30 in 1.4 of 100 runs, but the numbers are drawn from one seed.
    assert.is_true(differ < 30, differ .. " of " .. experiments)
    assert.equal(CLUSTERS, #lists.unique(ids))
  end)
end)

describe("a verdict by means", function()
  local PROCESSES, EACH = 15, 8
  local SAID = "by means: a cost comes in a part of the repetitions, which medians do not show"

  -- Two kernels in 15 processes of 8 repetitions, over n: of "new" the fifth in each process costs four times as
  -- much, at the level 512 alone.
  local function result(levels)
    local cells, records = {}, {}
    for _, n in ipairs(levels) do
      for _, workload in ipairs { "old", "new" } do
        cells[#cells + 1] = { workload = workload, levels = { n = n } }
        local counts = {}
        for i = 1, PROCESSES * EACH do
          local is_dear = workload == "new" and n == 512 and i % EACH == 5
          local noise = workload == "new" and i * 5 % 13 or i * 7 % 11
          counts[i] = (100000 + noise) * (is_dear and 4 or 1)
        end
        for i, record in ipairs(made.records({ counts }, { workload = workload, levels = { n = n },
          cell = #cells })) do
          record.process = math.ceil(i / EACH)
          records[#records + 1] = record
        end
      end
    end
    return made.complete(made.header { workloads = { { name = "old", kind = "kernel", per = "iteration" },
      { name = "new", kind = "kernel", per = "iteration" } }, factors = { { "n", levels } }, cells = cells,
      events = { made.event "cycles" }, pass_events = { { 1 } }, baseline = "old", primary = "cycles",
      repetitions = PROCESSES * EACH }, records)
  end

  it("is said below the table, by cell where there are several, and in JSON", function()
    local one = result { 512 }
    assert.matches("MORE\n.*cycles: " .. SAID, (one:report { width = 200 }))
    assert.matches("\ncycles, new, n = 512: " .. SAID, (result { 256, 512 }:report { width = 200 }))
    assert.is_nil(result { 256 }:report({ width = 200 }):find("by means", 1, true))
    local facts = json.decode(result { 256, 512 }:report { format = "json" })
    assert.same({ "same", "more" }, { facts.comparisons[1].verdicts[1].verdict,
      facts.comparisons[2].verdicts[1].verdict })
    assert.same({ nil, true }, { facts.comparisons[1].verdicts[1].by_means,
      facts.comparisons[2].verdicts[1].by_means })
  end)

  it("is said of a limit that fails", function()
    local gate = result({ 512 }):gate { limits = "cycles <= +5%", against = "old" }
    assert.equal("fail", gate.state)
    assert.matches("fails: .*; " .. SAID, tostring(gate))
    local equal = result({ 256 }):gate { limits = "cycles <= -5%", against = "old" }
    assert.equal("fail", equal.state)
    assert.is_nil(tostring(equal):find(SAID, 1, true))
  end)
end)
