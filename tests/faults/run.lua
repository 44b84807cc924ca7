#!/usr/bin/env pmclua
-- The whole matrix of faults: what was tried, and what did not hold.
--
-- usage: pmclua tests/faults/run.lua [PATTERN]      only the cases whose description has the pattern
-- exit: 0 when all held

local program = dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local faults = require "tests.faults"

--- Tries the cases whose description has the pattern: how many were tried, met, and failed; and of which calls.
local function try_all(pattern)
  local tried, met, failed, calls = 0, 0, 0, {}
  for _, case in ipairs(faults.matrix()) do
    local name = faults.describe(case)
    if not pattern or name:find(pattern) then
      local problems, was_met = faults.try(case)
      tried, met = tried + 1, met + (was_met and 1 or 0)
      local key = case.program .. " " .. case.call
      calls[key] = (calls[key] or 0) + 1
      if problems[1] then
        failed = failed + 1
        print(("FAILED %s\n    %s"):format(name, table.concat(problems, "\n    ")))
      end
    end
  end
  return tried, met, failed, calls
end

return program.run(function()
  local tried, met, failed, calls = try_all(arg[1])
  local names = {}
  for key in pairs(calls) do names[#names + 1] = key end
  table.sort(names)
  for _, key in ipairs(names) do print(("%-32s %5d cases"):format(key, calls[key])) end
  print(("[faults] %d calls, %d cases, %d met, %d failed"):format(#names, tried, met, failed))
  return failed == 0 and 0 or 1
end)
