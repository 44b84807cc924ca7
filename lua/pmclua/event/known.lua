--- known.lua: numbers that are too small to be counts.
--
-- A time that Linux samples is not known below a tick. A counter that cannot but advance, as of energy or
-- the time stamp, and stood still did not count: virtual machines show such counters and do not run them.

local text = require("pmclua.base.lazy").module "pmclua.base.text"

local M = {}

-- tsc, aperf, mperf, pperf, ptsc, irperf: arch/x86/events/msr.c. Not smi, nor what is read and not counted.
local ADVANCING_MSR = { [0] = true, true, true, true, [5] = true, [6] = true }

--- Whether an event's counter advances whenever it counts at all.
---@param event pmclua.Event or the header's entry of one
---@return boolean
function M.must_advance(event)
  local attr = event.opened or event.attr
  if event.tool or not attr then return false end
  if event.unit == "Joules" then return true end
  return event.pmu == "msr" and ADVANCING_MSR[tonumber(attr.config or 0)] == true
end

local STOOD_STILL = "its counter stood still: virtual machines show such counters and may not run them; a "
  .. "run that is shorter than a step of the counter reads so, too"
local BELOW_TICK = "below the %s after which Linux looks whether a program is in user space"

--- Why an event of which nothing is known has no number; nil: for no reason of ours.
---@param event pmclua.Event or the header's entry of one
---@return string?
function M.why(event)
  if event.grain_ns then return BELOW_TICK:format(text.time(event.grain_ns)) end
  return M.must_advance(event) and STOOD_STILL or nil
end

--- A count, unless it is too small to be one.
---@param event pmclua.Event or the header's entry of one
---@param count number|ffi.cdata*|false|nil
---@return number|ffi.cdata*|false|nil
function M.of(event, count)
  if not count then return count end
  if event.grain_ns then return tonumber(count) >= event.grain_ns and count or nil end
  return (count ~= 0 or not M.must_advance(event)) and count or nil
end

return M
