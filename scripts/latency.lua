#!/usr/bin/env pmclua
-- What are the latency and the throughput of an instruction?
-- for: learn
--
-- method: runs a hundred copies that depend on each other (one register), and a hundred that do not (four
--   registers), in a loop. The cost of a copy is the slope of a line over several numbers of iterations.
-- usage: pmclua latency
-- example:
--   pmclua latency --repetitions 10
--   What are an instruction's latency and throughput?
--
--   add, dependent · copies = 100 · 10 repetitions, 2 warm-ups
--     fit over 6,554 … 32,770 iterations
--   event          per iteration  /operation  95 % interval  overhead   quality
--   duration_time       34.35 ns    0.343 ns  31.22 … 37.22  18.68 µs   noisy
--   cycles                     –  <not supported>: this virtual machine has no PMU
--   instructions               –  <not supported>: this virtual machine has no PMU
--
--   add, independent · copies = 100 · 10 repetitions, 2 warm-ups
--     fit over 26,215 … 131,075 iterations
--   event          per iteration  /operation  95 % interval  overhead   quality
--   duration_time       13.65 ns    0.136 ns  12.87 … 14.64   6.72 µs   noisy
--   cycles                     –  <not supported>: this virtual machine has no PMU
--   instructions               –  <not supported>: this virtual machine has no PMU
--
--   ...
-- reading: the dependent copies show the latency, the independent ones the inverse throughput: as time,
--   and in cycles if there is a PMU.
-- caveats: x86 and Arm only. The two instructions of the loop itself are included, divided by a hundred.

local pmc = require "pmclua"

local CODE = {
  x64 = {
    { "add, dependent", "add rax, rbx" },
    { "add, independent", "add rax, rbx; add rcx, rbx; add rdx, rbx; add rsi, rbx" },
    { "imul, dependent", "imul rax, rbx" },
    { "imul, independent", "imul rax, rbx; imul rcx, rbx; imul rdx, rbx; imul rsi, rbx" },
  },
  arm64 = {
    { "add, dependent", "add x0, x0, x1" },
    { "add, independent", "add x0, x0, x1; add x2, x2, x1; add x3, x3, x1; add x4, x4, x1" },
    { "mul, dependent", "mul x0, x0, x1" },
    { "mul, independent", "mul x0, x0, x1; mul x2, x2, x1; mul x3, x3, x1; mul x4, x4, x1" },
  },
}

local workloads = {}
for i, pair in ipairs(CODE[jit.arch]) do
  local copies = select(2, pair[2]:gsub(";", ";")) + 1
  workloads[i] = pmc.snippet { name = pair[1], asm = pair[2], unroll = 100 / copies }
end

return pmc.experiment {
  question    = "What are an instruction's latency and throughput?",
  events      = { "duration_time", "cycles", "instructions" },
  factors     = { { "copies", { 100 } } },
  workloads   = workloads,
  per         = { operation = "copies" },
  iterations  = "fit",
  repetitions = 20,
}
