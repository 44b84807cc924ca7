--- stream.lua: the intervals of a monitor as lines: a table for people, CSV, or a JSON object each.
--
-- Invariant: a machine's format has numbers that are locale-free, an absent one is an empty field or null
-- beside its status, and one header. Of a target that is divided, each interval has a line for all of it
-- ("all") and one for each part.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"

local M = {}

local ABSENT = "–"

local function each_line(sample, is_divided, f)
  f(is_divided and "all" or nil, sample)
  if not is_divided then return end
  for name, part in sample:parts() do f(name, part) end
end

local function is_divided(monitor) return monitor.target.by ~= nil end

-- ---- a table -------------------------------------------------------------------------------------------

local LEAST_WIDTH, HEADER_EVERY = 12, 25

-- Columns that have something to show: what cannot be counted here is said once, elsewhere.
local function shown_columns(monitor)
  local function is_absent(name) return ((monitor.by_field[name] or {}).event or {}).status end
  return lists.where(monitor.columns, function(column)
    local event, metric = column.event or {}, column.metric or { needs = {} }
    local is_known = not event.tool or event.tool == "wall_ns"
    return is_known and not event.status and not lists.any(metric.needs, is_absent)
  end)
end

local function is_rate(column, options)
  return options.rates and column.event and (column.unit == "" or column.unit == nil)
end

local function shown(sample, column, options)
  local read = is_rate(column, options) and sample.rate or sample.value
  local value = read(sample, column.field)
  if value == nil then return ABSENT end
  if column.unit == "" and math.abs(value) >= 1000 then value = math.floor(value + 0.5) end
  local value_text = text.value(value, column.unit)
  return sample:status(column.field) == "scaled" and text.approximate(value_text) or value_text
end

local function title_of(column, options)
  return text.safe(column.title) .. (is_rate(column, options) and "/s" or "")
end

local function header_line(columns, widths, divided, options)
  local cells = { text.pad("time", 10, "right") }
  if divided then cells[2] = text.pad("part", 16) end
  for i, column in ipairs(columns) do
    cells[#cells + 1] = text.pad(title_of(column, options), widths[i], "right")
  end
  return table.concat(cells, "  ") .. "\n"
end

local function table_line(sample, name, columns, widths, options)
  local cells = { text.pad(("%.3f s"):format(sample.time), 10, "right") }
  if name then cells[2] = text.pad(text.safe(tostring(name)), 16) end
  for i, column in ipairs(columns) do
    cells[#cells + 1] = text.pad(shown(sample, column, options), widths[i], "right")
  end
  local notes = ""
  if sample.missed > 0 then notes = ("  (%d missed)"):format(sample.missed) end
  if sample.partial then notes = notes .. ("  (%.3f s)"):format(sample.seconds) end
  return table.concat(cells, "  ") .. notes .. "\n"
end

local function table_lines(monitor, options, put_text)
  local columns, widths, divided = shown_columns(monitor), {}, is_divided(monitor)
  local function put(line) put_text(terminal.spelled(line, { utf8 = options.utf8 })) end
  for i, column in ipairs(columns) do
    widths[i] = math.max(LEAST_WIDTH, text.width(title_of(column, options)))
  end
  return function(sample)
    local is_turn = options.repeat_header and (sample.index - 1) % HEADER_EVERY == 0
    if sample.index == 1 or is_turn then put(header_line(columns, widths, divided, options)) end
    each_line(sample, divided, function(name, part)
      put(table_line(part, name, columns, widths, options))
    end)
  end
end

-- ---- CSV -----------------------------------------------------------------------------------------------

local function csv_header(monitor, divided)
  local fields = { "time_s", "seconds", "missed", divided and "part" or nil }
  for _, column in ipairs(monitor.columns) do
    lists.append(fields, { column.field, column.event and column.field .. "_status" or nil })
  end
  return fields, #fields
end

local function csv_fields(monitor, sample, name)
  local fields, count = { sample.time, sample.seconds, sample.missed, name }, name ~= nil and 4 or 3
  local function add(value) count, fields[count + 1] = count + 1, value end
  for _, column in ipairs(monitor.columns) do
    add((sample:value(column.field)))
    if column.event then add((sample:status(column.field))) end
  end
  return fields, count
end

local function csv_lines(monitor, options, put)
  local divided = is_divided(monitor)
  local function put_fields(fields, count)
    put(require("pmclua.report.csv").joined(fields, count, options.separator or ",") .. "\n")
  end
  put_fields(csv_header(monitor, divided))
  return function(sample)
    each_line(sample, divided, function(name, part) put_fields(csv_fields(monitor, part, name)) end)
  end
end

-- ---- JSON ----------------------------------------------------------------------------------------------

local ORDER = { "time_s", "seconds", "missed", "partial", "part", "events", "metrics", "value", "per_second",
  "unit", "status", "ran", "why" }

local or_null = json.or_null

-- Why something is never there is said in the first interval alone.
local function reason_for(sample, column)
  local is_constant = column.metric or column.event.status or column.event.tool
  if is_constant and sample.index > 1 then return nil end
  local _, why = sample:status(column.field)
  return why
end

local function json_value(sample, column)
  local value = sample:value(column.field)
  local status = sample:status(column.field)
  return { value = or_null(value), unit = column.unit ~= "" and column.unit or nil, status = status,
    per_second = column.event and not column.event.tool and or_null((sample:rate(column.field))) or nil,
    ran = status == "scaled" and sample:ran(column.field) or nil,
    why = value == nil and reason_for(sample, column) or nil }
end

local function json_line(monitor, sample, name)
  local events, metrics = {}, {}
  for _, column in ipairs(monitor.columns) do
    local group = column.metric and metrics or events
    group[column.field] = json_value(sample, column)
  end
  return json.encode({ time_s = sample.time, seconds = sample.seconds, missed = sample.missed,
    partial = sample.partial or nil, part = name, events = json.object(events),
    metrics = json.object(metrics) }, { order = ORDER }) .. "\n"
end

local function json_lines(monitor, _, put)
  local divided = is_divided(monitor)
  return function(sample)
    each_line(sample, divided, function(name, part) put(json_line(monitor, part, name)) end)
  end
end

local FORMATS = { table = table_lines, csv = csv_lines, json = json_lines }

--- The lines of a monitor, until its end.
---@param monitor pmclua.Monitor
---@param format "table"|"csv"|"json"
---@param options { separator?: string, rates?: boolean, repeat_header?: boolean, utf8?: boolean }
---@return fun(): string? lines each with its newline
function M.lines(monitor, format, options)
  local pending, first = {}, 1
  local function put(line) pending[#pending + 1] = line end
  if not FORMATS[format] then
    require("pmclua.explain").misuse(("a stream has the formats %s, not '%s'"):format(
      text.list(require("pmclua.report").formats "monitor", "and"), tostring(format)), 3)
  end
  local add = FORMATS[format](monitor, options, put)
  return function()
    while not pending[first] do
      pending, first = {}, 1
      local sample = monitor:next()
      if not sample then return nil end
      add(sample)
    end
    first = first + 1
    return pending[first - 1]
  end
end

return M
