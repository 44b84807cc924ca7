--- marks.lua: tables of marks that a program has overwritten.

local binding = require "pmclua.core.marks"
local core = require "pmclua.core"
local ffi = require "ffi"
local input = require "tests.fuzz.input"
local marks = require "pmclua.workload.marks"

local hold, one_of = input.hold, input.one_of

local GROUPS = { { attrs = { { type = 1, config = 2 } } } }
local VALUES = { 0ULL, 1ULL, 2ULL, 2ULL ^ 53, 2ULL ^ 63, -1ULL, 4096ULL, 0x4141414141414141ULL }
local MOST_NS = 1000

-- A table that a program has used: two marks, each with an entry in the log.
local function whole(layout, file)
  assert(binding.write(file, layout, GROUPS))
  local bytes = ffi.new("uint8_t[?]", layout.bytes)
  ffi.copy(bytes, file:read_at(0, layout.bytes), layout.bytes)
  local words = ffi.cast("uint64_t *", bytes)
  words[9], words[10], words[12] = 1, 2, 2 * (2 + layout.reading_u64s)
  for i = 0, 1 do
    local slot = bytes + layout.slots_at + i * layout.slot_bytes
    ffi.copy(slot + 16, i == 0 and "first" or "second")
    local fields = ffi.cast("uint64_t *", slot + 80)
    fields[0], fields[1], fields[2], fields[6] = 1, 1, 1, 55
    local entry = ffi.cast("uint64_t *", bytes + layout.log_at) + i * (2 + layout.reading_u64s)
    entry[0], entry[1] = i + 1, 55
  end
  return bytes
end

local function spoil(random, bytes, count)
  for _ = 1, random:integer(4) do
    if random:integer(2) == 1 then
      bytes[random:integer(count) - 1] = random:integer(256) - 1
    else
      ffi.cast("uint64_t *", bytes)[random:integer(math.floor(count / 8)) - 1] = one_of(random, VALUES)
    end
  end
end

local function new_file()
  local file = assert(core.create_temporary((os.getenv "TMPDIR" or "/tmp") .. "/pmclua-fuzz-XXXXXX"))
  os.remove(file.path)
  return file
end

--- Tries one table; whether it was believed.
---@param random pmclua.Random
---@return boolean
return function(random)
  local layout = binding.layout(GROUPS, { slots = 3, log_entries = 3 })
  local file = new_file()
  local bytes = whole(layout, file)
  spoil(random, bytes, layout.bytes)
  local count = random:integer(8) == 1 and random:integer(layout.bytes) or layout.bytes
  file:close()
  file = new_file()
  assert(file:write(ffi.string(bytes, count)))
  local found, facts = marks.read(file, layout, MOST_NS)
  file:close()
  for _, remark in ipairs(marks.remarks(found, facts, { "page-faults" })) do
    hold(not remark:find "%c" and not remark:find "%.lua", "a remark is not one", remark)
  end
  for _, mark in ipairs(found) do
    hold(type(mark.ended) == "number" and #mark.name < 64, "a mark is none", mark.name)
    for _, slot in ipairs(mark.slots) do hold(slot.wall_ns <= MOST_NS, "a mark is too long", mark.name) end
  end
  return facts.damage == nil
end
