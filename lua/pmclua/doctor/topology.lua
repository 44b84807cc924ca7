--- topology.lua: how this machine's CPUs, caches and memory hang together, and what this process may use.

local lists = require "pmclua.base.lists"
local parts = require "pmclua.host.parts"
local text = require "pmclua.base.text"
local cpulist = require("pmclua.host.topology").format

local M = {}

---@class pmclua.Topology
---@field cpus pmclua.host.Cpu[]
---@field offline integer[]
---@field caches pmclua.host.Cache[]
---@field nodes table[]
---@field absent table<string, string>
---@field allowed? table what this process may use; nil of a recorded tree
local Topology = require("pmclua.public.class").new("tools", "topology", "allowed")

--- Reads this machine, or a sysfs tree that was recorded.
---@param root? string
---@return pmclua.Topology
function M.read(root)
  local self = parts.read(root)
  self.by_cpu = nil
  self.allowed = not root and parts.allowed() or nil
  return setmetatable(self, Topology)
end

--- The same as plain data, for JSON.
---@return table
function Topology:object()
  return { format = 1, cpus = self.cpus, offline = self.offline, caches = self.caches, nodes = self.nodes,
    absent = setmetatable(lists.copy(self.absent), { __jsontype = "object" }), allowed = self.allowed }
end

-- ---- rows of name and text ----

local SHOWN = 6                 -- groups of CPUs in a row, of more the first and the last

local function groups_said(groups)
  local ranges = lists.map(groups, cpulist)
  if #ranges > SHOWN then ranges = { ranges[1], ranges[2], ranges[3], "…", ranges[#ranges] } end
  return table.concat(ranges, "; ")
end

local function cpus_of(group) return lists.column(group, "cpu") end

local function by_core(cpus) return lists.groups(cpus, function(cpu) return cpu.core end) end

-- "2", or "1 to 2" where cores differ.
local function range(numbers)
  local least, most = math.min(unpack(numbers)), math.max(unpack(numbers))
  return least == most and tostring(least) or ("%d to %d"):format(least, most)
end

local function add_cpus(put, self)
  put("CPUs", ("%d online: %s"):format(#self.cpus, cpulist(cpus_of(self.cpus))))
  put("offline", #self.offline > 0 and cpulist(self.offline) or "none")
  for _, kind in ipairs(lists.groups(self.cpus, function(cpu) return cpu.kind end)) do
    put(kind.key, ("%s: CPUs %s"):format(text.plural(#by_core(kind), "core"), cpulist(cpus_of(kind))))
  end
end

local function add_sockets(put, self)
  for _, socket in ipairs(lists.groups(self.cpus, function(cpu) return cpu.socket end)) do
    local dies = lists.groups(socket, function(cpu) return cpu.die end)
    put("socket S" .. socket.key, ("%s%s: CPUs %s"):format(text.plural(#by_core(socket), "core"),
      #dies > 1 and (" on %d dies"):format(#dies) or "", cpulist(cpus_of(socket))))
    for _, die in ipairs(#dies > 1 and dies or {}) do
      put(("die S%s-D%s"):format(socket.key, die.key), "CPUs " .. cpulist(cpus_of(die)))
    end
  end
end

local function add_cores(put, self)
  local cores = by_core(self.cpus)
  if #cores == 0 then return end
  local threads = lists.map(cores, function(core) return #core end)
  local smt = math.max(unpack(threads)) > 1
  put("cores", smt and ("%d, of %s threads (SMT): %s"):format(#cores, range(threads),
    groups_said(lists.map(cores, cpus_of)))
    or ("%d, of one thread each: no SMT siblings online"):format(#cores))
end

local SHORT = { Data = "d", Instruction = "i", Unified = "" }

local function add_caches(put, self)
  local function kind(cache)
    return ("%d%s %d %d"):format(cache.level, cache.type, cache.bytes, #cache.cpus)
  end
  for _, same in ipairs(lists.groups(self.caches, kind)) do
    local first = same[1]
    local name = ("L%d%s"):format(first.level, SHORT[first.type] or " " .. first.type)
    put(name, ("%s%s for %s: %s"):format(#same > 1 and ("%d, each "):format(#same) or "",
      text.bytes(first.bytes), text.plural(#first.cpus, "CPU"), groups_said(lists.column(same, "cpus"))))
  end
end

local function add_nodes(put, self)
  for _, node in ipairs(self.nodes) do
    local cpus = #node.cpus > 0 and "CPUs " .. cpulist(node.cpus) or "no CPUs"
    local distances = #self.nodes > 1 and node.distances
      and "; distances " .. table.concat(node.distances, ", ") or ""
    local memory = node.bytes and text.bytes(node.bytes) .. ", " or ""
    put("node N" .. node.node, memory .. cpus .. distances)
  end
end

local function add_allowed(put, self)
  local allowed = self.allowed
  if not allowed then return end
  if allowed.cpus then
    local memory = allowed.nodes and #self.nodes > 1 and ", memory of nodes " .. cpulist(allowed.nodes) or ""
    put("may use", ("CPUs %s (affinity)%s"):format(cpulist(allowed.cpus), memory))
  else
    put("may use", "not known: /proc does not say")
  end
  put("cpuset", allowed.cpuset and ("CPUs %s, of cgroup %s"):format(cpulist(allowed.cpuset), allowed.cgroup)
    or "no cgroup limits the CPUs")
end

--- Rows of a name and what is said of it.
---@param self pmclua.Topology
---@return string[][]
function M.rows(self)
  local rows = {}
  local function put(name, words) rows[#rows + 1] = { name, words } end
  for _, add in ipairs { add_cpus, add_sockets, add_cores, add_caches, add_nodes, add_allowed } do
    add(put, self)
  end
  for _, name in ipairs(lists.keys(self.absent)) do put(name, "not known: " .. self.absent[name]) end
  return rows
end

function Topology:__tostring() return require("pmclua.doctor.screen").rows(M.rows(self)) end
Topology.__about = function(self) return text.plural(#self.cpus, "CPU") end

return M
