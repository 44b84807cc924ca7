--- failure.lua: the message and exit status of an uncaught error.
--
-- An error object that prints itself is the user's mistake or a refusal by the system: it is shown as a paragraph
-- without traceback. Anything else is a bug in the script or in pmclua: the traceback shows the script's frames.

local raised = require "pmclua.base.raised"

local M = {}

local STATUS = { failed = 1, interrupted = 130 }

--- For xpcall's handler, called by it: objects that print themselves stay, as does `error()`.
---@param value any
---@return any
function M.describe(value)
  local caught = raised.catch(value, 1)
  if value == nil or caught.is_object then return value end
  return require("pmclua.base.problem").with_traceback(caught.message, caught.traceback)
end

--- The exit status of a described error, and what to print; nil: nothing.
---@param problem any
---@return integer status, string? message
function M.status(problem)
  if problem == nil then return STATUS.failed end
  if type(problem) ~= "table" then return STATUS.failed, tostring(problem) end
  local status = raised.field(problem, "status")
    or raised.field(problem, "code") == "EINTR" and STATUS.interrupted or STATUS.failed
  return status, not raised.field(problem, "quiet") and raised.message(problem) or nil
end

return M
