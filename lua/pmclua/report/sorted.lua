--- sorted.lua: a table of a page that sorts by several of its columns, without a script.
--
-- Each row has its place in every order, as a style, and the button that is chosen says which of them counts.

local escape = require("pmclua.report.markup").xml
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.SortedTable
---@field lines table[] those of the first rows
---@field most integer how many; other rows stay at the end
---@field orders { [1]: string, [2]: (fun(line: table): any)|nil }[] name and key: the largest number first, texts as in
---  a dictionary; without a key the order of the rows

local function places_of(lines, key)
  local order, places = {}, {}
  for i in ipairs(lines) do order[i] = i end
  if key then
    table.sort(order, function(i, j)
      local x, y = key(lines[i]), key(lines[j])
      if x == y then return i < j end
      if type(x) == "string" then return x < y end
      return x > y
    end)
  end
  for place, i in ipairs(order) do places[i] = place end
  return places
end

--- The style of each row of the table.
---@param shown pmclua.ReportBlock
---@return string[]
function M.styles(shown)
  local lines, styles = shown.sort.lines, {}
  local places = lists.map(shown.sort.orders, function(order) return places_of(lines, order[2]) end)
  for i in ipairs(shown.rows) do
    local own = {}
    for k, place in ipairs(i <= shown.sort.most and places or {}) do
      own[#own + 1] = place[i] and ("--o%d:%d"):format(k, place[i])
    end
    styles[i] = #own > 0 and table.concat(own, ";") or ("order:%d"):format(1e6 + i)
  end
  return styles
end

--- The buttons above the table.
---@param shown pmclua.ReportBlock
---@return string HTML
function M.buttons(shown)
  local parts = {}
  for k, order in ipairs(shown.sort.orders) do
    parts[k] = ('<label><input type="radio" name="sort" id="sort%d"%s> %s</label>'):format(k,
      k == 1 and " checked" or "", escape(order[1]))
  end
  return '<p class="sorts">sorted by: ' .. table.concat(parts) .. "</p>"
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

--- The style that a page with the table needs.
---@param shown pmclua.ReportBlock
---@return string CSS
function M.style(shown)
  local rules = { STYLE:format(#shown.columns - 1) }
  for k in ipairs(shown.sort.orders) do
    rules[k + 1] = ("body:has(#sort%d:checked) .ledger tbody tr { order: var(--o%d); }\n"):format(k, k)
  end
  return table.concat(rules)
end

return M
