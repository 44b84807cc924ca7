--- history.lua: values by commit as text, JSON, CSV and one HTML page with a chart for each workload and event.

local csv = require "pmclua.report.csv"
local grid = require "pmclua.report.grid"
local html = require "pmclua.report.html"
local escape = require("pmclua.report.markup").xml
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"

local M = {}

local FORMATS = { "table", "json", "csv", "html" }

local function difference(point)
  if not point.ratio then return "–" end
  return point.ratio == 1 and "=" or ("%+.2f %%"):format(100 * (point.ratio - 1))
end

local function note(point) return point.step and ("step %+.2f %%"):format(point.step) or "" end

local function title_of(series)
  return ("%s · %s"):format(text.safe(series.event), text.safe(series.workload))
end

-- ---- text ----------------------------------------------------------------------------------------------

local COLUMNS = { { name = "commit" }, { name = "value", align = "right" }, { name = "interval", align =
  "right", drop = 3 },
  { name = "difference", align = "right" }, { name = "note" }, { name = "subject", drop = 1 } }

local function rows_of(history, series)
  local commits = lists.by(history.commits, "name")
  return lists.map(series.points, function(point)
    return { point.commit, number.value(point.value, series.unit),
      point.low and number.interval(point.low, point.high, point.value, series.unit) or "–",
      difference(point),
      note(point), text.safe(commits[point.commit].subject or ""),
      tones = { [5] = point.step and (point.step > 0 and "bad" or "good") or nil } }
  end)
end

local function as_text(history, options)
  local width = require("pmclua.host.terminal").resolve(options).width
  local parts = lists.map(history.series, function(series)
    local lines = grid.lines({ columns = COLUMNS, rows = rows_of(history, series) }, width)
    return title_of(series) .. "\n" .. table.concat(lines, "\n")
  end)
  return table.concat(parts, "\n\n") .. "\n"
end

-- ---- JSON, CSV -----------------------------------------------------------------------------------------

local ORDER = { "format", "commits", "series", "workload", "event", "unit", "points", "commit", "value",
  "low", "high",
  "n", "ratio", "step", "name", "hash", "subject", "author", "date" }

local function as_json(history)
  return require("pmclua.base.json").encode({ format = 1, commits = history.commits,
    series = history.series },
    { order = ORDER }) .. "\n"
end

local FIELDS = { "commit", "hash", "date", "workload", "event", "unit", "value", "low", "high", "n",
  "ratio", "step" }

local function as_csv(history, options)
  local commits = lists.by(history.commits, "name")
  return csv.text(function(lines)
    local separator = options.separator or ","
    lines:add(csv.joined(FIELDS, #FIELDS, separator))
    for _, series in ipairs(history.series) do
      for _, point in ipairs(series.points) do
        local commit = commits[point.commit]
        local values = { commit = point.commit, hash = commit.hash, date = commit.date, workload =
        series.workload,
          event = series.event, unit = series.unit, value = point.value, low = point.low, high = point.high,
          n = point.n, ratio = point.ratio, step = point.step }
        local fields = {}
        for i, name in ipairs(FIELDS) do fields[i] = values[name] end
        lines:add(csv.joined(fields, #FIELDS, separator))
      end
    end
  end)
end

-- ---- HTML ----------------------------------------------------------------------------------------------

local WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 220, 84, 12, 14, 26

local STYLE = [[
svg { width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
svg text { fill: var(--quiet); } svg .line { fill: none; stroke: var(--good); stroke-width: 1.5; }
svg .band { fill: var(--good); opacity: .18; } svg .axis { stroke: var(--rule); }
svg .dot { fill: var(--good); } svg .more { stroke: var(--bad); fill: var(--bad); }
svg .less { stroke: var(--good); fill: var(--good); } svg .mark { stroke-dasharray: 4 3; stroke-width: 1; }
svg text.more, svg text.less { stroke: none; }
nav ul { columns: 18rem; padding-left: 1.2rem; } td.subject { max-width: 24rem; }
]]

-- Where points lie: from 5 % below the least to 5 % above the most.
local function scales(series)
  local low, high = math.huge, -math.huge
  for _, point in ipairs(series.points) do
    low, high = math.min(low, point.low or point.value), math.max(high, point.high or point.value)
  end
  local room = math.max((high - low) * 0.05, math.abs(high) * 0.005, 1e-9)
  low, high = low - room, high + room
  local n = math.max(1, #series.points - 1)
  return function(i) return LEFT + (WIDTH - LEFT - RIGHT) * (i - 1) / n end,
    function(value) return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low) end, low, high
end

local function path_of(points, x, y, field)
  local list = {}
  for i, point in ipairs(points) do list[i] = ("%.1f,%.1f"):format(x(i), y(point[field] or point.value)) end
  return list
end

-- Labels of steps in two rows, so that close ones can be read.
local function marks_of(series, x)
  local marks, count = {}, 0
  for i, point in ipairs(series.points) do
    if point.step then
      count = count + 1
      local class = point.step > 0 and "more" or "less"
      local anchor = x(i) > WIDTH - 140 and "end" or "start"
      marks[#marks + 1] = ('<line class="mark %s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>'):format(class,
      x(i), x(i), TOP,
        HEIGHT - BOTTOM)
      marks[#marks + 1] =
      ('<text class="%s" text-anchor="%s" x="%.1f" y="%d">%s %s</text>'):format(class, anchor,
        x(i) + (anchor == "end" and -4 or 4), TOP + 10 + 14 * (count % 3), escape(point.commit),
        escape(("%+.1f %%"):format(point.step)))
    end
  end
  return table.concat(marks)
end

local function chart(series)
  local x, y, low, high = scales(series)
  local points = series.points
  local upper, lower = path_of(points, x, y, "high"), path_of(points, x, y, "low")
  local band = {}
  for i = 1, #upper do band[i] = upper[i] end
  for i = #lower, 1, -1 do band[#band + 1] = lower[i] end
  local ticks = {}
  for i = 0, 2 do
    local value = low + (high - low) * i / 2
    ticks[#ticks + 1] = ('<line class="axis" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>'
      .. '<text text-anchor="end" x="%d" y="%.1f">%s</text>'):format(LEFT, WIDTH - RIGHT, y(value), y(value),
      LEFT - 6, y(value) + 4, escape(number.value(value, series.unit)))
  end
  local dots = #points <= 120 and table.concat(lists.map(path_of(points, x, y, "value"), function(place)
    return ('<circle class="dot" r="2.2" cx="%s" cy="%s"/>'):format(place:match "^(.-),(.*)$")
  end)) or ""
  local names =
  ('<text x="%d" y="%d">%s</text><text text-anchor="end" x="%d" y="%d">%s</text>'):format(LEFT, HEIGHT - 8,
    escape(points[1].commit), WIDTH - RIGHT, HEIGHT - 8, escape(points[#points].commit))
  return ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s<polygon class="band" points="%s"/>'
    .. '<polyline class="line" points="%s"/>%s%s%s</svg>'):format(WIDTH, HEIGHT, escape(title_of(series)),
    table.concat(ticks), table.concat(band, " "), table.concat(path_of(points, x, y, "value"), " "), dots,
    marks_of(series, x), names)
end

local function values_table(history, series, is_wanted)
  local rows = {}
  for i, row in ipairs(rows_of(history, series)) do
    if is_wanted(series.points[i]) then rows[#rows + 1] = row end
  end
  return #rows > 0 and html.table { title = {}, columns = COLUMNS, rows = rows, notes = {} } or ""
end

local function id_of(i) return ("series-%d"):format(i) end

local function section(history, series, i)
  return html.element("section", html.element("h2", escape(title_of(series)), ('id="%s"'):format(id_of(i)))
    .. html.element("figure", chart(series))
    .. values_table(history, series, function(point) return point.step ~= nil end)
    .. html.element("details", html.element("summary", escape(text.plural(#series.points, "commit")))
      .. values_table(history, series, function() return true end)))
end

local function contents(history)
  if #history.series < 2 then return "" end
  local items = {}
  for i, series in ipairs(history.series) do
    local count = #lists.where(series.points, function(point) return point.step ~= nil end)
    items[i] = html.element("li", ('<a href="#%s">%s</a>%s'):format(id_of(i), escape(title_of(series)),
      count > 0 and ": " .. text.plural(count, "step") or ""))
  end
  return html.element("nav", html.element("ul", table.concat(items)))
end

local function as_html(history)
  local first, last = history.commits[1], history.commits[#history.commits]
  local sections = {}
  for i, series in ipairs(history.series) do sections[i] = section(history, series, i) end
  local title = ("History of %s, %s … %s"):format(text.plural(#history.commits, "commit"), first.name,
  last.name)
  return html.page(title, html.element("h1", escape(title)) .. contents(history)
  .. table.concat(sections, "\n"), STYLE)
end

local RENDER = { table = as_text, json = as_json, csv = as_csv, html = as_html }

--- A history in a format.
---@param history pmclua.History
---@param options? pmclua.ReportOptions
---@return string
function M.render(history, options)
  options = options or {}
  local make = RENDER[options.format or "table"]
  if not make then
    local said = "a history has no format '%s'; there are %s"
    require("pmclua.explain").misuse(said:format(tostring(options.format), text.list(FORMATS)), 3)
  end
  return make(history, options)
end

return M
