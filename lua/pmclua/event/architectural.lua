--- architectural.lua: the events of Arm's architecture that a PMU lacks.
--
-- An Arm PMU opens a code that it lacks and counts 0. Linux names a common event in sysfs only where the PMU's
-- registers (PMCEID0, PMCEID1) say that it is there: drivers/perf/arm_pmuv3.c. So a common event that Linux could
-- name and does not is one that the PMU lacks, or that a hypervisor hides. Codes above are each CPU's own: nothing
-- confirms these.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"

local M = {}

-- Codes that Linux has names for: first, last, and since which version (5.9 is 5009). 0x1e, "chain", has none.
local NAMED = {
  { 0x00, 0x1d, 0 }, { 0x1f, 0x30, 0 }, { 0x31, 0x38, 5000 }, { 0x39, 0x3f, 5009 }, { 0x4000, 0x4003, 5000 },
  { 0x4004, 0x4006, 5009 }, { 0x4009, 0x400b, 5009 },
}

local function linux_version()
  local major, minor = (machine.line "/proc/sys/kernel/osrelease" or ""):match "^(%d+)%.(%d+)"
  return major and major * 1000 + minor or 0
end

--- Whether this is a PMU of Arm's, whose codes only sysfs confirms.
---@param name string of the PMU
---@return boolean
function M.is_arm(name) return name:find "^arm" ~= nil or name:find "^apple_" ~= nil end

--- Whether Linux would name the event of a code if the PMU had it.
---@param pmu pmclua.event.Pmu
---@param config number|ffi.cdata*
---@return boolean
function M.is_nameable(pmu, config)
  if not pmu.name:find "^armv[89]" or #pmu:alias_names() == 0 then return false end
  local code, version = tonumber(config), linux_version()
  return lists.any(NAMED, function(range)
    return range[1] <= code and code <= range[2] and range[3] <= version
  end)
end

return M
