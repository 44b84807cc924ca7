--- facts.lua: what this machine says of itself, read when first asked for and remembered.
--
-- Invariant: a fact that cannot be read is nil, never a guess. Only `opens` asks the OS kernel to do
-- something, and leaves nothing open.

local machine = require "pmclua.host.machine"

local M = {}

---@class pmclua.Facts
---@field paranoid? integer /proc/sys/kernel/perf_event_paranoid
---@field max_sample_rate? integer samples a second
---@field release? string of the OS kernel
---@field machine? string "x86_64", "aarch64"
---@field hypervisor? boolean this is a virtual machine (x86 says so)
---@field seccomp? boolean system calls are filtered
---@field nofile { soft: number, hard: number } RLIMIT_NOFILE
---@field cpus_online? string "0-3"
---@field capability fun(name: string): boolean whether this process has it, for the whole machine
---@field in_user_namespace? boolean it is in one of its own, where root is not root of the machine
---@field has_lab? boolean the emulated machine with a PMU is here, to be started by make
---@field core_pmu boolean sysfs has the PMU of a CPU
---@field hides_pmus? boolean sysfs shows no PMU, not even those of software
---@field pmu fun(type: integer): { name: string, cpumask: string?, core: boolean }?
---@field opens fun(attr: table, pid?: integer, cpu?: integer): true | string true, or an errno's name

local DEVICES = "/bus/event_source/devices"
local RAW = 4               -- PERF_TYPE_RAW: on x86 the CPU's own PMU has this type

local function read(path)
  local content = machine.text(path)
  return content and (content:gsub("%s+$", ""))
end

local function sysfs(path) return (os.getenv "SYSFS_PATH" or "/sys") .. path end
local function setting(name) return tonumber(read("/proc/sys/kernel/" .. name)) end

local function capability(name)
  return not machine.is_in_user_namespace() and machine.has_capability(read "/proc/self/status", name)
end

-- A CPU's PMU has a list `cpus` (Arm, hybrid) or the type of raw events (x86, and others of one kind).
local function read_pmus()
  local by_type = {}
  for _, name in ipairs(machine.entries(sysfs(DEVICES))) do
    local folder = sysfs(DEVICES .. "/" .. name)
    local kind = tonumber(read(folder .. "/type"))
    if kind then
      by_type[kind] = { name = name, cpumask = read(folder .. "/cpumask"),
                        core = kind == RAW or read(folder .. "/cpus") ~= nil }
    end
  end
  return by_type
end

-- On this thread where no target is named.
local function opens(attr, pid, cpu)
  local event, failure = require("pmclua.core").open(attr, pid and { pid = pid, cpu = cpu })
  if not event then return failure.code end
  event:close()
  return true
end

local readers = {}

function readers.paranoid() return setting "perf_event_paranoid" end
function readers.max_sample_rate() return setting "perf_event_max_sample_rate" end
function readers.release() return read "/proc/sys/kernel/osrelease" end
function readers.machine() return require("jit").arch == "x64" and "x86_64" or require("jit").arch end
function readers.hypervisor() return (read "/proc/cpuinfo" or ""):find "[%s]hypervisor[%s]" ~= nil end
function readers.seccomp() return machine.is_filtered(read "/proc/self/status") end
function readers.cpus_online() return read(sysfs "/devices/system/cpu/online") end
function readers.capability() return capability end
function readers.has_lab() return require("pmclua.host.paths").has_lab() end
function readers.opens() return opens end
function readers.in_user_namespace() return machine.is_in_user_namespace() end

function readers.nofile()
  local soft, hard = require("pmclua.core.processes").descriptor_limits()
  return { soft = soft, hard = hard }
end

function readers.pmu()
  local pmus = read_pmus()
  return function(kind) return pmus[kind] end
end

function readers.hides_pmus() return #machine.entries(sysfs(DEVICES)) == 0 end

function readers.core_pmu()
  for _, pmu in pairs(read_pmus()) do
    if pmu.core then return true end
  end
  return false
end

--- Facts of this machine, each read when it is first asked for.
---@return pmclua.Facts
function M.new()
  return require("pmclua.base.lazy").later({}, readers)
end

return M
