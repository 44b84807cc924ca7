--- gnuplot.lua: charts as pictures, drawn by the gnuplot program.
--
-- Invariant: what gnuplot is given are numbers, and texts in single quotes, in which it substitutes nothing
-- (double quotes would run what stands in backquotes) and which hold none themselves; no name is markup
-- ("noenhanced"), the user's own start-up file is not read, and nothing is left behind.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local read = require("pmclua.host.machine").text
local temporary = require "pmclua.host.temporary"
local text = require "pmclua.base.text"
local styles = require "pmclua.report.plot.styles"
local tool = require "pmclua.host.tools"

local M = {}

M.MOST_SERIES = styles.COLOURS

---@class pmclua.Chart
---@field title string
---@field subtitle string
---@field panels pmclua.ChartPanel[] below each other, or in columns
---@field columns? integer
---@field height? integer pixels
---@field untitled? boolean title and subtitle stand elsewhere
---@field lines? integer of text

---@class pmclua.ChartPanel
---@field title? string
---@field x pmclua.ChartAxis
---@field y pmclua.ChartAxis
---@field series pmclua.ChartSeries[]

---@class pmclua.ChartAxis
---@field label string
---@field log? boolean
---@field low? number
---@field high? number
---@field tics? { [1]: string, [2]: number }[] names of places, in place of numbers
---@field zero? boolean a line at 0
---@field down? boolean the tics are names at the left of their lines, the first at the top
---@field flush? boolean those names end at the axis; else they begin below each other
---@field named? boolean the tics are cells, of which each has to be told
---@field whole? boolean whole numbers: no marks between them

---@class pmclua.ChartSeries
---@field title? string none: not in the key
---@field style string "points", "lines", "steps"; "marks": points with intervals (x y low high), joined; "marked": not
---  joined; "across": of x; "mark_line": to compare with; "curve": a fitted one; "beyond": where it leaves the data;
---  boxes: x, lowest, lower quartile, median, upper quartile, highest; bars: middle, height, width;
---  rows: length, middle, thickness, low, high
---@field colour integer which of the colours, from 1
---@field data number[][]
---@field width? number of boxes, in x

local WIDTH, HEIGHT = 860, 520

local TERMINALS = {
  svg = "set terminal svg size %d,%d font 'sans-serif,13' noenhanced rounded background '#FFFFFF'",
  png = "set terminal pngcairo size %d,%d font 'sans,11' noenhanced rounded background '#FFFFFF'",
  text = "set terminal dumb size %d,%d noenhanced",
  pdf = "set terminal pdfcairo size %gin,%gin font 'sans,10' noenhanced rounded",
  eps = "set terminal epscairo size %gin,%gin font 'sans,10' noenhanced rounded",
}
local PER_INCH = { pdf = 120, eps = 120 }      -- pixels of the other formats

-- ---- texts and numbers -----------------------------------------------------------------------------------

local letter, number = styles.letter, styles.number
local LONGEST = 100
local MARGIN = 12               -- columns of a text beside its plot
local PIXELS = 9                -- of a character in a picture

local function quoted(s)
  return "'" .. text.cut(text.safe(s), LONGEST):gsub("'", "’") .. "'"
end

local function rows(data)
  return table.concat(lists.map(data, function(row)
    return table.concat(lists.map(row, number), " ")
  end), "\n")
end

-- ---- a chart as commands ---------------------------------------------------------------------------------

local function longest_of(tics)
  return math.max(0, unpack(lists.map(tics, function(tic) return text.width(tic[1]) end)))
end

-- Named places, thinned out so that no name overlaps its neighbour in this many columns.
local function apart(axis, columns)
  local function scaled(value) return axis.log and math.log(value) or value end
  local low, high = scaled(axis.low), scaled(axis.high)
  local tics, kept, ends = { unpack(axis.tics) }, {}, -math.huge
  table.sort(tics, function(a, b) return a[2] < b[2] end)
  for _, tic in ipairs(tics) do
    local middle = (scaled(tic[2]) - low) / (high - low) * (columns - MARGIN)
    local half = text.width(tic[1]) / 2
    local fits = middle - half > ends
    kept[#kept + 1] = { fits and tic[1] or "", tic[2] }
    if fits then ends = middle + half end
  end
  return kept
end

-- Whether cells on an axis get numbers, because their names do not fit into this many columns.
local function is_numbered(axis, columns)
  return axis.named and longest_of(axis.tics) * #axis.tics >= columns - MARGIN
end

local function shown_tics(axis, columns, is_text)
  if not columns or axis.named and not is_text then return axis.tics end
  if not is_numbered(axis, columns) then return apart(axis, columns) end
  local tics = {}
  for i, tic in ipairs(axis.tics) do tics[i] = { tostring(i), tic[2] } end
  return tics
end

local function tics_of(axis, largest, columns, is_text)
  if not axis.tics then return axis.whole and largest < 8 and "1" or "norotate autofreq" end
  local shown = shown_tics(axis, columns, is_text)
  local tics = lists.map(shown, function(tic)
    return ("%s %s"):format(quoted(text.cut(tic[1], 24)), number(tic[2]))
  end)
  local turned = axis.named and longest_of(shown) * #axis.tics > 80 and "rotate by -30 " or "norotate "
  return ("%s(%s)"):format(turned, table.concat(tics, ", "))
end

-- Names of lines are left-aligned, so that indentation shows; flush ones end at the axis, as in text.
local function names_at_left(axis, is_text)
  local longest = longest_of(axis.tics)
  local tics = lists.map(axis.tics, function(tic)
    return ("%s %s"):format(quoted(is_text and text.pad(tic[1], longest) or tic[1]), number(tic[2]))
  end)
  local side = (is_text or axis.flush) and "right nooffset" or ("left offset %d,0"):format(-longest)
  return ("%s norotate (%s)"):format(side, table.concat(tics, ", "))
end

-- `largest`: the span of the values; `columns`: how many characters there is room for.
local function add_axis(out, name, axis, largest, columns, is_text)
  local function add(form, ...) out[#out + 1] = form:format(...) end
  add("set %slabel %s", name, quoted(axis.label))
  add(axis.log and "set logscale %s" or "unset logscale %s", name)
  add("set format %s '%%g'", name)
  add("set %srange [%s:%s] noextend", name, axis.low and number(axis.low) or "*",
    axis.high and number(axis.high) or "*")
  local tics = axis.down and names_at_left(axis, is_text) or tics_of(axis, largest, columns, is_text)
  add("set %stics %s", name, tics)
  if axis.down then add("set lmargin %d", longest_of(axis.tics) + 5) end
  local across = name == "y" and "x" or "y"
  add(axis.zero and "set %szeroaxis lt -1 lc rgb '#888888'" or "unset %szeroaxis", across)
end

local function largest_y(panel)
  local most = 0
  for _, series in ipairs(panel.series) do
    for _, row in ipairs(series.data) do most = math.max(most, row[2] == row[2] and row[2] or 0) end
  end
  return most
end

local function plot_command(panel, number_of, format)
  local parts = {}
  for _, series in ipairs(panel.series) do
    local drawn = format == "text" and styles.TEXT or styles.PICTURE
    for layer, look in ipairs(drawn[series.style](series)) do
      local title = series.title and layer == 1 and "title " .. quoted(series.title) or "notitle"
      parts[#parts + 1] = ("$d%d %s %s"):format(number_of[series], look, title)
    end
  end
  return "plot " .. table.concat(parts, ", ")
end

local function add_data(out, chart)
  local number_of, count = {}, 0
  for _, panel in ipairs(chart.panels) do
    for _, series in ipairs(panel.series) do
      count = count + 1
      number_of[series] = count
      out[#out + 1] = ("$d%d << EOD\n%s\nEOD"):format(count, rows(series.data))
    end
  end
  return number_of
end

local function has_key(panel)
  return #lists.column(panel.series, "title") > 1
end

local function span(axis) return axis.low and axis.high and axis.high - axis.low or math.huge end

local MARGIN_SHARE = 0.04               -- of a plot

-- Room around the values where an axis has no ends of its own: a text plot hides what lies on an axis.
local function offsets_of(panel, lines)
  local x, y = panel.x, panel.y
  local function offset(limit, share) return limit and "0" or "graph " .. share end
  local line = math.max(MARGIN_SHARE, lines and 1 / math.max(2, lines - 5) or 0)
  return ("set offsets %s, %s, %s, %s"):format(offset(x.low, MARGIN_SHARE), offset(x.high, MARGIN_SHARE),
    offset(y.high, line), offset(y.low, line))
end

local function add_panel(out, chart, index, number_of, format, size)
  local panel, is_text = chart.panels[index], format == "text"
  -- A text's key is written below it: gnuplot's own cuts names on a narrow terminal.
  out[#out + 1] = has_key(panel) and not is_text and "set key tmargin center horizontal samplen 2"
    or "unset key"
  local title = panel.title and quoted(panel.title)
  if index == 1 and #chart.panels == 1 and not is_text and not chart.untitled then
    title = ('%s."\\n".%s'):format(quoted(chart.title), quoted(chart.subtitle))
  end
  out[#out + 1] = title and "set title " .. title or "unset title"
  out[#out + 1] = offsets_of(panel, is_text and size.height or nil)
  local columns = is_text and size.width or math.floor(size.width / (chart.columns or 1) / PIXELS)
  add_axis(out, "x", panel.x, span(panel.x), columns, is_text)
  add_axis(out, "y", panel.y, largest_y(panel), nil, is_text)
  out[#out + 1] = plot_command(panel, number_of, format)
end

local function multiplot(chart)
  local columns = chart.columns or 1
  local layout = ("set multiplot layout %d,%d"):format(math.ceil(#chart.panels / columns), columns)
  if chart.untitled then return layout end
  return ('%s title %s."\\n".%s'):format(layout, quoted(chart.title), quoted(chart.subtitle))
end

--- The gnuplot commands that draw a chart.
---@param chart pmclua.Chart
---@param format "svg"|"png"|"pdf"|"eps"|"text"
---@param output string path of the picture
---@param size { width: integer, height: integer } pixels, or characters
---@return string
function M.commands(chart, format, output, size)
  local panels, is_text, per_inch = #chart.panels, format == "text", PER_INCH[format] or 1
  size = { width = size.width, height = is_text and math.floor(size.height / panels) or size.height }
  local out = { TERMINALS[format]:format(size.width / per_inch, size.height / per_inch), "set encoding utf8",
    ("set output '%s'"):format(output:gsub("'", "''")), "set tics out nomirror", "set border 3",
    is_text and "unset grid; set errorbars 0" or "set grid lc rgb '#DDDDDD'",
    "set style fill solid 0.25 border" }
  local number_of = add_data(out, chart)
  local together = panels > 1 and not is_text
  if together then out[#out + 1] = multiplot(chart) end
  for index in ipairs(chart.panels) do add_panel(out, chart, index, number_of, format, size) end
  if together then out[#out + 1] = "unset multiplot" end
  out[#out + 1] = "set output"
  return table.concat(out, "\n") .. "\n"
end

-- ---- the program -----------------------------------------------------------------------------------------

--- The path of gnuplot; nil where it is not installed.
---@return string?
function M.program() return tool.find "gnuplot" end

local refuse = explain.raiser "plot"

--- The path of gnuplot; raises an error object where it is not installed.
---@return string
function M.need_program()
  return M.program() or refuse("ENOENT", "plots need gnuplot, which is not installed",
    require("pmclua.base.packages").install "gnuplot" .. ", or its like")
end

local LIMITS = { seconds = 300, errors = true }

-- gnuplot runs without the user's settings.
local function run(program, script)
  local output, trouble = tool.read(program, { "-d", script }, LIMITS)
  return trouble and trouble .. "\n" .. output or output
end

-- The characters of a text plot's first, second, … series.
local PENS = "*#$%@&="

local function key_entry(series, i)
  local is_line, pen = series.style == "lines" or series.style == "steps", (i - 1) % #PENS + 1
  return ("  %s %s"):format(is_line and PENS:sub(pen, pen):rep(3) or letter(series), text.safe(series.title))
end

local function key_lines(panel, width)
  local lines, line = {}, ""
  for i, series in ipairs(has_key(panel) and panel.series or {}) do
    local entry = series.title and key_entry(series, i) or ""
    if line ~= "" and text.width(line .. "  " .. entry) > width then
      lines[#lines + 1], line = line, ""
    end
    line = (line == "" or entry == "") and line .. entry or line .. "  " .. entry
  end
  if line ~= "" then lines[#lines + 1] = line end
  return lines
end

-- Texts that a character terminal has no place for, and no trailing blanks.
local function with_words(chart, drawn, width)
  local lines = { text.cut(chart.title, width), text.cut(chart.subtitle, width), "" }
  local panel = 0
  for picture in (drawn .. "\f"):gmatch "(.-)\f" do
    if picture:find "%S" then
      panel = panel + 1
      local shown = chart.panels[panel]
      lines[#lines + 1] = text.cut(text.safe(shown and shown.y.label or ""), width)
      for line in (picture:gsub("^%s*\n", ""):gsub("%s+$", "") .. "\n"):gmatch "(.-)\n" do
        lines[#lines + 1] = (line:gsub("%s+$", ""))
      end
      for _, key in ipairs(shown and key_lines(shown, width) or {}) do
        lines[#lines + 1] = text.cut(key, width)
      end
      for i, tic in ipairs(shown and is_numbered(shown.x, width) and shown.x.tics or {}) do
        lines[#lines + 1] = text.cut(("%4d  %s"):format(i, text.safe(tic[1])), width)
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Draws a chart.
---@param chart pmclua.Chart
---@param format "svg"|"png"|"pdf"|"eps"|"text"
---@param size? { width: integer?, height: integer? } pixels, or characters for text
---@return string picture raises an error object where gnuplot is missing or fails
function M.draw(chart, format, size)
  local program = M.need_program()
  local is_text, asked = format == "text", size or {}
  local down = is_text and #chart.panels or math.ceil(#chart.panels / (chart.columns or 1))
  local wide = math.max(1, (chart.columns or 1) / 2) ^ 0.7
  local whole = { width = asked.width or is_text and 80 or math.floor(WIDTH * wide),
    height = asked.height or is_text and (chart.lines or 22 * down)
      or chart.height or HEIGHT + 180 * (down - 1) }
  local folder = temporary.make "plot"
  local script, picture = folder .. "/script", folder .. "/picture"
  local commands = M.commands(chart, format, picture, whole)
  local written, problem = pcall(require("pmclua.host.output").bytes, commands, script)
  local output, drawn = written and run(program, script), read(picture)
  temporary.remove(folder)
  if not written then error(problem, 0) end
  if not drawn or drawn == "" then
    refuse("EPLOT", "gnuplot drew nothing: " .. text.safe((output:gsub("%s+", " "):sub(1, 300))))
  end
  return is_text and with_words(chart, drawn, whole.width) or drawn
end

return M
