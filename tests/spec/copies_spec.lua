-- What a script is given, or has given, is its own: changing it changes neither the plan, the counts nor the report.

local pmc = require "pmclua"
local support = require "tests.support"

local function run(spec, options)
  spec.events, spec.warmup, spec.seed = spec.events or "page-faults", 0, 1
  spec.repetitions = spec.repetitions or 3
  return support.experiment(spec, options)
end

local function levels_of(result)
  local list = {}
  for cell in result:cells() do list[#list + 1] = cell.n end
  return list
end

describe("a script's functions", function()
  it("get levels of their own", function()
    local path = support.folder() .. "/stored.jsonl"
    local seen = {}
    local function double(levels)
      seen[levels.n] = true
      levels.n = levels.n * 2
    end
    local result = run({ factors = { { "n", { 1, 2 } } }, workloads = { name = double, other = double },
      setup = double, prepare = double, conclude = double, cleanup = double,
      only_if = function(levels)
        double(levels)
        return true
      end }, { store = path })
    assert.same({ true, true }, seen)
    assert.same({ 1, 1, 2, 2 }, levels_of(result))
    assert.same({ 1, 1, 2, 2 }, levels_of(pmc.load(path)))
  end)

  it("get records of their own", function()
    local path = support.folder() .. "/stored.jsonl"
    local result = run({ factors = { { "n", { 1 } } }, workloads = { "true" } }, { store = path,
      each = function(record)
        record.levels.n, record.counts[1], record.outcome, record.wall_ns = 7, 1e9, "quit", 0
      end })
    for _, other in ipairs { result, pmc.load(path) } do
      assert.same({ 1 }, levels_of(other))
      assert.equal(3, other:list()[1].page_faults.n)
      assert.is_true(other:list()[1].page_faults.max < 1e6)
    end
  end)
end)

describe("tables of a declaration", function()
  it("are copied when it is declared", function()
    local levels, workloads, events = { 1, 2 }, { "true" }, { "page-faults" }
    local factors = { { "n", levels } }
    local spec = { factors = factors, workloads = workloads, events = events, warmup = 0, repetitions = 1,
      seed = 1, stop = { repetitions = 2 } }
    local experiment = pmc.experiment(spec)
    levels[1], levels[3], workloads[1], events[1] = 7, 9, "false", "task-clock"
    factors[2], spec.repetitions, spec.stop.repetitions = { "m", { 1 } }, 100, 100
    for _, one in ipairs { experiment, experiment:override { warmup = 0 } } do
      local result = one:run { store = false, quiet = true }
      assert.equal("complete", result.status)
      assert.same({ 1, 2 }, levels_of(result))
      assert.equal(2, result:list()[1].repetitions)
      assert.equal("page-faults", result.header.events[1].name)
    end
  end)

  it("are copied by pmc.measure, by overriding, and by workloads", function()
    local levels, new = { 1, 2 }, { "task-clock" }
    local result = pmc.measure(function() levels[2] = 9 end, { events = "page-faults", repetitions = 1,
      warmup = 0, factors = { { "n", levels } } })
    assert.same({ 1, 2 }, levels_of(result))
    local changed = pmc.experiment { workloads = { "true" }, events = "page-faults", repetitions = 1 }
      :override { events = new }
    new[1] = "page-faults"
    assert.equal("task-clock", changed:run { store = false, quiet = true }.header.events[1].name)
    local words, env = { "sh", "-c", 'exit "$STATUS"' }, { STATUS = "0" }
    words.env = env
    local command = pmc.command(words)
    env.STATUS, words[3] = "1", "exit 2"
    assert.equal("complete", pmc.measure(command, { events = "page-faults", repetitions = 1 }).status)
  end)

  it("are copied by kernels", function()
    support.need(support.have "cc", "no C compiler")
    local params, cflags = { n = 3 }, { "-DEXTRA=0" }
    local kernel = pmc.kernel { symbol = "touch", params = params, cflags = cflags, code = [[
      #include <stdlib.h>
      #include "pmclua_kernel.h"
      void *touch_setup(const struct pmclua_params *params)
      {
          return pmclua_u64(params, "n", 0) == 3 && !EXTRA ? malloc(1) : pmclua_fail(params, "it changed");
      }
      void touch(void *state, uint64_t iterations) { (void)state; pmclua_keep(iterations); }]] }
    params.n, cflags[1] = 4, "-DEXTRA=1"
    local result = pmc.measure(kernel, { events = "page-faults", repetitions = 1, iterations = 1 })
    assert.equal("complete", result.status, tostring(result.problem))
  end)

  it("may contain themselves", function()
    local levels = { 1 }
    levels[2] = levels
    assert.matches("a level cannot be a table", support.message_of(pmc.experiment, { workloads = { "true" },
      factors = { { "n", levels } } }))
  end)
end)

describe("a summary", function()
  local result = run { workloads = { "true" }, repetitions = 6 }
  local summary = result:list()[1].page_faults

  it("cannot be changed, nor can its cell be given a field", function()
    local before, report = summary.median, tostring(result)
    for _, name in ipairs { "median", "n", "quality", "values", "outliers", "anything" } do
      assert.matches("copies_spec.lua:%d+: a summary is for reading: " .. name .. " of page_f",
        support.message_of(function() summary[name] = 7 end))
    end
    for _, name in ipairs { "page_faults", "anything" } do
      assert.matches("copies_spec.lua:%d+: a cell is for reading",
        support.message_of(function() result:list()[1][name] = 7 end))
    end
    summary.values[1], summary.outliers[1] = 1e9, 1
    result:values("page_faults")[1] = 1e9
    result:list()[1]:values_by_block("page_faults")[1] = 1e9
    assert.same({ before, report }, { summary.median, tostring(result) })
  end)

  it("is shown at the prompt with its numbers", function()
    local shown = require("pmclua.cli.repl.pretty").show(summary)
    assert.matches("median = %d+", shown)
    assert.matches(", n = %d+, %a+$", shown)
    assert.is_nil(shown:find "function")
  end)
end)
