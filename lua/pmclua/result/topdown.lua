--- topdown.lua: a result's metrics as a vendor's top-down tree: shares, thresholds, and B's difference from A by node.
--
-- Invariant: a node's share is a metric of the result, so it has its unit, interval and reasons.

local anchors = require "pmclua.counting.anchors"
local average = require("pmclua.stats.mean").average
local compare = require "pmclua.result.compare"
local lists = require "pmclua.base.lists"
local nodes_of = require "pmclua.result.nodes"
local tree = require "pmclua.metric.tree"
local values = require "pmclua.result.values"

local M = {}

---@class pmclua.TopdownNode
---@field name string
---@field metric pmclua.Metric
---@field level integer
---@field parent pmclua.TopdownNode?
---@field children pmclua.TopdownNode[] that were measured
---@field order integer

--- A node in a cell.
---@class pmclua.TopdownRow
---@field node pmclua.TopdownNode
---@field summary pmclua.Summary the share; without values it says why
---@field share number? of 1; nil where it is absent or no share
---@field threshold { text: string, assumed: boolean, share: number? }? share: of the repetitions that passed it
---@field passed boolean? in most repetitions; nil: not known

---@class pmclua.Topdown prints as its table
---@field result pmclua.Result
---@field nodes pmclua.TopdownNode[] parents before children
---@field total { name: string, title: string }? the event that nodes are shares of, as far as it was counted
---@field rounds integer? of measuring
local Topdown = require("pmclua.public.class").new("measuring", "topdown", "total rounds remarks")

-- ---- the tree --------------------------------------------------------------------------------------------

local function collect(result)
  local by_name, list = {}, {}
  for i, metric in ipairs(result.metrics) do
    local level = tree.level(metric)
    if level then
      local node = { name = metric.name, metric = metric, level = level, children = {}, order = i }
      by_name[node.name], list[#list + 1] = node, node
    end
  end
  for _, node in ipairs(list) do
    node.parent = by_name[tree.parent(node.metric, function(name) return by_name[name] end)]
    if node.parent then table.insert(node.parent.children, node) end
  end
  return list
end

local function add_below(list, node)
  list[#list + 1] = node
  for _, child in ipairs(node.children) do add_below(list, child) end
end

local function in_order(nodes)
  local list = {}
  for _, node in ipairs(nodes) do
    if not node.parent then add_below(list, node) end
  end
  return list
end

-- Cycles, or slots; of a hybrid CPU those of the tree's kind of core.
local function total_of(result, pmu)
  for _, kind in ipairs { "cycles", "slots" } do
    for _, event in ipairs(result.events) do
      local is_of_it = not pmu or event.pmu == pmu
      if is_of_it and not event.status and anchors.kind(event) == kind then return event end
    end
  end
end

--- The tree that a result's metrics are nodes of.
---@param result pmclua.Result
---@return pmclua.Topdown? topdown nil where none of them is one
function M.of(result)
  local nodes = in_order(collect(result))
  if #nodes == 0 then return nil end
  return setmetatable({ result = result, nodes = nodes, total = total_of(result, nodes[1].metric.pmu) },
    Topdown)
end

-- ---- shares and thresholds -------------------------------------------------------------------------------

-- Where a table has none (perf before 6.4, AMD): what Intel's tables have for most nodes.
local ASSUMED = { [1] = 0.2, below = 0.1, retiring = 0.7 }

local function assumed(node)
  local whole = tree.whole(node.metric)
  if not whole then return nil end
  local least = node.name:find "retiring$" and ASSUMED.retiring or ASSUMED[node.level] or ASSUMED.below
  return { needs = node.metric.needs, text = ("> %g %%"):format(100 * least), assumed = true,
    evaluate = function(lookup)
      local value, why = node.metric.evaluate(lookup)
      if value == nil then return nil, why end
      return value / whole > least
    end }
end

-- How many of a cell's repetitions a threshold holds in, as a share; nil where that is not known.
local function share_passed(cell, threshold)
  local passed = values.of_metric(cell, { name = "threshold", needs = threshold.needs,
    evaluate = function(lookup)
      local holds, why = threshold.evaluate(lookup)
      if holds == nil then return nil, why end
      return holds and 1 or 0
    end })
  return #passed.list > 0 and average(passed.list) or nil
end

local function row_of(cell, node)
  local threshold, share = node.metric.threshold, nil
  if threshold then share = share_passed(cell, threshold) end
  if share == nil then
    threshold = assumed(node) or threshold
    share = threshold and share_passed(cell, threshold)
  end
  local row = { node = node, summary = cell:summary(node.name),
    threshold = threshold and { text = threshold.text, assumed = threshold.assumed or false, share = share } }
  if share then row.passed = share >= 0.5 end
  local whole, median = tree.whole(node.metric), row.summary.median
  row.share = whole and median and tonumber(median) / whole or nil
  return row
end

--- The nodes of a cell, parents before children.
---@param cell pmclua.Cell
---@return pmclua.TopdownRow[]
function Topdown:rows(cell)
  return lists.map(self.nodes, function(node) return row_of(cell, node) end)
end

--- The cells that the tree was measured in.
---@return pmclua.Cell[]
function Topdown:cells() return lists.collect(self.result:cells()) end

--- Whether a node is over its threshold in any cell.
---@param name string
---@return boolean
function Topdown:is_over(name)
  local node = lists.find(self.nodes, function(node) return node.name == name end)
  return node ~= nil and lists.any(self:cells(), function(cell) return row_of(cell, node).passed end)
end

--- Whether any node has a number in a cell, by default in any.
---@param cell? pmclua.Cell
---@return boolean
function Topdown:has_numbers(cell)
  return lists.any(cell and { cell } or self:cells(), function(other)
    return lists.any(self.nodes, function(node) return other:summary(node.name).n > 0 end)
  end)
end

-- ---- A against B -----------------------------------------------------------------------------------------

--- Each cell against its baseline, by node. Nil and why where there is nothing to compare.
---@return pmclua.TopdownComparison[]?
---@return string?
function Topdown:differences()
  local baseline = self.result.header.baseline
  if not baseline then return nil, "there is no baseline" end
  if not self.total then return nil, "neither cycles nor slots were counted" end
  return lists.map(compare.pairs(self.result, baseline), function(pair)
    return nodes_of.compare(self, pair)
  end)
end

return M
