--- marks.lua: the table of pmclua_mark.h as bytes of a file.
--
-- The layout is that header's: what is written here is read there and the other way round.
-- tests/spec/marks_spec.lua holds the two together by programs that set marks.
-- A program can write anything over its table, by mistake or otherwise: what cannot be true raises `Damaged`.

local core = require "pmclua.core"
local ffi = require "ffi"
local lists = require "pmclua.base.lists"

local M = {}

local MAGIC = 0x334b52414d434d50ULL
local HEADER_WORDS = 16
local EVENT_BYTES = 8 + 144
local NAME_BYTES = 64
-- A slot's head: state, pid and tid, name, then seven words before those of a reading.
local SLOT_HEAD_BYTES = 8 + 8 + NAME_BYTES + 7 * 8
local READ_FORMAT = 1 + 2 + 8            -- both times, group

local exact = core.exact

local function words_text(values)
  return ffi.string(ffi.new("uint64_t[?]", #values, values), 8 * #values)
end

local function up_to(bytes, multiple) return math.ceil(bytes / multiple) * multiple end

---@class pmclua.core.MarkLayout where things are in the file
---@field groups integer
---@field events integer
---@field reading_u64s integer of one reading
---@field slots integer
---@field slot_bytes integer
---@field slots_at integer
---@field log_at integer
---@field log_words integer
---@field bytes integer
---@field keeps_all? boolean its log is to have every entry

--- The layout of a table for these groups.
---@param groups { attrs: table[] }[]
---@param options { slots: integer, log_entries: integer }
---@return pmclua.core.MarkLayout
function M.layout(groups, options)
  local events = lists.sum(groups, function(group) return #group.attrs end)
  local reading_u64s = 2 * #groups + events
  local slot_bytes = up_to(SLOT_HEAD_BYTES + 8 * math.max(1, reading_u64s), 64)
  local log_at, log_words = 8 * HEADER_WORDS + EVENT_BYTES * events, options.log_entries * (2 + reading_u64s)
  local slots_at = up_to(log_at + 8 * log_words, 64)
  return { groups = #groups, events = events, reading_u64s = reading_u64s, slots = options.slots,
    slot_bytes = slot_bytes, slots_at = slots_at, log_at = log_at, log_words = log_words,
    bytes = slots_at + options.slots * slot_bytes }
end

-- A member as a program opens it on its own thread: what makes a group is set here, as in core/counters/group.c.
local function member_bytes(asked, index)
  local fields = lists.copy(asked)
  fields.inherit, fields.enable_on_exec, fields.read_format = 0, 0, READ_FORMAT
  fields.disabled = index == 1 and 1 or 0
  return core.attr_bytes(fields)
end

-- Header fields that pmclua writes and the program leaves alone.
local function header_of(layout)
  return { MAGIC, layout.bytes, layout.groups, layout.events, layout.slots_at, layout.slots,
    layout.slot_bytes, layout.log_at, layout.log_words }
end

--- The beginning of an empty table; the rest of `layout.bytes` is 0.
---@param layout pmclua.core.MarkLayout
---@param groups { attrs: table[] }[]
---@return string
function M.beginning(layout, groups)
  local header = header_of(layout)
  for i = #header + 1, HEADER_WORDS do header[i] = 0 end
  local parts = { words_text(header) }
  for g, group in ipairs(groups) do
    for i, attr in ipairs(group.attrs) do parts[#parts + 1] = words_text { g } .. member_bytes(attr, i) end
  end
  return table.concat(parts)
end

--- Writes an empty table into a new file.
---@param file pmclua.core.File
---@param layout pmclua.core.MarkLayout
---@param groups { attrs: table[] }[]
---@return boolean? ok nil, errno name and number where it could not be written
function M.write(file, layout, groups)
  local ok, code, errnum = file:write(M.beginning(layout, groups))
  if not ok then return nil, code, errnum end
  -- The rest is 0 and takes no memory until it is written to.
  return file:resize(layout.bytes)
end

-- ---- reading: nothing is believed -----------------------------------------------------------------------

-- Raised where a table cannot be what the program's marks left: { what = … }.
local Damaged = {}

local function damaged(form, ...) error(setmetatable({ what = form:format(...) }, Damaged), 0) end

local function bytes_at(file, offset, count)
  local bytes = file:read_at(offset, count)
  if bytes and #bytes == count then return bytes end
  damaged "it was cut off"
end

local function words_at(file, offset, count)
  local words = ffi.new("uint64_t[?]", count)
  ffi.copy(words, bytes_at(file, offset, 8 * count), 8 * count)
  return words
end

-- A number of entries, threads or nanoseconds: no run has 2^53 of them, which take 104 days in nanoseconds.
local function number_of(word, what)
  local value = exact(word)
  if type(value) ~= "number" then damaged("%s is %s", what, core.decimal(value)) end
  return value
end

-- Counts and times of a reading. No true sum has the highest bit.
local function reading_of(pointer, layout)
  local words = {}
  for i = 1, layout.reading_u64s do
    if pointer[i - 1] >= 2ULL ^ 63 then damaged("a count is %s", core.decimal(exact(pointer[i - 1]))) end
    words[i] = exact(pointer[i - 1])
  end
  return words
end

local ERRNOS = 4096                      -- those of Linux are below

local function facts_of(file, layout)
  local words = words_at(file, 0, HEADER_WORDS)
  for i, value in ipairs(header_of(layout)) do
    if words[i - 1] ~= value then damaged("word %d of its header is %s", i, core.decimal(words[i - 1])) end
  end
  local facts = { processes = number_of(words[9], "the number of processes"),
    slots_used = number_of(words[10], "the number of marks"), lost = number_of(words[11], "the number lost"),
    log_used = number_of(words[12], "the length of its log"),
    refused_errno = number_of(words[13], "an errno"), refused_event = number_of(words[14], "an event") + 1 }
  if facts.slots_used > layout.slots then damaged("the number of marks is %d", facts.slots_used) end
  if facts.refused_errno >= ERRNOS then damaged("an errno is %d", facts.refused_errno) end
  return facts
end

---@class pmclua.core.MarkSlot one mark in one thread
---@field name string
---@field pid integer
---@field tid integer
---@field threads integer
---@field begun integer
---@field ended integer
---@field stray integer
---@field too_deep integer
---@field uncounted integer
---@field wall_ns number
---@field reading (number|ffi.cdata*)[]

local FIELDS = { "threads", "begun", "ended", "stray", "too_deep", "uncounted", "wall_ns" }

local function slot_of(bytes, at, layout)
  local pointer = ffi.cast("const uint8_t *", bytes) + at
  local ids = ffi.cast("const uint32_t *", pointer + 8)
  local words = ffi.cast("const uint64_t *", pointer + 16 + NAME_BYTES)
  local name = ffi.string(pointer + 16, NAME_BYTES):match "^(.-)%z"
  if not name then damaged "a name has no end" end
  local slot = { name = name, pid = ids[0], tid = ids[1] }
  for i, field in ipairs(FIELDS) do
    slot[field] = number_of(words[i - 1], ("'%s' of a mark"):format(field))
  end
  slot.reading = reading_of(words + #FIELDS, layout)
  return slot
end

-- The slots that were taken, in the order of their first mark. Of one that its thread did not come to use
-- (it was killed just then) all is 0.
local function slots_of(file, layout, facts, most_ns)
  local used = facts.slots_used
  if used == 0 then return {} end
  local bytes, list = bytes_at(file, layout.slots_at, used * layout.slot_bytes), {}
  for i = 1, used do
    list[i] = slot_of(bytes, (i - 1) * layout.slot_bytes, layout)
    if list[i].wall_ns > most_ns then damaged("a mark took %d ns", list[i].wall_ns) end
  end
  return list
end

-- The entries of the log that were written to their end, in order.
local function log_of(file, layout, facts, slots)
  local width = 2 + layout.reading_u64s
  local count = math.floor(math.min(facts.log_used, layout.log_words) / width)
  if count == 0 then return {} end
  local words, list = words_at(file, layout.log_at, count * width), {}
  for i = 1, count do
    local at = words + (i - 1) * width
    local number = number_of(at[0], "a mark's number")
    if number > 0 then
      if not slots[number] or slots[number].threads == 0 then damaged("there is no mark %d", number) end
      list[#list + 1] = { slot = number, wall_ns = number_of(at[1], "a time"),
        reading = reading_of(at + 2, layout) }
    end
  end
  return list
end

---@class pmclua.core.MarkTable what a program left
---@field facts table { processes, slots_used, lost, log_used, refused_errno, refused_event (from 1) }
---@field slots pmclua.core.MarkSlot[]
---@field log { slot: integer, wall_ns: number, reading: (number|ffi.cdata*)[] }[] slot: from 1, one that was used

--- Reads a table that a program has used; nil and the first value that cannot be true.
---@param file pmclua.core.File
---@param layout pmclua.core.MarkLayout
---@param most_ns number since it was made: no thread's time between marks is longer
---@return pmclua.core.MarkTable?
---@return string? damage
function M.read(file, layout, most_ns)
  local ok, contents = pcall(function()
    local facts = facts_of(file, layout)
    local slots = slots_of(file, layout, facts, most_ns)
    return { facts = facts, slots = slots, log = log_of(file, layout, facts, slots) }
  end)
  if ok then return contents end
  if getmetatable(contents) ~= Damaged then error(contents, 0) end
  return nil, contents.what
end

return M
