--- machine.lua: facts about the machine that a reader of a result needs, elsewhere or years later.

local core = require "pmclua.core"

local EMFILE = 24

local machine = {}

-- Raises where a file cannot be read for lack of descriptors: that says nothing of the file.
local function check_descriptors(code)
  local is_ours = code == "EMFILE"
  if not is_ours and code ~= "ENFILE" then return nil end
  local soft = require("pmclua.core.processes").descriptor_limits()
  error(require("pmclua.base.problem").problem { code = code, operation = "read",
    message = is_ours and ("too many open files: at most %d are allowed here"):format(soft)
      or "too many open files on the whole machine",
    hint = is_ours and "raise the limit: ulimit -n" or "raise the limit: sysctl fs.file-max" }, 0)
end

--- The text of a regular file, or nil and why: that it cannot be opened, or not be read to its end. It waits for
--- nobody. For /proc and /sys, whose files have no size beforehand, and small files.
---@param path string
---@return string? text
---@return string? why
function machine.text(path)
  local text, why, code = core.read_plain(path)
  if not text then check_descriptors(code) end
  return text, why
end

local LONGEST = 65536        -- bytes of a line

--- The first line of such a file, or nil.
---@param path string
---@return string?
function machine.line(path)
  local text, _, code = core.read_beginning(path, LONGEST)
  text = text or check_descriptors(code) or ""
  return text ~= "" and text:match "^[^\n]*" or nil
end
local line = machine.line

--- The names in a folder, in order, without those that begin with a dot; none where it cannot be read. For /proc and
--- /sys, whose folders may go away while they are read.
---@param folder string
---@return string[]
function machine.entries(folder)
  local names = {}
  local ok, why = pcall(function()
    for name in require("lfs").dir(folder) do
      if name:sub(1, 1) ~= "." then names[#names + 1] = name end
    end
  end)
  if not ok and tostring(why):find(core.errno_text(EMFILE), 1, true) then check_descriptors "EMFILE" end
  table.sort(names)
  return names
end

--- Whether processes, rights and settings can be looked up: /proc is mounted.
---@return boolean
function machine.has_proc() return core.stat "/proc/self/stat" ~= nil end

--- Says that /proc or sysfs is not mounted, and how to mount it; nil: both are.
---@return string?
---@return string? hint
function machine.unmounted()
  if not machine.has_proc() then
    return "/proc is not mounted: what it tells of processes, rights and settings is missing",
      "mount -t proc proc /proc"
  elseif not os.getenv "SYSFS_PATH" and not core.stat "/sys/kernel" then
    return "sysfs is not mounted on /sys: what it tells of PMUs and CPUs is missing",
      "mount -t sysfs sysfs /sys"
  end
end

local INITIAL_USER_NAMESPACE = 0xEFFFFFFD       -- PROC_USER_INIT_INO of linux/proc_ns.h

--- Whether this process is in a user namespace of its own, as in `unshare -r` and rootless containers: its
--- capabilities then hold there alone, and what counts asks for those of the initial one.
---@return boolean
function machine.is_in_user_namespace()
  local inode = require("lfs").attributes("/proc/self/ns/user", "ino")
  return inode ~= nil and inode ~= INITIAL_USER_NAMESPACE
end

-- Bit numbers of linux/capability.h.
local CAPABILITIES = { CAP_IPC_LOCK = 14, CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21, CAP_SYSLOG = 34,
  CAP_PERFMON = 38 }

-- One field of /proc/PID/status.
local function field(status, name) return ("\n" .. (status or "")):match("\n" .. name .. ":%s*(%S+)") end

--- Whether a process has a capability in its user namespace.
---@param status string? the text of its /proc/PID/status
---@param name string
---@return boolean
function machine.has_capability(status, name)
  local bit = assert(CAPABILITIES[name], name)
  local hex = field(status, "CapEff") or "0"
  -- It has 16 digits, more than a double holds.
  local digit = tonumber(hex:sub(-1 - math.floor(bit / 4), -1 - math.floor(bit / 4)), 16) or 0
  return math.floor(digit / 2 ^ (bit % 4)) % 2 == 1
end

--- Whether system calls of a process are filtered (seccomp), as in most containers.
---@param status string? the text of its /proc/PID/status
---@return boolean
function machine.is_filtered(status) return field(status, "Seccomp") == "2" end

--- A limit of a process, in its unit; nil: not known.
---@param limits string? the text of its /proc/PID/limits
---@param name string "Max open files"
---@return number? soft
---@return number? hard math.huge: none
function machine.limit(limits, name)
  local soft, hard = (limits or ""):match(name .. "%s+(%S+)%s+(%S+)")
  if not soft then return nil end
  return tonumber(soft) or math.huge, tonumber(hard) or math.huge
end

local CPU_KEYS = { "model name", "cpu model", "Processor", "uarch" }

--- The fields of a /proc/cpuinfo.
---@param cpuinfo string of which the first CPU is enough, but for the count
---@return string model "unknown" where none is named
---@return string? microcode
---@return integer count of CPUs
---@return true? is_virtual
function machine.cpu(cpuinfo)
  local facts, count = {}, 0
  for row in cpuinfo:gmatch "[^\n]+" do
    local key, value = row:match "^([^:\t]+)%s*:%s*(.*)$"
    if key == "processor" then count = count + 1 end
    if key and not facts[key] then facts[key] = value end
  end
  local model
  for _, key in ipairs(CPU_KEYS) do model = model or facts[key] end
  if not model and facts["CPU implementer"] then
    model = ("Arm implementer %s part %s"):format(facts["CPU implementer"], facts["CPU part"] or "?")
  end
  local is_virtual = (facts.flags or ""):find "%f[%w]hypervisor%f[%W]" ~= nil
  return model or "unknown", facts.microcode, count, is_virtual or nil
end

-- Whether the clock may go beyond its rated frequency: intel_pstate's switch turns it off, others' on.
local function turbo()
  local off, on = line "/sys/devices/system/cpu/intel_pstate/no_turbo",
    line "/sys/devices/system/cpu/cpufreq/boost"
  if off or on then return off == "0" or on == "1" end
end

--- The facts of this machine that stored results have; nil where it does not tell.
---@return table facts  hostname cpu microcode cpus os_kernel architecture governor smt turbo virtual load paranoid
---  pmus uid tick_ns; load: runnable threads in the last minute; tick_ns: of the OS kernel's timer
function machine.facts()
  local cpu, microcode, count, is_virtual = machine.cpu(machine.text "/proc/cpuinfo" or "")
  return {
    hostname = line "/proc/sys/kernel/hostname", cpu = cpu, microcode = microcode,
    cpus = count > 0 and count or nil,
    os_kernel = line "/proc/sys/kernel/osrelease", architecture = jit.arch,
    governor = line "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    smt = line "/sys/devices/system/cpu/smt/active", turbo = turbo(), virtual = is_virtual,
    load = tonumber((line "/proc/loadavg" or ""):match "^%S+"),
    paranoid = tonumber(line "/proc/sys/kernel/perf_event_paranoid" or ""),
    pmus = machine.entries((os.getenv "SYSFS_PATH" or "/sys") .. "/bus/event_source/devices"),
    uid = core.uid(), tick_ns = core.tick_ns(),
  }
end

return machine
