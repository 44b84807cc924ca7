--- data.lua: the code ledger for programs: facts with the statistics, records with every repetition.
--
-- Invariant: the sums of the lines and of the rest are the sum of the total, to the last count.

local annotate = require "pmclua.report.where.annotate"
local complete = require "pmclua.result.complete"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local objects = require "pmclua.ledger.objects"
local sharing = require "pmclua.report.where.sharing"

local M = {}

local FORMAT = 1                -- of the facts; changes with the meaning of any key

local ORDER = { "format", "kind", "event", "unit", "period", "by", "paired", "a", "b", "missing", "level",
  "comparisons", "uncompared",
  "conclusion", "why", "named", "lines", "rest", "total", "workload", "levels", "repetitions",
  "thread", "offset", "size", "is_write", "object", "member", "place", "fn",
  "label", "function", "signature", "file", "source", "line", "other", "reason", "samples", "a_sum",
  "b_sum", "median", "difference", "low", "high", "p", "adjusted", "share", "verdict", "exact",
  "a_values", "b_values", "computing_a_values" }

local or_null = json.or_null

-- Where the code is; nothing for several functions joined. `copies` and `into` are sums of all repetitions.
local function place_entry(place)
  if not place then return json.null end
  return { ["function"] = place.fn, signature = place.full, file = place.path, source = or_null(place.source),
    line = or_null(place.line), copies = place.copies and json.object(place.copies),
    into = place.into and json.object(place.into) }
end

local OF_ONE = { "a", "a_sum", "low", "high", "level", "share", "median" }
local OF_TWO = { "a", "a_sum", "low", "high", "level", "share", "b", "b_sum", "difference", "p", "adjusted",
  "verdict" }

local function row_entry(row)
  local entry = json.fields(row, row.b and OF_TWO or OF_ONE)
  entry.label, entry.exact, entry.samples = row.label, row.exact or false, or_null(row.line.samples)
  entry.a_values, entry.b_values = row.line.a, row.b and row.line.b
  entry.computing_a_values = row.line.fed
  if row.rest then entry.reason = (tostring(row.key):gsub("^rest ", "")) end
  if row.line.place or row.line.other then
    entry.code, entry.other = place_entry(row.line.place), place_entry(row.line.other)
    entry.guess = row.line.is_guess
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

local function callers_entry(callers)
  if not callers then return json.null end
  return { comparisons = callers.comparisons, conclusion = callers.conclusion.kind,
    lines = lists.map(callers.lines, caller_row), grown = or_null(callers.grown) }
end

local function shared_facts(profiles)
  return lists.map(sharing.rows(profiles), function(row)
    return { label = row.label, sharing = row.kind, count = row.count, share = row.share, parts = row.parts,
      apart = row.kind == "false" and sharing.apart(row.parts) or nil }
  end)
end

local function confirmation_facts(line)
  return { label = line.label, sharing = line.kind, counted = or_null(line.counted), why = or_null(line.why),
    words = lists.map(line.words, function(word)
      return { word = word.name, threads = lists.map(lists.keys(word.accesses), function(thread)
        return { thread = thread, accesses = word.accesses[thread], writes = word.writes[thread] or 0 }
      end) }
    end) }
end

local function sharing_entry(code, by)
  if not objects.is_view(by) then return nil end
  return { a = shared_facts(code.a), b = code.b and shared_facts(code.b) or json.null,
    confirmed = code.confirmed and lists.map(code.confirmed, confirmation_facts) }
end

local function ledger_facts(code, by)
  local ledger = code:ledger(by)
  return { order = ORDER, value = { format = FORMAT, kind = "where", event = code.event, unit = ledger.unit,
    by = by or "function", paired = ledger.paired, missing = code.missing, exact = ledger.exact,
    level = ledger.level, comparisons = ledger.comparisons,
    a = side_entry(code.baseline or code.cell, code.a),
    b = code.b and side_entry(code.cell, code.b) or json.null,
    uncompared = ledger.uncompared,
    conclusion = ledger.conclusion.kind, why = or_null(ledger.conclusion.why),
    named = lists.column(ledger.conclusion.names, "label"),
    lines = lists.map(ledger.lines, row_entry), rest = lists.map(ledger.rest, row_entry),
    sharing = sharing_entry(code, by),
    total = row_entry(ledger.total), callers = callers_entry(code:callers()) } }
end

-- ---- a function beside its source and instructions -------------------------------------------------------

local ANNOTATION = { "format", "kind", "event", "unit", "function", "a", "b", "difference", "verdict",
  "number", "number_b", "offset", "offset_b", "text" }

local function listed(row)
  local entry = lists.copy(row)
  entry.index, entry.values = nil, nil
  if row.a or row.b then entry.difference = (row.b or 0) - (row.a or 0) end
  return entry
end

local function listing_entry(listing, rows)
  return { path = listing.path, path_b = listing.path_b, why = listing.why,
    [rows] = lists.map(listing[rows], listed) }
end

local function annotation_facts(code, row, folders)
  local annotation = code:annotation(row, folders)
  return { order = ANNOTATION, value = { format = FORMAT, kind = "annotation", event = code.event,
    unit = code.unit, ["function"] = row.label, a = row.a, b = row.b, difference = row.difference,
    verdict = row.verdict,
    sources = lists.map(annotation.sources, function(source) return listing_entry(source, "lines") end),
    codes = lists.map(annotation.codes, function(list) return listing_entry(list, "list") end),
    copies = annotation.copies, unplaced = annotation.unplaced } }
end

--- The facts of the ledger, or of one function of it; report/README.md says what each key is.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions
---@return pmclua.ReportFacts
function M.facts(code, options)
  if not options.annotate then return ledger_facts(code, options.by) end
  return annotation_facts(code, annotate.row(code, options), options.sources)
end

-- ---- records -------------------------------------------------------------------------------------------

local COLUMNS = { "kind", "label", "function", "file", "source", "line", "side", "workload", "repetition",
  "value", "unit" }
-- More columns of a view of data: a thread's accesses to bytes of a cache line; `apart`: bytes that padding moves with
-- them.
local OF_SHARING = { "sharing", "thread", "access", "offset", "size", "object", "member", "place", "apart" }

local function put_side(lines, kind, row, side, workload, unit)
  local place = side == "A" and (row.line.place or row.line.other) or row.line.other or row.line.place or {}
  for i, value in ipairs(row.line[side:lower()]) do
    lines:put { kind, row.label, place.fn, place.path, place.source, place.line, side, workload, i, value,
      unit }
  end
end

local function put_sharing(lines, profiles, side, workload, unit)
  for repetition, profile in ipairs(profiles) do
    for _, named in ipairs(sharing.named(profile)) do
      local line = named.line
      local groups = line.kind == "false" and sharing.apart(line.parts) or {}
      for _, part in ipairs(line.parts) do
        local group = lists.find(groups, function(bytes)
          return bytes.from <= part.offset and part.offset <= bytes.to
        end)
        lines:put { "sharing", named.label, part.fn, nil, part.source, part.line, side, workload, repetition,
          part.samples * line.count / line.samples, unit, line.kind, part.thread,
          part.is_write and "write" or "read", part.offset, part.size, part.object, part.member, part.place,
          group and ("%d-%d"):format(group.from, group.to) }
      end
    end
  end
end

--- Every repetition of every line as a record; of a view of data, those of shared cache lines as well.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions
---@return pmclua.Records
function M.records(code, options)
  local ledger, callers = code:ledger(options.by), code:callers()
  local is_data = objects.is_view(options.by)
  return { columns = is_data and lists.joined { COLUMNS, OF_SHARING } or COLUMNS, each = function(lines)
    local a, b = (code.baseline or code.cell).workload, code.cell.workload
    local function put(kind, rows)
      for _, row in ipairs(rows) do
        put_side(lines, kind, row, "A", a, ledger.unit)
        if row.b then put_side(lines, kind, row, "B", b, ledger.unit) end
      end
    end
    put("code", ledger.lines)
    put("rest", ledger.rest)
    put("total", { ledger.total })
    put("callers", callers and callers.lines or {})
    if is_data then
      put_sharing(lines, code.a, "A", a, ledger.unit)
      if code.b then put_sharing(lines, code.b, "B", b, ledger.unit) end
    end
  end }
end

return M
