--- data_source.lua: where an access was answered, as a PMU tells it (PEBS, IBS, SPE): perf_mem_data_src in words.

local bit = require "bit"
local lists = require "pmclua.base.lists"

local M = {}

-- The fields of linux/perf_event.h: lowest bit, number of bits.
local FIELDS = { op = { 0, 5 }, level = { 5, 14 }, snoop = { 19, 5 }, lock = { 24, 2 }, tlb = { 26, 7 },
  number = { 33, 4 }, remote = { 37, 1 }, snoop_more = { 38, 2 } }

local STORE, PREFETCH = 4, 8
local HIT, MISS = 2, 4
local LOCKED, TLB_MISS = 2, 4
local NUMBERS = { "L1", "L2", "L3", "L4", "L2 miss buffer", "memory-side cache", [8] = "uncached",
  [9] = "CXL", [10] = "I/O", [11] = "a cache", [12] = "fill buffer", [13] = "RAM", [14] = "persistent RAM" }
-- For PMUs that tell the level by a bit.
local LEVELS = { { 0x8, "L1" }, { 0x10, "fill buffer" }, { 0x20, "L2" }, { 0x40, "L3" }, { 0x80, "RAM" },
  { 0x300, "RAM", true }, { 0xc00, "cache", true }, { 0x1000, "I/O" }, { 0x2000, "uncached" } }
-- The state of other caches, if they took part.
local SNOOPS = { { 0x10, "modified in another cache" }, { 0x4, "in another cache" } }
local SNOOPS_MORE = { "forwarded by another cache", "from a neighbour's cache" }

local function field(source, name)
  local low, bits = FIELDS[name][1], FIELDS[name][2]
  return tonumber(bit.band(bit.rshift(source, low), 2 ^ bits - 1))
end

local function first_of(list, value)
  return lists.find(list, function(entry) return bit.band(value, entry[1]) ~= 0 end)
end

-- "remote RAM", "L2 hit", "L3 miss"; nil: it does not tell.
local function level_of(source)
  local level, by_bit = field(source, "level"), first_of(LEVELS, field(source, "level"))
  local name = NUMBERS[field(source, "number")] or by_bit and by_bit[2]
  if not name then return bit.band(level, MISS) ~= 0 and "a cache miss" or nil end
  local is_remote = field(source, "remote") == 1 or by_bit ~= nil and by_bit[3] == true
  local is_hit = name:find "^L%d" and bit.band(level, HIT) ~= 0
  local outcome = bit.band(level, MISS) ~= 0 and " miss" or is_hit and " hit"
  return (is_remote and "remote " or "") .. name .. (outcome or "")
end

--- Whether an access wrote.
---@param source ffi.cdata* uint64_t
---@return boolean
function M.is_write(source) return bit.band(field(source, "op"), STORE) ~= 0 end

--- An access's source in words: "L3 hit, modified in another cache, TLB miss, locked"; nil: the PMU does not tell.
---@param source ffi.cdata* uint64_t
---@return string?
function M.text(source)
  local parts = { level_of(source) }
  local snoop = first_of(SNOOPS, field(source, "snoop"))
  parts[#parts + 1] = snoop and snoop[2] or SNOOPS_MORE[field(source, "snoop_more")]
  if bit.band(field(source, "tlb"), TLB_MISS) ~= 0 then parts[#parts + 1] = "TLB miss" end
  if bit.band(field(source, "lock"), LOCKED) ~= 0 then parts[#parts + 1] = "locked" end
  if bit.band(field(source, "op"), PREFETCH) ~= 0 then parts[#parts + 1] = "prefetch" end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

return M
