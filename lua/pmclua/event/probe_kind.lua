--- probe_kind.lua: whether an event is a probe of the uprobe or kprobe PMU, however it was asked for.
--
-- Such an event must not be inherited: on fork Linux reads the string that its attr points to from the memory of
-- the forking process, and if it is not there, fork and pthread_create fail with EFAULT.

local M = {}

local KINDS = { uprobe = true, kprobe = true }
local LAST_FIXED_TYPE = 5        -- PERF_TYPE_BREAKPOINT: the numbers of these PMUs are above

--- The PMU of a probe; nil if the event is no probe.
---@param event { attr: table?, pmu: string? } `pmu` may be nil, as for "8:0", where the type's number is known alone
---@return "uprobe"|"kprobe"|nil
function M.of(event)
  local number = event.attr and tonumber(event.attr.type) or 0
  if number <= LAST_FIXED_TYPE then return nil end
  local name = event.pmu
  if not name then
    local pmu = require("pmclua.event.sysfs").tree():of_type(number)
    name = pmu and pmu.name
  end
  return KINDS[name] and name or nil
end

return M
