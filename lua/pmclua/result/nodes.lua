--- nodes.lua: B's difference from A by node of a top-down tree, as ledgers.
--
-- Invariant: differences are in cycles (or slots): a node's share of them in each repetition. So they add up along
-- the tree to the last digit, with a line for what a node's children leave. Every verdict is the ledger's: parents
-- and children overlap, so each level of the tree is a ledger of its own.

local clusters = require "pmclua.result.clusters"
local complete = require "pmclua.result.complete"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local tree = require "pmclua.metric.tree"
local values = require "pmclua.result.values"

local M = {}

---@class pmclua.TopdownDifference: pmclua.LedgerRow, of a node or of what its children leave of it, in B against A
---@field node pmclua.TopdownNode
---@field rest boolean?
---@field why string? of a node without a number

local function amounts(cell, metric, total)
  local amount = values.of_metric(cell, { name = "amount", needs = { total.field, unpack(metric.needs) },
    evaluate = function(lookup)
      local share, why = metric.evaluate(lookup)
      if share == nil then return nil, why end
      local whole, none = lookup(total.field)
      if whole == nil then return nil, none end
      return share / (tree.whole(metric) or 1) * whole
    end })
  return values.by_block(amount), amount.why
end

local WHOLE = { name = "total", unit = "%", needs = {}, evaluate = function() return 1 end }

-- By repetition. The whole is the total itself.
local function sides_of(pair, nodes, total)
  local sides = {}
  for _, node in ipairs(nodes) do
    local a, why_a = amounts(pair.baseline, node.metric or WHOLE, total)
    local b, why_b = amounts(pair.cell, node.metric or WHOLE, total)
    sides[node] = { a = a, b = b, is_there = next(a) ~= nil and next(b) ~= nil, why = why_a or why_b }
  end
  return sides
end

-- The repetitions in which every node that has numbers has one, so that parts and whole come from the same runs.
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
  return lists.map(blocks, function(block) return by_block[block] end)
end

local function lists_of(pair, sides)
  local blocks_a = common(sides, pair.paired and { "a", "b" } or { "a" })
  local blocks_b = pair.paired and blocks_a or common(sides, { "b" })
  local of_nodes = {}
  for node, side in pairs(sides) do
    if side.is_there and #blocks_a > 0 and #blocks_b > 0 then
      of_nodes[node] = { a = pick(side.a, blocks_a), b = pick(side.b, blocks_b) }
    end
  end
  return of_nodes, pair.paired and clusters.of_blocks({ pair.baseline, pair.cell }, blocks_a) or nil
end

-- The whole, the nodes that are shares, and their values on both sides.
local function measured(topdown, pair)
  local top = lists.where(topdown.nodes, function(node) return not node.parent end)
  local whole = { name = topdown.total.name, children = top }
  local shares = lists.append({ whole }, lists.where(topdown.nodes, function(node)
    return tree.is_share(node.metric)
  end))
  local sides = sides_of(pair, shares, topdown.total)
  local of_nodes, groups = lists_of(pair, sides)
  local why = of_nodes[whole] and complete.of_pair(pair, topdown.total.field)
  if why then
    of_nodes = {}
    for _, side in pairs(sides) do side.why = side.why or why end
  end
  return { whole = whole, sides = sides, lists = of_nodes, groups = groups, unit = topdown.total.unit,
    paired = pair.paired, of = topdown.total.name }
end

local function why_none(measures, node)
  return measures.sides[node].why or "not counted in the same repetitions"
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

local function without(whole, parts, side)
  local left = lists.copy(whole[side])
  for _, part in ipairs(parts) do
    for i = 1, #left do left[i] = left[i] - part[side][i] end
  end
  return left
end

local function add_line(lines, node, amount, is_rest)
  local name = node.name:gsub("^tma_", "") .. (is_rest and " (rest)" or "")
  lines[#lines + 1] = { kind = "node", key = name, label = name, name = name, node = node, a = amount.a,
    b = amount.b, is_left = is_rest }
end

-- Lines that do not overlap: the node, or above the lowest level asked for its children and a remainder.
local function add_lines(measures, lines, node, levels)
  local children = lists.where(node.children, function(child) return measures.lists[child] end)
  if levels == 0 or #children == 0 then
    add_line(lines, node, measures.lists[node])
    return
  end
  for _, child in ipairs(children) do add_lines(measures, lines, child, levels - 1) end
  local parts = lists.map(children, function(child) return measures.lists[child] end)
  local whole = measures.lists[node]
  local left = { a = without(whole, parts, "a"), b = without(whole, parts, "b") }
  if not is_nothing(left, measures.lists[measures.whole]) then add_line(lines, node, left, true) end
end

-- The total as the nodes of one level, and above it those without nodes below.
local function ledger_of(measures, levels)
  local lines, total = {}, measures.lists[measures.whole]
  for _, node in ipairs(measures.whole.children) do
    if measures.lists[node] then add_lines(measures, lines, node, levels - 1) end
  end
  local made = ledger.new { unit = measures.unit or "", paired = measures.paired, groups = measures.groups,
    exact = true, is_rounded = true, a = total.a, b = total.b, lines = lines }
  made.of = measures.of
  return made
end

-- The depth of the nodes with numbers, and the nodes without any.
local function explore(measures, node, depth, missing)
  local deepest = depth
  for _, child in ipairs(node.children) do
    if measures.lists[child] then
      deepest = math.max(deepest, (explore(measures, child, depth + 1, missing)))
    elseif measures.sides[child] then
      missing[#missing + 1] = { node = child, why = why_none(measures, child) }
    end
  end
  return deepest, missing
end

--- The ledger of Topdown:ledger, and the nodes without numbers.
---@param topdown pmclua.Topdown
---@param pair pmclua.ComparedPair
function M.ledger(topdown, pair)
  if not topdown.total then return nil, "neither cycles nor slots were counted" end
  local measures = measured(topdown, pair)
  if not measures.lists[measures.whole] then
    return nil, measures.sides[measures.whole].why or "no repetition of both sides has all of it"
  end
  local levels, missing = explore(measures, measures.whole, 0, {})
  if levels == 0 then return nil, missing[1] and missing[1].why or "it has no shares" end
  return ledger_of(measures, levels), missing
end

---@class pmclua.TopdownComparison
---@field cell pmclua.Cell B
---@field baseline pmclua.Cell A
---@field total pmclua.TopdownDifference
---@field rows pmclua.TopdownDifference[] parents before children; what children leave comes after them
---@field comparisons integer differences that were tested together, at the lowest level
---@field paired boolean
---@field n integer pairs; where unpaired, repetitions of the side that has fewer

-- Each row is from the ledger of the lowest level that has it, so a node has the same verdict here and in `ledger`.
local function judged(measures, levels)
  local by_node, deepest = {}, nil
  for level = 1, levels do
    deepest = ledger_of(measures, level)
    for _, row in ipairs(deepest.lines) do
      by_node[row.line.node] = by_node[row.line.node] or {}
      by_node[row.line.node][row.line.is_left and "left" or "whole"] = row
    end
  end
  return by_node, deepest
end

local function told(node, row, is_rest)
  return setmetatable({ node = node, rest = is_rest or nil }, { __index = row })
end

local function add_rows(measures, rows, node, by_node)
  for _, child in ipairs(node.children) do
    local own = by_node[child]
    if own then
      rows[#rows + 1] = told(child, own.whole)
      add_rows(measures, rows, child, by_node)
      if own.left then rows[#rows + 1] = told(child, own.left, true) end
    elseif measures.sides[child] then
      rows[#rows + 1] = { node = child, why = why_none(measures, child) }
    end
  end
end

--- A cell against its baseline, by node.
---@param topdown pmclua.Topdown with a total
---@param pair pmclua.ComparedPair
---@return pmclua.TopdownComparison
function M.compare(topdown, pair)
  local measures, rows = measured(topdown, pair), {}
  local compared = { cell = pair.cell, baseline = pair.baseline, paired = pair.paired, rows = rows, n = 0,
    comparisons = 0 }
  if not measures.lists[measures.whole] then
    compared.total = { node = measures.whole, why = why_none(measures, measures.whole) }
    add_rows(measures, rows, measures.whole, {})
    return compared
  end
  local by_node, deepest = judged(measures, math.max(1, (explore(measures, measures.whole, 0, {}))))
  add_rows(measures, rows, measures.whole, by_node)
  for _, row in ipairs(#deepest.lines > 0 and deepest.rest or {}) do
    rows[#rows + 1] = told(measures.whole, row, true)
  end
  compared.total, compared.ledger = told(measures.whole, deepest.total), deepest
  compared.comparisons, compared.n = deepest.comparisons, math.min(deepest.n, deepest.n_b)
  return compared
end

return M
