--- hosts.lua: whether two runs were on the same host.

local M = {}

-- What could not be read then or now says nothing of the host.
local function is_known(fact) return fact ~= nil and fact ~= "unknown" end

--- The first of some facts in which two hosts differ.
---@param names string[] of facts of a header's host
---@param one table<string, any>
---@param other table<string, any>
---@return string? name nil where they do not differ
function M.difference(names, one, other)
  for _, name in ipairs(names) do
    if is_known(one[name]) and is_known(other[name]) and one[name] ~= other[name] then return name end
  end
end

return M
