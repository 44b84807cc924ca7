#!/usr/bin/env pmclua
-- Which functions does a command spend its time, its page faults or any other event in?
--
-- method: counts the event in one run and samples it in another, as perf record does. How many events lie
--   between two samples is a prime, drawn anew for each run. Events as rare as page faults are recorded one
--   by one: then the table is exact.
-- usage: pmclua where [-e EVENT] [-r N] -- COMMAND [ARGS]
-- example:
--   pmclua where -e page-faults -- true
--   page-faults of true · 1 repetition · each recorded: exact
--   function                      file                  count  share  samples
--   _dl_relocate_object           ld-linux-x86-64.so.2      5   10 %        5
--   total                                                  48  100 %
-- reading: the lines, and those in brackets, add up to the total. A function without a name is shown as its
--   file and where in it the function begins; the debug symbols of its package name it.
-- caveats: threads, children and the programs that they execute are included. The command's own output is
--   left alone; the table goes to standard error.

local pmc = require "pmclua"

local opt = pmc.options {
  { "event", short = "e", value = "EVENT", help = "event to sample; default: cycles, else cpu-clock" },
  { "repeat", 1, type = "integer", short = "r", value = "N", help = "run the command N times" },
  { "timeout", value = "MS", help = "kill a run after this long (or 2s)" },
  { "command", rest = true, help = "command to run, and its arguments" },
  experiment = false,
}

local function fail(problem) pmc.fail(problem, "command") end

if #opt.command == 0 then fail "which command? usage: pmclua where [-e EVENT] [-r N] -- COMMAND [ARGS]" end

local function measure()
  local timeout = opt.timeout and pmc.targets.milliseconds(opt.timeout, "--timeout")
  return pmc.where(pmc.targets.command(opt.command), { event = opt.event, repetitions = opt["repeat"],
    timeout = timeout })
end

local ok, found = pcall(measure)
if not ok then fail(found) end
io.stderr:write(tostring(found), "\n")
