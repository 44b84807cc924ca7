#!/usr/bin/env pmclua
-- What does pmclua itself cost?
--
-- method: each pair is run alternately, so that what disturbs one disturbs the other; medians.
-- usage: pmclua tests/bench/run.lua
-- reading: compare the two sides of a line, and lines of one machine; the figures of another machine differ.

local core = require "pmclua.core"
local pmc = require "pmclua"
local stats = require "pmclua.stats"
local text = require "pmclua.text"

local here = arg[0]:match "^(.*)/" or "."
local EVENTS = { "page-faults", "task-clock", "context-switches" }
local PROGRAM = here .. "/../../build/pmclua"

local function have(program)
  return os.execute("command -v " .. program .. " >/dev/null") == 0
end

local function wall_ns(fn)
  local before = core.now_ns()
  fn()
  return core.now_ns() - before
end

--- Median nanoseconds of each function, run in turn.
local function medians(repetitions, ...)
  local fns, samples = { ... }, {}
  for i in ipairs(fns) do samples[i] = {} end
  for repetition = 0, repetitions do
    for i, fn in ipairs(fns) do
      local ns = wall_ns(fn)
      if repetition > 0 then samples[i][repetition] = ns end      -- the first warms up
    end
  end
  local results = {}
  for i in ipairs(fns) do results[i] = stats.median(samples[i]) end
  return results
end

local function print_line(what, mine_ns, other, other_ns)
  local ratio = other_ns and ("  %.2f × %s's %s"):format(mine_ns / other_ns, other, text.time(other_ns)) or ""
  print(("%-44s %10s%s"):format(what, text.time(mine_ns), ratio))
end

-- ---- start-up ----


local function command_wall_ns(words, repetitions)
  local result = pmc.measure(pmc.command(words), { events = { "duration_time" }, repetitions = repetitions })
  local first = result:cells()()
  return first.duration_time.median
end

local function bench_start()
  local mine = command_wall_ns({ PROGRAM, "-e", "" }, 200)
  local other = have "luajit" and command_wall_ns({ "luajit", "-e", "" }, 200) or nil
  print_line('start: pmclua -e ""', mine, "luajit", other)
  print_line("start: pmclua -v (loads the core)", command_wall_ns({ PROGRAM, "-v" }, 200))
end

-- ---- reading ----

local READS = 10000

local function bench_read()
  local group = pmc.group(EVENTS)
  group:start()
  local typed = medians(20, function() for _ = 1, READS do group:read() end end)[1] / READS
  group:stop()
  group:close()
  print_line("group:read() of 3 events, typed counts", typed)
end

-- ---- repetitions ----

local RUNS = 200

local function bench_repetitions()
  local function mine()
    pmc.measure("true", { events = EVENTS, repetitions = RUNS, warmup = 0, quiet = true })
  end
  local function perf()
    os.execute(("perf stat -r %d -e %s true >/dev/null 2>&1"):format(RUNS, table.concat(EVENTS, ",")))
  end
  local ns = medians(5, mine, have "perf" and perf or nil)
  print_line("a repetition of `true` with 3 events", ns[1] / RUNS, "perf stat -r", ns[2] and ns[2] / RUNS)
end

bench_start()
bench_read()
bench_repetitions()
