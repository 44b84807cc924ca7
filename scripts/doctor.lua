#!/usr/bin/env pmclua
-- What can be counted here, what cannot, and are counts true?
-- for: count
--
-- method: tries each kind of event by opening it, and the number of counters by filling a group; reads
--   settings from /proc and /sys. --truths does work whose counts are known (touches pages, calls
--   functions, moves between CPUs) and counts it; --overhead measures nothing, by each way of reading
--   counters.
--   --topology reads sysfs, and this process's affinity and cgroup.
-- usage: pmclua doctor [--truths | --overhead | --topology] [--format F]
-- example:
--   pmclua doctor
--   vm: Intel(R) Xeon(R) Processor, 2 CPUs, Linux 6.18.44-fc-v657
--   counts here     software; software inside Linux; tracepoints; breakpoints;
--                   uprobes
--   does not        hardware and cache: this virtual machine has no PMU: its host
--                   does not expose one
--                   kprobes: this Linux has no kprobe PMU
--   other PMUs      breakpoint, msr (2), power (1), software, tracepoint, uprobe
--
--   x a virtual machine without a PMU: no hardware or cache events
--       ask whoever runs its host to expose the PMU
--   ! a container (Docker): it sees only its own processes, and its settings are
--     the host's
--       change settings on the host
--
--   ...
-- reading: x: cannot be counted at all. !: makes numbers fewer or less certain. Both come with what to do
--   about it; "fine" lists everything else that was checked. A truth that is "true" may include counts that
--   other work on the machine added, but never lacks any.
-- caveats: results are for the user who runs it. The truths need a C compiler. Exits 77 if nothing can be
--   counted or no truth could be tested, 1 if a number is wrong.

local pmc = require "pmclua"

local opt = pmc.options {
  { "truths", false, help = "count work whose counts are known, and report which numbers are true" },
  { "overhead", false, help = "measure the overhead of each way of reading counters" },
  { "topology", false, help = "show packages, caches, NUMA nodes, and the CPUs of this job" },
  { "format", "table", choices = pmc.formats "screen", value = "F", help = "output format" },
  { "json", false, help = "the same as --format json" },
  experiment = false,
}

local STATUS = { wrong = 1, usage = 2, nothing = 77 }

local as_json = opt.json or opt.format == "json"

if (opt.truths and 1 or 0) + (opt.overhead and 1 or 0) + (opt.topology and 1 or 0) > 1 then
  pmc.fail("--truths, --overhead and --topology are several questions: ask one", STATUS.usage)
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
elseif opt.topology then
  show(pmc.doctor.topology())
else
  local examination = pmc.doctor.examine()
  show(examination)
  if not examination.can_count then os.exit(STATUS.nothing, true) end
end
