--- machines.lua: trees of sysfs and tracefs whose files are missing, garbage, huge, endless or loops.

local event = require "pmclua.event"
local filter = require "pmclua.explain.filter"
local input = require "tests.fuzz.input"
local support = require "tests.support"
local sysfs = require "pmclua.event.sysfs"
local trees = require "tests.fuzz.tree"
local tracepoint = require "pmclua.event.tracepoint"

local M = {}

local hold, one_of = input.hold, input.one_of

local copies = {}

--- The copy of a tree of fixtures/perf; one a run.
local function copy_of(name)
  copies[name] = copies[name] or trees.copy(support.fixture("perf/" .. name))
  return copies[name]
end

--- What sysfs.lua has read, which it keeps for the life of the process.
local function kept_trees()
  for i = 1, 9 do
    local name, value = debug.getupvalue(sysfs.tree, i)
    if name == "trees" then return value end
  end
  error "sysfs.lua keeps what it read elsewhere"
end

local function try_specs(random, options, specs, count)
  for _ = 1, count do
    local spec = one_of(random, specs)
    local events, problem = event.parse(spec, options)
    hold(events or problem.message ~= "", "no message", spec)
    for _, one in ipairs(events or {}) do hold(event.format(one) ~= "", "it cannot be written", spec) end
  end
end

local function try_list(options)
  for _, entry in ipairs(event.list(options)) do
    hold(not (entry.spec .. entry.description):find "%c", "control characters in the list", entry.spec)
  end
end

local MACHINES = { "x86_intel", "x86_amd", "arm64", "hybrid" }
local SPECS = { "cycles", "cpu/event=0x3c,umask=1,cmask=2/", "cpu_core/cycles/", "instructions:u",
  "LLC-loads", "uncore_imc/clockticks/", "cas_count_read", "msr/tsc/", "energy-pkg", "intel_pt//",
  "weird/split=5/", "hisi_sccl1_ddrc/flux_rd/", "armv8_pmuv3_0/long,event=1/", "mem-loads",
  "sched:sched_switch", "*/cycles/", "r1a8", "cpu/cache-misses/" }

--- Tries one tree of sysfs.
---@param random pmclua.Random
---@return boolean
function M.sysfs(random)
  local tree = copy_of("sysfs/" .. one_of(random, MACHINES))
  local options = { sysfs = tree.root, tracefs = support.fixture "perf/tracefs" }
  return tree:changed(random, 12, function()
    kept_trees()[tree.root] = nil
    return input.refused_in_words(tree.root, function()
      try_specs(random, options, SPECS, 4)
      try_list { sysfs = tree.root, source = "pmu" }
    end)
  end)
end

local FORMAT = [[
name: sched_switch
ID: 316
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:32;	size:4;	signed:0;

print fmt: "prev_comm=%s prev_pid=%d", REC->prev_comm, REC->prev_pid
]]
local FILTERS = { "prev_pid == 1", "prev_comm ~ \"a*\" && (prev_pid > 0", "pid=3", "name and 1" }
local TRACEPOINTS = { "sched:sched_switch", "sched:*", "*:*", "syscalls:sys_enter_getppid/filter='a==1'/" }

local tracefs, format

--- The tracefs of fixtures/perf, with the format of one tracepoint.
local function tracefs_copy()
  if tracefs then return tracefs end
  tracefs = copy_of "tracefs"
  format = tracefs:add("events/sched/sched_switch/format", FORMAT)
  return tracefs
end

--- Tries one tracefs, with mutated filters.
---@param random pmclua.Random
---@return boolean
function M.tracefs(random)
  local tree = tracefs_copy()
  local options = { sysfs = support.fixture "perf/sysfs/x86_intel", tracefs = tree.root }
  return tree:changed(random, 6, function()
    return input.refused_in_words(tree.root, function()
      try_specs(random, options, TRACEPOINTS, 2)
      local fields = tracepoint.fields(tree.root, "sched:sched_switch")
      filter.why(input.mutated(random, one_of(random, FILTERS)), fields)
      try_list { tracefs = tree.root, source = "tracepoint" }
    end)
  end, format)
end

return M
