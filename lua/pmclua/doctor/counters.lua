--- counters.lua: finds by trying which kinds of events and PMUs count here, and how many counters a PMU has.

local event = require "pmclua.event"
local finding = require "pmclua.doctor.finding"
local lists = require "pmclua.base.lists"
local try = require "pmclua.event.try"
local topology = require "pmclua.host.topology"

local M = {}

-- ---- kinds of events -----------------------------------------------------------------------------

-- Kinds of events: its words for people, and events any one of which shows that the kind counts.
local KINDS = {
  { "hardware", "cycles", "instructions", "branches" },
  { "cache", "L1-dcache-loads", "LLC-loads", "L1-dcache-load-misses", "dTLB-load-misses" },
  { "software", "page-faults", "task-clock" },
  { "software inside Linux", "context-switches", "cpu-migrations" },
  { "tracepoints", "syscalls:sys_enter_getppid", "sched:sched_switch" },
  { "breakpoints", "mem:0x1000/8:w", "mem:0x1000/8:rw" },
  { "uprobes", "uprobe:/proc/self/exe:0x1000" },
  { "kprobes", "kprobe:vfs_read" },
}

---@class pmclua.doctor.Kind
---@field name string
---@field status "counted"|"unsupported"|"constant-zero"
---@field example string the spec that was tried
---@field why string? in short
---@field help string?
---@field note string? "user space only (as an ordinary user)"

local function try_kind(kind)
  local first
  for i = 2, #kind do
    local events, problem = event.parse(kind[i])
    local explained = events and require("pmclua.event.explain").event(events[1])
      or { status = "unsupported", reason = problem.message }
    local row = { name = kind[1], example = kind[i], status = explained.status, why = explained.reason,
      help = explained.hint, note = explained.note }
    if row.status == "counted" then return row end
    first = first or row
  end
  return first
end

--- Each kind of events, tried on this thread.
---@return pmclua.doctor.Kind[]
function M.kinds()
  return lists.map(KINDS, try_kind)
end

-- ---- counters of a core PMU ----------------------------------------------------------------------

local MOST_COUNTERS = 32

-- Events that any counter can count, the likeliest first; and events that may have counters of their own.
local ANYWHERE = { "branches", "cache-references", "branch-misses", "instructions" }
local OWN = { "cycles", "instructions", "ref-cycles" }

-- The attr of a generic event of one PMU, where it opens.
local function attr_on(pmu, name, target)
  local spec = pmu.is_one_of_several and ("%s/%s/u"):format(pmu.name, name) or name .. ":u"
  local events = event.parse(spec)
  local tried = events and try.event(events[1], target)
  return tried and tried.status == "counted" and tried.attr or nil
end

local function most(others, attr, target)
  local list = lists.copy(others)
  for count = 1, MOST_COUNTERS do
    list[#list + 1] = attr
    if not try.group(list, target) then return count - 1 end
  end
  return MOST_COUNTERS
end

-- The events with counters of their own: those that fit beside as many of the others as fit without them.
local function own_counters(pmu, anything, alone, target)
  local beside, names = {}, {}
  for _, name in ipairs(OWN) do
    local attr = attr_on(pmu, name, target)
    if attr and attr.config ~= anything.config then
      beside[#beside + 1] = attr
      if most(beside, anything, target) == alone then names[#names + 1] = name else beside[#beside] = nil end
    end
  end
  return names
end

---@class pmclua.doctor.Counters
---@field any integer how many of one event fit at once
---@field own string[] events that take none of these
---@field event string the one that was tried

--- How many events of a core PMU fit in one group and are on it, tried at `target` (nil: this thread).
---@param pmu { name: string, is_one_of_several: boolean }
---@param target? { pid: integer, cpu: integer }
---@return pmclua.doctor.Counters? counters nil: no generic event opens
function M.count(pmu, target)
  for _, name in ipairs(ANYWHERE) do
    local anything = attr_on(pmu, name, target)
    if anything then
      local alone = most({}, anything, target)
      return { any = alone, own = own_counters(pmu, anything, alone, target), event = name }
    end
  end
end

-- ---- PMUs ----------------------------------------------------------------------------------------

---@class pmclua.doctor.Pmu
---@field name string
---@field type integer
---@field kind "core"|"uncore"|"OS kernel"
---@field cpus string? on which it counts
---@field events integer that sysfs names
---@field counters pmclua.doctor.Counters?
---@field is_untried boolean? of one of several core PMUs: it opens, but not on a CPU of its own for this user

local OF_THE_KERNEL = { software = true, tracepoint = true, breakpoint = true, uprobe = true, kprobe = true }

local function kind_of(pmu)
  if pmu:is_core() then return "core" end
  return OF_THE_KERNEL[pmu.name] and "OS kernel" or "uncore"
end

-- Where a core PMU can be tried: on this thread, or where there are several, on a CPU that has it.
local function target_for(pmu, several)
  if not several then return nil end
  return { pid = -1, cpu = topology.parse(pmu.core_cpus or "0")[1] }
end

--- Every PMU that the OS kernel lists.
---@param tree pmclua.event.Tree
---@return pmclua.doctor.Pmu[]
function M.pmus(tree)
  local list, several = {}, #tree:core_pmus() > 1
  for i, pmu in ipairs(tree:pmus()) do
    local row = { name = pmu.name, type = pmu.type, kind = kind_of(pmu), cpus = pmu.cpus or pmu.core_cpus,
      events = #pmu:alias_names() }
    if row.kind == "core" then
      local asked = { name = pmu.name, is_one_of_several = several }
      row.counters = M.count(asked, target_for(pmu, several))
      row.is_untried = several and not row.counters and attr_on(asked, ANYWHERE[1]) ~= nil
    end
    list[i] = row
  end
  return list
end

-- ---- reads in user space -------------------------------------------------------------------------

local function can_read()
  local ok, group = pcall(require("pmclua.counting.group").new, { "instructions:u", read = "auto" })
  if not ok then return false end
  local is_user = pcall(group.start, group) and group:method() == "user"
  group:close()
  return is_user
end

--- Whether counters can be read in user space; where not, what may be switched for it.
---@param machine pmclua.doctor.Machine
---@param has_pmu boolean
---@return pmclua.doctor.Finding
function M.user_reads(machine, has_pmu)
  if not has_pmu then
    return finding.good(false, "no counters for user space to read",
      "there is no PMU to read in user space (rdpmc)")
  end
  if can_read() then return finding.good(true, "user-space reads", "counters can be read in user space") end
  local command
  if machine:number "/sys/bus/event_source/devices/cpu/rdpmc" == 0 then
    command = "echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc"
  elseif machine:number "/proc/sys/kernel/perf_user_access" == 0 then
    command = "sudo sysctl kernel.perf_user_access=1"
  end
  local sentence = "counters cannot be read in user space: a read takes a system call"
  return finding.obstacle("limits", false, sentence, command)
end

return M
