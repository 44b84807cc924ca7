#!/usr/bin/env pmclua
-- Which events are there, what do they count, and which count here?
-- for: search
--
-- method: lists generic events from a table, events of PMUs from sysfs, tracepoints from tracefs, vendors'
--   events and metrics from the installed perf and from --vendor, and the rest from libpfm4. --available and
--   --explain try each event by opening it.
-- usage: pmclua events [OPTIONS] [WORD]...
-- example:
--   pmclua events branch miss
--   generic hardware events
--     branch-misses  mispredicted branch instructions
--   generic cache events
--     branch-load-misses  reads that miss the branch prediction unit
--   metrics (--metrics tells more)
--     branch_miss_rate  share of branches predicted wrongly
--
--   pmclua events --encode '{cycles,instructions}'
--     cycles        type=0 config=0x0
--     instructions  type=0 config=0x1  in the group of cycles
-- reading: the first column is the name to ask for. With words, only events whose name or description
--   contains all of them are listed, best match first. Events of libpfm4 may need a unit mask: search for
--   the event to see its masks.
-- caveats: a plain list does not say whether an event opens; use --available or --explain. An event that
--   opens may still be `unverified`: a code that nobody knows the PMU to have. --available leaves these out.

local pmc = require "pmclua"

-- Lists are short and their entries of many kinds: compiling the side exits of a loop early does not pay. On arm64
-- they may not be compiled at all (lua/README.md).
if jit.opt and jit.arch ~= "arm64" then jit.opt.start "hotexit=100" end

local SOURCES = { "hardware", "software", "cache", "tool", "pmu", "tracepoint", "vendor", "pfm", "valgrind",
  "syscalls", "metric", "group" }

local opt = pmc.options {
  { "source", choices = SOURCES, value = "S", help = "only events from this source" },
  { "pmu", value = "P", help = "only events of this PMU or tracepoint system (name or glob)" },
  { "all", false, help = "include libpfm4's events for other machines" },
  { "available", false, help = "only events that open on this machine" },
  "vendor",
  { "metrics", false, help = "list the named metrics, with their events and variants" },
  { "encode", value = "SPEC", help = "print the perf_event_attr of each event in SPEC" },
  { "explain", value = "SPEC", help = "explain what SPEC, or a metric or group, is, and whether it opens" },
  { "format", "table", choices = pmc.formats "screen", value = "F", help = "list format" },
  { "json", false, help = "the same as --format json" },
  { "word", {}, type = "string", argument = true, many = true, help = "words to search for" },
  experiment = false,
}

local as_json = opt.json or opt.format == "json"

-- ---- output ----

local function json(value)
  return require("dkjson").encode(value)
end

local function object(...)
  local value = {}
  for i = 1, select("#", ...), 2 do value[select(i, ...)] = (select(i + 1, ...)) end
  return setmetatable(value, { __jsontype = "object" })
end

-- One object a line: a list of thousands can be searched with grep.
local function print_array(lines)
  print "["
  for i, line in ipairs(lines) do print(line .. (i < #lines and "," or "")) end
  print "]"
end

-- A text in lines of at most `width` columns; a longer word stands alone.
local function wrapped(text, width)
  local lines, rest = {}, text
  while #rest > width do
    local last = rest:sub(1, width + 1):match "^.*()%s" or rest:find "%s"
    if not last then break end
    lines[#lines + 1] = rest:sub(1, last - 1):match "^.*%S" or ""
    rest = rest:match("^%s*(.*)", last)
  end
  lines[#lines + 1] = rest:match "^.*%S" or ""
  return lines
end

local SCREEN, WIDEST, INDENT = 80, 40, 2
local INDENTED = (" "):rep(INDENT)

-- Adds a row to lines: a name, with its description beside it, or below where the name is too wide.
local function add_row(lines, width, name, description)
  local margin, head = INDENT + width + 2, INDENTED .. name
  if description == "" or #head > margin - 2 then
    lines[#lines + 1] = head
    head = ""
  end
  if description == "" then return end
  for _, line in ipairs(wrapped(description, SCREEN - margin)) do
    lines[#lines + 1] = head .. (" "):rep(margin - #head) .. line
    head = ""
  end
end

-- Prints rows, or those from one to another, each with a `spec` and its `description`.
local function print_columns(rows, first, last)
  local width, lines = 0, {}
  first, last = first or 1, last or #rows
  for i = first, last do
    local length = #rows[i].spec
    if length <= WIDEST and length > width then width = length end
  end
  for i = first, last do add_row(lines, width, rows[i].spec, rows[i].description) end
  io.write(table.concat(lines, "\n"), "\n")
end

-- The number of characters of a UTF-8 text.
local function letters(text) return #text:gsub("[\128-\191]", "") end

local BEFORE = 36

-- The part of a spec around a place that fits the screen, and the place in it.
local function excerpt(spec, place)
  if #spec <= SCREEN - INDENT then return spec, place end
  local first = math.max(1, place - BEFORE)
  while spec:find("^[\128-\191]", first) and first > 1 do first = first - 1 end
  local dots = first > 1 and "..." or ""
  return dots .. spec:sub(first, first + SCREEN - INDENT - 10), place - first + 1 + #dots
end

-- Ends with what is wrong with a spec, and a mark below it.
local function refuse(spec, problem)
  local from, to = problem.position, problem.position + problem.length - 1
  local wrong, hint = spec:sub(from, to), problem.hint or ""
  if pmc.metrics.find(wrong) then
    hint = ("; it is a metric: pmclua events --metrics %s"):format(wrong)
  elseif hint ~= "" then
    hint = hint:find " " and "; " .. hint or ("; did you mean '%s'?"):format(hint)
  end
  local around, place = excerpt(spec, from)
  local marked = around:sub(place, place + problem.length - 1)
  local mark, indent = "^" .. ("~"):rep(letters(marked) - 1), (" "):rep(letters(around:sub(1, place - 1)))
  pmc.fail(("%s%s\n  %s\n  %s%s"):format(problem.message, hint, around:gsub("%c", "?"), indent, mark))
end

local function parse(spec)
  local events, problem = pmc.events.parse(spec)
  if not events then refuse(spec, problem) end
  return events
end

-- ---- one spec ----

local IN_HEX = { config1 = true, config2 = true, config3 = true, config4 = true, bp_addr = true }

local function attr_text(event)
  if event.tool then return "no attr: read from the record" end
  if event.simulated then return "no attr: Valgrind's " .. table.concat(event.simulated, " + ") end
  local fields = {}
  for name, value in pairs(event.attr) do
    if name ~= "type" and name ~= "config" then
      local form = type(value) == "string" and "%s=%s" or IN_HEX[name] and "%s=0x%x" or "%s=%d"
      fields[#fields + 1] = form:format(name, value)
    end
  end
  table.sort(fields)
  return ("type=%d config=0x%x %s"):format(event.attr.type, event.attr.config, table.concat(fields, " "))
end

local function encode(spec)
  local events = parse(spec)
  if as_json then return print(pmc.events.json(events, spec)) end
  local rows = {}
  for i, event in ipairs(events) do
    local leader = event.leader and (" in the group of %s"):format(events[event.leader].name) or ""
    rows[i] = { spec = event.name, description = attr_text(event) .. leader }
  end
  print_columns(rows)
end

local function explanation_object(explained)
  local fields = {}
  for i, field in ipairs(explained.fields) do
    fields[i] = object("name", field.name, "value", field.value, "why", field.why)
  end
  local event = explained.event
  return object("name", event.name, "spec", pmc.events.format(event), "source", event.source,
    "pmu", event.pmu, "counts", explained.counts, "unit", event.unit, "scale", event.scale,
    "verified", event.verified, "fields", fields, "notes", explained.notes, "status", explained.status,
    "why", explained.why, "reason", explained.reason, "hint", explained.hint, "note", explained.note)
end

-- The refusal in short, and a hint; `before` is the explanation printed last.
local function refusal_of(explained, before)
  local note = explained.note and ": " .. explained.note or ""
  if not explained.reason then return explained.status .. note end
  if before and before.reason == explained.reason then
    return ("%s, as %s"):format(explained.status, before.event.name)
  end
  return ("%s: %s%s"):format(explained.status, explained.reason, note), explained.hint
end

local function print_explanation(explained, before)
  local rows = {}
  local function row(title, text) rows[#rows + 1] = { spec = title, description = text } end
  if explained.counts ~= "" then row("counts", explained.counts) end
  for _, field in ipairs(explained.fields) do row(field.name, ("%s: %s"):format(field.value, field.why)) end
  for _, note in ipairs(explained.notes) do row("note", note) end
  local here, help = refusal_of(explained, before)
  row("here", here)
  if help then row("help", help) end
  row("plainly", pmc.events.format(explained.event))
  print(explained.event.name)
  print_columns(rows)
end

local function print_metric(metric, variants)
  local unit = metric.unit ~= "" and (" [%s]"):format(metric.unit) or ""
  local title = wrapped(("%s%s: %s"):format(metric.name, unit, metric.meaning or ""), SCREEN - INDENT)
  print(table.concat(title, "\n" .. (" "):rep(INDENT)))
  for _, variant in ipairs(variants) do
    local where = variant.where and (" (%s)"):format(variant.where) or ""
    local events = table.concat(variant.events, ", ")
    for _, line in ipairs(wrapped(("= %s"):format(variant.formula), 74)) do print("    " .. line) end
    for _, line in ipairs(wrapped(("of %s%s"):format(events, where), 74)) do print("    " .. line) end
  end
  local function say(what, text)
    if not text or text == "" then return end
    for _, line in ipairs(wrapped(("%s %s"):format(what, text), 74)) do print("    " .. line) end
  end
  say("a problem where", metric.threshold and metric.threshold.text)
  say("in", table.concat(metric.groups or {}, ", "))
  say("part of", metric.parent)
  say("not in one group:", metric.constraint)
  say("from", metric.table)
end

local function metric_line(metric, variants)
  local all = {}
  for i, variant in ipairs(variants) do
    all[i] = object("formula", variant.formula, "events", variant.events, "where", variant.where)
  end
  return json(object("name", metric.name, "unit", metric.unit, "meaning", metric.meaning,
    "formula", variants[1].formula, "events", variants[1].events, "variants", all, "groups", metric.groups,
    "threshold", metric.threshold and metric.threshold.text, "parent", metric.parent, "table", metric.table))
end

-- SPEC may name a group of a file, a vendor's metric, a group of metrics, or several of these.
local function metrics_of(spec)
  local of_file, wrong = pmc.metrics.of_group(spec)
  if wrong then pmc.fail(wrong) end
  if of_file then return of_file end
  local first, why = pmc.metrics.find(spec)
  if why then pmc.fail(why) end
  local members = { first }
  for _, name in ipairs(not (first and not first.table) and pmc.metrics.group(spec) or {}) do
    if not first or name ~= first.name then members[#members + 1] = pmc.metrics.find(name) end
  end
  return members
end

local function explain_metrics(spec)
  local members = metrics_of(spec)
  for _, metric in ipairs(members) do
    if as_json then print(metric_line(metric, metric.variants)) else print_metric(metric, metric.variants) end
  end
  return #members > 0
end

local function explain(spec)
  if not pmc.events.parse(spec) and explain_metrics(spec) then return end
  parse(spec)
  local explanations = pmc.events.explain(spec)
  if as_json then
    for i, explained in ipairs(explanations) do explanations[i] = json(explanation_object(explained)) end
    return print_array(explanations)
  end
  for i, explained in ipairs(explanations) do print_explanation(explained, explanations[i - 1]) end
end

-- ---- lists ----

local HEADINGS = {
  hardware = "generic hardware events", software = "events of Linux", cache = "generic cache events",
  tool = "of every record", valgrind = "events that Valgrind simulates",
  syscalls = "system calls of a command, counted by ptrace",
  metric = "metrics (--metrics tells more)", group = "groups of metrics (--explain NAME tells more)",
  tracepoint = "tracepoints",
  pmu = "of the PMU %s", vendor = "that tables name for the PMU %s", pfm = "of libpfm4's PMU %s",
}

local function heading_of(entry)
  return HEADINGS[entry.source]:format(entry.pmu) .. (entry.present and "" or ", which is not here")
end

local function shares_heading(entry, other)
  return entry.source == other.source and entry.present == other.present
    and (entry.pmu == other.pmu or entry.source == "tracepoint")
end

local function print_entries(entries)
  local first = 1
  for i, entry in ipairs(entries) do
    local following = entries[i + 1]
    if not following or not shares_heading(following, entry) then
      print(heading_of(entry))
      print_columns(entries, first, i)
      first = i + 1
    end
  end
end

local function entry_lines(entries)
  local quote, lines = require("dkjson").quotestring, {}
  for i, entry in ipairs(entries) do
    lines[i] = ('{"spec":%s,"name":%s,"source":"%s","pmu":%s,"description":%s,"present":%s}'):format(
      quote(entry.spec), quote(entry.name), entry.source, entry.pmu and quote(entry.pmu) or "null",
      quote(entry.description), tostring(entry.present))
  end
  return lines
end

-- ---- metrics ----

local function opens(variant)
  for _, spec in ipairs(variant.events) do
    if not pmc.events.available((spec:gsub("^[%w_]+ = ", ""))) then return false end
  end
  return true
end

local function chosen_variant(metric)
  for _, variant in ipairs(metric.variants) do
    if opens(variant) then return variant end
  end
end

local function has_words(metric)
  for _, word in ipairs(opt.word) do
    local groups = table.concat(metric.groups or {}, " ")
    local text = ("%s %s %s"):format(metric.name, metric.meaning or "", groups):lower()
    if not text:find(word:lower(), 1, true) then return false end
  end
  return true
end

local function entry_of(source, metric)
  return { spec = metric.name, name = metric.name, source = source, present = true,
    description = metric.meaning or "" }
end

-- Groups of files as entries of a list: which metrics they have, --explain says.
local function group_entries()
  local entries = {}
  for _, group in ipairs(pmc.metrics.group_list()) do
    if has_words(group) then entries[#entries + 1] = entry_of("group", group) end
  end
  return entries
end

local function nothing_found()
  local words = table.concat(opt.word, " ")
  local near = pmc.events.nearest(words)
  local hint = near and ("; did you mean '%s'?"):format(near) or ""
  local kind = opt.source and opt.source .. " event" or "event"
  local where = opt.pmu and (" of a PMU or tracepoint system '%s'"):format(opt.pmu) or ""
  if words == "" then pmc.fail(("no %s%s %s here"):format(kind, where, opt.available and "opens" or "is")) end
  local opening = opt.available and " that opens here" or ""
  pmc.fail(("no %s%s%s is called or described '%s'%s"):format(kind, where, opening, words, hint))
end

-- pmclua's own metrics and the vendor's, those that have all the words: name, meaning, groups.
local function found_metrics()
  local matching = {}
  for _, list in ipairs { pmc.metrics.own_list(), pmc.metrics.vendor_list() } do
    for _, metric in ipairs(list) do
      if has_words(metric) then matching[#matching + 1] = metric end
    end
  end
  return matching
end

-- Named metrics as entries of a list.
local function metric_entries()
  local entries = {}
  for _, listed in ipairs(found_metrics()) do
    local metric = opt.available and pmc.metrics.find(listed.name)
    if not opt.available or metric and chosen_variant(metric) then
      entries[#entries + 1] = entry_of("metric", listed)
    end
  end
  return entries
end

local function list()
  local entries = {}
  if opt.source ~= "metric" and opt.source ~= "group" then
    local filter = { source = opt.source, pmu = opt.pmu, all = opt.all, available = opt.available }
    entries = pmc.events.find(table.concat(opt.word, " "), filter)
    for _, silence in ipairs(pmc.events.silences(filter)) do pmc.say(silence) end
  end
  for _, kind in ipairs { { "metric", metric_entries }, { "group", group_entries } } do
    local is_wanted = not opt.pmu and (not opt.source or opt.source == kind[1])
    for _, entry in ipairs(is_wanted and kind[2]() or {}) do entries[#entries + 1] = entry end
  end
  if #entries == 0 then nothing_found() end
  if as_json then return print_array(entry_lines(entries)) end
  print_entries(entries)
end

-- ---- metrics, with all that is known of them ----

-- The variants to show: with --available only the one whose events open here, if any.
local function shown_variants(metric)
  if not opt.available then return metric.variants end
  return { chosen_variant(metric) }
end

local function metrics()
  local lines, has_any = {}, false
  for _, listed in ipairs(found_metrics()) do
    local metric, why = pmc.metrics.find(listed.name)
    local variants = metric and shown_variants(metric) or {}
    if why then pmc.say(why) end
    has_any = has_any or #variants > 0
    if #variants > 0 and as_json then
      lines[#lines + 1] = metric_line(metric, variants)
    elseif #variants > 0 then
      print_metric(metric, variants)
    end
  end
  if as_json then return print_array(lines) end
  if not has_any then
    local what = #opt.word > 0 and (" is called or described '%s'"):format(table.concat(opt.word, " ")) or ""
    pmc.fail(("no metric%s%s"):format(what, opt.available and " whose events open here" or ""))
  end
end

-- ---- what was asked ----

local of_list = opt.source or opt.pmu or opt.all
local is_search = of_list or opt.available or opt.metrics or #opt.word > 0
if (opt.encode or opt.explain) and is_search or opt.encode and opt.explain then
  pmc.fail("--encode and --explain are questions of their own: ask one alone", 2)
end
if opt.metrics and of_list then pmc.fail("--metrics has no --source, --pmu or --all", 2) end

if opt.encode then encode(opt.encode)
elseif opt.explain then explain(opt.explain)
elseif opt.metrics then metrics()
else list() end
