--- between.lua: A and B compared over the nodes that measured both: pairs on each node first, then the nodes.
--
-- Invariant: the node is a random effect: one logarithm of the ratio for each node, each of equal weight, and Student's t
-- over them (the two-stage analysis of summary measures: Matthews, Altman, Campbell, Royston, BMJ 300, 1990). So what
-- makes a node slow is in both sides and cancels, and how nodes differ in B's effect is in the interval. Many
-- repetitions of few nodes do not narrow it.

local cell_key = require "pmclua.result.cell_key"
local lists = require "pmclua.base.lists"
local means = require "pmclua.stats.mean"
local order = require "pmclua.stats.order"
local verdict = require "pmclua.verdict"

local M = {}

---@class pmclua.BetweenNodes: pmclua.ComparedPair; its rows' verdicts are over nodes
---@field nodes any[] that have both sides

local function key_without(cell, by)
  return cell_key.of(cell.workload, lists.without(cell.levels, by), cell)
end

local function middle(summaries)
  local values = lists.map(summaries, function(summary) return tonumber(summary.median) end)
  return setmetatable({ median = order.median_of(order.sorted(values)) }, { __index = summaries[1] })
end

-- The conclusion on one quantity of the nodes; nil and why where there is none.
local function conclusion_of(of_nodes, level)
  local ratios = lists.map(of_nodes, function(row)
    local ratio = row.verdict and row.verdict.ratio
    return ratio and ratio > 0 and math.log(ratio) or nil
  end)
  if #ratios < #of_nodes then return nil, "not every node has a ratio" end
  local own, estimate = of_nodes[1].verdict, means.of(ratios)
  local low, high = means.interval(estimate, level)
  return require("pmclua.verdict.compare").conclude({ method = "Student", ratio = math.exp(estimate.mean),
    low = low and math.exp(low), high = high and math.exp(high) }, { median = 1, n = #ratios }, #ratios,
    { kind = of_nodes[1].kind, margin = own.margin, level = level, floor = own.floor })
end

-- Doubts on any node.
local function doubts_of(of_nodes) return lists.unique(lists.joined(lists.column(of_nodes, "doubts"))) end

-- One quantity over nodes. Where some lack it there is no verdict: it would be of other nodes than those that are said.
local function row_of(of_nodes, nodes)
  local row, known, why = lists.copy(of_nodes[1]), {}, nil
  for i, of_node in ipairs(of_nodes) do
    if of_node.verdict then known[#known + 1] = of_node
    else why = why or ("%s on %s"):format(of_node.why or "no comparison", tostring(nodes[i])) end
  end
  row.verdict, row.why, row.doubts = nil, of_nodes[1].why, doubts_of(of_nodes)
  if #known == 0 then return row end
  row.cell, row.baseline = middle(lists.column(known, "cell")), middle(lists.column(known, "baseline"))
  row.nodes = known
  row.why = why or select(2, conclusion_of(known, verdict.DEFAULT_LEVEL))
  return row
end

-- Returns how many verdicts on the primary quantity there are, and how many others.
local function judge(pairs_found, level)
  local counts = {}
  for i, is_primary in ipairs { true, false } do
    local rows = lists.where(lists.joined(lists.column(pairs_found, "rows")), function(row)
      return row.nodes and not row.why and (row.primary or false) == is_primary
    end)
    local tests = lists.map(rows, function(row)
      return function(own) return (conclusion_of(row.nodes, own)) end
    end)
    for k, judged in ipairs(verdict.together(tests, verdict.differs, level)) do rows[k].verdict = judged end
    counts[i] = #rows
  end
  return unpack(counts)
end

-- The rows of a pair that are shown, in the order of their names.
local function show(pair, names)
  local by_name = lists.by(pair.rows, "name")
  pair.rows = lists.map(names, function(name) return by_name[name] end)
end

--- A and B over nodes. All quantities are judged, so that verdicts do not depend on what is shown.
---@param result pmclua.Result whose cells have the node as a factor, and a baseline
---@param by string that factor
---@param names string[] that are shown
---@return pmclua.BetweenNodes[] empty where fewer than two nodes have both sides
---@return { level: number, primary: string?, primaries: integer, others: integer } comparison as a Comparison has them
function M.of(result, by, names)
  local compared = result:compare {}
  local groups = lists.groups(compared.pairs, function(pair)
    return pair.cell.levels[by] == pair.baseline.levels[by] and key_without(pair.cell, by) or nil
  end)
  local list = lists.map(groups, function(group)
    if #group < 2 then return nil end
    local nodes = lists.map({ unpack(group) }, function(pair) return pair.cell.levels[by] end)
    local rows = lists.map(lists.keys(group[1].rows), function(i)
      return row_of(lists.map(group, function(pair) return pair.rows[i] end), nodes)
    end)
    return { cell = group[1].cell, baseline = group[1].baseline, rows = rows, paired = group[1].paired,
      nodes = nodes }
  end)
  local primaries, others = judge(list, compared.level)
  for _, pair in ipairs(list) do show(pair, names) end
  return list, { level = compared.level, primary = compared.primary, primaries = primaries, others = others }
end

return M
