--- rights.lua: what this user may count: settings of Linux and limits of this process.
--
-- Each check is a function of the machine that returns a finding, or nil.

local finding = require "pmclua.doctor.finding"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local good, obstacle = finding.good, finding.obstacle

local M = {}

local SYSCTL = "/proc/sys/kernel/"

-- Per level, events that users without CAP_PERFMON cannot open: Documentation/admin-guide/sysctl/kernel.rst; levels
-- above 2 are patches of distributions.
local function forbidden_at(level)
  if level > 2 then return "blocks", "ordinary users may count nothing (a distribution's patch)" end
  if level == 2 then return "limits", "ordinary users may count only user space (:u), and no whole CPU" end
  if level == 1 then return "limits", "ordinary users may not count whole CPUs" end
  return "good", "everybody may count everything"
end

local DUMMY = { type = 1, config = 9, exclude_kernel = 1, exclude_hv = 1 }
local HIGHEST = 2           -- level that Linux itself knows

local function level_in_force(machine, level)
  if level <= HIGHEST or machine:opens(DUMMY) ~= true then return level, "" end
  return HIGHEST, (", which Linux treats as %d"):format(HIGHEST)
end

local function paranoid(machine)
  local level = machine:number(SYSCTL .. "perf_event_paranoid")
  if not level and not machine:kind "/proc/sys" then
    return obstacle("limits", nil, "/proc is not mounted: processes, rights and settings cannot be seen",
      "sudo mount -t proc proc /proc")
  elseif not level then
    return obstacle("blocks", nil, "there is no perf_event_paranoid: this Linux cannot count", nil,
      "use a Linux with CONFIG_PERF_EVENTS")
  end
  local brief = ("perf_event_paranoid %d"):format(level)
  if machine:is_privileged() then
    local by = machine:capability "CAP_PERFMON" and "CAP_PERFMON" or "CAP_SYS_ADMIN"
    return good(level, ("%s, with %s"):format(brief, by),
      ("perf_event_paranoid is %d, which does not bind this user (%s)"):format(level, by))
  end
  local in_force, taken = level_in_force(machine, level)
  local state, meaning = forbidden_at(in_force)
  local words = ("perf_event_paranoid is %d%s: %s"):format(level, taken, meaning)
  if state == "good" then return good(level, brief, words) end
  return obstacle(state, level, words, "sudo sysctl kernel.perf_event_paranoid=0",
    machine:is_in_user_namespace() and "or run as root outside this user namespace"
      or "or run as root, or with CAP_PERFMON; to stay: /etc/sysctl.d")
end

local function system_call(machine)
  local outcome = machine:opens(DUMMY)
  if outcome == true then return good(true, "perf_event_open", "perf_event_open can be called") end
  if outcome == "ENOSYS" then
    return obstacle("blocks", outcome, "this Linux has no perf_event_open (or is an emulation)")
  elseif outcome == "EPERM" and machine:is_filtered() then
    return obstacle("blocks", outcome, "perf_event_open is blocked (seccomp, as in a container)",
      { "docker run --cap-add PERFMON IMAGE", "docker run --security-opt seccomp=unconfined IMAGE" })
  elseif outcome == "EACCES" and (machine:number(SYSCTL .. "perf_event_paranoid") or 0) > 2 then
    return nil                      -- has been said
  end
  local form = "perf_event_open refuses even an event that counts nothing (%s)"
  return obstacle("blocks", outcome, form:format(outcome), "sudo dmesg | tail",
    "a security module may forbid it")
end

local function lockdown(machine)
  local mode = (machine:line "/sys/kernel/security/lockdown" or ""):match "%[(.-)%]"
  if mode ~= "confidentiality" then return nil end
  return obstacle("limits", mode, "Linux is locked down (confidentiality): it cannot be probed",
    nil, "boot with lockdown=integrity, or without")
end

-- ---- tracefs -------------------------------------------------------------------------------------

local TRACEFS = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" }

local function readable_tracefs(machine)
  return lists.find(TRACEFS, function(folder) return #machine:names(folder .. "/events") > 0 end)
end

local function is_mounted(machine)
  local mounts = "\n" .. (machine:text "/proc/self/mounts" or "")
  return mounts:find("\n%S+ /sys/kernel/tracing ") ~= nil
end

local function tracefs(machine)
  local folder = readable_tracefs(machine)
  if not folder and is_mounted(machine) then
    return obstacle("limits", nil, "this user may not read tracefs: no tracepoints by name",
      "sudo mount -o remount,mode=755 /sys/kernel/tracing")
  elseif not folder then
    return obstacle("limits", nil, "tracefs is not mounted: no tracepoints by name",
      "sudo mount -t tracefs nodev /sys/kernel/tracing")
  end
  if machine:can_open(folder .. "/uprobe_events", "r+") then
    return good(folder, "tracefs, probes too",
      "tracefs can be read, and probes defined there are inherited by threads and children")
  end
  return good(folder, "tracefs",
    "tracefs can be read; probes cannot be defined there: they count the first thread only")
end

local function pointers(machine)
  local level = machine:number(SYSCTL .. "kptr_restrict")
  if not level then return nil end
  local is_hidden = level >= 2 or level == 1 and not machine:capability "CAP_SYSLOG"
  local words = ("kptr_restrict is %d: "):format(level)
  if not is_hidden then
    return good(level, ("kptr_restrict %d"):format(level), words .. "this user sees Linux's own addresses")
  end
  return obstacle("limits", level, words .. "Linux's own addresses are hidden, so none can be watched",
    "sudo sysctl kernel.kptr_restrict=0")
end

-- ---- limits --------------------------------------------------------------------------------------

local LEAST_MLOCK_KB = 516      -- the default: one ring of 128 pages and its head, for each CPU

local function locked_memory(machine)
  local kilobytes = machine:number(SYSCTL .. "perf_event_mlock_kb")
  if not kilobytes then return nil end
  local brief = ("perf_event_mlock_kb %d"):format(kilobytes)
  local words = ("perf_event_mlock_kb is %d"):format(kilobytes)
  if machine:capability "CAP_IPC_LOCK" then
    return good(kilobytes, brief, words .. ", which does not bind this user (CAP_IPC_LOCK)")
  elseif kilobytes >= LEAST_MLOCK_KB then
    return good(kilobytes, brief, words .. ": the ring buffers of each CPU have room")
  end
  return obstacle("limits", kilobytes, words .. ": ring buffers are small, so fast probes lose records",
    ("sudo sysctl kernel.perf_event_mlock_kb=%d"):format(LEAST_MLOCK_KB))
end

local function shown(limit) return limit == math.huge and "any number" or text.count(limit) end

local FEW_FILES = 4096

local function open_files(machine)
  local soft, hard = machine:limit "Max open files"
  if not soft then return nil end
  local form = "%s files may be open, raised when needed up to %s: an event takes one for each CPU and thread"
  local words = form:format(shown(soft), shown(hard))
  local value = hard < math.huge and hard or nil
  if hard >= FEW_FILES then return good(value, ("open files up to %s"):format(shown(hard)), words) end
  return obstacle("limits", value, words,
    "echo '* hard nofile 65536' | sudo tee /etc/security/limits.d/pmclua.conf", "then log in again")
end

--- The checks, in the order in which they are told.
---@type { name: string, check: fun(machine: pmclua.doctor.Machine): table? }[]
M.checks = {
  { name = "perf_event_paranoid", check = paranoid },
  { name = "perf_event_open", check = system_call },
  { name = "lockdown", check = lockdown },
  { name = "tracefs", check = tracefs },
  { name = "kptr_restrict", check = pointers },
  { name = "perf_event_mlock_kb", check = locked_memory },
  { name = "RLIMIT_NOFILE", check = open_files },
}

return M
