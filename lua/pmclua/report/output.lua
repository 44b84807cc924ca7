--- output.lua: writes a report to standard output or a file, completely or not at all; a full disk is an error.

local explain = require "pmclua.explain"

local M = {}

local function refuse(path, why)
  error(explain.problem { code = "EWRITE", operation = "write",
    message = ("cannot write the report to %s: %s"):format(path,
      (tostring(why or "the disk may be full"):gsub("^.*: ", ""))) }, 0)
end

-- Writes a text, or what a function gives in pieces.
local function put_all(file, content)
  if type(content) == "string" then return file:write(content) end
  local ok, why = true, nil
  content(function(piece)
    if ok then ok, why = file:write(piece) end
  end)
  return ok, why
end

--- Raises an error object where a report could not be written, before hours are spent on it. What is there is
--- not changed; what is no plain file (a pipe, a device) is not opened.
---@param path? string nil or "-": standard output
function M.check(path)
  if not path or path == "-" then return end
  local before = require("lfs").attributes(path, "mode")
  if before and before ~= "file" then return end
  local file, why = io.open(path, "a")
  if not file then refuse(path, why) end
  file:close()
  if not before then os.remove(path) end
end

--- Writes a report. Raises an error object where it could not be written.
---@param content string|fun(put: fun(piece: string)) text, or what writes it in pieces
---@param path? string nil or "-": standard output
---@param mode? "w"|"a"
function M.write(content, path, mode)
  if not path or path == "-" then
    local ok, why = put_all(io.stdout, content)
    if ok then ok, why = io.stdout:flush() end
    if not ok then refuse("standard output", why) end
    return
  end
  local file, why = io.open(path, mode or "w")
  local ok = file
  if ok then ok, why = put_all(file, content) end
  if ok then ok, why = file:close() end
  if not ok then refuse(path, why) end
end

return M
