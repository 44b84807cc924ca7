--- folder.lua: the folder of a job: job.json, a result file for each shard, and what is known of the shards.
--
-- Invariant: job.json is written once, whole, by the first shard that comes; all others go by it. A shard's file is
-- named by its number, and written by whoever holds the shard's lock.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local json = require "pmclua.base.json"
local locks = require "pmclua.job.lock"
local members = require "pmclua.store.members"
local owners = require "pmclua.job.owner"
local paths = require "pmclua.host.paths"
local text = require "pmclua.base.text"
local version = require "pmclua.store.version"

local M = {}

local SCHEMA = 1
local NEEDED = { "by", "shards", "parts", "seed", "first", "step", "arguments" }

---@class pmclua.Job
---@field folder string
---@field by "cells"|"blocks"|"ranks" what shards divide; ranks: each runs all of it
---@field shards integer
---@field parts integer of them have something to run
---@field seed integer of the whole
---@field first integer the array task of the first shard
---@field step integer between the array tasks of two shards
---@field script? string its path
---@field script_hash? string
---@field arguments string[] of the script
local Job = {}
Job.__index = Job

local function refuse(folder, why, hint)
  error(explain.problem { code = "EJOB", operation = "join", hint = hint,
    message = ("%s: %s"):format(text.safe(folder), why) }, 0)
end

-- ---- job.json ----

--- Whether a path is the folder of a job.
---@param path string
---@return boolean
function M.is(path) return core.stat(path .. "/job.json") ~= nil end

--- The job of a folder; raises an error object where there is none.
---@param folder string
---@return pmclua.Job
function M.open(folder)
  local content, why = core.read_plain(folder .. "/job.json")
  if not content then
    refuse(folder, "it is no folder of a job: " .. why, "`pmclua SCRIPT --job DIR` makes one")
  end
  local job = require("dkjson").decode(content)
  if type(job) ~= "table" or job.kind ~= "job" then refuse(folder, "its job.json is not one of pmclua") end
  local refusal = version.refusal(job, SCHEMA)
  if refusal then refuse(folder, refusal) end
  local wrong = members.wrong(job, members.job, NEEDED)
  if wrong then refuse(folder, ("'%s' in its job.json is not what it should be"):format(wrong)) end
  job.folder = folder
  return setmetatable(job, Job)
end

local FACTS = { "kind", "schema", "pmclua", "needs", "script", "script_hash", "arguments", "seed", "by",
  "shards", "parts", "first", "step" }

-- Writes job.json unless somebody else has.
local function create(folder, facts)
  local ok, _, number = paths.make_open(folder .. "/locks")
  if not ok then refuse(folder, "it cannot be made: " .. core.errno_text(number)) end
  local job = { kind = "job", schema = SCHEMA, pmclua = core.version, needs = version.NEEDED }
  for _, name in ipairs(FACTS) do job[name] = job[name] or facts[name] end
  locks.create(folder, folder .. "/job.json", json.encode(job, { order = FACTS, indent = 1 }) .. "\n")
end

local SAME = { { "by", "is divided by %s" }, { "shards", "has %s shards" } }
local ANOTHER = "its shards would not be of one experiment: use another folder"

local function check_same(job, facts)
  for _, fact in ipairs(SAME) do
    local was, is = job[fact[1]], facts[fact[1]]
    if is and was ~= is then
      refuse(job.folder, ("this job %s, not %s"):format(fact[2]:format(was), is), ANOTHER)
    end
  end
  if job.script_hash ~= facts.script_hash then
    refuse(job.folder, ("this job was started with another text of %s"):format(job.script or "its script"),
      ANOTHER)
  end
  local was, is = table.concat(job.arguments, " "), table.concat(facts.arguments, " ")
  if was ~= is then
    refuse(job.folder, ("this job was started with the arguments '%s', not '%s'"):format(was, is), ANOTHER)
  end
end

--- The job of a folder, which is begun where it is not there yet.
---@param folder string
---@param facts fun(): table of job.json, of a job that is begun
---@param same table facts that have to be those of the job: script_hash, arguments, and by and shards where
---  they were given
---@return pmclua.Job
function M.join(folder, facts, same)
  if not M.is(folder) then create(folder, facts()) end
  local job = M.open(folder)
  check_same(job, same)
  return job
end

-- ---- shards ----

local function tasks_of(job)
  local list = {}
  for number = 1, job.shards do list[number] = job.first + (number - 1) * job.step end
  return text.ranges(list)
end

--- The shard of an array task. Tasks of an array that is started again have the numbers of the first one.
---@param id integer
---@return integer
function Job:shard_of_task(id)
  local number = (id - self.first) / self.step + 1
  if number % 1 == 0 and number >= 1 and number <= self.shards then return number end
  refuse(self.folder, ("array task %d is none of this job: it has %s"):format(id, tasks_of(self)))
end

local function name_of(job, number)
  return ("shard-%0" .. #tostring(job.shards) .. "d"):format(number)
end

--- The result file of a shard.
---@param number integer
---@return string path
function Job:path(number) return ("%s/%s.jsonl"):format(self.folder, name_of(self, number)) end

local function failure_path(job, number) return ("%s/%s.failed"):format(job.folder, name_of(job, number)) end

--- Whether a shard's share is empty: there are more shards than there are parts.
function Job:is_empty(number) return number > self.parts end

--- Takes a shard for this process, as lock.take does.
---@param number integer
---@return pmclua.job.Lock?, pmclua.job.Owner?, string?
function Job:take(number) return locks.take(self.folder .. "/locks", name_of(self, number)) end

--- Notes why a shard's latest run did not complete it.
---@param number integer
---@param why? string nil: it has
function Job:note_failure(number, why)
  if why then core.replace(failure_path(self, number), why .. "\n")
  else os.remove(failure_path(self, number)) end
end

local TAIL = 65536

local function is_complete(path)
  local file = core.open_plain(path)
  if not file then return false end
  local bytes = core.stat(path).bytes
  local tail = file:read_at(math.max(0, bytes - TAIL), TAIL) or ""
  file:close()
  -- From the beginning: each other place to begin at would cost the rest of a long line.
  local last = tail:match "^.*\n([^\n]*)\n$"
  return last ~= nil and last:find '^{"kind":"end","status":"complete"' ~= nil
end

local function count_records(path)
  local count, open = 0, require("pmclua.store").open
  local ok = pcall(function()
    open(path).each(function(record)
      local is_part = record.region or record.thread or record.cpu or record.task
      if not is_part then count = count + 1 end
    end, true)
  end)
  return ok and count or nil
end

---@class pmclua.ShardState
---@field number integer
---@field task integer its array task
---@field state "complete"|"running"|"failed"|"missing" failed: begun, and neither complete nor running
---@field path string of its file
---@field why? string it failed
---@field repetitions? integer in its file, of one that is running or failed
---@field owner? string who runs it, or did last
---@field is_certain? boolean whether its process was seen to run

local function unfinished_state(job, number, owner)
  local path, running = job:path(number), owner and owners.state(owner)
  local state = { path = path, owner = owner and owners.name(owner), repetitions = count_records(path) }
  if owner and running ~= "ended" then
    state.state, state.is_certain = "running", running == "running"
    return state
  end
  local content = core.read_plain(failure_path(job, number))
  if not (owner or content or core.stat(path)) then state.state = "missing"
  else
    state.state = "failed"
    state.why = content and content:gsub("%s+$", "") or "it was ended in the middle"
  end
  return state
end

--- The state of a shard.
---@param number integer
---@return pmclua.ShardState
function Job:state(number)
  local path = self:path(number)
  local state
  if self:is_empty(number) or is_complete(path) then state = { state = "complete", path = path }
  else
    local owner = locks.owner(self.folder .. "/locks", name_of(self, number))
    state = unfinished_state(self, number, owner)
  end
  state.number, state.task = number, self.first + (number - 1) * self.step
  return state
end

--- The states of all shards, in order.
---@return pmclua.ShardState[]
function Job:states()
  local list = {}
  for number = 1, self.shards do list[number] = self:state(number) end
  return list
end

return M
