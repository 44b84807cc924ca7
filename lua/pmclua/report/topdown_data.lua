--- topdown_data.lua: a top-down tree for programs: JSON and CSV.

local across = require "pmclua.result.across"
local ending = require "pmclua.result.ending"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"

local M = {}

local FORMAT = 1

local function or_null(value)
  if value == nil then return json.null end
  return value
end

local function node_entry(result, row)
  local summary, node, threshold = row.summary, row.node, row.threshold or {}
  return { name = node.name, level = node.level, parent = or_null(node.parent and node.parent.name),
    share = or_null(row.share), value = or_null(summary.median), low = or_null(summary.low),
    high = or_null(summary.high), n = summary.n,
    status = summary.status, why = or_null(summary.why), passes = or_null(across.passes(result, node.metric)),
    unit = summary.unit, threshold = or_null(threshold.text), assumed = or_null(threshold.assumed),
    over = or_null(row.passed), over_share = or_null(threshold.share) }
end

local function difference_entry(row)
  return { name = row.node.name, rest = row.rest or false, a = or_null(row.a), b = or_null(row.b),
    difference = or_null(row.difference), low = or_null(row.low), high = or_null(row.high),
    p = or_null(row.p), adjusted = or_null(row.adjusted), share = or_null(row.share),
    level = or_null(row.level), verdict = or_null(row.verdict), why = or_null(row.why) }
end

local function map(list, f)
  local out = {}
  for i, item in ipairs(list) do out[i] = f(item) end
  return json.list(#out, function(i) return out[i] end)
end

local function levels_of(cell) return json.object(lists.copy(cell.levels)) end

local function cell_entry(topdown, cell)
  return { workload = cell.workload, levels = levels_of(cell), region = or_null(cell.region),
    thread = or_null(cell.thread), cpu = or_null(cell.cpu), repetitions = cell.repetitions,
    nodes = map(topdown:rows(cell), function(row) return node_entry(topdown.result, row) end) }
end

local function comparison_entry(found)
  local cell, baseline = found.cell, found.baseline
  return { workload = cell.workload, levels = levels_of(cell), region = or_null(cell.region),
    thread = or_null(cell.thread), cpu = or_null(cell.cpu), baseline = baseline.workload,
    baseline_levels = levels_of(baseline), paired = found.paired, pairs = found.n,
    comparisons = found.comparisons, total = difference_entry(found.total),
    nodes = map(found.rows, difference_entry) }
end

--- B's difference from A by node, as JSON has it; nil where the result has no tree of several nodes, or no
--- baseline.
---@param result pmclua.Result
---@return table?
function M.differences(result)
  local tree = result.header.baseline and result:topdown()
  if not tree or #tree.nodes < 2 then return nil end
  return { total = or_null(tree.total and tree.total.field),
    comparisons = map(tree:differences() or {}, comparison_entry) }
end

local ORDER = { "format", "total", "passes", "anchors", "cells", "comparisons", "workload", "baseline",
  "levels", "region", "thread", "cpu", "name", "level", "parent", "share", "low", "high" }

--- The tree as JSON.
---@param topdown pmclua.Topdown
---@return string
function M.json(topdown)
  local result, pieces = topdown.result, {}
  json.write(function(piece) pieces[#pieces + 1] = piece end, {
    format = FORMAT, total = or_null(topdown.total and topdown.total.field),
    passes = #result.header.pass_events, status = (ending.of(result)),
    anchors = map(across.anchors(result), function(anchor) return anchor end),
    cells = map(topdown:cells(), function(cell) return cell_entry(topdown, cell) end),
    comparisons = map(topdown:differences() or {}, comparison_entry),
  }, { order = ORDER, indent = 1 })
  return table.concat(pieces) .. "\n"
end

local FIRST = { "kind", "workload", "baseline" }
local LAST = { "region", "thread", "cpu", "node", "level", "parent", "rest", "share", "value", "unit",
  "a", "b", "difference", "low", "high", "n", "threshold", "over", "passes", "p", "adjusted", "verdict",
  "status", "why" }

-- Factors stand where other CSV has them; a baseline of other levels says them.
local function columns_of(result)
  local factors = require("pmclua.report.csv").factors(result, lists.joined { FIRST, LAST })
  return lists.joined { FIRST, lists.column(factors, "title"), LAST }, factors
end

local function with_levels(fields, cell, factors)
  for _, factor in ipairs(factors) do
    fields[factor.title] = require("pmclua.report.csv").level(cell.levels[factor.name])
  end
  return fields
end

local function said(flag)
  if flag == nil then return nil end
  return tostring(flag)
end

local function put_line(lines, columns, fields)
  local values = {}
  for i, name in ipairs(columns) do values[i] = fields[name] end
  lines:add(lines:join(values, #columns))
end

local function node_fields(topdown, cell, row)
  local summary, node = row.summary, row.node
  return { kind = "node", workload = cell.workload, region = cell.region, thread = cell.thread,
    cpu = cell.cpu, node = node.name, level = node.level, parent = node.parent and node.parent.name,
    share = row.share, value = summary.median, unit = summary.unit, low = summary.low, high = summary.high,
    n = summary.n, threshold = row.threshold and row.threshold.text, over = said(row.passed),
    passes = across.passes(topdown.result, node.metric), status = summary.status, why = summary.why }
end

-- The baseline's name; with its levels where there are some.
local function side_of(baseline)
  if next(baseline.levels) == nil then return baseline.workload end
  return table.concat({ baseline.workload, unpack(lists.assignments(baseline.levels)) }, ", ")
end

local function difference_fields(found, row)
  local cell, node = found.cell, row.node
  return { kind = "difference", workload = cell.workload, baseline = side_of(found.baseline),
    region = cell.region, thread = cell.thread, cpu = cell.cpu, node = node.name, level = node.level,
    parent = node.parent and node.parent.name, rest = row.rest and "true" or nil, share = row.share,
    a = row.a, b = row.b,
    difference = row.difference, low = row.low, high = row.high, n = found.n, p = row.p,
    adjusted = row.adjusted, verdict = row.verdict, why = row.why }
end

--- The tree as CSV: a line of kind "node" for each node of each cell, and one of kind "difference" for each node
--- of each comparison.
---@param topdown pmclua.Topdown
---@return string
function M.csv(topdown)
  local pieces = {}
  local lines = require("pmclua.report.csv").lines(function(piece) pieces[#pieces + 1] = piece end)
  local columns, factors = columns_of(topdown.result)
  local function put(cell, fields) put_line(lines, columns, with_levels(fields, cell, factors)) end
  lines:add(lines:join(columns, #columns))
  for _, cell in ipairs(topdown:cells()) do
    for _, row in ipairs(topdown:rows(cell)) do put(cell, node_fields(topdown, cell, row)) end
  end
  for _, found in ipairs(topdown:differences() or {}) do
    put(found.cell, difference_fields(found, found.total))
    for _, row in ipairs(found.rows) do put(found.cell, difference_fields(found, row)) end
  end
  lines:flush()
  return table.concat(pieces)
end

return M
