--- job.lua: an experiment as one shard of a job: `--job DIR`.
--
-- The same command line starts a shard, goes on with it, or does nothing: whatever there is still to do of
-- it.

local lists = require "pmclua.base.lists"
local output = require("pmclua.base.lazy").module "pmclua.host.output"
local ranks = require "pmclua.host.rank"

local M = {}

local STATUS = { done = 0, failed = 1 }

local function usage_error(...)
  error(require("pmclua.base.problem").usage_error((...):format(select(2, ...))), 0)
end

-- ---- which shard -----------------------------------------------------------------------------------------------

-- "3/200"
local function parse(word)
  local index, count = word:match "^(%d+)/(%d+)$"
  index, count = tonumber(index), tonumber(count)
  if not index then usage_error("--shard takes NUMBER/COUNT, such as 3/10, not '%s'", word) end
  if index < 1 or index > count then
    usage_error("--shard %s: shards are numbered from 1 to %d", word, count)
  end
  return index, count
end

-- The shard that the environment or the command line says, as a function of the job, and how many there are;
-- nil: the
-- job knows.
local function place(overrides)
  if overrides.job == "" then usage_error "--job takes a folder, not ''" end
  if overrides.shard then
    local index, count = parse(overrides.shard)
    return function() return index end, { shards = count, first = 1, step = 1 }, true
  end
  local task = not overrides.together and ranks.array()
  if task then
    return function(job) return job:shard_of_task(task.id) end,
      task.is_regular and { shards = task.count, first = task.first, step = task.step } or nil, false
  end
  local rank, size = ranks.number()
  if rank and size then
    return function() return rank + 1 end, { shards = size, first = 0, step = 1 }, true
  end
  if overrides.together then
    usage_error "--together is for the ranks of a launch: srun or mpirun sets their number"
  end
  usage_error("--job %s: which part of it is this? Say --shard 1/10, or start it in a Slurm array or by srun "
    .. "or mpirun", overrides.job)
end

-- ---- the job ---------------------------------------------------------------------------------------------------

-- Options that may differ between shards of a job: those with a value, and flags.
local OWN = { job = "value", shard = "value", output = "value", quiet = "flag", ["any-host"] = "flag",
  ["any-cpu"] = "flag" }

-- The arguments that make the experiment what it is.
local function arguments_of(words)
  local kept, i = {}, 1
  while words[i] do
    local name, value = words[i]:match "^%-%-([%w-]+)(=?)"
    if not name or not OWN[name] then kept[#kept + 1] = words[i] end
    if OWN[name] == "value" and value == "" then i = i + 1 end
    i = i + 1
  end
  return kept
end

local function script_hash(script)
  local content = script and script.path and require("pmclua.host.machine").text(script.path)
  return content and require("pmclua.core").hash(content) or nil
end

-- The facts of a job that begins here.
local function new_facts(declaration, by, counted, same, script)
  if not counted then
    usage_error "the array's tasks are no plain range, which says nothing of the parts: say --shard 1/10"
  end
  if declaration.stop and by == "blocks" then
    usage_error "--shard-by blocks: a stop rule looks at all repetitions, and a shard has only its own"
  end
  local cells = require("pmclua.experiment.plan").cells(declaration)
  local most = by == "ranks" and counted.shards or require("pmclua.job.share").most(declaration, cells, by)
  return { by = by, seed = declaration.seed, shards = counted.shards, parts = math.min(counted.shards, most),
    first = counted.first, step = counted.step, script = script and script.path,
    script_hash = same.script_hash, arguments = same.arguments }
end

-- The job that a command line names, and the shard of it that this process is.
local function join(declaration, overrides, script)
  for _, name in ipairs { "store", "resume", "no_store" } do
    if overrides[name] then usage_error("--%s: with --job, each shard has its file in the job's folder",
      (name:gsub("_", "-"))) end
  end
  if overrides.together and overrides.shard_by then usage_error "--together: each rank runs all of it" end
  local by = overrides.together and "ranks" or overrides.shard_by or "cells"
  local number_in, counted, is_count_known = place(overrides)
  local same = { script_hash = script_hash(script), arguments = arguments_of(script and script.words or {}),
    by = by, shards = is_count_known and counted.shards or nil }
  local job = require("pmclua.job.folder").join(overrides.job, function()
    return new_facts(declaration, by, counted, same, script)
  end, same)
  return job, number_in(job)
end

-- ---- one shard -------------------------------------------------------------------------------------------------

local LONGEST_LINE = 2 ^ 24

-- A file without a whole first line does not count: its run was killed when it had just begun.
local function can_resume(path)
  if not require("pmclua.core").stat(path) then return false end
  local beginning = require("pmclua.core").read_beginning(path, LONGEST_LINE)
  if beginning and beginning:find("\n", 1, true) then return true end
  os.remove(path)
  return false
end

local function run_options(job, number, options)
  local path, own = job:path(number), lists.copy(options)
  own[can_resume(path) and "resume" or "store"] = path
  own.is_own, own.any_name = true, true
  own.barrier = job.by == "ranks" and require("pmclua.job.barrier").new(job) or nil
  return own
end

-- Why a run did not complete its shard.
local function failure_of(ok, result)
  if not ok then return tostring(result) end
  local status, problem, signal = require("pmclua.result.ending").of(result)
  if problem then return tostring(problem) end
  return status == "interrupted" and ("interrupted by signal %d"):format(signal or 0) or nil
end

local function say(overrides, ...)
  if not overrides.quiet then output.note(...) end
end

-- The share that a shard of another owner is; the exit status.
local function leave(job, number, owner, state, overrides)
  local whose = require("pmclua.job.owner").name(owner)
  if state == "running" then
    say(overrides, "shard %d of %d is being run by %s: nothing to do", number, job.shards, whose)
    return STATUS.done
  end
  output.note("shard %d of %d is of %s, and whether that still runs cannot be told from here; if nothing of "
    .. "this job does, remove %s/locks", number, job.shards, whose, job.folder)
  return STATUS.failed
end

--- Runs a shard as far as it is to be run. Its report is the job's: `pmclua report DIR`.
---@param experiment pmclua.Experiment
---@param overrides pmclua.Overrides
---@param script? pmclua.Script
---@param conclude fun(run: fun(options: table): pmclua.Result): integer  runs it, and gives the exit status
---@return integer status
function M.main(experiment, overrides, script, conclude)
  local declaration = experiment.declaration
  local job, number = join(declaration, overrides, script)
  local name = ("shard %d of %d"):format(number, job.shards)
  if job:is_empty(number) then
    say(overrides, "%s has nothing to run: there are %d parts", name, job.parts)
    return STATUS.done
  end
  local lock, owner, state = job:take(number)
  if not lock then return leave(job, number, owner, state, overrides) end
  local ok, status = pcall(function()
    if job:state(number).state == "complete" then
      say(overrides, "%s is complete: nothing to do", name)
      return STATUS.done
    end
    declaration.seed = job.seed
    require("pmclua.job.share").take(declaration, { by = job.by, index = number, count = job.shards })
    return conclude(function(options)
      job:note_failure(number)
      local done, result = pcall(require("pmclua.experiment").run, experiment,
        run_options(job, number, options))
      job:note_failure(number, failure_of(done, result))
      if not done then error(result, 0) end
      local folder = require("pmclua.workload.shellwords").join { job.folder }
      say(overrides, "%s: `pmclua status %s` says what is missing, `pmclua report %s` shows what there is",
        name, folder, folder)
      return result
    end)
  end)
  lock:release()
  return ok and status or error(status, 0)
end

return M
