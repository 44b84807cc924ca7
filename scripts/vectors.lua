#!/usr/bin/env pmclua
-- What does vectorising gain, and what precision does it cost?
-- for: learn
--
-- method: one dot product in C, compiled three ways: -O2 without vectors, -O3, and -O3 with permission to
--   reorder additions (-ffast-math), without which a sum of floats cannot be vectorised.
-- usage: pmclua vectors [--set n=1024,65536]
-- example:
--   pmclua vectors --repetitions 10 --set n=4096
--   What does vectorising a dot product bring?
--
--   O3 against scalar (baseline) · n = 4,096
--     10 pairs, interleaved, seed 605224051
--   event                    scalar        O3  ratio  95 % interval  verdict
--   duration_time *         3.01 µs   3.05 µs  1.017  0.971 … 1.043  undecided
--   cycles                        –         –      –  <not supported>: this virtu…
--   instructions                  –         –      –  <not supported>: this virtu…
--   duration_time/element  0.734 ns  0.744 ns
--   * primary
--
--   fast against scalar (baseline) · n = 4,096
--     10 pairs, interleaved, seed 605224051
--   event                    scalar       fast  ratio  95 % interval  verdict
--   duration_time *         3.01 µs   347.6 ns  0.114  0.109 … 0.122  FASTER
--   cycles                        –          –      –  <not supported>: this virt…
--   instructions                  –          –      –  <not supported>: this virt…
--   duration_time/element  0.734 ns  0.0849 ns
--   * primary
-- reading: fewer instructions per element show that vectors are used; the time shows whether they help.
-- caveats: -ffast-math changes the last digits of the result.

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
