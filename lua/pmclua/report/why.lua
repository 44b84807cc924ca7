--- why.lua: what a difference consists of, as tables for people and as JSON.
--
-- Invariant: the sentence is that of the ledgers; tables show the lines that explain something, and the others as one,
-- so that what is shown adds up.

local json = require "pmclua.base.json"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

-- ---- tables ----

local function interval(row, unit)
  if not row.low then return "–" end
  return number.interval(row.low, row.high, math.max(math.abs(row.low), math.abs(row.high)), unit)
end

local function verdict_of(row)
  if ledger.is_named(row) then return words.line_verdict(row, "ns"):upper() end
  return (row.verdict == "same" or row.verdict == "skewed") and row.verdict or ""
end

local function row_of(row, unit)
  return { text.safe(row.label), number.value(row.a, unit), number.value(row.b, unit),
    number.signed(row.difference, unit), interval(row, unit), row.share and number.percent(row.share) or "–",
    verdict_of(row),
    tones = { [7] = words.TONES[row.verdict] }, tone = row.rest and "dim" or nil }
end

-- Names that would make a column wider than its numbers are in the title.
local WIDEST = 12

local function side_names(why)
  local a, b = text.safe(why.a:label()), text.safe(why.b:label())
  if text.width(a) > WIDEST or text.width(b) > WIDEST then return "A", "B" end
  return a, b
end

local SHARE = 6                 -- the column

local function columns(why, what)
  local a, b = side_names(why)
  return { { name = what }, { name = a, align = "right" }, { name = b, align = "right" },
    { name = "difference", align = "right" }, { name = "interval", align = "right", drop = 3 },
    { name = "share", align = "right" }, { name = "verdict", drop = 2 } }
end

local function is_shown(row)
  return not row.trifle and (ledger.is_named(row) or row.verdict == "skewed" or row.rest)
end

-- A ledger's rows that are shown, without the total: those that are not are one, so that all add up.
local function shown_rows(judged, all)
  local shown, hidden, count = {}, {}, 0
  for _, row in ipairs(lists.joined { judged.lines, judged.rest }) do
    local is_there = all or is_shown(row)
    table.insert(is_there and shown or hidden, row)
    if not is_there then count = count + (row.key == "others" and judged.few or 1) end
  end
  if #hidden > 0 then
    shown[#shown + 1] = ledger.joined(judged, hidden, text.plural(count, "other line"))
  end
  return shown, count
end

local function rows_of(judged, all)
  local shown, count = shown_rows(judged, all)
  shown[#shown + 1] = judged.total
  return lists.map(shown, function(row) return row_of(row, judged.unit) end), count
end

local function waterfall_of(why, all)
  local a, b = side_names(why)
  return require("pmclua.report.waterfall").of(why.ledger, shown_rows(why.ledger, all), a, b)
end

local function title_of(why)
  local pairs_said = why.paired and text.plural(why.n, "pair") .. ", interleaved, seed %s"
    or text.plural(why.n, "repetition") .. " of A%.0s"
  local form = side_names(why) == "A" and "B: %s against A: %s" or "%s against %s"
  return { form:format(text.safe(why.b:label()), text.safe(why.a:label())),
    pairs_said:format(tostring(why.result.header.seed)) }
end

local function time_table(why)
  local rows = rows_of(why.time, true)
  rows[#rows][1] = "duration"
  local notes = {}
  if why.others then
    notes[1] = ("its other threads and children had %s and %s of CPU time beside the first thread"):format(
      number.time(why.others.a), number.time(why.others.b))
  end
  return { title = title_of(why), columns = columns(why, "first thread"), rows = rows, notes = notes }
end

local function ledger_notes(judged, hidden)
  local notes = words.ledger_notes(judged)
  if hidden > 0 then
    local margin = judged.margin and ", or below the margin of " .. number.percent(judged.margin) or ""
    notes[#notes + 1] = ("other lines: not told from chance%s (--all shows them)"):format(margin)
  end
  return notes
end

-- "getppid 20 and 4,000": calls whose time no sample tells.
local function numbers_note(why)
  local differ = lists.where(why.numbers or {}, function(line)
    return math.abs(line.count.b - line.count.a) > why.margin * line.count.a
  end)
  if #differ == 0 then return nil end
  return "calls too few for samples, A and B: " .. text.list(lists.map(differ, function(line)
    return ("%s %s and %s"):format(text.safe(line.name), number.count(math.floor(line.count.a + 0.5)),
      number.count(math.floor(line.count.b + 0.5)))
  end))
end

local function ledger_table(why, all)
  local rows, hidden = rows_of(why.ledger, all)
  rows[#rows][1] = why.others and "duration and the CPU time of others" or "duration"
  local notes = ledger_notes(why.ledger, hidden)
  notes[#notes + 1] = numbers_note(why)
  return { title = { "what the time consists of" }, columns = columns(why, "line"), rows = rows,
    notes = notes }
end

local function waits_table(why, all)
  local waits = why.waits
  local shown = waits and lists.where(waits.lines, function(row) return all or is_shown(row) end) or {}
  if #shown == 0 then return nil end
  local without_share = columns(why, "call")
  table.remove(without_share, SHARE)
  return { title = { "what the first thread waited for" }, columns = without_share,
    rows = lists.map(shown, function(row)
      local cells = row_of(row, waits.unit)
      table.remove(cells, SHARE)
      cells.tones = { [SHARE] = words.TONES[row.verdict] }
      return cells
    end),
    notes = { "what others did meanwhile, through all that they waited for in turn" } }
end

local function cycles_table(why, all)
  local cycles = why.cycles
  if not cycles then return nil end
  local rows, hidden = rows_of(cycles, all)
  rows[#rows][1] = cycles.of
  return { title = { cycles.of .. " by node of the vendor's tree", text.plural(cycles.n, why.paired and "pair"
      or "repetition") }, columns = columns(why, "node"), rows = rows, notes = ledger_notes(cycles, hidden) }
end

local SAME = "other lines: as many in both (--all shows them)"

local function allocations_tables(why, all)
  return lists.map(why.allocations, function(heap)
    local rows, hidden = rows_of(heap, all)
    rows[#rows][1] = "all"
    local is_told = heap.exact and hidden > 0
    return { title = { text.safe(heap.of), "by the function that allocates" },
      columns = columns(why, "function"), rows = rows,
      notes = is_told and lists.append(ledger_notes(heap, 0), { SAME }) or ledger_notes(heap, hidden) }
  end)
end

local MOST_SUSPECTS = 8

local function suspects_table(why, all)
  if #why.suspects == 0 then return nil end
  local most = all and #why.suspects or math.min(#why.suspects, MOST_SUSPECTS)
  local rows = lists.map({ unpack(why.suspects, 1, most) }, function(suspect)
    return { text.safe(suspect.title), number.value(suspect.a, suspect.unit),
      number.value(suspect.b, suspect.unit), suspect.ratio and number.ratio(suspect.ratio) or "–",
      suspect.exact and "exact" or suspect.adjusted < 1e-4 and "< 0.0001"
        or ("%.4f"):format(suspect.adjusted) }
  end)
  local a, b = side_names(why)
  local notes = { "they come with the difference: causes, effects or neither. At most 5 % of them by chance" }
  if #rows < #why.suspects then notes[2] = ("%d more (--all shows them)"):format(#why.suspects - #rows) end
  return { title = { "suspects" }, rows = rows, notes = notes,
    columns = { { name = "event" }, { name = a, align = "right" }, { name = b, align = "right" },
      { name = "ratio", align = "right" },
      { name = "false discovery rate", align = "right", drop = 2 } } }
end

local function notes_of(why)
  return lists.map(why.absent, function(absent)
    return ("not measured: %s: %s"):format(absent.what, text.safe(absent.why))
  end)
end

--- How A's time becomes B's, a bar a line, as an SVG image.
---@param why pmclua.Why
---@param options pmclua.ReportOptions and `all`
---@return string
function M.drawing(why, options)
  if not why.time then
    require("pmclua.base.problem").misuse("there is no drawing: the time was not measured", 2)
  end
  return require("pmclua.report.waterfall").svg(waterfall_of(why, options.all))
end

--- A difference as blocks.
---@param why pmclua.Why
---@param options pmclua.ReportOptions and `all`: lines that explain nothing, too
---@return pmclua.Report
function M.blocks(why, options)
  local all = options.all
  local title = ("Why %s against %s"):format(why.b:label(), why.a:label())
  local bars = why.time
    and require("pmclua.report.waterfall").block(waterfall_of(why, all), "from A's time to B's")
  local of_time = why.time and { time_table(why), ledger_table(why, all), waits_table(why, all) } or {}
  return { title = title, sentence = why.sentence, notes = notes_of(why), result = why.result,
    blocks = lists.joined { bars and { bars } or {}, of_time, { cycles_table(why, all) },
      allocations_tables(why, all), { suspects_table(why, all) } } }
end

-- ---- JSON ----

local function plain_row(row)
  return { label = row.label, kind = row.line.kind or (row.rest and "rest") or "time", a = row.a, b = row.b,
    difference = row.difference, low = row.low, high = row.high, level = row.level, share = row.share,
    p_adjusted = row.adjusted, verdict = row.verdict, count = row.line.count }
end

local function plain_ledger(judged)
  if not judged then return json.null end
  local whole = plain_row(judged.total)
  whole.kind = nil
  return { unit = judged.unit, of = judged.of, lines = lists.map(judged.lines, plain_row),
    rest = lists.map(judged.rest, plain_row), total = whole, conclusion = judged.conclusion.kind }
end

local function plain_suspect(suspect)
  return { name = suspect.name, unit = suspect.unit, a = suspect.a, b = suspect.b, ratio = suspect.ratio,
    false_discovery_rate = suspect.adjusted, exact = suspect.exact or false }
end

local ORDER = { "format", "a", "b", "pairs", "paired", "seed", "sentence", "time", "ledger", "waits",
  "cycles", "allocations", "others_ns", "suspects", "absent", "unit", "of", "lines", "rest", "total",
  "conclusion", "name",
  "what", "why", "label", "kind", "difference", "low", "high", "level", "share", "p_adjusted",
  "verdict", "count" }

--- The facts of a difference.
---@param why pmclua.Why
---@return pmclua.ReportFacts
function M.facts(why)
  return { order = ORDER, value = { format = 1, a = why.a:label(), b = why.b:label(), pairs = why.n,
    paired = why.paired, seed = why.result.header.seed, sentence = why.sentence,
    time = plain_ledger(why.time), ledger = plain_ledger(why.ledger),
    waits = plain_ledger(why.waits), cycles = plain_ledger(why.cycles),
    allocations = lists.map(why.allocations, plain_ledger),
    others_ns = json.or_null(why.others), suspects = lists.map(why.suspects, plain_suspect),
    absent = why.absent } }
end

return M
