--- data.lua: the code ledger for programs: JSON with the statistics, CSV with every repetition.
--
-- Invariant: the sums of the lines and of the rest are the sum of the total, to the last count.

local complete = require "pmclua.result.complete"
local csv = require "pmclua.report.csv"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"

local M = {}

M.FORMAT = 1

local ORDER = { "format", "kind", "event", "unit", "period", "by", "paired", "a", "b", "missing", "level",
  "comparisons", "uncompared",
  "conclusion", "why", "named", "lines", "rest", "total", "workload", "levels", "repetitions",
  "label", "function", "signature", "file", "source", "line", "other", "reason", "samples", "a_sum",
  "b_sum", "median", "difference", "low", "high", "p", "adjusted", "share", "verdict", "exact",
  "a_values", "b_values" }

local or_null = json.or_null

-- Where the code is; of what several functions were joined to: nothing. `copies` and `into` are sums of all
-- repetitions.
local function place_entry(place)
  if not place then return json.null end
  return { ["function"] = place.fn, signature = place.full, file = place.path, source = or_null(place.source),
    line = or_null(place.line), copies = place.copies and json.object(place.copies),
    into = place.into and json.object(place.into) }
end

local NUMBERS = { "a", "a_sum", "samples", "low", "high", "level", "share" }
local OF_ONE, OF_TWO = { "median" }, { "b", "b_sum", "difference", "p", "adjusted" }

local function row_entry(row)
  local entry = { label = row.label, a_values = row.line.a, exact = row.exact or false }
  for _, names in ipairs { NUMBERS, row.b and OF_TWO or OF_ONE } do
    for _, name in ipairs(names) do entry[name] = or_null(row[name]) end
  end
  entry.samples = or_null(row.line.samples)
  if row.rest then entry.reason = (tostring(row.key):gsub("^rest ", "")) end
  if row.line.place or row.line.other then
    entry.code, entry.other = place_entry(row.line.place), place_entry(row.line.other)
    entry.guess = row.line.is_guess
  end
  if row.b then
    entry.b_values, entry.verdict = row.line.b, or_null(row.verdict)
  end
  return entry
end

-- How many samples were due by the counts, and how many of them are not there; nil where nothing was sampled.
local function samples_of(profiles)
  local lost, due = complete.samples(profiles)
  if due == 0 then return json.null end
  return { due = math.floor(due + 0.5), lost = math.floor(lost + 0.5) }
end

local function side_entry(cell, profiles)
  return { workload = cell.workload, levels = json.object(cell.levels), repetitions = #profiles,
    periods = lists.column(profiles, "period"), samples = samples_of(profiles) }
end

local function caller_row(row)
  local entry = row_entry(row)
  entry.own_a_values, entry.own_b_values = row.line.own.a, row.line.own.b
  return entry
end

-- Functions with all that they call; null where no call chains were taken.
local function callers_entry(callers)
  if not callers then return json.null end
  return { comparisons = callers.comparisons, conclusion = callers.conclusion.kind,
    lines = lists.map(callers.lines, caller_row), grown = or_null(callers.grown) }
end

--- The ledger as one JSON object: report/README.md says what each key is.
---@param code pmclua.CodeResult
---@param by? pmclua.CodeBy
---@return string
function M.json(code, by)
  local ledger = code:ledger(by)
  return json.encode({ format = M.FORMAT, kind = "where", event = code.event, unit = ledger.unit,
    by = by or "function", paired = ledger.paired, missing = code.missing, exact = ledger.exact,
    level = ledger.level, comparisons = ledger.comparisons,
    a = side_entry(code.baseline or code.cell, code.a),
    b = code.b and side_entry(code.cell, code.b) or json.null,
    uncompared = ledger.uncompared,
    conclusion = ledger.conclusion.kind, why = or_null(ledger.conclusion.why),
    named = lists.column(ledger.conclusion.names, "label"),
    lines = lists.map(ledger.lines, row_entry), rest = lists.map(ledger.rest, row_entry),
    total = row_entry(ledger.total), callers = callers_entry(code:callers()) }, { order = ORDER }) .. "\n"
end

local ANNOTATION = { "format", "kind", "event", "unit", "function", "a", "b", "difference", "verdict",
  "number", "number_b", "offset", "offset_b", "text" }

-- A row of a listing without what serves to show it.
local function listed(row)
  local entry = {}
  for name, value in pairs(row) do entry[name] = value end
  entry.index, entry.values = nil, nil
  if row.a or row.b then entry.difference = (row.b or 0) - (row.a or 0) end
  return entry
end

local function listing_entry(found, rows)
  return { path = found.path, path_b = found.path_b, why = found.why,
    [rows] = lists.map(found[rows], listed) }
end

--- A function beside its source and instructions as one JSON object: report/README.md says what each key is.
---@param code pmclua.CodeResult
---@param row pmclua.LedgerRow
---@param folders? string[] below which sources may be
---@return string
function M.annotation(code, row, folders)
  local found = code:annotation(row, folders)
  return json.encode({ format = M.FORMAT, kind = "annotation", event = code.event, unit = code.unit,
    ["function"] = row.label, a = row.a, b = row.b, difference = row.difference, verdict = row.verdict,
    sources = lists.map(found.sources, function(source) return listing_entry(source, "lines") end),
    codes = lists.map(found.codes, function(list) return listing_entry(list, "list") end),
    copies = found.copies, unplaced = found.unplaced }, { order = ANNOTATION }) .. "\n"
end

local COLUMNS = { "kind", "label", "function", "file", "source", "line", "side", "workload", "repetition",
  "value", "unit" }

local function put_row(lines, values) lines:add(lines:join(values, #COLUMNS)) end

local function put_side(lines, kind, row, side, workload, unit)
  local place = side == "A" and (row.line.place or row.line.other) or row.line.other or row.line.place or {}
  for i, value in ipairs(row.line[side:lower()]) do
    put_row(lines, { kind, row.label, place.fn, place.path, place.source, place.line, side, workload, i,
      value, unit })
  end
end

--- Every repetition of every line: one value a line, with a header.
---@param code pmclua.CodeResult
---@param by? pmclua.CodeBy
---@return string
function M.csv(code, by)
  local ledger = code:ledger(by)
  return csv.text(function(lines)
    local function put(kind, rows)
      for _, row in ipairs(rows) do
        put_side(lines, kind, row, "A", (code.baseline or code.cell).workload, ledger.unit)
        if row.b then put_side(lines, kind, row, "B", code.cell.workload, ledger.unit) end
      end
    end
    put_row(lines, COLUMNS)
    put("code", ledger.lines)
    put("rest", ledger.rest)
    put("total", { ledger.total })
    local callers = code:callers()
    put("callers", callers and callers.lines or {})
  end)
end

return M
