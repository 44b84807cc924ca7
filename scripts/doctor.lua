#!/usr/bin/env pmclua
-- What can be counted here, what is in the way, are the numbers true?
--
-- method: each kind of event is tried by opening it, the counters of a PMU by filling a group; settings are
--   read from /proc and /sys. --truths does things whose counts are known (touches pages, calls functions,
--   hops between CPUs) and counts them; --overhead counts nothing, by every way in which counts are read.
-- usage: pmclua doctor [--truths | --overhead] [--format F]
-- example:
--   pmclua doctor
--   vm: Intel(R) Xeon(R) Processor, 2 CPUs, Linux 6.18.44-fc-v657
--   counts here     software; software inside the OS kernel; tracepoints;
--                   breakpoints; uprobes
--   does not        hardware and cache: this virtual machine has no PMU: its host
--                   does not pass one on
--                   kprobes: this OS kernel has no kprobe PMU
--   other PMUs      breakpoint, msr (2), power (1), software, tracepoint, uprobe
--
--   x a virtual machine without a PMU: no hardware and cache events
--       ask who runs its host to pass the PMU on
--   ! a container (Docker): it sees its own processes alone, and its settings are
--     the host's
--       settings are changed on the host
--
--   ...
-- reading: x is what cannot be counted at all, ! what makes numbers fewer or less certain, each with what to
--   do about it; "fine" is all else that was looked at. Of the truths, "true" is one that other work on the
--   machine added to, and never took from.
-- caveats: it speaks for the user who runs it. The truths take a C compiler. Exit 77 where nothing can be
--   counted, or no truth tested; 1 where a figure is wrong.

local pmc = require "pmclua"

local opt = pmc.options {
  { "truths", false, help = "count work whose counts are known, and report which numbers are true" },
  { "overhead", false, help = "measure the overhead of each way of reading counters" },
  { "format", "table", choices = { "table", "json" }, value = "F", help = "output format" },
  { "json", false, help = "the same as --format json" },
  experiment = false,
}

local STATUS = { wrong = 1, usage = 2, nothing = 77 }

local as_json = opt.json or opt.format == "json"

if opt.truths and opt.overhead then
  pmc.fail("--truths and --overhead are two questions: ask one", STATUS.usage)
end

local function show(answer)
  io.write(as_json and require("dkjson").encode(answer:object()) .. "\n" or tostring(answer))
end

if opt.truths then
  local truths = pmc.doctor.truths()
  show(truths)
  if truths.wrong > 0 then os.exit(STATUS.wrong, true) end
  if truths.tested == 0 then os.exit(STATUS.nothing, true) end
elseif opt.overhead then
  show(pmc.doctor.overhead())
else
  local examination = pmc.doctor.examine()
  show(examination)
  if not examination.can_count then os.exit(STATUS.nothing, true) end
end
