--- plot/init.lua: plots of results, drawn by gnuplot as SVG, PNG, or text for a terminal.
--
-- plot/charts.lua says what each kind shows, plot/calls.lua of followed calls, plot/stream.lua reads what `pmclua
-- monitor` writes, plot/gnuplot.lua draws.

local cells = require "pmclua.report.cells"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"

local M = {}

M.KINDS = { "distribution", "ecdf", "factor", "staircase", "scatter", "fit", "forest", "regression", "order",
  "histogram", "roofline", "scaling", "time" }

local WIDEST = 120              -- characters of text

---@class pmclua.PlotOptions
---@field kind? string of KINDS; the first that fits by default
---@field name? string event or metric, the primary one by default
---@field format? "text"|"svg"|"png"|"pdf"|"eps" text by default, or what `output` ends in
---@field over? string of scaling: the factor; by default the one with most levels
---@field weak? boolean of scaling: the work grows with the level
---@field output? string path: the picture is written there
---@field width? integer pixels, or characters of text
---@field height? integer

---@class pmclua.Plot prints as text
---@field kind string
---@field title string
---@field output string? where it was written
local Plot = require("pmclua.public.class").new("results", "plot", "output width height")

--- The picture.
---@param format? "text"|"svg"|"png"|"pdf"|"eps"
---@return string
function Plot:render(format)
  local draw = require("pmclua.report.plot.gnuplot").draw
  local size = { width = self.width, height = self.height }
  if format and format ~= "text" then return draw(self.chart, format, size) end
  size.width = size.width or math.min(WIDEST, terminal.resolve({ stream = 1 }).width)
  return terminal.spelled(draw(self.chart, "text", size), { stream = 1 })
end

--- Writes the picture: SVG, PNG or text by the end of the name; any other end is refused.
---@param path string
---@param format? "text"|"svg"|"png"|"pdf"|"eps" whatever the name
function Plot:write(path, format)
  require("pmclua.host.output").bytes(self:render(format or M.format_of(path)), path)
  self.output = path
end

function Plot:__tostring() return self.output and "written to " .. self.output or self:render "text" end

--- The format that a path asks for by its end; text where it has none. Raises for one that no plot has.
---@param path string
---@return string format
function M.format_of(path)
  local ending = path:match "%.(%a%w*)$"
  local format = not ending and "text" or require("pmclua.report").format_of(path, "plot")
  if format then return format end
  local message = "a plot is written as .svg, .png, .pdf, .eps or .txt, not as .%s, unless a format is given"
  explain.misuse(message:format(ending), 4)
end

--- A plot of a chart.
---@param kind string
---@param chart pmclua.Chart
---@param options pmclua.PlotOptions
---@return pmclua.Plot
function M.of_chart(kind, chart, options)
  local plot = setmetatable({ kind = kind, chart = chart, title = chart.title, width = options.width,
    height = options.height }, Plot)
  if options.output then plot:write(options.output, options.format) end
  return plot
end

-- ---- what is plotted -------------------------------------------------------------------------------------

local function check_kind(kind)
  if kind == nil or lists.contains(M.KINDS, kind) then return end
  explain.misuse(("there is no kind of plot '%s': %s"):format(text.safe(kind),
    text.meant_or_all(kind, M.KINDS)))
end

local function has_values(result, name) return #cells.with_values(result, name) > 0 end

-- The primary quantity, or the first that has values.
local function default_name(result)
  local names = lists.joined { { result.header.primary }, require("pmclua.report.tables").names(result) }
  return lists.find(names, function(name) return has_values(result, name) end) or names[1]
end

local function has_lines(result, name)
  return lists.any(result:list(), function(cell) return (cell:summary(name).fit or {}).intercept end)
end

local function most_levels(result)
  return math.max(0, unpack(lists.map(result.header.factors, function(factor) return #factor[2] end)))
end

local function default_kind(result, name)
  if lists.any(result:list(), function(cell) return cell.region end) then return "histogram" end
  if result.header.fit then return "fit" end
  if most_levels(result) > 2 then return "factor" end
  return has_lines(result, name) and "regression" or "distribution"
end

-- A chart of calls where some were followed and nothing else is asked for.
local function chart_of_calls(result, options)
  local is_asked = not options.kind or options.kind == "histogram"
  local several = is_asked and require("pmclua.report.tables").followed(result) or {}
  if #several == 0 then return nil end
  local whole = lists.where(result:list(), function(cell) return not cell.region end)
  local labels = lists.map(whole, function(cell) return cell:label() end)
  return require("pmclua.report.plot.calls").chart(several, labels, text.field(options.name or "duration"))
end

--- A plot of a result.
---@param result pmclua.Result
---@param options? pmclua.PlotOptions|string a kind, or options
---@return pmclua.Plot
function M.new(result, options)
  options = type(options) == "string" and { kind = options } or options or {}
  check_kind(options.kind)
  local of_calls = chart_of_calls(result, options)
  if of_calls then return M.of_chart("histogram", of_calls, options) end
  local name = options.name and text.field(options.name) or default_name(result)
  local kind = options.kind or default_kind(result, name)
  if kind == "time" then
    explain.misuse("a result is no time series: --kind time takes what `pmclua monitor --json` wrote", 3)
  end
  if kind == "roofline" then
    return M.of_chart(kind, require("pmclua.report.plot.roofline").chart { result }, options)
  end
  if kind == "scaling" then
    return M.of_chart(kind, require("pmclua.report.plot.scaling").chart(result, options), options)
  end
  if kind == "forest" then
    local chart = require("pmclua.report.plot.forest").chart(result, options.name and name)
    return M.of_chart(kind, chart, options)
  end
  return M.of_chart(kind, require("pmclua.report.plot.charts")[kind](result, name), options)
end

--- A plot of a result, or of files: stored results, or what `pmclua monitor --json` wrote (its counts over time).
---@param source pmclua.Result|string|string[] a result, a path, or paths
---@param options? pmclua.PlotOptions|string a kind, or options
---@return pmclua.Plot plot raises an error object where gnuplot is missing and the plot is written
function M.plot(source, options)
  if type(source) == "table" and getmetatable(source) then return M.new(source, options) end
  options = type(options) == "string" and { kind = options } or options or {}
  local stream, path = require "pmclua.report.plot.stream", source
  if type(source) == "table" and #source == 1 then path = source[1] end
  if options.kind == "roofline" and type(path) == "table" then
    -- Each by its own formulae: a program's rates come from other events than the roofs'.
    local results = lists.map(path, require("pmclua.result.files").load)
    return M.of_chart("roofline", require("pmclua.report.plot.roofline").chart(results), options)
  end
  local is_monitor = type(path) == "string" and stream.is_one(path)
  if not is_monitor then return M.new(require("pmclua.result.files").load(source), options) end
  check_kind(options.kind)
  if options.kind and options.kind ~= "time" then
    explain.misuse(("%s has only --kind time"):format(text.safe(path)), 2)
  end
  return M.of_chart("time", stream.chart(path, options), options)
end

--- Why the page of a result has no plots; nil where there is nothing to plot.
---@param result pmclua.Result
---@return string?
function M.missing_for_page(result)
  if not has_values(result, default_name(result)) then return nil end
  if require("pmclua.report.plot.gnuplot").program() then return "gnuplot could draw none of the plots" end
  return ("There are no plots: gnuplot is not installed (%s, or its like)"):format(
    require("pmclua.base.packages").install "gnuplot")
end

--- The plots of a result for its HTML page; none where gnuplot is missing.
---@param result pmclua.Result
---@return { title: string, svg: string }[]
function M.for_page(result)
  if not require("pmclua.report.plot.gnuplot").program() then return {} end
  local name = default_name(result)
  if not has_values(result, name) then return {} end
  local kinds = lists.joined { { result.header.fit and "fit" or most_levels(result) > 2 and "factor" or nil },
    { has_lines(result, name) and "regression" or nil }, { "distribution", "order" } }
  return lists.map(kinds, function(kind)
    local ok, plot = pcall(M.new, result, { kind = kind, name = name })
    if ok then plot.chart.untitled = true end
    local drawn, svg = pcall(ok and plot.render or error, plot, "svg")
    local title = result:cells()():summary(name).title
    return drawn and { title = ("%s: %s"):format(title, plot.chart.subtitle), svg = svg } or nil
  end)
end

return M
