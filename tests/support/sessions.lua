--- sessions.lua: workloads as a session of the runner takes them.

local core = require "pmclua.core"

local M = {}

--- Defines a command whose output and errors are captured.
---@param session pmclua.Session
---@param ... string its words
---@return integer id of the workload
function M.command(session, ...)
  local words = { ... }
  return session:workload(function(message)
    for _, word in ipairs(words) do message:text("argument", word) end
    message:number("output", core.OUTPUT.capture):number("errors", core.OUTPUT.capture)
  end)
end

return M
