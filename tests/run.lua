#!/usr/bin/env pmclua
-- The whole suite: the specs here, beside them those in the lab, then one line of totals.
--
-- usage: pmclua tests/run.lua [specs | lab]…
--
-- As many parts run at once as there are CPUs: the lab, and shares of the specs. Each is a program whose last line is
-- `[part] passed N, failed N, skipped N`. A part that ends without that line, or exceeds its time limit, has failed.
-- If it exits with 77 and without that line, it cannot run here, and the last thing it printed is the reason.
-- A file of specs that failed is tried again once, alone and with nothing beside it. What holds then counts as passed and
-- is named: it depends on the load of the machine or on the order of its tests.
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

-- More files than this fail by a mistake, not by a machine that was busy.
local AGAIN = 3

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

local function totals_of(output)
  local passed, failed, skipped = output:match "%[%w+%] passed (%d+), failed (%d+), skipped (%d+)\n$"
  return tonumber(passed), tonumber(failed), tonumber(skipped)
end

--- What came of one part: its passed, failed and skipped.
local function outcome(part, folder)
  local files = files_of(part, folder)
  local output, status = text_of(files.log), tonumber(text_of(files.status)) or 1
  local passed, failed, skipped = totals_of(output)
  if passed then
    if status ~= 0 and failed == 0 then failed = 1 end
    return { passed, failed, skipped }
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

-- ---- files that are tried again ------------------------------------------------------------------------

-- The line for sh that runs one file of a part alone. The lab runs its files in a guest, except those of the
-- lab itself.
local function alone(part, name)
  local of_lab = ("%s/lab/host/%s"):format(here, name)
  if part.of == "lab" and not support.exists(of_lab) then
    local spec = ("%s/lab/spec/%s"):format(here, name)
    if not support.exists(spec) then spec = ("%s/spec/%s"):format(here, name) end
    return ("%s/lab/lab.sh test '%s'"):format(here, spec)
  end
  return ("%s %s/support/specs.lua again '%s'"):format(PROGRAM, here,
    part.of == "lab" and of_lab or ("%s/spec/%s"):format(here, name))
end

-- The files of all parts that failed: { part =, name =, failed = tests }, by name and part once.
local function failed_files(parts, folder)
  local list, by_key = {}, {}
  for _, part in ipairs(parts) do
    local log = text_of(files_of(part, folder).log)
    for name, failed in log:gmatch "([%w_]+_spec%.lua) +%d+ passed, (%d+) failed" do
      local key = part.name .. name
      if not by_key[key] then
        by_key[key] = { part = part, name = name, failed = 0 }
        list[#list + 1] = by_key[key]
      end
      by_key[key].failed = by_key[key].failed + tonumber(failed)
    end
  end
  return list
end

-- Runs them, and moves from failed to passed in `totals` those that hold. Returns os.execute's status.
local function try_again(list, totals, folder)
  for _, file in ipairs(list) do
    print(("\n== again: %s, alone"):format(file.name))
    io.stdout:flush()
    local log = folder .. "/again.log"
    local status = os.execute(("exec %s/beside -j 1 %s"):format(here,
      support.quote(("{ timeout --kill-after=10 600 %s 2>&1 || echo failed; } | tee %s"):format(
        alone(file.part, file.name), log))))
    if status == INTERRUPTED then return status end
    local _, failed = totals_of(text_of(log))
    if failed == 0 then
      print(("unsteady: %s holds when it is tried again: what failed in it (%d) depends on the load of this "
        .. "machine or on the order of tests"):format(file.name, file.failed))
      totals[1], totals[2] = totals[1] + file.failed, totals[2] - file.failed
    end
  end
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
  local again = failed_files(parts, folder)
  if #again <= AGAIN and try_again(again, totals, folder) == INTERRUPTED then return 130 end
  print(("\n%d passed, %d failed, %d skipped"):format(totals[1], totals[2], totals[3]))
  return totals[2] == 0 and 0 or 1
end)
