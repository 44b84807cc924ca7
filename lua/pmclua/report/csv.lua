--- csv.lua: the records of a report as comma-separated values.
--
-- Invariant: one header and one shape of record (RFC 4180). Numbers are locale-free and exact; an absent one is an empty
-- field. No field begins as a formula of a spreadsheet, and none holds a control character.

local json = require "pmclua.base.json"
local pieces = require "pmclua.base.pieces"
local text = require "pmclua.base.text"

local M = {}

local function quoted(field, separator)
  field = text.safe(field)
  if field:find "^[=+@\t\r-]" then field = "'" .. field end
  if field:find '["\n\r]' or field:find(separator, 1, true) or field:find "^%s" or field:find "%s$" then
    return '"' .. field:gsub('"', '""') .. '"'
  end
  return field
end

local function field_of(value, separator)
  if value == nil or value == false then return "" end
  if type(value) == "number" or type(value) == "cdata" then return json.number(value) end
  return quoted(tostring(value), separator)
end

--- Values as fields, of which each may be absent.
---@param values table
---@param count integer
---@param separator string
---@return string
function M.joined(values, count, separator)
  local fields = {}
  for i = 1, count do fields[i] = field_of(values[i], separator) end
  return table.concat(fields, separator)
end

---@class pmclua.CsvLines
---@field pieces pmclua.Pieces
---@field separator string
---@field columns string[]
local Lines = {}
Lines.__index = Lines

--- Values as the beginning of a record, or a part of it.
---@param values table
---@param count integer
---@return string
function Lines:join(values, count) return M.joined(values, count, self.separator) end

--- Ends a record.
---@param line string the record, or what is missing of it
function Lines:add(line)
  self.pieces:add(line)
  self.pieces:add("\n")
end

--- Adds a record.
---@param values table by column, of which each may be absent
function Lines:put(values) self:add(self:join(values, #self.columns)) end

---@class pmclua.Records
---@field columns string[] names of the fields
---@field each fun(lines: pmclua.CsvLines) adds them all

--- Writes records, in pieces.
---@param records pmclua.Records
---@param put fun(piece: string)
---@param options { separator?: string } default ","
function M.write(records, put, options)
  local lines = setmetatable({ pieces = pieces.new(put), separator = options.separator or ",",
    columns = records.columns }, Lines)
  lines:put(records.columns)
  records.each(lines)
  lines.pieces:flush()
end

return M
