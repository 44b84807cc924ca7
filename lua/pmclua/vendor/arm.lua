--- arm.lua: files of Arm's telemetry-solution: events, metrics, groups and the tree of decisions of one CPU.

local json_file = require "pmclua.vendor.json_file"
local lists = require "pmclua.base.lists"

local M = {}

local function field(map, name)
  return type(map) == "table" and type(map[name]) == "table" and map[name] or {}
end

-- The names in an object, in order; none of a list.
local function names_in(map) return map[1] == nil and lists.keys(map) or {} end

-- ---- groups and the tree ----

-- Metrics by group.
local function metrics_by_group(value)
  local by_group = {}
  for name, group in pairs(field(value.groups, "metrics")) do by_group[name] = field(group, "metrics") end
  return by_group
end

local function methodology(value)
  local first = field(value.methodologies, "topdown_methodology")
  return next(first) and first or field(value, "topdown_methodology")
end

-- The children of a metric: items of the tree are metrics, or groups of them.
local function children_of(node, by_group)
  local list, seen = {}, {}
  for _, item in ipairs(field(node, "next_items")) do
    for _, name in ipairs(by_group[item] or { item }) do
      if type(name) == "string" and not seen[name] and name ~= node.name then
        list[#list + 1], seen[name] = name, true
      end
    end
  end
  return list
end

-- By metric: parent, level, children. A metric below several has the first for its parent.
local function tree_of(value, by_group)
  local tree, node_of = {}, {}
  local decisions = field(methodology(value), "decision_tree")
  for _, node in ipairs(field(decisions, "metrics")) do
    if type(node) == "table" and type(node.name) == "string" then node_of[node.name] = node end
  end
  local level, names = 1, field(decisions, "root_nodes")
  for _, name in ipairs(names) do tree[name] = { level = 1 } end
  while #names > 0 do
    local below = {}
    level = level + 1
    for _, name in ipairs(names) do
      tree[name].children = children_of(node_of[name] or {}, by_group)
      for _, child in ipairs(tree[name].children) do
        if not tree[child] then
          tree[child] = { level = level, parent = name }
          below[#below + 1] = child
        end
      end
    end
    names = below
  end
  return tree
end

local function groups_by_metric(by_group)
  local groups = {}
  for _, group in ipairs(names_in(by_group)) do
    for _, name in ipairs(by_group[group]) do
      groups[name] = (groups[name] and groups[name] .. ";" or "") .. group
    end
  end
  return groups
end

-- ---- files ----

-- "percent of cycles" is a share of 1 to whoever asks.
local function scale_of(units)
  if not units or units == "" then return nil end
  return units:find "^percent" and "1%" or "1" .. units
end

local function take_event(name, event, file, collection)
  event = json_file.texts(event)
  local code = tonumber(event.code or "")
  if not code then return collection:problem("%s: %s has no code", file.path, name) end
  collection:event { name = name, terms = ("event=0x%x"):format(code),
    description = event.description or event.title }
end

local ROOTS = "Topdown_L1"

local function take_metric(name, metric, place, groups, file, collection)
  metric = json_file.texts(metric)
  if not metric.formula then
    return collection:problem("%s: %s has no formula", file.path, name)
  end
  local is_root = place.level == 1 and not (groups or ""):find(ROOTS, 1, true)
  collection:metric { name = name, expression = metric.formula, scale = scale_of(metric.units),
    groups = is_root and (groups and groups .. ";" or "") .. ROOTS or groups, parent = place.parent,
    level = place.level, children = place.children and table.concat(place.children, ";") or nil,
    description = metric.description or metric.title }
end

-- The whole objects of a broken file: events have a code, metrics a formula, and parts of the file their names.
local function salvaged(text)
  local value = { events = {}, metrics = {} }
  for _, named in ipairs(json_file.named(text)) do
    local name, object = named[1], named[2]
    if object.code then value.events[name] = object
    elseif object.formula then value.metrics[name] = object
    else
      value[name] = value[name] or {}
      for key, part in pairs(object) do value[name][key] = part end
    end
  end
  return value
end

--- Reads a file.
---@param file { path: string }
---@param collection pmclua.vendor.Collection
function M.read(file, collection)
  local value, problem, text = json_file.read(file.path)
  if problem then collection:problem("%s: %s", file.path, problem) end
  if problem and text then value = salvaged(text) end
  if type(value) ~= "table" then return end
  local events, metrics = field(value, "events"), field(value, "metrics")
  for _, name in ipairs(names_in(events)) do take_event(name, events[name], file, collection) end
  local by_group = metrics_by_group(value)
  local tree, groups = tree_of(value, by_group), groups_by_metric(by_group)
  for _, name in ipairs(names_in(metrics)) do
    take_metric(name, metrics[name], tree[name] or {}, groups[name], file, collection)
  end
end

return M
