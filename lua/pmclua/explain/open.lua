--- open.lua: why perf_event_open refused, one rule for each errno.
--
-- Invariant: each rule asks in the order of the OS kernel's own checks and blames only what it has
-- found: by the attr, by the machine's facts, or by opening again with one thing changed. A rule gives
-- why and what to do; no why means that it knows none.
--
-- Sources: perf_event_open(2), kernel/events/core.c (Linux 6.12) and what was measured on 6.18.

local invalid = require "pmclua.explain.invalid"
local kinds = require "pmclua.explain.kinds"
local text = require "pmclua.base.text"

local rules = setmetatable({}, { __index = function() return function() end end })

local WITHOUT_PMU = "software and tracepoint events count here all the same (`pmclua events --available`); "
  .. "for hardware events use a machine whose PMU can be seen, or the lab (`make lab`%s); --simulate has "
  .. "Valgrind count instructions, branches and caches"

-- ---- ENOENT: nothing counts this ------------------------------------------------------------------------

local function no_pmu(facts)
  local hint = WITHOUT_PMU:format(facts.has_lab and "" or " in the source tree of pmclua")
  if facts.hypervisor then
    return "this virtual machine has no PMU: its host does not expose one", hint
  end
  return "Linux sees no PMU here (as in a virtual machine or container without one)", hint
end

-- A cgroup has a state for each controller of its hierarchy; that of perf_event, which nobody enables by
-- name in version 2, is made when the first other one is (kernel/cgroup/cgroup.c, cgroup_apply_control).
local function invisible_cgroup()
  return "perf does not know its cgroup yet: no controller was enabled since cgroup2 was mounted",
    "as root: echo +pids >/sys/fs/cgroup/cgroup.subtree_control (where cgroup2 is mounted)"
end

local function hidden_pmus()
  return "Linux does not count this here, and which PMUs it has cannot be seen: there is no "
    .. "/sys/bus/event_source", "mount -t sysfs sysfs /sys"
end

local function missing(failure, facts)
  if failure.is_cgroup then return invisible_cgroup() end
  local attr = failure.attr
  local kind = kinds.type_of(attr)
  if facts.hides_pmus and kind ~= kinds.SOFTWARE and kind ~= kinds.TRACEPOINT then return hidden_pmus() end
  if kinds.is_core(attr) then
    if not facts.core_pmu then return no_pmu(facts) end
    if kinds.type_of(attr) == kinds.RAW then return "this CPU's PMU does not accept this raw code" end
    return "this generic event has no counterpart on this CPU",
           "look for the CPU's own event: pmclua events WORD"
  end
  if kinds.type_of(attr) == kinds.SOFTWARE then
    return ("Linux%s has no such software event"):format(kinds.release(facts))
  end
  if kinds.type_of(attr) == kinds.TRACEPOINT then return "Linux has no tracepoint with this id" end
  local pmu = facts.pmu(kinds.type_of(attr))
  if not pmu then
    return ("there is no PMU of type %d on this machine"):format(kinds.type_of(attr)),
           "types differ from machine to machine: name the PMU, as in msr/tsc/"
  end
  if pmu.name == "uprobe" then return "the file to probe is not there, or is not a program or library" end
  if pmu.name == "kprobe" then return "Linux has no such function" end
  return ("the PMU %s does not know this config"):format(pmu.name), "pmclua events --pmu " .. pmu.name
end

rules.ENOENT = missing

-- ---- EACCES: who may count what ---------------------------------------------------------------------------

local function as_root(facts)
  return facts.in_user_namespace and "run as root or with CAP_PERFMON outside this user namespace"
    or "run as root or with CAP_PERFMON"
end

local function setting(value)
  return ("lower kernel.perf_event_paranoid: sysctl kernel.perf_event_paranoid=%d"):format(value)
end

local function paranoid_is(facts)
  return "kernel.perf_event_paranoid is " .. tostring(facts.paranoid or "not known")
end

-- How the event is asked for in user space alone: "cycles:pk" as "cycles:pu"; nil where only Linux is asked for.
local function in_user_space(failure)
  if failure.attr.exclude_user == 1 then return nil end
  if failure.has_attr then return "exclude_kernel = 1" end
  local spec = failure.spec or failure.event or "EVENT"
  local head, letters = spec:match "^(.+[:/])([ukhGHIpPDSWeb]*)$"
  return head and head .. letters:gsub("[ukh]", "") .. "u" or spec .. ":u"
end

local function kernel_forbidden(failure, facts)
  local why = ("permission denied: %s, which does not let ordinary users count Linux itself")
    :format(paranoid_is(facts))
  local hint = ("%s, or %s"):format(as_root(facts), setting(1))
  local zero = kinds.zero_without_kernel(failure)
  if zero then
    return why, ("%s; counting only user space (:u) would always read 0: %s"):format(hint, zero)
  end
  local instead = in_user_space(failure)
  return why, instead and ("count only user space (%s), %s"):format(instead, hint) or hint
end

local function forbidden_at_all(facts)
  local why = ("permission denied: %s, with which this distribution forbids ordinary users all events")
  return why:format(paranoid_is(facts)), as_root(facts) .. ", or " .. setting(2)
end

local function forbidden_target(failure, facts)
  local pmu = facts.pmu(kinds.type_of(failure.attr))
  if pmu and (pmu.name == "uprobe" or pmu.name == "kprobe") then
    return ("permission denied: a %s needs CAP_PERFMON"):format(pmu.name), as_root(facts)
  end
  if failure.pid == -1 then
    return ("permission denied: counting a whole CPU needs CAP_PERFMON, as %s"):format(paranoid_is(facts)),
           as_root(facts) .. ", or " .. setting(0)
  end
  if failure.pid and failure.pid > 0 then
    return ("permission denied: process %d belongs to another user or may not be traced"):format(failure.pid),
           "run as that user, as root, or with CAP_PERFMON or CAP_SYS_PTRACE"
  end
  if kinds.type_of(failure.attr) == kinds.TRACEPOINT then
    return ("permission denied: this tracepoint is not for ordinary users, as %s"):format(paranoid_is(facts)),
           as_root(facts) .. ", or " .. setting(-1)
  end
  return ("permission denied: %s"):format(paranoid_is(facts)), as_root(facts)
end

-- Every ordinary user may open these, unless a distribution's patch forbids all at a level above 2.
local HARMLESS = { type = kinds.SOFTWARE, config = 9, exclude_kernel = 1, exclude_hv = 1 }

-- Permission is checked before the PMU is looked up, so the first answer may hide a second.
function rules.EACCES(failure, facts)
  local attr = failure.attr
  if attr.exclude_kernel ~= 1 then
    local of_user = kinds.with(attr, { exclude_kernel = 1, exclude_hv = 1 })
    local outcome = facts.opens(of_user, failure.pid, failure.cpu)
    if outcome == true then return kernel_forbidden(failure, facts) end
    if outcome == "EINVAL" and kinds.never_excludes(attr, facts) then
      local why = kernel_forbidden(failure, facts)
      local pmu = facts.pmu(kinds.type_of(attr))
      local needed = setting(pmu.cpumask and 0 or 1)
      local advice = as_root(facts) .. ", or " .. needed
      return ("%s, and the PMU %s cannot leave it out"):format(why, pmu.name), advice
    end
    if outcome ~= "EACCES" then return rules[outcome](failure, facts) end
  end
  if facts.paranoid and facts.paranoid > 2 and facts.opens(HARMLESS, 0, -1) ~= true then
    return forbidden_at_all(facts)
  end
  return forbidden_target(failure, facts)
end

-- The limit holds for all rings of a user: kernel.perf_event_mlock_kb for each CPU, and a process's RLIMIT_MEMLOCK.
local function no_ring()
  return "its ring of samples cannot be had: this user's runs have locked all memory that they may lock",
    "end other runs that sample, or raise kernel.perf_event_mlock_kb, or ulimit -l"
end

function rules.EPERM(failure, facts)
  if failure.ring then return no_ring() end
  if kinds.type_of(failure.attr) == kinds.TRACEPOINT and kinds.samples_raw(failure.attr) then
    local why = "not permitted: raw data of tracepoints needs privileges, as %s"
    return why:format(paranoid_is(facts)), as_root(facts) .. ", or " .. setting(-1)
  end
  if facts.seccomp then
    return "not permitted: system calls are filtered here (seccomp, as in a container)",
           "let the container call perf_event_open: docker run --cap-add PERFMON, or a seccomp profile"
  end
  if facts.capability "CAP_PERFMON" or facts.capability "CAP_SYS_ADMIN" then
    return "not permitted, though this process may count: a security module or lockdown forbids it",
           "Linux's log (dmesg) may say which"
  end
  return "not permitted", as_root(facts)
end

-- ---- EINVAL: a contradiction ----------------------------------------------------------------------------

function rules.EINVAL(failure, facts)
  for _, check in ipairs(invalid) do
    local why, hint = check(failure, facts)
    if why then return why, hint end
  end
  local pmu = facts.pmu(kinds.type_of(failure.attr))
  local who = pmu and not pmu.core and "the PMU " .. pmu.name or "Linux"
  return ("%s refuses this combination of fields (EINVAL): %s"):format(who, kinds.fields(failure.attr)),
         pmu and not pmu.core and "pmclua events --pmu " .. pmu.name or nil
end

-- ---- limits -----------------------------------------------------------------------------------------------

-- A group of this size opens on any OS kernel, whatever is read of each member.
local ALWAYS_FIT = 600

function rules.E2BIG(failure, facts)
  local members = failure.members and #failure.members or 1
  local is_full = (failure.index or 0) > ALWAYS_FIT
  if members > 1 and (is_full or facts.opens(failure.attr, failure.pid, failure.cpu) == true) then
    local why = "a group of %s is too big: Linux reads at most 16 KiB at once, %s of these events"
    return why:format(text.count(members), text.count((failure.index or members) - 1)),
           "make several groups of them"
  end
  local why = "Linux%s is older than a field that is set: %s"
  return why:format(kinds.release(facts), kinds.fields(failure.attr)),
         "leave the newest field out, or use a newer Linux"
end

local function unsupported_sampling(attr)
  if (tonumber(attr.precise_ip) or 0) > 0 then
    return "this PMU cannot sample this event precisely (precise_ip, the modifier p)", "leave p out"
  end
  if attr.branch_sample_type then return "this PMU records no branches (branch_sample_type)" end
  if attr.aux_output or attr.aux_sample_size then return "this PMU has no auxiliary trace (aux)" end
  if attr.sample_period or attr.sample_freq then
    return "this PMU cannot sample: it has no interrupt", "count without sampling"
  end
end

function rules.EOPNOTSUPP(failure, facts)
  local attr = failure.attr
  local why, hint = unsupported_sampling(attr)
  if why then return why, hint end
  local config1 = tonumber(attr.config1) or 0
  local pmu = facts.pmu(kinds.type_of(attr))
  if config1 % 2 == 1 and pmu and pmu.name:find "^arm" then
    return "this PMU has no 64-bit counters (bit 0 of config1)", "leave long=1 out"
  end
  return ("the PMU does not support this: %s"):format(kinds.fields(attr))
end

local function limit_of(number) return number == math.huge and "none" or text.count(number) end

function rules.EMFILE(failure, facts)
  local limit = facts.nofile
  local why = failure.descriptors and ("too many open files: the events need %s besides those already open")
    :format(text.plural(failure.descriptors, "descriptor"))
    or "too many open files: each event takes a descriptor for each CPU and each thread"
  if not limit then return why, "raise the limit: ulimit -n" end
  why = ("%s, and the limit is %s (hard limit %s)"):format(why, limit_of(limit.soft), limit_of(limit.hard))
  if limit.soft < limit.hard then
    return why, limit.hard == math.huge and "raise the limit: ulimit -n 65536"
      or ("raise the limit: ulimit -n %d"):format(limit.hard)
  end
  return why, "count fewer events, CPUs or threads, or have the hard limit raised (limits.conf)"
end

function rules.ENOSPC(failure, facts)
  if kinds.type_of(failure.attr) == kinds.BREAKPOINT then
    local slots = facts.machine == "x86_64" and "four" or "few"
    return ("all breakpoints are in use: a CPU has %s, and debuggers use them too"):format(slots),
           "watch fewer addresses at once"
  end
  return "the PMU has no resources left for this event", "count fewer such events at once"
end

-- ---- the target, and the rest of the manual -------------------------------------------------------------

function rules.ESRCH(failure)
  if failure.pid and failure.pid > 0 then
    return ("there is no process or thread %d: it has ended"):format(failure.pid)
  end
  return "the process or thread has ended"
end

function rules.ENODEV(failure, facts)
  local online = facts.cpus_online
  if failure.cpu and failure.cpu >= 0 and online and not kinds.in_list(failure.cpu, online) then
    return ("CPU %d is offline (%s are online)"):format(failure.cpu, online)
  end
  if kinds.is_core(failure.attr) and not facts.core_pmu then return no_pmu(facts) end
  return "this CPU's PMU does not have what the event needs"
end

function rules.EOVERFLOW(failure, facts)
  if failure.attr.sample_max_stack then
    return "sample_max_stack is above kernel.perf_event_max_stack", "ask for fewer frames"
  end
  return ("a number is too large for Linux%s"):format(kinds.release(facts))
end

function rules.ENOMEM(failure)
  if failure.ring then return no_ring() end
  return "there is no memory left for the event", "count fewer events"
end

local ALWAYS = {
  ENFILE = { "too many open files on the whole machine", "raise the limit: sysctl fs.file-max" },
  EBUSY = { "another event has the PMU for itself (exclusive)", "wait until that one has ended" },
  EBADF = { "the leader of its group is closed" },
  ENOSYS = { "this Linux has no perf_event_open (or is an emulation such as gVisor)",
    "use a Linux with CONFIG_PERF_EVENTS" },
  EINTR = { "it was interrupted again and again" },
  EFAULT = { "a name that the attr points to cannot be read" },
}

for code, words in pairs(ALWAYS) do rules[code] = function() return unpack(words) end end

return rules
