#!/usr/bin/env pmclua
-- What does a command cost? perf stat's habits, with honest numbers.
--
-- method: the command is held until its counters are attached, then counted from exec to its end with all
--   its threads and children. Its input and output are untouched; the report goes to standard error.
-- usage: pmclua stat [-e LIST] [-r N] [-o FILE] -- COMMAND [ARGS]
-- example:
--   pmclua stat -e page-faults,task-clock -- true
-- reading: with -r the median of the runs and its 95 % interval; `exact` means that every run gave the
--   same. What could not be counted is absent, with the reason, and never 0.
-- caveats: exits as the command did (128 + n for signal n; with -r the first failing run decides);
--   125 when pmclua itself failed, 126 when the command cannot be executed, 127 when there is none.

local pmc = require "pmclua"

local opt = pmc.options {
  { "event", short = "e", many = true, value = "LIST", help = "what to count, as perf spells it (several -e add up)" },
  { "repeat", 1, type = "integer", short = "r", value = "N", help = "run the command N times" },
  { "warmup", 0, type = "integer", value = "N", help = "runs before these that are not counted in" },
  { "metric", short = "M", many = true, value = "NAME", help = "formulae such as ipc (see pmclua events --metrics)" },
  { "timeout", value = "T", help = "kill a run after this long, as 500ms" },
  { "pin", value = "CPUS", help = "run on these CPUs, as 0,2-3" },
  { "format", "table", value = "F", help = "table, json, csv, markdown" },
  { "json", false, short = "j", help = "the same as --format json" },
  { "output", short = "o", value = "FILE", help = "write the report there (- is standard output)" },
  { "append", false, help = "add to FILE instead of replacing it" },
  { "no-report", false, help = "run and exit as the command does; print nothing" },
  { "command", rest = true },
}

local STATUS = { failed = 125, not_executable = 126, not_found = 127 }

local function fail(status, message)
  io.stderr:write("pmclua stat: ", tostring(message), "\n")
  os.exit(status, true)
end

if #opt.command == 0 then
  io.stderr:write "pmclua stat: which command? usage: pmclua stat [-e LIST] [-r N] -- COMMAND [ARGS]\n"
  os.exit(STATUS.failed, true)
end

-- ---- running ----

local first_failure

local function watch(record)
  if record.signal then first_failure = first_failure or 128 + record.signal
  elseif record.exit and record.exit > 0 then first_failure = first_failure or record.exit end
end

local words = { unpack(opt.command) }
words.stdin, words.stdout, words.foreground = "inherit", "inherit", true

local ok, result = pcall(pmc.measure, pmc.command(words), {
  name = "stat", events = #opt.event > 0 and opt.event or nil, metrics = opt.metric,
  repetitions = opt["repeat"], warmup = opt.warmup, timeout = opt.timeout, pin = opt.pin,
  on_failure = "keep", quiet = true, each = watch,
})
if not ok then
  local code = type(result) == "table" and result.operation == "execute" and result.code
  fail(code == "ENOENT" and STATUS.not_found or code == "EACCES" and STATUS.not_executable
    or code == "ENOEXEC" and STATUS.not_executable or STATUS.failed, result)
end

-- ---- reporting ----

local function report()
  local to_file = opt.output and opt.output ~= "-"
  local text = result:report { format = opt.json and "json" or opt.format,
    stream = not opt.output and 2 or opt.output == "-" and 1 or nil }
  if not to_file then
    (opt.output and io.stdout or io.stderr):write(text)
    return
  end
  local file, why = io.open(opt.output, opt.append and "a" or "w")
  if not file or not file:write(text) or not file:close() then fail(STATUS.failed, "cannot write the report: " .. tostring(why)) end
end

if not opt.no_report then report() end
if result.problem then fail(STATUS.failed, result.problem) end
os.exit(first_failure or 0, true)
