--- report/: results as text, one renderer a format. The only place that says what a result looks like.

local text = require "pmclua.base.text"
local explain = require "pmclua.explain"
local terminal = require "pmclua.host.terminal"

local M = {}

-- Format to module, in the order of help texts.
local FORMATS = { "table", "json", "csv", "markdown", "html", "hyperfine", "benchmark" }

--- Names of the formats.
---@return string[]
function M.formats()
  local list = {}
  for i, format in ipairs(FORMATS) do list[i] = format end
  return list
end

local function renderer(format)
  for _, known in ipairs(FORMATS) do
    if known == format then return require("pmclua.report." .. format) end
  end
  error(explain.problem { code = "EFORMAT", operation = "report",
    message = ("there is no format '%s'"):format(text.safe(tostring(format))),
    hint = text.meant_or_all(format, FORMATS) }, 0)
end

--- Writes a result in pieces, so that a million repetitions need not be one text. Machine formats depend
--- neither on the terminal nor on the locale.
---@param result pmclua.Result
---@param put fun(piece: string) the last ends in a newline
---@param options? pmclua.ReportOptions
function M.write(result, put, options)
  local module = renderer(options and options.format or "table")
  if module.write then return module.write(result, put, options) end
  put(module.render(result, terminal.resolve(options), options))
end

--- A result as text.
---@param result pmclua.Result
---@param options? pmclua.ReportOptions
---@return string text ending in a newline
function M.render(result, options)
  local pieces = {}
  M.write(result, function(piece) pieces[#pieces + 1] = piece end, options)
  return table.concat(pieces)
end

--- A comparison as tables.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@param options? pmclua.ReportOptions
---@return string
function M.render_comparison(result, comparison, options)
  return require("pmclua.report.table").render_comparison(result, comparison, terminal.resolve(options))
end

return M
