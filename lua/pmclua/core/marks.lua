--- marks.lua: the table of pmclua_mark.h as bytes of a file, part of core.lua's layer.
--
-- The layout is that header's: what is written here is read there and the other way round.
-- tests/spec/marks_spec.lua holds the two together by programs that set marks.

local core = require "pmclua.core"
local ffi = require "ffi"

local M = {}

local MAGIC = 0x324b52414d434d50ULL
local HEADER_WORDS = 15
local EVENT_BYTES = 8 + 144
local NAME_BYTES = 64
-- Of a slot: state, pid and tid, name, then seven words before those of a reading.
local SLOT_HEAD_BYTES = 8 + 8 + NAME_BYTES + 7 * 8
local READ_FORMAT = 1 + 2 + 8            -- both times, group

local EXACT = core.exact

local function words_text(values)
  return ffi.string(ffi.new("uint64_t[?]", #values, values), 8 * #values)
end

local function up_to(bytes, multiple) return math.ceil(bytes / multiple) * multiple end

---@class pmclua.core.MarkLayout where things are in the file
---@field groups integer
---@field events integer
---@field words integer of one reading
---@field slots integer
---@field slot_bytes integer
---@field slots_at integer
---@field log_at integer
---@field log_words integer
---@field bytes integer

--- The layout of a table for these groups.
---@param groups { attrs: table[] }[]
---@param options { slots: integer, log_entries: integer }
---@return pmclua.core.MarkLayout
function M.layout(groups, options)
  local events = 0
  for _, group in ipairs(groups) do events = events + #group.attrs end
  local words = 2 * #groups + events
  local slot_bytes = up_to(SLOT_HEAD_BYTES + 8 * math.max(1, words), 64)
  local slots_at = up_to(8 * HEADER_WORDS + EVENT_BYTES * events, 64)
  local log_at, log_words = slots_at + options.slots * slot_bytes, options.log_entries * (2 + words)
  return { groups = #groups, events = events, words = words, slots = options.slots, slot_bytes = slot_bytes,
    slots_at = slots_at, log_at = log_at, log_words = log_words, bytes = log_at + 8 * log_words }
end

-- A member as a program opens it on its own thread: what makes a group is set here, as in core/group.c.
local function member_bytes(asked, index)
  local fields = {}
  for name, value in pairs(asked) do fields[name] = value end
  fields.inherit, fields.enable_on_exec, fields.read_format = 0, 0, READ_FORMAT
  fields.disabled = index == 1 and 1 or 0
  return core.attr_bytes(fields)
end

--- Writes an empty table into an open file.
---@param file file*
---@param layout pmclua.core.MarkLayout
---@param groups { attrs: table[] }[]
---@return boolean? ok nil and why where it could not be written
function M.write(file, layout, groups)
  local header = { MAGIC, layout.bytes, layout.groups, layout.events, layout.slots_at, layout.slots,
    layout.slot_bytes, layout.log_at, layout.log_words }
  for i = #header + 1, HEADER_WORDS do header[i] = 0 end
  local parts = { words_text(header) }
  for g, group in ipairs(groups) do
    for i, attr in ipairs(group.attrs) do parts[#parts + 1] = words_text { g } .. member_bytes(attr, i) end
  end
  local ok, why = file:write(table.concat(parts))
  if not ok then return nil, why end
  -- The rest is 0 and takes no memory until it is written to.
  ok, why = file:seek("set", layout.bytes - 1)
  if ok then ok, why = file:write "\0" end
  if ok then ok, why = file:flush() end
  return ok, why
end

local function bytes_at(file, offset, count)
  local bytes = file:seek("set", offset) and file:read(count)
  if bytes and #bytes == count then return bytes end
  error("the table of marks was cut off", 0)
end

local function words_at(file, offset, count)
  local words = ffi.new("uint64_t[?]", count)
  ffi.copy(words, bytes_at(file, offset, 8 * count), 8 * count)
  return words
end

--- What the program wrote into the table's header.
---@param file file*
---@return table { processes, slots_used, lost, log_used, refused_errno, refused_event (from 1) }
function M.facts(file)
  local words = words_at(file, 0, HEADER_WORDS)
  return { processes = EXACT(words[9]), slots_used = EXACT(words[10]), lost = EXACT(words[11]),
    log_used = EXACT(words[12]), refused_errno = tonumber(words[13]),
    refused_event = tonumber(words[14]) + 1 }
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
---@field wall_ns number|ffi.cdata*
---@field words (number|ffi.cdata*)[]

local function slot_of(bytes, at, layout)
  local pointer = ffi.cast("const uint8_t *", bytes) + at
  local ids = ffi.cast("const uint32_t *", pointer + 8)
  local words = ffi.cast("const uint64_t *", pointer + 16 + NAME_BYTES)
  local slot = { name = ffi.string(pointer + 16), pid = ids[0], tid = ids[1], threads = EXACT(words[0]),
    begun = EXACT(words[1]), ended = EXACT(words[2]), stray = EXACT(words[3]), too_deep = EXACT(words[4]),
    uncounted = EXACT(words[5]), wall_ns = EXACT(words[6]), words = {} }
  for i = 1, layout.words do slot.words[i] = EXACT(words[6 + i]) end
  return slot
end

--- The slots that were taken, in the order of their first mark. Of one that its thread did not come to use
--- (it was killed just then) all is 0.
---@param file file*
---@param layout pmclua.core.MarkLayout
---@return pmclua.core.MarkSlot[]
function M.slots(file, layout)
  local used = math.min(M.facts(file).slots_used, layout.slots)
  if used == 0 then return {} end
  local bytes, list = bytes_at(file, layout.slots_at, used * layout.slot_bytes), {}
  for i = 1, used do list[i] = slot_of(bytes, (i - 1) * layout.slot_bytes, layout) end
  return list
end

--- The entries of the log that were written to their end, in order: the slot's number (from 1), wall ns,
--- words.
---@param file file*
---@param layout pmclua.core.MarkLayout
---@return { slot: integer, wall_ns: number|ffi.cdata*, words: (number|ffi.cdata*)[] }[]
function M.log(file, layout)
  local width = 2 + layout.words
  local count = math.floor(math.min(M.facts(file).log_used, layout.log_words) / width)
  if count == 0 then return {} end
  local words, list = words_at(file, layout.log_at, count * width), {}
  for i = 1, count do
    local at = (i - 1) * width
    local entry = { slot = tonumber(words[at]), wall_ns = EXACT(words[at + 1]), words = {} }
    for k = 1, layout.words do entry.words[k] = EXACT(words[at + 1 + k]) end
    if entry.slot > 0 then list[#list + 1] = entry end
  end
  return list
end

return M
