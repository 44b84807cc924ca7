--- notes.lua: what a code ledger concludes, how to read it, and what is missing from it.

local chains = require "pmclua.profile.chains"
local lists = require "pmclua.base.lists"
local reading = require "pmclua.counting.reading"
local rule = require "pmclua.ledger.rule"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local LEAST = 0.01               -- of what the largest line differs by: less is in the table, and in no sentence

local function names_of(all)
  local largest = 0
  for _, row in ipairs(all) do largest = math.max(largest, math.abs(row.difference)) end
  local rows = lists.where(all, function(row) return math.abs(row.difference) >= LEAST * largest end)
  local list = lists.map({ unpack(rows, 1, #rows > 6 and 5 or 6) }, function(row)
    local label = text.safe(row.label)
    return row.share and ("%s (%s)"):format(label, text.percent(row.share)) or label
  end)
  if #rows > 6 then list[6] = ("%d more"):format(#rows - 5) end
  return text.list(list)
end

local CONCLUSIONS = {
  named = function(conclusion) return "the difference is in " .. names_of(conclusion.names) end,
  spread = function() return "the total differs and no line does: the difference is spread over many" end,
  none = function() return "no line differs, nor does the total" end,
  incomplete = function(conclusion) return "nothing is concluded: " .. text.safe(conclusion.why) end,
}

-- "parse.c, list.c and 7 other files"
local function sources_words(sources)
  local names = lists.map({ unpack(sources, 1, #sources > 4 and 3 or 4) }, function(source)
    return text.safe(source:match "[^/]+$" or source)
  end)
  if #sources > 4 then names[4] = ("%d other files"):format(#sources - 3) end
  return text.list(names)
end

--- Below the table: how to read it.
---@param ledger pmclua.Ledger
---@return string[]
function M.of_table(ledger)
  local list = {}
  if ledger.few > 0 then list[1] = ("others: fewer than %d samples each in all repetitions together"):format(
    rule.FEWEST_SAMPLES) end
  for _, set in ipairs(ledger.uncompared) do
    list[#list + 1] = ("functions with lines of %s are one line each: %s"):format(sources_words(set.sources),
      text.safe(set.why))
  end
  if lists.any(ledger.lines, function(row) return row.line.is_changed end) then
    list[#list + 1] = "changed: a line that stands where another stood in A"
  end
  if lists.any(ledger.lines, function(row) return row.line.is_guess and not row.line.is_changed end) then
    list[#list + 1] = "a guess: a function of another build whose source lines and callers are the same, but "
      .. "for its name"
  end
  return ledger.n_b and lists.append(list, words.ledger_notes(ledger)) or list
end

local NOTABLE = 0.01            -- of the total

local HINTS = {
  kernel_unsampled = "the event counts it all the same; to sample it, "
    .. "run as root or set kernel.perf_event_paranoid to 1",
  lost = "shorter runs lose fewer, and root's rings are larger",
  throttled = "Linux throttled sampling: see kernel.perf_event_max_sample_rate",
  tasks_too_short = "each thread and process starts a period anew: many short ones leave few samples; "
    .. "where some were started, it may also be less",
}

local LATE = "they were due by the count, and the PMU's interrupts came late or not at all"
local INSTEAD = LATE .. ": sample cycles"

local function is_cycles(event)
  local spec = event.spec or event.name
  return spec:find "^cycles" ~= nil or spec:find "cpu[-_]cycles" ~= nil
end

-- Advice by reason. Samples of Linux's own events are lost by rings alone.
local function hint_of(reason, code)
  local event = code.result.event_by_field[text.field(code.event)]
  local are_full = lists.any(code.result.remarks or {}, function(remark)
    return remark:find("rings were full", 1, true)
  end)
  local is_late = reason == "lost" and not are_full and event and reading.most_per_ns(event) ~= nil
  if not is_late then return HINTS[reason] end
  return is_cycles(event) and LATE or INSTEAD
end

local function add_rest(list, code, ledger)
  for _, row in ipairs(ledger.rest) do
    local hint = hint_of(tostring(row.key):gsub("^rest ", ""), code)
    local of_a, of_b = math.max(1, ledger.total.a), math.max(1, ledger.total.b or 0)
    local share = math.max(row.a / of_a, (row.b or 0) / of_b)
    if hint and share > NOTABLE then
      list[#list + 1] = ("%s: %s of the total; %s"):format(row.label, text.percent(share), hint)
    end
  end
end

-- How to give names to code without any; nil: it has some, or a remark already says why not.
local function remedy_of(place)
  if not (place and (place.nameless or place.is_joined)) then return nil end
  if place.path == "[memory]" then
    return "code made at run time, without names: have its program write /tmp/perf-PID.map (node "
      .. "--perf-basic-prof)"
  end
  return place.fn ~= place.path:match "[^/]+$" and "code without names: install its debug symbols (Debian: "
    .. "PACKAGE-dbgsym), or compile without stripping" or nil
end

local function add_nameless(list, ledger)
  local counts = {}
  for _, row in ipairs(ledger.lines) do
    local remedy = remedy_of(row.line.place or row.line.other)
    if remedy then counts[remedy] = (counts[remedy] or 0) + row.a end
  end
  for _, remedy in ipairs(lists.keys(counts)) do
    local share = counts[remedy] / math.max(1, ledger.total.a)
    if share > 0.2 then list[#list + 1] = ("%s of the total is in %s"):format(text.percent(share), remedy) end
  end
end

local FRAMELESS = "where code without frame pointers uses the stack, as the C library's malloc does, its "
  .. "caller is left out"

local function add_chains(list, code)
  local complete, whole = chains.complete(code.profiles)
  if not complete then return end
  local share = complete / math.max(1, whole)
  local rest = share > 0.995 and ""
    or ("; the rest is under %s: compile with -fno-omit-frame-pointer"):format(chains.UNKNOWN)
  list[#list + 1] = ("call chains (formats folded, speedscope): %s complete, from the start of program or "
    .. "thread%s"):format(text.percent(share), rest)
  if code.profiles[1].source == "samples" then list[#list + 1] = FRAMELESS end
end

local function add_grown(list, callers)
  local grown = callers and callers.grown
  if not grown then return end
  local chain = text.safe(table.concat(grown.names, " > "))
  if grown.maker == grown.leaf then
    list[#list + 1] = ("%s makes the difference: %s of it (%s)"):format(text.safe(grown.maker),
      text.percent(grown.leaf_share), chain)
    return
  end
  local has_more = grown.calls and grown.calls.a ~= grown.calls.b
  local calls = has_more and (", %s calls instead of %s"):format(text.count(grown.calls.b),
    text.count(grown.calls.a)) or ""
  list[#list + 1] = ("%s makes the difference: with what it calls it has %s of it, %s has %s (%s%s)"):format(
    text.safe(grown.maker), text.percent(grown.maker_share), text.safe(grown.leaf),
    text.percent(grown.leaf_share), chain, calls)
end

--- On the whole: the conclusion last.
---@param code pmclua.CodeResult
---@param ledger pmclua.Ledger
---@return string[]
function M.of_code(code, ledger)
  local list = {}
  add_nameless(list, ledger)
  add_rest(list, code, ledger)
  add_chains(list, code)
  if code.missing > 0 then
    list[#list + 1] = ("left out: %s without a partner in its block"):format(text.plural(code.missing,
      "repetition"))
  end
  lists.append(list, lists.map(code.result.remarks or {}, text.safe))
  local say = CONCLUSIONS[ledger.conclusion.kind]
  if say then list[#list + 1] = say(ledger.conclusion) end
  add_grown(list, code:callers())
  return list
end

return M
