#!/usr/bin/env pmclua
-- What happens, second by second, to a command, process or CPU?
-- for: count
--
-- method: reads the counters at multiples of the interval, on one clock, so that a late line does not
--   move the next. Each line is the difference between two readings. Events that do not fit on the PMU
--   together take turns; their numbers are marked ~.
-- usage: pmclua monitor [-I MS] [-e LIST] [-M NAME] [-- COMMAND [ARGS]]
--        pmclua monitor [-I MS] [-e LIST] -p PID | -t TID | -C CPUS | -G NAME
-- example:
--   pmclua monitor -I 100 -e page-faults,context-switches -- sleep 0.3
--         time   page-faults  context-switches
--      0.100 s            76                 1
--      0.200 s             –                 –
--      0.300 s             –                 –
--      0.303 s             0                 0  (0.003 s)
-- reading: the time is the end of the interval, counted from the start. `–`: the target did not run in
--   this interval, others held the counters, or an event read only 0 that the PMU may lack; --format json says
--   which. `(2 missed)`: two lines could not be written in time; this one includes their counts. The last line
--   may cover a shorter interval.
-- caveats: without a target everything is counted, which takes root or CAP_PERFMON. With a command the
--   lines go to standard error, or to -o FILE, and pmclua exits as the command did.

local pmc = require "pmclua"

local STATUS = { failed = 125 }

local opt = pmc.options(pmc.targets.options {
  { "interval", "1000", short = "I", value = "MS", help = "milliseconds, or a time with a unit, e.g. 2s" },
  { "event", short = "e", many = true, value = "LIST", help = "events to count, in perf's syntax" },
  { "metric", short = "M", many = true, value = "NAME",
    help = "metrics to compute, or groups of them: ipc, BRANCH" },
  "vendor",
  { "duration", value = "T", help = "stop after this long, e.g. 10s" },
  { "count", type = "integer", value = "N", help = "stop after N lines" },
  { "delay", short = "D", value = "MS", help = "start counting this long after the start" },
  { "rates", false, short = "r", help = "show counts per second" },
  { "format", "table", choices = pmc.formats "monitor", value = "F", help = "line format" },
  { "separator", short = "x", value = "SEP", help = "CSV with this field separator" },
  { "json", false, short = "j", help = "the same as --format json" },
  { "output", short = "o", value = "FILE", help = "write to FILE (- is standard output)" },
  { "append", false, help = "append to FILE instead of replacing it" },
  { "quiet", false, short = "q", help = "print no notes" },
  { "command", rest = true, help = "command to run, and its arguments" },
  experiment = false,
})

local has_command = #opt.command > 0

local function fail(problem) pmc.fail(problem, has_command and "command" or nil) end

local function start()
  return pmc.monitor {
    target = pmc.targets.from(opt), command = pmc.targets.command(opt.command),
    events = #opt.event > 0 and opt.event or nil, metrics = #opt.metric > 0 and opt.metric or nil,
    interval = pmc.targets.seconds(opt.interval, "-I"), duration = opt.duration, count = opt.count,
    delay = opt.delay and pmc.targets.seconds(opt.delay, "-D"),
  }
end

local format = opt.json and "json" or opt.format
if opt.separator and format == "table" then format = "csv" end
local function refuse(why) fail { misuse = true, message = why } end
if opt.separator == "" then refuse "-x takes what is to stand between fields" end
if opt.separator and format ~= "csv" then refuse("-x is for CSV, and --format says " .. format) end
local is_open, put = pcall(pmc.output, opt.output or has_command and 2 or 1, opt.append and "a" or "w", true)
if not is_open then fail(put) end
local ok, monitor = pcall(start)
if not ok then fail(monitor) end

local function note_all()
  for _, remark in ipairs(opt.quiet and {} or monitor:remarks()) do pmc.say(remark) end
end

note_all()
local ran, why = pcall(function()
  local options = { separator = opt.separator, rates = opt.rates, repeat_header = not opt.output }
  for line in monitor:lines(format, options) do
    put(line)
    note_all()
  end
end)
if not ran then
  monitor:close()
  fail(why)
end
note_all()

if monitor.signal then os.exit(128 + monitor.signal, true) end
local result = monitor.result
if result and (result.lost or result.outcome == "not-started") then os.exit(STATUS.failed, true) end
if result then os.exit(result.signal > 0 and 128 + result.signal or result.exit, true) end
