--- annotate.lua: a function's counts beside its source and its instructions, as tables.

local lists = require "pmclua.base.lists"
local scales = require "pmclua.report.where.scale"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

-- ---- columns -------------------------------------------------------------------------------------------

-- sides: "AB", or of what only one side has its letter; nil: there is one side.
local function columns_of(scale, sides, place, what)
  local unit = scale.unit ~= "" and ", " .. scale.unit or ""
  local columns = { { name = (sides and sides:sub(1, 1) or "mean") .. unit, align = "right" } }
  if sides == "AB" then
    columns[2], columns[3] = { name = "B", align = "right" }, { name = "B - A", align = "right" }
    columns[4] = { name = "verdict" }
  end
  columns[#columns + 1] = { name = place, align = "right" }
  columns[#columns + 1] = { name = what }
  return columns
end

local function counts_of(scale, sides, row)
  local function shown(value) return value and scale:value(value) or "" end
  if sides ~= "AB" then return { shown(sides == "B" and row.b or row.a) } end
  local has_any = row.a or row.b
  return { shown(row.a), shown(row.b), has_any and scale:signed((row.b or 0) - (row.a or 0)) or "",
    words.line_verdict(row, scale.ledger_unit), tones = { [4] = words.TONES[row.verdict] } }
end

local function place_of(form, own, other, is_aligned)
  local count = form:format(own or other)
  if not is_aligned or own == other then return count end
  if own and other then return ("%s (B %s)"):format(count, form:format(other)) end
  return ("%s (%s)"):format(count, own and "A" or "B")
end

local function row_of(counts, place, what)
  counts[#counts + 1], counts[#counts + 2] = place, what
  counts.span = #counts
  return counts
end

local function gap(columns)
  local row = {}
  for k = 1, #columns - 1 do row[k] = "" end
  row[#columns], row.span, row.tone = "…", #columns, "dim"
  return row
end

-- Rows of a listing, with a mark where some of it is left out.
local function rows_of(columns, list, number, make)
  local rows, last = {}, nil
  for _, row in ipairs(list) do
    if last and row[number] > last + 1 then rows[#rows + 1] = gap(columns) end
    rows[#rows + 1], last = make(row), row[number]
  end
  return rows
end

-- ---- tables --------------------------------------------------------------------------------------------

local function spaced(line) return text.safe((line:gsub("\t", "    "))) end

-- "/a/parse.c", of two builds also B's.
local function paths_of(listing)
  if not listing.path_b or listing.path_b == listing.path then return text.safe(listing.path) end
  return ("%s (B %s)"):format(text.safe(listing.path), text.safe(listing.path_b))
end

local function source_table(listing, scale, sides)
  local columns = columns_of(scale, sides, "line", "source")
  local rows = rows_of(columns, listing.lines, "index", function(line)
    local source_text = spaced(line.text or "") .. (line.changed and "   ; changed" or "")
    local place = place_of("%d", line.number, line.number_b, listing.is_aligned)
    return row_of(counts_of(scale, sides, line), place, source_text)
  end)
  return { title = { paths_of(listing) }, columns = columns, rows = rows, notes = { listing.why } }
end

local SIDES = { A = "A's instructions", B = "B's instructions", AB = "instructions" }

local function code_table(listing, scale, sides)
  local columns = columns_of(scale, sides, "offset", "instruction")
  local rows = rows_of(columns, listing.list, "index", function(row)
    local shown = row.text and text.safe(row.text) or ""
    if row.line or row.line_b then
      shown = ("%s   ; line %s"):format(shown, place_of("%d", row.line, row.line_b, listing.is_aligned))
    end
    local place = place_of("%x", row.offset, row.offset_b, listing.is_aligned)
    return row_of(counts_of(scale, sides, row), place, shown)
  end)
  local title = { paths_of(listing), SIDES[sides] or "instructions" }
  return { title = title, columns = columns, rows = rows, notes = { listing.why } }
end

-- "faults.c:88"
local function call_site(copy)
  local file = copy.source and copy.source:match "[^/]+$" or "?"
  return copy.line and ("%s:%d"):format(file, copy.line) or file
end

local function copies_table(copies, scale, sides)
  local columns = columns_of(scale, sides, "called at", "inlined function")
  return { title = { "inlined" }, columns = columns, notes = {},
    rows = lists.map(copies.copies, function(copy)
      return row_of(counts_of(scale, sides, copy), text.safe(call_site(copy)),
        text.safe(("%s in %s"):format(copy.fn, copy.into)))
    end) }
end

--- The tables of a function: what was inlined, its source, then its instructions.
---@param code pmclua.CodeResult
---@param row pmclua.LedgerRow of code:ledger()
---@param folders? string[] below which sources may be
---@return pmclua.ReportBlock[]
function M.tables(code, row, folders)
  local scale, is_pair = scales.of(code:ledger()), code.b ~= nil
  local annotation, tables = code:annotation(row, folders), {}
  if #annotation.copies > 0 then tables[1] = copies_table(annotation, scale, is_pair and "AB") end
  for _, source in ipairs(annotation.sources) do
    tables[#tables + 1] = source_table(source, scale, is_pair and "AB")
  end
  for _, list in ipairs(annotation.codes) do
    tables[#tables + 1] = code_table(list, scale, is_pair and list.sides)
  end
  return tables
end

local function headline(code, row, scale)
  local counts = row.b and ("A %s, B %s, B - A %s"):format(scale:value(row.a), scale:value(row.b),
    scale:signed(row.difference)) or scale:value(row.a)
  local unit = scale.unit ~= "" and " " .. scale.unit or ""
  return table.concat({ text.safe(row.label), text.safe(code.event), counts .. unit }, " · ")
end

--- The row of the function that is asked for.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions with `annotate`
---@return pmclua.LedgerRow
function M.row(code, options)
  return code:row(options.annotate, options.by == "inlined" and "inlined" or nil)
end

--- A function beside its source and instructions.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions with `annotate`
---@return pmclua.Report
function M.of(code, options)
  local row = M.row(code, options)
  local tables = M.tables(code, row, options.sources)
  local notes = #tables == 0 and { "nothing is known of where in it the counts are" } or {}
  return { title = "where: " .. headline(code, row, scales.of(code:ledger())),
    question = headline(code, row, scales.of(code:ledger())), blocks = tables, notes = notes }
end

return M
