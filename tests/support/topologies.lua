-- Trees of sysfs as four kinds of machine have them, small: numbers of CPUs, cores and siblings as their Linux gives them.

local support = require "tests.support"

local M = {}

local function range(first, last, step)
  local cpus = {}
  for cpu = first, last, step or 1 do cpus[#cpus + 1] = cpu end
  return table.concat(cpus, ",")
end

-- A row for each CPU: cpu, package, die (nil: no such file), core, siblings; caches: level, type, size, sharing CPUs.
local function write(machine)
  local root = support.folder()
  local function put(path, value)
    if value then support.write(("%s/%s"):format(root, path), tostring(value) .. "\n") end
  end
  for _, cpu in ipairs(machine.cpus) do
    local folder = ("devices/system/cpu/cpu%d/"):format(cpu.cpu)
    put(folder .. "topology/physical_package_id", cpu.package)
    put(folder .. "topology/die_id", cpu.die)
    put(folder .. "topology/core_id", cpu.core)
    put(folder .. "topology/" .. (machine.siblings_file or "core_cpus_list"), cpu.siblings)
    for index, cache in ipairs(cpu.caches or {}) do
      local at = ("%scache/index%d/"):format(folder, index - 1)
      put(at .. "level", cache[1])
      put(at .. "type", cache[2])
      put(at .. "size", cache[3])
      put(at .. "shared_cpu_list", cache[4])
    end
  end
  put("devices/system/cpu/online", machine.online)
  put("devices/system/cpu/present", machine.present or machine.online)
  for node, facts in pairs(machine.nodes or {}) do
    local folder = ("devices/system/node/node%d/"):format(node)
    put(folder .. "cpulist", facts[1])
    put(folder .. "distance", facts[2])
    put(folder .. "meminfo", ("Node %d MemTotal:       %d kB"):format(node, facts[3]))
  end
  for name, cpus in pairs(machine.pmus or {}) do put("bus/event_source/devices/" .. name .. "/cpus", cpus) end
  return root
end

--- Two sockets of 4 cores with 2 threads: siblings are 8 apart, each socket is a NUMA node.
function M.xeon()
  local cpus = {}
  for cpu = 0, 15 do
    local core = cpu % 8
    local socket = math.floor(core / 4)
    local siblings = ("%d,%d"):format(core, core + 8)
    local all = ("%d-%d,%d-%d"):format(socket * 4, socket * 4 + 3, socket * 4 + 8, socket * 4 + 11)
    cpus[#cpus + 1] = { cpu = cpu, package = socket, die = 0, core = core % 4, siblings = siblings,
      caches = { { 1, "Data", "48K", siblings }, { 1, "Instruction", "32K", siblings },
        { 2, "Unified", "2048K", siblings }, { 3, "Unified", "107520K", all } } }
  end
  return write { cpus = cpus, online = "0-15",
    nodes = { [0] = { "0-3,8-11", "10 21", 131072 }, { "4-7,12-15", "21 10", 262144 } } }
end

--- One socket of 8 cores with 2 threads, whose two CCDs have an L3 cache each.
function M.epyc()
  local cpus = {}
  for cpu = 0, 15 do
    local core = cpu % 8
    local ccd = math.floor(core / 4)
    local siblings = ("%d,%d"):format(core, core + 8)
    local shared = ("%d-%d,%d-%d"):format(ccd * 4, ccd * 4 + 3, ccd * 4 + 8, ccd * 4 + 11)
    cpus[#cpus + 1] = { cpu = cpu, package = 0, die = 0, core = core, siblings = siblings,
      caches = { { 1, "Data", "32K", siblings }, { 2, "Unified", "512K", siblings },
        { 3, "Unified", "32768K", shared } } }
  end
  return write { cpus = cpus, online = "0-15", nodes = { [0] = { "0-15", "10", 131072 } } }
end

--- An Arm server of 4 cores without SMT, whose sysfs names no dies, and whose Linux knows no NUMA.
function M.arm()
  local cpus = {}
  for cpu = 0, 3 do
    cpus[#cpus + 1] = { cpu = cpu, package = 0, core = cpu, siblings = tostring(cpu),
      caches = { { 1, "Data", "64K", tostring(cpu) }, { 2, "Unified", "1024K", tostring(cpu) } } }
  end
  return write { cpus = cpus, online = "0-3", siblings_file = "thread_siblings_list" }
end

--- Two performance cores with 2 threads, four efficiency cores that share an L2 cache, and one of them more, offline.
function M.hybrid()
  local cpus = {}
  for cpu = 0, 7 do
    local is_big = cpu < 4
    local first = cpu - cpu % 2
    local siblings = is_big and range(first, first + 1) or tostring(cpu)
    cpus[#cpus + 1] = { cpu = cpu, package = 0, die = 0, core = is_big and first * 2 or 8 + cpu,
      siblings = siblings,
      caches = { { 1, "Data", is_big and "48K" or "32K", siblings },
        { 2, "Unified", is_big and "1280K" or "2048K", is_big and siblings or "4-7" },
        { 3, "Unified", "12288K", "0-7" } } }
  end
  return write { cpus = cpus, online = "0-7", present = "0-8", nodes = { [0] = { "0-7", "10", 16384 } },
    pmus = { cpu_core = "0-3", cpu_atom = "4-7" } }
end

return M
