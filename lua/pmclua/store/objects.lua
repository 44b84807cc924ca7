--- objects.lua: a profile by what was accessed, to the member of a line of a result file and back.
--
-- Invariant: what is written reads back equal.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local taken = require "pmclua.store.taken"

local M = {}

local refuse, take, counts_by_name = taken.refuse, taken.take, taken.counts_by_name
local is_text, is_flag, is_table, is_number = taken.is_text, taken.is_flag, taken.is_table, taken.is_number
local is_count, is_offset = taken.is_count, taken.is_offset

local function array(list) return setmetatable(list, { __jsontype = "array" }) end

-- Watched threads are stored as [thread, accesses, writes].
local function written_confirmation(line)
  return { label = line.label, kind = line.kind, counted = line.counted, why = line.why,
    words = array(lists.map(line.words, function(word)
      return { name = word.name, threads = array(lists.map(lists.keys(word.accesses), function(thread)
        return array { thread, word.accesses[thread], word.writes[thread] or 0 }
      end)) }
    end)) }
end

--- The profile by data as it is stored: the places of each object as [offset, is_fed, is_write, function, count,
--- samples, member, source, node]; null: not known; what is not at the end is left out.
---@param data pmclua.DataProfile
---@return table
function M.written(data)
  local objects = lists.map(data.lines, function(line)
    local object = { file = line.file, build_id = line.build_id, fn = line.fn, which = line.which,
      kind = line.kind, bytes = line.bytes, count = line.count, samples = line.samples }
    object.at = array(lists.map(line.at, function(at)
      local place = array { at.address or json.null, at.is_fed or false, at.is_write or false, at.fn,
        at.count, at.samples }
      local more = { at.member or json.null, at.source or json.null, at.node or json.null }
      local last = at.node and 3 or at.source and 2 or at.member and 1 or 0
      for i = 1, last do place[#place + 1] = more[i] end
      return place
    end))
    return object
  end)
  return { objects = array(objects), rest = json.object(data.rest), sharing = array(data.sharing or {}),
    confirmed = data.confirmed and array(lists.map(data.confirmed, written_confirmation)) }
end

local function read_data_place(list)
  if not is_table(list) then refuse "data" end
  local at = { address = list[1], is_fed = list[2] or nil, is_write = list[3] or nil, fn = list[4],
    count = list[5], samples = list[6], member = list[7], source = list[8],
    node = list[9] }
  take(at, "address", is_number, true)
  take(at, "is_fed", is_flag, true)
  take(at, "is_write", is_flag, true)
  take(at, "fn", is_text)
  take(at, "count", is_count)
  take(at, "samples", is_count)
  take(at, "member", is_text, true)
  take(at, "source", is_text, true)
  take(at, "node", is_count, true)
  return at
end

local function read_object(entry)
  if not is_table(entry) then refuse "data" end
  return { file = take(entry, "file", is_text), build_id = take(entry, "build_id", is_text, true),
    fn = take(entry, "fn", is_text), which = take(entry, "which", is_count, true),
    kind = take(entry, "kind", is_text),
    bytes = take(entry, "bytes", is_count, true), count = take(entry, "count", is_count),
    samples = take(entry, "samples", is_count),
    at = lists.map(take(entry, "at", is_table), read_data_place) }
end

local KINDS = lists.set { "false", "true", "handed over", "latent", "read-only", "cannot tell" }

local function is_kind(value) return KINDS[value] or false end
local function is_seen(value) return is_count(value) and value > 0 end
local function is_list(value) return is_table(value) and #value > 0 end

local function read_shared_part(entry)
  if not is_table(entry) then refuse "sharing" end
  return { thread = take(entry, "thread", is_offset), offset = take(entry, "offset", is_offset),
    size = take(entry, "size", is_offset), is_write = take(entry, "is_write", is_flag),
    object = take(entry, "object", is_text), member = take(entry, "member", is_text, true),
    place = take(entry, "place", is_number, true), fn = take(entry, "fn", is_text),
    source = take(entry, "source", is_text, true), line = take(entry, "line", is_offset, entry.source == nil),
    samples = take(entry, "samples", is_count) }
end

local function read_shared_line(entry)
  if not is_table(entry) then refuse "sharing" end
  return { kind = take(entry, "kind", is_kind), samples = take(entry, "samples", is_seen),
    count = take(entry, "count", is_seen),
    parts = lists.map(take(entry, "parts", is_list), read_shared_part) }
end

local function read_word(entry)
  if not is_table(entry) then refuse "confirmed" end
  local word = { name = take(entry, "name", is_text), accesses = {}, writes = {} }
  for _, row in ipairs(take(entry, "threads", is_table)) do
    if not is_table(row) then refuse "confirmed" end
    local thread = take(row, 1, is_offset)
    word.accesses[thread], word.writes[thread] = take(row, 2, is_offset), take(row, 3, is_offset)
  end
  return word
end

local function read_confirmation(entry)
  if not is_table(entry) then refuse "confirmed" end
  return { label = take(entry, "label", is_text), kind = take(entry, "kind", is_kind),
    counted = take(entry, "counted", is_kind, true), why = take(entry, "why", is_text, entry.counted ~= nil),
    words = lists.map(take(entry, "words", is_table), read_word) }
end

--- The profile by data. Older files have no sharing. Raises a text where a member is not of its kind.
---@param data table
---@return pmclua.DataProfile
function M.read(data)
  local confirmed = take(data, "confirmed", is_table, true)
  return { lines = lists.map(take(data, "objects", is_table), read_object),
    confirmed = confirmed and lists.map(confirmed, read_confirmation),
    rest = counts_by_name(take(data, "rest", is_table), "rest"),
    sharing = lists.map(take(data, "sharing", is_table, true) or {}, read_shared_line) }
end

return M
