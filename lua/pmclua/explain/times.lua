--- times.lua: states that are no errors: what enabled and running times say of a count.

local text = require "pmclua.base.text"

local function never_ran(facts)
  if facts.nmi_watchdog then
    return "it never got a counter: the NMI watchdog holds one of each CPU, and others may hold more",
           "switch the watchdog off while measuring: sysctl kernel.nmi_watchdog=0"
  end
  return "it never got a counter: other events or another program held them",
         "count fewer events at once, or end what else is counting"
end

---@param times { enabled: number?, running: number?, pinned: boolean?, hybrid: boolean? } ns
---@param facts pmclua.Facts
---@return string? sentence nil where it was counted all the time
---@return string? hint
return function(times, facts)
  local enabled, running = times.enabled, times.running
  if not enabled then
    if times.pinned then return "the pinned group could not stay on the PMU, and was put into error state" end
    return "the read gave nothing"
  end
  if enabled == 0 then
    return "it was never enabled: what it was to count did not run while it counted"
  end
  if running == 0 then
    if times.hybrid then return "the program never ran on a CPU of this event's kind" end
    return never_ran(facts)
  end
  if running >= enabled then return nil end
  local share = text.percent(running / enabled)
  if times.hybrid then return "the program ran " .. share .. " of its time on CPUs of this event's kind" end
  return ("it was counted %s of the time and shared the counters; the number is an estimate"):format(share),
         "count fewer events at once, or let them be counted in passes"
end
