--- parts.lua: a machine's CPUs, caches and NUMA nodes as sysfs has them, read at once.
--
-- `root` is the folder of a sysfs tree: /sys, or that of a recorded machine. What sysfs does not say stays nil, and
-- `absent` says so: a core that is not known is not core 0.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local topology = require "pmclua.host.topology"

local M = {}

---@class pmclua.host.Cpu
---@field cpu integer
---@field socket? integer
---@field die? integer
---@field core? string the same for CPUs of one core
---@field thread integer 1: the first CPU of its core
---@field node? integer
---@field kind? string "cpu_core", "cpu_atom", or "capacity 512": of cores that differ

---@class pmclua.host.Cache
---@field level integer
---@field type string "Data", "Instruction", "Unified"
---@field bytes integer
---@field cpus integer[] that share it

---@class pmclua.host.Parts
---@field cpus pmclua.host.Cpu[] those that are online, ascending
---@field by_cpu table<integer, pmclua.host.Cpu>
---@field offline integer[]
---@field caches pmclua.host.Cache[] by level, then by CPU
---@field nodes { node: integer, cpus: integer[], bytes?: integer, distances?: integer[] }[]
---@field absent table<string, string> why something is not known: sockets, dies, cores, caches, nodes

local function list_at(path) return topology.parse(machine.line(path) or "") end

local function numbered(folder, name)
  local numbers = lists.map(machine.entries(folder), function(entry)
    return tonumber(entry:match("^" .. name .. "(%d+)$"))
  end)
  table.sort(numbers)
  return numbers
end

-- ---- CPUs ----

-- Arm's sysfs says -1 where firmware does not tell.
local function number_at(path)
  local number = tonumber(machine.line(path) or "")
  return number and number >= 0 and number or nil
end

-- Newer Linux has both names for one file.
local function core_at(folder, socket, die)
  local siblings = machine.line(folder .. "core_cpus_list") or machine.line(folder .. "thread_siblings_list")
  if siblings then return siblings end
  local core = number_at(folder .. "core_id")
  return core and ("S%d-D%d-C%d"):format(socket or 0, die or 0, core) or nil
end

-- Cores that differ: Intel's have a PMU each, Arm's a capacity.
local function kinds_of(root, cpus)
  local kinds, capacities = {}, {}
  for _, name in ipairs(machine.entries(root .. "/bus/event_source/devices")) do
    local its = name:find "^cpu_" and list_at(("%s/bus/event_source/devices/%s/cpus"):format(root, name))
    for _, cpu in ipairs(its or {}) do kinds[cpu] = name end
  end
  for _, cpu in ipairs(cpus) do
    capacities[cpu] = number_at(("%s/devices/system/cpu/cpu%d/cpu_capacity"):format(root, cpu))
  end
  local differ = lists.any(cpus, function(cpu) return capacities[cpu] ~= capacities[cpus[1]] end)
  for cpu, capacity in pairs(differ and capacities or {}) do
    kinds[cpu] = kinds[cpu] or "capacity " .. capacity
  end
  return kinds
end

local function read_cpus(root, online)
  local kinds, threads = kinds_of(root, online), {}
  return lists.map(online, function(cpu)
    local folder = ("%s/devices/system/cpu/cpu%d/topology/"):format(root, cpu)
    local self = { cpu = cpu, kind = kinds[cpu], socket = number_at(folder .. "physical_package_id") }
    self.die = number_at(folder .. "die_id")
    self.core = core_at(folder, self.socket, self.die)
    local key = self.core or cpu
    threads[key] = (threads[key] or 0) + 1
    self.thread = threads[key]
    return self
  end)
end

-- ---- caches and nodes ----

local function bytes_of(text)
  local number, unit = (text or ""):match "^(%d+)([KMG]?)$"
  return number and tonumber(number) * ({ [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 })[unit]
end

local function read_caches(root, cpus)
  local caches, seen = {}, {}
  for _, cpu in ipairs(cpus) do
    local folder = ("%s/devices/system/cpu/cpu%d/cache"):format(root, cpu.cpu)
    for _, index in ipairs(numbered(folder, "index")) do
      local function line(name) return machine.line(("%s/index%d/%s"):format(folder, index, name)) end
      local level, shared = tonumber(line "level" or ""), line "shared_cpu_list"
      local key = ("%s %s %s"):format(tostring(level), line "type" or "?", shared or "")
      local sharing, bytes = topology.parse(shared or ""), bytes_of(line "size")
      if level and sharing and bytes and not seen[key] then
        seen[key] = true
        caches[#caches + 1] = { level = level, type = line "type" or "Unified", bytes = bytes,
          cpus = sharing }
      end
    end
  end
  table.sort(caches, function(a, b)
    if a.level ~= b.level then return a.level < b.level end
    if a.type ~= b.type then return a.type < b.type end
    return a.cpus[1] < b.cpus[1]
  end)
  return caches
end

local function read_nodes(root, by_cpu)
  local base = root .. "/devices/system/node"
  return lists.map(numbered(base, "node"), function(node)
    local folder = ("%s/node%d/"):format(base, node)
    local cpus = lists.where(list_at(folder .. "cpulist") or {}, function(cpu) return by_cpu[cpu] ~= nil end)
    for _, cpu in ipairs(cpus) do by_cpu[cpu].node = node end
    local words = lists.collect((machine.line(folder .. "distance") or ""):gmatch "%d+")
    local distances = lists.map(words, function(digits) return tonumber(digits) end)
    local kilobytes = (machine.text(folder .. "meminfo") or ""):match "MemTotal:%s*(%d+) kB"
    return { node = node, cpus = cpus, bytes = kilobytes and tonumber(kilobytes) * 1024,
      distances = distances[1] and distances or nil }
  end)
end

local function absent_of(self, root)
  local absent = {}
  local function check(name, file, field)
    local lacking = lists.where(self.cpus, function(cpu) return cpu[field] == nil end)
    if #lacking == 0 then return end
    absent[name] = ("sysfs has no %s of CPU %s"):format(file, topology.format(lists.column(lacking, "cpu")))
  end
  check("sockets", "topology/physical_package_id", "socket")
  check("dies", "topology/die_id", "die")
  check("cores", "topology/core_cpus_list", "core")
  if #self.caches == 0 then absent.caches = "sysfs has no folders cpu*/cache" end
  if #self.nodes == 0 then
    absent.nodes = ("sysfs has no %s/devices/system/node: this Linux knows no NUMA"):format(root)
  end
  return absent
end

--- Reads a tree.
---@param root? string
---@return pmclua.host.Parts
function M.read(root)
  root = root or topology.root()
  local online = list_at(root .. "/devices/system/cpu/online") or topology.online()
  local present = list_at(root .. "/devices/system/cpu/present") or online
  local self = { cpus = read_cpus(root, online), offline = topology.without(present, online) }
  self.by_cpu = lists.by(self.cpus, "cpu")
  self.caches, self.nodes = read_caches(root, self.cpus), read_nodes(root, self.by_cpu)
  self.absent = absent_of(self, root)
  return self
end

-- ---- what this process may use ----

-- The cpuset of this process's cgroup, or of the nearest one above that has one.
local function cpuset_at(mount, path, names)
  while true do
    for _, name in ipairs(names) do
      local cpus = list_at(mount .. path .. "/" .. name)
      if cpus then return cpus, path == "" and "/" or path end
    end
    if path == "" then return nil end
    path = path:match "^(.*)/[^/]*$" or ""
  end
end

local function cpuset()
  for line in (machine.text "/proc/self/cgroup" or ""):gmatch "[^\n]+" do
    local controllers, path = line:match "^%d+:([^:]*):(/.*)$"
    path = path == "/" and "" or path
    local cpus, where
    if controllers == "" then
      cpus, where = cpuset_at("/sys/fs/cgroup", path, { "cpuset.cpus.effective" })
    elseif (controllers or ""):find "cpuset" then
      cpus, where = cpuset_at("/sys/fs/cgroup/cpuset", path, { "cpuset.effective_cpus", "cpuset.cpus" })
    end
    if cpus then return cpus, where end
  end
end

--- The resources this process may use: `cpus` by its affinity (nil: /proc does not say), `nodes` of memory, `cpuset` of its
--- cgroup and that cgroup's name (nil: no cgroup has one).
---@return { cpus?: integer[], nodes?: integer[], cpuset?: integer[], cgroup?: string }
function M.allowed()
  local status = machine.text "/proc/self/status" or ""
  local function listed(name) return topology.parse(status:match("\n" .. name .. ":%s*(%S+)") or "") end
  local set, cgroup = cpuset()
  return { cpus = listed "Cpus_allowed_list", nodes = listed "Mems_allowed_list", cpuset = set,
    cgroup = cgroup }
end

return M
