--- pprof.lua: stacks as profile.proto, which `go tool pprof` and what understands it open: a value for each side.
--
-- The wire format of Protocol Buffers: a field is its number and kind, then a varint (0), or a length and bytes (2).
-- github.com/google/pprof/proto/profile.proto has the numbers of fields. A profile is gzipped (RFC 1952); here in
-- blocks that are stored as they are.

local bit = require "bit"
local lists = require "pmclua.base.lists"

local M = {}

-- ---- the wire format -----------------------------------------------------------------------------------------

-- A value below 0 (fewer events were counted than samples say) has the 64 bits of its two's complement.
local function varint(value)
  local bytes, rest = {}, value + 0LL + 0ULL
  while rest >= 128 do
    bytes[#bytes + 1] = string.char(tonumber(rest % 128) + 128)
    rest = rest / 128
  end
  bytes[#bytes + 1] = string.char(tonumber(rest))
  return table.concat(bytes)
end

local function number(field, value) return value == 0 and "" or varint(field * 8) .. varint(value) end
local function bytes(field, text) return varint(field * 8 + 2) .. varint(#text) .. text end
local function numbers(field, list) return bytes(field, table.concat(lists.map(list, varint))) end

-- ---- gzip ----------------------------------------------------------------------------------------------------

local function crc32(text)
  local sum = -1
  for i = 1, #text do
    sum = bit.bxor(sum, text:byte(i))
    for _ = 1, 8 do
      sum = bit.bxor(bit.rshift(sum, 1), bit.band(0xedb88320, -bit.band(sum, 1)))
    end
  end
  return bit.bnot(sum)
end

local function little(value, count)
  local out = {}
  for i = 1, count do out[i] = string.char(bit.band(bit.rshift(value, 8 * (i - 1)), 255)) end
  return table.concat(out)
end

local MOST_STORED = 65535

local function gzipped(text)
  local parts = { "\31\139\8\0\0\0\0\0\0\255" }
  for at = 1, #text, MOST_STORED do
    local piece = text:sub(at, at + MOST_STORED - 1)
    local is_last = at + MOST_STORED > #text
    lists.append(parts, { is_last and "\1" or "\0", little(#piece, 2), little(bit.bnot(#piece), 2), piece })
  end
  return table.concat(parts) .. little(crc32(text), 4) .. little(#text, 4)
end

-- ---- the profile ---------------------------------------------------------------------------------------------

-- Gives each different text a number, from `first` on.
local function numbering(first)
  local list, known = {}, {}
  return function(text)
    if not known[text] then
      list[#list + 1] = text
      known[text] = #list - 1 + first
    end
    return known[text]
  end, list
end

--- Writes stacks.
---@param stacks pmclua.Stacks
---@param put fun(piece: string)
function M.write(stacks, put)
  local text, texts = numbering(0)
  local frame, frames = numbering(1)
  text ""
  local unit = stacks.unit == "ns" and "nanoseconds" or "count"
  local function value_type(field, side)
    return bytes(field, number(1, text(side and ("%s of %s"):format(stacks.event, side) or stacks.event))
      .. number(2, text(unit)))
  end
  local parts = stacks.b and { value_type(1, stacks.a), value_type(1, stacks.b) } or { value_type(1) }
  for _, entry in ipairs(stacks.list) do
    local places = {}
    for name in entry.stack:gmatch "[^;]+" do table.insert(places, 1, frame(name)) end
    local values = lists.map(stacks.b and { entry[1], entry[2] } or { entry[1] }, function(value)
      return math.floor(value + 0.5)
    end)
    parts[#parts + 1] = bytes(2, numbers(1, places) .. numbers(2, values))
  end
  for i, name in ipairs(frames) do
    parts[#parts + 1] = bytes(4, number(1, i) .. bytes(4, number(1, i)))
    parts[#parts + 1] = bytes(5, number(1, i) .. number(2, text(name)) .. number(3, text(name)))
  end
  for _, part in ipairs(texts) do parts[#parts + 1] = bytes(6, part) end
  put(gzipped(table.concat(parts)))
end

return M
