--- version.lua: which pmclua reads a file, by what the file says of itself (STABILITY.md).

local core = require "pmclua.core"

local M = {}

--- The oldest pmclua that reads what this one writes. Whoever adds a line, field or value that it would refuse
--- sets it to the version that comes next.
M.NEEDED = "0.1.0"

local function numbers(version)
  local major, minor, patch = version:match "^(%d+)%.(%d+)%.(%d+)"
  return { tonumber(major) or 0, tonumber(minor) or 0, tonumber(patch) or 0 }
end

local function is_newer(a, b)
  local ours, theirs = numbers(b), numbers(a)
  for i = 1, 3 do
    if theirs[i] ~= ours[i] then return theirs[i] > ours[i] end
  end
  return false
end

--- Why this pmclua does not read a file, or the rest of one; nil: it does.
---@param stated table what its line says: schema, needs; files of before `needs` need no more than their schema
---@param schema integer the one that is read
---@return string?
function M.refusal(stated, schema)
  if type(stated.needs) == "string" and is_newer(stated.needs, core.version) then
    return ("it needs pmclua %s or newer; this is pmclua %s"):format(stated.needs, core.version)
  elseif stated.schema ~= schema then
    return ("its schema is %s; this pmclua reads schema %d"):format(tostring(stated.schema), schema)
  end
end

return M
