-- Repetitions of one process or layout: as one value of it, and compared by it.

local clusters = require "pmclua.result.clusters"
local lists = require "pmclua.base.lists"
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
    assert.is_true(found.low > 1.019 and found.high < 1.021)
    assert.equal(0.95, found.level)
  end)

  it("is by means where only a part of the repetitions costs more", function()
    local ours = values(function(i, cluster) return 100 * jitter(i, cluster) * (i == 5 and 4 or 1) end)
    local theirs = values(function(i, cluster) return 100 * jitter(i + 2, cluster) end)
    local found = compare(ours, theirs)
    assert.equal("slower", found.verdict)
    assert.is_true(found.low > 1.15)
    local counted = compare(values(function(i) return i == 5 and 8 or 0 end), values(function() return 0 end),
      { kind = "count" })
    assert.same({ "more", 1 }, { counted.verdict, counted.difference.shift })
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
