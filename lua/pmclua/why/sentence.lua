--- sentence.lua: what the ledgers come to, in a sentence that follows from them and from nothing else.

local lists = require "pmclua.base.lists"
local rule = require "pmclua.ledger.rule"
local text = require "pmclua.base.text"

local M = {}

local MOST_NAMES = 3

local function percent(share)
  local value = math.abs(share) * 100
  return (value < 99.5 and "%.2g" or "%.0f"):format(value)
end

-- "12 % longer [11 … 13]", "3.9 times as long [3.4 … 4.3]"; nil where it is not known that they differ.
local function change_of(total)
  if not (total.low and (total.low > 0 or total.high < 0)) or total.a <= 0 then return nil end
  local share, low, high = total.difference / total.a, total.low / total.a, total.high / total.a
  if share >= 1 then
    return ("%.2g times as long [%.2g … %.2g]"):format(1 + share, 1 + low, 1 + high)
  end
  if share < 0 then low, high = high, low end
  return ("%s %% %s [%s … %s]"):format(percent(share), share > 0 and "longer" or "less time", percent(low),
    percent(high))
end

local function place_of(row)
  local place = row.line.other or row.line.place
  local first = place and place.first
  return first and (" (line %d)"):format(first) or ""
end

local function calls_of(line)
  local count = line.count
  if not count or math.floor(count.a + 0.5) == math.floor(count.b + 0.5) then return "" end
  return (" (%s calls, %s before)"):format(text.count(math.floor(count.b + 0.5)),
    text.count(math.floor(count.a + 0.5)))
end

-- "in `parse` (line 88)", "blocked in futex", "waiting for a CPU": where the time of a line is.
local SAY = {
  code = function(row) return ("in `%s`%s"):format(row.line.name or row.label, place_of(row)) end,
  call = function(row)
    local line = row.line
    local blocked = math.abs(line.blocked.b - line.blocked.a) > math.abs(row.difference) / 2
    return ("%s %s%s"):format(blocked and "blocked in" or "in", line.name, blocked and "" or calls_of(line))
  end,
  faults = function(row) return "in " .. row.line.name end,
  together = function(row) return "for " .. row.line.name end,
}

local function where_of(row)
  local say = SAY[row.line.kind]
  return say and say(row) or row.line.name or row.label
end

-- A line's amount, with "more" or "less" unless it goes along with the whole difference.
local function part_of(row, whole)
  local amount = text.time(math.abs(row.difference))
  local goes_along = whole and (row.difference > 0) == (whole.difference > 0)
  local change = goes_along and "" or row.difference > 0 and " more" or " less"
  return ("%s%s %s"):format(amount, change, where_of(row))
end

local function parts_of(names, whole)
  local parts = {}
  for i = 1, math.min(#names, MOST_NAMES) do parts[i] = part_of(names[i], whole) end
  if #names > MOST_NAMES then parts[#parts + 1] = ("and %d more"):format(#names - MOST_NAMES) end
  return table.concat(parts, ", ")
end

-- The simulated counts go with compute: they say what kind it is.
local function with_suspect(why, first)
  if not (first and first.line.kind == "code") then return "" end
  for _, suspect in ipairs(why.suspects) do
    local is_telling = suspect.ratio and (suspect.name:find "misses" or suspect.name:find "instructions")
      and (suspect.ratio > 1) == (first.difference > 0)
    if is_telling and math.abs(math.log(suspect.ratio)) > 0.05 then
      return ("; with %.2g x the %s"):format(suspect.ratio, suspect.title)
    end
  end
  return ""
end

local NOTHING = {
  none = "nothing differs: neither the time nor any of its parts",
  spread = "no single line explains it: it is spread over many, or in what was not measured",
  few = ("fewer than %d pairs: no line can be named"):format(rule.FEWEST_PAIRS),
}

-- "; its first thread waits 8.1 ms more in futex for the end of thread 2, at work". That others wait for a CPU comes
-- with a busy machine.
local function with_waits(why)
  local first = lists.find(why.waits and why.waits.conclusion.names or {}, function(row)
    return not row.trifle and row.line.chain.what ~= "ready"
  end)
  if not first then return "" end
  local call, rest = first.label:match "^(.-): (.*)$"
  return ("; its first thread waits %s %s in %s %s%s"):format(text.time(math.abs(first.difference)),
    first.difference > 0 and "more" or "less", call, rest:find "^for" and "" or "for the ", rest)
end

local MUCH = 0.1

-- Waiting caused by more work is no cause, but may be much of the difference.
local function with_waiting(why)
  for _, row in ipairs(why.ledger.rest) do
    if row.key == "brought" and row.share and row.share >= MUCH then
      return ("; %s %% is waiting for CPUs that comes with it"):format(percent(row.share))
    end
  end
  return ""
end

local function with_cycles(why)
  local cycles = why.cycles
  local first = cycles and cycles.conclusion.names[1]
  if not (first and first.share and cycles.total.a > 0) then return "" end
  local total = cycles.total
  return ("; of %s %% %s %s %s %% are %s"):format(percent(total.difference / total.a),
    total.difference > 0 and "more" or "fewer", cycles.of, percent(first.share), first.line.name)
end

local function of_time(why)
  if not why.ledger then return "Why they differ is not known: their time was not measured" end
  local change, conclusion = change_of(why.time.total), why.ledger.conclusion
  local head = change and ("%s takes %s"):format(why.b:label(), change)
    or ("%s takes as long as %s, as far as %d %s tell"):format(why.b:label(), why.a:label(), why.n,
      why.paired and "pairs" or "repetitions")
  if conclusion.kind == "named" then
    local total = change and why.time.total
    local amount = total and ", " .. text.time(math.abs(total.difference)) or ""
    return ("%s%s: %s%s%s%s"):format(head, amount, parts_of(conclusion.names, total), with_waits(why),
      with_waiting(why), with_suspect(why, conclusion.names[1]))
  end
  if not change and conclusion.kind ~= "few" then return ("%s; no line of it differs"):format(head) end
  return ("%s; %s"):format(head, NOTHING[conclusion.kind] or NOTHING.spread)
end

--- The closing sentence.
---@param why pmclua.Why
---@return string
function M.of(why) return of_time(why) .. with_cycles(why) .. "." end

return M
