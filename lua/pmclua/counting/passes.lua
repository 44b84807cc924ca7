--- passes.lua: any list of events packed into passes: what opens and is on the PMU together is found by
--- trying it here, not by rules about PMUs.
--
-- In a plan of several passes slots, cycles and instructions repeat in each, as anchors; software and other
-- events that take no counter ride along in every pass. The events of a metric share a pass where they fit one.
-- Nothing is multiplexed, unless asked.

local grouping = require "pmclua.counting.grouping"
local lists = require "pmclua.base.lists"
local packing = require "pmclua.counting.packing"
local perf_metrics = require "pmclua.event.perf_metrics"
local probe_kind = require "pmclua.event.probe_kind"
local targets = require("pmclua.base.lazy").module "pmclua.counting.target"
local try = require "pmclua.event.try"

local passes = {}

local groups_of, items_of, leader_of = grouping.groups_of, grouping.items_of, grouping.leader_of

local SOFTWARE, TRACEPOINT = 1, 2
local NO_COUNTER = { msr = true, software = true, tracepoint = true }

--- Whether an event leaves the counters of a PMU to others.
---@param event pmclua.Event
function passes.takes_no_counter(event)
  return event.attr.type == SOFTWARE or event.attr.type == TRACEPOINT or NO_COUNTER[event.pmu]
    or probe_kind.of(event) ~= nil
end

local NOT_THERE = "it counts only what an experiment runs for it: commands, and under Valgrind kernels"

-- Tries to open an event on `target` (nil: this thread); event.where says where.
-- `leader` is that of its group, tried before.
local function try_on(event, target, leader)
  local why
  event.where = nil
  if event.simulated and target and target.kind ~= "functions" and target.kind ~= "marks" then
    return { status = "unsupported", why = NOT_THERE }
  end
  if target and not event.tool and not event.simulated then
    local trial = targets.is(target) and targets.trial or target.trial
    event.where, why = trial(target, event)
    if not event.where then return { status = "unsupported", why = why } end
  end
  return try.event(event, event.where, leader and leader.opened)
end

-- Tries each event alone and notes what came of it on the event: status, why, note, opened (its attr).
-- Returns the indices of those that open.
local function try_each(events, target)
  local usable, tried_at = {}, {}
  perf_metrics.tie(events)
  -- A leader may stand behind those that it leads.
  local function trial(i)
    local event = events[i]
    if event.leader and not tried_at[event.leader] then trial(event.leader) end
    tried_at[i] = tried_at[i] or try_on(event, target, events[event.leader])
    event.opened = tried_at[i].attr
    return tried_at[i]
  end
  for i, event in ipairs(events) do
    local tried = trial(i)
    if tried.status ~= "counted" then event.status, event.why = tried.status, tostring(tried.why) end
    event.note, event.opened = tried.note, tried.attr
    if target and targets.is(target) then event.note = targets.excess(target, event) or event.note end
    if tried.status == "counted" and event.attr then usable[#usable + 1] = i end
  end
  return usable
end

-- Marks the probes that must not be inherited though others are: that would have the target's fork fail. The
-- runner can have some inherited.
local function set_probes_apart(events, usable, target, in_runner)
  -- A target's threads are each counted from the start.
  local left_out = target and target.ids and "threads and children started later are not counted"
    or "threads and children not counted"
  for _, index in ipairs(usable) do
    local event = events[index]
    local is_lone = probe_kind.of(event)
      and not (in_runner and require("pmclua.event.probe").can_be_inherited(event))
    if is_lone then
      event.is_lone_probe = true
      event.note = (event.note and event.note .. "; " or "") .. left_out
    end
  end
end

-- Whether the groups that these events make open at once and are on the PMU; or the failure of opening.
local function fits(events, indices)
  return try.groups(lists.map(groups_of(events, indices), function(group)
    local first = events[group.events[1]]
    local attrs = lists.map(group.events, function(index) return events[index].opened end)
    attrs.target, attrs.is_elsewhere = first.where, first.core_cpus ~= nil
    return attrs
  end))
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

-- An item by itself; a weak group that does not fit is taken apart.
local function place_item(events, packer, item)
  if packer:place(item) then return end
  for _, index in ipairs(item.weak and item or {}) do
    note_apart(events[index])
    if not packer:place { index } then refuse(events, { index }) end
  end
  if not item.weak then refuse(events, item) end
end

-- An item that is in no pass yet; the anchors are in each.
local function place_missing(events, packer, item)
  local is_anchor = #item == 1 and lists.contains(packer.anchors, item[1])
  if not is_anchor and not packer:has(item[#item]) then place_item(events, packer, item) end
end

-- Where a bundle does not fit one pass, its items go into as few as they find.
local function place_bundle(events, packer, list)
  local whole = lists.unique(lists.joined(list))
  if #whole > 1 and packer:place(whole) then return end
  for _, item in ipairs(list) do place_missing(events, packer, item) end
end

--- Packs bundles, then the items that are in no pass yet.
local function pack(events, items, anchors, bundles)
  local is_one_group = #events > 0 and events[1].in_one_group
  local may_share = is_one_group and grouping.may_share(items, bundles or {}, anchors)
  local packer = packing.new(function(indices)
    return (not may_share or may_share(indices)) and (fits(events, indices))
  end, anchors)
  for _, bundle in ipairs(bundles or {}) do
    place_bundle(events, packer, grouping.items_of_bundle(items, bundle))
  end
  for _, item in ipairs(items) do place_missing(events, packer, item) end
  -- Where nothing fits beside the anchors, they are in no pass yet.
  for _, anchor in ipairs(anchors) do
    if not packer:has(anchor) then packer:place { anchor } end
  end
  return packer.passes
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
  for _, item in ipairs(items) do groups[#groups + 1] = grouping.group_of(events, item, true) end
  return { { groups = groups } }
end

-- Events from Linux's accounts come last. Every pass has them, like all that need no counter.
local function list_events(pass, events)
  pass.events = lists.joined(lists.column(pass.groups, "events"))
  for index, event in ipairs(events) do
    if event.take then pass.events[#pass.events + 1] = index end
  end
end

---@class pmclua.PerfGroup
---@field attrs table[]
---@field events integer[] indices of its members
---@field cpus? integer[] where alone it can be opened

---@class pmclua.Pass
---@field groups pmclua.PerfGroup[]
---@field events integer[] of all groups, and what is taken from Linux's accounts; of a simulated pass what
---  Valgrind counts
---@field simulated { cache: boolean, branch: boolean, heap: true?, calls: true? }? what Valgrind simulates in it, whether
---  it counts allocations, or whether system calls are counted: it has no groups then

--- Indices of events that belong into one pass.
---@class pmclua.Bundle
---@field apart? boolean they must not be in one perf group, as their table says

-- Marks the events of bundles which must not be one perf group: each has one of its own; or those of passes that are
-- one group: each has a pass of its own then.
local function set_apart(events, bundles, is_one_group)
  for _, event in ipairs(events) do event.in_one_group = is_one_group end
  for _, bundle in ipairs(bundles) do
    for _, index in ipairs(bundle.apart and bundle or {}) do events[index].is_apart = true end
  end
end

local function refuse_simulated(events)
  for _, event in ipairs(events) do
    if event.simulated then event.status, event.why = "unsupported", NOT_THERE end
  end
end

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
  local usable = try_each(events, target)
  refuse_simulated(events)
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

-- Who counts an event in a pass of its own.
local function counter_of(event)
  if event.source == "syscalls" then return "calls" end
  return require("pmclua.event.simulated").is_of_heap(event) and "heap" or "simulated"
end

-- The passes of what has no attr, each a run of its own: simulated counts, allocations, system calls.
local function simulated_passes(events)
  local simulated, list = require "pmclua.event.simulated", {}
  for _, counter in ipairs { "simulated", "heap", "calls" } do
    local own, indices = {}, {}
    for index, event in ipairs(events) do
      if event.simulated and not event.status and counter_of(event) == counter then
        own[#own + 1], indices[#indices + 1] = event, index
      end
    end
    local needs = counter == "calls" and { calls = true } or simulated.needs(own)
    if #own > 0 then list[#list + 1] = { groups = {}, events = indices, simulated = needs } end
  end
  return list
end

--- Plans the passes of a list of events, whose statuses it fills in.
---@param events pmclua.Event[]
---@param mode "rerun"|"multiplex"
---@param target? pmclua.Target|pmclua.MarkRegions who or what is counted; nil: the workload
---@param options? { inherit?: boolean, in_runner?: boolean, bundles?: pmclua.Bundle[], simulates?: boolean } inherit:
---   false: without threads and children that start later; in_runner: the runner opens them all; bundles: the events of
---   metrics; simulates: false: Valgrind runs nothing
---@return pmclua.Pass[] passes at least one
---@return integer[] anchors  event indices that repeat in every pass
function passes.plan(events, mode, target, options)
  options = options or {}
  local usable = try_each(events, target)
  if options.simulates == false then refuse_simulated(events) end
  local has_children = options.inherit ~= false and not (target and target.inherits == false)
  if has_children then set_probes_apart(events, usable, target, options.in_runner) end
  set_apart(events, options.bundles or {}, target and target.one_group)
  local riders, counted = split_riders(events, usable)
  local items = items_of(events, counted)
  local list, anchors = {}, {}
  local packed = pack(events, items, {})
  if #packed > 1 and mode == "multiplex" then
    list = multiplexed(events, items, riders)
  else
    if #packed > 1 then
      anchors = require("pmclua.counting.anchors").of(events, counted)
      packed = pack(events, items, anchors, options.bundles)
    end
    for i, indices in ipairs(packed) do
      list[i] = { groups = groups_of(events, packing.append(indices, riders)) }
    end
    list[1] = list[1] or { groups = groups_of(events, riders) }
  end
  for _, pass in ipairs(list) do
    list_events(pass, events)
    if options.inherit == false then leave_children_out(pass.groups) end
  end
  local is_any = lists.any(events, function(event) return event.simulated end)
  local simulated = is_any and simulated_passes(events) or {}
  -- A run without counters may say nothing of what was asked for.
  local has_facts = lists.any(events, function(event) return event.tool end)
  if #simulated > 0 and #usable == 0 and not has_facts then list = {} end
  return lists.append(list, simulated), anchors
end

return passes
