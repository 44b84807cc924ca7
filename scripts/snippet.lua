#!/usr/bin/env pmclua
-- What does a line of assembly or C cost?
-- for: learn
--
-- method: repeats the line `unroll` times in a loop that does nothing else, and runs the loop with
--   several numbers of iterations. The cost of an iteration is the slope of a line through the counts, so
--   that the cost of starting and stopping ends up in the intercept. Divided by `unroll` it is the cost of
--   the line.
-- usage: pmclua snippet [OPTIONS] 'ASSEMBLY'
--        pmclua snippet [OPTIONS] -c --init 'int x = 1, y = 3' 'x *= y'
--        pmclua snippet [OPTIONS] 'ASSEMBLY' --against 'ASSEMBLY' ...
-- example:
--   pmclua snippet --repetitions 10 nop
--   nop · unroll = 100 · 10 repetitions, 1 warm-up
--     fit over 13,108 … 65,540 iterations
--   event          per iteration  /operation  95 % interval   quality
--   duration_time       12.96 ns    0.130 ns  9.07 … 15.66    no line, R² 0.929
--   cycles                     –  <not supported>: this virtual machine has no PMU
--   instructions               –  <not supported>: this virtual machine has no PMU
-- reading: the column per operation is the cost of one copy; it includes the loop's own two instructions,
--   divided by `unroll`. For C, a note lists the instructions of one copy, and '' shows the loop alone.
-- caveats: copies that depend on each other show latency, others throughput: compare `imul rax, rax` with
--   `imul rax, rbx; imul rcx, rbx`. C is compiled with cc -O2; values that a copy computes are kept alive.
--   r14 (x27 on Arm) points to 64 KiB of zeroed memory.

local pmc = require "pmclua"

local opt = pmc.options {
  { "c", false, short = "c", help = "the snippet is C, not assembly" },
  { "init", value = "CODE", help = "code before the loop; declares the variables, e.g. 'int x = 1'" },
  { "against", many = true, value = "CODE", help = "another snippet to compare with the first" },
  { "syntax", value = "S", help = "assembly syntax: intel (default on x86) or att" },
  { "unroll", 100, type = "integer", value = "N", help = "copies per iteration of the loop" },
  { "events", short = "e", many = true, value = "LIST", help = "events to count" },
  "vendor",
  { "repetitions", 30, type = "integer", short = "r", value = "N", help = "number of repetitions" },
  "simulate", "pin", "quiet",
  { "format", "table", choices = pmc.formats(), value = "F", help = "report format" },
  { "code", argument = true, many = true, help = "the snippet" },
  experiment = false,
}

local STATUS = { usage = 2, uncountable = 77 }

local function snippet_of(code)
  return pmc.snippet { asm = not opt.c and code or nil, c = opt.c and code or nil, init = opt.init,
    syntax = opt.syntax, unroll = "{unroll}" }
end

local function measure()
  local workloads = { snippet_of(table.concat(opt.code, " ")) }
  for i, code in ipairs(opt.against) do workloads[i + 1] = snippet_of(code) end
  workloads[#workloads + 1] = {
    events = #opt.events > 0 and opt.events or { "duration_time", "cycles", "instructions" },
    factors = { { "unroll", { opt.unroll } } }, per = { operation = "unroll" },
    iterations = "fit", repetitions = opt.repetitions, pin = opt.pin,
    quiet = opt.quiet, simulate = opt.simulate or nil,
  }
  return #opt.against > 0 and pmc.compare(unpack(workloads)) or pmc.measure(unpack(workloads))
end

-- Whether any event was counted.
local function is_counted(result)
  for cell in result:cells() do
    for _, event in ipairs(result.header.events) do
      if cell:summary(event.field).n > 0 then return true end
    end
  end
  return false
end

if opt.unroll < 1 then pmc.fail("--unroll takes 1 or more", STATUS.usage) end

local ok, result = pcall(measure)
if not ok then pmc.fail(result) end
pmc.output()(result:report { format = opt.format, stream = 1 })
if result.signal then os.exit(128 + result.signal, true) end
if result.problem then pmc.fail(result.problem) end
if not is_counted(result) then os.exit(STATUS.uncountable, true) end
