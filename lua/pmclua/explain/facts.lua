--- facts.lua: what this machine says of itself, read when first asked for and remembered.
--
-- Invariant: a fact that cannot be read is nil, never a guess. Only `opens` asks the OS kernel to do
-- something, and leaves nothing open.

local M = {}

---@class pmclua.Facts
---@field paranoid? integer /proc/sys/kernel/perf_event_paranoid
---@field max_sample_rate? integer samples a second
---@field nmi_watchdog? boolean it holds a counter of each CPU
---@field release? string of the OS kernel
---@field machine? string "x86_64", "aarch64"
---@field hypervisor? boolean this is a virtual machine (x86 says so)
---@field seccomp? boolean system calls are filtered
---@field nofile? { soft: number, hard: number } RLIMIT_NOFILE
---@field cpus_online? string "0-3"
---@field capability fun(name: string): boolean whether this process has it, for the whole machine
---@field in_user_namespace? boolean it is in one of its own, where root is not root of the machine
---@field has_lab? boolean the emulated machine with a PMU is here, to be started by make
---@field core_pmu boolean sysfs has the PMU of a CPU
---@field pmu fun(type: integer): { name: string, cpumask: string?, core: boolean }?
---@field opens fun(attr: table, pid: integer, cpu: integer): true | string true, or an errno's name

local DEVICES = "/bus/event_source/devices"
local RAW = 4               -- PERF_TYPE_RAW: on x86 the CPU's own PMU has this type

-- Bit numbers in linux/capability.h.
local CAPABILITIES = { CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21, CAP_PERFMON = 38 }

local function read(path)
  local file = io.open(path, "r")
  if not file then return nil end
  local content = file:read(65536)
  file:close()
  return content and (content:gsub("%s+$", ""))
end

local function sysfs(path) return (os.getenv "SYSFS_PATH" or "/sys") .. path end
local function setting(name) return tonumber(read("/proc/sys/kernel/" .. name)) end

-- Bit `n` of a number in hex digits; CapEff has 16 of them, more than a double holds.
local function hex_bit(hex, n)
  local digit = tonumber(hex:sub(-1 - math.floor(n / 4), -1 - math.floor(n / 4)), 16)
  return digit ~= nil and math.floor(digit / 2 ^ (n % 4)) % 2 == 1
end

local function status(field)
  return (read "/proc/self/status" or ""):match(field .. ":%s*(%S+)")
end

local function capability(name)
  local bit = assert(CAPABILITIES[name], name)
  return not require("pmclua.host.machine").is_in_user_namespace() and hex_bit(status "CapEff" or "0", bit)
end

local function device_names()
  local lfs, list = require "lfs", {}
  local ok, iterate, state = pcall(lfs.dir, sysfs(DEVICES))
  if not ok then return list end
  for name in iterate, state do
    if name:sub(1, 1) ~= "." then list[#list + 1] = name end
  end
  return list
end

-- A CPU's PMU has a list `cpus` (Arm, hybrid) or the type of raw events (x86, and others of one kind).
local function read_pmus()
  local by_type = {}
  for _, name in ipairs(device_names()) do
    local folder = sysfs(DEVICES .. "/" .. name)
    local kind = tonumber(read(folder .. "/type"))
    if kind then
      by_type[kind] = { name = name, cpumask = read(folder .. "/cpumask"),
                        core = kind == RAW or read(folder .. "/cpus") ~= nil }
    end
  end
  return by_type
end

local function limits()
  local soft, hard = (read "/proc/self/limits" or ""):match "Max open files%s+(%S+)%s+(%S+)"
  if not soft then return nil end
  return { soft = tonumber(soft) or math.huge, hard = tonumber(hard) or math.huge }
end

local function opens(attr, pid, cpu)
  local event, failure = require("pmclua.core").open(attr, { pid = pid, cpu = cpu })
  if not event then return failure.code end
  event:close()
  return true
end

local readers = {}

function readers.paranoid() return setting "perf_event_paranoid" end
function readers.max_sample_rate() return setting "perf_event_max_sample_rate" end
function readers.nmi_watchdog() return setting "nmi_watchdog" == 1 end
function readers.release() return read "/proc/sys/kernel/osrelease" end
function readers.machine() return require("jit").arch == "x64" and "x86_64" or require("jit").arch end
function readers.hypervisor() return (read "/proc/cpuinfo" or ""):find "[%s]hypervisor[%s]" ~= nil end
function readers.seccomp() return status "Seccomp" == "2" end
function readers.nofile() return limits() end
function readers.cpus_online() return read(sysfs "/devices/system/cpu/online") end
function readers.capability() return capability end
function readers.has_lab() return require("pmclua.host.paths").has_lab() end
function readers.opens() return opens end
function readers.in_user_namespace() return require("pmclua.host.machine").is_in_user_namespace() end

function readers.pmu()
  local pmus = read_pmus()
  return function(kind) return pmus[kind] end
end

function readers.core_pmu()
  for _, pmu in pairs(read_pmus()) do
    if pmu.core then return true end
  end
  return false
end

--- Facts of this machine, each read when it is first asked for.
---@return pmclua.Facts
function M.new()
  local known = {}
  return setmetatable({}, { __index = function(_, name)
    if known[name] == nil and readers[name] then
      known[name] = { readers[name]() }
    end
    return known[name] and known[name][1]
  end })
end

return M
