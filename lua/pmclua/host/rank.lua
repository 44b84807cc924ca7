--- rank.lua: which part of a parallel job this process is, from the environment that launchers and batch systems set.
--
-- Each rank stores a result of its own, with host and rank in the file name and the header. pmclua starts no ranks
-- itself.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

-- Open MPI, MPICH and Intel MPI, other users of PMIx, Slurm: the rank, and how many there are.
local VARIABLES = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, { "PMI_RANK", "PMI_SIZE" },
  { "PMIX_RANK", "SLURM_STEP_NUM_TASKS" } }
local SLURM = { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" }

local SPECIAL_STEP = 2 ^ 32 - 16    -- from here on: batch scripts, shells of salloc and the like, which are no ranks

local function number(name, read)
  local value = (read or os.getenv)(name)
  return value and value:match "^%d+$" and tonumber(value) or nil
end

local MOST = 2 ^ 24                 -- ranks; what is above is no number of them

local function number_of_ranks(name, read)
  local value = number(name, read)
  return value and value <= MOST and value or nil
end

-- Slurm sets SLURM_PROCID in a batch script, too.
local function is_in_step(read)
  local step = number("SLURM_STEP_ID", read)
  return step ~= nil and step < SPECIAL_STEP
end

--- This process's rank and the number of ranks; nil if it belongs to no parallel launch.
---@param read? fun(name: string): string? the environment of another process
---@return integer? rank from 0
---@return integer? size nil: the launcher does not say
function M.number(read)
  for _, names in ipairs(VARIABLES) do
    local rank = number_of_ranks(names[1], read)
    if rank then return rank, number_of_ranks(names[2], read) end
  end
  if not is_in_step(read) then return nil end
  return number_of_ranks(SLURM[1], read),
    number_of_ranks(SLURM[2], read) or number_of_ranks("SLURM_NTASKS", read)
end

--- The variables that tell of a process's rank, and of its node where the launcher has a name for that.
---@return string[]
function M.variables()
  return lists.joined { lists.joined(VARIABLES), SLURM, { "SLURM_STEP_ID", "SLURM_NTASKS", M.NODE } }
end

--- The variable in which Slurm has the name of a node.
M.NODE = "SLURMD_NODENAME"

-- Variables in which launchers name a launch; each rank has the same value.
local LAUNCHES = { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID", "PMI_JOBID" }

--- A name of this launch, for files of its own; "launch" where the launcher gives it none.
---@return string
function M.launch()
  local name = "launch"
  for _, variable in ipairs(LAUNCHES) do
    local id = os.getenv(variable)
    if id then
      name = id .. (variable == "SLURM_JOB_ID" and "." .. (os.getenv "SLURM_STEP_ID" or "0") or "")
      break
    end
  end
  -- A job that Slurm requeues keeps its number, and those of its steps.
  name = name .. "." .. (os.getenv "SLURM_RESTART_COUNT" or "0")
  return (name:gsub("[^%w._-]+", "-"))
end

---@class pmclua.ArrayTask
---@field id integer of this task
---@field first integer the lowest of the array
---@field step integer between two of them
---@field count integer of tasks
---@field is_regular boolean first, step and count give all ids

--- The place of this process in a Slurm job array; nil where it is in none.
---@return pmclua.ArrayTask?
function M.array()
  local id = number "SLURM_ARRAY_TASK_ID"
  if not id then return nil end
  local first, last = number "SLURM_ARRAY_TASK_MIN" or id, number "SLURM_ARRAY_TASK_MAX" or id
  local step, count = math.max(1, number "SLURM_ARRAY_TASK_STEP" or 1), number "SLURM_ARRAY_TASK_COUNT" or 1
  return { id = id, first = first, step = step, count = count,
    is_regular = first + (count - 1) * step == last and (id - first) % step == 0 }
end

local function host()
  local name = require("pmclua.host.machine").line "/proc/sys/kernel/hostname" or "host"
  return (name:gsub("[^%w._-]+", "-"))
end

--- A name with this host and rank in it: "matrix" is "matrix-node7-rank3"; itself where there is no rank.
---@param name string
---@return string
function M.name(name)
  local rank = M.number()
  return rank and ("%s-%s-rank%d"):format(name, host(), rank) or name
end

--- The path of this rank's own file: "out.jsonl" is "out-node7-rank3.jsonl".
---@param path string
---@return string
function M.path(path)
  local stem, ending = path:match "^(.*)(%.[^./]+)$"
  if not stem or stem == "" or stem:find "/$" then stem, ending = path, "" end
  return M.name(stem) .. ending
end

--- Whether this process writes to standard streams what all ranks would write there: it is rank 0, or none.
---@return boolean
function M.reports() return (M.number() or 0) == 0 end

--- Rank 0's remark on a report that it alone makes; nil: there are no others.
---@param options table of a run
---@return string?
function M.remark(options)
  local rank, size = M.number()
  if options.is_own or rank ~= 0 or (size or 1) == 1 then return nil end
  local kept = options.store == false and "the others' are not kept: --store FILE does that"
    or "each has stored its own; `pmclua report` takes the files of all"
  return ("these are the values of rank 0 of %d alone; %s"):format(size, kept)
end

--- Options of a run, with files of this rank's own.
---@param options table store and resume may be paths; is_own: they are this process's already
---@return table
function M.options(options)
  if options.is_own or not M.number() then return options end
  local own = lists.copy(options)
  if own.store == "-" then
    require("pmclua.base.problem").misuse("store: ranks cannot share standard output; name a file", 2)
  end
  if type(own.store) == "string" then own.store = M.path(own.store) end
  -- The file that a rank wrote may be named itself.
  if own.resume and core.stat(M.path(own.resume)) then own.resume = M.path(own.resume) end
  return own
end

return M
