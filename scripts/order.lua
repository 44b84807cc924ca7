#!/usr/bin/env pmclua
-- What does a store cost by its memory order, relaxed to seq_cst?
-- for: learn
--
-- method: one thread stores to one place with each order, and adds to it atomically; the relaxed store is
--   the baseline. Nobody else looks, so this is the least that each costs.
-- usage: pmclua order
-- example:
--   pmclua order --repetitions 10
--   What does memory order cost?
--
--   release against relaxed (baseline) · 10 pairs, interleaved, seed 436263497
--   event             relaxed   release  ratio  95 % interval  margin  verdict
--   duration_time *  0.780 ns  0.781 ns  1.000  0.980 … 1.017    ±1 %  undecided
--   cycles                  –         –      –  <not supported>: this virtual mac…
--   instructions            –         –      –  <not supported>: this virtual mac…
--   * primary
--
--   sequential against relaxed (baseline) · 10 pairs, interleaved, seed 436263497
--   event             relaxed  sequential  ratio  95 % interval  margin  verdict
--   duration_time *  0.780 ns     7.75 ns  9.997  9.76 … 10.07     ±1 %  SLOWER
--   cycles                  –           –      –  <not supported>: this virtual m…
--   instructions            –           –      –  <not supported>: this virtual m…
--   * primary
--
--   ...
-- reading: on x86 a releasing store is a plain one, and a sequentially consistent one is an exchange with a
--   lock; on Arm both are instructions of their own.
-- caveats: under contention all of them cost more: see pmclua sharing.

local pmc = require "pmclua"

local function kernel(symbol)
  return pmc.kernel { name = symbol, source = "kernels/order.c", symbol = symbol }
end

return pmc.experiment {
  question    = "What does memory order cost?",
  events      = { "duration_time", "cycles", "instructions" },
  workloads   = { kernel "relaxed", kernel "release", kernel "sequential", kernel "fetch_add" },
  baseline    = "relaxed",
  repetitions = 20,
}
