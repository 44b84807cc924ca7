--- invalid.lua: the checks behind EINVAL, in the order in which they are worth asking.
--
-- Each check is a function of (failure, facts) that gives why and what to do, or nothing. They blame
-- what is written in the attr or what another opening shows; several ask `facts.opens`.

local kinds = require "pmclua.explain.kinds"

local READ, TID = 2 ^ 4, 2 ^ 1              -- bits of sample_type
local KNOWN_READ_FORMAT = 2 ^ 5             -- enabled, running, id, group, lost (the last since 6.0)

local function has(bits, bit) return math.floor((tonumber(bits) or 0) / bit) % 2 == 1 end

local function opens(failure, facts, changes)
  return facts.opens(kinds.with(failure.attr, changes), failure.pid, failure.cpu) == true
end

-- Fields that make an event the leader or a member of a group; an event that is tried alone has none.
local ALONE = { pinned = false, exclusive = false }

local function excludes(attr)
  return attr.exclude_user or attr.exclude_kernel or attr.exclude_hv or attr.exclude_idle or attr.exclude_host
    or attr.exclude_guest
end

local function no_target(failure)
  if failure.pid == -1 and failure.cpu == -1 then
    return "neither a process nor a CPU is named (pid and cpu are both -1)",
           "name one: a process on any CPU, or one CPU with all that runs there"
  end
end

local function no_exclusion(failure, facts)
  local attr = failure.attr
  if not excludes(attr) or kinds.type_of(attr) <= kinds.BREAKPOINT then return end
  local without = { exclude_user = false, exclude_kernel = false, exclude_hv = false, exclude_idle = false,
                    exclude_host = false, exclude_guest = false }
  local outcome = facts.opens(kinds.with(attr, without), failure.pid, failure.cpu)
  if outcome ~= true and outcome ~= "EACCES" then return end
  local pmu = facts.pmu(kinds.type_of(attr))
  return ("the PMU %s counts everything: it can exclude neither user space nor Linux"):format(
    pmu and pmu.name or "of type " .. kinds.type_of(attr)), "leave the modifiers (u, k, h) out"
end

local function group_rules(failure)
  local attr = failure.attr
  if (failure.index or 0) < 2 then return end
  if attr.pinned then return "only the leader of a group may be pinned (the modifier D)", "pin the leader" end
  if attr.exclusive then return "only the leader of a group may be exclusive (the modifier e)" end
end

local function group_too_big(failure, facts)
  if (failure.index or 0) < 2 or not opens(failure, facts, ALONE) then return end
  local count = failure.members and #failure.members
  if kinds.type_of(failure.attr) == kinds.SOFTWARE then
    return "it opens alone but not in this group: members share the target, inherit and the clock",
           "give all members of a group the same fields"
  end
  return ("it opens alone but does not fit into this group%s: the PMU has no counter left for it, "
    .. "or it differs from the leader in inherit or clock"):format(count and " of " .. count or ""),
    "count fewer events at once; an experiment counts them in passes"
end

local function sample_rate(failure, facts)
  local attr, limit = failure.attr, facts.max_sample_rate
  if not attr.freq or attr.freq == 0 or not limit then return end
  local rate = tonumber(attr.sample_freq or attr.sample_period) or 0
  if rate > limit then
    local why = "%d samples a second are more than kernel.perf_event_max_sample_rate allows, %d"
    return why:format(rate, limit),
           ("sample less often, or: sysctl kernel.perf_event_max_sample_rate=%d"):format(rate)
  end
end

local function cpu_range(failure, facts)
  local online = facts.cpus_online
  if not failure.cpu or failure.cpu < 0 or not online then return end
  if not kinds.in_list(failure.cpu, online) then
    return ("there is no CPU %d here: %s are online"):format(failure.cpu, online)
  end
end

local function bound_uncore(failure, facts)
  local pmu = facts.pmu(kinds.type_of(failure.attr))
  if not pmu or pmu.core or not pmu.cpumask or not failure.pid or failure.pid < 0 then return end
  return ("the PMU %s counts a whole machine or socket, never one process")
    :format(pmu.name), ("count it system-wide, on CPU %s"):format(pmu.cpumask)
end

local ACCESS_EXECUTE, ACCESS_READ = 4, 1

local function breakpoint(failure, facts)
  local attr = failure.attr
  if kinds.type_of(attr) ~= kinds.BREAKPOINT then return end
  local access, length = tonumber(attr.bp_type) or 0, tonumber(attr.bp_len or attr.config2) or 0
  if access == ACCESS_READ and facts.machine == "x86_64" then
    return "x86 has no breakpoints on reads alone", "watch reads and writes: rw"
  end
  if access == ACCESS_EXECUTE and facts.machine == "x86_64" and length ~= 8 then
    return "a breakpoint on execution has the length of a long, 8", "leave the length out"
  end
  local address = attr.bp_addr or attr.config1         -- one place in the ABI, under two names
  if address and length > 0 and address % length ~= 0 then
    return ("a breakpoint of %d bytes is at an address that is not a multiple of %d"):format(length, length),
           "watch fewer bytes, or from an aligned address"
  end
  return ("this CPU has no breakpoint of this kind (type %d, %d bytes)"):format(access, length),
         "lengths are 1, 2, 4 and 8; accesses r, w and x"
end

local function tracepoint(failure)
  if kinds.type_of(failure.attr) ~= kinds.TRACEPOINT then return end
  return "Linux has no tracepoint with this id",
         "ids differ from boot to boot: name it, as in sched:sched_switch"
end

local function read_format(failure, facts)
  local format = tonumber(failure.attr.read_format)
  if not format or not opens(failure, facts, { read_format = false }) then return end
  if format >= KNOWN_READ_FORMAT then
    return ("read_format 0x%x has a bit that no Linux knows"):format(format)
  end
  local why = "Linux%s does not know read_format 0x%x for such an event"
  return why:format(kinds.release(facts), format),
         "bit 16 (lost) needs 6.0; a group with inherit needs 4.13"
end

local function sampling_rules(failure, facts)
  local attr = failure.attr
  if attr.inherit and has(attr.sample_type, READ) and not has(attr.sample_type, TID) then
    return "inherit with counts in samples (READ) needs the thread's id in them (TID)",
           "add TID to sample_type"
  end
  if attr.inherit and has(attr.sample_type, READ) and opens(failure, facts, { inherit = false }) then
    local why = "Linux%s cannot put counts into samples of inherited events"
    return why:format(kinds.release(facts)),
           "it needs Linux 6.12; before that, count one thread"
  end
  if attr.remove_on_exec and attr.enable_on_exec then
    return "remove_on_exec and enable_on_exec contradict each other"
  end
  if attr.sigtrap and not attr.remove_on_exec then return "sigtrap needs remove_on_exec" end
end

local function not_this_code(failure, facts)
  local attr = failure.attr
  if not kinds.is_core(attr) or not facts.core_pmu then return end
  if kinds.type_of(attr) == kinds.RAW or kinds.type_of(attr) == kinds.CACHE then
    return "this CPU's PMU does not have this event, or not this combination of its parts",
           "pmclua events WORD lists what it has"
  end
end

return {
  no_target, no_exclusion, group_rules, sampling_rules, group_too_big, sample_rate, cpu_range, bound_uncore,
  breakpoint, tracepoint, read_format, not_this_code,
}
