--- explain.lua: what an event counts, how each field of its attr came about, and whether it opens here.

local cache = require "pmclua.event.cache"
local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.event.Explanation
---@field event pmclua.Event
---@field counts string what it counts, "" where nobody says
---@field fields { name: string, value: string, why: string }[] of the attr, in the order of the ABI
---@field notes string[] what to know of its numbers
---@field status string of trying it: "counted", "unverified" (it opens), "unsupported", "constant-zero"
---@field why string? of a status that is not "counted", and what would help, as one paragraph
---@field reason string? why alone
---@field hint string? what would help
---@field opened table? the attr that opens
---@field note string? what opening it needed

local types = {
  hardware = "PERF_TYPE_HARDWARE: Linux knows the code for this CPU",
  software = "PERF_TYPE_SOFTWARE: counted by Linux itself",
  cache = "PERF_TYPE_HW_CACHE: Linux knows the code for this CPU",
  raw = "PERF_TYPE_RAW: the core PMU gets the code as it is",
  tracepoint = "PERF_TYPE_TRACEPOINT",
  breakpoint = "PERF_TYPE_BREAKPOINT",
}

-- The order of the ABI, and why a bit is set.
local order = { "type", "config", "config1", "config2", "config3", "config4", "bp_type", "bp_addr", "bp_len",
  "uprobe_path", "kprobe_func", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv",
  "exclude_idle", "precise_ip", "exclude_host", "exclude_guest" }
local bits = {
  pinned = "D: on the PMU all the time, or in error", exclusive = "e: nothing else may be on the PMU",
  exclude_user = "user space is not counted", exclude_kernel = "Linux is not counted",
  exclude_hv = "the hypervisor is not counted", exclude_idle = "I: not while the CPU is idle",
  precise_ip = "p: how exact a sampled address is", exclude_host = "G: only inside guests",
  exclude_guest = "H: not inside guests",
  bp_type = "the kinds of access", bp_addr = "the address", bp_len = "bytes watched",
  uprobe_path = "the binary", kprobe_func = "the function of Linux",
}

local function hex(value)
  return ("0x%x"):format(value)
end

local function shown(field, value)
  if type(value) == "string" then return value end
  if field:find("^config") or field == "bp_addr" then return hex(value) end
  return ("%u"):format(value)
end

-- "event=0x3c in bits 0-7 (mem-loads), config=0x1".
local function placements(event, field)
  local mine = lists.where(event.placed or {}, function(placed) return placed.field == field end)
  return table.concat(lists.map(mine, function(placed)
    local where = placed.bits and " in bits " .. placed.bits or ""
    local alias = placed.alias and (" (%s)"):format(placed.alias) or ""
    return ("%s=%s%s%s"):format(placed.term, hex(placed.value), where, alias)
  end), ", ")
end

local function why_type(event)
  if event.source == "pfm" then return "from libpfm4, " .. event.full end
  if types[event.source] then return types[event.source] end
  return event.pmu and ("the PMU %s, as sysfs numbers it"):format(event.pmu) or "as given"
end

-- The two halves of a generic event's config: the code, and above it, on a hybrid CPU, the type of a core PMU.
local function halves(config)
  local whole = 0ULL + config
  return tonumber(whole % 0x100000000ULL), tonumber(whole / 0x100000000ULL)
end

local function why_config(event)
  local placed = placements(event, "config")
  if placed ~= "" then return placed end
  if event.source == "tracepoint" then return "the id of " .. (event.tracepoint or "a tracepoint") end
  if event.source == "probe" then return event.attr.config == 0 and "on entry" or "on return" end
  if event.source == "pfm" then return "from libpfm4" end
  if event.source == "hardware" or event.source == "software" or event.source == "cache" then
    local config, kind = halves(event.attr.config)
    local bare = { attr = { type = event.attr.type, config = event.attr.config }, source = event.source }
    local of_kind = ""
    if event.core_cpus then
      bare.attr.config, of_kind = config, (" of the PMU of type %d (%s)"):format(kind, event.pmu)
    end
    return require("pmclua.event.format").event(bare) .. of_kind
  end
  return "as given"
end

local function why(event, field)
  if field == "type" then return why_type(event) end
  if field == "config" then return why_config(event) end
  if event.source == "probe" and field == "config2" then return "where the probe is" end
  if field:find("^config") then
    local placed = placements(event, field)
    return placed ~= "" and placed or event.source == "pfm" and "from libpfm4" or "as given"
  end
  return bits[field] or ""
end

local function fields_of(event)
  local fields = {}
  for _, field in ipairs(order) do
    local value = event.attr and event.attr[field]
    if value then
      fields[#fields + 1] = { name = field, value = shown(field, value), why = why(event, field) }
    end
  end
  return fields
end

local function generic_description(event)
  local kind = event.source == "hardware" and names.TYPE_HARDWARE or names.TYPE_SOFTWARE
  return names.description(kind, (halves(event.attr.config)))
end

local function cache_description(event)
  local name = cache.name_of((halves(event.attr.config)))
  return name and require("pmclua.event.list").cache_description(name)
end

local function breakpoint_description(event)
  local access = require("pmclua.event.breakpoint").access(event.attr.bp_type)
  local verbs = access == "x" and "executions" or access == "w" and "writes" or access == "r" and "reads"
    or "accesses (" .. access .. ")"
  return ("%s of the %u bytes at %s"):format(verbs, event.attr.bp_len, hex(event.attr.bp_addr))
end

local function probe_description(event)
  local attr = event.attr
  local location = attr.uprobe_path or attr.kprobe_func or "the OS kernel"
  local on_return = attr.config ~= 0 and ", on return" or ""
  return ("passing %s+%s%s"):format(location, hex(attr.config2 or 0), on_return)
end

local function tracepoint_description(event)
  if not event.tracepoint then return nil end
  local tracepoint = require "pmclua.event.tracepoint"
  local fields = tracepoint.fields(tracepoint.root(), event.tracepoint)
  local tells = #fields > 0 and ", which tells " .. table.concat(fields, ", ") or ""
  return "passing the tracepoint " .. event.tracepoint .. tells
end

local describe = {
  hardware = generic_description, software = generic_description, cache = cache_description,
  breakpoint = breakpoint_description, probe = probe_description,
  tool = function(event) return require("pmclua.event.tool").description(event.tool) end,
  pfm = function(event) return require("pmclua.event.pfm").describe(event.full) end,
  tracepoint = tracepoint_description,
  valgrind = function(event) return require("pmclua.event.simulated").description(event) end,
  syscalls = function(event) return require("pmclua.event.system_call").description(event) end,
  pmu = function(event)
    if event.table then return event.description or "" end
    return event.alias and ("what the PMU %s calls %s"):format(event.pmu, event.alias)
  end,
}

local function notes_of(event)
  local notes = {}
  local function note(condition, format, ...)
    if condition then notes[#notes + 1] = format:format(...) end
  end
  note(event.unit ~= "" and event.attr, "a count of 1 is %s %s", ("%.6g"):format(event.scale), event.unit)
  note(event.tool and not event.take, "in %s; taken from the record, costs nothing", event.unit)
  note(event.take, "in %s; taken from /proc before and after, outside of what is timed",
    event.unit == "" and "calls" or event.unit)
  local is_call, is_valgrind = event.source == "syscalls", event.source == "valgrind"
  note(is_call, "counted by ptrace and a seccomp filter in a run of its own, without rights; with them the "
    .. "tracepoint %s counts the same beside others", event.simulated and (event.simulated[1] == "total"
    and "raw_syscalls:sys_enter" or "syscalls:sys_enter_" .. event.simulated[1]))
  local is_heap = is_valgrind and require("pmclua.event.simulated").is_of_heap(event)
  note(is_valgrind and not is_heap, "simulated by Valgrind, as the sum of its %s: in a run of its own, "
    .. "25 to 130 times as long; user space only", table.concat(event.simulated or {}, " + "))
  note(is_heap, "counted by Valgrind's DHAT in a run of its own, of commands that are no static programs")
  note(event.table, "%s is of %s", event.alias, event.table)
  note(not event.verified and not event.absent, "unverified: nothing confirms that the PMU has this code; "
    .. "if not, this event reads 0, so a 0 is not reported as a count")
  note(event.cpus, "counts all tasks together on CPUs %s", event.cpus or "")
  note(event.core_cpus, "counts only while the task is on CPUs %s", event.core_cpus or "")
  note(event.snapshot, "the value is a level, not a count")
  note(event.per_package, "one value for each package")
  note(event.precise_max, "P: precise_ip as high as it opens")
  note(event.weak, "W: the group may be split where it does not fit")
  note(event.period, "a sampling period of %s, which counting ignores", tostring(event.period))
  note(event.filter, "only where %s", event.filter or "")
  return notes
end

-- An event that is bound to CPUs is tried on the first of them.
local function target_of(event)
  local cpu = event.cpus and tonumber(event.cpus:match("^%d+"))
  return cpu and { pid = -1, cpu = cpu } or nil
end

--- Tries an event on this thread; on a CPU where it counts CPUs.
---@param event pmclua.Event
---@param leader? table the attr that its group's leader opened with
---@return pmclua.event.Trial
function M.try(event, leader)
  return require("pmclua.event.try").event(event, target_of(event), leader)
end

-- The reason of a refusal and what to do about it; a text is all reason.
local function reason_of(refusal)
  if type(refusal) ~= "table" then return refusal and text.safe(refusal), nil end
  return text.safe(refusal.reason or refusal.message), refusal.hint and text.safe(refusal.hint)
end

--- Explains an event, trying it.
---@param event pmclua.Event
---@param leader? table the attr that its group's leader opened with
---@return pmclua.event.Explanation
function M.event(event, leader)
  local tried = M.try(event, leader)
  local counts = describe[event.source] and describe[event.source](event)
  local reason, hint = reason_of(tried.why)
  local is_doubtful = tried.status == "counted" and not event.verified
  if is_doubtful then reason, hint = "it opens", "ask for it by a name known here, if it has one" end
  return {
    event = event, counts = counts or "", fields = fields_of(event), notes = notes_of(event),
    status = is_doubtful and "unverified" or tried.status, note = tried.note,
    why = tried.why and text.safe(tostring(tried.why)) or nil,
    reason = reason, hint = hint, opened = tried.attr,
  }
end

-- Indices of the members of each {group} of a list, the leader first.
local function groups_of(events)
  local groups, of_leader = {}, {}
  for i, event in ipairs(events) do
    if event.leader then
      if not of_leader[event.leader] then
        of_leader[event.leader] = { event.leader }
        groups[#groups + 1] = of_leader[event.leader]
      end
      table.insert(of_leader[event.leader], i)
    end
  end
  return groups
end

local function group_note(explanations, indices)
  local attrs = {}
  for i, index in ipairs(indices) do
    attrs[i] = explanations[index].opened
    if not attrs[i] then return nil end
  end
  local leader = explanations[indices[1]].event
  local fits = require("pmclua.event.try").group(attrs, target_of(leader))
  if fits then return ("its group of %d fits the PMU"):format(#indices) end
  local weak = leader.weak and "" or "; W after the group lets it be split"
  return ("its group of %d does not fit the PMU%s"):format(#indices, weak)
end

--- Explains the events of a list, and whether its groups fit.
---@param events pmclua.Event[]
---@return pmclua.event.Explanation[]
function M.list(events)
  local explanations = {}
  for i, event in ipairs(events) do
    local leader = explanations[event.leader]
    explanations[i] = M.event(event, leader and leader.opened)
  end
  for _, indices in ipairs(groups_of(events)) do
    local note = group_note(explanations, indices)
    for _, index in ipairs(note and indices or {}) do table.insert(explanations[index].notes, note) end
  end
  return explanations
end

return M
