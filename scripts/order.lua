#!/usr/bin/env pmclua
-- What does a store cost by its memory order, from relaxed to seq_cst?
--
-- method: one thread stores to one place with each order, and adds to it atomically; the relaxed store is
--   the baseline. Nobody else looks, so this is the least that each costs.
-- usage: pmclua order
-- example:
--   pmclua order --repetitions 10
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
