--- profile.lua: the binding of samplers, part of core.lua's layer: the block that a sampler gives, and samplers of
--- this process.
--
-- Invariant: everything read from a block is an exact copy; C owns the block itself.

local core = require "pmclua.core"
local ffi = require "ffi"

core.private_C "profile"
local exact = core.exact

local M = {}

---@class pmclua.core.HitFile
---@field path string "[linux]", "[memory]" (code that was made at run time), or a file's
---@field pid? integer of "[memory]"
---@field build_id? string in hexadecimal

---@class pmclua.core.Samples what a sampler found
---@field total number|ffi.cdata* counted, exact
---@field files pmclua.core.HitFile[]
local Samples = {}
Samples.__index = Samples

local FACTS = { "total", "enabled_ns", "running_ns", "period", "samples", "lost", "unmapped", "begun",
  "throttled", "news_lost", "tasks", "drops", "ring_bytes" }

local function hexadecimal(bytes, count)
  local text = {}
  for i = 1, count do text[i] = ("%02x"):format(bytes[i - 1]) end
  return count > 0 and table.concat(text) or nil
end

local function read_file(place)
  local raw = ffi.cast("const struct pmclua_profile_file *", place)
  local path_bytes = tonumber(raw.path_bytes)
  local file = { path = ffi.string(ffi.cast("const char *", raw + 1), path_bytes),
    pid = raw.pid ~= 0 and tonumber(raw.pid) or nil,
    build_id = hexadecimal(raw.build_id, tonumber(raw.id_bytes)) }
  return file, ffi.cast("const uint64_t *", raw + 1) + math.floor(path_bytes / 8) + 1
end

--- A block as a sampler gives it.
---@param block ffi.cdata* const uint64_t *
---@return pmclua.core.Samples
function M.read(block)
  local raw = ffi.cast("const struct pmclua_profile *", block)
  local found = { files = {}, knows_lost = raw.knows_lost ~= 0,
    drop = raw.drops > 0 and ffi.string(raw.drop) or nil }
  for _, name in ipairs(FACTS) do found[name] = exact(raw[name]) end
  local place = ffi.cast("const uint64_t *", raw + 1)
  for i = 1, tonumber(raw.files) do found.files[i], place = read_file(place) end
  local count = tonumber(raw.hits)
  found.hits = ffi.new("struct pmclua_profile_hit[?]", count)
  ffi.copy(found.hits, place, ffi.sizeof(found.hits))
  found.count, found.program = count, raw.program > 0 and found.files[tonumber(raw.program)].path or nil
  return setmetatable(found, Samples)
end

--- Each instruction that was hit: the number of its file (from 1), its offset there (an address where the file is
--- "[linux]" or "[memory]"), and how often.
---@return fun(): integer?, number?, number?
function Samples:each()
  local i = -1
  return function()
    i = i + 1
    if i >= self.count then return nil end
    local hit = self.hits[i]
    return tonumber(hit.file) + 1, exact(hit.offset), tonumber(hit.count)
  end
end

return M
