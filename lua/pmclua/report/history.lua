--- history.lua: values by commit: a table and a chart for each workload and event; facts and records.

local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local svg = require "pmclua.report.svg"
local text = require "pmclua.base.text"

local M = {}

local function difference(point)
  if not point.ratio then return "–" end
  return point.ratio == 1 and "=" or ("%+.2f %%"):format(100 * (point.ratio - 1))
end

local function title_of(series)
  return ("%s · %s"):format(text.safe(series.event), text.safe(series.workload))
end

-- ---- tables --------------------------------------------------------------------------------------------

local COLUMNS = { { name = "commit" }, { name = "value", align = "right" },
  { name = "interval", align = "right", drop = 3 }, { name = "difference", align = "right" },
  { name = "note" }, { name = "subject", drop = 1 } }

local function row_of(point, commit, unit)
  return { point.commit, number.value(point.value, unit),
    point.low and number.interval(point.low, point.high, point.value, unit) or "–", difference(point),
    point.step and ("step %+.2f %%"):format(point.step) or "", text.safe(commit.subject or ""),
    tones = { [5] = point.step and (point.step > 0 and "bad" or "good") or nil } }
end

local MOST_ROWS = 40                    -- of a page's table; its chart has all values

local function telling(points)
  local list = {}
  for i, point in ipairs(points) do
    local is_shown = i == 1 or i == #points or point.step or points[i + 1].step
    if is_shown then list[#list + 1] = point end
  end
  return list
end

local function block_of(history, series, is_page)
  local commits, points, notes = lists.by(history.commits, "name"), series.points, {}
  if is_page and #points > MOST_ROWS then
    points = telling(points)
    notes[1] = ("%d of %d values: the ends, and both sides of each step; --format csv has all")
      :format(#points, #series.points)
  end
  return { title = { title_of(series) }, columns = COLUMNS, notes = notes, rows = lists.map(points,
    function(point) return row_of(point, commits[point.commit], series.unit) end) }
end

-- ---- charts --------------------------------------------------------------------------------------------

local WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 220, 84, 12, 14, 26
local MOST_DOTS = 120                   -- of more points the line alone is drawn

local function scales(points)
  local low, high = math.huge, -math.huge
  for _, point in ipairs(points) do
    low, high = math.min(low, point.low or point.value), math.max(high, point.high or point.value)
  end
  local room = math.max((high - low) * 0.05, math.abs(high) * 0.005, 1e-9)
  low, high = low - room, high + room
  local n = math.max(1, #points - 1)
  local function x(i) return LEFT + (WIDTH - LEFT - RIGHT) * (i - 1) / n end
  local function y(value) return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low) end
  return x, y, low, high
end

local function places_of(points, x, y, field)
  local list = {}
  for i, point in ipairs(points) do list[i] = ("%.1f,%.1f"):format(x(i), y(point[field] or point.value)) end
  return list
end

-- Labels of steps in three rows, so that close ones can be read.
local function marks_of(points, x)
  local marks = {}
  for i, point in ipairs(points) do
    if point.step then
      local class, is_right = point.step > 0 and "more" or "fewer", x(i) > WIDTH - 160
      marks[#marks + 1] = svg.line(class .. " mark", x(i), x(i), TOP, HEIGHT - BOTTOM)
        .. svg.text(class, is_right and "end" or "start", x(i) + (is_right and -4 or 4),
          TOP + 10 + 14 * (#marks % 3), ("%s %+.1f %%"):format(point.commit, point.step))
    end
  end
  return table.concat(marks)
end

local function axes_of(series, y, low, high)
  local parts = {}
  for i = 0, 2 do
    local value = low + (high - low) * i / 2
    parts[#parts + 1] = svg.line("axis", LEFT, WIDTH - RIGHT, y(value), y(value))
      .. svg.text("", "end", LEFT - 6, y(value) + 4, number.value(value, series.unit))
  end
  local points = series.points
  parts[#parts + 1] = svg.text("", "start", LEFT, HEIGHT - 8, points[1].commit)
    .. svg.text("", "end", WIDTH - RIGHT, HEIGHT - 8, points[#points].commit)
  return table.concat(parts)
end

local BAND = '<polygon class="band" points="%s"/><polyline points="%s"/>'

local function chart(series)
  local points = series.points
  local x, y, low, high = scales(points)
  local band, values = places_of(points, x, y, "high"), places_of(points, x, y, "value")
  local lower = places_of(points, x, y, "low")
  for i = #lower, 1, -1 do band[#band + 1] = lower[i] end
  local dots = lists.map(#points <= MOST_DOTS and values or {}, function(place)
    return ('<circle class="dot" r="2.2" cx="%s" cy="%s"/>'):format(place:match "^(.-),(.*)$")
  end)
  return svg.drawing(WIDTH, HEIGHT, axes_of(series, y, low, high)
    .. BAND:format(table.concat(band, " "), table.concat(values, " ")) .. table.concat(dots)
    .. marks_of(points, x))
end

-- ---- forms ---------------------------------------------------------------------------------------------

-- A line for each commit and reason.
local function notes_of(history)
  local groups = lists.groups(history.left_out or {}, function(part)
    return part.commit .. "\0" .. part.why
  end)
  return lists.map(groups, function(parts)
    local titles = text.list(lists.unique(lists.column(parts, "title")))
    return text.safe(("%s: %s left out: %s"):format(parts[1].commit, titles, parts[1].why))
  end)
end

--- A history as blocks.
---@param history pmclua.History
---@param options? pmclua.ReportOptions
---@return pmclua.Report
function M.blocks(history, options)
  local is_page = options and options.format == "html"
  local first, last = history.commits[1], history.commits[#history.commits]
  return { title = ("History of %s, %s … %s"):format(text.plural(#history.commits, "commit"), first.name,
      last.name), notes = notes_of(history),
    blocks = lists.map(history.series, function(series)
      return block_of(history, series, is_page)
    end),
    plots = function()
      return lists.map(history.series, function(series)
        return { title = title_of(series), svg = chart(series) }
      end)
    end }
end

local ORDER = { "format", "commits", "series", "workload", "event", "unit", "points", "commit", "value",
  "low", "high", "n", "ratio", "step", "name", "hash", "subject", "author", "date",
  "left_out", "title", "why" }

--- The facts of a history.
---@param history pmclua.History
---@return pmclua.ReportFacts
function M.facts(history)
  return { order = ORDER, value = { format = 1, commits = history.commits, series = history.series,
    left_out = history.left_out } }
end

--- A record for each value.
---@param history pmclua.History
---@return pmclua.Records
function M.records(history)
  local commits = lists.by(history.commits, "name")
  local columns = { "commit", "hash", "date", "workload", "event", "unit", "value", "low", "high", "n",
    "ratio", "step" }
  return { columns = columns, each = function(lines)
    for _, series in ipairs(history.series) do
      for _, point in ipairs(series.points) do
        local commit = commits[point.commit]
        lines:put { point.commit, commit.hash, commit.date, series.workload, series.event, series.unit,
          point.value, point.low, point.high, point.n, point.ratio, point.step }
      end
    end
  end }
end

return M
