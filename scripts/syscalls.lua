#!/usr/bin/env pmclua
-- What does asking the OS kernel cost: a system call, a fresh page?
--
-- method: getppid, which does next to nothing, and the first touch of an anonymous page, each in a loop. The
--   predictions check that it was that many; the page's cost has 1/256 of an mmap and munmap in it.
-- usage: pmclua syscalls
-- example:
--   pmclua syscalls --repetitions 10
-- reading: the time is what one costs; on a machine with a PMU, instructions:u against instructions:k says
--   on whose side.
-- caveats: mitigations of the processor's flaws are most of a system call's cost: compare like with like.

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
