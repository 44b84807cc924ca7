--- ending.lua: the results of runs whose runner ended before it answered.

local core = require "pmclua.core"

local M = {}

--- The message for a runner that cannot be read from, before the errno's name.
M.UNHEARD = "no contact with the runner: "

-- The message for a kernel's runner that lost its connection to us.
local CUT_OFF = "it closed, replaced or wrote to descriptors of the runner that it does not own"

--- Explains the end of a runner that the workload did not cause.
---@param exit integer
---@param signal integer 0: none
---@return string
function M.why(exit, signal)
  if signal ~= 0 then return "the runner was killed by " .. core.signal_name(signal) end
  if exit == core.OUT_OF_MEMORY then return "the runner was out of memory" end
  if exit == core.NO_DESCRIPTOR then
    local _, hard = require("pmclua.core.processes").descriptor_limits()
    return ("the runner needs more descriptors: at most %d are allowed here (ulimit -Hn)"):format(hard)
  end
  return ("the runner ended with status %d"):format(exit)
end

--- The result of a run whose runner ended: by a signal of its own, or by exit. A kernel does that to its runner;
--- of a command nothing is known then, nor where we ended the runner because of `lost`.
---@param host pmclua.Host whose runner it was
---@param job table as of Session:run_each
---@param outcome? "timed-out"|"interrupted" why we end the runner
---@param kill boolean
---@param lost? string why nothing is known of the run
---@return table result
function M.of(host, job, outcome, kill, lost)
  if job.in_runner and kill then host.runner:end_descendants() end
  local exit, signal = host.runner:finish(kill and job.is_launch and "gently" or kill)
  host.runner = nil
  -- A signal to the whole process group (or a second Ctrl-C) ends the runner before we hear of it.
  if not outcome and core.interrupts() > 1 then outcome = "interrupted" end
  if outcome then exit, signal = -1, 0 end       -- it ended because we ended it
  if not outcome and job.in_runner and (exit == core.CUT_OFF or exit == -1 and signal == 0) then
    lost = lost or CUT_OFF
  end
  local is_own_end = exit == core.OUT_OF_MEMORY or exit == core.NO_DESCRIPTOR
  if not outcome and (lost or not job.in_runner or is_own_end) then
    lost, exit, signal = lost or M.why(exit, signal), -1, 0
  end
  outcome = outcome or (signal ~= 0 and "signalled" or "quit")
  return { outcome = outcome, lost = lost, exit = exit, signal = signal, readings = {}, threads = 0,
    output = "", errors = "" }
end

--- The result of a kernel's crash: its runner dies of the signal when it is let go.
---@param host pmclua.Host
---@param job table
---@param told table the runner's message of the crash
---@return table result
function M.crash(host, job, told)
  host.runner:end_descendants()
  local result = M.of(host, job, nil, false)
  result.outcome, result.signal, result.lost, result.crash = "signalled", told.signal, nil, told.crash
  return result
end

--- The result of a run whose runner cannot be read from: it is ended.
---@param host pmclua.Host
---@param job table
---@param why string an errno's name
---@return table result
function M.unheard(host, job, why)
  return M.of(host, job, nil, true, job.in_runner and why == "EPROTO" and CUT_OFF or M.UNHEARD .. why)
end

return M
