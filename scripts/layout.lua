#!/usr/bin/env pmclua
-- How much does time depend on where a program's stack and code lie?
-- for: compare
--
-- method: runs the same command with environments of several sizes, which move its stack (Mytkowicz et
--   al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). With --kernel, the
--   function of a C file is linked anew for each row, with its functions in another order and at another
--   place; with --build, the command is built anew for each row, by a command that has {seed} in it.
--   Address randomisation is off, so that nothing else differs. The work is the same each time.
-- usage: pmclua layout [--set environment_bytes=64,4096] [COMMAND]
--        pmclua layout --kernel FILE.c:FUNCTION [--set code_layout=0,1,2]
--        pmclua layout --build 'cc -fuse-ld=lld -Wl,--shuffle-sections=.text*={seed} *.o -o {seed}' ./{seed}
-- example:
--   pmclua layout --repetitions 10 'ls -l /etc'
--   How much does time depend on the environment's size?
--
--   task-clock · ls -l /etc · aslr = false · 10 repetitions, 2 warm-ups
--     baseline environment_bytes = 64
--   environment_bytes   ls -l /etc  ±      ratio  95 % interval  verdict
--                  64      6.96 ms  8.4 %      –  –              –
--                 512      6.66 ms  6.1 %  0.959  0.66 … 1.11    undecided
--               1,024      6.96 ms  13 %   1.012  0.71 … 1.17    undecided
--               2,048      6.65 ms  13 %   0.968  0.63 … 1.15    undecided
--               3,072      6.99 ms  10 %   1.024  0.83 … 1.21    undecided
--               4,096      6.89 ms  8.9 %  0.967  0.72 … 1.11    undecided
--
--   ...
-- reading: a difference between rows is not a property of the program; a comparison of two builds may
--   show nothing but such a difference. `layout = "randomise"` in your own experiments draws the layout
--   anew, with the code of kernels; `layout = { build = "… {seed}" }` that of commands too. Instructions
--   must not differ between rows; cycles and times may.
-- caveats: small effects need many repetitions. code_layout 0 is the code as it is compiled.

local pmc = require "pmclua"

local opt = pmc.options {
  { "kernel", value = "FILE.c:FUNCTION", help = "place the code of this kernel instead" },
  { "build", value = "COMMAND", help = "builds the command for a place of its code, {seed}; by /bin/sh" },
  { "command", "wc /bin/sh", argument = true, help = "command to run" },
}

-- Layout 0 of a kernel is the code as compiled; lld given the seed 0 draws one itself.
local FIRST = opt.build and 1 or 0
local PLACES = { "code_layout", {} }
for i = 1, 6 do PLACES[2][i] = FIRST + i - 1 end
local SIZES = { "environment_bytes", { 64, 512, 1024, 2048, 3072, 4096 } }
local STILL = { "aslr", { false } }

local function kernel()
  local file, symbol = opt.kernel:match "^(.+):([%w_]+)$"
  if not file then pmc.fail("--kernel takes FILE.c:FUNCTION, not '" .. opt.kernel .. "'", 2) end
  return pmc.kernel { source = file, symbol = symbol }
end

local moves_code = opt.kernel or opt.build

return pmc.experiment {
  question    = moves_code and "How much does time depend on where the code lies?"
    or "How much does time depend on the environment's size?",
  events      = { "duration_time", "task-clock", "page-faults", "cycles", "instructions" },
  factors     = { moves_code and PLACES or SIZES, STILL },
  layout      = opt.build and { build = opt.build, folders = { "." } } or nil,
  workloads   = { opt.kernel and kernel() or pmc.command { opt.command, name = opt.command } },
  baseline    = moves_code and { code_layout = FIRST } or { environment_bytes = 64 },
  primary     = "task-clock",
  repetitions = 30,
}
