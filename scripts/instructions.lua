#!/usr/bin/env pmclua
-- How many instructions does a command take, on any machine?
-- for: count
--
-- method: runs it under Valgrind, which counts what it executes in user space. What surrounds it
--   (environment, signals, streams, caches) is the same on every machine, so that the count is, too. Two
--   runs that agree are enough. No PMU is needed.
-- usage: pmclua instructions [--caches] [--branches] [-l LIMIT] -- COMMAND [ARGS]
--        pmclua instructions --kernel FILE.c:FUNCTION
-- example:
--   pmclua instructions --caches -- true
--   true · 2 repetitions · exec to exit, children in
--   event                        median  95 % interval  shape   quality
--   valgrind::instructions      105,844  =                      simulated, exact
--   valgrind::loads              25,221  =                      simulated, exact
--   valgrind::stores              9,938  =                      simulated, exact
--   valgrind::l1d-load-misses     1,193  =                      simulated, exact
--   valgrind::l1d-store-misses      337  =                      simulated, exact
--   valgrind::ll-misses           2,328  =                      simulated, exact
--   sim_l1d_miss_rate             4.7 %  =                      simulated, exact
--   ...
-- reading: `simulated, exact` means that every run gave the same count. Where counts differ, runs are made
--   until they are known to 0.01 %, five at most, or until the limits are decided. A count of another
--   machine is the same where program, libraries and Valgrind are: --store one there, and `--gate FILE
--   --limit 'valgrind_instructions <= +0.1%'` checks against it here (see CI.md).
-- caveats: programs that seed their hash tables (lua, perl) vary; --simulation random=fixed gives them the
--   same seeds. A run takes 25 to 50 times as long as without Valgrind, with caches or branches 40 to 130
--   times. Linux's own instructions are not counted, and time is not simulated. Programs with threads vary.

local pmc = require "pmclua"

local opt = pmc.options {
  { "caches", false, help = "simulate caches, too: loads, stores and misses" },
  { "branches", false, help = "simulate branch prediction, too" },
  { "kernel", value = "FILE:FUNCTION", help = "count a C function, as pmc.kernel runs it, not a command" },
  { "name", value = "NAME", help = "name of the workload, by which --gate finds its baseline" },
  { "limit", short = "l", many = true, value = "LIMIT", help = "e.g. 'valgrind_instructions <= +0.1%'" },
  { "command", rest = true, help = "command to run, and its arguments" },
}

local events, metrics = { "valgrind::instructions" }, {}

local function add(list, ...)
  for _, item in ipairs { ... } do list[#list + 1] = item end
end

if opt.caches then
  add(events, "valgrind::loads", "valgrind::stores", "valgrind::l1d-load-misses",
    "valgrind::l1d-store-misses", "valgrind::ll-misses")
  add(metrics, "sim_l1d_miss_rate")
end
if opt.branches then
  add(events, "valgrind::branches", "valgrind::branch-misses", "valgrind::indirect-branches")
  add(metrics, "sim_branch_miss_rate")
end

-- A source is named from the working directory, as a command is.
local function kernel()
  if #opt.command > 0 then pmc.fail("--kernel or a command, not both", 2) end
  local file, symbol = opt.kernel:match "^(.+):([%w_]+)$"
  if not file then pmc.fail("--kernel takes FILE:FUNCTION", 2) end
  if file:sub(1, 1) ~= "/" then file = require("lfs").currentdir() .. "/" .. file end
  return pmc.kernel { name = opt.name or symbol, source = file, symbol = symbol }
end

local function command()
  if #opt.command == 0 then pmc.fail("which command? usage: pmclua instructions -- COMMAND [ARGS]", 2) end
  local spec = { name = opt.name, unpack(opt.command) }
  return pmc.command(spec)
end

local counted = pmc.events.explain(events[1])[1]
if counted.why then pmc.fail(tostring(counted.why), 77) end

return pmc.experiment {
  name = "instructions", workloads = { opt.kernel and kernel() or command() },
  events = events, metrics = metrics, gate = #opt.limit > 0 and opt.limit or nil,
  repetitions = opt.kernel and 10 or 5, warmup = opt.kernel and 1 or 0,
  iterations = opt.kernel and "fit" or nil,
}
