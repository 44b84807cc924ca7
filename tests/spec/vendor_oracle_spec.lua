-- Vendors' metrics, against what perf 6.1 opened and printed for them (tests/fixtures/perf/README.md). The formulae are
-- those of the installed perf.

local played = require "tests.support.played_metrics"
local pmc = require "pmclua"
local support = require "tests.support"

local rows_of = support.merged(played.read(support.fixture "perf/metrics.tsv"),
  played.read(support.fixture "perf/metrics-more.tsv"))

local function has_perf()
  return (support.output_of "perf --version 2>/dev/null || true"):find "version 6%.1%." ~= nil
end

-- What perf prints as "%  tma_x" is a share of 1 here.
local function printed(row, metric)
  return row.unit:find "^%%" and metric.unit == "%" and 100 or 1
end

-- The counts of a metric's events by field, and what they are.
local function count_events(row, metric)
  local counts, keys = { duration_time = row.duration_ns }, {}
  for _, spec in ipairs(metric.events) do
    for _, event in ipairs(pmc.events.encode(spec)) do
      if event.attr then
        counts[event.field] = played.count(row.seed, event.attr)
        keys[played.key(event.attr)] = true
      end
    end
  end
  return counts, keys
end

-- On a hybrid CPU perf mixes the kinds of cores in most rows (lua/pmclua/metric/README.md); left are those whose events
-- are of one kind, but for a metric of cpu_core for which perf takes metrics of cpu_atom alone.
local KINDS = { ["4"] = "cpu_core", ["10"] = "cpu_atom" }

local function kind_of(row)
  local kind
  for key in pairs(row.keys) do
    local its = KINDS[key:match "^%d+"]
    if kind and its ~= kind or row.name == "tma_machine_clears" then return nil end
    kind = its
  end
  return kind
end

local function metric_of(row)
  if row.tree ~= "hybrid" then return pmc.metrics.named(row.name) end
  return pmc.metrics.named(("%s/%s/"):format(kind_of(row), row.name)) or pmc.metrics.named(row.name)
end

-- Two rows have a number that perf printed for something else: the metric itself divides by 0.
local function is_of_something_else(row) return row.unit == "Retiring" end

local function differences(row, metric)
  if not metric then return "there is no such metric" end
  local counts, keys = count_events(row, metric)
  for key in pairs(keys) do
    if not row.keys[key] then return "perf does not open " .. key end
  end
  for key in pairs(row.keys) do
    if not keys[key] then return "perf opens " .. key end
  end
  local value, why = metric.evaluate(counts)
  if is_of_something_else(row) then
    return value and "it has a value although it divides by 0" or nil
  end
  local shown = value and ("%.6f"):format(value * printed(row, metric))
  local is_near = value and math.abs(tonumber(shown) - row.value) <= 1e-6 * math.max(1, math.abs(row.value))
  if not is_near then return ("%s instead of %.6f"):format(shown or why, row.value) end
end

describe("the metrics that perf has for", function()
  for cpuid, rows in pairs(rows_of) do
    local sentence = ("%s open the events that perf opens, and have its values"):format(rows[1].model)
    it(sentence, function()
      support.need(has_perf(), "perf 6.1, of which the rows are, is not installed")
      local environment = { SYSFS_PATH = support.fixture("perf/sysfs/" .. rows[1].tree), PERF_CPUID = cpuid }
      support.with_env(environment, function()
        local wrong, metrics, compared = {}, {}, 0
        for _, row in ipairs(rows) do
          if row.tree ~= "hybrid" or kind_of(row) then
            metrics[row.name] = metrics[row.name] or metric_of(row)
            local difference = differences(row, metrics[row.name])
            if difference then wrong[#wrong + 1] = ("%s (%d): %s"):format(row.name, row.seed, difference) end
            compared = compared + 1
          end
        end
        assert.equal("", table.concat(wrong, "\n"))
        assert.equal(rows[1].tree == "hybrid" and 80 or #rows, compared)
      end)
    end)
  end

  it("have units where their tables have, and groups", function()
    support.need(has_perf(), "perf 6.1, of which the rows are, is not installed")
    local environment = { SYSFS_PATH = support.fixture "perf/sysfs/x86_spr",
      PERF_CPUID = "GenuineIntel-6-6A-6" }
    support.with_env(environment, function()
      local metric = pmc.metrics.named "tma_memory_bound"
      assert.equal("%", metric.unit)
      assert.equal("tma_backend_bound", metric.parent)
      assert.is_truthy(metric.description:find "Memory subsystem")
      assert.is_truthy(table.concat(metric.events, " "):find("CYCLE_ACTIVITY.STALLS_MEM_ANY", 1, true))
      assert.is_truthy(table.concat(pmc.metrics.group "TopdownL1", " "):find "tma_backend_bound")
    end)
  end)

  it("are asked for with the group of their name, where there is one", function()
    support.need(has_perf(), "perf 6.1, of which the rows are, is not installed")
    local environment = { SYSFS_PATH = support.fixture "perf/sysfs/x86_spr",
      PERF_CPUID = "GenuineIntel-6-6A-6" }
    support.with_env(environment, function()
      local asked = require("pmclua.counting.asked").metrics({ "Retire" }, error)
      local names, events = {}, {}
      for i, metric in ipairs(asked) do names[i] = metric.name end
      assert.same({ "Retire", unpack(pmc.metrics.group "Retire") }, names)
      for _, spec in ipairs(pmc.metrics.named("Retire").events) do events[spec] = true end
      for _, metric in ipairs(asked) do
        for _, spec in ipairs(metric.events) do assert.is_true(events[spec], spec) end
      end
    end)
  end)
end)
