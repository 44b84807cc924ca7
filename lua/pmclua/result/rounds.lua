--- rounds.lua: results of the same cells that were measured one after the other, as one result.
--
-- Invariant: no number is changed. The passes of a later round are further passes of the first; an event that
-- several rounds have (an anchor) is one event of all their passes, so what shows that passes did the same work
-- shows it of rounds as well. Repetitions are matched by their number.

local lazy = require "pmclua.base.lazy"
local lists = require "pmclua.base.lists"
local merge = require "pmclua.result.merge"
local results = require "pmclua.result"

local M = {}

---@class pmclua.Round
---@field result pmclua.Result
---@field records table[] all of it, warm-ups and failures too

-- Where each event of a round stands among those of all: by field. One that a round could not count may be
-- counted in another.
local function add_events(header, events)
  local at, places = {}, {}
  for i, event in ipairs(header.events) do at[event.field] = i end
  for i, event in ipairs(events) do
    local place = at[event.field]
    if not place then
      place = #header.events + 1
      header.events[place] = event
    elseif header.events[place].status and not event.status then
      header.events[place] = event
    end
    places[i] = place
  end
  return places
end

local function moved(list, places)
  return lists.map(list, function(index) return places[index] end)
end

local function name_of(source) return type(source) == "table" and source.name or source end

local function add_metrics(header, metrics)
  local seen = lists.set(lists.map(header.metrics, name_of))
  lists.append(header.metrics, lists.where(metrics, function(source) return not seen[name_of(source)] end))
end

local function keep_anchors(header, places, round)
  local own = #round.pass_events > 1 and round.anchors or round.pass_events[1] or {}
  local is_anchor = lists.set(moved(own, places))
  header.anchors = lists.where(header.anchors, function(index) return is_anchor[index] end)
end

local function first_header(round)
  local header = lists.copy(lazy.complete(round))
  for _, name in ipairs { "events", "pass_events", "metrics" } do header[name] = lists.copy(round[name]) end
  if #round.pass_events == 1 then header.anchors = lists.copy(round.pass_events[1]) end
  header.overhead = round.overhead and lists.copy(round.overhead)
  return header
end

local function moved_record(record, places, pass, order)
  local mine = merge.renumber_events(lists.copy(record), places)
  mine.pass, mine.order = record.pass + pass, record.order + order
  mine.threads = record.threads and lists.map(record.threads, function(thread)
    return merge.renumber_events(lists.copy(thread), places)
  end)
  return mine
end

-- The cost of counting by event: false where it is unknown.
local function moved_overhead(overhead, places, count)
  if not overhead then return false end
  local mine = lists.copy(overhead)
  for _, part in ipairs { "median", "minimum" } do
    local moved_part = merge.renumbered(overhead[part], places)
    mine[part] = {}
    for index = 1, count do mine[part][index] = moved_part[index] or false end
  end
  return mine
end

local function add_round(header, round)
  local own, before = round.result.header, #header.pass_events
  local places = add_events(header, own.events)
  for i, events in ipairs(own.pass_events) do
    header.pass_events[before + i] = moved(events, places)
    if header.overhead then
      header.overhead[before + i] = moved_overhead((own.overhead or {})[i], places, #header.events)
    end
  end
  add_metrics(header, own.metrics)
  keep_anchors(header, places, own)
  return places, before
end

--- Rounds as one result, in the order of time.
---@param rounds pmclua.Round[]
---@return pmclua.Result
function M.join(rounds)
  if #rounds == 1 then return rounds[1].result end
  local header, moves, order = first_header(rounds[1].result.header), {}, 0
  for i = 2, #rounds do moves[i] = { add_round(header, rounds[i]) } end
  local joined, last = results.new(header), rounds[#rounds].result
  for i, round in ipairs(rounds) do
    local places, pass = unpack(moves[i] or {})
    local highest = order
    for _, record in ipairs(round.records) do
      local mine = places and moved_record(record, places, pass, order) or record
      highest = math.max(highest, mine.order)
      results.add(joined, mine)
    end
    order = highest
  end
  local remarks = lists.map(rounds, function(round) return round.result.remarks end)
  joined.remarks = lists.unique(lists.joined(remarks))
  require("pmclua.result.ending").share(joined, last)
  return joined
end

return M
