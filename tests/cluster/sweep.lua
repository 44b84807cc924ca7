-- A sweep whose runs take some milliseconds each, so that kills meet it in the middle.
local pmc = require "pmclua"
return pmc.experiment {
  workloads = { "true", { name = "sleep", "sleep", "0.02" } }, baseline = "true",
  events = "page-faults", factors = { { "n", { 1, 2, 3, 4, 5, 6, 7, 8 } } }, repetitions = 10, warmup = 1,
}
