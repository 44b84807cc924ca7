--- gate.lua (report): what limits conclude, in words: a line each where something is to be said.

local lists = require "pmclua.base.lists"
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

-- Several runs of the baseline, and how they differ.
local function runs(row)
  if not row.runs or row.runs < 2 then return "" end
  local spread = row.ratio and row.spread and row.spread > 0
  return (", in %d runs%s"):format(row.runs,
    spread and (" that differ by %s"):format(text.percent(row.spread)) or "")
end

-- What was seen: "5.21 ms, was 5.10 ms (+2.1 %, interval -1.2 % … +5.6 %)"; of an absolute limit what is allowed.
local function seen(row)
  local observed = text.value(row.observed, row.unit)
  if not row.baseline then return ("%s, allowed %s"):format(observed, text.value(row.allowed, row.unit)) end
  return ("%s, was %s%s%s"):format(observed, text.value(row.baseline, row.unit), runs(row), moved(row))
end

-- The smallest change that would have failed.
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

-- The cause without what needed what.
local function cause(row)
  return row.is_whole and text.safe(row.reason) or words.brief((row.reason:gsub("^needs .-: ", "")))
end

--- What a row says after its limit and cell.
---@param row pmclua.GateRow
---@return string
function M.said(row)
  if row.state == "uncountable" then return "cannot be checked: " .. cause(row) end
  if row.state == "undecided" then return "undecided: " .. seen(row) .. jitter(row) .. blind(row) end
  return (row.state == "fail" and "fails: " or "holds: ") .. seen(row) .. jitter(row)
end

local function line_of(row)
  return ("'%s', %s: %s"):format(text.safe(row.text), text.safe(row.cell), M.said(row))
end

-- What a limit that holds was not seen to hold in.
local function unseen_line(row)
  return ("'%s', %s: %d of %d repetitions have no value"):format(text.safe(row.text),
    text.safe(row.cell), row.missing, row.repetitions)
end

-- What a limit that holds was not seen to be exact in.
local function jitter_line(row)
  return ("'%s', %s: its counts differ by %s from run to run, too little to cross the limit"):format(
    text.safe(row.text), text.safe(row.cell), apart(row))
end

-- Limits that cannot be checked for one reason in several cells are said once.
local function uncountable_lines(rows)
  local groups = lists.groups(rows, function(row) return row.text .. "\0" .. cause(row) end)
  return lists.map(groups, function(same)
    local where = #same > 1 and (" in %d cells"):format(#same) or ", " .. text.safe(same[1].cell)
    return ("'%s' cannot be checked%s: %s"):format(text.safe(same[1].text), where, cause(same[1]))
  end)
end

-- A row whose interval is that of one stored run and holds the noise within it alone.
local function is_within_one(row)
  local is_alone = row.runs == 1 and not row.paired and not row.jitter
  return is_alone and row.spread == nil and row.low ~= row.high
end

-- What intervals stand upon that was not measured.
local function assumption(rows)
  local within, spread = false, nil
  for _, row in ipairs(rows) do
    within = within or is_within_one(row)
    if row.is_assumed then spread = row.spread end
  end
  if not (within or spread) then return nil end
  local said = {}
  if spread then said[1] = "times are taken to, by " .. text.percent(spread) end
  if within then said[#said + 1] = "intervals of counts are of the noise within it" end
  return ("one run of the baseline does not show how runs differ: %s; several baseline files measure it, and "
    .. "--against needs none"):format(table.concat(said, ", "))
end

-- What Valgrind would count of that which could not be checked.
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

local function lacks_values(row) return (row.missing or 0) > 0 end

-- How many hold, where all do, or where some are undecided.
local function held_line(rows, held, is_all, is_undecided)
  if #rows == 0 then return "there is no cell to check" end
  if is_all then return held == 1 and "the limit holds" or ("all %d limits hold"):format(held) end
  return held > 0 and is_undecided and ("%d of %d hold"):format(held, #rows) or nil
end

--- What did not hold or is not decided, a line each; one line where all held. And where a value is missing.
---@param gate pmclua.Gate
---@return string without a newline at its end
function M.render(gate)
  local rows = gate.results
  local passed, undecided = of_state(rows, "pass"), of_state(rows, "undecided")
  local uncountable = of_state(rows, "uncountable")
  local lines = lists.joined { lists.map(of_state(rows, "fail"), line_of), lists.map(undecided, line_of),
    uncountable_lines(uncountable), { would_help(gate, uncountable) } }
  lines[#lines + 1] = held_line(rows, #passed, #lines == 0, #undecided > 0)
  lines = lists.joined { lines, lists.map(lists.where(passed, lacks_values), unseen_line),
    lists.map(lists.where(passed, function(row) return row.jitter end), jitter_line),
    { assumption(rows) }, lists.map(gate.remarks or {}, text.safe) }
  return terminal.spelled("gate: " .. table.concat(lines, "\ngate: "))
end

local FORMATS = { "text", "json", "markdown", "junit" }
local ENDINGS = { json = "json", md = "markdown", xml = "junit" }

--- Names of the formats of a gate.
---@return string[]
function M.formats() return { unpack(FORMATS) } end

--- The format that a file's name asks for.
---@param path string
---@return string
function M.format_of(path) return ENDINGS[path:match "%.(%w+)$" or ""] or "text" end

--- A gate in one of its formats.
---@param gate pmclua.Gate
---@param format? string default "text"
---@return string ending in a newline
function M.report(gate, format)
  if not format or format == "text" then return M.render(gate) .. "\n" end
  local export = require "pmclua.report.gate_export"
  local render = export[format]
  if render then return render(gate) end
  require("pmclua.base.problem").no_format("a gate has no format '%s'", format, FORMATS)
end

return M
