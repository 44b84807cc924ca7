#!/usr/bin/env pmclua
-- What do vectors bring, and what do they cost in precision's name?
--
-- method: one dot product in C, compiled three ways: -O2 without vectors, -O3, and -O3 with the leave to
--   reorder additions (-ffast-math), without which a sum of floats cannot be vectorised.
-- usage: pmclua vectors [--set n=1024,65536]
-- example:
--   pmclua vectors --repetitions 10 --set n=4096
-- reading: fewer instructions an element say that vectors are used; the time says whether that helped.
-- caveats: -ffast-math changes the result's last digits.

local pmc = require "pmclua"

local function compiled(name, cflags)
  return pmc.kernel { name = name, source = "kernels/dot.c", symbol = "dot", cflags = cflags }
end

return pmc.experiment {
  question    = "What does vectorising a dot product bring?",
  events      = { "duration_time", "cycles", "instructions" },
  factors     = { { "n", { 1024, 65536 } } },
  workloads   = {
    compiled("scalar", { "-O2", "-fno-tree-vectorize" }),
    compiled("O3", { "-O3" }),
    compiled("fast", { "-O3", "-ffast-math", "-march=native" }),
  },
  per         = { element = "n" },
  baseline    = "scalar",
  repetitions = 20,
}
