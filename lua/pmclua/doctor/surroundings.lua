--- surroundings.lua: what affects a program's counts from outside: virtual machines and containers, other users of
--- the counters, and what makes numbers vary from run to run.

local finding = require "pmclua.doctor.finding"

local good, obstacle = finding.good, finding.obstacle

local M = {}

local CPU = "/sys/devices/system/cpu/"

-- ---- virtual machines and containers -------------------------------------------------------------

-- Makers and products as DMI names them, and how each passes a PMU on.
local HYPERVISORS = {
  { "VMware", "VMware", "in the machine's settings: vpmc.enable = \"TRUE\"" },
  { "Microsoft", "Hyper-V", "on its host: Set-VMProcessor NAME -Perfmon @(\"pmu\",\"lbr\",\"pebs\")" },
  { "innotek", "VirtualBox", "VirtualBox gives its guests no PMU" },
  { "Amazon", "Amazon EC2", "a metal instance, or a size that takes a whole socket" },
  { "Google", "Google Compute Engine",
    "gcloud compute instances create NAME --performance-monitoring-unit=standard" },
  { "Xen", "Xen", "on its host: vpmu=true on the hypervisor's command line" },
  { "QEMU", "QEMU", "on its host: qemu -cpu host,pmu=on, or with libvirt <cpu mode='host-passthrough'/>" },
  { "KVM", "KVM", "on its host: qemu -cpu host,pmu=on, or with libvirt <cpu mode='host-passthrough'/>" },
}

-- The hypervisor of this machine, and how it passes a PMU on; nil: none that says so.
local function hypervisor_of(machine)
  local dmi = ("%s %s %s"):format(machine:line "/sys/class/dmi/id/sys_vendor" or "",
    machine:line "/sys/class/dmi/id/product_name" or "", machine:line "/sys/hypervisor/type" or "")
  for _, known in ipairs(HYPERVISORS) do
    if dmi:lower():find(known[1]:lower(), 1, true) then return known[2], known[3] end
  end
  if (machine:text "/proc/cpuinfo" or ""):find "[%s]hypervisor[%s]" then
    return "", "ask whoever runs its host to expose the PMU"
  end
end

local function container_of(machine)
  if machine:kind "/.dockerenv" then return "Docker" end
  if machine:kind "/run/.containerenv" then return "Podman" end
  local named = machine:line "/run/systemd/container"
  if named then return named end
  local groups = machine:text "/proc/1/cgroup" or ""
  return groups:match "kubepods" or groups:match "/lxc" and "LXC" or nil
end

local function hides_pmus(machine) return not machine:kind "/sys/devices" end

local function sysfs(machine)
  if not hides_pmus(machine) then return nil end
  return obstacle("limits", nil, "sysfs is not mounted on /sys: PMUs and CPUs cannot be seen",
    "sudo mount -t sysfs sysfs /sys")
end

local function virtual(machine, facts)
  local hypervisor, help = hypervisor_of(machine)
  if not hypervisor or hides_pmus(machine) then return nil end
  local kind = hypervisor == "" and "a virtual machine" or ("a virtual machine (%s)"):format(hypervisor)
  if facts.has_pmu then
    return obstacle("limits", hypervisor, kind .. ": others share its host", nil,
      "for small differences measure on a machine of your own")
  end
  return obstacle("blocks", hypervisor, kind .. " without a PMU: no hardware or cache events", nil, help)
end

local function no_pmu(machine, facts)
  if facts.has_pmu or hides_pmus(machine) or hypervisor_of(machine) then return nil end
  return obstacle("blocks", nil, "Linux sees no PMU here: no hardware or cache events",
    "sudo dmesg | grep -i -e pmu -e perf", "the firmware may hide it, or Linux may lack its driver")
end

local function container(machine)
  local kind = container_of(machine)
  if not kind then return nil end
  local form = "a container (%s): it sees only its own processes, and its settings are the host's"
  return obstacle("limits", kind, form:format(kind), nil, "change settings on the host")
end

-- ---- who else holds counters ---------------------------------------------------------------------

-- Whether the watchdog counts cycles to notice a CPU that hangs. On x86 it does, unless Linux was built to have CPUs
-- watch each other; on Arm only where interrupts of the PMU can be made like NMIs; elsewhere it has other means.
local function takes_counter(machine)
  local config = machine:text("/boot/config-" .. (machine:line "/proc/sys/kernel/osrelease" or "")) or ""
  if config:find("\nCONFIG_HARDLOCKUP_DETECTOR_BUDDY=y", 1, true) then return false end
  if machine.arch == "x64" then return true end
  return machine.arch == "arm64" and (machine:line "/proc/cmdline" or ""):find "gicv3_pseudo_nmi=1" ~= nil
end

local function watchdog(machine, facts)
  local is_on = machine:number "/proc/sys/kernel/nmi_watchdog"
  if is_on ~= 1 then return good(is_on, "no NMI watchdog", "the NMI watchdog is off") end
  if not facts.has_pmu or not takes_counter(machine) then
    return good(1, "NMI watchdog", "the NMI watchdog is on, but takes no counter")
  end
  return obstacle("limits", 1, "the NMI watchdog is on: it takes a counter on each CPU",
    "sudo sysctl kernel.nmi_watchdog=0")
end

local function threads_of_a_core(machine)
  local is_on = machine:number(CPU .. "smt/active")
  if is_on == nil then return nil end
  if is_on == 0 then return good(false, "no SMT", "a core has one thread (no SMT)") end
  return obstacle("limits", true, "two threads share each core (SMT), its caches and perhaps its counters",
    ("echo off | sudo tee %ssmt/control"):format(CPU))
end

-- ---- the clock -----------------------------------------------------------------------------------

local function governor(machine)
  local name = machine:line(CPU .. "cpu0/cpufreq/scaling_governor")
  if not name then return good(nil, "no governor", "Linux leaves the frequency alone") end
  if name == "performance" then
    return good(name, "governor performance", "the frequency governor is performance")
  end
  local form = "the frequency governor is %s: times, and cycles of memory-bound code, vary with it"
  return obstacle("limits", name, form:format(name), "sudo cpupower frequency-set -g performance")
end

local TURBO = {
  { CPU .. "intel_pstate/no_turbo", on = 0, off = 1 },
  { CPU .. "cpufreq/boost", on = 1, off = 0 },
}

local function turbo(machine)
  for _, switch in ipairs(TURBO) do
    local value = machine:number(switch[1])
    if value == switch.off then return good(false, "no turbo", "turbo is off") end
    if value == switch.on then
      return obstacle("limits", true, "turbo is on: the frequency depends on heat and on neighbours",
        ("echo %d | sudo tee %s"):format(switch.off, switch[1]))
    end
  end
end

--- The checks, in the order in which they are told; `found.has_pmu`: this machine has the PMU of a CPU.
---@alias pmclua.doctor.Check fun(machine: pmclua.doctor.Machine, found: { has_pmu: boolean }): table?
---@type { name: string, check: pmclua.doctor.Check }[]
M.checks = {
  { name = "sysfs", check = sysfs },
  { name = "virtual machine", check = virtual },
  { name = "PMU", check = no_pmu },
  { name = "container", check = container },
  { name = "NMI watchdog", check = watchdog },
  { name = "SMT", check = threads_of_a_core },
  { name = "governor", check = governor },
  { name = "turbo", check = turbo },
}

return M
