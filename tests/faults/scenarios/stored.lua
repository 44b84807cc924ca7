-- Two commands, interleaved, whose repetitions are stored; all that can be asked of a held child is.
local pmc = require "pmclua"

return pmc.experiment {
  events = { "page-faults", "task-clock" }, repetitions = 6, warmup = 0, seed = 1,
  layout = "fixed", pin = "0",
  workloads = { "true", pmc.command { "sh", "-c", "exit 0", name = "shell", cwd = "/" } },
}
