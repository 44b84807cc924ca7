#!/usr/bin/env pmclua
-- How did a cost change from commit to commit?
-- for: search
--
-- method: builds every n-th commit in a cache (your checkout is not touched) and runs the command in each build,
--   in randomised blocks; or takes stored results (files, or folders of them): each knows the commit that
--   was checked out where it was measured, or has --note commit=HASH; `+`: with changes that were not committed.
--   Steps are where a series of values is best told as segments of one level each.
-- usage: pmclua history --range A..B --build 'CMD' [--every N] -- COMMAND
--        pmclua history [OPTIONS] FILE.jsonl ...
-- example:
--   pmclua history --range v1.0..HEAD --build 'cc -o prog prog.c' -e valgrind::instructions -- ./prog
--   valgrind::instructions · ./prog
--   commit     value  interval  difference  note           subject
--   96b0b3d  107,966         –           –                 number 1
--   0da5bf2  107,966         –           =                 number 2
--   4ae2b7e  155,966         –    +44.46 %  step +44.46 %  number 3
--   5bd1d01  155,966         –           =                 number 4
-- reading: `difference` is to the row above. A step says where to look: between its row and the one above;
--   --refine has bisect search the commit there. What comes and goes between two measured commits is missed.
--   What was counted in part is no point, and a line below says which and why.
-- caveats: a build is one layout of the code, which may change times by percents: count simulated instructions
--   (-e valgrind::instructions) where you can.

local pmc = require "pmclua"

local opt = pmc.options {
  { "range", value = "A..B", help = "from which commit to which" },
  { "every", 1, type = "integer", short = "n", value = "N", help = "every n-th commit alone" },
  { "build", short = "b", value = "CMD", help = "builds a commit; run by /bin/sh" },
  { "events", short = "e", many = true, value = "EVENT", help = "what is measured (default: duration_time)" },
  { "repetitions", type = "integer", short = "r", value = "N", help = "runs of each commit (default 5)" },
  { "margin", value = "SHARE", help = "smaller steps are not shown (default 1%)" },
  { "paths", many = true, value = "PATH", help = "what the build reads" },
  { "benchmark-paths", many = true, value = "PATH", help = "taken from the last commit in every build" },
  { "all-parents", false, help = "the commits of merged branches, too" },
  { "refine", false, help = "search the commit of each step by bisect" },
  "build-timeout", "cache", "timeout", "pin", "store",
  { "resume", value = "FILE", help = "run what a stored history lacks" },
  { "format", choices = pmc.formats "history", value = "F", help = "report format" },
  { "output", short = "o", value = "FILE", help = "write to FILE; its extension may select the format" },
  { "quiet", false, short = "q", help = "show no progress" },
  { "words", rest = true, help = "stored results, or the command and its arguments" },
  experiment = false,
}

local function usage(why)
  pmc.fail(why .. "; usage: pmclua history --range A..B --build 'CMD' -- COMMAND", 2)
end

local function given(list) return #list > 0 and list or nil end

if #opt.words == 0 then usage "which command, or which stored results?" end
local from, to = (opt.range or ""):match "^(.-)%.%.(.*)$"
if opt.range and (not from or from == "") then usage(("--range takes A..B, not '%s'"):format(opt.range)) end
if opt.range and not opt.build then usage "how is a commit built? (--build)" end
if opt.every < 1 then usage "--every takes a number from 1 on" end

local options = { margin = opt.margin, build = opt.build, paths = given(opt.paths),
  benchmark_paths = given(opt.benchmark_paths), build_timeout = opt.build_timeout, cache = opt.cache,
  timeout = opt.timeout, pin = opt.pin, quiet = opt.quiet }

local function measured()
  if not opt.range then
    if opt.refine then usage "--refine takes --range and --build" end
    for _, word in ipairs(opt.words) do
      if word:find "^%-%-?%a" then usage("options stand before the results: " .. word) end
    end
    return pmc.history { files = opt.words, margin = opt.margin }
  end
  options.workload = pmc.command { unpack(opt.words) }
  local all = { from = from, to = to ~= "" and to or "HEAD", every = opt.every, first_parent =
    not opt.all_parents,
    events = given(opt.events) or { "duration_time" }, repetitions = opt.repetitions, store = opt.store,
    resume = opt.resume }
  for name, value in pairs(options) do all[name] = value end
  return pmc.history(all)
end

pmc.outputs { report = opt.output, store = opt.store }
local ok, history = pcall(measured)
if not ok then pmc.fail(history) end
history:write(opt.output, { format = opt.format })
if opt.refine then
  local refined, bisections = pcall(history.refine, history, options)
  if not refined then pmc.fail(bisections) end
  for _, bisection in ipairs(bisections) do pmc.output(2)(bisection:report()) end
end
