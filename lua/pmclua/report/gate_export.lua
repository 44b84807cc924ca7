--- gate_export.lua: what limits conclude for programs: JSON, Markdown for a pull request, JUnit's XML.
--
-- Invariant: a row's state is never better here than in words: what is uncountable is an error in JUnit's sense,
-- what is undecided is skipped, with the reason, and only what holds has neither.

local escape = require "pmclua.report.markup"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local said = require("pmclua.report.gate").said
local text = require "pmclua.base.text"

local M = {}

M.FORMAT = 1               -- of the JSON object; changes with the meaning of any key

local ORDER = { "format", "state", "experiment", "started", "notes", "host", "baselines", "limits",
  "limit", "cell", "unit", "observed", "allowed", "baseline", "ratio", "low", "high", "detectable", "runs",
  "spread", "assumed_spread", "jitter", "needed", "repetitions", "missing", "reason", "path",
  "hostname", "cpu", "microcode", "os_kernel" }

local or_null = json.or_null

local NUMBERS = { "observed", "allowed", "baseline", "ratio", "low", "high", "detectable", "runs", "spread",
  "jitter", "needed", "repetitions", "missing" }

local function row_entry(row)
  local out = { state = row.state, limit = row.text, cell = row.cell, unit = row.unit,
    assumed_spread = row.is_assumed == true, reason = or_null(row.reason) }
  for _, name in ipairs(NUMBERS) do out[name] = or_null(row[name]) end
  return out
end

local HOST = { "hostname", "cpu", "microcode", "os_kernel" }

local function host_of(header)
  local out = json.object {}
  for _, name in ipairs(HOST) do out[name] = or_null((header.host or {})[name]) end
  return out
end

-- Which run it was: of the one that was checked, and of each baseline.
local function run_entry(result)
  local header = result.header
  return { path = or_null(result.path), started = or_null(header.started), host = host_of(header),
    notes = json.object(lists.copy(header.notes or {})) }
end

--- One JSON object.
---@param gate pmclua.Gate
---@return string
function M.json(gate)
  local out = run_entry(gate.result)
  out.format, out.state, out.experiment = M.FORMAT, gate.state, or_null(gate.result.header.name)
  out.baselines, out.limits = lists.map(gate.baselines, run_entry), lists.map(gate.results, row_entry)
  return json.encode(out, { order = ORDER }) .. "\n"
end

local function markdown(s) return escape.markdown(text.safe(s)) end

local MARKS = { pass = "holds", fail = "**fails**", undecided = "undecided", uncountable = "**not checked**" }

-- The state stands in a column of its own.
local function without_state(row) return (said(row):gsub("^%a[%a ]-: ", "")) end

--- A table in Markdown.
---@param gate pmclua.Gate
---@return string
function M.markdown(gate)
  local lines = { "| limit | cell | | what was seen |", "| :--- | :--- | :--- | :--- |" }
  for _, row in ipairs(gate.results) do
    lines[#lines + 1] = ("| %s | %s | %s | %s |"):format(markdown(row.text), markdown(row.cell),
      MARKS[row.state], escape.markdown(without_state(row)))
  end
  return table.concat(lines, "\n") .. "\n"
end

local ELEMENTS = { fail = "failure", uncountable = "error", undecided = "skipped" }

local function test_case(row, suite)
  local head = ('  <testcase classname="%s" name="%s"'):format(escape.xml(suite),
    escape.xml(("%s, %s"):format(row.text, row.cell)))
  local element = ELEMENTS[row.state]
  if not element then return head .. "/>" end
  return ('%s>\n    <%s message="%s"/>\n  </testcase>'):format(head, element, escape.xml(said(row)))
end

local function count(rows, state)
  return #lists.where(rows, function(row) return row.state == state end)
end

local function properties(header)
  local lines = lists.map(lists.keys(header.notes or {}), function(name)
    return ('    <property name="%s" value="%s"/>'):format(escape.xml(name), escape.xml(header.notes[name]))
  end)
  return #lines > 0 and ("  <properties>\n%s\n  </properties>\n"):format(table.concat(lines, "\n")) or ""
end

local NO_CELL = { state = "uncountable", text = "any limit", cell = "none",
  reason = "there is no cell to check" }

--- JUnit's XML: a test case for each limit in each cell.
---@param gate pmclua.Gate
---@return string
function M.junit(gate)
  local rows, header = gate.results, gate.result.header
  local suite = header.name or "pmclua"
  if #rows == 0 then rows = { NO_CELL } end
  local cases = lists.map(rows, function(row) return test_case(row, suite) end)
  return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="%s" tests="%d" failures="%d" errors="%d" '
    .. 'skipped="%d"%s>\n%s%s\n</testsuite>\n'):format(escape.xml(suite), #cases, count(rows, "fail"),
    count(rows, "uncountable"), count(rows, "undecided"),
    header.started and (' timestamp="%s"'):format(escape.xml((header.started:gsub("Z$", "")))) or "",
    properties(header), table.concat(cases, "\n"))
end

return M
