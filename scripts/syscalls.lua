#!/usr/bin/env pmclua
-- What do a system call and a fresh page cost?
-- for: learn
--
-- method: calls getppid, which does next to nothing, and touches an anonymous page for the first time,
--   each in a loop. Predictions check the number of page faults. The cost of a page includes 1/256 of an
--   mmap and a munmap.
-- usage: pmclua syscalls
-- example:
--   pmclua syscalls --repetitions 10
--   What do a system call and a fresh page cost?
--
--   getppid · 10 repetitions, 2 warm-ups · per iteration, of 8,192
--   event             median  95 % interval         shape   quality
--   duration_time   116.4 ns  115.2 … 122.4         █▂▄▁▄   noisy
--   page-faults            0  =                             exact
--   instructions:u         –  <not supported>: this virtual machine has no PMU
--   instructions:k         –  <not supported>: this virtual machine has no PMU
--   cycles                 –  <not supported>: this virtual machine has no PMU
--
--   fresh page · 10 repetitions, 2 warm-ups · per iteration, of 1,024
--   event            median  95 % interval         shape   quality
--   duration_time   1.24 µs  1.17 … 1.34           ▄█▂▂▂   noisy
--   page-faults           1  =                             exact
--   instructions:u        –  <not supported>: this virtual machine has no PMU
--   instructions:k        –  <not supported>: this virtual machine has no PMU
--   cycles                –  <not supported>: this virtual machine has no PMU
-- reading: the time is the cost of one. With a PMU, instructions:u and instructions:k show how much of it
--   is spent in user space and in Linux.
-- caveats: mitigations of processor flaws make up most of a system call's cost: compare only machines
--   with the same settings.

local pmc = require "pmclua"

return pmc.experiment {
  question    = "What do a system call and a fresh page cost?",
  events      = { "duration_time", "page-faults", "instructions:u", "instructions:k", "cycles" },
  workloads   = {
    pmc.kernel { name = "getppid", source = "kernels/cost.c", symbol = "system_call" },
    pmc.kernel { name = "fresh page", source = "kernels/cost.c", symbol = "fresh_page" },
  },
  repetitions = 20,
}
