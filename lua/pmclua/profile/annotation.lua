--- annotation.lua: the counts of one function by source line and by instruction, beside source and machine code.
--
-- Invariant: each count of the function is at one line and at one instruction, or in what has none.

local listing = require "pmclua.profile.listing"

local M = {}

---@class pmclua.SideLines lines of a function in the profiles of one side, and how many profiles there are
---@field lines { line: table, iterations: number }[] of profiles
---@field n integer

---@class pmclua.Annotation
---@field sources { path: string, lines: { number: integer, text?: string, a?: number, b?: number }[], why?: string }[]
---@field codes { path: string, sides: string, list: { offset: number, text: string, line?: integer, a?: number,
---  b?: number }[], why?: string }[]
---@field unplaced { a: number, b: number } means that are at no line

-- ---- counts --------------------------------------------------------------------------------------------

local function add(map, key, side, value)
  map[key] = map[key] or {}
  map[key][side] = (map[key][side] or 0) + value
end

-- Means by source file and line, and by file and instruction.
local function gather(self, side, of)
  for _, entry in ipairs(of.lines) do
    local line, placed, parts = entry.line, 0, of.n * entry.iterations
    for _, at in ipairs(line.at or {}) do
      local source = at.source or line.source
      if source and at.line then
        self.by_source[source] = self.by_source[source] or { file = line.file }
        add(self.by_source[source], at.line, side, at.count / parts)
        placed = placed + at.count
      end
      if type(at.address) == "number" then
        local key = line.file .. "\0" .. (line.build_id or "")
        self.by_file[key] = self.by_file[key] or { path = line.file, counts = {} }
        add(self.by_file[key].counts, at.address, side, at.count / parts)
      end
    end
    self.unplaced[side] = self.unplaced[side] + (line.count - placed) / parts
  end
end

-- ---- source --------------------------------------------------------------------------------------------

local AROUND = 3                -- lines and instructions that are shown around those with counts

local function sorted_numbers(map)
  local list = {}
  for key in pairs(map) do
    if type(key) == "number" then list[#list + 1] = key end
  end
  table.sort(list)
  return list
end

-- Indices within `around` of some that matter, in order.
local function near(indices, most, around)
  local seen, list = {}, {}
  for _, index in ipairs(indices) do
    for i = math.max(1, index - around), math.min(most, index + around) do
      if not seen[i] then seen[i], list[#list + 1] = true, i end
    end
  end
  table.sort(list)
  return list
end

local function source_of(path, counts)
  local numbers = sorted_numbers(counts)
  local texts, why = listing.source(path, counts.file)
  local shown = texts and near(numbers, math.max(#texts, numbers[#numbers]), AROUND) or numbers
  local lines = {}
  for i, number in ipairs(shown) do
    local own = counts[number] or {}
    lines[i] = { number = number, text = texts and texts[number] or nil, a = own.a, b = own.b }
  end
  return { path = path, lines = lines, why = why }
end

local function weight_of(counts)
  local sum = 0
  for key, own in pairs(counts) do
    if type(key) == "number" then sum = sum + (own.a or 0) + (own.b or 0) end
  end
  return sum
end

local function by_weight(map, make, counts_of)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys, function(x, y)
    local p, q = weight_of(counts_of(map[x])), weight_of(counts_of(map[y]))
    return p > q or p == q and x < y
  end)
  local list = {}
  for i, key in ipairs(keys) do list[i] = make(key, map[key]) end
  return list
end

-- ---- instructions --------------------------------------------------------------------------------------

local function sides_of(counts)
  local sides = { a = false, b = false }
  for _, own in pairs(counts) do sides.a, sides.b = sides.a or own.a ~= nil, sides.b or own.b ~= nil end
  return (sides.a and "A" or "") .. (sides.b and "B" or "")
end

local function with_counts(list, counts)
  local hot, lines = {}, {}
  for i, one in ipairs(list) do
    if counts[one.offset] then hot[#hot + 1] = i end
  end
  for k, i in ipairs(near(hot, #list, AROUND)) do
    local one, own = list[i], counts[list[i].offset] or {}
    lines[k] = { index = i, offset = one.offset, text = one.text, line = one.line, a = own.a, b = own.b }
  end
  return lines
end

local function bare(counts)
  local list = {}
  for i, offset in ipairs(sorted_numbers(counts)) do
    list[i] = { index = i, offset = offset, a = counts[offset].a, b = counts[offset].b }
  end
  return list
end

local function code_of(file)
  local list, why = listing.instructions(file.path, sorted_numbers(file.counts))
  return { path = file.path, sides = sides_of(file.counts), why = why,
    list = list and with_counts(list, file.counts) or bare(file.counts) }
end

--- A function beside its source and instructions.
---@param a pmclua.SideLines
---@param b? pmclua.SideLines
---@return pmclua.Annotation
function M.new(a, b)
  local self = { by_source = {}, by_file = {}, unplaced = { a = 0, b = 0 } }
  gather(self, "a", a)
  if b then gather(self, "b", b) end
  local function same(counts) return counts end
  return { unplaced = self.unplaced, sources = by_weight(self.by_source, source_of, same),
    codes = by_weight(self.by_file, function(_, file) return code_of(file) end,
      function(file) return file.counts end) }
end

return M
