--- where: the code ledger as text, one renderer a format.

local terminal = require "pmclua.host.terminal"

local M = {}

-- Format to module, in the order of help texts.
local FORMATS = { "table", "json", "csv", "markdown", "html", "folded", "speedscope" }

-- The ledger, or one function of it.
local function report_of(code, options)
  if options.annotate then return require("pmclua.report.where.annotate").of(code, options) end
  return require("pmclua.report.where.tables").of(code, options)
end

local RENDERERS = {
  table = function(code, options)
    local report = report_of(code, options)
    return require("pmclua.report.table").render(code.result, terminal.resolve(options), { report = report })
  end,
  markdown = function(code, options)
    local report = report_of(code, options)
    return require("pmclua.report.markdown").render(code.result, nil, { report = report })
  end,
  json = function(code, options)
    local data = require "pmclua.report.where.data"
    if not options.annotate then return data.json(code, options.by) end
    return data.annotation(code, require("pmclua.report.where.annotate").row(code, options), options.sources)
  end,
  csv = function(code, options) return require("pmclua.report.where.data").csv(code, options.by) end,
  html = function(code, options) return require("pmclua.report.where.html").render(code, options) end,
  folded = function(code) return require("pmclua.report.where.stacks").folded(code) end,
  speedscope = function(code) return require("pmclua.report.where.stacks").speedscope(code) end,
}

--- Names of the formats.
---@return string[]
function M.formats() return { unpack(FORMATS) } end

---@class pmclua.WhereOptions: pmclua.ReportOptions
---@field format? string "table" by default
---@field by? pmclua.CodeBy
---@field most? integer lines that a table shows, 20 by default
---@field annotate? string a function: its source and instructions instead of the table
---@field sources? string[] folders below which sources may be, whoever names them

--- The code ledger as text.
---@param code pmclua.CodeResult
---@param options? pmclua.WhereOptions
---@return string ending in a newline
function M.render(code, options)
  options = options or {}
  local format = options.format or "table"
  if RENDERERS[format] then return RENDERERS[format](code, options) end
  require("pmclua.base.problem").no_format("there is no format '%s'", format, FORMATS)
end

return M
