#!/usr/bin/env pmclua
-- The whole suite: the specs here, beside them those in the lab, then one line of totals.
--
-- usage: pmclua tests/run.lua [specs | lab]…
--
-- As many parts run at once as there are CPUs: the lab, and shares of the specs. Each is a program whose last line is
-- `[part] passed N, failed N, skipped N`. A part that ends without that line, or exceeds its time limit, has failed.
-- If it exits with 77 and without that line, it cannot run here, and the last thing it printed is the reason.
-- Everything temporary is in one folder, removed at the end.

local here = arg[0]:match "^(.*)/" or "."
local program = dofile(here .. "/support/program.lua")
local support = require "tests.support"

local PROGRAM = here .. "/../build/pmclua"

-- How many of the lab's machines run at once: beside the specs, one CPU is theirs.
local cpus = tonumber(support.output_of "nproc") or 1
local at_once = #arg == 1 and cpus or math.max(1, cpus - 1)

-- Shares that are smaller than the lab keep the CPUs busy to the end.
local SHARES = 3

-- The files of a share of the specs, for a shell.
local function share_of(share)
  local i, files = 0, {}
  for path in support.output_of("ls " .. here .. "/spec/*_spec.lua"):gmatch "[^\n]+" do
    i = i + 1
    if i % SHARES == share - 1 then files[#files + 1] = path end
  end
  return table.concat(files, " ")
end

local PARTS = {
  { name = "lab", of = "lab", limit_s = 1500, needs = here .. "/lab/lab.sh",
    command = ("env PMCLUA_LAB_AT_ONCE=%d %s/lab/lab.sh test"):format(at_once, here) },
}
for share = 1, SHARES do
  PARTS[#PARTS + 1] = { name = "specs" .. share, of = "specs", limit_s = 1500,
    command = ("%s %s/support/specs.lua specs%d %s"):format(PROGRAM, here, share, share_of(share)) }
end

local INTERRUPTED = 130 * 256                  -- as os.execute has it

-- What a file says; nothing where it is not there: a part may end at any moment.
local function text_of(path) return support.exists(path) and support.read(path) or "" end

-- Where a part's output, its status and the name of its test that runs are.
local function files_of(part, folder)
  local place = folder .. "/" .. part.name
  return { log = place .. ".log", status = place .. ".status", running = place .. ".running" }
end

-- The line for sh that runs a part.
local function line_of(part, folder)
  local files = files_of(part, folder)
  local command = ("PMCLUA_TEST_RUNNING=%s timeout --kill-after=10 %d %s 2>&1"):format(files.running,
    part.limit_s, part.command)
  return ("echo '== %s'; { %s; echo $? >%s; } | tee %s"):format(part.name, command, files.status, files.log)
end

--- What came of one part: its passed, failed and skipped.
local function outcome(part, folder)
  local files = files_of(part, folder)
  local output, status = text_of(files.log), tonumber(text_of(files.status)) or 1
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
  local test = text_of(files.running)
  print(("\nFAILED %s %s%s"):format(part.name, how, test ~= "" and "; its last test: " .. test or ""))
  return { 0, 1, 0 }
end

local function wanted(part)
  if #arg == 0 then return not part.needs or support.exists(part.needs) end
  for _, name in ipairs(arg) do
    if name == part.of then return true end
  end
  return false
end

local function run_parts(parts, folder)
  local words = {}
  for i, part in ipairs(parts) do words[i] = support.quote(line_of(part, folder)) end
  return os.execute(("exec %s/beside -j %d %s"):format(here, cpus, table.concat(words, " ")))
end

return program.run(function(folder)
  local parts, totals = {}, { 0, 0, 0 }
  for _, part in ipairs(PARTS) do
    if wanted(part) then parts[#parts + 1] = part end
  end
  local status = run_parts(parts, folder)
  if status == INTERRUPTED then return 130 end
  for _, part in ipairs(parts) do
    for i, count in ipairs(outcome(part, folder)) do totals[i] = totals[i] + count end
  end
  print(("\n%d passed, %d failed, %d skipped"):format(totals[1], totals[2], totals[3]))
  return totals[2] == 0 and 0 or 1
end)
