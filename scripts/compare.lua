#!/usr/bin/env pmclua
-- Which of these commands costs less, and is the difference real?
-- for: compare
--
-- method: runs the commands interleaved, in randomised blocks, so that drift affects all of them alike.
--   Each command is compared with the first: the ratio within a block, its interval, and a verdict against
--   a margin. If stored results are given instead of commands, they are compared, with the first as
--   baseline.
-- usage: pmclua compare [OPTIONS] 'COMMAND A' 'COMMAND B' ...
--        pmclua compare [OPTIONS] A.jsonl B.jsonl ... (or folders of jobs)
-- example:
--   pmclua compare --repetitions 10 true 'ls /'
--   ls / against true (baseline) · 10 pairs, interleaved, seed 154031692
--   event                 true      ls /  ratio  95 % interval  margin  verdict
--   duration_time *   442.2 µs  832.0 µs  1.891  1.69 … 2.07      ±1 %  SLOWER
--   task-clock        346.4 µs  703.5 µs  2.065  1.37 … 2.85      ±1 %  slower
--   context-switches         0         0     ±0  =                ±1 %  same
--   cpu-migrations           0         0     ±0  =                ±1 %  same
--   page-faults             49       102  2.092  2.02 … 2.17      ±1 %  more
--   cycles                   –         –      –  <not supported>: this virtual …
--   instructions             –         –      –  <not supported>: this virtual …
--   branches                 –         –      –  <not supported>: this virtual …
--   branch-misses            –         –      –  <not supported>: this virtual …
--   * primary; the others corrected for 4 comparisons
-- reading: `same`: the difference is within the margin. `undecided`: more repetitions or a quieter
--   machine are needed. The intervals of all but the primary event (marked *) are corrected. --limit
--   'task_clock <= +3%' exits 3 if a command (or file) exceeds the first by more, and 77 if that cannot be
--   decided for want of counts, as `pmclua gate` does. Without a limit it exits 77 where what was counted of
--   the primary event is not enough to conclude from.
-- caveats: commands are split into words without a shell; --shell runs them with /bin/sh. Comparing a
--   command with itself shows how much chance alone makes them differ. Output goes to /dev/null, for which
--   some programs do less work (GNU grep stops at the first match): --shell 'grep x FILE | cat' makes it
--   write everything.

local pmc = require "pmclua"

local opt = pmc.options {
  { "events", short = "e", many = true, value = "LIST", help = "events to count, in perf's syntax" },
  { "metrics", short = "M", many = true, value = "FORMULA", help = "metrics to compute, such as ipc" },
  "vendor",
  { "repetitions", type = "integer", short = "r", value = "N", help = "number of pairs (default 30)" },
  { "warmup", type = "integer", value = "N", help = "warm-up runs, discarded (default 2)" },
  { "margin", value = "SHARE", help = "differences within this are the same (default 1%)" },
  { "primary", value = "EVENT", help = "the event that decides (default: the first)" },
  { "until", value = "WIDTH", help = "repeat until the ratio's interval is this narrow, e.g. 0.5%" },
  { "control", false, help = "measure the first command twice (A/A): shows the noise floor" },
  { "layout", value = "HOW", choices = { "fixed", "randomise" }, help = "memory layout of the programs" },
  { "against-dir", value = "DIR", help = "compare one command in this folder with the same one here" },
  { "build", value = "CMD", help = "builds all of them for a layout, {seed}; by /bin/sh" },
  "layouts", "seed", "simulate", "simulation", "timeout", "ignore-failure", "shell", "pin",
  { "launch", value = "WORDS", help = "start them so, as 'srun -n 4': each rank is counted" },
  "ranks", "store", "note",
  { "limit", short = "l", many = true, value = "LIMIT",
    help = "e.g. 'task_clock <= +3%'; exit 3 if it is exceeded" },
  "strict", "any-host", "any-cpu",
  { "any-arguments", false, help = "limits: accept files of workloads that were given other arguments" },
  "run-spread",
  { "why", false, help = "limits: look for the cause of what fails or is undecided" },
  "budget", "gate-output",
  { "format", "table", choices = pmc.formats(), value = "F", help = "report format" },
  "quiet",
  { "workloads", argument = true, many = true, value = "COMMAND",
    help = "commands to compare, or stored results" },
  experiment = false,
}

local STATUS = { usage = 2, limit = 3, uncountable = 77 }

-- Whether a command was not quoted, so that each of its words was taken for a command.
local function is_unquoted(problem)
  local is_missing = type(problem) == "table" and (problem.code == "ENOENT" or problem.code == "ESEVERAL")
  if not is_missing or #opt.workloads < 3 then return false end
  for _, word in ipairs(opt.workloads) do
    if word:find "%s" then return false end
  end
  return true
end

-- A problem of a command, in terms of this command line.
local function in_our_words(problem)
  if is_unquoted(problem) then
    problem.message = problem.message .. "\nquote a command with its arguments: 'ls -l'"
  elseif type(problem) == "table" and problem.message then
    problem.message = problem.message:gsub("say shell = true, or give a list of words",
      "--shell has /bin/sh run it")
  end
  return problem
end

local function usage(why)
  pmc.fail(why .. "; usage: pmclua compare 'COMMAND A' 'COMMAND B' ...", STATUS.usage)
end

if opt.against_dir then
  if #opt.workloads ~= 1 then usage "--against-dir takes one command" end
elseif #opt.workloads < 2 then usage "it takes at least two commands, or files" end

-- How a file begins; a pipe can be read only once and is left alone.
local function beginning(word)
  local file = io.open(word)
  if not file then return nil end
  local begins = file:seek() and file:read(20) or not file:seek() and "a pipe"
  file:close()
  return begins
end

local function is_job(word)
  local file = io.open(word .. "/job.json")
  if file then file:close() end
  return file ~= nil
end

-- A job's folder; a stored result, by how it begins, compressed or not, or by its name: one that is not there
-- is no command.
local function is_file(word)
  if is_job(word) or word == "-" then return true end
  if word:find "^%S+%.jsonl$" or word:find "^%S+%.jsonl%.gz$" then return true end
  local begins = beginning(word)
  return begins == "a pipe" or begins and (begins == '{"kind":"experiment"' or begins:sub(1, 2) == "\31\139")
end

-- Options of measuring, which files do not take.
local MEASURING = { "events", "repetitions", "warmup", "margin", "until", "control", "layout", "build",
  "against-dir", "seed", "simulate", "simulation", "timeout", "ignore-failure", "shell", "pin", "launch",
  "ranks", "store", "note" }

local function refuse_measuring()
  for _, name in ipairs(MEASURING) do
    local value = opt[(name:gsub("-", "_"))]
    local is_given = type(value) == "table" and #value > 0 or value and type(value) ~= "table"
    if is_given then usage("--" .. name .. " is for commands: files are compared as they were measured") end
  end
end

local over                      -- "host": where files are of several hosts
local OVER_NODES = { table = true, markdown = true, html = true, latex = true }

-- The files, told apart by host, too, where they share several.
local function load_files()
  local result = pmc.load(unpack(opt.workloads))
  local header, paths = result.header, { by = "file", over = "host", unpack(opt.workloads) }
  local is_plain = not OVER_NODES[opt.format] or not header.sources or #header.sources <= #opt.workloads
  local by_host = not is_plain and pmc.load(paths)
  local hosts = by_host and by_host.header.factors[#by_host.header.factors]
  if not hosts or hosts[1] ~= "host" or #hosts[2] < 2 then return result end
  over = "host"
  return by_host
end

local function compare_files()
  refuse_measuring()
  local result = load_files():with { metrics = #opt.metrics > 0 and opt.metrics or nil,
    primary = opt.primary }
  -- The factor that tells the files apart is the last: file, or rank.
  local factors = result.header.factors
  local factor = factors[#factors - (over and 1 or 0)]
  result = result:with { baseline = { [factor[1]] = factor[2][1] } }
  local is_compared = {}
  for _, pair in ipairs(result:compare().pairs) do is_compared[pair.cell.levels[factor[1]]] = true end
  for i = 2, #factor[2] do
    local level = factor[2][i]
    if not is_compared[level] then
      pmc.say(("no workload of '%s' is in the baseline, by name and levels"):format(level))
    end
  end
  return result
end

local files = 0
local experiment                -- of commands
local limits = #opt.limit > 0 and opt.limit or nil

-- How layouts of the code are drawn.
local function layout()
  if not opt.build then return opt.layout end
  return { build = opt.build, folders = { opt.against_dir or ".", opt.against_dir and "." },
    shuffle = opt.layouts == "shuffle" }
end

local function compare_commands()
  local workloads, times, launch = {}, {}, pmc.targets.launch(opt) or {}
  for i, word in ipairs(opt.workloads) do
    -- A command against itself shows how much differs by chance alone.
    times[word] = (times[word] or 0) + 1
    local name = times[word] == 1 and word or ("%s (%d)"):format(word, times[word])
    workloads[i] = pmc.command { word, shell = opt.shell, name = name,
      launch = launch.words }
  end
  if opt.against_dir then
    local word = opt.workloads[1]
    table.insert(workloads, 1, pmc.command { word, shell = opt.shell, cwd = opt.against_dir,
      launch = launch.words, name = ("%s in %s"):format(word, opt.against_dir) })
  end
  experiment = pmc.experiment { name = "compare", workloads = workloads, baseline = workloads[1].name,
    events = #opt.events > 0 and opt.events or nil, metrics = opt.metrics,
    repetitions = opt.repetitions or 30, warmup = opt.warmup or 2, margin = opt.margin,
    factors = launch.factors, primary = opt.primary, control = opt.control or nil, layout = layout(),
    seed = opt.seed,
    timeout = opt.timeout, pin = opt.pin, on_failure = opt.ignore_failure and "keep" or "stop",
    notes = #opt.note > 0 and opt.note or nil,
    simulate = opt.simulate or nil, simulation = #opt.simulation > 0 and opt.simulation or nil,
    gate = limits, against = limits and workloads[1].name,
    stop = opt["until"] and { interval = opt["until"], repetitions = 1000 },
  }
  return experiment:run { store = opt.store or false, quiet = opt.quiet }
end

-- The gates of the limits: of commands within their blocks, of each file against the first.
local function check_limits(result)
  if not limits then return {} end
  if files == 0 then
    return { experiment:gate(result, { why = opt.why, budget = opt.budget, quiet = opt.quiet }) }
  end
  local gates = {}
  for i = 2, #opt.workloads do
    gates[i - 1] = pmc.load(opt.workloads[i]):gate { limits = limits, baseline = opt.workloads[1],
      any_host = opt.any_host, any_cpu = opt.any_cpu, any_arguments = opt.any_arguments,
      run_spread = opt.run_spread }
  end
  return gates
end

-- Prints the gates: the gravest exit status.
local function conclude(gates)
  local status = 0
  for _, gate in ipairs(gates) do
    if gate.state ~= "pass" or not opt.quiet then pmc.output(2)(tostring(gate) .. "\n") end
    if opt.gate_output then gate:write(opt.gate_output) end
    local own = gate:status(opt.strict)
    if own == STATUS.limit or status == 0 then status = own end
  end
  return status
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

-- Whether too little was counted for the primary quantity; without one, for any.
local function is_incomplete(result)
  local compared = result:compare()
  for _, pair in ipairs(compared.pairs) do
    for _, row in ipairs(pair.rows) do
      if row.is_incomplete and (row.primary or not compared.primary) then return true end
    end
  end
  return false
end

for _, word in ipairs(opt.workloads) do files = files + (is_file(word) and 1 or 0) end
if opt.gate_output and (not limits or files > 2) then
  usage "--gate-output goes with --limit, and with no more than two files"
end
if (opt.why or opt.budget) and (not limits or files > 0) then
  usage "--why goes with --limit, and with commands"
end
if opt.budget and not opt.why then usage "--budget goes with --why" end
if opt.build and opt.layout then usage "--build draws layouts itself: leave out --layout" end
if opt.layouts and not opt.build then usage "--layouts goes with --build" end
for _, word in ipairs(limits and opt.workloads or {}) do
  if word == "-" then usage "--limit reads files twice; `pmclua gate` takes -" end
end
if files > 0 and files < #opt.workloads then usage "commands and files cannot be compared with each other" end

local ok, result = pcall(files > 0 and compare_files or compare_commands)
if not ok then pmc.fail(in_our_words(result)) end
if result.problem and result.problem.code == "EWORKLOAD" and result.problem.hint then
  result.problem.hint = "--ignore-failure counts such runs; run it alone to see what it says"
end
local checked, gates = pcall(check_limits, result)
if opt.store ~= "-" then pmc.output()(result:report { format = opt.format, stream = 1, over = over }) end
if result.signal then os.exit(128 + result.signal, true) end
if result.problem then pmc.fail(result.problem) end
if not checked then pmc.fail(gates) end
local status = conclude(gates)
local is_enough = status ~= 0 or is_counted(result) and not is_incomplete(result)
os.exit(is_enough and status or STATUS.uncountable, true)
