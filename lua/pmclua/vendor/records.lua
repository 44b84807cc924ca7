--- records.lua: tables of events and metrics as one text, in which a name is found without reading the rest.
--
-- A line is a record: its kind (E or M), its key (the name in lower case), and its fields with tabs between
-- them. Metrics come first, sorted, then events. Nothing in it is run; a line that has other fields is
-- skipped.

local lists = require "pmclua.base.lists"
local new_table = require "table.new"
local safe = require("pmclua.base.text").safe

local M = {}

local FIELDS = {
  E = { "name", "pmu", "terms", "scale", "deprecated", "table", "description" },
  M = { "name", "pmu", "expression", "scale", "constraint", "threshold", "groups", "parent", "level",
    "children", "table", "description" },
}

-- Bytes of a field: Intel writes some formulae with every node of the tree in them.
local LONGEST = 1048576

local function clean(value)
  return (safe((tostring(value):sub(1, LONGEST):gsub("[%c]+", " "))):gsub("^ +", ""):gsub(" +$", ""))
end

local function line_of(kind, record)
  local parts = { kind .. record.name:lower() }
  for i, field in ipairs(FIELDS[kind]) do
    local value = record[field]
    parts[i + 1] = value and clean(value == true and "1" or value) or ""
  end
  return table.concat(parts, "\t")
end

local function is_name(value) return type(value) == "string" and value:find "^[%w_.:+-]+$" ~= nil end

local function lines_of(kind, records)
  local lines, seen = {}, {}
  for _, record in ipairs(records) do
    local line = is_name(record.name) and line_of(kind, record)
    if line and not seen[line] then lines[#lines + 1], seen[line] = line, true end
  end
  table.sort(lines)
  return lines
end

--- The text of tables.
---@param events table[]
---@param metrics table[]
---@return string
function M.pack(events, metrics)
  return ("\n%s\nevents\n%s\n"):format(table.concat(lines_of("M", metrics), "\n"),
    table.concat(lines_of("E", events), "\n"))
end

-- Control characters but tabs and newlines.
local CONTROLS = { "\127" }
for byte = 0, 31 do
  local character = string.char(byte)
  if not character:find "[\t\n]" then table.insert(CONTROLS, character) end
end

-- Each is looked for alone: 31 passes of memchr take a fortieth of the time that one of a pattern takes.
local function has_controls(text)
  return lists.any(CONTROLS, function(character) return text:find(character, 1, true) ~= nil end)
end

-- The record of a line without control characters.
local function clean_record(kind, line)
  local record, fields = new_table(0, #FIELDS[kind]), FIELDS[kind]
  local tab = line:find("\t", 1, true)
  for _, field in ipairs(fields) do
    if not tab then return nil end
    local stop = line:find("\t", tab + 1, true)
    local value = line:sub(tab + 1, (stop or 0) - 1)
    record[field], tab = value ~= "" and value or nil, stop
  end
  return not tab and is_name(record.name) and record or nil
end

local function record_of(kind, line) return not has_controls(line) and clean_record(kind, line) or nil end

-- Where metrics and events begin and end: places of the newlines before them.
local bounds = setmetatable({}, { __mode = "k" })

local function bounds_of(tables, kind)
  local known = bounds[tables]
  if not known then
    local events = tables.text:find("\nevents\n", 1, true) or #tables.text
    known = { M = { 1, events }, E = { events, #tables.text } }
    bounds[tables] = known
  end
  return known[kind][1], known[kind][2]
end

local FEW = 4096                  -- bytes that are searched from one end to the other

-- The place of the newline before the first line that begins so, by halves: lines are sorted.
local function place_of(text, head, from, to)
  while to - from > FEW do
    local start = text:find("\n", math.floor((from + to) / 2), true)
    if not start or start >= to then break end
    if text:sub(start, start + #head - 1) < head then from = start else to = start end
  end
  local place = text:sub(from, to + #head):find(head, 1, true)
  return place and from + place - 1
end

--- The records of a name, in any case.
---@param tables pmclua.vendor.Tables
---@param kind "E"|"M"
---@param name string
---@return table[]
function M.find(tables, kind, name)
  local text, head, records = tables.text, ("\n%s%s\t"):format(kind, name:lower()), {}
  local at = place_of(text, head, bounds_of(tables, kind))
  while at do
    local stop = text:find("\n", at + 1, true) or #text + 1
    records[#records + 1] = record_of(kind, text:sub(at + 1, stop - 1))
    at = text:find(head, stop, true) == stop and stop or nil
  end
  return records
end

--- Every record of a kind, in order; with a word those alone that have it anywhere, in any case.
---@param tables pmclua.vendor.Tables
---@param kind "E"|"M"
---@param word? string in lower case
---@return fun(): table?
function M.each(tables, kind, word)
  local text = tables.text:sub(bounds_of(tables, kind))
  local read = has_controls(text) and record_of or clean_record
  local at, head = 1, "\n" .. kind
  return function()
    local start = text:find(head, at, true)
    while start do
      at = text:find("\n", start + #head, true) or #text + 1
      local line = text:sub(start + #head, at - 1)
      local is_wanted = not word or line:lower():find(word, 1, true)
      local record = is_wanted and read(kind, line)
      if record then return record end
      start = text:find(head, at, true)
    end
  end
end

return M
