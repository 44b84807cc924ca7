--- output.lua: reports to standard output or a file, wholly or not at all: a report that is lost on a full
--- disk is an error, not a success.

local explain = require "pmclua.explain"

local M = {}

local function refuse(path, why)
  error(explain.problem { code = "EWRITE", operation = "write",
    message = ("cannot write the report to %s: %s"):format(path, tostring(why or "the disk may be full")) }, 0)
end

--- Writes text. Raises an error object where it could not be written.
---@param text string
---@param path? string nil or "-": standard output
---@param mode? "w"|"a"
function M.write(text, path, mode)
  if not path or path == "-" then
    local ok, why = io.stdout:write(text)
    if ok then ok, why = io.stdout:flush() end
    if not ok then refuse("standard output", why) end
    return
  end
  local file, why = io.open(path, mode or "w")
  local ok = file
  if ok then ok, why = file:write(text) end
  if ok then ok, why = file:close() end
  if not ok then refuse(path, why) end
end

return M
