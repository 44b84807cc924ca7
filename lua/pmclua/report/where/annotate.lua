--- annotate.lua: a function's counts beside its source and its instructions, as tables.

local lists = require "pmclua.base.lists"
local scales = require "pmclua.report.where.scale"
local text = require "pmclua.base.text"

local M = {}

-- ---- columns -------------------------------------------------------------------------------------------

-- sides: "AB", or of what only one side has its letter; nil: there is one side.
local function columns_of(scale, sides, place, what)
  local unit = scale.unit ~= "" and ", " .. scale.unit or ""
  local columns = { { name = (sides and sides:sub(1, 1) or "mean") .. unit, align = "right" } }
  if sides == "AB" then
    columns[2], columns[3] = { name = "B", align = "right" }, { name = "B - A", align = "right" }
  end
  columns[#columns + 1] = { name = place, align = "right" }
  columns[#columns + 1] = { name = what }
  return columns
end

local function counts_of(scale, sides, one)
  local function shown(value) return value and scale:value(value) or "" end
  if sides ~= "AB" then return { shown(sides == "B" and one.b or one.a) } end
  local has_any = one.a or one.b
  return { shown(one.a), shown(one.b), has_any and scale:signed((one.b or 0) - (one.a or 0)) or "" }
end

-- A row whose last text reaches to the end of the line.
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
  for _, one in ipairs(list) do
    if last and one[number] > last + 1 then rows[#rows + 1] = gap(columns) end
    rows[#rows + 1], last = make(one), one[number]
  end
  return rows
end

-- ---- tables --------------------------------------------------------------------------------------------

local function spaced(line) return text.safe((line:gsub("\t", "    "))) end

local function source_table(found, scale, sides)
  local columns = columns_of(scale, sides, "line", "source")
  local rows = rows_of(columns, found.lines, "number", function(one)
    return row_of(counts_of(scale, sides, one), ("%d"):format(one.number), spaced(one.text or ""))
  end)
  return { title = { text.safe(found.path) }, columns = columns, rows = rows, notes = { found.why } }
end

local SIDES = { A = "A's instructions", B = "B's instructions", AB = "instructions" }

local function code_table(found, scale, sides)
  local columns = columns_of(scale, sides, "offset", "instruction")
  local rows = rows_of(columns, found.list, "index", function(one)
    local said = one.text and text.safe(one.text) or ""
    if one.line then said = ("%s   ; line %d"):format(said, one.line) end
    return row_of(counts_of(scale, sides, one), ("%x"):format(one.offset), said)
  end)
  local title = { text.safe(found.path), SIDES[sides] or "instructions" }
  return { title = title, columns = columns, rows = rows, notes = { found.why } }
end

-- "faults.c:88"
local function call_site(copy)
  local file = copy.source and copy.source:match "[^/]+$" or "?"
  return copy.line and ("%s:%d"):format(file, copy.line) or file
end

local function copies_table(found, scale, sides)
  local columns = columns_of(scale, sides, "called at", "inlined function")
  return { title = { "inlined" }, columns = columns, notes = {}, rows = lists.map(found.copies, function(copy)
    return row_of(counts_of(scale, sides, copy), text.safe(call_site(copy)),
      text.safe(("%s in %s"):format(copy.fn, copy.into)))
  end) }
end

--- The tables of a function: what was inlined, its source, then its instructions.
---@param code pmclua.CodeResult
---@param row pmclua.LedgerRow of code:ledger()
---@param folders? string[] below which sources may be
---@return pmclua.ReportTable[]
function M.tables(code, row, folders)
  local scale, is_pair = scales.of(code:ledger()), code.b ~= nil
  local found, tables = code:annotation(row, folders), {}
  if #found.copies > 0 then tables[1] = copies_table(found, scale, is_pair and "AB") end
  for _, source in ipairs(found.sources) do
    tables[#tables + 1] = source_table(source, scale, is_pair and "AB")
  end
  for _, list in ipairs(found.codes) do
    tables[#tables + 1] = code_table(list, scale, is_pair and list.sides)
  end
  return tables
end

-- What stands above the tables: the function's own row.
local function headline(code, row, scale)
  local counts = row.b and ("A %s, B %s, B - A %s"):format(scale:value(row.a), scale:value(row.b),
    scale:signed(row.difference)) or scale:value(row.a)
  local unit = scale.unit ~= "" and " " .. scale.unit or ""
  return table.concat({ text.safe(row.label), text.safe(code.event), counts .. unit }, " · ")
end

--- A function beside its source and instructions.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions with `annotate`
---@return pmclua.Report
function M.of(code, options)
  local row = code:row(options.annotate, options.by == "inlined" and "inlined" or nil)
  local tables = M.tables(code, row, options.sources)
  local notes = #tables == 0 and { "nothing is known of where in it the counts are" } or {}
  return { question = headline(code, row, scales.of(code:ledger())), tables = tables, notes = notes }
end

return M
