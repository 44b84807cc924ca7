--- ending.lua: how the run of a result ended.
--
-- Invariant: a bad end is known to the command line (host/running.lua) until the script reads it: `r.status`,
-- `r.problem` or `r.signal`. What pmclua itself reads of it, it reads here.

local running = require "pmclua.host.running"

local M = {}

local IS_END = { status = true, problem = true, signal = true }

--- Sets how a run ended.
---@param result pmclua.Result
---@param status "complete"|"interrupted"|"failed"
---@param problem? pmclua.Problem
---@param signal? integer that interrupted it
function M.set(result, status, problem, signal)
  if status == "complete" and not problem then
    result.status = status
    return
  end
  result.status, result.ended = nil, { status = status, problem = problem, signal = signal }
  running.note_end(result.ended)
end

--- Gives a result the end of another.
---@param result pmclua.Result
---@param other pmclua.Result
function M.share(result, other)
  result.status, result.ended = rawget(other, "status"), rawget(other, "ended")
end

--- How a run ended.
---@param result pmclua.Result
---@return string status, pmclua.Problem? problem, integer? signal
function M.of(result)
  local ended = rawget(result, "ended")
  local function field(name) return rawget(result, name) or ended and ended[name] or nil end
  return field "status", field "problem", field "signal"
end

--- The facts of a bad end, for scripts.
---@param result pmclua.Result
---@param key string
---@return any nil: it is no such field, or the run ended well
function M.read(result, key)
  local ended = IS_END[key] and rawget(result, "ended")
  if not ended then return nil end
  running.see_end(ended)
  return ended[key]
end

return M
