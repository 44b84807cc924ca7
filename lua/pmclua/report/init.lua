--- report/: results as text, one renderer a format. The only place that says what a result looks like.

local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"

local M = {}

-- Format to module, in the order of help texts.
local FORMATS = { "table", "json", "csv", "markdown", "html", "hyperfine", "benchmark" }

local own = {}                  -- formats of scripts: name to a renderer

--- Adds a format of a script's own.
---@param name string
---@param write fun(result: pmclua.Result, put: fun(piece: string), options: table)
function M.add_format(name, write)
  local problem = not name:find "^%l[%w_-]*$" and "a name is a word in lower case, not '%s'"
    or lists.contains(FORMATS, name) and "there is a format '%s' already"
  if problem then require("pmclua.base.problem").misuse("pmc.format: " .. problem:format(name), 2) end
  own[name] = { write = function(result, put, options) write(result, put, options or {}) end }
end

--- Names of the formats.
---@return string[]
function M.formats() return lists.joined { FORMATS, lists.keys(own) } end

local function renderer(format)
  if own[format] then return own[format] end
  if lists.set(FORMATS)[format] then return require("pmclua.report." .. format) end
  require("pmclua.base.problem").no_format("there is no format '%s'", format, M.formats())
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
  return require("pmclua.base.pieces").joined(function(put) M.write(result, put, options) end)
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
