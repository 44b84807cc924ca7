--- confirm_places.lua: where the words of a shared cache line are in another run of its program.
--
-- Invariant: an address is given only where it is certain: of a variable by its symbol, of a block of the heap where it
-- was allocated at the same place, lives, and lies with the line's other blocks as it did.

local core_data = require "pmclua.core.data"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local profile_data = require "pmclua.profile.data"
local text = require "pmclua.base.text"

local LINE = require("pmclua.profile.sharing").LINE
local MOST_BLOCKS = 4096        -- of a site that are read

---@class pmclua.PlacedWords where all words are at this moment
---@field addresses number[] of the words, in their order
---@field blocks { block: pmclua.core.LiveBlock, label: string }[] that they are in

---@class pmclua.ConfirmPlaces
local Places = {}
Places.__index = Places

local M = {}

---@param words pmclua.WatchedWord[]
---@param log? pmclua.HeapLog that the run writes
---@param sites? table<string, table<string, true>> of pmclua.DataProfile
---@return pmclua.ConfirmPlaces
function M.new(words, log, sites)
  return setmetatable({ words = words, log = log, sites = sites or {}, known = {} }, Places)
end

-- Files that a process has mapped: { { start, stop, offset, path }, … }.
local function maps_of(pid)
  local maps = {}
  for line in (machine.text(("/proc/%d/maps"):format(pid)) or ""):gmatch "[^\n]+" do
    local start, stop, offset, path = line:match "^(%x+)%-(%x+) %S+ (%x+) %S+ %d+%s+(/.*)$"
    if start then
      maps[#maps + 1] = { start = tonumber(start, 16), stop = tonumber(stop, 16),
        offset = tonumber(offset, 16), path = path }
    end
  end
  return maps
end

local function key_of(addresses, maps)
  return profile_data.site_key(lists.map(addresses, function(address)
    local call = tonumber(address) - 1
    local map = lists.find(maps, function(mapping) return call >= mapping.start and call < mapping.stop end)
    return { path = map and map.path, offset = map and call - map.start + map.offset }
  end))
end

-- The numbers that a label's sites have in the log of this run.
local function numbers_of(self, live, pid, label)
  self.known[pid] = self.known[pid] or {}
  local known, maps = self.known[pid], nil
  for number, addresses in pairs(live:sites(known)) do
    maps = maps or maps_of(pid)
    known[number] = key_of(addresses, maps)
  end
  return lists.where(lists.keys(known), function(number) return self.sites[label][known[number]] end)
end

local function is_inside(block, word, address)
  return block.address + word.place == address and word.place + word.size <= block.bytes
end

-- The words' blocks where the line begins at `base`; nil: not all are there.
local function blocks_at(words, blocks, base)
  local list = {}
  for _, word in ipairs(words) do
    local block = lists.find(blocks[word.label], function(candidate)
      return is_inside(candidate, word, base + word.offset)
    end)
    if not block then return nil end
    list[#list + 1] = { block = block, label = word.label }
  end
  return list
end

-- Each place where the blocks of all words lie as they did; those at the beginning of a cache line first.
local function lines_of(words, blocks)
  local first, aligned, others, seen = words[1], {}, {}, {}
  for _, block in ipairs(blocks[first.label]) do
    local base = block.address + first.place - first.offset
    local its = not seen[base] and blocks_at(words, blocks, base)
    seen[base] = true
    if its then table.insert(base % LINE == 0 and aligned or others, { base = base, blocks = its }) end
  end
  return lists.append(aligned, others)
end

local function live_blocks(self, pid, words)
  local live, code = core_data.live(self.log.path)
  if not live then return nil, ("the log of allocations cannot be read (%s)"):format(code) end
  local blocks = {}
  for _, word in ipairs(words) do
    blocks[word.label] = blocks[word.label]
      or live:blocks(pid, numbers_of(self, live, pid, word.label), MOST_BLOCKS)
  end
  live:close()
  return blocks
end

local function find_variables(self, pid, words)
  local address_of = require("pmclua.event.symbol").in_process(pid)
  for _, word in ipairs(words) do
    local address = address_of(word.object)
    if not address then
      return ("no single symbol tells where '%s' is in another run"):format(text.safe(word.object))
    end
    self.variables[word] = address + word.place
  end
end

local function is_of_heap(word) return word.object:find "^heap" ~= nil end

-- How labels begin that name no variable.
local UNNAMED = { "^stack of ", "^frame of ", "^memory of ", "^unknown memory", "^data of ", "^code of ",
  "^file " }

--- Why no run can tell where the words are; nil: some may.
---@return string?
function Places:refusal()
  for _, word in ipairs(self.words) do
    local is_unnamed = lists.any(UNNAMED, function(pattern) return word.object:find(pattern) ~= nil end)
    local is_lost = is_unnamed or not word.place or is_of_heap(word) and not self.sites[word.label]
    if is_lost then
      return ("nothing tells where '%s' is in another run: variables are found by their symbol, blocks of "
        .. "the heap with --heap"):format(text.safe(word.object))
    end
  end
end

--- Where the words may be in a process, those that are likeliest first; nil and why there is none.
---@param pid integer
---@return pmclua.PlacedWords[]?
---@return string? why
function Places:find(pid)
  self.variables = {}
  local of_heap, places = lists.where(self.words, is_of_heap), { { base = 0, blocks = {} } }
  local variables = lists.where(self.words, function(word) return not is_of_heap(word) end)
  local why = find_variables(self, pid, variables)
  if why then return nil, why end
  if of_heap[1] then
    local blocks, unread = live_blocks(self, pid, of_heap)
    if not blocks then return nil, unread end
    places = lines_of(of_heap, blocks)
  end
  if #places == 0 then
    return nil, ("no block '%s' lived while it was watched"):format(text.safe(of_heap[1].label))
  end
  return lists.map(places, function(place)
    return { blocks = place.blocks, addresses = lists.map(self.words, function(word)
      return self.variables[word] or place.base + word.offset
    end) }
  end)
end

--- Whether the blocks are still those that they were.
---@param pid integer
---@param placed pmclua.PlacedWords
---@return boolean
function Places:still_there(pid, placed)
  if #placed.blocks == 0 then return true end
  local blocks = live_blocks(self, pid, placed.blocks)
  return blocks ~= nil and lists.all(placed.blocks, function(earlier)
    return lists.any(blocks[earlier.label], function(now)
      return now.address == earlier.block.address and now.born == earlier.block.born
    end)
  end)
end

return M
