--- topdown_data.lua: a top-down tree for programs: facts and records.

local across = require "pmclua.result.across"
local ending = require "pmclua.result.ending"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"

local M = {}

local FORMAT = 1

local or_null = json.or_null

local function node_entry(result, row)
  local node, threshold = row.node, row.threshold or {}
  local entry = json.fields(row.summary, { "low", "high", "n", "status", "why", "unit" })
  entry.name, entry.level, entry.parent = node.name, node.level, or_null(node.parent and node.parent.name)
  entry.share, entry.value = or_null(row.share), or_null(row.summary.median)
  entry.passes = or_null(across.passes(result, node.metric))
  entry.threshold, entry.assumed = or_null(threshold.text), or_null(threshold.assumed)
  entry.over, entry.over_share = or_null(row.passed), or_null(threshold.share)
  return entry
end

local DIFFERENCE = { "a", "b", "difference", "low", "high", "p", "adjusted", "share", "level", "verdict",
  "why" }

local function difference_entry(row)
  local entry = json.fields(row, DIFFERENCE)
  entry.name, entry.rest = row.node.name, row.rest or false
  return entry
end

local function levels_of(cell) return json.object(lists.copy(cell.levels)) end

local function cell_entry(topdown, cell)
  return { workload = cell.workload, levels = levels_of(cell), region = or_null(cell.region),
    thread = or_null(cell.thread), cpu = or_null(cell.cpu), repetitions = cell.repetitions,
    nodes = lists.map(topdown:rows(cell), function(row) return node_entry(topdown.result, row) end) }
end

local function comparison_entry(comparison)
  local cell, baseline = comparison.cell, comparison.baseline
  return { workload = cell.workload, levels = levels_of(cell), region = or_null(cell.region),
    thread = or_null(cell.thread), cpu = or_null(cell.cpu), baseline = baseline.workload,
    baseline_levels = levels_of(baseline), paired = comparison.paired, pairs = comparison.n,
    comparisons = comparison.comparisons, total = difference_entry(comparison.total),
    nodes = lists.map(comparison.rows, difference_entry) }
end

--- B's difference from A by node, as JSON has it; nil where the result has no tree of several nodes, or no
--- baseline.
---@param result pmclua.Result
---@return table?
function M.differences(result)
  local tree = result.header.baseline and result:topdown()
  if not tree or #tree.nodes < 2 then return nil end
  return { total = or_null(tree.total and tree.total.field),
    comparisons = lists.map(tree:differences() or {}, comparison_entry) }
end

local ORDER = { "format", "total", "passes", "anchors", "cells", "comparisons", "workload", "baseline",
  "levels", "region", "thread", "cpu", "name", "level", "parent", "share", "low", "high" }

--- The facts of a tree.
---@param topdown pmclua.Topdown
---@return pmclua.ReportFacts
function M.facts(topdown)
  local result = topdown.result
  return { order = ORDER, indent = 1, value = {
    format = FORMAT, total = or_null(topdown.total and topdown.total.field),
    passes = #result.header.pass_events, status = (ending.of(result)),
    anchors = across.anchors(result),
    cells = lists.map(topdown:cells(), function(cell) return cell_entry(topdown, cell) end),
    comparisons = lists.map(topdown:differences() or {}, comparison_entry),
  } }
end

local FIRST = { "kind", "workload", "baseline" }
local LAST = { "region", "thread", "cpu", "node", "level", "parent", "rest", "share", "value", "unit",
  "a", "b", "difference", "low", "high", "n", "threshold", "over", "passes", "p", "adjusted", "verdict",
  "status", "why" }

local function columns_of(result)
  local factors = require("pmclua.report.records").factors(result, lists.joined { FIRST, LAST })
  return lists.joined { FIRST, lists.column(factors, "title"), LAST }, factors
end

local function with_levels(fields, cell, factors)
  for _, factor in ipairs(factors) do
    fields[factor.title] = require("pmclua.report.records").level(cell.levels[factor.name])
  end
  return fields
end

local function node_fields(topdown, cell, row)
  local summary, node = row.summary, row.node
  return { kind = "node", workload = cell.workload, region = cell.region, thread = cell.thread,
    cpu = cell.cpu, node = node.name, level = node.level, parent = node.parent and node.parent.name,
    share = row.share, value = summary.median, unit = summary.unit, low = summary.low, high = summary.high,
    n = summary.n, threshold = row.threshold and row.threshold.text,
    over = row.passed ~= nil and tostring(row.passed) or nil,
    passes = across.passes(topdown.result, node.metric), status = summary.status, why = summary.why }
end

local function side_of(baseline)
  if next(baseline.levels) == nil then return baseline.workload end
  return table.concat({ baseline.workload, unpack(lists.assignments(baseline.levels)) }, ", ")
end

local function difference_fields(comparison, row)
  local cell, node = comparison.cell, row.node
  return { kind = "difference", workload = cell.workload, baseline = side_of(comparison.baseline),
    region = cell.region, thread = cell.thread, cpu = cell.cpu, node = node.name, level = node.level,
    parent = node.parent and node.parent.name, rest = row.rest and "true" or nil, share = row.share,
    a = row.a, b = row.b,
    difference = row.difference, low = row.low, high = row.high, n = comparison.n, p = row.p,
    adjusted = row.adjusted, verdict = row.verdict, why = row.why }
end

--- The records of a tree: one of kind "node" for each node of each cell, and one of kind "difference" for each node of
--- each comparison.
---@param topdown pmclua.Topdown
---@return pmclua.Records
function M.records(topdown)
  local columns, factors = columns_of(topdown.result)
  return { columns = columns, each = function(lines)
    local function put(cell, fields)
      with_levels(fields, cell, factors)
      local values = {}
      for i, name in ipairs(columns) do values[i] = fields[name] end
      lines:put(values)
    end
    for _, cell in ipairs(topdown:cells()) do
      for _, row in ipairs(topdown:rows(cell)) do put(cell, node_fields(topdown, cell, row)) end
    end
    for _, comparison in ipairs(topdown:differences() or {}) do
      put(comparison.cell, difference_fields(comparison, comparison.total))
      for _, row in ipairs(comparison.rows) do put(comparison.cell, difference_fields(comparison, row)) end
    end
  end }
end

return M
