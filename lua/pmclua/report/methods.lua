--- methods.lua: how results, comparisons, gates, regions, monitors and experiments are shown: methods of their
--- classes, which stand in earlier rooms (base/methods.lua).

local check_options = require("pmclua.base.arguments").options

local Result, Comparison, Gate, RegionResult, Monitor, Experiment = {}, {}, {}, {}, {}, {}
local CodeResult, Topdown, TopdownPlan, Why = {}, {}, {}, {}

local REPORT = { format = "string", width = "number", colour = "boolean", utf8 = "boolean",
  separator = "string", stream = "number", plots = "" }

--- The result as text.
---@param options? { format?: string, width?: integer, colour?: boolean, utf8?: boolean }
---@return string
function Result:report(options)
  check_options("report", options or {}, REPORT, 2)
  return require("pmclua.report").render(self, options)
end

--- Writes the result in pieces: a million repetitions as CSV need not be one text.
---@param file file*|fun(piece: string) an open file, or what takes each piece
---@param options? pmclua.ReportOptions format, width, colour, utf8, stream
---@return boolean? ok nil where the file could not be written
---@return string? why
function Result:write(file, options)
  check_options("write", options or {}, REPORT, 2)
  local ok, why = true, nil
  local put = type(file) == "function" and file or function(piece)
    if ok then ok, why = file:write(piece) end
  end
  require("pmclua.report").write(self, put, options)
  if not ok then return nil, why end
  return true
end

--- A plot of the result by gnuplot; prints as text.
---@param options? pmclua.PlotOptions|string a kind ("distribution", "ecdf", "factor", "regression", "order",
---  "histogram"), or kind, name, output (a path that ends in .svg, .png or .txt), format, width, height
---@return pmclua.Plot plot raises an error object where gnuplot is missing
function Result:plot(options) return require("pmclua.report.plot").new(self, options) end

--- What the difference between two of its cells consists of.
---@param options? { a?: string|table, b?: string|table } cells, as `where` takes them or "n=256"; nil: where
---  there are two, the baseline and the other
---@return pmclua.Why
function Result:why(options)
  check_options("why", options or {}, { a = "string|table", b = "string|table" }, 2)
  return require("pmclua.why").of(self, options)
end

--- How to make it again: script, sources, compiler and flags, programs, libraries, arguments.
---@return string
function Result:how() return require("pmclua.report.provenance").render(self.header) end

--- The comparison as tables.
---@param options? pmclua.ReportOptions
---@return string
function Comparison:report(options)
  return require("pmclua.report").render_comparison(self.result, self, options)
end

--- What did not hold or could not be decided, a line each; one line where all held.
---@return string
function Gate:summary() return require("pmclua.report.gate").render(self) end

--- The gate as text.
---@param options? { format: "text"|"json"|"markdown"|"junit"|nil }
---@return string ending in a newline
function Gate:report(options)
  return require("pmclua.report.gate").report(self, options and options.format)
end

--- Writes it.
---@param path? string nil or "-": standard output
---@param format? string by default what the path's ending asks for: .json, .md, .xml (JUnit), else text
function Gate:write(path, format)
  format = format or path and require("pmclua.report.gate").format_of(path)
  require("pmclua.report.output").write(self:report { format = format }, path)
end

--- The calls of regions as text.
---@param options? pmclua.ReportOptions format: "table", "json"; histogram: the name of an event
---@return string
function RegionResult:report(options) return require("pmclua.report.regions").render(self, options) end

--- The calls that were kept, one a line, as CSV with a header: of the first pass's events.
---@return string
function RegionResult:calls_csv() return require("pmclua.report.regions_data").calls(self) end

local WHERE = { format = "string", by = "string", most = "number", annotate = "string", sources = "table",
  width = "number", colour = "boolean", utf8 = "boolean" }

--- The code ledger as text.
---@param options? pmclua.WhereOptions format: "table", "json", "csv", "markdown", "html",
---  "folded", "speedscope"; by: "function" or "line"; most: lines that a table shows; annotate: a function, whose
---  source and instructions are shown beside their counts; sources: folders below which sources may be
---@return string
function CodeResult:report(options)
  check_options("report", options or {}, WHERE, 2)
  return require("pmclua.report.where").render(self, options)
end

--- Writes the code ledger.
---@param path? string nil or "-": standard output
---@param options? pmclua.WhereOptions
function CodeResult:write(path, options)
  require("pmclua.report.output").write(self:report(options), path)
end

--- The intervals as lines of text, until the end: a table for people, or a stream of CSV or JSON.
---@param format? "table"|"csv"|"json"
---@param options? { separator?: string, rates?: boolean, repeat_header?: boolean, utf8?: boolean }  rates: of
---   the table, counts per second; utf8: default: as the locale says
---@return fun(): string? lines each with its newline
function Monitor:lines(format, options)
  return require("pmclua.report.stream").lines(self, format or "table", options or {})
end

local TREE = { "table", "json", "csv", "markdown", "html" }

--- The tree as text.
---@param options? pmclua.ReportOptions format: "table", "json", "csv", "markdown" or "html"
---@return string
function Topdown:report(options)
  options = options or {}
  check_options("report", options, REPORT, 2)
  return require("pmclua.report.topdown").render(self, options, TREE)
end

--- The bars of the tree, drawn by gnuplot; prints as text.
---@param options? pmclua.PlotOptions output (a path that ends in .svg, .png or .txt), format, width, height
---@return pmclua.Plot plot raises an error object where gnuplot is missing
function Topdown:plot(options)
  local chart = require("pmclua.report.topdown_chart").of(self)
  return require("pmclua.report.plot").of_chart("topdown", chart, options or {})
end

--- The plan of a tree as a person reads it.
---@param options? { run_seconds?: number } how long a run takes, where that is known
---@return string
function TopdownPlan:report(options)
  options = options or {}
  check_options("report", options, { run_seconds = "number" }, 2)
  return require("pmclua.report.topdown_plan").render(self, options.run_seconds)
end

--- The plan as a person reads it.
---@return string
function Experiment:plan() return require("pmclua.report.plan").render(self.declaration, self:planned()) end

local WHY_REPORT = { format = "string", all = "boolean", width = "number", colour = "boolean",
  utf8 = "boolean", plots = "" }

--- The ledgers, the suspects and the sentence as text.
---@param options? { format?: string, all?: boolean, width?: integer, colour?: boolean, utf8?: boolean }
---  format: "table", "json", "markdown", "html"; all: lines that explain nothing, too
---@return string
function Why:report(options)
  check_options("report", options or {}, WHY_REPORT, 2)
  return require("pmclua.report.why").render(self, options)
end

return { ["pmclua.Result"] = Result, ["pmclua.Comparison"] = Comparison, ["pmclua.Gate"] = Gate,
  ["pmclua.RegionResult"] = RegionResult, ["pmclua.Monitor"] = Monitor, ["pmclua.Experiment"] = Experiment,
  ["pmclua.CodeResult"] = CodeResult, ["pmclua.Topdown"] = Topdown,
  ["pmclua.TopdownPlan"] = TopdownPlan, ["pmclua.Why"] = Why }
