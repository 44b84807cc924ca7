--- jobs.lua: the environment of a process of a job.

local M = {}

local NONE = {}
for _, name in ipairs { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
  "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT", "SLURM_JOB_ID", "SLURM_PROCID", "SLURM_STEP_ID",
  "SLURM_RESTART_COUNT", "PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK" } do
  NONE[name] = false
end

--- An environment without what batch systems and launchers set, and with these variables.
---@param variables? table<string, string|integer>
---@return table<string, string|integer|false> for support.run and support.with_env; false: unset
function M.with(variables)
  local env = {}
  for name, value in pairs(NONE) do env[name] = value end
  for name, value in pairs(variables or {}) do env[name] = value end
  return env
end

return M
