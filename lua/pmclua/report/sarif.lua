--- sarif.lua: what limits conclude as SARIF 2.1.0, which code hosts show beside the lines of a change.
--
-- A result stands at the first function of its cause. Paths are relative to the working directory, where they are below
-- it, as code hosts want them; a limit without a known line stands at the first line of the program.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local said = require("pmclua.report.gate").said
local text = require "pmclua.base.text"

local M = {}

local SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
local LEVELS = { fail = "error", undecided = "warning", uncountable = "warning" }

-- Bytes that an URI may have as they are.
local function uri_of(path)
  return (path:gsub("[^%w%-%._~/]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local function relative(path)
  local folder = require("pmclua.core").real_path "."
  local is_below = folder and path:sub(1, #folder + 1) == folder .. "/"
  return ((is_below and path:sub(#folder + 2) or path):gsub("^%./", ""))
end

local function location(path, line, message)
  local is_absolute = path:sub(1, 1) == "/"
  return { physicalLocation = { region = { startLine = line or 1 },
    artifactLocation = { uri = is_absolute and "file://" .. uri_of(path) or uri_of(path),
      uriBaseId = not is_absolute and "%SRCROOT%" or nil } },
    message = message and { text = text.safe(message) } or nil }
end

local function located(part) return part.source and part.line ~= nil end

-- The program of a workload of the result, as it was run; nil: it is no command.
local function program_of(gate, row)
  local how = gate.result.header.how
  for _, workload in ipairs(how and how.workloads or {}) do
    if workload.argv and row.cell:sub(1, #workload.workload) == workload.workload then
      return workload.argv[1]
    end
  end
end

-- The file is below the working directory: part of the change.
local function is_own(part)
  return located(part) and require("pmclua.core").stat(part.source) ~= nil
    and not relative(part.source):find "^/"
end

local function locations_of(gate, row, cause)
  local parts = cause and cause.parts or {}
  local part = lists.find(parts, is_own) or lists.find(parts, located)
  if part then return { location(relative(part.source), part.line, part.name) } end
  return { location(relative(program_of(gate, row) or "unknown")) }
end

local function result_of(gate, row)
  local cause = lists.find(gate.causes or {}, function(cause_of_row)
    return cause_of_row.cell == row.cell and lists.contains(cause_of_row.limits, row.text)
  end)
  local words = lists.joined { { ("%s, %s: %s"):format(row.text, row.cell, said(row)) },
    cause and cause.sentences or {} }
  local related = lists.where(cause and cause.parts or {}, is_own)
  return { ruleId = row.text, level = LEVELS[row.state], kind = "fail",
    message = { text = text.safe(table.concat(words, ". ")) }, locations = locations_of(gate, row, cause),
    relatedLocations = lists.map({ unpack(related, 2) }, function(part)
      return location(relative(part.source), part.line, part.name)
    end) }
end

local function rule_of(formula)
  return { id = formula, shortDescription = { text = text.safe("the limit " .. formula) } }
end

local ORDER = { "$schema", "version", "runs", "tool", "results", "driver", "name", "rules", "ruleId", "level",
  "kind", "message", "locations", "physicalLocation", "artifactLocation", "uri", "region" }

--- Writes a result for each limit that does not hold in a cell, and none for the others.
---@param gate pmclua.Gate
---@param put fun(piece: string)
function M.write(gate, put)
  local rows = lists.where(gate.results, function(row) return LEVELS[row.state] ~= nil end)
  local rules = lists.map(lists.unique(lists.column(gate.results, "text")), rule_of)
  json.write(put, { ["$schema"] = SCHEMA, version = "2.1.0", runs = { {
    tool = { driver = { name = "pmclua", version = require("pmclua.core").version, rules = rules } },
    results = lists.map(rows, function(row) return result_of(gate, row) end) } } }, { order = ORDER })
  put "\n"
end

return M
