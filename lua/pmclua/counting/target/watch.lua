--- watch.lua: groups of events open at every place of a target, read as one sum and as its parts.
--
-- Invariants: all groups are open at all places or none is, but for places that ended while they were
-- being opened. No thread of a process is counted twice or left out: what is open is what /proc listed
-- both before and after. Sums only grow; a place that can no longer be read keeps what it gave last.

local sums = require "pmclua.core.sums"
local budget = require "pmclua.counting.target.budget"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local hotplug = require "pmclua.counting.target.hotplug"
local lists = require "pmclua.base.lists"
local targets = require("pmclua.base.lazy").module "pmclua.counting.target"
local text = require "pmclua.base.text"

--- Implements the methods of core.Group: a target is read as a group is.
---@class pmclua.Watch
---@field target pmclua.Target
---@field parts { field: "cpu"|"thread", value: integer|string }[] in the order of places; none: summed
---@field taken ffi.cdata*[] room for its descriptors
---@field notes string[] what could not be counted, in words
---@field hotplug? pmclua.Hotplug of a target that is counted CPU by CPU
local Watch = {}
Watch.__index = Watch

local M = {}

---@class pmclua.Place where a group is opened
---@field pid integer
---@field cpu integer
---@field directory? integer descriptor of a cgroup's folder, instead of a pid
---@field part? string|integer which part of the target it belongs to
---@field is_apart? boolean counted for its part alone: another place has it in the sum already

-- ---- opening ------------------------------------------------------------------------------------------

local function is_allowed(group, place)
  return not group.cpus or place.cpu < 0 or lists.contains(group.cpus, place.cpu)
end

-- Attrs as this target needs them: a CPU's and a cgroup's events are not inherited, nor a lone thread's.
local function attrs_for(group, inherits)
  return lists.map(group.attrs, function(attr)
    local mine = lists.copy(attr)
    mine.inherit = inherits and attr.inherit or 0
    return mine
  end)
end

local function open_group(group, place, target)
  local attrs = attrs_for(group, target.inherits)
  return core.group(attrs, { pid = place.pid, directory = place.directory, cpu = place.cpu,
    pinned = group.pinned, on_exec = target.from_exec })
end

local function close_members(members)
  for _, member in ipairs(members) do member.handle:close() end
end

local function open_place(self, place, members)
  local opened = {}
  for i, group in ipairs(self.groups) do
    if is_allowed(group, place) then
      local handle, failure = open_group(group, place, self.target)
      if not handle then
        close_members(opened)
        failure.group = i
        return nil, failure
      end
      opened[#opened + 1] = { handle = handle, place = place, at = self.offsets[i], words = 2 + #group.attrs,
        reading = handle:buffer() }
    end
  end
  lists.append(members, opened)
  return true
end

-- Every place open: the members; or nil and the failure. A thread that has ended, or a CPU that is offline
-- since it was listed, is left out.
local function open_places(self, places)
  local members = {}
  for _, place in ipairs(places) do
    local ok, failure = open_place(self, place, members)
    local is_offline = not ok and failure.code == "ENODEV" and place.cpu >= 0
    if is_offline then
      self.notes[#self.notes + 1] = ("CPU %d went offline while counters were attached: it is not counted")
        :format(place.cpu)
    elseif not ok and not (failure.code == "ESRCH" and place.pid > 0) then
      close_members(members)
      return nil, failure
    end
  end
  return members
end

-- A child that was forked between two members of a group has inherited half of it, and while it lives
-- the group cannot be read (ECHILD).
local function can_be_read(members)
  for _, member in ipairs(members) do
    local ok, code = member.handle:read_into(member.reading)
    if not ok and code == "ECHILD" then return false end
  end
  return true
end

local function descriptors_for(self, places)
  local count = hotplug.descriptors(self.target, #places)
  for _, place in ipairs(places) do
    for _, group in ipairs(self.groups) do
      if is_allowed(group, place) then count = count + #group.attrs end
    end
  end
  return count
end

local PLACES = { cpus = "CPU", system = "CPU", process = "thread", thread = "thread" }

local function describe(self, places)
  local events = lists.sum(self.groups, function(group) return #group.attrs end)
  return ("%s of %s (%s)"):format(text.plural(events, "event"), self.target.name,
    text.plural(#places, PLACES[self.target.kind] or "place"))
end

local ATTEMPTS = 20

-- Opens until what was listed has not changed meanwhile.
local function open_stable(self)
  local members, failure
  for attempt = 1, ATTEMPTS do
    local places, release, notes = targets.places(self.target)
    self.notes = notes
    self.taken = { budget.take(descriptors_for(self, places), describe(self, places)) }
    members, failure = open_places(self, places)
    release()
    local is_stable = members and targets.is_same(self.target, places) and can_be_read(members)
    if is_stable then return members end
    if members and attempt == ATTEMPTS then
      self.notes[#self.notes + 1] = "threads came and went while counters were attached: "
        .. "some that started just then may be missing"
      return members
    end
    if members then close_members(members) end
    budget.give_back(self.taken[1])
    if failure then return nil, failure end
  end
end

-- Numbers the parts in the order of their first place.
local function find_parts(self)
  for _, member in ipairs(self.members) do
    local value = member.place.part
    if value ~= nil and not self.number[value] then
      self.parts[#self.parts + 1] = { field = self.target.part_field, value = value }
      self.number[value] = #self.parts
    end
    member.part = self.number[value]
  end
end

local function watch_over_cpus(self)
  if not self.target.by_cpu then return end
  self.hotplug = hotplug.new(self.target, lists.column(lists.column(self.members, "place"), "cpu"))
end

--- Opens groups at every place of a target, stopped. Returns the watch, or nil and a failure table with
--- `group` and `index`; raises a problem where the target is not there.
---@param target pmclua.Target
---@param groups { attrs: table[], cpus?: integer[], pinned?: boolean }[] cpus: where alone it can be opened
---@return pmclua.Watch?, table?
function M.open(target, groups)
  local self = setmetatable({ target = target, groups = groups, offsets = {}, width = 0, count = 0,
    parts = {}, number = {}, notes = {} }, Watch)
  for i, group in ipairs(groups) do
    self.offsets[i] = self.width
    self.width = self.width + 2 + #group.attrs
  end
  local members, failure = open_stable(self)
  if not members then return nil, failure end
  self.members = members
  find_parts(self)
  watch_over_cpus(self)
  local places = lists.unique(lists.column(members, "place"))
  self.dropped = require("pmclua.counting.target.dropped").watch(target, places)
  self.heirs = lists.map(target.kind == "process" and target.ids or {},
    require("pmclua.counting.target.heirs").of)
  return self
end

-- ---- counting -----------------------------------------------------------------------------------------

local function assert_open(self)
  if not self.members then error("this target is closed", 0) end
end

-- One that has ended, or whose CPU is offline, has nothing to switch.
local function switch(self, method)
  assert_open(self)
  for _, member in ipairs(self.members) do
    local ok, code, errnum = member.handle[method](member.handle)
    if not ok and code == "EOWNERDEAD" then return nil, code, errnum end
  end
  return true
end

-- Reads a member into its own buffer, which keeps what it had where it can no longer be read. is_later: it has been
-- enabled for a while since it was last read.
local function read_member(self, member, is_later)
  if member.is_over then return false end
  local before = is_later and self.hotplug and core.number(member.reading, 1)
  local ok, state = member.handle:read_into(member.reading)
  local has_stopped = before and self.hotplug:has_stopped(before, core.number(member.reading, 1))
  if has_stopped or state == "apart" then self.hotplug:lose(member.place.cpu) end
  return ok
end

-- Opens its groups on CPUs that came online: the members. Raises a problem where that is not possible.
local function open_newcomers(self, is_new)
  local places, release = targets.places(self.target)
  local mine = lists.where(places, function(place) return is_new[place.cpu] end)
  table.insert(self.taken, budget.take(descriptors_for(self, mine), describe(self, mine)))
  local members = open_places(self, mine)
  release()
  return members
end

-- Keeps the counts from before CPUs went offline, now that they are back.
local function end_members_of(self, is_back)
  for _, member in ipairs(self.members) do
    if is_back[member.place.cpu] then
      read_member(self, member)
      member.is_over = true
    end
  end
end

-- There is no room in readings for another part.
local function take_newcomers(self, cpus, members)
  end_members_of(self, lists.set(cpus))
  for _, member in ipairs(members) do
    local cpu, value = member.place.cpu, member.place.part
    member.part = self.number[value]
    self.hotplug[value ~= nil and not member.part and "apart" or "came"][cpu] = true
    self.members[#self.members + 1] = member
    if self.is_counting then member.handle:start() end
  end
  for _, cpu in ipairs(cpus) do self.hotplug:add(cpu) end
end

-- Counts CPUs that have come online, too. Where that fails, they are found to have been missed.
local function look(self)
  local cpus = self.hotplug and self.hotplug:newcomers() or {}
  if #cpus == 0 then return end
  local ok, members = pcall(open_newcomers, self, lists.set(cpus))
  if ok and members then take_newcomers(self, cpus, members) end
end

local counting = setmetatable({}, { __mode = "k" })         -- watches, as keys

--- Looks for CPUs that have come online, and for programs that were executed, for all watches that count; to be called
--- now and then by those who wait while something is counted.
function M.look()
  for watch in pairs(counting) do
    look(watch)
    watch.dropped:look()
  end
end

-- The changes of the counted CPUs since the start.
local function find_changes(self)
  if not self.is_counting or not self.hotplug then return end
  self.hotplug:find(self.members, function(member) return read_member(self, member) end)
end

--- Starts every group: true, or nil, errno name, number.
function Watch:start()
  look(self)
  if self.hotplug then self.hotplug:start() end
  self.is_counting, counting[self], self.read_ns = true, true, nil
  return switch(self, "start")
end

function Watch:stop()
  find_changes(self)
  self.is_counting, counting[self] = false, nil
  return switch(self, "stop")
end

--- A buffer for one reading: the sum first, then each part. Each is the groups' words one after the other:
--- enabled ns, running ns, values.
function Watch:buffer() return sums.buffer(self.width * (1 + #self.parts)) end

--- Where the words of part `number` begin in a reading; 0: the sum.
---@param number integer
---@return integer
function Watch:part_offset(number) return self.width * number end

--- Where the words of group `number` begin, from 0.
function Watch:group_offset(number) return self.offsets[number] end

-- Counts that are known to be partial are marked as lost.
local function lose_all(self, buffer)
  for part = 0, #self.parts do
    for i, group in ipairs(self.groups) do
      sums.lose(buffer, self.width * part + self.offsets[i], 2 + #group.attrs)
    end
  end
end

-- Whether all that is open counts, and was read, but not just now. Of what was opened meanwhile the buffer has 0.
local function is_later_reading(self)
  if not self.is_counting or not self.hotplug then return false end
  local now, before = core.now_ns(), self.read_ns
  self.read_ns = now
  return before ~= nil and now - before > hotplug.TICK_NS
end

--- Reads all groups into `buffer`: true.
function Watch:read_into(buffer)
  assert_open(self)
  look(self)
  sums.clear(buffer, self.width * (1 + #self.parts))
  local is_later = is_later_reading(self)
  for _, member in ipairs(self.members) do
    read_member(self, member, is_later)
    if not member.place.is_apart then sums.add(buffer, member.at, member.reading, member.words) end
    if member.part then
      sums.add(buffer, self.width * member.part + member.at, member.reading, member.words)
    end
  end
  if self.dropped:look() then lose_all(self, buffer) end
  return true
end

--- out = later - earlier.
function Watch:subtract(earlier, later, out)
  for part = 0, #self.parts do
    for i, group in ipairs(self.groups) do
      sums.subtract(earlier, later, out, self.width * part + self.offsets[i], 2 + #group.attrs)
    end
  end
end

--- The values of a reading's part as a result has them, exact.
---@param buffer any
---@param number integer 0: the sum
---@return (number|ffi.cdata*)[]
function Watch:reading(buffer, number)
  local list, offset = {}, self.width * number
  for i = 1, self.width do list[i] = core.word(buffer, offset + i) end
  return list
end

--- The CPUs that went offline while they were counted: what happened there since is not in the counts.
---@return integer[] ascending
function Watch:offline()
  if not self.hotplug then return {} end
  if self.members then
    find_changes(self)
    self.hotplug:find_offline()
  end
  return self.hotplug:offline()
end

--- Remarks on this watch so far: notes of opening, CPUs that went offline or came online.
---@return string[]
function Watch:remarks()
  local list = { unpack(self.notes) }
  self:offline()
  lists.append(list, self.hotplug and self.hotplug:remarks() or {})
  for _, heirs in ipairs(self.heirs) do list[#list + 1] = heirs:remark() end
  local name, unseen = self.dropped.name, self.dropped.unseen
  local dropped = (name or unseen) and require "pmclua.explain.dropped"
  list[#list + 1] = name and dropped.remark(name) or unseen and dropped.unseen(unseen) or nil
  return list
end

--- Closes it. A second time does nothing.
function Watch:close()
  if not self.members then return end
  self:offline()                        -- may be asked for later
  counting[self] = nil
  if self.hotplug then self.hotplug:close() end
  self.dropped:close()
  close_members(self.members)
  for _, taken in ipairs(self.taken) do budget.give_back(taken) end
  self.members = nil
end

-- ---- of a plan ----

--- A failure to open in words, with the events' names.
---@param failure table
---@param groups pmclua.PerfGroup[]
---@param events pmclua.Event[]
---@return pmclua.Problem
function M.explain(failure, groups, events)
  local group = groups[failure.group]
  failure.members = group and lists.map(group.events, function(index) return events[index].name end)
  failure.event = group and failure.members[failure.index]
  return explain.open(failure)
end

local NOTHING_COUNTED = 77

-- Why nothing can be counted, where events were asked for and none of them can be; nil: something can.
local function nothing_to_count(target, events)
  local first
  for _, event in ipairs(events) do
    if not event.tool then
      if not event.status then return nil end
      first = first or event
    end
  end
  return first and explain.problem { code = "ENOTCOUNTED", operation = "open", event = first.name,
    status = NOTHING_COUNTED,
    message = ("nothing can be counted for %s: %s"):format(target.name, tostring(first.why)) }
end

--- Opens groups of planned events at every place of a target. Raises a problem where that fails.
---@param target pmclua.Target
---@param groups pmclua.PerfGroup[]
---@param events pmclua.Event[]
---@return pmclua.Watch
function M.open_planned(target, groups, events)
  local problem = nothing_to_count(target, events)
  if problem then error(problem, 0) end
  local opened, failure = M.open(target, groups)
  if not opened then error(M.explain(failure, groups, events), 0) end
  return opened
end

return M
