--- junit.lua: what limits conclude as JUnit's XML, which continuous integration shows as tests.
--
-- Invariant: what is uncountable is an error in JUnit's sense, what is undecided is skipped, with the reason, and only
-- what holds has neither.

local escape = require "pmclua.report.markup"
local lists = require "pmclua.base.lists"
local said = require("pmclua.report.gate").said

local M = {}

local ELEMENTS = { fail = "failure", uncountable = "error", undecided = "skipped" }

local function cause_text(row, causes)
  local lines = {}
  for _, cause in ipairs(causes or {}) do
    if cause.cell == row.cell and lists.contains(cause.limits, row.text) then
      lists.append(lines, cause.sentences)
      lists.append(lines, lists.map(cause.absent, function(why) return "not looked into: " .. why end))
    end
  end
  return escape.xml(table.concat(lines, "; "))
end

local function test_case(row, suite, causes)
  local head = ('  <testcase classname="%s" name="%s"'):format(escape.xml(suite),
    escape.xml(("%s, %s"):format(row.text, row.cell)))
  local element = ELEMENTS[row.state]
  if not element then return head .. "/>" end
  local cause = cause_text(row, causes)
  return ('%s>\n    <%s message="%s"%s\n  </testcase>'):format(head, element, escape.xml(said(row)),
    cause == "" and "/>" or (">%s</%s>"):format(cause, element))
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

--- Writes a test case for each limit in each cell.
---@param gate pmclua.Gate
---@param put fun(piece: string)
function M.write(gate, put)
  local rows, header = gate.results, gate.result.header
  local suite = header.name or "pmclua"
  if #rows == 0 then rows = { NO_CELL } end
  local cases = lists.map(rows, function(row) return test_case(row, suite, gate.causes) end)
  put(('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="%s" tests="%d" failures="%d" errors="%d" '
    .. 'skipped="%d"%s>\n%s%s\n</testsuite>\n'):format(escape.xml(suite), #cases, count(rows, "fail"),
    count(rows, "uncountable"), count(rows, "undecided"),
    header.started and (' timestamp="%s"'):format(escape.xml((header.started:gsub("Z$", "")))) or "",
    properties(header), table.concat(cases, "\n")))
end

return M
