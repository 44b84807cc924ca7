--- html.lua: a result as one HTML file: verdicts first, then tables, plots, warnings, the plan, the host
-- and how each number was obtained.
--
-- Invariant: self-contained: no script, nothing from a network (its policy forbids both). Every text from
-- outside is escaped here, once, whatever it holds.

local text = require "pmclua.base.text"
local json = require "pmclua.base.json"
local escape = require("pmclua.report.markup").xml
local tables = require "pmclua.report.tables"
local words = require "pmclua.report.words"
local style = require "pmclua.report.style"

local M = {}

local POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
local function element(name, content, attributes)
  return ("<%s%s>%s</%s>"):format(name, attributes and " " .. attributes or "", content, name)
end

local function section(id, title, content)
  if content == "" then return "" end
  return element("section", element("h2", escape(title)) .. content, ('id="%s"'):format(id))
end

local function list_of(items, class)
  if #items == 0 then return "" end
  local parts = {}
  for i, item in ipairs(items) do parts[i] = element("li", escape(item)) end
  return element("ul", table.concat(parts), class and ('class="%s"'):format(class))
end

-- Two columns: what, and what it is.
local function facts(rows)
  local parts = {}
  for _, row in ipairs(rows) do
    local name = element("th", escape(row[1]), 'scope="row"')
    parts[#parts + 1] = element("tr", name .. element("td", escape(row[2])))
  end
  return #parts > 0 and element("table", table.concat(parts), 'class="facts"') or ""
end

-- ---- verdicts ------------------------------------------------------------------------------------------

local MARKS = { good = "▼", bad = "▲" }
local TONES = { faster = "good", slower = "bad" }

local function cell_name(cell)
  local levels = words.levels(cell)
  return levels == "" and cell.workload or cell.workload .. " (" .. levels .. ")"
end

local function primary_row(pair)
  for _, row in ipairs(pair.rows) do
    if row.primary then return row end
  end
  return pair.rows[1]
end

local function verdict_line(pair)
  local row = primary_row(pair)
  local tone = row.verdict and TONES[row.verdict.verdict] or "plain"
  local said = row.verdict and ("%s, ratio %s, 95 %% interval %s"):format(words.verdict(row),
    words.ratio(row.verdict), words.ratio_interval(row.verdict)) or words.brief(row.why)
  local line = ("%s %s against %s: %s %s"):format(MARKS[tone] or "•", escape(cell_name(pair.cell)),
    escape(cell_name(pair.baseline)), escape(row.title), element("strong", escape(said)))
  return element("li", line, ('class="%s"'):format(tone))
end

local function verdicts(result)
  if not result.header.baseline then return "" end
  local parts = {}
  for i, pair in ipairs(result:compare({}).pairs) do parts[i] = verdict_line(pair) end
  return #parts > 0 and element("ul", table.concat(parts), 'class="verdicts"') or ""
end

-- ---- tables --------------------------------------------------------------------------------------------

local function class_of(column, tone)
  local classes = {}
  if (column.align or "left") ~= "left" then classes[1] = "number" end
  if column.name == "shape" then classes[#classes + 1] = "shape" end
  if tone then classes[#classes + 1] = tone end
  return #classes > 0 and ('class="%s"'):format(table.concat(classes, " ")) or nil
end

local function row_of(shown, row)
  local cells = {}
  for k, column in ipairs(shown.columns) do
    if not (row.span and k > row.span) then
      local attributes = class_of(column, row.tones and row.tones[k] or row.tone)
      if row.span == k then
        attributes = ('%scolspan="%d"'):format(attributes and attributes .. " " or "", #shown.columns - k + 1)
      end
      cells[#cells + 1] = element("td", escape(row[k] or ""), attributes)
    end
  end
  return element("tr", table.concat(cells))
end

local function one_table(shown)
  local head, rows = {}, {}
  for k, column in ipairs(shown.columns) do
    local class = class_of(column)
    head[k] = element("th", escape(column.name), 'scope="col"' .. (class and " " .. class or ""))
  end
  for i, row in ipairs(shown.rows) do rows[i] = row_of(shown, row) end
  return element("figure", element("figcaption", escape(table.concat(shown.title, " · ")))
    .. element("table", element("thead", element("tr", table.concat(head)))
      .. element("tbody", table.concat(rows, "\n")))) .. list_of(shown.notes, "notes")
end

--- A table as an element.
---@param shown pmclua.ReportTable
---@return string
function M.table(shown) return one_table(shown) end

--- A page of its own.
---@param title string
---@param body string
---@param more_style? string
---@return string
function M.page(title, body, more_style)
  return table.concat({ "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
    ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(POLICY),
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    element("title", escape(title)), element("style", style .. (more_style or "")), "</head>", "<body>", body,
    "</body>", "</html>", "" }, "\n")
end

local function all_tables(report)
  local parts = {}
  for i, shown in ipairs(report.tables) do parts[i] = one_table(shown) end
  return table.concat(parts, "\n")
end

-- Images as data, so that nothing is run or fetched, whatever is in them.
local function plots(list)
  local parts = {}
  for i, plot in ipairs(list or {}) do
    local data = plot.svg:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end)
    local image = ('<img alt="%s" src="data:image/svg+xml,%s">'):format(escape(plot.title), data)
    parts[i] = element("figure", image .. element("figcaption", escape(plot.title)))
  end
  return table.concat(parts, "\n")
end

-- Why plots that the page could have are not in it; "" where they are.
local function missing_plots(result, list)
  local why = #list == 0 and require("pmclua.report.plot").missing_for_page(result)
  return why and element("p", escape(why), 'class="notes"') or ""
end

-- What gnuplot, where it is installed, draws of the result.
local function drawn(result, options)
  return options and options.plots or require("pmclua.report.plot").for_page(result)
end

-- ---- how it was made -----------------------------------------------------------------------------------

local function plan(result)
  local header, rows = result.header, {}
  local function add(name, value)
    if value ~= nil then rows[#rows + 1] = { name, value } end
  end
  add("started", header.started)
  add("ended", result.status)
  add("repetitions", header.repetitions)
  add("warm-ups", header.warmup)
  add("order", header.seed and "randomised blocks, seed " .. tostring(header.seed))
  for _, factor in ipairs(header.factors) do
    local levels = {}
    for i, level in ipairs(factor[2]) do levels[i] = words.level(factor[1], level) end
    add("factor " .. factor[1], table.concat(levels, ", "))
  end
  for pass, events in ipairs(header.pass_events) do
    local names = {}
    for i, event in ipairs(events) do names[i] = header.events[event].name end
    add("pass " .. pass, #names > 0 and text.list(names) or "times and resource usage alone")
  end
  return facts(rows)
end

local function host(result)
  local rows = {}
  for name, value in pairs(result.header.host or {}) do
    local shown = type(value) ~= "table" and tostring(value) or #value > 0 and table.concat(value, ", ")
      or json.encode(value)
    rows[#rows + 1] = { name, shown }
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return facts(rows)
end

local SOURCES = { hardware = "a hardware event", cache = "a hardware event of a cache", raw = "a raw code",
  software = "an event of the OS kernel", tracepoint = "a tracepoint", breakpoint = "a breakpoint",
  probe = "a probe", pfm = "an event that libpfm4 names" }

-- The type and code, then what else the attr has.
local function attr_words(attr)
  local parts = {}
  for name, value in pairs(attr or {}) do
    local shown = type(value) == "cdata" and ("0x%x"):format(value) or tostring(value)
    local rank = name == "type" and 1 or name == "config" and 2 or 3
    parts[#parts + 1] = { rank, ("%s = %s"):format(name, shown) }
  end
  table.sort(parts, function(x, y) return x[1] < y[1] or x[1] == y[1] and x[2] < y[2] end)
  for i, part in ipairs(parts) do parts[i] = part[2] end
  return table.concat(parts, ", ")
end

local function passes_of(result, index)
  local list = {}
  for pass, events in ipairs(result.header.pass_events) do
    for _, event in ipairs(events) do
      if event == index then list[#list + 1] = tostring(pass) end
    end
  end
  return ("%s %s"):format(#list == 1 and "pass" or "passes", text.list(list))
end

local function how(result, index, event)
  if event.status then return ("not counted (%s): %s"):format(event.status, event.why or "") end
  if event.tool then return "of each repetition's record, without a counter" end
  if event.simulated then
    return ("simulated by Valgrind, the sum of its %s, in %s"):format(table.concat(event.simulated, " + "),
      passes_of(result, index))
  end
  local source = SOURCES[event.source] or event.pmu and "an event of the PMU " .. event.pmu or "an event"
  return ("%s (%s), counted in %s"):format(source, attr_words(event.attr), passes_of(result, index))
end

local function how_obtained(result)
  local rows = {}
  for index, event in ipairs(result.events) do
    local said = how(result, index, event)
    rows[#rows + 1] = { event.name, event.note and said .. "; " .. event.note or said }
  end
  for _, metric in ipairs(result.metrics) do rows[#rows + 1] = { metric.name, metric.formula } end
  return facts(rows)
end

-- How to make it again: facts, and the texts of script and sources to unfold.
local function made_again(result)
  local again = require "pmclua.report.provenance"
  local parts = { facts(again.rows(result.header)) }
  for _, stored in ipairs(again.texts(result.header)) do
    local lines = {}
    for line in (stored.text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = escape(line) end
    parts[#parts + 1] = element("details", element("summary", escape(stored.title))
      .. element("pre", table.concat(lines, "\n")))
  end
  return table.concat(parts, "\n")
end

-- ---- the page ------------------------------------------------------------------------------------------

local function page(title, body) return M.page(title, table.concat(body, "\n")) end

-- How the result came about.
local function background(result)
  return section("plan", "Plan", plan(result)) .. section("host", "Host", host(result))
    .. section("again", "How to make it again", made_again(result))
    .. section("obtained", "How each number was obtained", how_obtained(result))
end

--- A report about a result as an HTML page: a sentence, the report's tables, plots of the result, and how it came
--- about.
---@param result pmclua.Result
---@param report pmclua.Report
---@param title string
---@param sentence string
---@param options? { plots?: { title: string, svg: string }[] }
---@return string
function M.about(result, report, title, sentence, options)
  local pictures = drawn(result, options) or {}
  return page(title, { element("h1", escape(title)), element("p", escape(sentence), 'class="sentence"'),
    section("tables", "Ledgers", all_tables(report)),
    section("plots", "Plots", plots(pictures) .. missing_plots(result, pictures)),
    section("notes", "Notes", list_of(report.notes, "notes")), background(result) })
end

--- The result as an HTML page.
---@param result pmclua.Result
---@param _ table what the terminal can show: of no concern here
---@param options? { plots?: { title: string, svg: string }[], report?: pmclua.Report } plots: instead of those that
---  gnuplot draws; report: to show instead of the result's own
---@return string
function M.render(result, _, options)
  local report = options and options.report or tables.of(result)
  local title, pictures = words.title(result), drawn(result, options) or {}
  return page(title, { element("h1", escape(title)), section("verdicts", "Verdicts", verdicts(result)),
    section("tables", "Tables", all_tables(report)),
    section("plots", "Plots", plots(pictures) .. missing_plots(result, pictures)),
    section("notes", "Notes and warnings", list_of(report.notes, "notes")), background(result) })
end

return M
