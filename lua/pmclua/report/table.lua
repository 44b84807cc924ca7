--- table.lua: a report as text on a terminal.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local grid = require "pmclua.report.grid"
local resolve = require("pmclua.host.terminal").resolve

local M = {}

local CODES = { heading = "2", dim = "2", warn = "33", good = "32", bad = "31", title = "1" }

local function painter(colour)
  if not colour then return function(s) return s end end
  return function(s, tone)
    local code = tone and CODES[tone]
    return code and s:find "%S" and ("\27[%sm%s\27[0m"):format(code, s) or s
  end
end

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
  return { title = ascii_list(shown.title), notes = ascii_list(shown.notes), columns = columns, rows = rows,
    indent = shown.indent }
end

local function cut_ascii(s, width)
  return #s <= width and s or s:sub(1, width - 2) .. ".."
end

local function put_grid(lines, shown, terminal, paint)
  local indent, cut = shown.indent or 0, not terminal.utf8 and cut_ascii or nil
  for _, line in ipairs(grid.lines(shown, terminal.width - indent, { paint = paint, cut = cut })) do
    lines[#lines + 1] = (" "):rep(indent) .. line
  end
end

local function put_block(lines, shown, terminal, paint)
  if not terminal.utf8 then shown = in_ascii(shown) end
  local separator = terminal.utf8 and " · " or " - "
  lists.append(lines, lists.map(title_lines(shown.title, terminal.width, separator), function(line)
    return paint(line, "title")
  end))
  if #shown.columns > 0 then put_grid(lines, shown, terminal, paint) end
  for _, note in ipairs(shown.notes) do lists.append(lines, text.hang({ note }, terminal.width)) end
end

local function put_texts(lines, texts, terminal, lay_out)
  if #texts > 0 and #lines > 0 then lines[#lines + 1] = "" end
  for _, line in ipairs(terminal.utf8 and texts or ascii_list(texts)) do
    lists.append(lines, lay_out(line, terminal.width))
  end
end

local function hung(note, width) return text.hang({ note }, width) end

--- Writes a report for people.
---@param report pmclua.Report
---@param put fun(piece: string)
---@param options pmclua.ReportOptions
function M.write(report, put, options)
  local terminal, lines = resolve(options), {}
  local paint = painter(terminal.colour)
  put_texts(lines, { report.question }, terminal, text.wrap)
  if report.question then lines[#lines + 1] = "" end
  for i, shown in ipairs(report.blocks) do
    if i > 1 and not shown.follows then lines[#lines + 1] = "" end
    put_block(lines, shown, terminal, paint)
  end
  put_texts(lines, report.notes, terminal, hung)
  put_texts(lines, { report.sentence }, terminal, text.wrap)
  put(table.concat(lines, "\n") .. "\n")
end

return M
