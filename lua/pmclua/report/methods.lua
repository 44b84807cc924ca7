--- methods.lua: how results, comparisons, gates, regions, monitors and experiments are shown: methods of their
--- classes, which stand in earlier rooms (public/class.lua). public/signatures/ says what each takes and returns.

local Result, Comparison, Gate, RegionResult, Monitor, Experiment = {}, {}, {}, {}, {}, {}
local CodeResult, Topdown, TopdownPlan, Why = {}, {}, {}, {}

function Result:report(options) return require("pmclua.report").render(self, options) end

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
function Result:how() return require("pmclua.report.provenance").render(self.header) end

function Comparison:report(options)
  return require("pmclua.report").render_comparison(self.result, self, options)
end

function Gate:summary() return require("pmclua.report.gate").render(self) end

function Gate:report(options)
  return require("pmclua.report.gate").report(self, options and options.format)
end

function Gate:write(path, format)
  format = format or path and require("pmclua.report.gate").format_of(path)
  require("pmclua.host.output").write(self:report { format = format }, path)
end

function RegionResult:report(options) return require("pmclua.report.regions").render(self, options) end
function RegionResult:calls_csv() return require("pmclua.report.regions_data").calls(self) end

function CodeResult:report(options) return require("pmclua.report.where").render(self, options) end

function CodeResult:write(path, options)
  require("pmclua.host.output").write(self:report(options), path)
end

function Monitor:lines(format, options)
  return require("pmclua.report.stream").lines(self, format or "table", options or {})
end

local TREE = { "table", "json", "csv", "markdown", "html" }

function Topdown:report(options)
  return require("pmclua.report.topdown").render(self, options or {}, TREE)
end

function Topdown:plot(options)
  local chart = require("pmclua.report.topdown_chart").of(self)
  return require("pmclua.report.plot").of_chart("topdown", chart, options or {})
end

function TopdownPlan:report(options)
  return require("pmclua.report.topdown_plan").render(self, options and options.run_seconds)
end

function Experiment:plan()
  return require("pmclua.report.plan").render(self.declaration, require("pmclua.experiment").planned(self))
end

function Why:report(options) return require("pmclua.report.why").render(self, options) end

return { result = Result, comparison = Comparison, gate = Gate, regions = RegionResult, monitor = Monitor,
  experiment = Experiment, where = CodeResult, topdown = Topdown, topdown_plan = TopdownPlan, why = Why }
