--- records.lua: tables of events and metrics as one text, in which a name is found without reading the rest.
--
-- A line is a record: its kind (E or M), its key (the name in lower case), and its fields with tabs between them.
-- Metrics come first, sorted, then events. Nothing in it is run; a line that has other fields is skipped.

local M = {}

local FIELDS = {
  E = { "name", "pmu", "terms", "scale", "deprecated", "table", "description" },
  M = { "name", "pmu", "expression", "scale", "constraint", "threshold", "groups", "parent", "level",
    "children", "table", "description" },
}

local LONGEST = 65536             -- bytes of a field

local function clean(value)
  return (tostring(value):sub(1, LONGEST):gsub("[%c]+", " "):gsub("^ +", ""):gsub(" +$", ""))
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

local function record_of(kind, line)
  local record, fields, count = {}, FIELDS[kind], 0
  for value in line:gmatch "\t([^\t]*)" do
    count = count + 1
    if not fields[count] then return nil end
    record[fields[count]] = value ~= "" and value or nil
  end
  return count == #fields and is_name(record.name) and record or nil
end

--- The records of a name, in any case.
---@param text string
---@param kind "E"|"M"
---@param name string
---@return table[]
function M.find(text, kind, name)
  local head, found = ("\n%s%s\t"):format(kind, name:lower()), {}
  local at = text:find(head, 1, true)
  while at do
    local stop = text:find("\n", at + 1, true) or #text + 1
    found[#found + 1] = record_of(kind, text:sub(at + 1, stop - 1))
    at = text:find(head, stop, true) == stop and stop or nil
  end
  return found
end

--- Every record of a kind, in order.
---@param text string
---@param kind "E"|"M"
---@return fun(): table?
function M.each(text, kind)
  local events = text:find("\nevents\n", 1, true) or #text
  local lines = (kind == "M" and text:sub(1, events) or text:sub(events)):gmatch("\n" .. kind .. "([^\n]*)")
  return function()
    for line in lines do
      local record = record_of(kind, line)
      if record then return record end
    end
  end
end

return M
