--- hosts.lua: whether two runs were on the same kind of host.
--
-- Invariant: a host is known by what counts depend on, its CPU, microcode and OS kernel, and never by its name:
-- each runner of a build service has a name of its own, and one name may be another machine's next year.

local M = {}

local CPU, HOST = { "cpu", "architecture" }, { "microcode", "os_kernel" }

-- What could not be read then or now says nothing of the host.
local function is_known(fact) return fact ~= nil and fact ~= "unknown" end

local function first_difference(names, one, other)
  for _, name in ipairs(names) do
    if is_known(one[name]) and is_known(other[name]) and one[name] ~= other[name] then return name end
  end
end

--- The first fact in which two hosts differ in kind.
---@param one table<string, any> of a header's host
---@param other table<string, any>
---@return string? name nil where they do not differ
---@return boolean? is_cpu whether it is the CPU that differs
function M.difference(one, other)
  local cpu = first_difference(CPU, one, other)
  if cpu then return cpu, true end
  return first_difference(HOST, one, other), false
end

return M
