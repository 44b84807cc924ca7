#!/usr/bin/env pmclua
-- The whole suite: the specs here, then those in the lab, then one line of totals.
--
-- usage: pmclua tests/run.lua [specs | lab]…
--
-- Each part is a program whose last line is `[part] passed N, failed N, skipped N`. A part that ends without
-- that line, or exceeds its time limit, has failed. If it exits with 77 and without that line, it cannot run
-- here, and the last thing it printed is the reason. Everything temporary is in one folder, removed at the
-- end.

local here = arg[0]:match "^(.*)/" or "."
local program = dofile(here .. "/support/program.lua")
local support = require "tests.support"

local PROGRAM = here .. "/../build/pmclua"

local PARTS = {
  { name = "specs", limit_s = 900,
    command = ("%s %s/support/specs.lua specs"):format(PROGRAM, here) },
  { name = "lab", limit_s = 900, needs = here .. "/lab/lab.sh",
    command = ("%s/lab/lab.sh test"):format(here) },
}

-- What a file says; nothing where it is not there: a part may end at any moment.
local function text_of(path) return support.exists(path) and support.read(path) or "" end

--- Runs one part: its passed, failed and skipped.
local function run_part(part, folder)
  print(("== %s"):format(part.name))
  local log, status_file, running = folder .. "/log", folder .. "/status", folder .. "/running"
  local command = ("PMCLUA_TEST_RUNNING=%s timeout --kill-after=10 %d %s 2>&1 </dev/null")
    :format(running, part.limit_s, part.command)
  os.execute(("{ %s; echo $? >%s; } | tee %s"):format(command, status_file, log))
  local output, status = text_of(log), tonumber(text_of(status_file)) or 1
  local passed, failed, skipped = output:match "%[%w+%] passed (%d+), failed (%d+), skipped (%d+)\n$"
  if passed then
    failed = tonumber(failed)
    if status ~= 0 and failed == 0 then failed = 1 end
    return { tonumber(passed), failed, tonumber(skipped) }
  end
  if status == 77 then
    print(("skipped: %s: %s"):format(part.name, output:match "([^\n]*)\n*$"))
    return { 0, 0, 1 }
  end
  local how = status == 124 and ("ran past its limit of %d s"):format(part.limit_s)
    or ("ended with status %d before its totals"):format(status)
  local test = text_of(running)
  print(("\nFAILED %s %s%s"):format(part.name, how, test ~= "" and "; its last test: " .. test or ""))
  return { 0, 1, 0 }
end

local function wanted(part)
  if #arg == 0 then return not part.needs or support.exists(part.needs) end
  for _, name in ipairs(arg) do
    if name == part.name then return true end
  end
  return false
end

return program.run(function(folder)
  local totals = { 0, 0, 0 }
  for _, part in ipairs(PARTS) do
    if wanted(part) then
      for i, count in ipairs(run_part(part, folder)) do totals[i] = totals[i] + count end
    end
  end
  print(("\n%d passed, %d failed, %d skipped"):format(totals[1], totals[2], totals[3]))
  return totals[2] == 0 and 0 or 1
end)
