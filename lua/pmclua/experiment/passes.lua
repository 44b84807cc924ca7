--- passes.lua: any list of events packed into passes: what opens and is on the PMU together is found by
--- trying it here, not by rules about PMUs.
--
-- In a plan of several passes the first cycles and instructions repeat in each, as anchors; software
-- and other events that take no counter ride along in every pass. Nothing is multiplexed, unless asked.

local try = require "pmclua.event.try"

local passes = {}

local SOFTWARE, TRACEPOINT = 1, 2
local NO_COUNTER = { msr = true, uprobe = true, kprobe = true, software = true, tracepoint = true }

--- Whether an event leaves the counters of a PMU to others.
---@param event pmclua.Event
function passes.takes_no_counter(event)
  return event.attr.type == SOFTWARE or event.attr.type == TRACEPOINT or NO_COUNTER[event.pmu] or false
end

--- Generic cycles and instructions: what passes are compared by.
local function is_anchor(event)
  return event.attr.type == 0 and (event.attr.config or 0) <= 1
end

-- What opening an event comes to where `target` (nil: this thread) is counted; event.where says where.
local function try_on(event, target)
  local why
  event.where = nil
  if target and not event.tool then
    event.where, why = target:trial(event)
    if not event.where then return { status = "unsupported", why = why } end
  end
  return try.event(event, event.where)
end

--- Tries each event alone and notes what came of it on the event: status, why, note, opened (its attr).
--- Returns the indices of those that open.
---@param events pmclua.Event[]
---@param target? pmclua.Target|pmclua.MarkRegions who or what is counted; nil: the workload
function passes.try_each(events, target)
  local usable = {}
  for i, event in ipairs(events) do
    local tried = try_on(event, target)
    if tried.status ~= "counted" then event.status, event.why = tried.status, tostring(tried.why) end
    event.note, event.opened = tried.note, tried.attr
    if tried.status == "counted" and not event.tool then usable[#usable + 1] = i end
  end
  return usable
end

local function attrs_of(events, indices)
  local attrs = {}
  for i, index in ipairs(indices) do attrs[i] = events[index].opened end
  return attrs
end


--- The usable events as items: explicit {groups} stay together, others stand alone.
local function items_of(events, usable)
  local items, of_leader = {}, {}
  for _, index in ipairs(usable) do
    local leader = events[index].leader
    if leader and of_leader[leader] then
      table.insert(of_leader[leader], index)
    else
      items[#items + 1] = { index }
      if leader then of_leader[leader] = items[#items] end
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

local function fits(events, indices) return (try.group(attrs_of(events, indices), events[indices[1]].where)) end

--- First fit: each item goes into the first pass that holds it. `start` is what every pass begins with.
local function pack(events, items, start)
  local packed = {}
  for _, item in ipairs(items) do
    local placed = false
    for i, indices in ipairs(packed) do
      local longer = append(indices, item)
      if fits(events, longer) then
        packed[i], placed = longer, true
        break
      end
    end
    if not placed then
      local fresh = append(start, item)
      if not fits(events, fresh) then fresh = item end
      if fits(events, fresh) then
        packed[#packed + 1] = fresh
      else
        for _, index in ipairs(item) do
          events[index].status = "unsupported"
          events[index].why = #item > 1 and "its group does not fit the PMU"
            or "it opens and is never on the PMU: another user of the PMU holds what it needs"
        end
      end
    end
  end
  return packed
end

local function split_riders(events, usable)
  local riders, counted = {}, {}
  for _, index in ipairs(usable) do
    local is_rider = passes.takes_no_counter(events[index]) or events[index].cpus
    table.insert(is_rider and riders or counted, index)
  end
  return riders, counted
end

local function group_of(events, indices, inherit)
  local attrs = {}
  for i, index in ipairs(indices) do
    attrs[i] = { inherit = inherit and 1 or 0 }
    for name, value in pairs(events[index].opened) do attrs[i][name] = value end
  end
  local first = events[indices[1]]
  local by_cpu = first.where and first.where.cpu >= 0
  return { attrs = attrs, events = indices, cpus = by_cpu and require("pmclua.target").cpus_for(first) or nil }
end

--- One group of all, inherited by threads and children; events of the uprobe PMU apart and not
--- inherited: with inherit the target's fork fails (EFAULT). Those of PMUs with CPUs of their own each
--- alone.
local function groups_of(events, indices)
  local inherited, probes, uncore, groups = {}, {}, {}, {}
  for _, index in ipairs(indices) do
    local event = events[index]
    local is_probe = event.pmu == "uprobe"
    if is_probe then event.note = "threads and children not counted" end
    table.insert(is_probe and probes or event.cpus and uncore or inherited, index)
  end
  if #inherited > 0 then groups[1] = group_of(events, inherited, true) end
  if #probes > 0 then groups[#groups + 1] = group_of(events, probes, false) end
  for _, index in ipairs(uncore) do groups[#groups + 1] = group_of(events, { index }, false) end
  return groups
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

--- Plans the passes of a list of events, whose statuses it fills in.
---@param events pmclua.Event[]
---@param mode "rerun"|"multiplex"
---@param target? pmclua.Target who is counted; nil: the workload
---@return { groups: { attrs: table[], events: integer[], cpus: integer[]? }[], events: integer[] }[] passes at least one
---@return integer[] anchors  event indices that repeat in every pass
function passes.plan(events, mode, target)
  local usable = passes.try_each(events, target)
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
        if not contains(anchors, item[1]) then rest[#rest + 1] = item end
      end
      packed = pack(events, rest, anchors)
    end
    for i, indices in ipairs(packed) do list[i] = { groups = groups_of(events, append(indices, riders)) } end
    list[1] = list[1] or { groups = groups_of(events, riders) }
  end
  for _, pass in ipairs(list) do list_events(pass) end
  return list, anchors
end

return passes
