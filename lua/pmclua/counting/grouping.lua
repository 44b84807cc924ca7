--- grouping.lua: which events of a pass are one perf group.
--
-- Invariant: events that a script wrote as a {group} are in one, its leader first.

local lists = require "pmclua.base.lists"
local perf_metrics = require "pmclua.event.perf_metrics"

local M = {}

--- The index of the leader of an event's {group}; its own where it leads one or is in none.
---@param events pmclua.Event[]
---@param index integer
---@return integer
function M.leader_of(events, index) return events[index].leader or index end

--- The usable events as items: explicit {groups} stay together, others stand alone.
---@param events pmclua.Event[]
---@param usable integer[]
---@return integer[][]
function M.items_of(events, usable)
  local items, of_leader = {}, {}
  for _, index in ipairs(usable) do
    local leader = M.leader_of(events, index)
    if of_leader[leader] then
      table.insert(of_leader[leader], index == leader and 1 or #of_leader[leader] + 1, index)
    else
      items[#items + 1] = { index, weak = events[leader].weak }
      of_leader[leader] = items[#items]
    end
  end
  return items
end

--- One perf group.
---@param events pmclua.Event[]
---@param indices integer[] the leader first
---@param inherit boolean
---@return pmclua.PerfGroup
function M.group_of(events, indices, inherit)
  local attrs = {}
  for i, index in ipairs(indices) do
    attrs[i] = { inherit = inherit and 1 or 0 }
    for name, value in pairs(events[index].opened) do attrs[i][name] = value end
  end
  local first = events[indices[1]]
  local by_cpu = first.where and first.where.cpu >= 0
  local cpus = by_cpu and require("pmclua.counting.target").cpus_for(first) or nil
  return { attrs = attrs, events = indices, cpus = cpus,
    leads = first.in_one_group and perf_metrics.leads(events, indices) or nil }
end

-- Key of the perf group of its own that an event needs: a probe that must not be inherited; an event of a PMU with CPUs
-- of its own; a pinned or exclusive event, which only a leader can be; an event of one kind of core of a hybrid CPU.
-- Nil: all others, which share one group.
local function group_key(events, index)
  local event, leader = events[index], M.leader_of(events, index)
  if event.in_one_group then return nil end
  if event.is_lone_probe then return "probes" end
  if event.is_apart then return leader end
  local attr = events[leader].attr or event.attr
  if event.cpus or attr.pinned or attr.exclusive then return leader end
  local of_kind = event.core_cpus and event or events[leader]
  return of_kind.core_cpus and of_kind.pmu or nil
end

-- The OS kernel reads at most 16 KiB of a group at once: 681 members, or more with a shorter read format.
local MOST_TOGETHER = 600

-- Events that may be counted apart, in as few lists of at most `most` as there can be; explicit {groups}
-- stay whole.
local function chunks(events, indices, most)
  local all, chunk = {}, {}
  for _, item in ipairs(M.items_of(events, indices)) do
    if #chunk > 0 and #chunk + #item > most then
      all[#all + 1], chunk = chunk, {}
    end
    lists.append(chunk, item)
  end
  all[#all + 1] = #chunk > 0 and chunk or nil
  return all
end

--- The perf groups of a pass; most: members of one.
---@param events pmclua.Event[]
---@param indices integer[]
---@param most? integer
---@return pmclua.PerfGroup[]
function M.groups_of(events, indices, most)
  local shared, apart, keys, groups = {}, {}, {}, {}
  for _, index in ipairs(indices) do
    local key = group_key(events, index)
    if key and not apart[key] then
      apart[key] = {}
      keys[#keys + 1] = key
    end
    table.insert(key and apart[key] or shared, index)
  end
  local is_whole = indices[1] and events[indices[1]].in_one_group
  for i, list in ipairs(chunks(events, shared, most or is_whole and math.huge or MOST_TOGETHER)) do
    groups[i] = M.group_of(events, list, true)
  end
  for _, key in ipairs(keys) do
    local is_inherited = key ~= "probes" and not events[apart[key][1]].cpus
    groups[#groups + 1] = M.group_of(events, apart[key], is_inherited)
  end
  return groups
end

--- The items that the events of a bundle are in.
---@param items integer[][]
---@param bundle pmclua.Bundle
---@return integer[][]
function M.items_of_bundle(items, bundle)
  local is_in = lists.set(bundle)
  return lists.where(items, function(item)
    return lists.any(item, function(index) return is_in[index] end)
  end)
end

--- Where a pass is one group: whether these events may share it, as the tables of metrics say.
---@param items integer[][]
---@param bundles pmclua.Bundle[]
---@param anchors integer[] which are in every pass
---@return fun(indices: integer[]): boolean
function M.may_share(items, bundles, anchors)
  local apart = {}
  for _, bundle in ipairs(bundles) do
    apart[#apart + 1] = bundle.apart and lists.where(M.items_of_bundle(items, bundle), function(item)
      return not lists.contains(anchors, item[1])
    end)
  end
  return function(indices)
    return not lists.any(apart, function(those)
      return #lists.where(those, function(item) return lists.contains(indices, item[1]) end) > 1
    end)
  end
end

return M
