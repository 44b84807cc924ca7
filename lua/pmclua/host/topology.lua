--- topology.lua: which CPUs there are and where they sit, from sysfs (SYSFS_PATH names another root).
--
-- Parts of a machine are named as perf names them: "S0" a socket, "S0-D0" a die, "S0-D0-C1" a core,
-- "N0" a NUMA node; a CPU is its number.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local problem = require("pmclua.base.problem").problem
local line = machine.line

local M = {}

--- The folder of sysfs.
---@return string
function M.root() return os.getenv "SYSFS_PATH" or "/sys" end

local function root() return M.root() .. "/devices/system" end

--- The CPUs of a list such as "0,2-3", ascending, each once; nil and why if it is no such list.
---@param text string
---@return integer[]? cpus
---@return string? why
function M.parse(text)
  local cpus = {}
  for part in (text .. ","):gmatch "([^,]*)," do
    local first, last = part:match "^%s*(%d+)%s*$"
    if not first then first, last = part:match "^%s*(%d+)%s*%-%s*(%d+)%s*$" end
    first, last = tonumber(first), tonumber(last or first)
    if not first then
      return nil, ("'%s' is not a CPU or a range of CPUs; write a list as 0,2-3"):format(part)
    end
    if last < first then return nil, ("the range %s runs backwards"):format(part) end
    if last > 65535 then return nil, ("there is no CPU %d"):format(last) end
    for cpu = first, last do cpus[cpu] = true end
  end
  return lists.keys(cpus)
end

--- A list of CPUs as it is written: "0,2-3".
---@param cpus integer[] ascending
---@return string
function M.format(cpus)
  local parts, i = {}, 1
  while i <= #cpus do
    local last = i
    while cpus[last + 1] == cpus[last] + 1 do last = last + 1 end
    parts[#parts + 1] = last == i and tostring(cpus[i]) or ("%d-%d"):format(cpus[i], cpus[last])
    i = last + 1
  end
  return table.concat(parts, ",")
end

local function list_in(name)
  local text = line(root() .. "/cpu/" .. name)
  return text and M.parse(text)
end

-- Where there is no sysfs: "cpu0 …", "cpu1 …", of those that are online.
local function in_proc_stat()
  local list = {}
  for cpu in (machine.text "/proc/stat" or ""):gmatch "\ncpu(%d+) " do list[#list + 1] = tonumber(cpu) end
  return list[1] and list
end

--- The CPUs that run programs now, ascending. Raises a problem where that cannot be found out: to count fewer
--- than there are is to say something false of them all.
---@return integer[]
function M.online()
  local list = list_in "online" or in_proc_stat()
  if list then return list end
  error(problem { code = "ENOENT", operation = "read",
    message = "cannot tell which CPUs there are: neither sysfs nor /proc/stat can be read",
    hint = "mount sysfs on /sys, or proc on /proc" }, 0)
end

--- The CPUs that are there, running or not.
---@return integer[]
function M.present() return list_in "present" or M.online() end

--- The CPUs of `cpus` that are not in `others`.
---@param cpus integer[]
---@param others integer[]
---@return integer[]
function M.without(cpus, others)
  local is_other = lists.set(others)
  return lists.where(cpus, function(cpu) return not is_other[cpu] end)
end

local function number_in(cpu, name)
  return tonumber(line(("%s/cpu/cpu%d/topology/%s"):format(root(), cpu, name)) or "") or 0
end

local function socket_of(cpu) return ("S%d"):format(math.max(0, number_in(cpu, "physical_package_id"))) end
local function die_of(cpu) return ("%s-D%d"):format(socket_of(cpu), math.max(0, number_in(cpu, "die_id"))) end
local function core_of(cpu) return ("%s-C%d"):format(die_of(cpu), number_in(cpu, "core_id")) end

local function node_of(cpu)
  for _, node in ipairs(M.parse(line(root() .. "/node/online") or "0") or { 0 }) do
    local cpus = M.parse(line(("%s/node/node%d/cpulist"):format(root(), node)) or "") or {}
    if lists.set(cpus)[cpu] then return "N" .. node end
  end
  return "N0"
end

--- The number of a CPU's NUMA node, where the machine has several; nil: it has one.
---@param cpu integer
---@return integer?
function M.node(cpu)
  local online = M.parse(line(root() .. "/node/online") or "0") or {}
  local name = #online > 1 and node_of(cpu)
  return name and tonumber(name:match "%d+") or nil
end

local PARTS = { core = core_of, die = die_of, socket = socket_of, node = node_of,
  cpu = function(cpu) return cpu end }

--- The kinds of part that a machine can be divided into, the smallest first.
M.kinds = { "cpu", "core", "die", "socket", "node" }

--- The part that a CPU belongs to.
---@param cpu integer
---@param kind "cpu"|"core"|"die"|"socket"|"node"
---@return integer|string
function M.part(cpu, kind) return PARTS[kind](cpu) end

return M
