#!/usr/bin/env pmclua
-- Why is B slower than A: what does the difference consist of?
-- for: find out why
--
-- method: runs A and B interleaved, in passes: one for times, one in which functions, system calls and
--   page faults are sampled, one in which system calls are traced, some for the vendor's top-down tree, and
--   some under Valgrind for simulated counts and for what is allocated, by function, as far as they can be
--   had and fit into the budget. Every line
--   of the ledger is in time, and splits that of the first pass, in which nothing is sampled or traced.
-- usage: pmclua why [OPTIONS] 'COMMAND A' 'COMMAND B'
--        pmclua why [OPTIONS] FILE.jsonl [CELL A] [CELL B]
--        pmclua why [OPTIONS] A.jsonl B.jsonl [WORKLOAD]
-- example:
--   pmclua why 'ls /usr/bin' 'ls -l /usr/bin'
-- reading: the waterfall leads from A's time to B's, a bar a line; what is certain of a bar is solid
--   (--format svg draws it). A line says MORE or LESS where its difference cannot be chance, for all lines
--   together. `share` is of the whole difference. What is not shown is one row, so that the table adds up.
--   What comes with more time on CPUs, on a machine that others use too, is not counted as a cause.
--   Suspects are whatever else was counted and differs: they come with the difference, and may be its
--   cause, its effect or neither. With a PMU a ledger of cycles has the difference by node of the vendor's
--   tree. The sentence at the end follows from the ledgers.
-- caveats: system calls are told apart with root's rights only; cycles by node need a PMU. Few
--   pairs name nothing. Commands are split into words without a shell; --shell runs them with /bin/sh.

local pmc = require "pmclua"

local opt = pmc.options {
  { "repetitions", type = "integer", short = "r", value = "N",
    help = "number of pairs (default: 30, or what fits)" },
  { "budget", value = "T", help = "time that it may take, e.g. 5min (default 2min)" },
  { "events", short = "e", many = true, value = "LIST", help = "more events to count, as suspects" },
  { "all", false, help = "show lines that do not differ, and trifles, too" },
  { "no-simulate", false, help = "count nothing under Valgrind" },
  "seed",
  { "warmup", type = "integer", value = "N", help = "warm-up runs, discarded (default 1)" },
  "timeout", "ignore-failure", "shell", "pin", "store",
  { "format", "table", choices = pmc.formats "why", by = "output", value = "F", help = "report format" },
  "output", "quiet",
  { "what", argument = true, many = true, value = "A B",
    help = "commands, a stored result and cells, or two results" },
  experiment = false,
}

local function usage(why)
  pmc.fail(why .. "; usage: pmclua why 'COMMAND A' 'COMMAND B'", 2)
end

local function is_file(word)
  if word:find "^%S+%.jsonl$" or word:find "^%S+%.jsonl%.gz$" then return true end
  local file = io.open(word)
  local begins = file and file:read(20)
  if file then file:close() end
  return begins == '{"kind":"experiment"'
end

local function workload(word, name) return pmc.command { word, shell = opt.shell or nil, name = name } end

-- A command against itself: chance alone names something in 1 of 100.
local function second_name()
  return opt.what[1] == opt.what[2] and opt.what[2] .. " (2)" or opt.what[2]
end

-- Two files are told apart by the last factor.
local function of_files(first, second, both)
  local result = pmc.load(first, second)
  local factor = result.header.factors[#result.header.factors]
  local function cell(level) return { workload = both, [factor[1]] = level } end
  return result:why { a = cell(factor[2][1]), b = cell(factor[2][2]) }
end

local function of_stored()
  if opt.what[2] and is_file(opt.what[2]) then return of_files(unpack(opt.what)) end
  if #opt.what == 2 then usage "of a stored result it takes no cell or two" end
  return pmc.load(opt.what[1]):why { a = opt.what[2], b = opt.what[3] }
end

local function of_commands()
  pmc.outputs { report = opt.output, store = opt.store }
  if #opt.what ~= 2 then usage "it takes two commands" end
  return pmc.why(workload(opt.what[1], opt.what[1]), workload(opt.what[2], second_name()), {
    budget = opt.budget, repetitions = opt.repetitions, events = #opt.events > 0 and opt.events or nil,
    simulate = not opt.no_simulate, seed = opt.seed, warmup = opt.warmup, timeout = opt.timeout,
    pin = opt.pin, store = opt.store or false, quiet = opt.quiet,
    on_failure = opt.ignore_failure and "keep" or nil })
end

if #opt.what == 0 then usage "it takes two commands, or stored results" end
local ok, why = pcall(is_file(opt.what[1]) and of_stored or of_commands)
if not ok then pmc.fail(why) end
pmc.output(opt.output)(why:report { format = opt.format, all = opt.all })
