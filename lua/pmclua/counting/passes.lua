--- passes.lua: any list of events packed into passes: what opens and is on the PMU together is found by
--- trying it here, not by rules about PMUs.
--
-- In a plan of several passes the first cycles and instructions repeat in each, as anchors; software
-- and other events that take no counter ride along in every pass. Nothing is multiplexed, unless asked.

local probe_kind = require "pmclua.event.probe_kind"
local try = require "pmclua.event.try"

local passes = {}

local SOFTWARE, TRACEPOINT = 1, 2
local NO_COUNTER = { msr = true, software = true, tracepoint = true }

--- Whether an event leaves the counters of a PMU to others.
---@param event pmclua.Event
function passes.takes_no_counter(event)
  return event.attr.type == SOFTWARE or event.attr.type == TRACEPOINT or NO_COUNTER[event.pmu]
    or probe_kind.of(event) ~= nil
end

--- Generic cycles and instructions: what passes are compared by.
local function is_anchor(event)
  -- Above the lower half: which kind of core of a hybrid CPU.
  return event.attr.type == 0 and tonumber(event.attr.config or 0) % 2 ^ 32 <= 1
end

-- What opening an event comes to where `target` (nil: this thread) is counted; event.where says where.
-- `leader` is that of its group, tried before.
local function try_on(event, target, leader)
  local why
  event.where = nil
  if target and not event.tool then
    event.where, why = target:trial(event)
    if not event.where then return { status = "unsupported", why = why } end
  end
  return try.event(event, event.where, leader and leader.opened)
end

--- Tries each event alone and notes what came of it on the event: status, why, note, opened (its attr).
--- Returns the indices of those that open.
---@param events pmclua.Event[]
---@param target? pmclua.Target|pmclua.MarkRegions who or what is counted; nil: the workload
function passes.try_each(events, target)
  local usable = {}
  for i, event in ipairs(events) do
    local tried = try_on(event, target, events[event.leader])
    if tried.status ~= "counted" then event.status, event.why = tried.status, tostring(tried.why) end
    event.note, event.opened = tried.note, tried.attr
    if event.cpus and target and target.excess then event.note = target:excess(event) or event.note end
    if tried.status == "counted" and not event.tool then usable[#usable + 1] = i end
  end
  return usable
end

-- The index of the leader of an event's {group}; its own where it leads one or is in none.
local function leader_of(events, index) return events[index].leader or index end

--- The usable events as items: explicit {groups} stay together, others stand alone.
local function items_of(events, usable)
  local items, of_leader = {}, {}
  for _, index in ipairs(usable) do
    local leader = leader_of(events, index)
    if of_leader[leader] then
      table.insert(of_leader[leader], index)
    else
      items[#items + 1] = { index, weak = events[leader].weak }
      of_leader[leader] = items[#items]
    end
  end
  return items
end

local function first_anchors(events, usable)
  local anchors, seen = {}, {}
  for _, index in ipairs(usable) do
    local config = is_anchor(events[index]) and tonumber(events[index].attr.config or 0)
    if config and not seen[config] and not events[index].attr.exclude_user then
      seen[config] = true
      anchors[#anchors + 1] = index
    end
  end
  return anchors
end

local function contains(list, item)
  for _, other in ipairs(list) do
    if other == item then return true end
  end
  return false
end

local function append(list, items)
  local longer = { unpack(list) }
  for _, item in ipairs(items) do
    if not contains(longer, item) then longer[#longer + 1] = item end
  end
  return longer
end

local function group_of(events, indices, inherit)
  local attrs = {}
  for i, index in ipairs(indices) do
    attrs[i] = { inherit = inherit and 1 or 0 }
    for name, value in pairs(events[index].opened) do attrs[i][name] = value end
  end
  local first = events[indices[1]]
  local by_cpu = first.where and first.where.cpu >= 0
  local cpus = by_cpu and require("pmclua.counting.target").cpus_for(first) or nil
  return { attrs = attrs, events = indices, cpus = cpus }
end

-- What has to stand in a perf group of its own: probes that must not be inherited; events of a
-- PMU with CPUs of its own; what is pinned or exclusive, which only a leader can be; what counts on one kind
-- of core of a hybrid CPU. nil: all others, in one.
local function group_key(events, index)
  local event, leader = events[index], leader_of(events, index)
  if event.is_lone_probe then return "probes" end
  local attr = events[leader].attr or event.attr
  if event.cpus or attr.pinned or attr.exclusive then return leader end
  local of_kind = event.core_cpus and event or events[leader]
  return of_kind.core_cpus and of_kind.pmu or nil
end

-- What the OS kernel reads of a group at once has 16 KiB: 681 members, or more where it says less of each.
local MOST_TOGETHER = 600

-- Events that may be counted apart, in as few lists of at most `most` as there can be; explicit {groups}
-- stay whole.
local function chunks(events, indices, most)
  local lists, chunk = {}, {}
  for _, item in ipairs(items_of(events, indices)) do
    if #chunk > 0 and #chunk + #item > most then
      lists[#lists + 1], chunk = chunk, {}
    end
    for _, index in ipairs(item) do chunk[#chunk + 1] = index end
  end
  lists[#lists + 1] = #chunk > 0 and chunk or nil
  return lists
end

--- The perf groups of a pass; most: members of one.
local function groups_of(events, indices, most)
  local shared, apart, keys, groups = {}, {}, {}, {}
  for _, index in ipairs(indices) do
    local key = group_key(events, index)
    if key and not apart[key] then
      apart[key] = {}
      keys[#keys + 1] = key
    end
    table.insert(key and apart[key] or shared, index)
  end
  for i, list in ipairs(chunks(events, shared, most or MOST_TOGETHER)) do
    groups[i] = group_of(events, list, true)
  end
  for _, key in ipairs(keys) do
    local is_inherited = key ~= "probes" and not events[apart[key][1]].cpus
    groups[#groups + 1] = group_of(events, apart[key], is_inherited)
  end
  return groups
end

-- Marks the probes that must not be inherited though others are: that would have the target's fork fail. The
-- runner can have some inherited.
local function set_probes_apart(events, usable, target, in_runner)
  -- A target's threads are each counted from the start.
  local left_out = target and target.ids and "threads and children started later are not counted"
    or "threads and children not counted"
  for _, index in ipairs(usable) do
    local event = events[index]
    local can_be_inherited = in_runner and require("pmclua.event.probe").can_be_inherited(event)
    if probe_kind.of(event) and not can_be_inherited then
      event.is_lone_probe = true
      event.note = (event.note and event.note .. "; " or "") .. left_out
    end
  end
end

-- Whether the groups that these events make open at once and are on the PMU; or the failure of opening.
local function fits(events, indices)
  local lists = {}
  for i, group in ipairs(groups_of(events, indices)) do
    local first = events[group.events[1]]
    lists[i] = { target = first.where, is_elsewhere = first.core_cpus ~= nil }
    for k, index in ipairs(group.events) do lists[i][k] = events[index].opened end
  end
  return try.groups(lists)
end

--- First fit: into the first pass that holds it, else a new one, which begins with `start`. False: it fits
--- nowhere.
local function place(events, packed, item, start)
  for i, indices in ipairs(packed) do
    local longer = append(indices, item)
    if fits(events, longer) then
      packed[i] = longer
      return true
    end
  end
  local fresh = append(start, item)
  if not fits(events, fresh) then fresh = append({}, item) end
  if not fits(events, fresh) then return false end
  packed[#packed + 1] = fresh
  return true
end

local KEPT_OFF = "it opens but is never on the PMU: something else is using the counters it needs; stop "
  .. "that, or count fewer events at once"
local GROUP_KEPT_OFF = "its group opens but is never on the PMU: it does not fit, or something else is using "
  .. "the counters it needs"

local function refuse(events, item)
  local _, failure = fits(events, item)
  for _, index in ipairs(item) do
    events[index].status = failure and "unsupported" or "not-counted"
    events[index].why = failure and "its group does not fit the PMU"
      or #item > 1 and GROUP_KEPT_OFF or KEPT_OFF
  end
end

local APART = "counted apart from its group, which does not fit"

local function note_apart(event)
  if event.note and event.note:find(APART, 1, true) then return end
  event.note = event.note and event.note .. ", " .. APART or APART
end

--- Packs items into passes; a weak group that does not fit is taken apart.
local function pack(events, items, start)
  local packed = {}
  for _, item in ipairs(items) do
    if not place(events, packed, item, start) then
      for _, index in ipairs(item.weak and item or {}) do
        note_apart(events[index])
        if not place(events, packed, { index }, start) then refuse(events, { index }) end
      end
      if not item.weak then refuse(events, item) end
    end
  end
  return packed
end

-- Riders take no counter; but what stands in a {group} with events that do stays with them.
local function split_riders(events, usable)
  local is_counted, riders, counted = {}, {}, {}
  local function is_rider(index)
    return passes.takes_no_counter(events[index]) or events[index].cpus ~= nil
  end
  for _, index in ipairs(usable) do
    if not is_rider(index) then is_counted[leader_of(events, index)] = true end
  end
  for _, index in ipairs(usable) do
    local rides = is_rider(index) and not is_counted[leader_of(events, index)]
    table.insert(rides and riders or counted, index)
  end
  return riders, counted
end

--- One pass in which the OS kernel rotates what does not fit at once.
local function multiplexed(events, items, riders)
  local groups = groups_of(events, riders)
  for _, item in ipairs(items) do groups[#groups + 1] = group_of(events, item, true) end
  return { { groups = groups } }
end

local function list_events(pass)
  pass.events = {}
  for _, group in ipairs(pass.groups) do
    for _, index in ipairs(group.events) do pass.events[#pass.events + 1] = index end
  end
  return pass
end

---@class pmclua.PerfGroup
---@field attrs table[]
---@field events integer[] indices of its members
---@field cpus? integer[] where alone it can be opened

---@class pmclua.Pass
---@field groups pmclua.PerfGroup[]
---@field events integer[] of all groups

local function leave_children_out(groups)
  for _, group in ipairs(groups) do
    for _, attr in ipairs(group.attrs) do attr.inherit = 0 end
  end
end

--- Events that are counted at once, whether they fit the PMU or not: in one perf group, but for those that
--- have to stand in one of their own, and for weak {groups} where all together do not fit. Fills in their
--- statuses.
---@param events pmclua.Event[]
---@param target? pmclua.Target nil: this thread
---@return pmclua.PerfGroup[] groups none where no event can be opened
function passes.at_once(events, target)
  local usable = passes.try_each(events, target)
  local inherits = target ~= nil and target.inherits
  if inherits then set_probes_apart(events, usable, target) end
  local strong, weak = {}, {}
  for _, index in ipairs(usable) do
    table.insert(events[leader_of(events, index)].weak and weak or strong, index)
  end
  if #weak == 0 or fits(events, usable) then strong, weak = usable, {} end
  local groups = groups_of(events, strong, math.huge)
  for _, index in ipairs(weak) do
    note_apart(events[index])
    groups[#groups + 1] = groups_of(events, { index })[1]
  end
  if not inherits then leave_children_out(groups) end
  return groups
end

--- Plans the passes of a list of events, whose statuses it fills in.
---@param events pmclua.Event[]
---@param mode "rerun"|"multiplex"
---@param target? pmclua.Target|pmclua.MarkRegions who or what is counted; nil: the workload
---@param options? { inherit?: boolean, in_runner?: boolean } inherit: false: without threads and children that
---   start later; in_runner: the runner opens them all
---@return pmclua.Pass[] passes at least one
---@return integer[] anchors  event indices that repeat in every pass
function passes.plan(events, mode, target, options)
  options = options or {}
  local usable = passes.try_each(events, target)
  local has_children = options.inherit ~= false and not (target and target.inherits == false)
  if has_children then set_probes_apart(events, usable, target, options.in_runner) end
  local riders, counted = split_riders(events, usable)
  local items = items_of(events, counted)
  local list, anchors = {}, {}
  local packed = pack(events, items, {})
  if #packed > 1 and mode == "multiplex" then
    list = multiplexed(events, items, riders)
  else
    if #packed > 1 then
      anchors = first_anchors(events, counted)
      local rest = {}
      for _, item in ipairs(items) do
        if #item > 1 or not contains(anchors, item[1]) then rest[#rest + 1] = item end
      end
      packed = pack(events, rest, anchors)
      -- Where nothing fits beside the anchors, they are in no pass yet.
      local placed = {}
      for _, indices in ipairs(packed) do placed = append(placed, indices) end
      for _, anchor in ipairs(anchors) do
        if not contains(placed, anchor) then place(events, packed, { anchor }, {}) end
      end
    end
    for i, indices in ipairs(packed) do list[i] = { groups = groups_of(events, append(indices, riders)) } end
    list[1] = list[1] or { groups = groups_of(events, riders) }
  end
  for _, pass in ipairs(list) do
    list_events(pass)
    if options.inherit == false then leave_children_out(pass.groups) end
  end
  return list, anchors
end

return passes
