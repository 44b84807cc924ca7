-- Two commands, interleaved, whose repetitions are stored.
local pmc = require "pmclua"

return pmc.experiment {
  events = { "page-faults", "task-clock" }, repetitions = 6, warmup = 0, seed = 1,
  workloads = { "true", pmc.command { "sh", "-c", "exit 0", name = "shell" } },
}
