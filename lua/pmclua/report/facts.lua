--- facts.lua: a result as one value: summaries, comparisons and raw counts.
--
-- Invariant: absent is null beside a reason, and the keys do not depend on the data. report/README.md says what each
-- key is.

local ending = require "pmclua.result.ending"
local hosts = require "pmclua.result.hosts"
local json = require "pmclua.base.json"
local read_cell = require("pmclua.result.cell").read
local lists = require "pmclua.base.lists"
local ranks = require "pmclua.result.ranks"
local reading = require "pmclua.counting.reading"

local M = {}

local FORMAT = 1         -- of this object; changes with the meaning of any key

local ORDER = {
  "format", "pmclua", "name", "question", "status", "problem", "problems", "remarks", "path", "started",
  "seed", "repetitions", "warmup", "target", "delay", "inherit", "primary", "baseline", "margin", "notes",
  "host", "hosts", "simulation",
  "events", "metrics", "cells", "comparisons", "topdown", "warnings",
  "workload", "levels", "region", "thread", "cpu", "interval", "rank", "launch", "kind", "per", "warmups",
  "rejected", "failed",
  "field", "spec", "formula", "title", "unit", "quality", "verdict", "ratio", "why", "note", "n", "missing",
  "median", "low", "high", "coverage", "min", "max", "q1", "q3", "mad", "exact", "ran",
  "components", "layout", "process", "run", "layouts", "processes", "fit", "slope",
  "intercept", "r2", "linear", "pattern", "least", "most", "smallest", "outliers", "values",
  "passes", "pass", "index", "order", "wall_ns", "iterations", "counts", "partial", "incomplete",
  "pairs", "verdicts",
}

local or_null = json.or_null

-- ---- what was asked --------------------------------------------------------------------------------------

local function event_entry(event)
  return { name = event.name, field = event.field, spec = event.spec or event.name, unit = event.unit or "",
    status = event.status or (reading.status(event)),
    why = or_null(event.why), note = or_null(event.note) }
end

local function metric_entry(result, metric)
  return { name = metric.name, formula = metric.formula, unit = metric.unit,
    passes = or_null(require("pmclua.result.across").passes(result, metric)) }
end

-- ---- cells -----------------------------------------------------------------------------------------------

local NUMBERS = { "median", "low", "high", "coverage", "min", "max", "q1", "q3", "mad", "ran" }

-- The line whose slope a value is; a metric of slopes has none of its own.
local function fit_entry(fit)
  if not fit.intercept then return nil end
  return { slope = fit.slope, intercept = fit.intercept, r2 = or_null(fit.r2), linear = fit.linear,
    pattern = fit.pattern, why = fit.why, least = fit.least, most = fit.most,
    smallest = or_null(fit.smallest) }
end

-- The share of the spread between the processes or layouts that were drawn.
local function components_entry(cell, name)
  local components = cell:components(name)
  if not components then return nil end
  local _, what = cell:clusters()
  return { [what == "layouts" and "layout" or "process"] = or_null(components.between_share),
    run = or_null(components.within_share), [what] = components.groups, n = components.n }
end

local function summary_entry(cell, name)
  local summary, values = cell:summary(name), read_cell(cell, name)
  local entry = { title = summary.title, unit = summary.unit, status = summary.status,
    quality = summary.quality, why = or_null(summary.why or summary.reason), n = summary.n,
    missing = summary.missing, exact = summary.exact, outliers = summary.outliers,
    values = json.column(values.raw or values.list, #values.list) }
  for _, number in ipairs(NUMBERS) do entry[number] = or_null(summary[number]) end
  entry.components = components_entry(cell, name)
  entry.fit = summary.fit and fit_entry(summary.fit)
  return entry
end

local function partial_entries(times)
  return lists.map(lists.keys(times), function(repetition)
    return { repetition = repetition, enabled_ns = times[repetition][1], running_ns = times[repetition][2] }
  end)
end

-- Counts that cannot be true are left out.
local function counts_of(event, values, block)
  local partial = block.partial[event.index]
  if not partial and not reading.may_be_too_small(event) then return json.column(values, block.n) end
  return json.list(block.n, function(i)
    local times = partial and partial[i]
    return or_null(reading.known(event, values[i], times and times[2]))
  end)
end

local function incomplete_entries(block)
  return lists.map(lists.keys(block.incomplete), function(repetition)
    return { repetition = repetition, why = block.incomplete[repetition] }
  end)
end

local function pass_entry(result, pass, block)
  local counts, partial = json.object {}, json.object {}
  for _, event in ipairs(result.events) do
    local values = block.counts[event.index]
    if values then counts[event.field] = counts_of(event, values, block) end
    if block.partial[event.index] then partial[event.field] = partial_entries(block.partial[event.index]) end
  end
  return { pass = pass, index = json.column(block.index, block.n), order = json.column(block.order, block.n),
    wall_ns = json.column(block.wall, block.n), iterations = json.column(block.iterations, block.n),
    counts = counts, partial = partial, incomplete = block.incomplete and incomplete_entries(block) }
end

local function passes_of(result, cell)
  local passes = {}
  for pass = 1, #result.header.pass_events do
    local block = cell.columns.passes[pass]
    if block then passes[#passes + 1] = pass_entry(result, pass, block) end
  end
  return passes
end

local function copy(fields) return json.object(lists.copy(fields)) end

local function values_of(result, cell)
  local values = json.object {}
  for _, item in ipairs(lists.joined { result.events, result.metrics, result.per_metrics }) do
    local name = item.field or item.name
    values[name] = summary_entry(cell, name)
  end
  return values
end

local function rank_entry(result, cell)
  return { rank = cell.task, host = or_null(hosts.of_cell(cell)), repetitions = cell.repetitions,
    failed = copy(cell.failed), values = values_of(result, cell), passes = passes_of(result, cell) }
end

local function rank_entries(result, list)
  return json.list(#list, function(i) return rank_entry(result, list[i]) end)
end

local function cell_entry(result, cell, ranks_of)
  return { workload = cell.workload, control = cell.control,
    levels = copy(cell.levels), kind = cell.kind, per = cell.per, launch = ranks.launch(cell),
    region = cell.region, thread = cell.thread, cpu = cell.cpu, interval = cell.interval,
    repetitions = cell.repetitions, warmups = cell.warmups, rejected = cell.rejected,
    failed = copy(cell.failed), values = values_of(result, cell), passes = passes_of(result, cell),
    ranks = ranks_of and rank_entries(result, ranks_of(cell)) }
end

-- ---- comparisons -----------------------------------------------------------------------------------------

local function verdict_entry(row)
  local verdict = row.verdict
  if not verdict then
    return { name = row.name, primary = row.primary, verdict = json.null, why = or_null(row.why) }
  end
  return { name = row.name, primary = row.primary, kind = row.kind, verdict = verdict.verdict,
    ratio = or_null(verdict.ratio), low = or_null(verdict.low), high = or_null(verdict.high),
    difference = verdict.difference and copy(verdict.difference) or nil, level = verdict.level,
    coverage = or_null(verdict.coverage), margin = verdict.margin, floor = or_null(verdict.floor),
    method = verdict.method, by_means = verdict.by_means, n = verdict.n, why = or_null(verdict.reason),
    doubts = #row.doubts > 0 and row.doubts or nil }
end

local function key_of(cell)
  return { workload = cell.workload, levels = copy(cell.levels), region = cell.region, thread = cell.thread,
    cpu = cell.cpu, interval = cell.interval }
end

local function pair_entry(pair)
  local entry = key_of(pair.cell)
  entry.baseline, entry.pairs = key_of(pair.baseline), pair.pairs
  entry.verdicts = lists.map(pair.rows, verdict_entry)
  return entry
end

local function comparisons_of(result)
  if not result.header.baseline then return {} end
  return lists.map(result:compare({}).pairs, pair_entry)
end

local function warning_entry(warning)
  return { kind = warning.kind, cell = warning.cell, cells = warning.cells, message = warning.message,
    hint = warning.hint }
end

-- Cells are made one after the other as they are written.
local function lazy_cells(result)
  local cells, ranks_of = lists.collect(result:cells(true)), ranks.reader(result)
  return json.list(#cells, function(i) return cell_entry(result, cells[i], ranks_of) end)
end

--- The facts of a result; its cells are made as they are written.
---@param result pmclua.Result
---@return pmclua.ReportFacts
function M.facts(result)
  local header, status, problem = result.header, ending.of(result)
  return { order = ORDER, indent = 1, value = {
    format = FORMAT, pmclua = header.pmclua or require("pmclua.core").version, name = or_null(header.name),
    question = or_null(header.question), status = status, problems = result.problems,
    problem = or_null(problem and tostring(problem)), remarks = result.remarks or {},
    path = result.path, started = or_null(header.started), seed = or_null(header.seed),
    repetitions = or_null(header.repetitions), warmup = or_null(header.warmup),
    target = header.target, delay = header.delay, inherit = header.inherit,
    primary = or_null(header.primary), baseline = or_null(header.baseline), margin = header.margin,
    simulation = header.simulation and copy(header.simulation) or nil,
    notes = copy(header.notes or {}), host = header.host and copy(header.host) or json.null,
    hosts = lists.map(hosts.of(result) or {}, copy),
    events = lists.map(result.events, event_entry),
    metrics = lists.map(result.metrics, function(metric) return metric_entry(result, metric) end),
    cells = lazy_cells(result),
    comparisons = comparisons_of(result),
    fits = result.header.fit and require("pmclua.report.growth").facts(result) or nil,
    topdown = or_null(require("pmclua.report.topdown_data").differences(result)),
    warnings = lists.map(result:warnings(), warning_entry),
    calls = next(result.followed) and lists.map(require("pmclua.report.tables").followed(result),
      require("pmclua.report.regions_data").entry) or nil,
  } }
end

return M
