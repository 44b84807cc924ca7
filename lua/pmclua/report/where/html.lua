--- html.lua: the code ledger as one HTML file: a table that sorts by each of its columns, and the source and
-- instructions of the functions that matter most, to unfold.
--
-- Invariant: as report/html.lua: no script, nothing from a network. Rows are sorted by style alone: each has its
-- place in every order, and the button that is chosen says which of them counts.

local annotate = require "pmclua.report.where.annotate"
local escape = require("pmclua.report.markup").xml
local html = require "pmclua.report.html"
local lists = require "pmclua.base.lists"
local tables = require "pmclua.report.where.tables"
local text = require "pmclua.base.text"

local M = {}

local MOST_ROWS, MOST_FUNCTIONS = 500, 12

-- ---- orders --------------------------------------------------------------------------------------------

local function size(name) return function(row) return row[name] and math.abs(row[name]) or -1 end end

local ORDERS = {
  { "as explained" }, { "A", size "a" }, { "B", size "b" }, { "B - A", size "difference" },
  { "name", function(row) return row.label end },
}

local function orders_of(ledger)
  return ledger.n_b and ORDERS or { { "mean", size "a" }, { "name", ORDERS[5][2] } }
end

-- The place of each row of the ledger in an order.
local function places_of(rows, key)
  local order, places = {}, {}
  for i in ipairs(rows) do order[i] = i end
  if key then
    table.sort(order, function(i, j)
      local x, y = key(rows[i]), key(rows[j])
      if x == y then return i < j end
      if type(x) == "string" then return x < y end
      return x > y
    end)
  end
  for place, i in ipairs(order) do places[i] = place end
  return places
end

-- ---- the table -----------------------------------------------------------------------------------------

local element, class_of = html.element, html.class_of

local function row_element(columns, row, style)
  local cells = {}
  for k, column in ipairs(columns) do
    cells[k] = element("td", escape(row[k] or ""), class_of(column, row.tones and row.tones[k] or row.tone))
  end
  return element("tr", table.concat(cells), ('style="%s"'):format(style))
end

local function style_of(places, i)
  local parts = {}
  for k, own in ipairs(places) do parts[k] = ("--o%d:%d"):format(k, own[i]) end
  return table.concat(parts, ";")
end

local STYLE = [[
.sorts { margin: .6rem 0; color: var(--quiet); } .sorts label { margin-right: 1rem; cursor: pointer; }
.ledger { display: grid; width: max-content; max-width: 100%%; overflow-x: auto;
  grid-template-columns: minmax(10rem, auto) repeat(%d, auto); }
.ledger thead, .ledger tbody { display: contents; }
.ledger tr { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; }
.ledger tbody tr:nth-child(even) { background: none; }
.ledger tbody tr { border-bottom: 1px solid var(--rule); }
.ledger td:first-child { overflow-wrap: anywhere; max-width: 34rem; }
details { margin: .8rem 0; } summary { cursor: pointer; font-weight: 600; }
details td { font-family: ui-monospace, monospace; font-size: .85rem; white-space: pre; padding-top: 0;
  padding-bottom: 0; } details figcaption { font-weight: 500; color: var(--quiet); }
]]

local function sort_style(count)
  local rules = {}
  for k = 1, count do
    rules[k] = ("body:has(#sort%d:checked) .ledger tbody tr { order: var(--o%d); }"):format(k, k)
  end
  return table.concat(rules, "\n")
end

local function buttons(orders)
  local parts = {}
  for k, order in ipairs(orders) do
    parts[k] = ('<label><input type="radio" name="sort" id="sort%d"%s> %s</label>'):format(k,
      k == 1 and " checked" or "", escape(order[1]))
  end
  return '<p class="sorts">sorted by: ' .. table.concat(parts) .. "</p>"
end

-- The rows of the table, the last ones (what is not attributed, the total) always at the end.
local function ledger_element(shown, ledger, orders, most)
  local rows = {}
  local places = lists.map(orders, function(order) return places_of(ledger.lines, order[2]) end)
  local head = lists.map(shown.columns, function(column)
    return element("th", escape(column.name), class_of(column))
  end)
  for i, row in ipairs(shown.rows) do
    local style = i <= #ledger.lines and i <= most and style_of(places, i) or ("order:%d"):format(1e6 + i)
    rows[i] = row_element(shown.columns, row, style)
  end
  return ('<table class="ledger"><thead><tr>%s</tr></thead><tbody>%s</tbody></table>'):format(
    table.concat(head), table.concat(rows, "\n"))
end

-- ---- functions -----------------------------------------------------------------------------------------

local function function_element(code, row, folders)
  local tables_of = lists.map(annotate.tables(code, row, folders), html.table)
  return element("details", element("summary", escape(row.label)) .. table.concat(tables_of, "\n"))
end

local function functions(code, folders)
  local rows = lists.where(code:ledger().lines, function(row) return row.line.place or row.line.other end)
  return table.concat(lists.map({ unpack(rows, 1, MOST_FUNCTIONS) }, function(row)
    return function_element(code, row, folders)
  end), "\n")
end

--- The code ledger as an HTML page.
---@param code pmclua.CodeResult
---@param options pmclua.WhereOptions
---@return string
function M.render(code, options)
  local ledger = code:ledger(options.by)
  local most = options.most or MOST_ROWS
  local report = tables.of(code, { by = options.by, most = most })
  local shown, orders = report.tables[1], orders_of(ledger)
  local title = text.safe(("where: %s"):format(table.concat(shown.title, " · ")))
  local body = { "<h1>" .. escape(table.concat(shown.title, " · ")) .. "</h1>", html.notes(report.notes),
    buttons(orders), ledger_element(shown, ledger, orders, most), html.notes(shown.notes),
    report.tables[2] and html.table(report.tables[2]) or "",
    "<h2>Source and instructions</h2>", functions(code, options.sources) }
  return html.page(title, table.concat(body, "\n"),
    STYLE:format(#shown.columns - 1) .. sort_style(#orders))
end

return M
