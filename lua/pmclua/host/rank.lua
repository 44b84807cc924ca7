--- rank.lua: the rank of this process in a parallel job, from the environment that mpirun and srun set.
--
-- Each rank stores its own result, with host and rank in the file name and the header. pmclua starts no ranks
-- itself.

local core = require "pmclua.core"

local M = {}

-- Open MPI, MPICH and Intel MPI, other users of PMIx, Slurm. Slurm's is there under sbatch without srun, too.
local VARIABLES = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID" }

--- This process's rank; nil where it is none of a job.
---@return integer?
function M.number()
  for _, name in ipairs(VARIABLES) do
    local value = os.getenv(name)
    local rank = value and value:match "^%d+$" and tonumber(value)
    if rank then return rank end
  end
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

--- Options of a run, with files of this rank's own.
---@param options table store and resume may be paths
---@return table
function M.options(options)
  if not M.number() then return options end
  local own = require("pmclua.base.lists").copy(options)
  if own.store == "-" then
    require("pmclua.base.problem").misuse("store: ranks cannot share standard output; name a file", 2)
  end
  if type(own.store) == "string" then own.store = M.path(own.store) end
  -- The file that a rank wrote may be named itself.
  if own.resume and core.stat(M.path(own.resume)) then own.resume = M.path(own.resume) end
  return own
end

return M
