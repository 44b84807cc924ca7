--- owner.lua: who runs a shard: written where it starts, asked after by whoever comes later, on this host or
--- another.
--
-- Invariant: "ended" is only said of a process that cannot run any more. What cannot be told from here is not
-- guessed.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local members = require "pmclua.store.members"
local machine = require "pmclua.host.machine"
local tasks = require "pmclua.host.tasks"
local tools = require "pmclua.host.tools"

local M = {}

---@class pmclua.job.Owner
---@field host string its name
---@field boot? string the boot of its Linux
---@field namespace? integer of its process id
---@field pid integer
---@field start? integer of the process, ticks since boot
---@field job? string Slurm's number of the job that it is in
---@field restart integer how often Slurm has requeued that job

--- This process.
---@return pmclua.job.Owner
function M.here()
  local pid = core.pid()
  return { host = machine.line "/proc/sys/kernel/hostname" or "unknown", pid = pid, start = tasks.start(pid),
    boot = machine.line "/proc/sys/kernel/random/boot_id",
    namespace = require("lfs").attributes("/proc/self/ns/pid", "ino"),
    job = os.getenv "SLURM_JOB_ID", restart = tonumber(os.getenv "SLURM_RESTART_COUNT" or "") or 0 }
end

-- States in which a job's processes run no more.
local OVER = lists.set { "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
  "OUT_OF_MEMORY", "PENDING", "REQUEUED", "TIMEOUT" }

-- The state of a Slurm job; nil without Slurm, or without an answer.
local function slurm_state(job)
  local squeue = tools.find "squeue"
  if not (squeue and job:match "^%d+$") then return nil end
  local output, trouble = tools.read(squeue,
    { "--noheader", "--states=all", "--format=%T", "--jobs=" .. job }, { errors = true })
  if trouble then return nil end
  if output:find "Invalid job id" then return "ended" end      -- Slurm forgets jobs some minutes after their end
  local states = lists.collect(output:gmatch "[%u_]+")
  if #states == 0 then return nil end
  return lists.all(states, function(state) return OVER[state] end) and "ended" or "running"
end

-- One Linux, and process ids of one namespace: /proc tells.
local function state_here(owner, here)
  if owner.boot ~= here.boot then return "ended" end
  if owner.namespace ~= here.namespace then return nil end
  return tasks.start(owner.pid) == owner.start and tasks.is_alive(owner.pid) and "running" or "ended"
end

--- Whether an owner still runs; nil: it cannot be told from here.
---@param owner pmclua.job.Owner
---@return "running"|"ended"|nil
function M.state(owner)
  local here = M.here()
  -- A requeue begins when nothing of the job runs any more.
  if owner.job and owner.job == here.job and here.restart > owner.restart then return "ended" end
  -- A host of this name that was started since is the same one.
  local is_here = owner.boot == here.boot or owner.host == here.host
  local state = is_here and owner.boot and here.boot and state_here(owner, here)
  if state then return state end
  return owner.job and slurm_state(owner.job) or nil
end

--- "n07, process 1234, Slurm job 88".
---@param owner pmclua.job.Owner
---@return string
function M.name(owner)
  local job = owner.job and ", Slurm job " .. owner.job or ""
  return ("%s, process %d%s"):format(require("pmclua.base.text").safe(owner.host), owner.pid, job)
end

local NEEDED = { "host", "pid", "restart" }

--- An owner from its text; nil if the text describes none.
---@param text string
---@return pmclua.job.Owner?
function M.read(text)
  local value = require("dkjson").decode(text)
  local is_owner = type(value) == "table" and not members.wrong(value, members.owner, NEEDED)
  return is_owner and value or nil
end

return M
