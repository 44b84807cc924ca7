--- tables.lua: the code ledger as a table of texts: functions or source lines, what is not attributed,
--- the total.
--
-- Invariant: the rows of a table add up to its total; what is not shown is a row of its own.

local annotate = require "pmclua.report.where.annotate"
local lists = require "pmclua.base.lists"
local objects = require "pmclua.ledger.objects"
local mean = require "pmclua.stats.mean"
local notes = require "pmclua.report.where.notes"
local scales = require "pmclua.report.where.scale"
local sharing = require "pmclua.report.where.sharing"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

---@class pmclua.WhereOptions: pmclua.ReportOptions
---@field by? pmclua.CodeBy
---@field most? integer lines that a table shows, by default 20, on a page 500
---@field annotate? string a function: its source and instructions instead of the table
---@field sources? string[] folders below which sources may be, whoever names them

local MOST_ROWS = 20

local function share_of(row) return row.share and text.percent(row.share) or "" end

-- ---- rows ----------------------------------------------------------------------------------------------

local function row_of_one(row, scale)
  return { text.safe(row.label), scale:value(row.a), share_of(row), scale:value(row.median),
    scale:interval(row) }
end

local function parts_of_data(row, total)
  local fed = row.line and row.line.fed and mean.average(row.line.fed)
  if not fed or row.rest or total == 0 then return "", "" end
  return text.percent((row.a - fed) / total), text.percent(fed / total)
end

local function row_of_two(row, scale, unit)
  return { text.safe(row.label), scale:value(row.a), scale:value(row.b), scale:signed(row.difference),
    scale:interval(row), share_of(row), words.line_verdict(row, unit),
    tones = { [7] = words.TONES[row.verdict] } }
end

local function hidden_row(rows)
  local sum = { label = ("%d more"):format(#rows), a = 0, a_sum = 0 }
  for _, row in ipairs(rows) do
    sum.a = sum.a + row.a
    if row.b then
      sum.b, sum.difference = (sum.b or 0) + row.b, (sum.difference or 0) + row.difference
    end
    if row.share then sum.share = (sum.share or 0) + row.share end
  end
  return sum
end

local function shown_rows(ledger, most)
  local shown, hidden = {}, {}
  for i, row in ipairs(ledger.lines) do
    table.insert((i <= most or row.key == "others") and shown or hidden, row)
  end
  local is_last = #shown > 0 and shown[#shown].key == "others"
  if #hidden > 0 then
    table.insert(shown, #shown + (is_last and 0 or 1), #hidden == 1 and hidden[1] or hidden_row(hidden))
  end
  return shown
end

local function add_rows(list, rows, make)
  for _, row in ipairs(rows) do
    local shown = make(row)
    if row.rest then
      shown[1], shown.tone = "(" .. shown[1] .. ")", "dim"
    end
    list[#list + 1] = shown
  end
end

local function rows_of(ledger, scale, most, is_data)
  local list = {}
  local function make(row)
    if ledger.n_b then return row_of_two(row, scale, ledger.unit) end
    local shown = row_of_one(row, scale)
    if is_data then
      local access, fed = parts_of_data(row, ledger.total.a)
      table.insert(shown, 4, access)
      table.insert(shown, 5, fed)
    end
    return shown
  end
  local function of_sum(row)
    if row.median or row.b then return make(row) end
    return { row.label, scale:value(row.a), share_of(row), "", "" }
  end
  add_rows(list, shown_rows(ledger, most), of_sum)
  add_rows(list, ledger.rest, make)
  add_rows(list, { ledger.total }, make)
  return list
end

-- ---- headings ------------------------------------------------------------------------------------------

local function with_unit(name, scale)
  return scale.unit ~= "" and ("%s, %s"):format(name, scale.unit) or name
end

local function columns_of_one(what, scale)
  return { { name = what }, { name = with_unit("mean", scale), align = "right" },
    { name = "share", align = "right" }, { name = "median", align = "right", drop = 2 },
    { name = words.interval_of(), drop = 1 } }
end

local function columns_of_data(what, scale)
  local columns = columns_of_one(what, scale)
  table.insert(columns, 4, { name = "access", align = "right" })
  table.insert(columns, 5, { name = "computing", align = "right" })
  return columns
end

local function columns_of_two(what, scale)
  return { { name = what }, { name = with_unit("A", scale), align = "right" },
    { name = "B", align = "right" }, { name = "B - A", align = "right" }, { name = "interval", drop = 3 },
    { name = "share", align = "right" }, { name = "verdict" } }
end

local function period_words(code)
  local profile = code.a[1]
  if profile.source == "valgrind" then return "counted by Valgrind" end
  if profile.period == 1 then return profile.exact and "each recorded" or "each event sampled" end
  return "a sample each " .. text.value(profile.period, profile.unit)
end

local function title_of(code, ledger)
  local a, b = code.baseline, code.cell
  local heading = text.safe(code.event) .. (code.a[1].iterations and " per iteration" or "")
  if not a then
    return { text.safe(b.workload), heading, text.plural(ledger.n, "repetition"), period_words(code) }
  end
  local how = ledger.paired and text.plural(ledger.n, "pair")
    or ("%d and %d repetitions, not paired"):format(ledger.n, ledger.n_b)
  return { ("A %s (baseline), B %s"):format(words.side(a, b), words.side(b, a)), heading, how,
    period_words(code) }
end

-- ---- functions with what they call -----------------------------------------------------------------------

local ITSELF = { name = "itself", align = "right" }

local function own_of(row, scale)
  local own = row.line.own
  return row.b and scale:signed(mean.average(own.b) - mean.average(own.a)) or scale:value(mean.average(own.a))
end

-- Rows overlap: there is no sum of those that are not shown.
local function callers_table(code, ledger, most)
  local scale, rows = scales.of(ledger), {}
  local columns = ledger.n_b and columns_of_two("function", scale) or columns_of_one("function", scale)
  columns[#columns + 1] = ITSELF
  for i = 1, math.min(most, #ledger.lines) do
    local row = ledger.lines[i]
    rows[i] = row.b and row_of_two(row, scale, ledger.unit) or row_of_one(row, scale)
    rows[i][#columns] = own_of(row, scale)
  end
  local hidden = #ledger.lines - #rows
  local title = { text.safe(code.event), "functions with all that they call" }
  return { title = title, columns = columns, rows = rows,
    notes = { hidden > 0 and ("%d more"):format(hidden) or nil } }
end

-- ---- on a page -------------------------------------------------------------------------------------------

local function size(name) return function(row) return row[name] and math.abs(row[name]) or -1 end end

local BY_NAME = { "name", function(row) return row.label end }
local OF_ONE = { { "mean", size "a" }, BY_NAME }
local OF_TWO = { { "as explained" }, { "A", size "a" }, { "B", size "b" },
  { "B - A", size "difference" }, BY_NAME }

local MOST_FUNCTIONS = 12

local function details(code, folders)
  local rows = lists.where(code:ledger().lines, function(row) return row.line.place or row.line.other end)
  return lists.map({ unpack(rows, 1, MOST_FUNCTIONS) }, function(row)
    return { title = row.label, blocks = annotate.tables(code, row, folders) }
  end)
end

local MOSTLY = 0.5              -- of the total

-- Remarks on a program that mostly accesses its stacks, as one without optimisation does.
local function stack_remarks(code)
  local stacks, total = 0, 0
  for _, profile in ipairs(code.profiles) do
    total = total + profile.total
    for _, line in ipairs(profile.data.lines) do
      stacks = stacks + (line.kind == "stack" and line.count or 0)
    end
  end
  if code.unit ~= "ns" or stacks <= MOSTLY * total then return {} end
  return { ("%s of the total is at stacks: where a program is built without optimisation (-O0), its "
    .. "variables are there, and that traffic hides the rest; build it with -O2")
    :format(text.percent(stacks / total)) }
end

local function sharing_of(code)
  local tables, remarks = {}, {}
  for _, side in ipairs { { code.a, code.b and "A" }, { code.b or {}, "B" } } do
    local rows = sharing.rows(side[1])
    tables[#tables + 1] = sharing.table(rows, side[2])
    lists.append(remarks, lists.map(sharing.notes(rows), function(note)
      return code.b and side[2] .. ": " .. note or note
    end))
  end
  if code.confirmed and #code.confirmed == 0 then
    remarks[#remarks + 1] = "nothing to confirm: no cache line is shared, falsely, truly or latently"
  end
  return lists.append(tables, lists.map(code.confirmed or {}, sharing.confirmation)), remarks
end

--- A code ledger, or one function of it, as blocks.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions
---@param room? integer rows that there is room for, default 20
---@return pmclua.Report
function M.blocks(code, options, room)
  if options.annotate then return annotate.of(code, options) end
  local by, most = options.by or "function", options.most or room or MOST_ROWS
  local ledger, callers = code:ledger(by), code:callers()
  local scale, title = scales.of(ledger), title_of(code, ledger)
  local is_data = objects.is_view(by)
  local what = is_data and "data" or by:find "line$" and "line" or "function"
  local of_one = is_data and columns_of_data or columns_of_one
  local columns = ledger.n_b and columns_of_two(what, scale) or of_one(what, scale)
  local shown = { title = title, columns = columns, rows = rows_of(ledger, scale, most, is_data),
    notes = notes.of_table(ledger),
    sort = { lines = ledger.lines, most = most, orders = ledger.n_b and OF_TWO or OF_ONE } }
  local shared, remarks = {}, {}
  if is_data then
    shared, remarks = sharing_of(code)
    lists.append(remarks, stack_remarks(code))
  end
  return { title = "where: " .. table.concat(title, " · "),
    notes = lists.append(remarks, notes.of_code(code, ledger)),
    blocks = lists.joined { { shown, callers and callers_table(code, callers, most) }, shared },
    details = function() return details(code, options.sources) end }
end

return M
