local pmc = require "pmclua"
return pmc.experiment { workloads = { kernel = pmc.kernel { library = "/opt/kernel.so", symbol = "kernel" } },
  events = "valgrind::instructions", iterations = 100 }
