#!/usr/bin/env pmclua
-- Are the intervals and verdicts honest? Simulated experiments whose truth is known.
--
-- usage: pmclua tests/bench/honesty.lua [EXPERIMENTS]      (10000; slopes, A/A and power take a tenth)
-- Prints tables in Markdown for tests/bench/README.md. Exit 1 where a figure is outside what is promised, and marked
-- with a `!`; with fewer than 10000, where it is further outside than chance leaves it.

local simulate = require "simulate"

local experiments = tonumber(arg and arg[1]) or 10000
local tenth = math.floor(experiments / 10)
local FULL = 10000
local SIZES, FEW = { 20, 30, 100 }, { 8, 10 }
local failed = false

local function percent(share) return ("%.1f %%"):format(100 * share) end

-- Three standard errors of so many experiments; none at full length.
local function chance(limit, times)
  return experiments < FULL and 3 * math.sqrt(limit * (1 - limit) / times) or 0
end

-- The share of `times` experiments, a tenth of all by default; marked where the promise is broken.
local function promised(share, low, high, times)
  times = times or tenth
  local kept = share >= low - chance(low, times) and share <= high + chance(high, times)
  failed = failed or not kept
  return percent(share) .. (kept and "" or " !")
end

local function coverage_of_layouts()
  local title = "\n### Coverage of 95 %% intervals where layouts were drawn, %d experiments each (%s)\n"
  print(title:format(tenth, "promised: 94 % at least"))
  print "| spread of layouts to that of runs | n | of their means | of all repetitions, not done |"
  print "|---|---|---|---|"
  for i, ratio in ipairs { 0, 1, 10 } do
    for _, n in ipairs(SIZES) do
      local plain, grouped = simulate.coverage_of_layouts(n, ratio, tenth, 100 * i + n)
      print(("| %g | %d | %s | %s |"):format(ratio, n, promised(grouped, 0.94, 1), percent(plain)))
    end
  end
end

local function coverage()
  local title = "### Coverage of 95 %% intervals, %d experiments each (%s)\n"
  print(title:format(experiments, "promised: 94 % at least; at most 97.5, of 8 and 10 repetitions 99.5"))
  print "| shape | n | median | ratio of pairs | ratio, unpaired |"
  print "|---|---|---|---|---|"
  for i, shape in ipairs(simulate.shapes) do
    local function row(n, most)
      local held = simulate.coverage(shape, n, experiments, 100 * i + n)
      local function share(of) return promised(held[of], 0.94, most, experiments) end
      print(("| %s | %d | %s | %s | %s |"):format(shape.name, n, share "median", share "paired",
        share "unpaired"))
    end
    -- Ranks are whole: of few values the interval that covers 95 % at least covers up to 99.2 % (n = 8).
    for _, n in ipairs(FEW) do row(n, 0.995) end
    for _, n in ipairs(SIZES) do row(n, 0.975) end
  end
end

local function equals()
  print(("\n### A against A, %d experiments each (promised: at most 5 %% different)\n"):format(tenth))
  print "| spread of the log ratio | margin | 30 pairs | adaptive, 200 at most | any of 20, corrected |"
  print "|---|---|---|---|---|"
  for _, row in ipairs { { 0.01, 0.01 }, { 0.05, 0.01 }, { 0.2, 0.01 }, { 0.01, 0 }, { 0.2, 0 } } do
    local options = { n = 30, spread = row[1], margin = row[2], ratio = 1 }
    local long = { n = 200, spread = row[1], margin = row[2], ratio = 1 }
    print(("| %g %% | %g %% | %s | %s | %s |"):format(100 * row[1], 100 * row[2],
      promised(simulate.found(options, tenth, 1), 0, 0.05),
      promised((simulate.found_adaptively(long, tenth, 2)), 0, 0.05),
      promised(simulate.any_different(20, options, tenth, 3), 0, 0.05)))
  end
end

local function power()
  local title = "\n### A planted 2 %%, margin 1 %%, %d experiments each (promised: 95 %% found in 30 pairs)\n"
  print(title:format(tenth))
  print "| spread of the log ratio | 30 pairs | one of 20, corrected | adaptive, 200 at most (mean pairs) |"
  print "|---|---|---|---|"
  for _, spread in ipairs { 0.005, 0.01, 0.02 } do
    local options = { n = 30, spread = spread, margin = 0.01, ratio = 1.02 }
    local alone = simulate.found(options, tenth, 4)
    local long = { n = 200, spread = spread, margin = 0.01, ratio = 1.02 }
    local adaptive, used = simulate.found_adaptively(long, tenth, 6)
    options.level = 1 - 0.05 / 20
    print(("| %g %% | %s | %s | %s (%.0f) |"):format(100 * spread,
      spread <= 0.01 and promised(alone, 0.95, 1) or percent(alone),
      percent(simulate.found(options, tenth, 5)), percent(adaptive), used))
  end
end

local function slopes()
  local title = "\n### Coverage of 95 %% intervals of slopes, %d experiments each (%s)\n"
  print(title:format(tenth, "promised: 93 % at least"))
  print "| counts over five iteration counts | n | slope | ratio of two slopes | least squares, resampled |"
  print "|---|---|---|---|---|"
  for i, model in ipairs(simulate.counts) do
    for _, n in ipairs { 6, 8, 10, 20, 30 } do
      local held = simulate.slopes(model, n, tenth, 100 * i + n)
      print(("| %s | %d | %s | %s | %s |"):format(model.name, n, promised(held.slope, 0.93, 1),
        promised(held.ratio, 0.93, 1), promised(simulate.resampled(model, n, tenth, n), 0.93, 1)))
    end
  end
end

local function growth()
  local title = "\n### Fits over n sizes from 16 to 65,536, %d experiments each (promised: 93 %% at least)\n"
  print(title:format(tenth))
  print "Parameters are of the experiments in which the true shape was chosen; nothing is promised of fewer"
  print "than half.\n"
  print "| grows as | noise | n | chosen | intervals that hold the truth |"
  print "|---|---|---|---|---|"
  for i, shape in ipairs(simulate.shapes_of_growth) do
    for k, noise in ipairs(simulate.noises_of_growth) do
      for _, n in ipairs { 6, 10, 14, 20 } do
        local held, parts = simulate.growth(shape, noise, n, tenth, 100 * i + 10 * k + n), {}
        for name, share in pairs(held) do
          local least, times = held.chosen > 0.5 and 0.93 or 0, held.chosen * tenth
          parts[#parts + 1] = name ~= "chosen"
            and ("%s %s"):format(name, promised(share, least, 1, times)) or nil
        end
        table.sort(parts)
        print(("| %s | %s | %d | %s | %s |"):format(shape.name, noise.name, n, percent(held.chosen),
          table.concat(parts, ", ")))
      end
    end
  end
end

local function scaling()
  local title = "\n### Serial shares of times at 1, 2, 4, 8 and 16, %d experiments each (%s)\n"
  print(title:format(tenth, "promised: 93 % at least"))
  print "| law | share | noise | 6 blocks | 10 | 30 |"
  print "|---|---|---|---|---|---|"
  for _, law in ipairs { "amdahl", "gustafson" } do
    for _, share in ipairs { 0.01, 0.05, 0.3 } do
      for _, spread in ipairs { 0.01, 0.1 } do
        local held = {}
        for i, n in ipairs { 6, 10, 30 } do
          held[i] = promised(simulate.scaling(law, share, n, spread, tenth, 100 * n + i), 0.93, 1)
        end
        print(("| %s | %s | %s | %s |"):format(law, percent(share), percent(spread),
          table.concat(held, " | ")))
      end
    end
  end
end

local function gate_row(name, options, seed)
  local found, most = simulate.gates(options, tenth, seed), options.ratio == 1 and 0.025 or 1
  print(("| %s | %s | %s | %s |"):format(name, percent(found.pass), percent(found.undecided),
    promised(found.fail, 0, most)))
end

-- Runs that differ by 14 %, repetitions by 10 %, 100 of them; interleaved: pairs in blocks that differ by as much.
local function gates()
  local title = "\n### Time gates, `<= +3%%`, %d experiments each (promised: 2.5 %% of equals fail at most)\n"
  print(title:format(tenth))
  print "| new against old | holds | undecided | fails |"
  print "|---|---|---|---|"
  for _, ratio in ipairs { 1, 1.05, 1.5 } do
    local function row(name, more, seed)
      local options = { n = 100, between = 0.14, within = 0.1, ratio = ratio, limit = "t <= +3%" }
      for key, value in pairs(more) do options[key] = value end
      gate_row(("%+g %%: %s"):format(100 * (ratio - 1), name), options, seed)
    end
    row("one stored run, taken to differ by 15 %", { runs = 1, assumed = 0.15 }, 1)
    for _, count in ipairs { 3, 5, 10 } do row(count .. " stored runs", { runs = count }, count) end
    row("5 stored runs that differ by 2 %", { runs = 5, between = 0.02 }, 6)
    for _, within in ipairs { 0.02, 0.05, 0.1 } do
      row(("interleaved, repetitions differ by %g %%"):format(100 * within), { interleaved = true,
        within = within }, 20)
    end
  end
end

-- 30 pairs that differ by 5 %. What a run's processes and layouts happen to be is the same in all of its pairs, so no
-- interval has it; a second run has it anew.
local function second_tries()
  local title = "\n### Time gates, `<= +3%%`, tried once more, %d pairs each (%s)\n"
  print(title:format(tenth, "promised: 2.5 % of equals fail at most"))
  print "| new against old | ratios differ from run to run by | fails at first | fails twice |"
  print "|---|---|---|---|"
  for _, ratio in ipairs { 1, 1.05, 1.1 } do
    for _, bias in ipairs { 0, 0.02, 0.03 } do
      local options = { n = 30, between = 0.14, within = 0.05, ratio = ratio, bias = bias,
        interleaved = true, limit = "t <= +3%" }
      local once = simulate.gates(options, tenth, 31)
      options.again = true
      local twice = simulate.gates(options, tenth, 31)
      print(("| %+g %% | %g %% | %s | %s |"):format(100 * (ratio - 1), 100 * bias, percent(once.fail),
        promised(twice.fail, 0, ratio == 1 and 0.025 or 1)))
    end
  end
end

coverage()
coverage_of_layouts()
gates()
second_tries()
slopes()
growth()
scaling()
equals()
power()
os.exit(failed and 1 or 0)
