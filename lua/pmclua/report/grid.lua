--- grid.lua: rows of texts in aligned columns.
--
-- Invariant: no line is wider than asked for, unless the columns that must stay need it even with
-- their first one cut.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local NARROWEST_NAME = 12

---@class pmclua.GridColumn
---@field name string
---@field align? "left"|"right"|"point" default left; "point": decimal points under each other
---@field gap? integer spaces before it, default 2
---@field whole? boolean its heading is not cut
---@field least? integer columns that it takes where there is room
---@field drop? number where there is no room, columns go in this order: below 2 before long names are cut,
---  others after that; nil: it stays

--- Texts by column; `span` and what follows it is one text to the end of the line.
---@class pmclua.GridRow
---@field span? integer

-- Pads numbers behind, so that right alignment puts their points under each other.
local function align_points(rows, k)
  local longest = 0
  local function tail(cell) return #(cell:match "^[~%-%d,]*(%.%d*)" or "") end
  local numbers = lists.where(rows, function(row) return (row[k] or ""):find "^[~%-%d,.]+$" end)
  for _, row in ipairs(numbers) do longest = math.max(longest, tail(row[k])) end
  for _, row in ipairs(numbers) do
    local is_within = row.span and row.span <= k
    if not is_within then row[k] = row[k] .. (" "):rep(longest - tail(row[k])) end
  end
end

local function align_all(grid)
  local rows = lists.map(grid.rows, lists.copy)
  for k, column in ipairs(grid.columns) do
    if column.align == "point" then align_points(rows, k) end
  end
  return rows
end

local function widths_of(columns, rows)
  local widths = {}
  for k, column in ipairs(columns) do
    widths[k] = math.max(text.width(column.name), column.least or 0)
    for _, row in ipairs(rows) do
      if not (row.span and k >= row.span) then widths[k] = math.max(widths[k], text.width(row[k] or "")) end
    end
  end
  return widths
end

local function width_until(columns, widths, shown, last)
  local total, first = 0, true
  for k = 1, last do
    if shown[k] then
      total = total + widths[k] + (first and 0 or columns[k].gap or 2)
      first = false
    end
  end
  return total
end

-- The columns that go next: all of one order go together.
local function next_to_drop(columns, shown)
  local order
  for k, column in ipairs(columns) do
    if shown[k] and column.drop then order = math.min(order or column.drop, column.drop) end
  end
  return order
end

local function column_rows(rows, k)
  return lists.map(rows, function(row) return { not (row.span and k >= row.span) and row[k] or "" } end)
end

local function give_back(columns, rows, widths, too_wide)
  for k, column in ipairs(columns) do
    if too_wide() > 0 and column.least then
      widths[k] = widths_of({ { name = column.name } }, column_rows(rows, k))[1]
    end
  end
end

-- Cuts headings that are longer than what stands under them, the widest first, while that is needed.
local function cut_headings(columns, rows, widths, too_wide)
  local enough = {}
  for k = 2, #columns do
    local texts = widths_of({ { name = "" } }, column_rows(rows, k))[1]
    enough[k] = math.max(texts, math.min(columns[k].whole and math.huge or NARROWEST_NAME, widths[k]))
  end
  while too_wide() > 0 do
    local widest
    for k = 2, #columns do
      if widths[k] > enough[k] and widths[k] > (widths[widest] or 0) then widest = k end
    end
    if not widest then return end
    widths[widest] = widths[widest] - 1
  end
end

-- Gives up, in turn, while that is needed: room beyond the texts, the end of long headings, the columns that
-- go first, the end of long names, the other columns that may go.
local function fit(columns, rows, width)
  local shown, widths = {}, widths_of(columns, rows)
  for k in ipairs(columns) do shown[k] = true end
  local shortest_name = math.min(NARROWEST_NAME, widths[1])
  local function too_wide() return width_until(columns, widths, shown, #columns) - width end
  give_back(columns, rows, widths, too_wide)
  cut_headings(columns, rows, widths, too_wide)
  local order = next_to_drop(columns, shown)
  while order and too_wide() > (order < 2 and 0 or widths[1] - shortest_name) do
    for k, column in ipairs(columns) do shown[k] = shown[k] and column.drop ~= order end
    order = next_to_drop(columns, shown)
  end
  widths[1] = math.max(shortest_name, widths[1] - math.max(0, too_wide()))
  return shown, widths
end

local function spanned(row, columns, layout)
  local own = layout.shown[row.span] and layout.widths[row.span] or 0
  local used = width_until(columns, layout.widths, layout.shown, row.span) - own
  return layout.cut(row[row.span], math.max(NARROWEST_NAME, layout.width - used))
end

local function padded(cell, column, width, cut)
  local is_right = column.align and column.align ~= "left"
  return text.pad(cut(cell or "", width), width, is_right and "right" or "left")
end

local function line_of(row, columns, layout)
  local parts = {}
  for k, column in ipairs(columns) do
    if layout.shown[k] and not (row.span and k > row.span) then
      local cell = row.span == k and spanned(row, columns, layout)
        or padded(row[k], column, layout.widths[k], layout.cut)
      local gap = #parts == 0 and "" or (" "):rep(column.gap or 2)
      parts[#parts + 1] = gap .. layout.paint(cell, row.tones and row.tones[k] or row.tone)
    end
  end
  return (table.concat(parts):gsub("%s+$", ""))
end

local function headings(columns)
  local row = lists.column(columns, "name")
  row.tone = "heading"
  return row
end

---@class pmclua.GridOptions
---@field paint? fun(text: string, tone: string?): string colours a cell
---@field cut? fun(text: string, width: integer): string shortens one

-- A text to the end of the line begins at the next column where its own is gone.
local function move_spans(rows, columns, shown)
  for _, row in ipairs(rows) do
    while row.span and not shown[row.span] and row.span < #columns do
      row[row.span + 1], row.span = row[row.span], row.span + 1
    end
  end
end

local function common_bytes(names)
  for count = 1, #(names[1] or "") do
    local byte = names[1]:byte(count)
    if lists.any(names, function(name) return name:byte(count) ~= byte end) then return count - 1 end
  end
  return #(names[1] or "")
end

local LEAD = 3                    -- bytes that are shown before where names differ

-- Ways of shortening names, the one that reads best first: each takes what is common to all that it leaves alike.
local CUTS = {
  function(name, width, cut) return cut(name, width) end,
  function(name, width) return text.cut_middle(name, width) end,
  function(name, width, cut, common)
    local from = math.max(1, common + 1 - LEAD)
    return from > 1 and cut("…" .. name:sub(from):gsub("^[\128-\191]+", ""), width) or cut(name, width)
  end,
}

-- Cuts the names of rows; those that would read alike are cut in the next way.
local function cut_rows(rows, width, options, way)
  local cut, alike = options.cut or text.cut, {}
  local common = common_bytes(lists.column(rows, 1))
  for _, row in ipairs(rows) do
    local short = CUTS[way](row[1], options.cut and width - 1 or width, cut, common)
    short = options.cut and short:gsub("…", "..") or short
    alike[short] = alike[short] or {}
    table.insert(alike[short], row)
  end
  for short, same in pairs(alike) do
    local differ = lists.any(same, function(row) return row[1] ~= same[1][1] end)
    if differ and way < #CUTS then cut_rows(same, width, options, way + 1)
    elseif way > 1 then
      for _, row in ipairs(same) do row[1] = short end
    end
  end
end

-- Names that would read alike with their ends cut off are cut elsewhere.
local function cut_apart(rows, width, options)
  cut_rows(lists.where(rows, function(row)
    local name = not (row.span and row.span <= 1) and row[1]
    return name and text.width(name) > width
  end), width, options, 1)
end

--- The lines of a grid, its headings first.
---@param grid { columns: pmclua.GridColumn[], rows: pmclua.GridRow[] }
---@param width integer
---@param options? pmclua.GridOptions
---@return string[]
function M.lines(grid, width, options)
  local columns, rows = grid.columns, align_all(grid)
  local shown, widths = fit(columns, rows, width)
  move_spans(rows, columns, shown)
  cut_apart(rows, widths[1], options or {})
  local layout = { shown = shown, widths = widths, width = width,
    paint = options and options.paint or function(s) return s end, cut = options and options.cut or text.cut }
  local top = { shown = shown, widths = widths, width = width, paint = layout.paint,
    cut = options and options.cut or text.cut_middle }
  local lines = { line_of(headings(columns), columns, top) }
  for _, row in ipairs(rows) do lines[#lines + 1] = line_of(row, columns, layout) end
  return lines
end

return M
