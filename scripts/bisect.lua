#!/usr/bin/env pmclua
-- Which commit made it slower?
-- for: search
--
-- method: builds commits in worktrees of a cache; your checkout is not touched. Counts come first: if
--   simulated instructions (Valgrind) differ between good and bad, log2 N single runs find the commit exactly.
--   Else times: each commit is run in turns with the good one, and what is measured next is what tells most
--   for its cost. A commit is named only after a new comparison with the commit before it.
-- usage: pmclua bisect --good A --bad B --build 'CMD' [OPTIONS] -- COMMAND
-- example:
--   pmclua bisect --good v1.0 --bad HEAD --build 'cc -O2 -g -o prog prog.c' -- ./prog
--   6cbbd28 is the first commit with more valgrind::instructions: +22.8 % (1 …
--     number 3 · A · 2026-11-24
--     of +22.8 % between the ends · 4 commits, 4 builds, 6 s
--     why: 100 % of it in `main` (prog.c:1)
-- reading: a commit, a range (commits between do not build, or the step is too small to tell), or the one
--   reason why there is none. "The ends differ by less than" proves nothing about what lies between:
--   steps that cancel cannot be seen from the ends. `no other step shown` does not say that there is none.
-- caveats: COMMAND runs in the folder of each build, without a shell. A build is one layout of the code,
--   which alone may change times by percents. --layouts shuffle draws new ones of both sides of each
--   comparison: lld links the builds again with their functions in other orders. With {seed} in the build
--   command, such as -Wl,--shuffle-sections='.text*={seed}', each draw is a build of its own. Without either,
--   small steps end as a range.

local pmc = require "pmclua"

local opt = pmc.options {
  { "good", value = "REVISION", help = "the commit that is fast" },
  { "bad", value = "REVISION", help = "the commit that is slow (default HEAD)" },
  { "build", short = "b", value = "CMD", help = "builds a commit; run by /bin/sh; {seed} draws a layout" },
  { "layouts", choices = { "shuffle" }, value = "HOW", help = "shuffle: link builds again in other orders" },
  { "events", short = "e", many = true, value = "EVENT",
    help = "what decides; several are tried in turn (default: valgrind::instructions, duration_time)" },
  { "margin", value = "SHARE", help = "a smaller difference is none (default 1%; of counts 0.1%)" },
  { "budget", value = "T", help = "time that it may take (default 2h)" },
  { "all", false, help = "find every step, not the largest alone" },
  { "paths", many = true, value = "PATH", help =
  "what the build reads: commits that change nothing of it are one" },
  { "benchmark-paths", many = true, value = "PATH", help = "taken from the bad commit in every build" },
  { "simulate", false, help = "decide by Valgrind's instructions alone" },
  "build-timeout", "cache", "timeout", "pin",
  { "no-why", false, help = "do not measure what the step consists of" },
  { "seed", type = "integer", value = "N", help = "seed of the order of runs" },
  { "store", value = "FILE", help = "keep what is measured in this file" },
  { "resume", value = "FILE", help = "go on with a search that was ended" },
  { "format", "text", choices = pmc.formats "bisection", by = "output", value = "F", help = "report format" },
  "output",
  { "quiet", false, short = "q", help = "show no progress" },
  { "command", rest = true, help = "command to run in the folder of each build, and its arguments" },
  experiment = false,
}

local function usage(why)
  pmc.fail(why .. "; usage: pmclua bisect --good A --bad B --build 'CMD' -- COMMAND", 2)
end

local function given(list) return #list > 0 and list or nil end

if not opt.good then usage "which commit is good? (--good)" end
if not opt.build then usage "how is a commit built? (--build)" end
if #opt.command == 0 then usage "which command?" end

pmc.outputs { report = opt.output }
local ok, bisection = pcall(pmc.bisect, { good = opt.good, bad = opt.bad or "HEAD", build = opt.build,
  workload = pmc.command { unpack(opt.command) }, events = given(opt.events), margin = opt.margin,
  layouts = opt.layouts,
  budget = opt.budget, all = opt.all, paths = given(opt.paths), benchmark_paths = given(opt.benchmark_paths),
  simulate = opt.simulate, build_timeout = opt.build_timeout, cache = opt.cache, timeout = opt.timeout,
  pin = opt.pin, why = not opt.no_why, seed = opt.seed, store = opt.store, resume = opt.resume,
  quiet = opt.quiet })
if not ok then pmc.fail(bisection) end
pmc.output(opt.output)(bisection:report { format = opt.format })
if bisection.reason == "interrupted" then os.exit(130, true) end
