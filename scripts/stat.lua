#!/usr/bin/env pmclua
-- What does a command, process, CPU or cgroup cost? Like perf stat.
-- for: count
--
-- method: holds the command until its counters are attached, then counts it from exec to its end, with
--   all its threads and children. Its input and output are untouched; the report goes to standard error. A
--   target (-p -t -a -C -G) is counted while the command runs, or, without a command, until the target ends
--   or Ctrl-C.
-- usage: pmclua stat [-e LIST] [-r N] [-- COMMAND [ARGS]]
--        pmclua stat [-e LIST] -p PID | -t TID | -a | -C CPUS | -G NAME [COMMAND]
-- example:
--   pmclua stat -e page-faults,task-clock -- true
--   true · 1 repetition · exec to exit, children in
--   event          median  95 % interval         shape   quality
--   page-faults        49  –                             one repetition
--   task-clock   431.6 µs  –                             one repetition
-- reading: with -r, the median of the runs and its 95 % interval; `exact` means that every run gave the
--   same count. What could not be counted is absent, with the reason; it is never reported as 0.
-- caveats: exits as the command did (128 + n for signal n; with -r, as the first failing run), else 3 if
--   a --limit fails and 77 if one could not be checked; 125 if pmclua itself failed, 126 if the command
--   cannot be executed, 127 if there is no such command.

local pmc = require "pmclua"

local STATUS = { failed = 125, not_executable = 126 }

local function fail(problem) pmc.fail(problem, "command") end

-- pmclua's own failures have a status of their own: a command may well exit with 1 or 2.
local function read_options(declaration)
  local ok, opt = pcall(pmc.options, declaration)
  return ok and opt or fail(opt)
end

local opt = read_options(pmc.targets.options {
  { "event", short = "e", many = true, value = "LIST", help = "events to count, in perf's syntax" },
  { "repeat", 1, type = "integer", short = "r", value = "N", help = "run the command N times" },
  { "warmup", 0, type = "integer", value = "N", help = "warm-up runs, discarded" },
  { "metric", short = "M", many = true, value = "NAME",
    help = "metrics to compute, or groups of them: ipc, BRANCH, TopdownL1, ./mine.group" },
  "vendor",
  { "interval", short = "I", value = "MS",
    help = "print a line every MS milliseconds (or 2s), as monitor does" },
  { "delay", short = "D", value = "MS", help = "start counting this long after the start" },
  { "no-inherit", false, short = "i", help = "do not count threads and children that it starts" },
  { "launch", value = "WORDS", help = "start it so, as 'srun -n 4': each rank is counted" },
  "ranks",
  { "marks", false, help = "count between the program's marks; with --per-thread, by thread" },
  { "entries", false, help = "with --marks: one value per entry, not the sum of a run" },
  "simulate", "simulation",
  { "timeout", value = "MS", help = "kill a run after this long (or 2s); without a command: stop" },
  "pin",
  { "format", "table", choices = pmc.formats(), value = "F", help = "report format" },
  { "separator", short = "x", value = "SEP", help = "CSV with this field separator" },
  { "json", false, short = "j", help = "the same as --format json" },
  { "output", short = "o", value = "FILE", help = "write the report to FILE (- is standard output)" },
  { "append", false, help = "append to FILE instead of replacing it" },
  { "no-report", false, help = "print no report; exit as the command does" },
  { "store", value = "FILE", help = "store every run in this file, for report, compare and gate" },
  { "name", value = "NAME", help = "name of the command, by which --gate finds its baseline" },
  "note",
  { "limit", short = "l", many = true, value = "LIMIT",
    help = "e.g. 'page_faults <= 500'; exit 3 if it is exceeded" },
  { "gate", many = true, value = "FILE",
    help = "baseline for relative limits such as 'instructions <= +1%'" },
  "strict", "any-host", "any-cpu",
  { "any-arguments", false, help = "limits: accept a baseline that was given other arguments" },
  "run-spread", "gate-output",
  { "command", rest = true, help = "command to run, and its arguments" },
  experiment = false,
})

local format = opt.json and "json" or opt.format
if opt.separator and format == "table" then format = "csv" end
local has_command = #opt.command > 0
local separator = opt.separator == "\\t" and "\t" or opt.separator or ","

-- ---- what is asked ----

-- With --marks, --per-thread divides the marks; otherwise the target.
local marks_by = opt.marks and opt.per_thread and "thread" or nil
if marks_by then opt.per_thread = false end
local ok, target = pcall(pmc.targets.from, opt)
if not ok then fail(target) end
if not has_command and not target then
  fail("which command? usage: pmclua stat [-e LIST] [-r N] -- COMMAND [ARGS]")
end
if not has_command and opt["repeat"] > 1 then
  fail("-r runs a command several times: which?")
end
if opt.separator == "" then fail("-x takes what is to stand between fields") end
if opt.separator and format ~= "csv" then fail("-x is for CSV, and --format says " .. format) end
if opt.store == "-" then fail("--store takes a file: standard output is the command's") end
local limits = #opt.limit > 0 and opt.limit or nil
local gate_with = { baseline = #opt.gate > 0 and opt.gate or nil, any_host = opt.any_host,
  any_cpu = opt.any_cpu, any_arguments = opt.any_arguments, run_spread = opt.run_spread }
if not limits and (#opt.gate > 0 or opt.strict or opt.gate_output) then
  fail("--gate, --strict and --gate-output go with --limit")
end
if opt.entries and not opt.marks then fail("--entries goes with --marks") end

-- pcall's results, or the script ends.
local function checked(is_good, ...)
  if not is_good then fail((...)) end
  return ...
end

local launch = checked(pcall(pmc.targets.launch, opt))
if launch and (opt.interval or opt.simulate) then fail("--launch goes with neither -I nor --simulate") end
if launch and target then fail("--launch counts its ranks: it goes with none of -p, -t, -a, -C and -G") end

local function milliseconds(option, letter)
  local good, value = pcall(pmc.targets.seconds, option, letter)
  if not good then fail(value) end
  return value
end

local timeout = opt.timeout and milliseconds(opt.timeout, "--timeout")

-- ---- writing ----

-- Opened before anything runs, so that mistakes cost no run.
for i, path in ipairs(opt.gate) do opt.gate[i] = checked(pcall(pmc.load, path)) end
checked(pcall(pmc.outputs, { report = opt.gate_output }))

local put = not opt.no_report and checked(pcall(pmc.output, opt.output or 2, opt.append and "a" or "w"))

local function write(text) checked(pcall(put, text)) end

local function note(remarks)
  for _, remark in ipairs(opt.no_report and {} or remarks or {}) do pmc.say(remark) end
end

-- ---- -I: a line each interval ----

local function status_of(result)
  if result.lost or result.outcome == "not-started" then return STATUS.failed end
  return result.signal and result.signal > 0 and 128 + result.signal or result.exit
end

local function show_intervals(monitor)
  for line in monitor:lines(format, { separator = separator }) do
    if not opt.no_report then write(line) end
    note(monitor:remarks())
  end
end

local function stream()
  local formats = table.concat(pmc.formats "monitor", ", ")
  if not (formats .. ","):find(format .. ",", 1, true) then
    fail(("-I has the formats %s, not %s"):format(formats, format))
  end
  if opt["repeat"] > 1 or opt.warmup > 0 or opt.marks or opt.store or limits then
    fail("-I goes with neither -r, --warmup, --marks, --store nor --limit")
  end
  local started, monitor = pcall(pmc.monitor, { target = target, command = pmc.targets.command(opt.command),
    events = #opt.event > 0 and opt.event or nil, metrics = #opt.metric > 0 and opt.metric or nil,
    interval = milliseconds(opt.interval, "-I"), delay = opt.delay and milliseconds(opt.delay, "-D"),
    duration = timeout, pin = opt.pin, inherit = not opt.no_inherit })
  if not started then fail(monitor) end
  note(monitor:remarks())
  local shown, why = pcall(show_intervals, monitor)
  if not shown then
    monitor:close()
    fail(why)
  end
  note(monitor:remarks())
  os.exit(monitor.signal and 128 + monitor.signal or monitor.result and status_of(monitor.result) or 0, true)
end

if opt.interval then stream() end

-- ---- running ----

local first_failure, signal, refused, lost

local function watch(record)
  -- A run that Valgrind refuses loses simulated counts alone.
  if record.simulated and record.outcome == "not-counted" then
    lost = lost or record.why
    return
  end
  if record.outcome == "not-started" or record.outcome == "not-counted" then
    refused = record
    error(record.why, 0)               -- no more of them
  end
  if record.outcome == "quit" and not first_failure then
    first_failure = STATUS.failed
    pmc.say("a run was lost: " .. (record.why or "the runner ended"))
  end
  local status = status_of { signal = record.signal, exit = record.exit or 0 }
  if status ~= 0 then first_failure = first_failure or status end
end

-- Without a command: waits for the target's end, the time limit or a signal.
local function wait()
  signal = select(2, target:wait(timeout))
end

local delay = opt.delay and milliseconds(opt.delay, "-D")
if delay and not has_command then
  signal = select(2, target:wait(delay))
  if signal then os.exit(128 + signal, true) end
  delay = nil
end

local metrics = { unpack(opt.metric) }
if opt.marks and not opt.entries then metrics[#metrics + 1] = "entries = iterations" end

-- The baseline of a command is the one of its name.
local function named(command)
  command.name = opt.name or command.name
  return command
end

local function measure()
  local spec = {
    name = "stat",
    events = #opt.event > 0 and opt.event or nil, metrics = metrics,
    repetitions = opt["repeat"], warmup = has_command and opt.warmup or 0, pin = opt.pin,
    timeout = has_command and timeout or nil, target = target, delay = delay,
    inherit = not opt.no_inherit,
    regions = opt.marks and { "marks", entries = opt.entries, by = marks_by } or nil,
    simulate = opt.simulate or nil, simulation = #opt.simulation > 0 and opt.simulation or nil,
    on_failure = has_command and "keep" or "stop", gate = limits, notes = #opt.note > 0 and opt.note or nil,
  }
  local run = { store = opt.store or false, quiet = true, each = watch, gate_with = limits and gate_with }
  if not has_command then
    spec.workloads = { [target.name] = wait }
    return pmc.experiment(spec):run(run)
  end
  for key, value in pairs(run) do spec[key] = value end
  spec.factors = launch and launch.factors
  return pmc.measure(named(pmc.targets.command(opt.command, launch and launch.words)), spec)
end

local measured, result = pcall(measure)
if refused then
  pmc.fail(refused.why, refused.outcome == "not-started" and STATUS.not_executable or STATUS.failed)
end
if not measured then fail(result) end
if lost and #result.header.pass_events == 1 then fail(lost) end

-- ---- reporting ----

local function report()
  local to_file = opt.output and opt.output ~= "-"
  write(result:report { format = format, separator = separator,
    stream = not opt.output and 2 or not to_file and 1 or nil })
end

if not opt.no_report then report() end
-- Other formats have the remarks in the report.
if format == "csv" or format == "hyperfine" or format == "benchmark" then note(result.remarks) end
if result.problem then fail(result.problem) end
signal = signal or result.signal

-- ---- limits ----

-- The exit status of the limits.
local function check_limits()
  local gate = result:gate(gate_with)
  if not opt.no_report then pmc.output(2)(tostring(gate) .. "\n") end
  if opt.gate_output then gate:write(opt.gate_output) end
  return gate:status(opt.strict)
end

local gated = limits and checked(pcall(check_limits)) or 0
os.exit(first_failure or signal and 128 + signal or gated)      -- nothing is left to be closed
