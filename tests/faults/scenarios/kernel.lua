-- Two kernels whose page faults are known: one from the cache, one that is compiled.
local pmc = require "pmclua"

-- In the cache is what a run of it alone has put there.
local kernels = {}
for name in (os.getenv "PMCLUA_FAULTS_KERNELS" or "cached compiled"):gmatch "%a+" do
  kernels[#kernels + 1] =
    pmc.kernel { name = name, symbol = "fault", source = "fault.c", cflags = "-O1 -DNAME=" .. name,
      stderr = #kernels == 1 and "inherit" or nil }
end

return pmc.experiment {
  events = { "page-faults", "task-clock" }, repetitions = 4, warmup = 0, iterations = 5, seed = 1,
  layout = "fixed",
  workloads = kernels,
}
