--- followed.lua: what following the calls of a run's functions found, to lines of a result file before the repetition's
--- own, and back.
--
-- Invariant: what is written reads back equal, calls that were kept included; every member that is read has its kind,
-- and every list by column of a call has as many columns.

local core = require "pmclua.core"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local regions = require "pmclua.core.regions"
local taken = require "pmclua.store.taken"

local M = {}

local ORDER = { "kind", "cell", "pass", "index", "warmup", "path", "width", "costs_from", "samples", "lost",
  "columns", "regions", "calls", "more" }
local NUMBERS = { "samples", "lost", "threads_seen", "observed_ns", "target_ended" }
local COPIED = lists.joined { NUMBERS, { "path", "width", "costs_from", "columns", "cost_unknown", "skipped",
  "remarks" } }
local WORDS_ON_LINE = 2 ^ 16

-- ---- writing -------------------------------------------------------------------------------------------

-- The same with each count above 2^53, which JSON readers would round, as "0x…".
local function plain(value)
  if type(value) == "cdata" then return ("0x%x"):format(value) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = plain(item) end
  return copy
end

local function put_line(buffer, record, entry)
  entry.kind, entry.cell, entry.pass, entry.index = "followed", record.cell, record.pass, record.index
  entry.warmup = record.warmup == true
  buffer:put(json.encode(plain(entry), { order = ORDER }), "\n")
end

--- Adds the lines of a record's calls.
---@param record table store/README.md, "The record", with `followed`
---@param buffer userdata a string.buffer
function M.write(record, buffer)
  local followed, entry = record.followed, { regions = { unpack(record.followed) }, costs = {} }
  local words = followed.calls:words()
  for first = 1, #words, WORDS_ON_LINE do
    local piece = {}
    for i = first, math.min(#words, first + WORDS_ON_LINE - 1) do piece[#piece + 1] = words[i] end
    put_line(buffer, record, { calls = piece, more = true })
  end
  for _, name in ipairs(COPIED) do entry[name] = followed[name] end
  for region, columns in pairs(followed.costs) do
    entry.costs[#entry.costs + 1] = { region = region, columns = columns }
  end
  put_line(buffer, record, entry)
end

-- ---- reading -------------------------------------------------------------------------------------------

-- Kinds are functions that give the value, or nil where it is not of that kind. `width`: columns of a call.

local function text(value) return taken.is_text(value) and value or nil end

local function number(value)
  return type(value) == "number" and math.abs(value) < math.huge and value or nil
end

local function exact(value)
  if taken.is_wide(value) then return core.u64(value) end
  return taken.is_offset(value) and value or nil
end

local function count(value) return type(value) == "number" and exact(value) or nil end

local function flag(value)
  if type(value) == "boolean" then return value end
end

-- A list, of as many items as a call has columns where `by_column`.
local function list(kind, by_column)
  return function(value, width)
    if type(value) ~= "table" or by_column and #value ~= width then return nil end
    local items = {}
    for i, item in ipairs(value) do
      items[i] = kind(item, width)
      if items[i] == nil then return nil end
    end
    return items
  end
end

local function object(members, optional)
  return function(value, width)
    if type(value) ~= "table" then return nil end
    local read = {}
    for name, kind in pairs(members) do
      read[name] = kind(value[name], width)
      if read[name] == nil then return nil end
    end
    for name, kind in pairs(optional or {}) do
      if value[name] ~= nil then
        read[name] = kind(value[name], width)
        if read[name] == nil then return nil end
      end
    end
    return read
  end
end

local function named_counts(value)
  if type(value) ~= "table" then return nil end
  for name, column in pairs(value) do
    if type(name) ~= "string" or not count(column) then return nil end
  end
  return value
end

local spread = object({ n = exact, sum = exact,
  buckets = list(object { low = exact, next_low = exact, count = exact }) }, { min = exact, max = exact })

local thread = object { pid = number, tid = number, name = text, calls = exact, outermost = list(exact, true),
  self = list(exact, true) }

local function region_members()
  local members = { name = text, notes = list(text), is_pair = flag, threads = list(thread),
    total = list(spread, true), self = list(spread, true), outermost = list(exact, true),
    unsure_sums = list(exact, true), spent = list(exact, true) }
  for _, name in ipairs(regions.FACTS) do members[name] = exact end
  return members
end

local region = object(region_members(), { file = text, loading = text })

local cost = object { entry = number, both = number, inside = number, spread = number,
  inside_spread = number }

local function whole_members()
  local members = { path = text, regions = list(region), columns = named_counts, skipped = list(text),
    remarks = list(text), costs = list(object { region = count, columns = list(cost) }) }
  for _, name in ipairs(NUMBERS) do members[name] = exact end
  return members
end

local whole = object(whole_members(), { costs_from = count, cost_unknown = text })

local function refuse() error("what following calls found is not what it should be", 0) end

local function check_columns(read, width)
  for _, column in pairs(read.columns) do
    if column < 1 or column > width then refuse() end
  end
  if read.costs_from and read.costs_from * 2 ~= width then refuse() end
end

--- Takes the object of a line.
---@param entry table
---@param words? table the calls of the lines before it
---@return pmclua.Followed? followed nil: more lines come
---@return table words
function M.read(entry, words)
  words = words or {}
  lists.append(words, list(exact)(entry.calls or {}) or refuse())
  if entry.more == true then return nil, words end
  local width = count(entry.width) or refuse()
  local read = whole(entry, width) or refuse()
  check_columns(read, width)
  local followed = { unpack(read.regions) }
  for _, name in ipairs(COPIED) do followed[name] = read[name] end
  followed.width, followed.costs = width, {}
  for _, of_region in ipairs(read.costs) do followed.costs[of_region.region] = of_region.columns end
  followed.calls = regions.calls_of(words, width, #followed) or refuse()
  return followed, {}
end

return M
