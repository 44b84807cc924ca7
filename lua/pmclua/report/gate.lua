--- gate.lua: what limits conclude: in words, a line each where something is to be said; as a table; as facts.
--
-- Invariant: a row's state is never better in one form than in another.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"
local terminal = require "pmclua.host.terminal"
local words = require "pmclua.report.words"

local M = {}

-- "+2.1 %", "-1 %", "±0 %": how far a ratio is from 1.
local function change(ratio)
  return ("%s%s"):format(ratio == 1 and "±" or ratio > 1 and "+" or "", text.percent(ratio - 1))
end

local function moved(row)
  if not row.ratio then return "" end
  if row.low == row.high then return (" (%s)"):format(change(row.ratio)) end
  return (" (%s, interval %s … %s)"):format(change(row.ratio), change(row.low), change(row.high))
end

local function runs(row)
  if not row.runs or row.runs < 2 then return "" end
  local spread = row.ratio and row.spread and row.spread > 0
  return (", in %d runs%s"):format(row.runs,
    spread and (" that differ by %s"):format(text.percent(row.spread)) or "")
end

-- The observed value: "5.21 ms, was 5.10 ms (+2.1 %, interval -1.2 % … +5.6 %)"; with an absolute limit what it allows.
local function seen(row)
  local observed = text.value(row.observed, row.unit)
  if not row.baseline then return ("%s, allowed %s"):format(observed, text.value(row.allowed, row.unit)) end
  return ("%s, was %s%s%s%s"):format(observed, text.value(row.baseline, row.unit), runs(row), moved(row),
    row.layouts and (" in %s"):format(text.plural(row.layouts, "layout")) or "")
end

local function blind(row)
  if not row.detectable then return "" end
  return (": it would have taken %s to fail"):format(change(1 + row.detectable))
end

-- How far simulated counts of one program are apart: "94 (0.0034 %)".
local function apart(row)
  local share = row.observed ~= 0 and text.percent(row.jitter / math.abs(row.observed))
  return text.value(row.jitter, row.unit) .. (share and (" (%s)"):format(share) or "")
end

local function jitter(row)
  return row.jitter and (", in runs of one program that differ by %s"):format(apart(row)) or ""
end

-- A note on counts that stem from one layout, not from the code.
local function odd(row)
  local odd_layout = row.odd_layout
  if not odd_layout then return "" end
  return ("; one layout alone has %s, the others %s: that is layout"):format(change(odd_layout.ratio),
    change(odd_layout.others))
end

local function by_means(row) return row.by_means and "; " .. words.BY_MEANS or "" end

local function doubts(row)
  return table.concat(lists.map(row.doubts or {}, function(doubt) return "; " .. doubt end))
end

-- The reason without what needed what.
local function reason(row)
  return row.is_whole and text.safe(row.reason) or words.brief((row.reason:gsub("^needs .-: ", "")))
end

-- A limit of times that failed, and what the second run says.
local function said_twice(row)
  if row.state == "fail" then
    return ("fails: %s; and again, tried once more: %s%s"):format(seen(row), seen(row.again), doubts(row))
  end
  return ("undecided: it failed at first: %s; and not again, tried once more: %s"):format(seen(row),
    M.said(row.again))
end

--- The words of a row behind its limit and cell.
---@param row pmclua.GateRow
---@return string
function M.said(row)
  if row.is_same then return "holds: nothing was run, both sides are the same program" end
  if row.state == "uncountable" then return "cannot be checked: " .. reason(row) end
  if row.again then return said_twice(row) end
  local what = seen(row) .. jitter(row)
  local about = by_means(row) .. odd(row)
  if row.state == "undecided" then return "undecided: " .. what .. blind(row) .. about end
  return (row.state == "fail" and "fails: " or "holds: ") .. what .. about .. doubts(row)
end

local function line_of(row)
  return ("'%s', %s: %s"):format(text.safe(row.text), text.safe(row.cell), M.said(row))
end

-- The values that are missing for a limit that holds.
local function unseen_line(row)
  return ("'%s', %s: %d of %d repetitions have no value"):format(text.safe(row.text),
    text.safe(row.cell), row.missing, row.repetitions)
end

-- The jitter of counts whose limit holds all the same.
local function jitter_line(row)
  return ("'%s', %s: its counts differ by %s from run to run, too little to cross the limit"):format(
    text.safe(row.text), text.safe(row.cell), apart(row))
end

-- Limits that cannot be checked for one reason in several cells are said once.
local function uncountable_lines(rows)
  local groups = lists.groups(rows, function(row) return row.text .. "\0" .. reason(row) end)
  return lists.map(groups, function(same)
    local where = #same > 1 and (" in %d cells"):format(#same) or ", " .. text.safe(same[1].cell)
    return ("'%s' cannot be checked%s: %s"):format(text.safe(same[1].text), where, reason(same[1]))
  end)
end

-- The row's interval is that of one stored run and holds the noise within it alone.
local function is_within_one(row)
  local is_alone = row.runs == 1 and not row.paired and not row.jitter
  return is_alone and row.spread == nil and row.low ~= row.high
end

-- The spread that intervals rest on and nobody measured.
local function assumption(rows)
  local within, spread = false, nil
  for _, row in ipairs(rows) do
    within = within or is_within_one(row)
    if row.is_assumed then spread = row.spread end
  end
  if not (within or spread) then return nil end
  local notes = {}
  if spread then notes[1] = "times are taken to, by " .. text.percent(spread) end
  if within then notes[#notes + 1] = "intervals of counts are of the noise within it" end
  return ("one run of the baseline does not show how runs differ: %s; several baseline files measure it, and "
    .. "--against needs none"):format(table.concat(notes, ", "))
end

-- The simulated events that could stand for what could not be checked.
local function would_help(gate, rows)
  local needed = lists.map(rows, function(row)
    local limit = require("pmclua.metric").limit(row.text)
    return limit and require("pmclua.result.values").events_needed(gate.result, limit)
  end)
  local specs = require("pmclua.event.simulated").would_help(lists.joined(needed))
  return #specs > 0 and ("--simulate has Valgrind count %s instead"):format(text.list(specs)) or nil
end

local function of_state(rows, state)
  return lists.where(rows, function(row) return row.state == state end)
end

local NO_CELL = "there is no cell to check"

-- How many hold, where all do, or where some are undecided.
local function held_line(rows, held, is_all, is_undecided)
  if #rows == 0 then return NO_CELL end
  local layouts = rows[1].layouts and " for " .. text.plural(rows[1].layouts, "layout") or ""
  if is_all then
    return (held == 1 and "the limit holds" or ("all %d limits hold"):format(held)) .. layouts
  end
  return held > 0 and is_undecided and ("%d of %d hold"):format(held, #rows) or nil
end

local function cause_lines(gate)
  return lists.joined(lists.map(gate.causes or {}, function(cause)
    local function line(what) return ("cause, %s: %s"):format(text.safe(cause.cell), text.safe(what)) end
    return lists.joined { lists.map(cause.sentences, line),
      lists.map(cause.absent, function(why) return line("not looked into: " .. why) end) }
  end))
end

--- A line for each limit that failed or is undecided; one line where all hold. Also where values are missing.
---@param gate pmclua.Gate
---@return string
function M.words(gate)
  local rows = gate.results
  local passed, undecided = of_state(rows, "pass"), of_state(rows, "undecided")
  local uncountable = of_state(rows, "uncountable")
  local lines = lists.joined { lists.map(of_state(rows, "fail"), line_of), lists.map(undecided, line_of),
    uncountable_lines(uncountable), { would_help(gate, uncountable) } }
  lines[#lines + 1] = held_line(rows, #passed, #lines == 0, #undecided > 0)
  local lacking = lists.where(passed, function(row) return (row.missing or 0) > 0 end)
  lines = lists.joined { lines, lists.map(lacking, unseen_line),
    lists.map(lists.where(passed, function(row) return row.jitter end), jitter_line),
    lists.map(lists.where(passed, function(row) return row.odd_layout or row.doubts end), line_of),
    cause_lines(gate), { assumption(rows) }, lists.map(gate.remarks or {}, text.safe) }
  return terminal.spelled("gate: " .. table.concat(lines, "\ngate: ")) .. "\n"
end

-- ---- a table ---------------------------------------------------------------------------------------------

local MARKS = { pass = "holds", fail = "fails", undecided = "undecided", uncountable = "not checked" }
local TONES = { fail = "bad", uncountable = "warn" }

local function without_state(row) return (M.said(row):gsub("^%a[%a ]-: ", "")) end

local function cause_block(cause)
  local function value_of(value) return value and text.value(value, cause.unit) or words.ABSENT end
  local rows = lists.map(cause.parts, function(part)
    local place = require("pmclua.why.parts").at(part)
    return { text.safe(part.label), text.safe(place or words.ABSENT), text.safe(part.caller or words.ABSENT),
      value_of(part.a), value_of(part.b), number.signed(part.difference, cause.unit),
      part.low and ("%s … %s"):format(value_of(part.low), value_of(part.high)) or words.ABSENT,
      part.share and text.percent(part.share) or words.ABSENT }
  end)
  local function right(name) return { name = name, align = "right" } end
  local columns = #rows == 0 and {} or { { name = "function" }, { name = "line" }, { name = "called by" },
    right "before", right "now", right "difference", right "interval", right "share" }
  return { title = { "cause", text.safe(cause.cell), cause.event and text.safe(cause.event) },
    columns = columns, rows = rows,
    notes = lists.joined { lists.map(cause.sentences, text.safe),
      lists.map(cause.absent, function(why) return "not looked into: " .. text.safe(why) end) } }
end

-- The gravest first: "Gate: 1 fails, 2 holds".
local function title_of(rows)
  local parts = lists.map({ "fail", "uncountable", "undecided", "pass" }, function(state)
    local count = #of_state(rows, state)
    return count > 0 and ("%d %s"):format(count, MARKS[state]) or nil
  end)
  return #parts > 0 and "Gate: " .. table.concat(parts, ", ") or nil
end

--- The limits as a table.
---@param gate pmclua.Gate
---@return pmclua.Report
function M.blocks(gate)
  local rows = lists.map(gate.results, function(row)
    return { text.safe(row.text), text.safe(row.cell), MARKS[row.state], without_state(row),
      tones = { [3] = TONES[row.state] }, strong = TONES[row.state] and 3 }
  end)
  local columns = { { name = "limit" }, { name = "cell" }, { name = "" }, { name = "what was seen" } }
  return { result = gate.result, title = title_of(gate.results),
    notes = lists.joined { { #rows == 0 and NO_CELL or nil }, lists.map(gate.remarks or {}, text.safe) },
    blocks = lists.joined { { { title = {}, columns = columns, rows = rows, notes = {} } },
      lists.map(gate.causes or {}, cause_block) } }
end

-- ---- facts -----------------------------------------------------------------------------------------------

local FORMAT = 1                -- of the facts; changes with the meaning of any key

local ORDER = { "format", "state", "experiment", "started", "notes", "remarks", "host", "baselines", "limits",
  "limit", "cell", "unit", "observed", "allowed", "baseline", "ratio", "low", "high", "detectable", "runs",
  "spread", "assumed_spread", "jitter", "needed", "repetitions", "missing", "reason", "layouts",
  "odd_layout", "others", "doubts", "again", "causes", "sentences", "event", "parts", "function", "source",
  "line", "caller", "callee", "a", "b", "difference", "share", "path", "hostname", "cpu", "microcode",
  "os_kernel" }

local FIELDS = { "state", "cell", "unit", "observed", "allowed", "baseline", "ratio", "low", "high",
  "detectable", "runs", "spread", "jitter", "needed", "repetitions", "missing", "reason",
  "layouts" }

local function row_entry(row)
  local out = json.fields(row, FIELDS)
  out.limit, out.assumed_spread = row.text, row.is_assumed == true
  out.odd_layout, out.doubts = row.odd_layout or json.null, row.doubts
  out.again = row.again and json.fields(row.again, FIELDS) or json.null
  return out
end

local function cause_entry(cause)
  return { cell = cause.cell, limits = cause.limits, sentences = cause.sentences, absent = cause.absent,
    event = json.or_null(cause.event), unit = cause.unit, parts = lists.map(cause.parts, function(part)
      local entry = json.fields(part, { "source", "line", "caller", "callee", "calls", "a", "b", "difference",
        "low", "high", "share" })
      entry["function"] = part.name
      return entry
    end) }
end

local HOST = { "hostname", "cpu", "microcode", "os_kernel" }

local function run_entry(result)
  local header = result.header
  return { path = json.or_null(result.path), started = json.or_null(header.started),
    host = json.fields(header.host or {}, HOST), notes = json.object(lists.copy(header.notes or {})) }
end

--- The facts of a gate.
---@param gate pmclua.Gate
---@return pmclua.ReportFacts
function M.facts(gate)
  local out = run_entry(gate.result)
  out.format, out.state, out.experiment = FORMAT, gate.state, json.or_null(gate.result.header.name)
  out.baselines, out.limits = lists.map(gate.baselines, run_entry), lists.map(gate.results, row_entry)
  out.remarks = gate.remarks
  out.causes = lists.map(gate.causes or {}, cause_entry)
  return { order = ORDER, value = out }
end

return M
