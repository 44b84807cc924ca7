--- literals.lua: what "#literals" of perf's formulae are on this machine, or on the one whose sysfs SYSFS_PATH names.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local topology = require "pmclua.host.topology"

local M = {}

local function root() return os.getenv "SYSFS_PATH" or "/sys" end

-- perf names a part of the machine by the list of its CPUs; older Linux has the lists by other names.
local function count_parts(name, older)
  local parts = lists.unique(lists.map(topology.online(), function(cpu)
    return machine.line(("%s/devices/system/cpu/cpu%d/topology/%s"):format(root(), cpu, name))
  end))
  return #parts == 0 and older and count_parts(older) or #parts
end

local function smt_on()
  local active = machine.line(root() .. "/devices/system/cpu/smt/active")
  if active then return tonumber(active) == 1 and 1 or 0 end
  return count_parts("core_cpus_list", "thread_siblings_list") < #topology.online() and 1 or 0
end

local function slots()
  for _, pmu in ipairs(require("pmclua.event.sysfs").tree():core_pmus()) do
    local width = tonumber(pmu:capability "slots" or "")
    if width then return width end
  end
  return nil, "the PMU does not say how many slots a cycle has"
end

local values = {
  num_cpus = function() return #topology.present() end,
  num_cpus_online = function() return #topology.online() end,
  num_cores = function() return count_parts("core_cpus_list", "thread_siblings_list") end,
  num_dies = function() return count_parts "die_cpus_list" end,
  num_packages = function() return count_parts("package_cpus_list", "core_siblings_list") end,
  smt_on = smt_on,
  -- Whether all threads of a core are counted together: a task's counts are its own.
  core_wide = function() return 0 end,
  has_pmem = function() return machine.line(root() .. "/firmware/acpi/tables/NFIT") and 1 or 0 end,
  slots = slots,
  system_tsc_freq = function()
    local hz = require("pmclua.core").clock_hz()
    return hz, hz == nil and "Linux does not say the frequency of the time stamp counter" or nil
  end,
}

--- Whether Linux's watchdog has a counter of its own, on x86.
---@return boolean
function M.watchdog() return machine.line "/proc/sys/kernel/nmi_watchdog" == "1" end

--- The value of a literal; nil and why where it has none.
---@param name string in lower case, without "#"
---@return number?
---@return string? why
function M.value(name)
  local find = values[name]
  if not find then return nil, ("there is no literal #%s"):format(name) end
  return find()
end

return M
