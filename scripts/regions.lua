#!/usr/bin/env pmclua
-- What do the calls of a function cost, in an unmodified program?
-- for: count
--
-- method: probes at the function's entry and at each of its return instructions record a sample of all
--   counts; their difference is the cost of that very call. Threads, children and migrations between CPUs
--   are followed (Linux 6.12 and later). The command's input and output are untouched; the report goes to
--   standard error.
-- usage: pmclua regions [-e LIST] -f NAME... -- COMMAND [ARGS]
--        pmclua regions [-e LIST] -f NAME... -p PID [--duration T] [--duty P%]
-- example:
--   pmclua regions -e page-faults -f libc.so.6:setlocale -- sort /dev/null
--   setlocale · 3 calls
--   event           total  of run  per call   median      99 %       max
--   duration     263.8 µs   3.2 %  87.93 µs  1.86 µs  255.0 µs  260.1 µs
--   cpu time     261.8 µs    24 %  87.27 µs  1.83 µs  253.1 µs  258.2 µs
--   page-faults        23    29 %      7.67        0     22.54        23
--
--   ...
-- reading: `total`: all calls, including what they called. `of run`: its share of the whole command. `per
--   call`: the mean. Quartiles, 99 % and max are of single calls. If several functions are named, `itself`
--   excludes calls to the others. Calls without numbers are listed below the table.
-- caveats: needs root, and symbols (a name in the program or its debug file; 'lib.so:NAME' for a
--   library). A probe adds microseconds to a call, as the report says: functions of a few instructions are
--   dominated by that. `of run` is relative to the run without it; --subtract subtracts it from the other
--   numbers too, and drops those that are within its uncertainty. Exits as the command did; 125 if pmclua
--   itself failed, 126 if the command cannot be executed, 127 if there is no such command.

local pmc = require "pmclua"

local function fail(problem) pmc.fail(problem, "command") end

-- pmclua's own failures have a status of their own: a command may well exit with 1 or 2.
local function read_options(declaration)
  local ok, opt = pcall(pmc.options, declaration)
  return ok and opt or fail(opt)
end

local opt = read_options {
  { "event", short = "e", many = true, value = "LIST", help = "events to count, in perf's syntax" },
  "vendor",
  { "function", short = "f", many = true, value = "NAME",
    help = "functions to follow: NAME, 'ns::parse', 'lib.so:parse*'" },
  { "from", many = true, value = "POINT",
    help = "start of a region: a tracepoint, function, f+0x10, f%return or 0xADDRESS" },
  { "to", many = true, value = "POINT", help = "end of that region (one for each --from)" },
  { "pid", short = "p", type = "integer", value = "PID",
    help = "follow a running process until it ends, Ctrl-C or --duration" },
  { "duration", value = "T", help = "with -p: follow it for this long, e.g. 10s" },
  { "duty", value = "P%", help = "with -p: switch probes on and off so that the process loses at most P %" },
  { "subtract", false, help = "subtract the cost of probing from the calls' numbers" },
  { "return-probes", false, help = "find returns with return probes (aborts C++ programs that throw)" },
  { "one-thread", false, help = "follow the first thread only" },
  { "keep", 100000, type = "integer", value = "N", help = "number of single calls to keep" },
  { "calls", value = "FILE", help = "write the kept calls to FILE as CSV" },
  { "histogram", value = "EVENT", help = "show a histogram of the calls' EVENT (or duration)" },
  { "timeout", value = "T", help = "kill the command after this long, e.g. 10s" },
  "pin",
  { "format", "table", choices = pmc.formats(), by = "output", value = "F", help = "report format" },
  { "json", false, short = "j", help = "the same as --format json" },
  "output",
  { "store", value = "FILE", help = "store the result in FILE, for report, plot, compare and gate" },
  { "command", rest = true, help = "command to run, and its arguments" },
  experiment = false,
}

-- ---- what is asked for ----

if #opt.command == 0 and not opt.pid then
  fail("which command? usage: pmclua regions --function NAME -- COMMAND [ARGS], or -p PID")
end
if opt.store == "-" then fail("--store takes a file: standard output is the command's") end
if #opt.command > 0 and opt.pid then fail("a command or -p PID, not both") end
if not opt.pid and (opt.duration or opt.duty) then fail "--duration and --duty go with -p PID" end
if #opt.from ~= #opt.to then fail("each --from has its --to") end
if #opt["function"] + #opt.from == 0 then fail("which function? --function NAME") end

local asked = { keep = opt.keep, threads = opt.one_thread and "one" or nil,
  returns = opt.return_probes and "probe" or nil }
for _, name in ipairs(opt["function"]) do table.insert(asked, name) end
for i, from in ipairs(opt.from) do table.insert(asked, { from = from, to = opt.to[i] }) end

-- ---- running ----

local ok, result = pcall(function()
  pmc.outputs { report = opt.output }
  pmc.outputs { report = opt.calls }
  return pmc.regions(opt.pid and pmc.pid(opt.pid) or pmc.targets.command(opt.command), {
    regions = asked, events = #opt.event > 0 and opt.event or nil, timeout = opt.timeout, pin = opt.pin,
    duration = opt.duration, duty = opt.duty, subtract = opt.subtract, store = opt.store,
  })
end)
if not ok then fail(result) end

-- ---- reporting ----

local function write(text, to)
  local written, why = pcall(function() pmc.output(to)(text) end)
  if not written then fail(why) end
end

local function report(histogram)
  return result:report { format = opt.json and "json" or opt.format, histogram = histogram,
    stream = not opt.output and 2 or opt.output == "-" and 1 or nil }
end

local is_shown, text = pcall(report, opt.histogram)
local wrong_histogram = not is_shown and text
if wrong_histogram then text = report() end
write(text, opt.output or 2)
local calls = result:calls()
if opt.calls then write(calls:calls_csv(), opt.calls) end
if wrong_histogram then fail(wrong_histogram) end
if result.problem then fail(result.problem) end
if opt.pid and calls.interrupted then os.exit(128 + calls.interrupted, true) end
local has_none, status = true, calls.signal ~= 0 and 128 + calls.signal or calls.exit
for _, region in ipairs(calls) do has_none = has_none and region.unseen ~= nil end
os.exit(status == 0 and has_none and 125 or status, true)
