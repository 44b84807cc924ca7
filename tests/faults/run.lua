#!/usr/bin/env pmclua
-- The whole matrix of faults: what was tried, and what did not hold.
--
-- usage: pmclua tests/faults/run.lua [PATTERN]      only the cases whose description matches the pattern
-- reading: a row is a call and the number of ways in which it fails; each figure is the number of its cases
--   in that scenario: programs × ways × occurrences (the first, the middle and the last).
-- exit: 0 if everything held

local program = dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local core = require "pmclua.core"
local faults = require "tests.faults"

---@class faults.Tally
---@field cases integer
---@field met integer
---@field failed integer
---@field seconds table<string, number> by scenario
---@field calls table<string, { ways: integer, cases: table<string, integer> }> by name

local function count(tally, case, was_met)
  local call = tally.calls[case.call] or { ways = 0, cases = {}, is_way = {} }
  tally.calls[case.call] = call
  if not call.is_way[case.action] then call.ways = call.ways + 1 end
  call.is_way[case.action] = true
  call.cases[case.scenario] = (call.cases[case.scenario] or 0) + 1
  tally.cases, tally.met = tally.cases + 1, tally.met + (was_met and 1 or 0)
end

local function try(case, tally)
  local start_ns = core.now_ns()
  local problems, was_met = faults.try(case)
  tally.seconds[case.scenario] = (tally.seconds[case.scenario] or 0) + (core.now_ns() - start_ns) / 1e9
  count(tally, case, was_met)
  if problems[1] then
    tally.failed = tally.failed + 1
    print(("FAILED %s\n    %s"):format(faults.describe(case), table.concat(problems, "\n    ")))
  end
end

local function row(title, ways, value)
  local cells = {}
  for i, name in ipairs(faults.NAMES) do cells[i] = ("%" .. #name + 1 .. "s"):format(value(name) or "") end
  print(("%-24s %5s%s"):format(title, ways, table.concat(cells)))
end

local function show(tally)
  local names, ways, sums = {}, 0, {}
  for name in pairs(tally.calls) do names[#names + 1] = name end
  table.sort(names)
  row("call", "ways", function(scenario) return scenario end)
  for _, name in ipairs(names) do
    local call = tally.calls[name]
    row(name, call.ways, function(scenario) return call.cases[scenario] end)
    ways = ways + call.ways
    for scenario, cases in pairs(call.cases) do sums[scenario] = (sums[scenario] or 0) + cases end
  end
  row("cases", ways, function(scenario) return sums[scenario] end)
  row("seconds", "", function(scenario)
    return tally.seconds[scenario] and ("%.0f"):format(tally.seconds[scenario])
  end)
  print(("[faults] %d calls, %d ways, %d cases: %d met, %d failed")
    :format(#names, ways, tally.cases, tally.met, tally.failed))
end

return program.run(function()
  local tally = { cases = 0, met = 0, failed = 0, seconds = {}, calls = {} }
  for _, case in ipairs(faults.matrix()) do
    if not arg[1] or faults.describe(case):find(arg[1]) then try(case, tally) end
  end
  show(tally)
  return tally.failed == 0 and 0 or 1
end)
