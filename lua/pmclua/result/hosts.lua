--- hosts.lua: whether two runs were on the same kind of host.
--
-- Invariant: a host is known by what counts depend on, its CPU, microcode and OS kernel, and never by its name:
-- each runner of a build service has a name of its own, and one name may be another machine's next year.

local lists = require "pmclua.base.lists"

local M = {}

local CPU, HOST = { "cpu", "architecture" }, { "microcode", "os_kernel" }

-- What could not be read then or now says nothing of the host.
local function is_known(fact) return fact ~= nil and fact ~= "unknown" end

local function first_difference(names, one, other)
  return lists.find(names, function(name)
    return is_known(one[name]) and is_known(other[name]) and one[name] ~= other[name]
  end)
end

--- The architectures of two results where they differ: no program of one runs on a host of the other.
---@param one table header
---@param other table header, merged or not
---@return string? ours nil where they do not differ
---@return string? theirs
function M.architectures(one, other)
  local here = one.host or {}
  local there = lists.find(other.hosts or { other.host }, function(host)
    return first_difference({ "architecture" }, here, host) ~= nil
  end)
  if there then return here.architecture, there.architecture end
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

-- What simulated counts may differ by where all that can be fixed is the same: fact, what it is, what it changes.
local OF_SIMULATION = { { "valgrind", "Valgrind" }, { "c_library_hash", "the C library" },
  { "cpu_class", "the class of CPU that Valgrind shows" }, { "uid", "the user" } }

--- What could make simulated counts of two results differ, besides the programs: "Valgrind 3.19.0 here, 3.24.0 there".
---@param one table header
---@param other table header
---@return string[]
function M.simulated_differences(one, other)
  local list, ours, theirs = {}, one.simulation, other.simulation
  if not (ours and theirs) then return list end
  local function add(what, here, there, is_hash)
    if not (is_known(here) and is_known(there)) or here == there then return end
    local values = (" (%s here, %s there)"):format(tostring(here), tostring(there))
    list[#list + 1] = what .. (is_hash and "" or values)
  end
  for _, fact in ipairs(OF_SIMULATION) do
    add(fact[2], ours[fact[1]], theirs[fact[1]], fact[1]:find "_hash$" ~= nil)
  end
  add("Linux", (one.host or {}).os_kernel, (other.host or {}).os_kernel)
  return list
end

return M
