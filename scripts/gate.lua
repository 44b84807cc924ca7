#!/usr/bin/env pmclua
-- Does a change cost more than it may? For continuous integration.
-- for: gate
--
-- method: checks each limit in each cell of the new result (the last file). `instructions <= +1%` is
--   relative to the same cell of the baseline: it fails if the whole interval of the ratio is above the
--   limit, holds if the whole interval is below, and is undecided in between. `page_faults <= 5000` is
--   about the median. With several baseline files, or a merged one, the interval includes the differences
--   between runs. --history DIR takes as baseline a folder's results since their last step, in the order of
--   commits: older ones would pool what was with what is. --against OLD -- NEW runs both commands,
--   interleaved in blocks, so that drift affects both: use it to gate times. Of simulated counts two equal
--   ones are enough; of others as many runs are made as decide, up to 30. Without --limit, the limits that
--   the experiment declared are checked.
--   A limit of times that fails is measured once more, and fails only if that fails, too. --why looks for the
--   function, the line and the caller behind what fails or is undecided: it runs both programs, also those of
--   stored results, where they still are what was counted; --old-program names a copy of the baseline's.
--   --build 'make SEED={seed}' builds both sides anew for each layout of their code, so that a limit holds for
--   many layouts and not for one; with --layouts shuffle a build without {seed} runs once, and lld links again
--   what it had linked, with functions in another order.
--   Where NEW is a copy of OLD's program, to the byte that is loaded, nothing is run: this is said at once.
-- usage: pmclua gate [BASELINE.jsonl]... NEW.jsonl [--limit LIMIT]...
--        pmclua gate --history DIR NEW.jsonl --limit LIMIT...
--        pmclua gate --against 'OLD COMMAND' --limit LIMIT... -- NEW COMMAND
--        pmclua gate --against-dir OLD/ [--build 'make SEED={seed}'] --limit LIMIT... -- COMMAND
-- example:
--   pmclua pages --store before.jsonl
--   pmclua pages --store after.jsonl
--   pmclua gate before.jsonl after.jsonl --limit 'page_faults <= +1%'
--   gate: all 3 limits hold
-- reading: exits 0 if no limit fails; 3 if one fails (with --strict, also if one is undecided); 77 if one
--   could not be checked and none fails: what was not counted, or is missing, never passes; 2 if a limit
--   makes no sense. --strict: 77 where nothing was run, as both sides are the same program. --bisect: as
--   `git bisect run` takes it, 0 good, 1 bad, 125 where that cannot be told (it goes on), 128 for a command
--   line or a limit that makes no sense (it stops).
-- caveats: a baseline from another CPU, microcode or Linux version is refused (exit 1) unless --any-host
--   or --any-cpu is given; host names do not matter. One of another architecture, or whose program was
--   given other arguments, cannot be checked against (77). A single stored run cannot show how runs
--   differ: times are then assumed to differ by 15 % (--run-spread). Prefer instructions to times, and
--   --against to stored times.

local pmc = require "pmclua"

-- Statuses for `git bisect run`: an undecided commit is skipped; a mistake on the command line ends the search.
local BISECT = { pass = 0, fail = 1, cannot_tell = 125, usage = 128 }

-- Whether --bisect is given; read by hand, so that it holds for mistakes in other options, too.
local function is_bisecting()
  for _, word in ipairs(arg) do
    if word == "--bisect" or word == "--" then return word == "--bisect" end
  end
  return false
end

local is_bisect = is_bisecting()

local function fail(problem, status)
  local facts = type(problem) == "table" and problem or { status = status, message = problem }
  if not is_bisect or facts.quiet then pmc.fail(problem, status) end
  local is_mistake = facts.misuse or facts.status == 2
  pmc.fail(is_mistake and facts.message or tostring(problem),
    is_mistake and BISECT.usage or BISECT.cannot_tell)
end

local is_read, opt = pcall(pmc.options, {
  { "limit", short = "l", many = true, value = "LIMIT", help = "a limit, e.g. 'instructions <= +1%'" },
  "strict",
  { "history", value = "DIR", help = "the baseline: this folder's results since the last step" },
  { "against", value = "COMMAND", help = "run this and the command after --, interleaved, and compare" },
  { "against-dir", value = "DIR", help = "the same with the command after -- in this folder as the old one" },
  { "build", value = "CMD", help = "builds both sides anew for each layout, {seed}; by /bin/sh" },
  "layouts",
  { "any-host", false, help = "accept a baseline from another microcode or Linux version" },
  { "any-cpu", false, help = "accept a baseline from another CPU or architecture" },
  { "any-arguments", false, help = "accept a baseline whose program was given other arguments" },
  { "run-spread", value = "SHARE", help = "spread between runs if there is one baseline (times: 15%)" },
  { "repetitions", 30, type = "integer", short = "r", value = "N", help = "with --against: number of pairs" },
  { "warmup", 2, type = "integer", value = "N", help = "with --against: warm-up runs, discarded" },
  { "timeout", value = "T", help = "with --against: time limit of one run" },
  { "pin", value = "CPUS", help = "with --against: run on these CPUs: 0,2-3, cores, scatter:4, S0:0-3" },
  { "ignore-failure", false, short = "i",
    help = "with --against: keep runs that exit with a nonzero status" },
  { "shell", false, help = "with --against: run the commands with /bin/sh" },
  { "simulate", false,
    help = "with --against: let Valgrind count, simulated, what cannot be opened here" },
  { "simulation", many = true, value = "NAME=V",
    help = "with --against: what surrounds simulated runs, e.g. random=fixed" },
  { "why", false, help = "look for the cause of what fails or is undecided: function, line, caller" },
  { "budget", value = "T", help = "time that --why may take, e.g. 5min (default 2min)" },
  { "old-program", value = "FILE", help = "with --why: the program of the stored baseline" },
  { "store", value = "FILE", help = "with --against: store every repetition in this file" },
  { "note", many = true, value = "NAME=TEXT", help = "with --against: a note to store, e.g. commit=1a2b3c" },
  { "format", choices = pmc.formats "gate", value = "F", help = "output format" },
  { "output", short = "o", value = "FILE", help = "write to FILE; its extension may select the format" },
  { "bisect", false, help = "exit as git bisect run takes it: 0 good, 1 bad, 125 cannot be told" },
  { "quiet", false, short = "q", help = "print nothing if all limits hold" },
  { "words", argument = true, many = true, value = "FILE", help = "stored results, or the new command" },
  experiment = false,
})
if not is_read and is_bisect then fail(opt) end
if not is_read then error(opt, 0) end

local limits = #opt.limit > 0 and opt.limit or nil

local function usage(why)
  fail(why .. "; usage: pmclua gate BASELINE.jsonl... NEW.jsonl", 2)
end

-- ---- stored results ----

local function check_files()
  for _, name in ipairs { "timeout", "pin", "store", "build", "layouts" } do
    if opt[name] then usage(("--%s goes with --against"):format(name)) end
  end
  if opt.shell or opt.simulate or #opt.simulation > 0 or #opt.note > 0 then
    usage "--shell, --simulate, --simulation and --note go with --against"
  end
  if opt.old_program and not opt.why then usage "--old-program goes with --why" end
  local baselines = { unpack(opt.words) }
  local new = table.remove(baselines)
  if opt.history then
    if #baselines > 0 or not limits then usage "--history takes NEW.jsonl alone, and --limit" end
    baselines = pmc.history { files = { opt.history }, except = new }:baseline(limits)
  end
  return pmc.load(new):gate { baseline = #baselines > 0 and baselines or nil, limits = limits,
    any_host = opt.any_host, any_cpu = opt.any_cpu, any_arguments = opt.any_arguments,
    run_spread = opt.run_spread, why = opt.why or nil, budget = opt.budget, old_program = opt.old_program }
end

-- ---- two commands ----

-- One word is a command line; several are its words.
local function command(words, name, folder)
  local spec = { name = name, shell = opt.shell, cwd = folder }
  for i, word in ipairs(words) do spec[i] = word end
  return pmc.command(spec)
end

local function check_commands()
  if not limits then usage "--against takes --limit" end
  if opt.against and opt.against_dir or opt.history then
    usage "--against, --against-dir or --history: give only one"
  end
  if opt.layouts and not opt.build then usage "--layouts goes with --build" end
  if opt.old_program then usage "--old-program goes with stored results" end
  local old = command(opt.against and { opt.against } or opt.words, "old", opt.against_dir)
  local new = command(opt.words, "new")
  local experiment = pmc.experiment { name = "gate", workloads = { old, new },
    events = opt.simulate and {} or "duration_time", gate = limits, against = "old",
    repetitions = opt.repetitions, warmup = opt.warmup, timeout = opt.timeout, pin = opt.pin,
    on_failure = opt.ignore_failure and "keep" or "stop", notes = #opt.note > 0 and opt.note or nil,
    layout = opt.build and { build = opt.build, folders = { opt.against_dir or ".", opt.against_dir and "." },
      shuffle = opt.layouts == "shuffle" } or nil,
    simulate = opt.simulate or nil, simulation = #opt.simulation > 0 and opt.simulation or nil }
  local result = experiment:run { store = opt.store or false, quiet = opt.quiet, unless_same = true }
  if result.problem then
    if result.problem.code == "EWORKLOAD" and result.problem.hint then
      result.problem.hint = "--ignore-failure counts such runs; run it alone to see what it says"
    end
    error(result.problem, 0)
  end
  return experiment:gate(result, { why = opt.why, budget = opt.budget, quiet = opt.quiet })
end

-- ---- what is concluded ----

local function write(gate)
  local is_silent, to_file = opt.quiet and gate.state == "pass", opt.output and opt.output ~= "-"
  if to_file or not is_silent or (opt.format or "text") ~= "text" then gate:write(opt.output, opt.format) end
  if to_file and not is_silent then pmc.output(2)(tostring(gate) .. "\n") end
end

local function check()
  pmc.outputs { report = opt.output }
  if opt.budget and not opt.why then usage "--budget goes with --why" end
  return (opt.against or opt.against_dir) and check_commands() or check_files()
end

local ok, gate = pcall(check)
if not ok then fail(gate) end
local written, why = pcall(write, gate)
if not written then fail(why) end
if gate.result.signal then os.exit(128 + gate.result.signal, true) end
os.exit(opt.bisect and (BISECT[gate.state] or BISECT.cannot_tell) or gate:status(opt.strict), true)
