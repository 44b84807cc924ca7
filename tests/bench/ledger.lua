#!/usr/bin/env pmclua
-- Whom do ledgers name? Simulated experiments of which it is known where the counts are.
--
-- usage: pmclua tests/bench/ledger.lua [EXPERIMENTS]      (1000)
-- Prints a table in Markdown for tests/bench/README.md. Exit 1 where a figure is outside what is promised.

dofile((arg and arg[0] or "tests/bench/ledger.lua"):gsub("[^/]*$", "") .. "../support/program.lua")

local model = require "tests.bench.ledger_model"

local experiments = tonumber(arg and arg[1]) or 1000
local failed = false

local function promised(share, least)
  local kept = share >= least
  failed = failed or not kept
  return ("%.1f %%%s"):format(100 * share, kept and "" or " !")
end

local function at_most(share, most)
  local kept = share <= most
  failed = failed or not kept
  return ("%.1f %%%s"):format(100 * share, kept and "" or " !")
end

print(("### Whom ledgers name, %d experiments each (promised: 95 %% at least)\n"):format(experiments))
print "| functions | samples a run | pairs | +5 % of the run: its function alone | A against A: nobody |"
print "|---|---|---|---|---|"
for _, shape in ipairs(model.shapes) do
  for _, samples in ipairs { 300, 1200 } do
    for _, pairs_of_runs in ipairs { 10, 30 } do
      local asked = { shares = shape.shares(), target = shape.target, effect = 0.05, samples = samples,
        pairs = pairs_of_runs, noise = 0.01, block = 0.05 }
      local planted = model.named(asked, experiments, 1)
      asked.effect = 0
      local equal = model.named(asked, experiments, 2)
      local is_promised = pairs_of_runs == 30
      print(("| %s | %d | %d | %s | %s |"):format(shape.name, samples, pairs_of_runs,
        promised(planted.alone, is_promised and 0.95 or 0), promised(equal.none, is_promised and 0.95 or 0)))
      failed = failed or planted.sums < 1 or equal.sums < 1
    end
  end
end

print(("\n### Lines of time of which a share is far too long, %d experiments each "
  .. "(promised: others at most 5 %%)\n"):format(experiments))
print("| lines | pairs | outliers | +3 % in one line: named | skewed | another is named "
  .. "| A against A: any |")
print "|---|---|---|---|---|---|---|"
for _, outliers in ipairs { 0, 0.1 } do
  for _, lines in ipairs { 3, 20 } do
    for _, pairs_of_runs in ipairs { 10, 20, 30 } do
      local asked = { lines = lines, pairs = pairs_of_runs, outliers = outliers, effect = 0.03 }
      local planted = model.times_named(asked, experiments, 3)
      asked.effect = 0
      local equal = model.times_named(asked, experiments, 4)
      print(("| %d | %d | %g %% | %.1f %% | %.1f %% | %s | %s |"):format(lines, pairs_of_runs,
        100 * outliers, 100 * planted.first, 100 * planted.skewed, at_most(planted.others, 0.05),
        at_most(equal.others + equal.first, 0.05)))
    end
  end
end
os.exit(failed and 1 or 0)
