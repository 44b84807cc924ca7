--- launcher.lua: what is said of programs that have others do their work: a daemon, or another machine.

local text = require "pmclua.base.text"

local M = {}

--- The status of counts that lack what a launcher had others do.
M.STATUS = "launcher"

local SLURM, CONTAINERS, REMOTE = "slurmstepd", "the container daemon", "another machine"
local QUEUE, SYSTEMD = "the batch system", "systemd"

-- Others have it done by another process.
local WHO = { srun = SLURM, sbatch = QUEUE, qsub = QUEUE, qrsh = QUEUE, bsub = QUEUE, at = "atd",
  pbsdsh = QUEUE, oarsub = QUEUE, condor_submit = QUEUE,
  docker = CONTAINERS, nerdctl = CONTAINERS, ctr = CONTAINERS, crictl = CONTAINERS, ssh = REMOTE,
  rsh = REMOTE, dbclient = REMOTE, ["systemd-run"] = SYSTEMD, run0 = SYSTEMD, machinectl = SYSTEMD }

local function who(name) return WHO[name] or "another process" end

--- Why counts are not those of all that a command did.
---@param name string of the launcher
---@return string
function M.why(name) return ("it lacks what %s had %s run"):format(text.safe(name), who(name)) end

--- The same as a remark on a run.
---@param name string
---@return string
function M.remark(name)
  local shown = text.safe(name)
  local form = "%s had its work done by %s, which is no child of it: counts lack it. "
    .. (who(name) == SLURM and "Have its ranks counted: pmclua stat --launch '%s …' -- PROGRAM"
      or "Measure inside: %s … pmclua stat -- PROGRAM")
  if who(name) == SLURM then return form:format(shown, who(name), shown) end
  local here = who(name) == REMOTE and "" or "; or count a CPU or cgroup (-C, -G)"
  return form:format(shown, who(name), shown) .. here
end

return M
