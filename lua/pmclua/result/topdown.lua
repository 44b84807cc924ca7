--- topdown.lua: a result's metrics as a vendor's top-down tree: shares, thresholds, and B's difference from A by node.
--
-- Invariant: a node's share is a metric of the result, so it has its unit, interval and reasons. Differences are in
-- cycles (or slots): a node's share of them in each repetition. They are means, so they add up along the tree to the
-- last digit, with a line for what a node's children leave; intervals do not add up.

local anchors = require "pmclua.counting.anchors"
local compare = require "pmclua.result.compare"
local mean = require "pmclua.stats.mean"
local multiple = require "pmclua.stats.multiple"
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

---@class pmclua.TopdownRow: a node in a cell
---@field node pmclua.TopdownNode
---@field summary pmclua.Summary the share; without values it says why
---@field share number? of 1; nil where it is absent or no share
---@field threshold { text: string, assumed: boolean, share: number? }? share: of the repetitions that passed it
---@field passed boolean? in most repetitions; nil: not known

---@class pmclua.TopdownDifference: a node, or what its children leave of it, in B against A
---@field node pmclua.TopdownNode
---@field rest boolean?
---@field a number? mean, in the unit of the total
---@field b number?
---@field difference number?
---@field low number?
---@field high number?
---@field p number?
---@field adjusted number? p corrected for all nodes
---@field share number? of the whole difference
---@field verdict "more"|"fewer"|"same"|"undecided"|nil none where there are too few repetitions
---@field why string?

---@class pmclua.Topdown prints as its table
---@field result pmclua.Result
---@field nodes pmclua.TopdownNode[] parents before children
---@field total { name: string, title: string }? the event that nodes are shares of, as far as it was counted
local Topdown = require("pmclua.base.methods").extend({}, "pmclua.Topdown")
Topdown.__index = Topdown

function Topdown:__tostring() return self:report() end

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

-- Cycles, or slots where there are none; of a hybrid CPU those of the kind of core that the tree is of.
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
  local found = values.of_metric(cell, { name = "threshold", needs = threshold.needs,
    evaluate = function(lookup)
      local holds, why = threshold.evaluate(lookup)
      if holds == nil then return nil, why end
      return holds and 1 or 0
    end })
  local sum = 0
  for _, value in ipairs(found.list) do sum = sum + value end
  return #found.list > 0 and sum / #found.list or nil
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
  local rows = {}
  for i, node in ipairs(self.nodes) do rows[i] = row_of(cell, node) end
  return rows
end

--- The cells that the tree was measured in.
---@return pmclua.Cell[]
function Topdown:cells()
  local list = {}
  for cell in self.result:cells() do list[#list + 1] = cell end
  return list
end

--- Whether a node is over its threshold in any cell.
---@param name string
---@return boolean
function Topdown:is_over(name)
  for _, node in ipairs(self.nodes) do
    for _, cell in ipairs(node.name == name and self:cells() or {}) do
      if row_of(cell, node).passed then return true end
    end
  end
  return false
end

--- Whether any node has a number in a cell, by default in any.
---@param only? pmclua.Cell
---@return boolean
function Topdown:has_numbers(only)
  for _, cell in ipairs(only and { only } or self:cells()) do
    for _, node in ipairs(self.nodes) do
      if cell:summary(node.name).n > 0 then return true end
    end
  end
  return false
end

-- ---- A against B -----------------------------------------------------------------------------------------

-- A node's part of the total in each repetition, by repetition.
local function amounts(cell, metric, total)
  local found = values.of_metric(cell, { name = "amount", needs = { total.field, unpack(metric.needs) },
    evaluate = function(lookup)
      local share, why = metric.evaluate(lookup)
      if share == nil then return nil, why end
      local whole, none = lookup(total.field)
      if whole == nil then return nil, none end
      return share / (tree.whole(metric) or 1) * whole
    end })
  local by_block = {}
  for k, row in ipairs(found.rows) do by_block[found.block.index[row]] = found.list[k] end
  return by_block, found.why
end

local WHOLE = { name = "total", unit = "%", needs = {}, evaluate = function() return 1 end }

-- What each node has in each repetition of both sides, by repetition; of the whole, the total itself.
local function sides_of(pair, nodes, total)
  local sides = {}
  for _, node in ipairs(nodes) do
    local a, why_a = amounts(pair.baseline, node.metric or WHOLE, total)
    local b, why_b = amounts(pair.cell, node.metric or WHOLE, total)
    sides[node] = { a = a, b = b, is_there = next(a) ~= nil and next(b) ~= nil, why = why_a or why_b }
  end
  return sides
end

-- The repetitions in which every node that has numbers has one, so that parts and whole are of the same runs.
local function common(sides, names)
  local count, nodes, blocks = {}, 0, {}
  for _, side in pairs(sides) do
    nodes = nodes + (side.is_there and 1 or 0)
    for block in pairs(side.is_there and side[names[1]] or {}) do
      if side[names[#names]][block] then count[block] = (count[block] or 0) + 1 end
    end
  end
  for block, there in pairs(count) do
    if there == nodes then blocks[#blocks + 1] = block end
  end
  table.sort(blocks)
  return blocks
end

local function pick(by_block, blocks)
  local list = {}
  for i, block in ipairs(blocks) do list[i] = by_block[block] end
  return list
end

-- Lists of both sides for each node with numbers: of the same blocks where they are paired.
local function lists_of(pair, sides)
  local blocks_a = common(sides, pair.paired and { "a", "b" } or { "a" })
  local blocks_b = pair.paired and blocks_a or common(sides, { "b" })
  local lists = {}
  for node, side in pairs(sides) do
    if side.is_there and #blocks_a > 0 and #blocks_b > 0 then
      lists[node] = { a = pick(side.a, blocks_a), b = pick(side.b, blocks_b), paired = pair.paired }
    end
  end
  return lists, math.min(#blocks_a, #blocks_b)
end

local LEVEL = 0.95

local function difference_of(row, list)
  local estimate = (list.paired and mean.paired or mean.unpaired)(list.a, list.b)
  row.a, row.b, row.difference = mean.of(list.a).mean, mean.of(list.b).mean, estimate.mean
  row.low, row.high = mean.interval(estimate, LEVEL)
  row.p = mean.p(estimate)
  return row
end

local function take_off(list, others)
  for i = 1, #list do list[i] = list[i] - others[i] end
end

-- What the children of a node that were counted leave of it, and whether it has any.
local function left_of(node, lists)
  local whole, has = lists[node], false
  local left = { a = { unpack(whole.a) }, b = { unpack(whole.b) }, paired = whole.paired }
  for _, child in ipairs(node.children) do
    if lists[child] then
      has = true
      take_off(left.a, lists[child].a)
      take_off(left.b, lists[child].b)
    end
  end
  return left, has
end

local function add_rest(node, rows, lists)
  local left, has = left_of(node, lists)
  if has then rows[#rows + 1] = difference_of({ node = node, rest = true }, left) end
end

local FEWEST = 6                        -- repetitions: of fewer nothing is concluded

local function conclusion(row, is_rejected)
  if row.low == 0 and row.high == 0 then return "same" end
  if not is_rejected then return "undecided" end
  return row.difference > 0 and "more" or "fewer"
end

-- Verdicts on all nodes, which hold together. Returns how many.
local function conclude(rows, n)
  local tested, p = {}, {}
  for _, row in ipairs(n >= FEWEST and rows or {}) do
    if row.p then tested[#tested + 1], p[#p + 1] = row, row.p end
  end
  for i, found in ipairs(multiple.holm(p, 1 - LEVEL)) do
    tested[i].adjusted, tested[i].verdict = found.adjusted, conclusion(tested[i], found.rejected)
  end
  return #p
end

---@class pmclua.TopdownComparison
---@field cell pmclua.Cell B
---@field baseline pmclua.Cell A
---@field total pmclua.TopdownDifference
---@field rows pmclua.TopdownDifference[] parents before children; what children leave comes after them
---@field comparisons integer differences that were tested together
---@field paired boolean
---@field n integer pairs; where unpaired, repetitions of the side that has fewer

local function add_rows(node, rows, lists, sides)
  local list = lists[node]
  rows[#rows + 1] = list and difference_of({ node = node }, list)
    or { node = node, why = sides[node].why or "not counted in the same repetitions" }
  for _, child in ipairs(node.children) do
    if sides[child] then add_rows(child, rows, lists, sides) end
  end
  if list then add_rest(node, rows, lists) end
end

local function top_of(nodes)
  local list = {}
  for _, node in ipairs(nodes) do
    if not node.parent then list[#list + 1] = node end
  end
  return list
end

-- The whole, which nodes are shares of, and what each of them has on both sides.
local function measured(topdown, pair)
  local whole = { name = topdown.total.name, children = top_of(topdown.nodes) }
  local shares = { whole }
  for _, node in ipairs(topdown.nodes) do
    if tree.is_share(node.metric) then shares[#shares + 1] = node end
  end
  local sides = sides_of(pair, shares, topdown.total)
  return whole, sides, lists_of(pair, sides)
end

local function compare_pair(topdown, pair)
  local whole, sides, lists, n = measured(topdown, pair)
  local rows = {}
  add_rows(whole, rows, lists, sides)
  local total = table.remove(rows, 1)
  local comparisons = conclude(rows, n)
  for _, row in ipairs(rows) do
    local is_clear = row.difference and total.low and (total.low > 0 or total.high < 0)
    row.share = is_clear and row.difference / total.difference or nil
  end
  return { cell = pair.cell, baseline = pair.baseline, paired = pair.paired, total = total, rows = rows,
    comparisons = comparisons, n = n }
end

local ROUNDING = 1e-9                   -- of the total: shares are quotients

local function is_nothing(left, total)
  for _, side in ipairs { "a", "b" } do
    for i, value in ipairs(left[side]) do
      if math.abs(value) > ROUNDING * math.abs(total[side][i]) then return false end
    end
  end
  return true
end

local function add_parts(parts, node, lists, sides)
  for _, child in ipairs(node.children) do
    if lists[child] then
      local left, has_children = left_of(child, lists)
      add_parts(parts, child, lists, sides)
      if not has_children or not is_nothing(left, parts.total) then
        table.insert(parts.list, { node = child, rest = has_children, a = left.a, b = left.b })
      end
    elseif sides[child] then
      table.insert(parts.missing, { node = child,
        why = sides[child].why or "not counted in the same repetitions" })
    end
  end
end

---@class pmclua.TopdownParts
---@field total { a: number[], b: number[] } in each repetition of both sides
---@field list { node: pmclua.TopdownNode, rest: boolean, a: number[], b: number[] }[] the lowest nodes that were
---  counted, and (rest) what the children of others leave of them
---@field missing { node: pmclua.TopdownNode, why: string }[] the nodes without a number

--- The total of a cell and its baseline as parts that do not overlap. Nil and why where there is none.
---@param pair { baseline: pmclua.Cell, cell: pmclua.Cell, paired: boolean }
---@return pmclua.TopdownParts?
---@return string? why
function Topdown:parts(pair)
  if not self.total then return nil, "neither cycles nor slots were counted" end
  local whole, sides, lists = measured(self, pair)
  if not lists[whole] then return nil, sides[whole].why or "no repetition of both sides has all of it" end
  local parts = { total = lists[whole], list = {}, missing = {} }
  add_parts(parts, whole, lists, sides)
  if #parts.list == 0 then return nil, parts.missing[1] and parts.missing[1].why or "it has no shares" end
  return parts
end

--- Each cell against its baseline, by node. Nil and why where there is nothing to compare.
---@return pmclua.TopdownComparison[]?
---@return string?
function Topdown:differences()
  local baseline = self.result.header.baseline
  if not baseline then return nil, "there is no baseline" end
  if not self.total then return nil, "neither cycles nor slots were counted" end
  local list = {}
  for i, pair in ipairs(compare.pairs(self.result, baseline)) do list[i] = compare_pair(self, pair) end
  return list
end

return M
