--- html.lua: a report as one HTML file: the sentence or the verdicts first, then tables, plots, notes; of a result the
-- plan, the host and how each number was obtained.
--
-- Invariant: self-contained: no script, nothing from a network (its policy forbids both). Every text from
-- outside is escaped here, once, whatever it holds.

local cells = require "pmclua.report.cells"
local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local json = require "pmclua.base.json"
local markup = require "pmclua.report.markup"
local escape, indented = markup.xml, markup.indented
local VERDICT_TONES = require("pmclua.report.rows").VERDICT_TONES
local words = require "pmclua.report.words"
local style = require "pmclua.report.style"

local M = {}

local POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

-- Rows that a page has room for, where a terminal shows fewer.
M.ROWS = 500

-- attributes: 'class="notes"'; nil: none.
local function element(name, content, attributes)
  return ("<%s%s>%s</%s>"):format(name, attributes and " " .. attributes or "", content, name)
end

local function joined(list, make) return table.concat(lists.map(list, make), "\n") end

local function section(id, title, content)
  if content == "" then return "" end
  return element("section", element("h2", escape(title)) .. content, ('id="%s"'):format(id))
end

local function notes_list(notes)
  local items = lists.map(notes, function(note) return element("li", escape(note)) end)
  return #items > 0 and element("ul", table.concat(items), 'class="notes"') or ""
end

local function facts(rows)
  local parts = lists.map(rows, function(row)
    local name = element("th", escape(row[1]), 'scope="row"')
    return element("tr", name .. element("td", escape(row[2])))
  end)
  return #parts > 0 and element("table", table.concat(parts), 'class="facts"') or ""
end

-- ---- verdicts ------------------------------------------------------------------------------------------

local MARKS = { good = "▼", bad = "▲" }

local function primary_row(pair)
  return lists.find(pair.rows, function(row) return row.primary end) or pair.rows[1]
end

local function against(pair) return words.side(pair.baseline, pair.cell) end

-- The side that is compared, the verdict, the ratio and its interval; `opening`: what is not said above the list.
local function verdict_line(pair, label, opening)
  local row = primary_row(pair)
  local tone = row.verdict and VERDICT_TONES[row.verdict.verdict] or "plain"
  local strong = row.verdict and ("%s %s"):format(words.verdict(row), words.ratio(row.verdict))
    or words.brief(row.why)
  local interval = row.verdict and words.ratio_interval(row.verdict) or ""
  local line = ("%s %s%s: %s%s"):format(MARKS[tone] or "•", escape(label), escape(opening or ""),
    element("strong", escape(strong)), not lists.contains({ "", "=", words.ABSENT }, interval) and
      " " .. element("span", escape("[" .. interval .. "]"), 'class="dim"') or "")
  return element("li", line, ('class="%s"'):format(tone))
end

-- The caption of all verdicts, or nil: the quantity, the baseline, common levels, what the brackets hold.
local function said_of_all(comparison, compared)
  local first = comparison.pairs[1]
  local is_one = lists.all(comparison.pairs, function(pair)
    return against(pair) == against(first) and primary_row(pair).name == primary_row(first).name
  end)
  if not is_one then return nil end
  local parts = { ("%s against %s"):format(text.safe(primary_row(first).title), against(first)),
    cells.common_levels(lists.joined { compared, lists.column(comparison.pairs, "baseline") }),
    ("ratio [%s]"):format(words.interval_of(comparison.level)) }
  return table.concat(lists.where(parts, function(part) return part ~= "" end), " · ")
end

local function verdicts(result)
  local comparison = result.header.baseline and result:compare {}
  if not comparison or #comparison.pairs == 0 then return "" end
  local compared = lists.column(comparison.pairs, "cell")
  local varies, above = cells.varying(compared), said_of_all(comparison, compared)
  local items = lists.map(comparison.pairs, function(pair)
    local label = #compared > 1 and cells.label(pair.cell, varies) or words.side(pair.cell, pair.baseline)
    local title = text.safe(primary_row(pair).title)
    return verdict_line(pair, label, not above and (" against %s, %s"):format(against(pair), title) or nil)
  end)
  return (above and element("p", escape(above), 'class="notes"') or "")
    .. element("ul", table.concat(items), 'class="verdicts"')
end

-- ---- tables --------------------------------------------------------------------------------------------

local LONG = 28                 -- characters of a cell from which on it may be broken

local function class_of(column, tone, content)
  local classes = { (column.align or "left") ~= "left" and "number" or nil }
  if column.name == "shape" or column.name == "verdict" then classes[#classes + 1] = column.name end
  classes[#classes + 1] = tone
  if content and text.width(content) > LONG then classes[#classes + 1] = "long" end
  return #classes > 0 and ('class="%s"'):format(table.concat(classes, " ")) or nil
end

local function row_of(shown, row, row_style)
  local parts = {}
  for k, column in ipairs(shown.columns) do
    if not (row.span and k > row.span) then
      local attributes = class_of(column, row.tones and row.tones[k] or row.tone, row[k])
      if row.span == k then
        attributes = ('%scolspan="%d"'):format(attributes and attributes .. " " or "", #shown.columns - k + 1)
      end
      local content = indented(escape(row[k] or ""))
      parts[#parts + 1] = element("td", row.strong == k and element("strong", content) or content, attributes)
    end
  end
  return element("tr", table.concat(parts), row_style and ('style="%s"'):format(row_style))
end

local function table_of(shown)
  local sorted = shown.sort and require("pmclua.report.sorted")
  local head = lists.map(shown.columns, function(column)
    local class = class_of(column)
    return element("th", escape(column.name), 'scope="col"' .. (class and " " .. class or ""))
  end)
  local styles, rows = sorted and sorted.styles(shown) or {}, {}
  for i, row in ipairs(shown.rows) do rows[i] = row_of(shown, row, styles[i]) end
  return (sorted and sorted.buttons(shown) or "") .. element("table", element("thead", element("tr",
    table.concat(head))) .. element("tbody", table.concat(rows, "\n")), sorted and 'class="ledger"')
end

-- Images as data, so that nothing is run or fetched, whatever is in them.
local function image(svg, title)
  local data = svg:gsub("[^%w ='()/.,;_-]", function(c) return ("%%%02X"):format(c:byte()) end)
  return ('<img alt="%s" src="data:image/svg+xml,%s">'):format(escape(title), data)
end

local function block(shown, number)
  local id = number and (' id="table-%d"'):format(number) or ""
  local title = #shown.title > 0 and element("figcaption", escape(table.concat(shown.title, " · "))) or ""
  if shown.drawing then
    return element("figure", title .. image(shown.drawing, table.concat(shown.title, " · ")))
  end
  return element("figure", title .. (#shown.columns > 0 and table_of(shown) or ""), 'class="table"' .. id)
    .. notes_list(shown.notes)
end

local function page(title, body, more_style)
  return table.concat({ "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
    ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(POLICY),
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    element("title", escape(title)), element("style", style .. more_style), "</head>", "<body>", body,
    "</body>", "</html>", "" }, "\n")
end

-- gnuplot's colours for paper and ink, in the dark; those of series are seen on both.
local DARK = [[<style>@media (prefers-color-scheme: dark) { svg { background: #14171b }
rect[fill="#ffffff"] { fill: #14171b } text { fill: #e6e9ed } [fill="black"] { fill: #e6e9ed }
[color="black"], [color="rgb(  0,   0,   0)"] { color: #9aa4b0 }
[stroke="black"], [stroke="rgb(  0,   0,   0)"] { stroke: #9aa4b0 }
[stroke="rgb(221, 221, 221)"] { stroke: #333a42 } }</style>]]

local function in_the_dark(svg)
  return (svg:gsub("<svg[^>]*>", function(opening) return opening .. DARK end, 1))
end

local function figure(plot)
  local caption = element("figcaption", escape(plot.title))
  return element("figure", caption .. image(in_the_dark(plot.svg), plot.title))
end

local function plots(report, options)
  local drawn = options.plots or report.plots
  if type(drawn) == "function" then drawn = drawn() end
  if not drawn and not report.result then return "" end
  drawn = drawn or require("pmclua.report.plot").for_page(report.result)
  local why = #drawn == 0 and report.result and require("pmclua.report.plot").missing_for_page(report.result)
  return why and element("p", escape(why), 'class="notes"') or joined(drawn, figure)
end

-- ---- how it was made -----------------------------------------------------------------------------------

local function plan(result)
  local header, rows = result.header, {}
  local function add(name, value)
    if value ~= nil then rows[#rows + 1] = { name, value } end
  end
  add("started", header.started)
  add("ended", (ending.of(result)))
  add("repetitions", header.repetitions)
  add("warm-ups", header.warmup)
  add("order", header.seed and "randomised blocks, seed " .. tostring(header.seed))
  for _, factor in ipairs(header.factors) do
    local levels = lists.map(factor[2], function(level) return words.level(factor[1], level) end)
    add("factor " .. factor[1], table.concat(levels, ", "))
  end
  for pass, events in ipairs(header.pass_events) do
    local names = lists.map(events, function(event) return header.events[event].name end)
    add("pass " .. pass, #names > 0 and text.list(names) or "times and resource usage alone")
  end
  return facts(rows)
end

local function host(result)
  local known = result.header.host or {}
  return facts(lists.map(lists.keys(known), function(name)
    local value = known[name]
    return { name, type(value) ~= "table" and tostring(value) or #value > 0 and table.concat(value, ", ")
      or json.encode(value) }
  end))
end

local SOURCES = { hardware = "a hardware event", cache = "a hardware event of a cache", raw = "a raw code",
  software = "an event of the OS kernel", tracepoint = "a tracepoint", breakpoint = "a breakpoint",
  probe = "a probe", pfm = "an event that libpfm4 names" }

-- The type and code, then what else the attr has.
local function attr_words(attr)
  attr = attr or {}
  return table.concat(lists.map(lists.unique { "type", "config", unpack(lists.keys(attr)) }, function(name)
    local value = attr[name]
    if value == nil then return nil end
    return ("%s = %s"):format(name, type(value) == "cdata" and ("0x%x"):format(value) or tostring(value))
  end), ", ")
end

local function passes_of(result, index)
  local list = {}
  for pass, events in ipairs(result.header.pass_events) do
    if lists.contains(events, index) then list[#list + 1] = tostring(pass) end
  end
  return ("%s %s"):format(#list == 1 and "pass" or "passes", text.list(list))
end

local function how(result, index, event)
  if event.status then return ("not counted (%s): %s"):format(event.status, event.why or "") end
  if event.tool then return "of each repetition's record, without a counter" end
  if event.source == "syscalls" then return "counted by ptrace in " .. passes_of(result, index) end
  if event.simulated then
    return ("simulated by Valgrind, the sum of its counters %s, in %s"):format(
      table.concat(event.simulated, " + "), passes_of(result, index))
  end
  local source = SOURCES[event.source] or event.pmu and "an event of the PMU " .. event.pmu or "an event"
  return ("%s (%s), counted in %s"):format(source, attr_words(event.attr), passes_of(result, index))
end

local function how_obtained(result)
  local rows = {}
  for index, event in ipairs(result.events) do
    local words_of_how = how(result, index, event)
    rows[#rows + 1] = { event.name, event.note and words_of_how .. "; " .. event.note or words_of_how }
  end
  for _, metric in ipairs(result.metrics) do rows[#rows + 1] = { metric.name, metric.formula } end
  return facts(rows)
end

local function made_again(result)
  local again = require "pmclua.report.provenance"
  local texts = lists.map(again.texts(result.header), function(stored)
    local lines = lists.collect((stored.text .. "\n"):gmatch "(.-)\n")
    local content = element("pre", joined(lines, escape))
    return element("details", element("summary", escape(stored.title)) .. content)
  end)
  return table.concat({ facts(again.rows(result.header)), unpack(texts) }, "\n")
end

-- ---- the page ------------------------------------------------------------------------------------------

local function background(result)
  return section("plan", "Plan", plan(result)) .. section("host", "Host", host(result))
    .. section("again", "How to make it again", made_again(result))
    .. section("obtained", "How each number was obtained", how_obtained(result))
end

-- The top of the page: the sentence, or the verdicts of a result.
local function conclusion(report)
  if report.sentence then return element("p", escape(report.sentence), 'class="sentence"') end
  return report.result and section("verdicts", "Verdicts", verdicts(report.result)) or ""
end

local MANY = 5                  -- tables that need no list of contents

-- Links to the tables of a long page; "" where it is short.
local function contents(report)
  if #report.blocks <= MANY then return "" end
  local items, seen = {}, {}
  for number, report_block in ipairs(report.blocks) do
    local title = report_block.title[1] or "table " .. number
    local link = element("a", escape(title), ('href="#table-%d"'):format(number))
    if not seen[title] then items[#items + 1] = element("li", link) end
    seen[title] = true
  end
  return element("nav", element("ul", table.concat(items)), 'aria-label="Contents"')
end

local function details(report)
  return joined(report.details and report.details() or {}, function(detail)
    local blocks = joined(detail.blocks, function(detail_block) return block(detail_block) end)
    return element("details", element("summary", escape(detail.title)) .. blocks)
  end)
end

local function more_style(report)
  local shown = lists.find(report.blocks, function(report_block) return report_block.sort end)
  return shown and require("pmclua.report.sorted").style(shown) or ""
end

local function body(report, title, options)
  local noted = section("notes", "Notes and warnings", notes_list(report.notes))
  local numbered = {}
  for number, report_block in ipairs(report.blocks) do numbered[number] = block(report_block, number) end
  local shown = section("tables", "Tables", table.concat(numbered, "\n"))
  local drawn = section("plots", "Plots", plots(report, options))
  -- Below a long table, or plots, nobody would look for notes.
  local parts = report.details and { noted, shown, drawn } or { shown, noted, drawn }
  local opening = { element("h1", escape(title)), conclusion(report), contents(report) }
  return table.concat(lists.joined { opening, parts }, "\n") .. "\n"
    .. section("details", "Source and instructions", details(report))
    .. (report.result and background(report.result) or "")
end

--- Writes a report as an HTML page.
---@param report pmclua.Report
---@param put fun(piece: string)
---@param options { plots?: { title: string, svg: string }[] } plots: instead of the report's
function M.write(report, put, options)
  local title = report.title or words.title(report.result)
  put(page(title, body(report, title, options), more_style(report)))
end

return M
