--- sources.lua: which source line of A is which of B: by the text of all sources of both sides, as a diff.
--
-- A line that reads like no other of all files, then of its file, is the same wherever it was moved to, and so are the
-- lines beside it that read alike (Heckel 1978). What lies between two pairs is paired by itself. A few lines that
-- stand where as many others stood are those lines, changed: a guess.
-- Invariant: each line of one side is one of the other at most. Blanks do not count.

local apart = require "pmclua.base.apart"
local lists = require "pmclua.base.lists"

local M = {}

local DIGITS = 8                -- of a line's hash: profile/written.lua
local MOST_CHANGED = 3          -- lines in one place that are taken for others, changed
local MOST_ROUNDS = 20

---@class pmclua.SourcePairing
local Pairing = {}
Pairing.__index = Pairing

-- ---- the lines of a side -------------------------------------------------------------------------------

-- All lines in one list, files apart: between two of them is one that is like no other.
local function lines_of(side, texts)
  local all = { side = side, hash = { side }, path = {}, begins = {}, match = {}, gap = {} }
  for _, path in ipairs(lists.keys(texts)) do
    local hashes = texts[path].hashes
    all.begins[path] = hashes and #all.hash
    for at = 1, #(hashes or ""), DIGITS do
      all.hash[#all.hash + 1] = hashes:sub(at, at + DIGITS - 1)
      all.path[#all.hash] = path
    end
    all.hash[#all.hash + 1] = side
  end
  return all
end

-- ---- pairs ---------------------------------------------------------------------------------------------

local function can_pair(a, b, i, j)
  return a.path[i] and b.path[j] and not a.match[i] and not b.match[j]
end

local function pair(a, b, i, j) a.match[i], b.match[j] = j, i end

local function extend(a, b, i, j, step)
  i, j = i + step, j + step
  while a.hash[i] == b.hash[j] and can_pair(a, b, i, j) do
    pair(a, b, i, j)
    i, j = i + step, j + step
  end
end

-- The unpaired lines of a side by a key; false where several have it.
local function unique(all, key)
  local by_key = {}
  for i = 1, #all.hash do
    local own = all.path[i] and not all.match[i] and key(all, i)
    if own then by_key[own] = by_key[own] == nil and i or false end
  end
  return by_key
end

-- Pairs lines by a key that only one line of each side has, and what reads alike beside them; whether there were any.
local function pair_by(a, b, key)
  local ours, theirs, has_any = unique(a, key), unique(b, key), false
  for i = 1, #a.hash do
    local own = a.path[i] and not a.match[i] and key(a, i)
    local j = own and ours[own] and theirs[own]
    if j and can_pair(a, b, i, j) then
      pair(a, b, i, j)
      extend(a, b, i, j, 1)
      extend(a, b, i, j, -1)
      has_any = true
    end
  end
  return has_any
end

-- Where each unpaired line lies, in B's numbers: behind which pair, and before which.
local function find_gaps(all, is_b)
  local last, next_one = 0, 0
  for i = 1, #all.hash do
    local own = all.match[i]
    last = all.path[i] and (own and (is_b and i or own) or last) or 0
    all.gap[i] = last
  end
  for i = #all.hash, 1, -1 do
    local own = all.match[i]
    next_one = all.path[i] and (own and (is_b and i or own) or next_one) or 0
    all.gap[i] = ("%d %d"):format(all.gap[i], next_one)
  end
end

-- Unpaired lines that say something, by where they lie.
local BLANK = require("pmclua.core").hash "":sub(-DIGITS)

local function left_by_gap(all)
  local gaps = {}
  for i = 1, #all.hash do
    if all.path[i] and not all.match[i] and all.hash[i] ~= BLANK then
      gaps[all.gap[i]] = gaps[all.gap[i]] or {}
      table.insert(gaps[all.gap[i]], i)
    end
  end
  return gaps
end

local function pair_changed(self)
  local ours, theirs = left_by_gap(self.a), left_by_gap(self.b)
  for gap, lines in pairs(ours) do
    local others = theirs[gap] or {}
    local is_between = not gap:find "^0 " and not gap:find " 0$"
    if is_between and #lines == #others and #lines <= MOST_CHANGED then
      for k, i in ipairs(lines) do
        pair(self.a, self.b, i, others[k])
        self.changed[i] = true
      end
    end
  end
end

-- ---- files ---------------------------------------------------------------------------------------------

-- Files of the two sides that alone have the same last components: as many as it takes.
local function by_tail(a, b)
  local same = {}
  for _, components in ipairs { math.huge, 4, 3, 2, 1 } do
    local function tails(texts)
      local matching = {}
      for path in pairs(texts) do
        local tail = not same[path] and apart.tail(path, components)
        if tail then matching[tail] = matching[tail] == nil and path or false end
      end
      return matching
    end
    local ours, theirs = tails(a), tails(b)
    for tail, path in pairs(ours) do
      local other = path and theirs[tail]
      if other then same[path], same[other] = path, path end
    end
  end
  return same
end

local function find_files(self)
  local counts = {}
  for j, i in pairs(self.b.match) do
    local of = self.b.path[j]
    counts[of] = counts[of] or {}
    counts[of][self.a.path[i]] = (counts[of][self.a.path[i]] or 0) + 1
  end
  for of, by_path in pairs(counts) do
    local paths = lists.keys(by_path)
    table.sort(paths, function(x, y) return by_path[x] > by_path[y] or by_path[x] == by_path[y] and x < y end)
    self.file_of[of] = paths[1]
  end
end

-- ---- the whole -----------------------------------------------------------------------------------------

--- Pairs the lines of both sides' sources.
---@param a table<string, pmclua.SourceText> by path
---@param b table<string, pmclua.SourceText>
---@return pmclua.SourcePairing
function M.new(a, b)
  local self = setmetatable({ a = lines_of("a", a), b = lines_of("b", b), changed = {}, file_of = {} },
    Pairing)
  local same = by_tail(a, b)
  pair_by(self.a, self.b, function(all, i) return all.hash[i] end)
  pair_by(self.a, self.b, function(all, i)
    local file = same[all.path[i]]
    return file and file .. "\0" .. all.hash[i]
  end)
  local function in_gap(all, i) return all.gap[i] .. "\0" .. all.hash[i] end
  for _ = 1, MOST_ROUNDS do
    find_gaps(self.a, false)
    find_gaps(self.b, true)
    if not pair_by(self.a, self.b, in_gap) then break end
  end
  pair_changed(self)
  find_files(self)
  return self
end

--- The identity of a line, equal on both sides for a pair.
---@param side "a"|"b"
---@param source string
---@param number integer
---@return integer|string? nil: its source is not known
---@return boolean? is_changed its text is another one
---@return integer? other its number on the other side; nil: it is not there
function Pairing:line(side, source, number)
  local all = self[side]
  local at = all.begins[source] and all.begins[source] + number
  if not at or all.path[at] ~= source then return nil end
  local own = side == "a" and at or all.match[at]
  local others, match = self[side == "a" and "b" or "a"], all.match[at]
  return own or "B " .. at, self.changed[own], match and match - others.begins[others.path[match]] or nil
end

--- The number of A's line that a line of B is; nil: none in that file.
---@param source string of B
---@param number integer
---@param source_a string
---@return integer?
function Pairing:partner(source, number, source_a)
  local i = self.b.begins[source] and self.b.match[self.b.begins[source] + number]
  return i and self.a.path[i] == source_a and i - self.a.begins[source_a] or nil
end

--- Whether a line of B stands in the place of one of A with another text.
---@param source string of B
---@param number integer
---@return boolean
function Pairing:is_changed(source, number)
  local _, is_changed = self:line("b", source, number)
  return is_changed == true
end

--- Whether some lines of a side read otherwise on the other: one that is not blank is not there, or has another text.
---@param side "a"|"b"
---@param source string
---@param first integer
---@param last integer
---@return boolean? nil: the source is not known
function Pairing:differs(side, source, first, last)
  local all = self[side]
  local begins = all.begins[source]
  if not begins then return nil end
  for at = begins + first, begins + last do
    local match = all.match[at]
    local is_other = not match or self.changed[side == "a" and at or match]
    if all.path[at] == source and all.hash[at] ~= BLANK and is_other then return true end
  end
  return false
end

--- A's file that a source of B is; nil: none.
---@param source string
---@return string?
function Pairing:file(source) return self.file_of[source] end

return M
