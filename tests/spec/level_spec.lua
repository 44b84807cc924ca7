-- The level of an interval: it is checked, and what is printed over an interval is its level.

local pmc = require "pmclua"
local support = require "tests.support"

local function measured(more)
  return support.experiment(support.merged({ workloads = { "true", "ls /" }, events = "page-faults",
    baseline = "true", repetitions = 12, warmup = 0, seed = 1 }, more))
end

describe("the level of intervals", function()
  local result = measured()

  it("is in the header of what is compared at it, and in its verdicts", function()
    local LEVELS = { [0.5] = "50 %", [0.95] = "95 %", [0.999] = "99.9 %", [0.99999] = "99.999 %" }
    for level, shown in pairs(LEVELS) do
      local comparison = result:compare { level = level }
      assert.matches(" " .. shown .. " interval ", tostring(comparison), 1, true)
      assert.matches(shown .. " interval", comparison:report { format = "markdown" }, 1, true)
      assert.equal(level, comparison.pairs[1].rows[1].verdict.level)
    end
    assert.matches(" 95 % interval ", tostring(result), 1, true)
    assert.matches("95 % interval", result:report { format = "html" }, 1, true)
  end)

  it("is that of all looks together where a rule ended the run", function()
    local stopped = measured { repetitions = 1, stop = { repetitions = 40, interval = "1%" } }
    local level = stopped:compare().level
    assert.is_true(level > 0.95 and level < 1)
    local header = tostring(stopped):match "ratio +([%d.]+) %% interval"
    assert.is_true(math.abs(tonumber(header) - 100 * level) < 0.01, header)
    assert.matches(header .. " % interval", stopped:report { format = "html" }, 1, true)
  end)

  it("lies between 0 and 1, or it is refused at the script's line", function()
    local x, y = { 1, 2, 3, 4, 5, 6 }, { 2, 4, 6, 8, 10, 13 }
    local stats = pmc.stats
    local takers = {
      function(level) return result:compare { level = level } end,
      function(level) return stats.median_interval(x, level) end,
      function(level) return stats.summary(x, level) end,
      function(level) return stats.paired_ratio(x, y, level) end,
      function(level) return stats.paired_difference(x, y, level) end,
      function(level) return stats.hodges_lehmann(x, y, level) end,
      function(level) return stats.slope(x, y, level) end,
      function(level) return stats.bootstrap(x, y, { level = level, resamples = 100 }) end,
      function(level) return (stats.bonferroni(level, 3)) end,
    }
    for i, take in ipairs(takers) do
      for _, level in ipairs { 0, 1, -1, 95, 0 / 0, 1 / 0, -1 / 0, "0.95", true, {} } do
        local ok, problem = pcall(take, level)
        assert.is_false(ok, ("%d takes %s"):format(i, tostring(level)))
        assert.matches("level_spec.lua:%d+: .*level must be a number between 0 and 1", tostring(problem))
      end
      assert.is_truthy(take(0.9), i)
      assert.is_truthy(take(0.5), i)
    end
  end)
end)
