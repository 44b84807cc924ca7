--- report/init.lua: what a result, a code ledger, a tree, the calls of regions, a gate look like.
--
-- A report is made once from its object, in forms: `blocks` (tables, texts and notes for people), `facts` (one value,
-- for JSON), `records` (lines of fields, for CSV). A format renders one form, whoever made it.
--
-- Invariant: a format is one file and its row in FORMATS; a kind of report is its modules and its row in KINDS. This is
-- the only list of formats: scripts, help and completion have it from here.

local lists = require "pmclua.base.lists"

local M = {}

-- Name, and the forms that it can render, in the order of help texts; `ending` of files, where it is not the name. The
-- module of that name has write(form, put, options). `words` and `drawing` are texts already; `screen`, `lines` and
-- `picture` are written by those who make them.
local FORMATS = {
  { "text", "words", "picture", ending = "txt" },
  { "table", "blocks", "screen", "lines" },
  { "json", "facts", "lines" },
  { "csv", "records", "lines" },
  { "markdown", "blocks", ending = "md" },
  { "html", "blocks" },
  { "latex", "blocks", ending = "tex" },
  { "hyperfine", "times" },
  { "benchmark", "times" },
  { "folded", "stacks" },
  { "speedscope", "stacks" },
  { "pprof", "stacks", ending = "pb" },
  { "openmetrics", "cells", ending = "om" },
  { "sarif", "checks" },
  { "junit", "checks", ending = "xml" },
  { "svg", "drawing", "picture" },
  { "png", "picture" },
  { "pdf", "picture" },
  { "eps", "picture" },
}

-- By kind of report, the module that makes each form; its function is called as the form, and takes the object and the
-- options. true: a format takes the object itself. `who` has no such format, in messages.
local KINDS = {
  result = { blocks = "tables", facts = "facts", records = "records", times = true,
    cells = true },
  over = { blocks = "over", facts = "over", records = "over", who = "a report over a factor" },
  scaling = { blocks = "scaling", facts = "scaling", records = "scaling", who = "a report on scaling" },
  comparison = { blocks = "compared", who = "a comparison" },
  where = { blocks = "where.tables", facts = "where.data", records = "where.data", stacks = "where.stacks" },
  topdown = { blocks = "topdown", facts = "topdown_data", records = "topdown_data", who = "a tree" },
  why = { blocks = "why", facts = "why", drawing = "why" },
  history = { blocks = "history", facts = "history", records = "history", who = "a history" },
  bisection = { words = "bisection", facts = "bisection", who = "a bisection" },
  calls = { blocks = "regions", facts = "regions_data", records = "regions_data",
    who = "a report of regions" },
  gate = { words = "gate", blocks = "gate", facts = "gate", checks = true, who = "a gate" },
  monitor = { lines = true },
  screen = { screen = true, facts = true },
  plot = { picture = true },
}

local own = {}                  -- formats of scripts: name to a function as `write` of a format

-- The form that a format renders of a kind; nil: none.
local function form_of(format, kind)
  return lists.find({ unpack(format, 2) }, function(form) return KINDS[kind][form] end)
end

local function form_named(name, kind)
  local format = lists.find(FORMATS, function(row) return row[1] == name end)
  return format and form_of(format, kind)
end

--- Names of the formats of a kind of report.
---@param kind? string "result" by default; "where", "topdown", "why", "gate", "monitor", "screen", "plot"
---@return string[]
function M.formats(kind)
  kind = kind or "result"
  if not KINDS[kind] then
    require("pmclua.base.problem").misuse(("there is no kind of report '%s'"):format(kind), 2)
  end
  local names = lists.map(FORMATS, function(format) return form_of(format, kind) and format[1] end)
  return kind == "result" and lists.joined { names, lists.keys(own) } or names
end

--- The format among some that a file's name asks for by its ending; nil: none.
---@param path string
---@param names string[]
---@return string?
function M.format_among(path, names)
  local ending = (path:match "%.(%a%w*)$" or ""):lower()
  local format = lists.find(FORMATS, function(row)
    return (row.ending or row[1]) == ending and lists.contains(names, row[1])
  end)
  return format and format[1]
end

--- The same among all formats of a kind of report.
---@param path string
---@param kind string
---@return string?
function M.format_of(path, kind) return M.format_among(path, M.formats(kind)) end

--- Adds a format of a script's own for results.
---@param name string
---@param write fun(result: pmclua.Result, put: fun(piece: string), options: table)
function M.add_format(name, write)
  local problem = not name:find "^%l[%w_-]*$" and "a name is a word in lower case, not '%s'"
    or form_named(name, "result") and "there is a format '%s' already"
  if problem then require("pmclua.base.problem").misuse("pmc.format: " .. problem:format(name), 2) end
  own[name] = write
end

local function refuse(kind, format)
  local who = KINDS[kind].who
  local message = who and who .. " has no format '%s'" or "there is no format '%s'"
  require("pmclua.base.problem").no_format(message, format, M.formats(kind))
end

--- Writes a report in pieces, so that a million repetitions need not be one text. Machine formats depend neither on
--- the terminal nor on the locale.
---@param object any what is reported
---@param put fun(piece: string) the last ends in a newline
---@param options? pmclua.ReportOptions
---@param kind? string "result" by default
function M.write(object, put, options, kind)
  options = options or {}
  kind = kind or "result"
  if kind == "result" then kind = options.over and "over" or options.scaling and "scaling" or kind end
  local name = options.format or M.formats(kind)[1]
  local form = form_named(name, kind)
  if not form and kind == "result" and own[name] then return own[name](object, put, options) end
  if not form then return refuse(kind, name) end
  local maker, is_text = KINDS[kind][form], form == "words" or form == "drawing"
  local writer = not is_text and require("pmclua.report." .. name)
  local made = maker == true and object
    or require("pmclua.report." .. maker)[form](object, options, writer and writer.ROWS)
  if is_text then put(made) else writer.write(made, put, options) end
end

--- A report as text.
---@param object any
---@param options? pmclua.ReportOptions
---@param kind? string "result" by default
---@return string text ending in a newline
function M.render(object, options, kind)
  return require("pmclua.base.pieces").joined(function(put) M.write(object, put, options, kind) end)
end

return M
