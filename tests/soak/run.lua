#!/usr/bin/env pmclua
-- Does pmclua stay the same, however long it runs?
--
-- method: each row repeats one operation, in ten tenths, and after each tenth looks at this process and its
--   runner: descriptors, resident memory, time for one operation. Descriptors must be the same after every
--   tenth; memory may not grow by more than 2 MB from the second tenth to the last (the first one fills
--   caches).
-- usage: pmclua tests/soak/run.lua [SHARE [WORD]]      1: the full numbers of the table; 0.01: a hundredth of them;
--   WORD: only the rows that have it in their name
-- reading: speed is shown but not judged, because machines are busy.
-- exit: 0 if every row is flat

local core = require "pmclua.core"
local lfs = require "lfs"
local pmc = require "pmclua"

local share, only = tonumber(arg[1]) or 1, arg[2]
local SLACK_KB = 2048
io.stdout:setvbuf "line"

local function children_of(pid)
  local list = {}
  local file = io.open(("/proc/%d/task/%d/children"):format(pid, pid))
  for child in (file and file:read "*a" or ""):gmatch "%d+" do list[#list + 1] = tonumber(child) end
  if file then file:close() end
  return list
end

--- Descriptors and resident kilobytes of this process and its children, and how many these are.
local function look()
  local facts = { descriptors = 0, kilobytes = 0, processes = 0 }
  local pids = children_of(core.pid())
  table.insert(pids, core.pid())
  for _, pid in ipairs(pids) do
    for name in lfs.dir(("/proc/%d/fd"):format(pid)) do
      if name:find "%d" then facts.descriptors = facts.descriptors + 1 end
    end
    local file = io.open(("/proc/%d/status"):format(pid))
    facts.kilobytes = facts.kilobytes + tonumber(file:read("*a"):match "VmRSS:%s+(%d+)")
    file:close()
    facts.processes = facts.processes + 1
  end
  return facts
end

local KERNEL = [[
  #include <stdint.h>
  void turn(void *state, uint64_t n) { (void)state; while (n--) __asm__ volatile(""); }]]

local function experiment(workload, repetitions)
  return pmc.experiment { name = "soak", events = { "page-faults" }, workloads = { workload },
    repetitions = repetitions, warmup = 0 }
end

-- As a module in a server: requests are coroutines that wait for each other within what they count; some raise, some
-- forget a group, and all leave garbage.
local function serve(n)
  local groups, waiting = {}, {}
  for i = 1, 32 do groups[i] = pmc.group { "page-faults", "task-clock" } end
  local function work(size)
    local parts = {}
    for i = 1, 20 do parts[i] = ("x"):rep(size) .. i end
    coroutine.yield()
    return table.concat(parts)
  end
  local function request(i)
    local group = groups[i % #groups + 1]
    local counts, text = group:count(work, i % 97)
    assert(counts.task_clock > 0 and #text >= 20)
    assert(not pcall(group.count, group, error, "refused"))
    if i % 100 == 0 then pmc.group("page-faults"):start() end
  end
  for i = 1, n do
    local thread = coroutine.create(request)
    assert(coroutine.resume(thread, i))
    waiting[i] = thread
    if i > 50 then
      assert(coroutine.resume(waiting[i - 50]))
      waiting[i - 50] = nil
    end
  end
  for _, group in ipairs(groups) do group:close() end
end

-- Each: its name, how often, and what is done n times.
local ROWS = {
  { "groups opened, started, read, closed", 1e6, function(n)
    for _ = 1, n do
      local group = pmc.group { "page-faults", "task-clock" }
      group:start()
      group:read()
      group:stop()
      group:close()
    end
  end },
  { "repetitions of a command", 1e5, function(n)
    experiment("true", n):run { store = false, quiet = true }
  end },
  { "experiments of one process", 1e4, function(n)
    for _ = 1, n do experiment("true", 1):run { store = false, quiet = true } end
  end },
  { "requests to a server that counts them", 1e7, serve },
  { "kernels from the cache", 1e4, function(n)
    local compile, runner = require "pmclua.workload.compile", require("pmclua.workload.session").new()
    for _ = 1, n do compile.build(runner, { text = KERNEL, label = "turn.c" }) end
    runner:close()
  end },
}

--- Runs a row; what is not flat: sentences.
local function soak(name, times, work)
  local each, tenths = math.max(1, math.floor(times * share / 10)), {}
  for i = 1, 10 do
    local start_ns = core.now_ns()
    work(each)
    local elapsed = core.now_ns() - start_ns
    collectgarbage()
    collectgarbage()
    tenths[i] = look()
    tenths[i].us = elapsed / each / 1000
  end
  local first, second, last, problems = tenths[1], tenths[2], tenths[10], {}
  local form = "%-38s %8d  descriptors %d … %d  memory %d … %d … %d KB  %.2f … %.2f µs"
  print(form:format(name, each * 10, first.descriptors, last.descriptors, first.kilobytes, second.kilobytes,
    last.kilobytes, first.us, last.us))
  for i = 2, 10 do
    if tenths[i].descriptors ~= first.descriptors then problems[1] = "descriptors differ" end
    if tenths[i].processes ~= first.processes then problems[2] = "processes differ" end
  end
  if last.kilobytes > second.kilobytes + SLACK_KB then table.insert(problems, "memory grows") end
  return problems
end

local failed = 0
for _, row in ipairs(ROWS) do
  local is_asked = not only or row[1]:find(only, 1, true)
  for _, problem in pairs(is_asked and soak(row[1], row[2], row[3]) or {}) do
    failed = failed + 1
    print("FAILED " .. row[1] .. ": " .. problem)
  end
end
return failed == 0 and 0 or 1
