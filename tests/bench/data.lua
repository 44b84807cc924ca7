#!/usr/bin/env pmclua
-- What it costs to learn which data was accessed: samples with registers, allocations, tables, probes.
--
-- usage: pmclua tests/bench/data.lua [TURNS]      (15)
-- Prints a table in Markdown for tests/bench/README.md. Exit 1 where a figure is above its goal.

dofile((arg and arg[0] or "tests/bench/data.lua"):gsub("[^/]*$", "") .. "../support/program.lua")

local attribute = require "pmclua.profile.attribute"
local core = require "pmclua.core"
local core_profile = require "pmclua.core.profile"
local heap_log = require "pmclua.core.data"
local profile = require "pmclua.profile.make"
local programs = require "tests.bench.programs"
local support = require "tests.support"
local symbols = require "pmclua.core.symbols"
local topology = require "pmclua.host.topology"
local turns_of = require "tests.bench.turns"

local turns = tonumber(arg and arg[1]) or 15
local failed = false

local function print_row(what, value, goal, is_kept)
  failed = failed or is_kept == false
  print(("| %s | %s | %s | %s |"):format(what, value, goal or "–",
    is_kept == nil and "–" or is_kept and "yes" or "no"))
end

-- ---- samples -------------------------------------------------------------------------------------------

local WORK, NS = 3e7, 1e9

-- Work of this process on data in the first cache; seconds of CPU time.
local function work()
  local list, sum, before = require("ffi").new "uint32_t[4096]", 0, os.clock()
  for i = 1, WORK do
    local at = bit.band(i * 7919, 4095)
    list[at] = list[at] + 1
    sum = sum + list[bit.bxor(at, 64)]
  end
  return os.clock() - before, sum
end

local function sampler_at(rate)
  return assert(core_profile.open { attr = { type = 1, config = 0, exclude_kernel = 1, exclude_hv = 1 },
    period = NS / rate, cpus = topology.online(), tasks = { core.pid() }, data = true, ring_bytes = 2 ^ 22 })
end

local function sampled_work(rate)
  local sampler = sampler_at(rate)
  sampler:start()
  local seconds = work()
  local found = sampler:finish()
  sampler:close()
  return seconds, found
end

local function sampling_row(rate, goal)
  local function sampled() return (sampled_work(rate)) end
  local outcome = turns_of.compare(turns, sampled, function() return (work()) end)
  local cost = 100 * (outcome.ratio - 1)
  print_row(("%d samples a second with registers and stack"):format(rate),
    ("%+.1f %% (%.1f … %.1f)"):format(cost, 100 * (outcome.low - 1), 100 * (outcome.high - 1)),
    goal and ("≤ %d %%"):format(goal), goal and cost <= goal or nil)
end

local function table_of(found)
  local attribution, before = attribute.new(), os.clock()
  local made = profile.new(found, { name = "samples", unit = "", attr = {} }, attribution, { data = true })
  local seconds = os.clock() - before
  attribution:close()
  return made, seconds
end

local MANY = 1e5

-- Scaled from runs that have together as many.
local function table_row()
  local samples, seconds = 0, 0
  while samples < MANY do
    local _, found = sampled_work(20000)
    local _, its = table_of(found)
    samples, seconds = samples + found.records, seconds + its
  end
  local each = seconds / samples * MANY
  print_row("a table of 100,000 samples with registers, CPU time", ("%.2f s"):format(each), "≤ 1 s",
    each <= 1)
end

local function faults_row()
  local sampler = assert(core_profile.open { attr = { type = 1, config = 2, exclude_kernel = 1 }, period = 1,
    cpus = topology.online(), tasks = { core.pid() }, data = true, ring_bytes = 2 ^ 23 })
  sampler:start()
  for _ = 1, 100 do support.touch_pages(1000) end
  local found = sampler:finish()
  sampler:close()
  local _, seconds = table_of(found)
  print_row(("a table of %d page faults, CPU time"):format(found.records), ("%.2f s"):format(seconds),
    "≤ 1 s", seconds <= 1)
end

-- ---- allocations ----------------------------------------------------------------------------------------

local function heap_row()
  local log = programs.folder() .. "/heap"
  local program = programs.compile "blocks"
  local library = require("pmclua.host.paths").heap_library()
  local function logged()
    assert(heap_log.make_heap_log(log))
    return programs.number { "env", "LD_PRELOAD=" .. library, "PMCLUA_HEAP=" .. log, program, "1000000" }
  end
  local function plain() return programs.number { program, "1000000" } end
  local outcome = turns_of.compare(turns, logged, plain)
  print_row("an allocation or its end in the log of `--heap`",
    ("%.0f ns"):format((outcome.mine - outcome.other) / 2))
end

-- ---- probes ---------------------------------------------------------------------------------------------

local FUNCTIONS = 200

local function cost_of_hit(kind)
  local plain = programs.number { programs.compile "probe", "plain", "100000" }
  return programs.number { programs.compile "probe", kind, "100000" } - plain
end

-- The median and the largest of costs of which so many are `stepped`.
local function spread(stepped, costs)
  local median = stepped * 2 > FUNCTIONS and costs.stepped or costs.emulated
  return ("%.1f and %.1f µs (%d stepped)"):format(median / 1e3,
    (stepped > 0 and costs.stepped or costs.emulated) / 1e3, stepped)
end

-- Functions at equal steps of the file's list, each with its exits known.
local function entries_of(path)
  local its = assert(symbols.open(path))
  local list = {}
  for index = 1, its.count do
    local symbol = its:at(index)
    if symbol.bytes > 0 and not symbol.imported and not symbol.indirect then list[#list + 1] = index end
  end
  local before, after = 0, 0
  for i = 1, FUNCTIONS do
    local index = list[math.ceil(i * #list / FUNCTIONS)]
    local _, body, facts = its:exits(index)
    body = type(body) == "table" and body or facts
    if body.is_stepped then before, after = before + 1, after + 1
    elseif body.probe_at and body.probe_at ~= its:at(index).offset then before = before + 1 end
  end
  its:close()
  return before, after
end

local function library(name)
  for line in io.lines "/proc/self/maps" do
    local path = line:match("(/%S*/" .. name .. "%S*)$")
    if path then return path end
  end
  return support.run({ "cc", "-print-file-name=" .. name .. ".so.6" }).out:match "%S+"
end

local function probe_rows()
  local costs = { stepped = cost_of_hit "stepped", emulated = cost_of_hit "emulated" }
  for _, name in ipairs { "libc", "libstdc++" } do
    local path = library(name)
    local before, after = entries_of(path)
    print_row(("a probe at the entry of %d functions of %s, median and worst"):format(FUNCTIONS, name),
      spread(before, costs))
    print_row("the same, where pmclua puts it", spread(after, costs))
  end
end

print(("## Which data: costs, %d turns, load %s\n"):format(turns,
  (support.read "/proc/loadavg"):match "%S+"))
print "| what | figure | goal | reached |"
print "|---|---|---|---|"
sampling_row(1000, 4)
sampling_row(4000)
table_row()
faults_row()
heap_row()
local ok, why = pcall(probe_rows)
if not ok then io.stderr:write("no probes: ", tostring(why), "\n") end
programs.clean()
os.exit(failed and 1 or 0, true)
