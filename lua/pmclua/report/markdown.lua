--- markdown.lua: a result as Markdown tables, for issues and pull requests.
--
-- Invariant: names and reasons are text: what Markdown or HTML would act upon in them is escaped.

local lists = require "pmclua.base.lists"
local markup = require "pmclua.report.markup"
local tables = require "pmclua.report.tables"

local escape = markup.markdown

local M = {}

local function row_line(cells) return "| " .. table.concat(cells, " | ") .. " |" end

local function add_table(lines, shown)
  lines[#lines + 1] = row_line(lists.map(lists.column(shown.columns, "name"), escape))
  lines[#lines + 1] = row_line(lists.map(shown.columns, function(column)
    return (column.align or "left") == "left" and ":---" or "---:"
  end))
  for _, row in ipairs(shown.rows) do
    local cells = {}
    for k in ipairs(shown.columns) do
      local beyond = row.span and k > row.span
      cells[k] = beyond and "" or markup.indented(escape(row[k] or ""))
    end
    lines[#lines + 1] = row_line(cells)
  end
end

local function add_notes(lines, notes)
  if #notes == 0 then return end
  lines[#lines + 1] = ""
  for _, note in ipairs(notes) do lines[#lines + 1] = "- " .. escape(note) end
end

--- The result as Markdown.
---@param result pmclua.Result
---@param _ table what the terminal can show: of no concern here
---@param options? { report?: pmclua.Report } report: to show instead of the result's own
---@return string
function M.render(result, _, options)
  local report, lines = options and options.report or tables.of(result), {}
  if report.question then lines[1] = "## " .. escape(report.question) end
  for _, shown in ipairs(report.tables) do
    if #lines > 0 then lines[#lines + 1] = "" end
    lines[#lines + 1] = "**" .. escape(table.concat(shown.title, " · ")) .. "**"
    lines[#lines + 1] = ""
    add_table(lines, shown)
    add_notes(lines, shown.notes)
  end
  add_notes(lines, report.notes)
  return table.concat(lines, "\n") .. "\n"
end

return M
