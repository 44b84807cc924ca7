-- why_times.lua: do the milliseconds of `pmclua why` hold the truth?
--
-- usage: ./pmclua tests/truths/why_times.lua [TRIES] [PAIRS] [KIND...]     (make check-why)
-- Programs log the CPU time of their own loop, of calls or of page faults. The lines of the loop (its function, the
-- function of the C library that makes the call, the call or the faults) must hold that, as the repetitions logged it in
-- which nothing was sampled or traced: their 99 % interval in 97 of 100 tries. Interrupts that come in the loop are on
-- the program's clock, too.

dofile((debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")) .. "support/program.lua")

local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local pmc = require "pmclua"
local store = require "pmclua.store"
local support = require "tests.support"

local LEVEL, HOLD = 0.99, 0.97
local COUNTS = { getppid = { 500, 40000 }, write = { 500, 30000 }, stat = { 100, 8000 },
  burn = { 100, 60000 }, fresh = { 10, 800 }, huge = { 1, 8 } }
local KINDS = { "getppid", "write", "stat", "burn", "fresh", "huge" }

local tries, pairs_each = tonumber(arg[1]) or 200, tonumber(arg[2]) or 20
local kinds = #arg > 2 and { unpack(arg, 3) } or KINDS

local folder = support.folder()
local program = support.build(folder .. "/timed", "cc", "-O2", support.fixture "why/timed.c")

-- Lists of when a loop began, and how long it took, of each run.
local function logged(path)
  local runs = {}
  for line in io.lines(path) do
    local began, took = line:match "(%d+) (%d+)"
    runs[#runs + 1] = { began = tonumber(began), took = tonumber(took) }
  end
  return runs
end

-- The mean of what was logged in the repetitions of the first pass.
local function truth_of(path, cell, log)
  local runs, took = logged(log), {}
  store.open(path).each(function(record)
    if record.cell ~= cell or record.pass ~= 1 or record.warmup then return end
    local from, to = tonumber(record.start_ns), tonumber(record.start_ns + record.wall_ns)
    local run = lists.find(runs, function(one) return one.began >= from and one.began <= to end)
    took[#took + 1] = run and run.took or nil
  end)
  return mean.average(took)
end

local OWN = { work = true, getppid = true, write = true, __write = true, stat = true, __getppid = true,
  ["stat64"] = true, ["fstatat64"] = true, ["__fstatat64_time64"] = true, __libc_write = true }

local function is_of_loop(kind)
  return function(row)
    local line = row.line
    if line.kind == "faults" then return kind == "fresh" or kind == "huge" end
    if line.kind == "call" then
      return line.call == kind or kind == "stat" and line.call == "newfstatat"
    end
    return line.kind == "code" and OWN[line.name] or line.key == "others"
  end
end

local function try(kind)
  local logs, commands = {}, {}
  local path = os.tmpname()
  os.remove(path)
  for i, side in ipairs { "a", "b" } do
    logs[i] = os.tmpname()
    commands[i] = pmc.command { program, kind, tostring(COUNTS[kind][i]), logs[i], name = side }
  end
  local found = pmc.why(commands[1], commands[2], { repetitions = pairs_each, budget = 600, quiet = true,
    simulate = false, store = path })
  local truth = truth_of(path, 2, logs[2]) - truth_of(path, 1, logs[1])
  for _, file in ipairs { path, logs[1], logs[2] } do os.remove(file) end
  local rows = lists.where(found.ledger.lines, is_of_loop(kind))
  if #rows == 0 then return nil, found end
  lists.append(rows, lists.where(found.ledger.rest, function(row) return row.key == "interrupts" end))
  local row = ledger.joined(found.ledger, rows, kind)
  local low, high = mean.interval(row.estimate, LEVEL)
  return { truth = truth, value = row.difference, low = low, high = high,
    holds = low <= truth and truth <= high }
end

local held, made = 0, 0
for number = 1, tries do
  local kind = kinds[(number - 1) % #kinds + 1]
  local one, found = try(kind)
  if one then
    made, held = made + 1, held + (one.holds and 1 or 0)
    print(("%-8s truth %9.0f µs, said %9.0f, %9.0f … %9.0f%s"):format(kind, one.truth / 1e3, one.value / 1e3,
      one.low / 1e3, one.high / 1e3, one.holds and "" or "   NOT HELD"))
  else
    print(("%-8s no line: %s"):format(kind, found.sentence))
  end
  io.stdout:flush()
end
require("pmclua.core").remove_folder(folder)
print(("%d of %d tries hold the truth; %d had no line"):format(held, made, tries - made))
os.exit(held >= HOLD * made and made >= tries / 2 and 0 or 1)
