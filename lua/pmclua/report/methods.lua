--- methods.lua: how results, comparisons, gates, regions, monitors and experiments are shown: methods of their
--- classes, which stand in earlier rooms (public/class.lua). public/signatures/ says what each takes and returns.

local Result, Comparison, Gate, Regions, Monitor, Experiment = {}, {}, {}, {}, {}, {}
local Growth = {}
local CodeResult, Topdown, TopdownPlan, Why, History, Bisection = {}, {}, {}, {}, {}, {}

-- A method that gives a report of a kind as text.
local function reporter(kind)
  return function(self, options) return require("pmclua.report").render(self, options, kind) end
end

Result.report, Comparison.report, Gate.report = reporter "result", reporter "comparison", reporter "gate"
CodeResult.report = reporter "where"
Topdown.report, Why.report = reporter "topdown", reporter "why"
History.report, Bisection.report = reporter "history", reporter "bisection"

function Result:write(file, options)
  local ok, why = true, nil
  local put = io.type(file) and function(piece)
    if ok then ok, why = file:write(piece) end
  end or file
  require("pmclua.report").write(self, put, options)
  if not ok then return nil, why end
  return true
end

function Result:plot(options) return require("pmclua.report.plot").new(self, options) end
function Result:why(options) return require("pmclua.why").of(self, options) end
function Result:gate(options) return require("pmclua.why.gated").check_stored(self, options or {}) end
function Result:how() return require("pmclua.report.provenance").render(self.header) end

function Growth:sentence() return require("pmclua.report.growth").sentence(self) end

function Gate:summary() return (self:report { format = "text" }:gsub("\n$", "")) end

-- Writes a report to a file, whose ending gives the format by default. Each rank of a launch has its own file.
local function write(self, kind, path, options)
  local format = options.format or path and require("pmclua.report").format_of(path, kind)
  local shown = setmetatable({ format = format }, { __index = options })
  local output = require "pmclua.host.output"
  local to = output.place(path)
  if to then output.write(require("pmclua.report").render(self, shown, kind), to) end
end

function Gate:write(path, format) write(self, "gate", path, { format = format }) end
function History:write(path, options) write(self, "history", path, options or {}) end

Regions.report = reporter "calls"
function Regions:calls_csv() return self:report { format = "csv" } end

function CodeResult:write(path, options)
  local output, are_bytes = require "pmclua.host.output", options and options.format == "pprof"
  output[are_bytes and "bytes" or "write"](self:report(options), path)
end

function Monitor:lines(format, options)
  return require("pmclua.report.stream").lines(self, format or "table", options or {})
end

function Topdown:plot(options)
  local chart = require("pmclua.report.topdown_chart").of(self)
  return require("pmclua.report.plot").of_chart("topdown", chart, options or {})
end

function TopdownPlan:report(options)
  return require("pmclua.report.topdown_plan").render(self, options and options.run_seconds)
end

function Experiment:gate(result, options)
  return require("pmclua.why.gated").check(self, result, options)
end

function Experiment:plan()
  return require("pmclua.report.plan").render(self.declaration, require("pmclua.experiment").planned(self))
end

return { result = Result, comparison = Comparison, gate = Gate, regions = Regions, monitor = Monitor,
  experiment = Experiment, where = CodeResult, topdown = Topdown, topdown_plan = TopdownPlan, why = Why,
  growth = Growth, history = History, bisection = Bisection }
