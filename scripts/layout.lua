#!/usr/bin/env pmclua
-- How much does a program's time depend on where its stack lies?
--
-- method: runs the same command with environments of several sizes, which move its stack (Mytkowicz et
--   al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). Address
--   randomisation is off, so that nothing else differs. The command does the same work each time.
-- usage: pmclua layout [--set environment_bytes=64,4096] [COMMAND]
-- example:
--   pmclua layout --repetitions 10 'ls -l /etc'
--   How much does time depend on the environment's size?
--
--   task-clock · ls -l /etc · aslr = false · 10 repetitions, 2 warm-ups
--     baseline environment_bytes = 64
--   environment_bytes   ls -l /etc  ±      ratio  verdict
--                  64      1.77 ms  2.8 %      –  –
--                 512      1.78 ms  1.7 %  1.006  undecided
--               1,024      1.76 ms  3.7 %  0.990  undecided
--               2,048      1.77 ms  1.6 %  0.991  undecided
--               3,072      1.77 ms  3 %    1.017  undecided
--               4,096      1.78 ms  2.6 %  1.009  undecided
--   verdicts: task_clock is primary; the others are corrected for 10 comparisons
--
--   ...
-- reading: a difference between rows is not a property of the program; a comparison of two builds may
--   show nothing but such a difference. `layout = "randomise"` in your own experiments draws the layout
--   anew.
-- caveats: small effects need many repetitions.

local pmc = require "pmclua"

local opt = pmc.options { { "command", "wc /bin/sh", argument = true, help = "command to run" } }

return pmc.experiment {
  question    = "How much does time depend on the environment's size?",
  events      = { "duration_time", "task-clock", "page-faults", "cycles", "instructions" },
  factors     = { { "environment_bytes", { 64, 512, 1024, 2048, 3072, 4096 } }, { "aslr", { false } } },
  workloads   = { pmc.command { opt.command, name = opt.command } },
  baseline    = { environment_bytes = 64 },
  primary     = "task-clock",
  repetitions = 30,
}
