--- parts.lua: the functions that a difference is led back to, each with its line, its caller and what it calls.
--
-- Where call chains tell who calls, what a called function takes more is its caller's that calls it more often or with
-- more to do (ledger/origin.lua). A part has all that is led back to one function: parts add up like functions do.

local chains = require "pmclua.profile.chains"
local lists = require "pmclua.base.lists"
local origin = require "pmclua.ledger.origin"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.CausePart one function that some of the difference is led back to
---@field name string
---@field label string as no other function of the program is called
---@field source? string as the debug information has it
---@field line? integer the line to look at
---@field caller? string who calls it, where call chains tell
---@field callee? string what it calls that has most of it; nil: it has that itself
---@field calls? { a: number, b: number } how often it calls that; without a callee, how often its caller calls it
---@field a number mean of the baseline, of all functions that are led back to it
---@field b number
---@field difference number
---@field low? number of the difference
---@field high? number
---@field share? number of the whole difference

M.MOST = 3                      -- parts that are told
local MOST_LED = 50             -- functions that are led back, those that differ most
local LEAST_SHARE = 0.01

--- The code of a row: B's, or A's alone.
---@param row pmclua.LedgerRow
---@return pmclua.CodePlace?
function M.place_of(row) return row.line.other or row.line.place end

local place_of = M.place_of

local function lines_of(code, row)
  local own = place_of(row)
  local along = lists.where(code:ledger("inlined line").lines, function(line)
    local place = place_of(line)
    return place and place.line and place.of_key == own.key and line.difference * row.difference > 0
  end)
  return lists.map(along, function(line)
    return { source = place_of(line).source, line = place_of(line).line, grown = math.abs(line.difference) }
  end)
end

-- The same with what A's sources read like, where that is not known and can be told.
local function with_sources(code)
  local told = code.b and require("pmclua.ledger.unread").told(code.a, code.b) or code.a
  if told == code.a then return code end
  local own = lists.copy(code)
  own.a, own.ledgers, own.called = told, {}, nil
  return setmetatable(own, getmetatable(code))
end

local function origins_of(code)
  local has_chains = lists.all(code.profiles, function(profile) return profile.chains end)
  return has_chains
    and origin.new(code.a, code.b, require("pmclua.ledger.lines").pairing(code.a, code.b)) or nil
end

-- Where a row is led back to: its function, who calls that, and the lines that have it.
local function led_back(code, origins, row)
  local place = place_of(row)
  local key = origin.key(place)
  local way = origins and origins:way(key, row.difference > 0 and 1 or -1) or {}
  local k = origin.of(way)
  local step, above = way[k], way[k + 1]
  local is_own = not (step and step.callee)       -- the row's own place is the step's
  local led = { key = step and step.key or key, name = step and step.fn or place.fn, row = row,
    first = is_own and place.first or nil, source = is_own and place.source or nil,
    caller = above and above.full,
    callee = step and step.callee, calls = step and step.callee and step.calls or above and above.calls }
  local at = { source = step and step.source, line = step and step.line, grown = math.abs(row.difference) }
  led.lines = not led.callee and lines_of(code, row) or { at.line and at or nil }
  return led
end

local function sum(rows, field)
  local total = 0
  for _, row in ipairs(rows) do
    if not row[field] then return nil end
    total = total + row[field]
  end
  return total
end

local function part_of(origins, group, labels)
  local main, rows = group[1], lists.column(group, "row")
  local lines = lists.joined(lists.column(group, "lines"))
  table.sort(lines, function(x, y)
    return x.grown > y.grown or x.grown == y.grown and x.line < y.line
  end)
  local at = origins and origins:line(group.key, lines) or lines[1]
  return { name = main.name, label = labels[group.key] or main.name, source = at and at.source or main.source,
    line = at and at.line or main.first, caller = main.caller, callee = main.callee and
      chains.bare_name(main.callee), calls = main.calls, a = sum(rows, "a"), b = sum(rows, "b"),
    difference = sum(rows, "difference"), low = sum(rows, "low"), high = sum(rows, "high"),
    share = sum(rows, "share") }
end

--- The functions that the difference is led back to.
---@param given pmclua.CodeResult
---@return pmclua.CausePart[] what differs most first
---@return boolean reads_alike no function that was executed reads otherwise
function M.of(given)
  local code = with_sources(given)
  local ledger, labels = code:ledger "inlined", {}
  for _, row in ipairs(ledger.lines) do
    local place = place_of(row)
    if place then labels[origin.key(place)] = row.label end
  end
  local names = lists.where(ledger.conclusion.names, function(row) return place_of(row) ~= nil end)
  local origins = origins_of(code)
  local led = lists.map({ unpack(names, 1, MOST_LED) }, function(row) return led_back(code, origins, row) end)
  local groups = lists.groups(led, function(row) return row.key end)
  local parts = lists.map(groups, function(group) return part_of(origins, group, labels) end)
  local place_in = {}
  for i, part in ipairs(parts) do place_in[part] = i end
  table.sort(parts, function(x, y)
    local more, less = math.abs(x.difference), math.abs(y.difference)
    return more > less or more == less and place_in[x] < place_in[y]
  end)
  local told = lists.where({ unpack(parts, 1, M.MOST) }, function(part)
    return part.share == nil or math.abs(part.share) >= LEAST_SHARE
  end)
  return told, origins ~= nil and code == given and origins:reads_alike()
end

-- ---- words -------------------------------------------------------------------------------------------------

--- "parse.c:88"; nil where the line is not known.
---@param part pmclua.CausePart
---@return string?
function M.at(part)
  if not (part.source and part.line) then return nil end
  return ("%s:%d"):format(part.source:match "[^/]+$" or part.source, part.line)
end

local function do_differ(calls) return calls and calls.a ~= calls.b end

local function times(count) return text.count(count) .. (count == 1 and " time" or " times") end

-- ", which calls `realloc` 310 times instead of 100".
local function callee_words(part)
  if not part.callee then return "" end
  if do_differ(part.calls) then
    return (", which calls `%s` %s instead of %s"):format(part.callee, times(part.calls.b),
      text.count(part.calls.a))
  end
  return (", whose calls of `%s` cost %s"):format(part.callee, part.difference < 0 and "less" or "more")
end

local function caller_words(part)
  if not part.caller then return "" end
  local counts = not part.callee and do_differ(part.calls) and (", %s calls instead of %s")
    :format(text.count(part.calls.b), text.count(part.calls.a)) or ""
  return (", called by `%s`%s"):format(part.caller, counts)
end

--- "92 % of it in `grow` (buffer.c:120), which calls `realloc` 310 times instead of 100, called by `append`".
---@param part pmclua.CausePart
---@return string
function M.words(part)
  local at = M.at(part)
  return ("%s in `%s`%s%s%s"):format(part.share and text.percent(part.share) .. " of it"
    or text.value(part.difference, ""), part.label, at and (" (%s)"):format(at) or "", callee_words(part),
    caller_words(part))
end

return M
