--- tree.lua: which metrics are nodes of a vendor's top-down tree, and which node is whose child.
--
-- Tables name a level's metrics as a group (Intel and Arm: TopdownL1, AMD: PipelineL1) and a node's children as the
-- group NODE_group; Arm's decision tree and Intel's own tables name the parent itself. Where this machine has no
-- table, the four shares of level 1 of the group TOPDOWN are the tree.

local lists = require "pmclua.base.lists"

local M = {}

local LEVELS = { "^TopdownL(%d)$", "^Topdown_L(%d)$", "^tma_L(%d)_group$", "^PipelineL(%d)$" }
local FIRST = { "TopdownL1", "Topdown_L1", "tma_L1_group", "PipelineL1" }
local BUILT_IN = { retiring = true, bad_speculation = true, frontend_bound = true, backend_bound = true }
M.BUILT_IN = { "retiring", "bad_speculation", "frontend_bound", "backend_bound" }

-- Facts beside the tree (tma_info_…, SLOTS) are in the groups of levels, too: nodes of these are shares. What a
-- tree of decisions names below a node may be anything.
local function is_node(metric)
  local is_labelled = metric.stored and metric.stored.label ~= nil      -- each kind of core has a tree of its own
  return not is_labelled and (metric.level ~= nil
    or M.whole(metric) and not metric.name:find("_info_", 1, true))
end

--- The value of a metric that is all of what it is a share of: 1 of "%", 100 of AMD's "%slots"; nil: it is no share.
---@param metric pmclua.Metric
---@return number?
function M.whole(metric)
  if metric.unit == "%" then return 1 end
  return metric.unit:find "^%%" and 100 or nil
end

--- The level that a metric's table gives it, from 1; nil: it is no node.
---@param metric pmclua.Metric
---@return integer?
function M.level(metric)
  if not is_node(metric) then return nil end
  for _, group in ipairs(metric.groups or {}) do
    for _, pattern in ipairs(LEVELS) do
      local level = group:match(pattern)
      if level then return tonumber(level) end
    end
  end
  if metric.level then return metric.level end
  return not metric.groups and BUILT_IN[metric.name] and 1 or nil
end

--- Whether a node is a share of slots or cycles, of which differences in cycles can be told. Below level 1 of a tree
--- of decisions shares may be of anything (of branches, of operations); Intel's …_aux are other nodes once more.
---@param metric pmclua.Metric
---@return boolean
function M.is_share(metric)
  return M.whole(metric) ~= nil and (metric.level or 1) == 1 and not metric.name:find "_aux$"
end

--- The name of a node's parent.
---@param metric pmclua.Metric
---@param is_there fun(name: string): any whether there is a node of that name
---@return string? name nil: it is at the top, or its parent is none of them
function M.parent(metric, is_there)
  if metric.parent and is_there(metric.parent) then return metric.parent end
  for _, group in ipairs(metric.groups or {}) do
    local name = group:match "^(.*)_group$"
    if name and name ~= metric.name and is_there(name) then return name end
  end
end

--- The metric of a node: the vendor's, before pmclua's own of that name.
---@param metrics table pmclua.metric
---@param name string
---@return pmclua.Metric?
function M.metric(metrics, name) return metrics.of_vendor(name) or metrics.named(name) end

--- A node as an experiment takes it: a vendor's metric as its text, since pmclua may have one of that name.
---@param metrics table
---@param name string
---@return string
function M.source(metrics, name)
  local vendors = metrics.of_vendor(name)
  return vendors and vendors.source or name
end

-- The kind of core of a metric of the first level; nil: the CPU has one kind.
local function first_kind(metrics)
  for _, group in ipairs(FIRST) do
    for _, name in ipairs(metrics.group(group) or {}) do
      local metric = metrics.of_vendor(name)
      if metric and metric.pmu then return metric.pmu, name end
    end
  end
end

--- The metrics of one kind of core of a hybrid CPU, whose kinds have trees of their own; others as they are.
---@param metrics table pmclua.metric
---@param kind? string "cpu_core", "cpu_atom"; default: cpu_core, where its tables have a tree
---@return table metrics named(name), of_vendor(name), group(name)
function M.of_kind(metrics, kind)
  local first, name = first_kind(metrics)
  if not first then return metrics end
  local function of_vendor(wanted, of) return metrics.of_vendor(("%s/%s/"):format(of, wanted)) end
  kind = kind or of_vendor(name, "cpu_core") and "cpu_core" or first
  return { group = metrics.group, named = function() end,
    of_vendor = function(wanted) return of_vendor(wanted, kind) end }
end

--- The kinds of core of a hybrid CPU that have trees of their own; none if there is only one kind.
---@param metrics table pmclua.metric
---@return string[]
function M.kinds(metrics)
  local first, name = first_kind(metrics)
  return lists.where(first and { "cpu_core", "cpu_atom" } or {}, function(kind)
    return metrics.of_vendor(("%s/%s/"):format(kind, name))
  end)
end

local function nodes_of(metrics, names)
  local list = {}
  for _, name in ipairs(names or {}) do
    local metric = M.metric(metrics, name)
    if metric and is_node(metric) then list[#list + 1] = name end
  end
  return list
end

--- The nodes of level 1 on this machine.
---@param metrics table pmclua.metric
---@return string[] names
function M.roots(metrics)
  for _, group in ipairs(FIRST) do
    local list = nodes_of(metrics, metrics.group(group))
    if #list > 0 then return list end
  end
  return metrics.named(M.BUILT_IN[1]) and M.BUILT_IN or {}
end

--- The children of a node, in the order of its table.
---@param metrics table
---@param name string
---@return string[] names
function M.children(metrics, name)
  local own = M.metric(metrics, name)
  if own and own.children then return nodes_of(metrics, own.children) end
  return nodes_of(metrics, metrics.group(name .. "_group"))
end

--- The names of all nodes, parents before children.
---@param metrics table
---@return string[]
function M.names(metrics)
  local list, there = {}, {}
  local function add(names)
    for _, name in ipairs(names) do
      if not there[name] then
        list[#list + 1], there[name] = name, true
        add(M.children(metrics, name))
      end
    end
  end
  add(M.roots(metrics))
  return list
end

--- The node that a person means: with or without the vendor's prefix. pmclua's own nodes of level 1 are meant where
--- the tables have none of that name: these have children.
---@param metrics table
---@param name string
---@return string? name
function M.find(metrics, name)
  name = name:gsub("-", "_")
  for _, of in ipairs { metrics.of_vendor, metrics.named } do
    for _, tried in ipairs { name, "tma_" .. name } do
      local metric = of(tried)
      if metric and M.level(metric) then return tried end
    end
  end
end

return M
