--- unit.lua: the unit in which values of an event are computed with.
--
-- perf prints clocks in milliseconds; formulae and fields have all times in nanoseconds, so that
-- task_clock / duration_time is a share and nobody multiplies by 10^6.

local M = {}

--- Unit and the factor from the raw count to it.
---@param event pmclua.Event
---@return string unit, number scale
function M.of(event)
  if event.unit == "msec" then return "ns", (event.scale or 1) * 1e6 end
  return event.unit or "", event.scale or 1
end

return M
