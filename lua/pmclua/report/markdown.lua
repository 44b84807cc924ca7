--- markdown.lua: a report as Markdown, for issues and pull requests.
--
-- Invariant: names and reasons are text: what Markdown or HTML would act upon in them is escaped.

local lists = require "pmclua.base.lists"
local markup = require "pmclua.report.markup"

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
      local shown_text = beyond and "" or markup.indented(escape(row[k] or ""))
      cells[k] = row.strong == k and "**" .. shown_text .. "**" or shown_text
    end
    lines[#lines + 1] = row_line(cells)
  end
end

local function add_notes(lines, notes)
  if #notes == 0 then return end
  lines[#lines + 1] = ""
  for _, note in ipairs(notes) do lines[#lines + 1] = "- " .. escape(note) end
end

local function add_block(lines, shown)
  if #shown.title > 0 then
    if #lines > 0 then lines[#lines + 1] = "" end
    lines[#lines + 1] = "**" .. escape(table.concat(shown.title, " · ")) .. "**"
  end
  if #shown.columns > 0 then
    if #lines > 0 then lines[#lines + 1] = "" end
    add_table(lines, shown)
  end
  add_notes(lines, shown.notes)
end

--- Writes a report as Markdown.
---@param report pmclua.Report
---@param put fun(piece: string)
function M.write(report, put)
  local lines = {}
  if report.sentence then lines[1] = "**" .. escape(report.sentence) .. "**" end
  if report.question then lines[#lines + 1] = "## " .. escape(report.question) end
  -- Bars of characters lose their blanks here.
  for _, shown in ipairs(report.blocks) do
    if not shown.drawing then add_block(lines, shown) end
  end
  add_notes(lines, report.notes)
  put(table.concat(lines, "\n") .. "\n")
end

return M
