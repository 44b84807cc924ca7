--- reading.lua: how a raw count and its times become a value with a status.
--
-- Invariant: what was not counted is nil with a cause, never 0, and so is what cannot be true. A count is scaled where
-- the event was on the PMU for only part of the time that it was enabled, if that is enough to tell of the rest. An
-- event of one kind of core of a hybrid CPU (core_cpus) is not scaled: it counted whenever the program ran on such
-- cores. Times are nanoseconds, enabled and (on the PMU) running; a count without times was counted throughout.

local text = require("pmclua.base.lazy").module "pmclua.base.text"

local M = {}

---@alias pmclua.ReadingStatus "counted"|"simulated"|"scaled"|"placed"|"not-counted"
---@alias pmclua.ReadingCause "never-enabled"|"lost"|"never-on"|"not-there"|"too-short"|"too-small"|"impossible"|
---  "no-reading"|"only-zeros"

-- ---- times -----------------------------------------------------------------------------------------------

--- Whether a pinned group lost its place on the PMU (core/pmclua.h). Its counts are useless then.
---@param enabled number? ns
---@param running number? ns
---@return boolean
function M.is_lost(enabled, running) return enabled == 1 and running == 0 end

--- Whether an event was on the PMU for all the time that it was enabled; without times it was.
---@param enabled number|ffi.cdata*|nil ns
---@param running number|ffi.cdata*|nil ns
---@return boolean
function M.is_throughout(enabled, running)
  return not (enabled and running) or running >= enabled and running > 0
end

local function why_never_on(event, enabled)
  if enabled == 0 then return "never-enabled" end
  if enabled == 1 then return "lost" end
  return event.core_cpus and "not-there" or "never-on"
end

local LEAST_SHARE = 0.01        -- of the time: from less a count, 0 above all, says nothing of the rest

--- How an event was counted, by its times.
---@param event pmclua.CodedEvent or the header's entry of one
---@param enabled number|ffi.cdata*|nil ns
---@param running number|ffi.cdata*|nil ns
---@return pmclua.ReadingStatus status
---@return number? share of the time that it was on the PMU; nil where it was never enabled
---@return pmclua.ReadingCause? cause
function M.status(event, enabled, running)
  if event.simulated then return event.source == "syscalls" and "counted" or "simulated", 1 end
  if M.is_throughout(enabled, running) then return "counted", 1 end
  if running == 0 then return "not-counted", enabled > 0 and 0 or nil, why_never_on(event, enabled) end
  local share = tonumber(running) / tonumber(enabled)
  if event.core_cpus then return "placed", share end
  if share < LEAST_SHARE then return "not-counted", share, "too-short" end
  return "scaled", share
end

--- Whether other events, or another user of its counters, had them for a part of the time.
---@param event pmclua.CodedEvent or the header's entry of one
---@param share number of M.status
---@return boolean
function M.was_kept_off(event, share) return share < 1 and not event.core_cpus end

-- ---- invalid counts --------------------------------------------------------------------------------------

-- tsc, aperf, mperf, pperf, ptsc, irperf: arch/x86/events/msr.c. Not smi, nor what is read and not counted.
local ADVANCING_MSR = { [0] = true, true, true, true, [5] = true, [6] = true }

-- Whether an event's counter advances whenever it counts at all, as that of energy or the time stamp.
local function must_advance(event)
  local attr = event.opened or event.attr
  if event.tool or not attr then return false end
  if event.unit == "Joules" then return true end
  return event.pmu == "msr" and ADVANCING_MSR[tonumber(attr.config or 0)] == true
end

--- Whether a count of the event can be too small to be true: a time that Linux samples is not known below a tick,
--- and a counter that must advance but stood still did not count (virtual machines show such counters).
---@param event pmclua.CodedEvent or the header's entry of one
---@return boolean
function M.may_be_too_small(event) return event.grain_ns ~= nil or must_advance(event) end

-- More per nanosecond than any core does: cycles, instructions, and sums of any event (of the CPUs of today,
-- loads that wait in each cycle come to some 300). Times and counts are not read at the same instant: SLACK_NS.
local CYCLES, INSTRUCTIONS, ANYTHING, SLACK_NS = 20, 200, 1000, 1e5
local HARDWARE, CACHE, RAW = 0, 3, 4            -- linux/perf_event.h
local GENERIC = { [0] = CYCLES, INSTRUCTIONS }

--- The most that a CPU's core can count of an event in a nanosecond; nil for an event that is not a core's.
---@param event pmclua.CodedEvent or the header's entry of one
---@return number?
function M.most_per_ns(event)
  local attr, pmu = event.opened or event.attr, event.pmu or ""
  if not attr or not event.source or event.simulated then return nil end
  if attr.type == HARDWARE then return GENERIC[tonumber(attr.config or 0) % 2 ^ 32] or ANYTHING end
  local is_core = attr.type == CACHE or attr.type == RAW or pmu:find "^cpu" or pmu:find "^armv%d"
  return is_core and ANYTHING or nil
end

--- Whether a count is more than a core can do in that time: a counter that went backwards reads 2^64 less something.
---@param most number? of `most_per_ns`
---@param raw number|ffi.cdata*
---@param running number|ffi.cdata*|nil ns; nil: not known
---@return boolean
function M.is_impossible(most, raw, running)
  if not most then return false end
  return raw >= 2 ^ 63 or running ~= nil and raw > most * (tonumber(running) + SLACK_NS)
end

local function is_beyond(event, raw, running)
  local least = running and CYCLES * (tonumber(running) + SLACK_NS) or 2 ^ 63
  return raw >= least and M.is_impossible(M.most_per_ns(event), raw, running)
end

--- A raw count; nil where it is too small or too large to be true.
---@param event pmclua.CodedEvent or the header's entry of one
---@param raw number|ffi.cdata*|false|nil
---@param running? number|ffi.cdata* ns
---@return number|ffi.cdata*|nil
function M.known(event, raw, running)
  if not raw or is_beyond(event, raw, running) then return nil end
  if event.grain_ns then return tonumber(raw) >= event.grain_ns and raw or nil end
  return (raw ~= 0 or not must_advance(event)) and raw or nil
end

--- Whether the PMU may lack the event's code. Arm PMUs open a code that they lack and count 0: where every reading
--- is 0 the status is "unverified" and the cause "only-zeros". Any other count shows that the PMU has the code, and
--- then its zeros are counts, too.
---@param event pmclua.CodedEvent or the header's entry of one
---@return boolean
function M.is_unverified(event) return event.verified == false end

-- ---- readings --------------------------------------------------------------------------------------------

--- The value of a reading in the event's unit, and how it was obtained.
---@param event pmclua.CodedEvent or the header's entry of one
---@param raw number|ffi.cdata*|false|nil
---@param enabled number|ffi.cdata*|nil ns
---@param running number|ffi.cdata*|nil ns
---@param elsewhere false|nil|fun(at: any): boolean of M.elsewhere
---@param at any which reading, as `elsewhere` takes it
---@return number? value
---@return pmclua.ReadingStatus status
---@return number? share of the time that it was on the PMU
---@return pmclua.ReadingCause? cause why there is no value
function M.of(event, raw, enabled, running, elsewhere, at)
  local status, share, cause = M.status(event, enabled, running)
  if cause then
    if cause == "not-there" and elsewhere and elsewhere(at) then return 0, "placed", 0 end
    return nil, status, share, cause
  end
  if not raw then return nil, "not-counted", share, "no-reading" end
  if not M.known(event, raw, running) then
    return nil, "not-counted", share, is_beyond(event, raw, running) and "impossible" or "too-small"
  end
  local value = tonumber(raw) * (event.scale or 1)
  return status == "scaled" and value / share or value, status, share
end

--- For an event of one kind of core: a function that tells of a reading whether the program ran on another kind all
--- the time, so that 0 is the event's count. Nil for any other event.
---@param event pmclua.CodedEvent or the header's entry of one
---@param events table[] the list that it is in
---@param read fun(index: integer, at: any): number?, number?, number?  raw count, enabled and running of an event
---@return (fun(at: any): boolean)?
function M.elsewhere(event, events, read)
  if not (event.core_cpus and event.part_of) then return nil end
  return function(at)
    for index, other in ipairs(events) do
      if other ~= event and other.part_of == event.part_of then
        local raw, enabled, running = read(index, at)
        if raw and M.is_throughout(enabled, running) then return true end
      end
    end
    return false
  end
end

-- ---- reasons ---------------------------------------------------------------------------------------------

local BELOW_TICK = "below %s, the interval at which Linux checks whether a program is in user space"

local REASONS = {
  ["never-enabled"] = "it was never enabled: nothing that it counts ran in that time",
  lost = "its pinned group lost its place on the PMU: something else was using its counters",
  ["never-on"] = "it never ran: the PMU had no free counter for it; something else may be using "
    .. "them",
  ["too-short"] = "it was on the PMU for less than 1 % of the time, too little to tell of the rest; "
    .. "something else may be using the counters",
  impossible = "its count is more than a core can do in that time: the counter, or who emulates it, is wrong",
  ["too-small"] = "its counter did not move: virtual machines may show such a counter without running it; "
    .. "a run shorter than one step of the counter reads the same",
  ["no-reading"] = "no repetition has a count for it",
  ["only-zeros"] = "it read only 0, and nothing confirms that the PMU has this code",
}

--- Why an event has no number.
---@param event pmclua.CodedEvent or the header's entry of one
---@param cause? string pmclua.ReadingCause, or another of a column
---@return string? nil: it is none of a reading's
function M.why(event, cause)
  if cause == "too-small" and event.grain_ns then return BELOW_TICK:format(text.time(event.grain_ns)) end
  if cause ~= "not-there" then return REASONS[cause] end
  -- A result of before may not say which CPUs these are.
  local where = event.core_cpus == "" and "this kind of core" or "CPUs " .. event.core_cpus
  return ("it never ran: not on %s, or the PMU had no free counter for it"):format(where)
end

return M
