#!/usr/bin/env pmclua
-- A job of a thousand shards of 10,000 repetitions, a plan of 10,000 cells, Lua functions in 1,000 cells.
--
-- usage: pmclua tests/bench/files.lua [SHARDS]      (1000)
-- Runs one shard; the others are its copies. Each step is a process of its own. Needs 0.9 MB of TMPDIR a shard. Exit 1
-- where a step takes more CPU time, memory or bytes than is promised of 1000 shards.

local core = require "pmclua.core"
local lfs = require "lfs"
local temporary = require "pmclua.host.temporary"

local SHARDS = tonumber((arg or {})[1]) or 1000
local PMCLUA = core.folder() .. "/pmclua"

-- What a script of the job is; N cells of a plan; a Lua function in N cells.
local SWEEP = [[
local pmc = require "pmclua"
local levels = {}
for i = 1, %d do levels[i] = i end
return pmc.experiment { name = "sweep", factors = { { "n", levels } }, iterations = 100, warmup = 0,
  repetitions = 10000, events = { "duration_time", "page-faults" },
  workloads = { add = pmc.kernel { symbol = "add", code = "#include <pmclua_kernel.h>\n"
    .. "void add(void *s, uint64_t n) { (void)s; while (n--) pmclua_keep(n); }" } } }
]]
local CELLS = [[
local pmc = require "pmclua"
local levels = {}
for i = 1, %d do levels[i] = i end
return pmc.experiment { name = "cells", factors = { { "n", levels } }, events = { "page-faults" },
  repetitions = 5, warmup = 0, workloads = { %s } }
]]

local folder = temporary.make "bench"

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
  return folder .. "/" .. name
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- Wall and CPU seconds, and memory in MB, of a command.
local function run(command)
  local said = folder .. "/time"
  local status = os.execute(("command time -o '%s' -f '%%e %%U %%S %%M' %s"):format(said, command))
  local wall, user, system, kb = read(said):match "([%d.]+) ([%d.]+) ([%d.]+) (%d+)\n$"
  assert(status == 0, command)
  return tonumber(wall), tonumber(user) + tonumber(system), tonumber(kb) / 1024
end

local function make_job()
  local script, job = write("sweep.lua", SWEEP:format(SHARDS)), folder .. "/job"
  run(("'%s' '%s' --job '%s' --shard 1/%d --quiet"):format(PMCLUA, script, job, SHARDS))
  local name = ("%s/shard-%%0%dd.jsonl"):format(job, #tostring(SHARDS))
  local first = read(name:format(1))
  for i = 2, SHARDS do
    local text = first:gsub('"n":1}', ('"n":%d}'):format(i)):gsub('"n=1"', ('"n=%d"'):format(i))
      :gsub('"index":1}', ('"index":%d}'):format(i)):gsub('"1/(%d+)"', ('"%d/%%1"'):format(i))
    local file = assert(io.open(name:format(i), "w"))
    file:write(text)
    file:close()
  end
  return job
end

local is_kept = true

local function row(what, command, most, output)
  local wall, cpu, mb = run(command)
  local bytes = output and lfs.attributes(output, "size") / 1e6
  if output then os.remove(output) end
  local holds = cpu <= most.cpu and mb <= (most.mb or mb) and (bytes or 0) <= (most.bytes or math.huge)
  is_kept = is_kept and holds
  print(("| %s | %.2f | %.2f | %.0f MB | %s | %s%s |"):format(what, wall, cpu, mb,
    bytes and ("%.1f MB"):format(bytes) or "", holds and "" or "! ", most.said))
end

local ok, why = pcall(function()
  local job = make_job()
  print(("### %d shards of 10,000 repetitions\n"):format(SHARDS))
  print "| step | seconds | of CPU | most memory | written | promised |"
  print "|---|---|---|---|---|---|"
  row("`report DIR`", ("'%s' report '%s' --output '%s/a.txt'"):format(PMCLUA, job, folder),
    { cpu = 10, mb = 500, said = "10 s, 500 MB" }, folder .. "/a.txt")
  row("the same as HTML", ("'%s' report '%s' --format html --output '%s/a.html'"):format(PMCLUA, job, folder),
    { cpu = 15, mb = 500, bytes = 2, said = "15 s, 2 MB" }, folder .. "/a.html")
  local all = folder .. "/all.jsonl"
  row("`merge`", ("'%s' merge --by none -o '%s' '%s'/shard-*.jsonl >'%s/said'")
    :format(PMCLUA, all, job, folder), { cpu = 15, said = "15 s" }, all)
  row("`--plan` of 10,000 cells", ("'%s' '%s' --plan --output '%s/said' >'%s/plan'"):format(PMCLUA,
    write("plan.lua", CELLS:format(10000, '"true {n}"')), folder, folder),
    { cpu = 0.2, bytes = 0.002, said = "0.2 s, a screen" }, folder .. "/plan")
  local functions = write("functions.lua", CELLS:format(1000, "f = function() end"))
  row("5 runs of a Lua function in each of 1,000 cells",
    ("'%s' '%s' --no-store --quiet --output '%s/said'"):format(PMCLUA, functions, folder),
    { cpu = 1, said = "1 s" })
end)
temporary.remove(folder)
if not ok then error(why, 0) end
os.exit(is_kept and 0 or 1)
