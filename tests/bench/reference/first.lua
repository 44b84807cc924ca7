-- first.lua: an experiment with one kernel from source, to be run with an empty cache.
local pmc = require "pmclua"
return pmc.experiment {
  events = { "page-faults", "task-clock" }, repetitions = 10, warmup = 1, iterations = 1,
  workloads = { pmc.kernel { name = "empty", source = "empty.c", symbol = "empty" } },
}
