#!/usr/bin/env pmclua
-- Where do a program's cycles go? The vendor's top-down tree.
-- for: find out why
--
-- method: measures level 1 of the tree, then the children of each node that is over its threshold, in
--   further runs, down to where no node is. Every pass counts cycles and instructions, which shows that the
--   passes did the same work. Several commands are interleaved and compared with the first: the difference
--   in cycles by node, which adds up along the tree.
-- usage: pmclua topdown [-l LEVEL | --below NODE] [-r N] [-f NAME]... -- COMMAND
--        pmclua topdown [OPTIONS] 'COMMAND A' 'COMMAND B' ...
--        pmclua topdown [OPTIONS] -p PID | -t TID | -a | -C CPUS [-- COMMAND [ARGS]]
--        pmclua topdown FILE.jsonl ...
-- example:
--   pmclua topdown -r 8 -- ls
--   ls · top-down · 8 repetitions, 1 warm-up · exec to exit, children in
--   node             share  95 % interval                threshold
--   ...
-- reading: a node's share of the issue slots, the median and its 95 % interval (deep nodes may be shares of
--   cycles: the CPU's table says so). `over`: most repetitions are over the node's threshold, so it pays to
--   look below. A node that this machine cannot count is absent, with the reason. -f and --marks have a tree of
--   each function or mark, beside that of the whole where it is counted, too.
-- caveats: needs a PMU. Commands run many times: once for each pass, repetition and round; their output
--   goes to /dev/null. The tree is that of the vendor's tables; without one there are the four shares of
--   level 1. Exits with 77 if no node can be counted here.

local pmc = require "pmclua"

local USAGE = "usage: pmclua topdown -- COMMAND [ARGS], or pmclua topdown 'COMMAND A' 'COMMAND B'"
local STATUS = { usage = 2, uncountable = 77 }

local opt = pmc.options(pmc.targets.options {
  { "level", type = "integer", short = "l", value = "N", help = "every node down to this level" },
  { "below", value = "NODE", help = "only the children of this node, and below those over their threshold" },
  "vendor",
  { "cores", value = "KIND", help = "of a hybrid CPU: cpu_core (default) or cpu_atom" },
  { "repetitions", type = "integer", short = "r", value = "N",
    help = "runs of each pass (default 10; 30 to compare)" },
  { "warmup", type = "integer", value = "N", help = "warm-up runs, discarded (default 1)" },
  "seed",
  { "kernel", short = "k", many = true, value = "FILE:SYMBOL",
    help = "a kernel, a C function, instead of a command" },
  { "function", short = "f", many = true, value = "NAME",
    help = "a tree of the calls of each of these functions, too: NAME, 'ns::parse', 'lib.so:parse*'" },
  { "marks", false, help = "count between the program's marks (pmclua_mark.h)" },
  { "duration", value = "T", help = "with -p, -a or -C alone: how long each run counts (default 500ms)" },
  "timeout", "pin", "shell", "ignore-failure",
  { "format", "table", choices = pmc.formats "topdown", by = "output", value = "F", help = "report format" },
  "output",
  { "plot", value = "FILE", help = "draw the bars of the tree: .svg, .png, .pdf, .eps or .txt" },
  { "plan", false, help = "show rounds, nodes, passes and how many runs they take, then exit" },
  { "store", value = "FILE", help = "store every repetition in this new file" },
  "quiet",
  { "command", {}, type = "string", argument = true, many = true, value = "COMMAND",
    help = "command to run, and after -- its arguments; or several commands; or stored results" },
  experiment = false,
})

local function usage(why) pmc.fail(why .. "; " .. USAGE, STATUS.usage) end

-- After -- one command and its arguments; otherwise each word is a command, or a stored result.
local function is_one_command()
  for _, word in ipairs(arg) do
    if word == "--" then return true end
  end
  return #opt.command == 1
end

local function kernel(word)
  local source, symbol = word:match "^(.+):([%w_]+)$"
  if not source then usage("--kernel takes FILE.c:FUNCTION, not " .. word) end
  if not source:find "^/" then source = require("lfs").currentdir() .. "/" .. source end
  return pmc.kernel { name = symbol, source = source, symbol = symbol }
end

local function commands()
  local list = {}
  if #opt.command > 0 and is_one_command() and not opt.shell then
    if #opt.command == 1 then return { pmc.command { opt.command[1] } } end
    return { pmc.command(opt.command) }
  end
  for i, word in ipairs(opt.command) do
    list[i] = pmc.command { word, shell = opt.shell, name = word }
  end
  return list
end

local function is_file(word) return word:find "%.jsonl$" ~= nil or word:find "%.jsonl%.gz$" ~= nil end

-- Without a command each repetition counts the target for --duration.
local run_seconds

local function watching(target)
  run_seconds = pmc.targets.seconds(opt.duration or "500ms", "--duration")
  return { [target.name] = function() target:wait(run_seconds) end }
end

local function workloads(target)
  local list = {}
  for i, word in ipairs(opt.kernel) do list[i] = kernel(word) end
  if #list > 0 and #opt.command > 0 then usage "kernels and commands cannot be compared with each other" end
  if #list == 0 then list = commands() end
  if #list == 0 and not target then pmc.fail("which command? " .. USAGE, STATUS.usage) end
  if target and #list > 1 then usage "a target goes with one command at most" end
  return list
end

local function stored()
  if opt.plan then usage "--plan is of commands that are to run, and these are stored results" end
  local result = pmc.load(unpack(opt.command))
  local factor = #opt.command > 1 and result.header.factors[#result.header.factors]
  if factor then result = result:with { baseline = { [factor[1]] = factor[2][1] } } end
  if factor and #result:compare().pairs == 0 then
    pmc.say "no workload is in all files, by name and levels"
  end
  return result:topdown() or pmc.fail "no metric of this result is a node of a top-down tree"
end

-- The parts of the commands that have trees of their own.
local function regions(target)
  local asked = #opt["function"] > 0 and "-f" or opt.marks and "--marks"
  if asked and (target or #opt.kernel > 0) then
    usage(asked .. " is for commands that are started here: a target or kernel has no parts")
  end
  if #opt["function"] == 0 then return opt.marks and { "marks" } or nil end
  if opt.marks then usage "--marks and --function cannot be combined" end
  return opt["function"]
end

local function measure()
  local target = pmc.targets.from(opt)
  local list = workloads(target)
  if opt.duration and not (target and #list == 0) then
    usage "--duration goes with -p, -t, -a, -C or -G without a command"
  end
  if not opt.plan then pmc.outputs { report = opt.output, store = opt.store, plot = opt.plot } end
  local options = { level = opt.level, below = opt.below, cores = opt.cores,
    repetitions = opt.repetitions, warmup = opt.warmup,
    seed = opt.seed, timeout = opt.timeout, pin = opt.pin, target = target,
    regions = regions(target), on_failure = opt.ignore_failure and "keep" or "stop",
    quiet = opt.quiet, plan = opt.plan }
  if #list == 0 then
    options.warmup = 0
    list = { watching(target) }
  end
  list[#list + 1] = options
  return pmc.topdown(unpack(list))
end

local is_stored = #opt.command > 0
for _, word in ipairs(opt.command) do is_stored = is_stored and is_file(word) end

local ok, topdown = pcall(is_stored and stored or measure)
if not ok then pmc.fail(topdown) end

-- ---- reporting ----

local function write(text) pmc.output(opt.output)(text) end

if opt.plan then
  write(topdown:report { run_seconds = run_seconds })
  os.exit(0, true)
end
write(topdown:report { format = opt.format, stream = not opt.output and 1 or nil })
if opt.plot then topdown:plot { output = opt.plot } end
if opt.store then topdown.result:store(opt.store) end
local result = topdown.result
if result.signal then os.exit(128 + result.signal, true) end
if result.problem then pmc.fail(result.problem) end
os.exit(topdown:has_numbers() and 0 or STATUS.uncountable, true)
