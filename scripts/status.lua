#!/usr/bin/env pmclua
-- Which shards of a job are done, and which are to be run (again)?
-- for: compare
--
-- method: reads the job's folder (`pmclua SCRIPT --job DIR`): each shard's file, and who holds its lock.
-- usage: pmclua status DIR [--json]
--        sbatch --array=$(pmclua status --array DIR) …
-- example:
--   pmclua pages --job sweep --shard 1/3
--   pmclua pages --job sweep --shard 2/3
--   pmclua pages --job sweep --shard 3/3
--   pmclua status sweep
--   sweep · pages.lua · 3 shards by cells, seed 1126004862
--   complete     3  1-3
-- reading: shards are complete, running, failed (begun, and neither complete nor running; why, stands beside it)
--   or missing, by the numbers of the array's tasks; of other jobs by their own, from 1. The same command
--   line goes on with a shard. `to run: --array=3,17-19` is for sbatch. Exit status: 0 all are complete, 3
--   some are to be run, 75 all others still run.
-- caveats: whether a process on another host runs is known from Slurm. Where that does not say, the shard
--   counts as running, and "not seen" stands beside its owner.

local pmc = require "pmclua"

local opt = pmc.options {
  { "array", false, help = "print only which tasks are to be run, as `sbatch --array` takes them" },
  { "json", false, help = "print all that is known as JSON" },
  { "folder", argument = true, value = "DIR", help = "the job's folder" },
  experiment = false,
}

local STATUS = { complete = 0, to_run = 3, running = 75 }
local STATES = { "complete", "running", "failed", "missing" }

local ok, job = pcall(pmc.stored.job, opt.folder)
if not ok then pmc.fail(job) end

local put = pmc.output()
local groups = {}
for _, state in ipairs(STATES) do groups[state] = {} end
for _, shard in ipairs(job.list) do table.insert(groups[shard.state], shard) end

-- The remark behind a shard's number.
local function remark(shard)
  if shard.state == "running" then
    return (" (%s%s)"):format(shard.owner, shard.is_certain and "" or ", not seen")
  elseif shard.state == "failed" then
    local kept = shard.repetitions and (" (%d repetitions are kept)"):format(shard.repetitions) or ""
    return (": %s%s"):format((shard.why:gsub("\n.*", "")), kept)
  end
end

local function print_state(state)
  local list = groups[state]
  if #list == 0 then return end
  if state == "complete" or state == "missing" then
    put(("%-8s  %4d  %s\n"):format(state, #list, job.tasks(list)))
  end
  for i, shard in ipairs(list) do
    local note = remark(shard)
    local head = i == 1 and ("%-8s  %4d"):format(state, #list) or (" "):rep(14)
    if note then put(("%s  %d%s\n"):format(head, shard.task, note)) end
  end
end

local to_run = {}
for _, shard in ipairs(job.list) do
  if shard.state == "failed" or shard.state == "missing" then to_run[#to_run + 1] = shard end
end

if opt.json then
  put(job.json())
elseif opt.array then
  if #to_run > 0 then put(job.tasks(to_run) .. "\n") end
else
  local script = (job.script or "standard input"):match "[^/]*$"
  put(("%s · %s · %d shards by %s, seed %d\n"):format(opt.folder, script, job.shards, job.by, job.seed))
  for _, state in ipairs(STATES) do print_state(state) end
  if #to_run > 0 then put(("to run: --array=%s\n"):format(job.tasks(to_run))) end
end

return #to_run > 0 and STATUS.to_run or #groups.running > 0 and STATUS.running or STATUS.complete
