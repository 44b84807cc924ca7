--- hosts.lua: whether two runs were on the same kind of host; which hosts a result was made on.
--
-- Invariant: the kind of a host is what counts depend on, its CPU, microcode and OS kernel, and never its name: each
-- runner of a build service has a name of its own, and one name may be another machine's next year. A run that goes on
-- elsewhere is another machine's by its name, too: no cell mixes two machines without saying so.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local CPU, HOST = { "cpu", "architecture" }, { "microcode", "os_kernel" }

-- A fact that could not be read says nothing about the host.
local function is_known(fact) return fact ~= nil and fact ~= "unknown" end

local function first_difference(names, host, other)
  return lists.find(names, function(name)
    return is_known(host[name]) and is_known(other[name]) and host[name] ~= other[name]
  end)
end

--- The architectures of two results where they differ: no program of one runs on a host of the other.
---@param mine table header, merged or not
---@param other table header, merged or not
---@return string? ours nil where they do not differ
---@return string? theirs
function M.architectures(mine, other)
  for _, here in ipairs(mine.hosts or { mine.host }) do
    local there = lists.find(other.hosts or { other.host }, function(host)
      return first_difference({ "architecture" }, here, host) ~= nil
    end)
    if there then return here.architecture, there.architecture end
  end
end

--- The first fact in which two hosts differ in kind.
---@param host table<string, any> of a header's host
---@param other table<string, any>
---@return string? name nil where they do not differ
---@return boolean? is_cpu whether it is the CPU that differs
function M.difference(host, other)
  local cpu = first_difference(CPU, host, other)
  if cpu then return cpu, true end
  return first_difference(HOST, host, other), false
end

--- The first fact in which two hosts are different machines.
---@param host table<string, any> of a header's host
---@param other table<string, any>
---@return string? name nil where they do not differ
---@return boolean? is_cpu whether it is the CPU that differs
function M.other_machine(host, other)
  local name, is_cpu = M.difference(host, other)
  if name then return name, is_cpu end
  return first_difference({ "hostname" }, host, other), false
end

-- A name may now be another machine, or run another Linux. A file's facts may be of any type.
local function key_of(host)
  return ("%s\0%s\0%s\0%s\0%s"):format(tostring(host.hostname), tostring(host.architecture),
    tostring(host.cpu), tostring(host.microcode), tostring(host.os_kernel))
end

--- Hosts, each once, where they are several.
---@param all table[] facts
---@return table[]?
function M.several(all)
  local different = lists.groups(all, key_of)
  return #different > 1 and lists.column(different, 1) or nil
end

--- The hosts that a result was made on, where they are several; of some only the name may be known.
---@param result pmclua.Result
---@return table[]?
function M.of(result)
  local known, all = {}, lists.copy(result.header.hosts or {})
  local function add(name)
    if not name or known[name] then return end
    known[name], all[#all + 1] = true, { hostname = name }
  end
  for _, host in ipairs(all) do known[host.hostname or ""] = true end
  for cell in result:cells(true) do
    for _, block in pairs(cell.columns.passes) do
      add(block.own.host)
      for _, name in pairs(block.host or {}) do add(name) end
    end
  end
  return #all > 1 and all or nil
end

--- The hosts that a cell was measured on, folded.
---@param cell pmclua.Cell
---@return string? nil where no record says
function M.of_cell(cell)
  local names = {}
  for _, block in pairs(cell.columns.passes) do
    names[#names + 1] = block.own.host or (cell.result.header.host or {}).hostname
    for _, name in pairs(block.host or {}) do names[#names + 1] = name end
  end
  return #names > 0 and M.folded(names) or nil
end

-- Numbers of names that differ by a number alone, as "[01-64,70]"; numbers of equal length go together.
local function folded_numbers(digits)
  table.sort(digits)
  return #digits == 1 and digits[1] or ("[%s]"):format(text.ranges(digits))
end

--- Names of hosts, each once, as batch systems write them: "n[01-64,70]", "login".
---@param names string[]
---@return string
function M.folded(names)
  local shapes = lists.groups(lists.unique(names), function(name)
    local stem, digits, rest = name:match "^(.-)(%d+)(%D*)$"
    return stem and ("%s\0%d\0%s"):format(stem, #digits, rest) or name
  end)
  return table.concat(lists.map(shapes, function(shape)
    local stem, _, rest = shape.key:match "^(.*)%z(%d+)%z(.*)$"
    if not stem then return shape.key end
    return stem .. folded_numbers(lists.map({ unpack(shape) }, function(name)
      return name:sub(#stem + 1, #name - #rest)
    end)) .. rest
  end), ", ")
end

-- Facts that change simulated counts when everything that can be fixed is equal.
local OF_SIMULATION = { { "valgrind", "Valgrind" }, { "c_library_hash", "the C library" },
  { "loader_cache_hash", "the loader's list of libraries (/etc/ld.so.cache)" },
  { "cpu_class", "the class of CPU that Valgrind shows" }, { "uid", "the user" } }

--- Facts besides the programs that could make simulated counts of two results differ: "Valgrind 3.19.0 here,
--- 3.24.0 there".
---@param header table header
---@param other table header
---@return string[]
function M.simulated_differences(header, other)
  local list, ours, theirs = {}, header.simulation, other.simulation
  if not (ours and theirs) then return list end
  local function add(what, here, there, is_hash)
    if not (is_known(here) and is_known(there)) or here == there then return end
    local values = (" (%s here, %s there)"):format(tostring(here), tostring(there))
    list[#list + 1] = what .. (is_hash and "" or values)
  end
  for _, fact in ipairs(OF_SIMULATION) do
    add(fact[2], ours[fact[1]], theirs[fact[1]], fact[1]:find "_hash$" ~= nil)
  end
  add("Linux", (header.host or {}).os_kernel, (other.host or {}).os_kernel)
  return list
end

return M
