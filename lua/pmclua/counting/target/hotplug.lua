--- hotplug.lua: CPUs that go offline or come online while they are counted.
--
-- When a CPU goes offline its events are taken off for good: they stand still, also when it is back, and others are
-- opened for it then. Those of a cgroup stand still whenever it does not run there, too: so for cgroups each CPU has
-- a witness, an event of the CPU that counts nothing and is enabled all the time.
--
-- A CPU that comes online is found in sysfs; one that was online only between two looks has done soft
-- interrupts meanwhile.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local topology = require "pmclua.host.topology"

---@class pmclua.Hotplug
---@field known table<integer, true> CPUs that are counted or were
---@field open table<integer, true> those of them that did not go offline since
---@field gone table<integer, true> CPUs that went offline, though they may be back
---@field came table<integer, true> CPUs that came online and have been counted since
---@field apart table<integer, true> those of them that are in no part of the target
---@field missed table<integer, true> CPUs that were online for a while, and not counted
local Hotplug = {}
Hotplug.__index = Hotplug

local M = {}

local SOFTWARE, DUMMY = 1, 9            -- linux/perf_event.h

--- How many descriptors it takes for this many CPUs of a target.
---@param target pmclua.Target
---@param cpus integer
---@return integer
function M.descriptors(target, cpus) return target.kind == "cgroup" and cpus or 0 end

--- Watches the CPUs of a target.
---@param target pmclua.Target one that is counted CPU by CPU
---@param cpus integer[] those it is open on
---@param needs_witness? boolean its own events are not to be read for that: each CPU gets a witness; else cgroups do
---@return pmclua.Hotplug
function M.new(target, cpus, needs_witness)
  local self = setmetatable({ gone = {}, came = {}, apart = {}, missed = {}, before = {}, known = {},
    open = {}, witnesses = {}, has_all = not target.cpus,
    needs_witness = needs_witness or target.kind == "cgroup" }, Hotplug)
  for _, cpu in ipairs(cpus) do self:add(cpu) end
  return self
end

--- Adds a CPU to those watched, counted or not.
---@param cpu integer
function Hotplug:add(cpu)
  if self.open[cpu] then return end
  self.known[cpu], self.open[cpu] = true, true
  local group = self.needs_witness and core.group({ { type = SOFTWARE, config = DUMMY } },
    { pid = -1, cpu = cpu })
  if group then
    table.insert(self.witnesses, { handle = group, place = { cpu = cpu }, reading = group:buffer() })
  end
end

-- ---- coming -------------------------------------------------------------------------------------------

-- How many soft interrupts each CPU of `wanted` has had: also of those that are offline.
local function interrupts_of(wanted)
  local lines = (machine.text "/proc/softirqs" or ""):gmatch "[^\n]+"
  local columns, sums = {}, {}
  for cpu in (lines() or ""):gmatch "CPU(%d+)" do columns[#columns + 1] = tonumber(cpu) end
  for line in lines do
    local i = 0
    for count in line:gmatch "%s(%d+)" do
      i = i + 1
      local cpu = columns[i]
      if cpu and wanted[cpu] then sums[cpu] = (sums[cpu] or 0) + tonumber(count) end
    end
  end
  return sums
end

-- The CPUs that are there and that nothing was opened on.
local function unknown(self)
  local cpus = self.has_all and topology.without(topology.present(), lists.keys(self.known)) or {}
  return #cpus > 0 and lists.set(cpus)
end

--- Counting begins: earlier work of CPUs that are offline now does not count.
function Hotplug:start()
  local others = unknown(self)
  self.before = others and interrupts_of(others) or {}
  for _, witness in ipairs(self.witnesses) do witness.handle:start() end
end

--- Notes that the events of a CPU have stopped: it went offline, though it may be back.
---@param cpu integer
function Hotplug:lose(cpu) self.gone[cpu], self.open[cpu] = true, nil end

--- The CPUs that have come online, or are back, and are not counted yet.
---@return integer[]
function Hotplug:newcomers()
  self:find_offline()
  local others = topology.without(topology.online(), lists.keys(self.open))
  return lists.where(others, function(cpu) return self.has_all or self.known[cpu] end)
end

-- CPUs that have run something since the start, and were never counted.
local function find_missed(self)
  local others = unknown(self)
  for cpu, count in pairs(others and interrupts_of(others) or {}) do
    if count > (self.before[cpu] or 0) then self.missed[cpu] = true end
  end
end

-- ---- going --------------------------------------------------------------------------------------------

local LOST = 1              -- ns enabled, as is said of a pinned group that lost its place (core/pmclua.h)

--- Time between two readings that tells whether events have stopped: longer than the steps of the coarsest clock.
M.TICK_NS = 2e7

-- Whether its events, which are enabled, are so no longer than when it was last read.
local function stands_still(member, read)
  local enabled = core.raw(member.reading, 1)
  local function is_same() return read(member) and core.raw(member.reading, 1) == enabled end
  return enabled ~= LOST and is_same() and core.pause(M.TICK_NS) and is_same()
end

local function read_witness(witness) return (witness.handle:read_into(witness.reading)) end

--- Finds the CPUs that went offline since the start, and those that were online uncounted. Without witnesses it takes
--- what is open, which was read just now, and what reads one of these.
---@param members? table[]
---@param read? fun(member: table): boolean
function Hotplug:find(members, read)
  if self.needs_witness then members, read = self.witnesses, read_witness end
  for _, witness in ipairs(self.witnesses) do read_witness(witness) end
  for _, member in ipairs(members) do
    local cpu = member.place.cpu
    if not self.gone[cpu] and stands_still(member, read) then self:lose(cpu) end
  end
  find_missed(self)
end

--- Finds the CPUs that are offline now.
function Hotplug:find_offline()
  for _, cpu in ipairs(topology.without(lists.keys(self.open), topology.online())) do self:lose(cpu) end
end

--- Whether two readings of events that are enabled, TICK_NS apart or more, show that their CPU went offline.
---@param before number enabled ns
---@param now number
---@return boolean
function Hotplug:has_stopped(before, now)
  return not self.needs_witness and before > 0 and now == before and now ~= LOST
end

-- ---- what is to be said -------------------------------------------------------------------------------

--- The CPUs that went offline.
---@return integer[] ascending
function Hotplug:offline() return lists.keys(self.gone) end

local SAID = {
  { "gone", "CPU %s went offline: counted only until then" },
  { "came", "CPU %s came online: counted only from when this was noticed" },
  { "apart", "CPU %s came online: included in the sum only, from when this was noticed" },
  { "missed", "CPU %s was online for a while: what ran there is not counted" },
}

--- The part of a remark that names CPUs that came or went during counting: "CPU 1 went offline"; nil: it says something
--- else. How much of what ran there was counted is unknown.
---@param remark string
---@return string?
function M.change_in(remark) return remark:match "CPU [%d,%-]+ [cw]%a+ o[nf]%a*line[^:]*" end

--- The CPUs that came and went, in words.
---@return string[]
function Hotplug:remarks()
  local list = {}
  for _, pair in ipairs(SAID) do
    local cpus = lists.keys(self[pair[1]])
    if #cpus > 0 then list[#list + 1] = pair[2]:format(topology.format(cpus)) end
  end
  return list
end

--- Closes its witnesses.
function Hotplug:close()
  for _, witness in ipairs(self.witnesses) do witness.handle:close() end
  self.witnesses = {}
end

return M
