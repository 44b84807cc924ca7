#!/usr/bin/env pmclua
-- Which functions cost a command its time, and which cost B more?
-- for: find out why
--
-- method: counts the event in one run and samples it in another, as perf record does. How many events lie
--   between two samples is a prime, drawn anew for each run. Events as rare as page faults are recorded one
--   by one: then the table is exact, as it is for what Valgrind counts (-e valgrind::instructions). Two
--   commands are run interleaved, 30 times each, and each function's counts are compared pair by pair: the
--   differences of all functions add up to that of the whole.
-- usage: pmclua where [-e EVENT] [-r N] -- COMMAND [ARGS]
--        pmclua where [-e EVENT] [-r N] 'COMMAND A' 'COMMAND B'
--        pmclua where [-e EVENT] -p PID | -t TID | -a | -C CPUS | -G NAME [--timeout MS] [-- COMMAND]
--        pmclua where -g --format folded [-o FILE] -- COMMAND [ARGS]
--        pmclua where -g --format pprof -o FILE.pb -- COMMAND [ARGS]       (for go tool pprof)
--        pmclua where --data [--heap] [--by member|function | --lines] [-e page-faults] -- COMMAND
--        pmclua where --data --confirm -- COMMAND
--        pmclua where [--lines] [--annotate FUNCTION] RESULT.jsonl...
-- example:
--   pmclua where -e page-faults -- true
--   true · page-faults · 1 repetition · each recorded
--   function                                        mean  share  median
--   _dl_map_object_from_fd [ld-linux-x86-64.so.2]      5   10 %       5
--   ...
--   total                                             50  100 %      50
-- reading: the lines, and those in brackets, add up to the total. Functions that would read alike have
--   their parameters, source file or address. One that was inlined is in the function it stands in, unless
--   --inlined is given. A function without a name is shown as its file and where in it the function
--   begins; the debug symbols of its package name it. With --lines, a source line of A is the line of B
--   that reads alike, whatever its number. Of two commands, a verdict holds for all lines together; with
--   too few pairs there is none. `spread over many`: the total differs, but no line that could be named.
--   Where more than 20 % of the samples are lost nothing is concluded (77).
--   With --data, the lines are what was accessed, and what cannot be told stays a line of its own; of
--   one command, `access` and `computing` are shares: read or written by the instruction that was waited
--   for, or computed with after a load. Time at data is no cache miss. --confirm runs the command again for
--   each of two shared lines at most (of the heap with --heap), counts each thread's accesses, and ends it.
-- caveats: threads, children and the programs that they execute are included. Each repetition is two
--   runs of a command: one counted, one sampled. Of one command, its own output is left alone and the
--   table goes to standard error; of two, their output goes to /dev/null. Nothing is stored without
--   --store. Call chains need programs that keep frame pointers (-fno-omit-frame-pointer), which
--   Debian's do not; those of valgrind:: events need none. What reaches neither `main` nor where a thread
--   or goroutine starts is under [caller unknown], and on Arm a function without a frame hides its
--   caller. Where DEBUGINFOD_URLS names servers, they are asked for what would be shown without names
--   (without lines, for --lines, --inlined, --annotate and html): of the 20 largest functions, those
--   with 1 % or more. They may take 10 s together.

local pmc = require "pmclua"

local opt = pmc.options(pmc.targets.options {
  { "event", short = "e", value = "EVENT", help = "event to sample; default: cycles, else cpu-clock" },
  "vendor",
  { "repeat", type = "integer", short = "r", value = "N", help = "N runs counted, N sampled (1; of 2: 30)" },
  { "warmup", type = "integer", value = "N", help = "warm-up runs, discarded (0)" },
  { "timeout", value = "MS", help = "kill a run after this long (or 2s); without a command: stop" },
  { "seed", type = "integer", value = "N", help = "seed of the order and of the periods" },
  "pin",
  { "call-graph", false, short = "g", help = "call chains: functions with all that they call" },
  { "trust-maps", false, help = "believe /tmp/perf-PID.map of the process's own user, too" },
  { "data", false, help = "what was accessed: variables, stacks, memory, in place of functions" },
  { "heap", false, help = "with --data: blocks of the heap by where they were allocated (LD_PRELOAD)" },
  { "confirm", false, help = "with --data: watch lines that threads share with breakpoints, in other runs" },
  { "by", value = "B", choices = { "object", "member", "function", "source", "node" },
    help = "with --data: objects, their members; objects by function, source or node" },
  { "lines", false, help = "source lines instead of functions" },
  { "inlined", false, help = "what was inlined under its own name, not under the function it stands in" },
  { "annotate", value = "FUNCTION", help = "its source and instructions beside their counts" },
  { "source", many = true, value = "FOLDER", help = "a folder of sources that a stored result names" },
  { "top", type = "integer", value = "N", help = "show N lines (20)" },
  { "format", "table", choices = pmc.formats "where", by = "output", value = "F", help = "report format" },
  "output",
  { "store", value = "FILE", help = "store every repetition with its profile in this file" },
  { "command", {}, type = "string", argument = true, many = true, value = "COMMAND",
    help = "after --: a command and its arguments; else one or two commands, or stored results" },
  experiment = false,
})

local STATUS = { uncountable = 77 }

local function fail(problem) pmc.fail(problem, "command") end

local has_target, target = pcall(pmc.targets.from, opt)
if not has_target then fail(target) end
if target and target.by then fail "a target's profile is of all of it: it is not divided (--per-…, -A)" end

local USAGE = "usage: pmclua where -- COMMAND [ARGS], or: pmclua where 'COMMAND A' 'COMMAND B'"

if opt.data and (opt.inlined or opt.annotate or opt.call_graph) then
  fail "--data shows objects: --inlined, --annotate and -g are for functions"
end
if opt.by and not opt.data then fail "--by is for --data" end
if opt.by and opt.lines then fail "--lines and --by divide the objects in two ways: give one of them" end
if opt.heap and not opt.data then fail "--heap is for --data" end
if opt.heap and target then
  fail "--heap preloads a library, and what runs already has none: give a command after --"
end

if opt.confirm and (not opt.data or target) then
  fail "--confirm is for --data of one command: breakpoints are set on the threads of another run"
end

local function is_stored(word) return word:find "%.jsonl$" or word:find "%.jsonl%.gz$" end

if opt.confirm and opt.command[1] and is_stored(opt.command[1]) then
  fail "--confirm runs the command again: a stored result has what was confirmed when it was measured"
end

if #opt.command == 0 and not target then fail("which command? " .. USAGE) end

-- Whether `--` comes before the command: its words are then one command.
local function is_one_command()
  for _, word in ipairs(arg) do
    if word == "--" then return true end
    if word == opt.command[1] then return false end
  end
end

local function options()
  local timeout = opt.timeout and pmc.targets.seconds(opt.timeout, "--timeout")
  return { event = opt.event, repetitions = opt["repeat"], timeout = timeout, warmup = opt.warmup,
    seed = opt.seed, call_chains = opt.call_graph or nil,
    trust_maps = opt.trust_maps or nil, data = opt.data or nil,
    heap = opt.heap or nil, confirm = opt.confirm or nil,
    lines = opt.lines and not opt.data or opt.inlined or opt.annotate ~= nil or opt.format == "html" or nil,
    pin = opt.pin, store = opt.store, target = target }
end

-- A target alone is sampled for the time limit.
local function measure_target()
  local asked = options()
  asked.duration, asked.timeout = asked.timeout, nil
  return pmc.where(asked)
end

local function measure()
  pmc.outputs { report = opt.output, store = opt.store }
  if #opt.command == 0 then return measure_target() end
  if is_one_command() then return pmc.where(pmc.targets.command(opt.command), options()) end
  if is_stored(opt.command[1]) then return pmc.load(unpack(opt.command)):where(opt.event) end
  if #opt.command > 2 then
    fail("it takes one command or two; quote a command with its arguments: 'ls -l'; " .. USAGE)
  end
  local words = { unpack(opt.command) }
  words[#words + 1] = options()
  return pmc.where(unpack(words))
end

local VIEWS = { object = "data", member = "data member", ["function"] = "data function",
  source = "data source", node = "data node" }

-- The view: functions, lines or objects as lines of the table.
local function view()
  if opt.data then
    return opt.lines and "data line" or VIEWS[opt.by or "object"]
  end
  local by = (opt.inlined and "inlined " or "") .. (opt.lines and "line" or opt.inlined and "" or "function")
  return by:match "^(.-) *$"
end

-- The report goes to the stream that the command does not use.
local function put(result)
  local shown = { format = opt.format, by = view(), most = opt.top,
    annotate = opt.annotate, sources = #opt.source > 0 and opt.source or nil }
  if opt.format == "pprof" then return result:write(opt.output, shown) end
  pmc.output(opt.output or is_one_command() and 2 or 1)(result:report(shown))
end

local ok, result = pcall(measure)
if not ok then fail(result) end
local shown, problem = pcall(put, result)
if not shown then fail(problem) end
if result.baseline and result.incomplete then os.exit(STATUS.uncountable, true) end
