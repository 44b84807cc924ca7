--- table.lua: a result as tables on a terminal.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local grid = require "pmclua.report.grid"
local tables = require "pmclua.report.tables"

local M = {}

local CODES = { heading = "2", dim = "2", warn = "33", good = "32", bad = "31", title = "1" }

local function painter(colour)
  if not colour then return function(s) return s end end
  return function(s, tone)
    local code = tone and CODES[tone]
    return code and s:find "%S" and ("\27[%sm%s\27[0m"):format(code, s) or s
  end
end

-- Parts joined, broken between parts where a line is full.
local function title_lines(parts, width, separator)
  local lines, line = {}, nil
  for _, part in ipairs(parts) do
    local longer = line and line .. separator .. part or part
    if line and text.width(longer) > width - 2 then
      lines[#lines + 1] = line
      line = part
    else
      line = longer
    end
  end
  lines[#lines + 1] = line
  return text.hang(lines, width)
end

local function ascii_list(list) return lists.map(list, text.ascii) end

-- The same in ASCII, before anything is aligned, because some signs become two; without its column of shapes, which
-- a terminal without UTF-8 cannot show.
local function in_ascii(shown)
  local columns = {}
  local rows = lists.map(shown.rows, function(row)
    return { span = row.span, tone = row.tone, tones = {} }
  end)
  for k, column in ipairs(shown.columns) do
    if column.name ~= "shape" and not column.is_shape then
      local at = #columns + 1
      columns[at] = setmetatable({ name = text.ascii(column.name) }, { __index = column })
      for i, row in ipairs(shown.rows) do
        rows[i][at], rows[i].tones[at] = text.ascii(row[k] or ""), row.tones and row.tones[k]
      end
    end
  end
  return { title = ascii_list(shown.title), notes = ascii_list(shown.notes), columns = columns, rows = rows }
end

local function cut_ascii(s, width)
  return #s <= width and s or s:sub(1, width - 2) .. ".."
end

local function put_table(lines, shown, terminal, paint)
  if not terminal.utf8 then shown = in_ascii(shown) end
  local separator = terminal.utf8 and " · " or " - "
  lists.append(lines, lists.map(title_lines(shown.title, terminal.width, separator), function(line)
    return paint(line, "title")
  end))
  local cut = not terminal.utf8 and cut_ascii or nil
  lists.append(lines, grid.lines(shown, terminal.width, { paint = paint, cut = cut }))
  for _, note in ipairs(shown.notes) do lists.append(lines, text.hang({ note }, terminal.width)) end
end

local function put_notes(lines, notes, terminal)
  if #notes > 0 and #lines > 0 then lines[#lines + 1] = "" end
  for _, note in ipairs(terminal.utf8 and notes or ascii_list(notes)) do
    lists.append(lines, text.hang({ note }, terminal.width))
  end
end

-- A report laid out for a terminal.
local function lay_out(report, terminal)
  local lines, paint = {}, painter(terminal.colour)
  if report.question then
    local question = terminal.utf8 and report.question or text.ascii(report.question)
    lists.append(lines, text.wrap(question, terminal.width))
    lines[#lines + 1] = ""
  end
  for i, shown in ipairs(report.tables) do
    if i > 1 then lines[#lines + 1] = "" end
    put_table(lines, shown, terminal, paint)
  end
  put_notes(lines, report.notes, terminal)
  return table.concat(lines, "\n") .. "\n"
end

--- The result as text for people.
---@param result pmclua.Result
---@param terminal { width: integer, colour: boolean, utf8: boolean }
---@param options? { report?: pmclua.Report } report: to show instead of the result's own
---@return string
function M.render(result, terminal, options)
  return lay_out(options and options.report or tables.of(result), terminal)
end

--- A comparison as text for people.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@param terminal { width: integer, colour: boolean, utf8: boolean }
---@return string
function M.render_comparison(result, comparison, terminal)
  return lay_out(tables.of_comparison(result, comparison), terminal)
end

return M
