#!/usr/bin/env pmclua
-- How much does a program's time depend on where its stack lies?
--
-- method: the same command with environments of several sizes, which move its stack (Mytkowicz et al.,
--   "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009); no addresses are random,
--   so that nothing else differs. The command does the same work each time.
-- usage: pmclua layout [--set environment_bytes=64,4096] [COMMAND]
-- example:
--   pmclua layout --repetitions 10 --set environment_bytes=64,4096 'ls -l /etc'
-- reading: a difference between rows is no property of the program, and an A/B comparison of two builds may
--   be just that. `layout = "randomise"` in your own experiments draws the place anew.
-- caveats: small effects need many repetitions.

local pmc = require "pmclua"

local opt = pmc.options { { "command", "sort /etc/services", argument = true, help = "what to run" } }

return pmc.experiment {
  question    = "How much does time depend on the environment's size?",
  events      = { "duration_time", "task-clock", "page-faults", "cycles", "instructions" },
  factors     = { { "environment_bytes", { 64, 512, 1024, 2048, 3072, 4096 } }, { "aslr", { false } } },
  workloads   = { pmc.command { opt.command, name = opt.command } },
  baseline    = { environment_bytes = 64 },
  primary     = "task-clock",
  repetitions = 30,
}
