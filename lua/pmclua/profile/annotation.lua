--- annotation.lua: the counts of one function by source line and by instruction, beside source and machine code.
--
-- Invariant: each count of the function is at one line and at one instruction, or in what has none.

local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local listing = require "pmclua.profile.listing"

local M = {}

---@class pmclua.SideLines lines of a function in the profiles of one side, and how many profiles there are
---@field lines { line: table, iterations: number }[] of profiles
---@field n integer

---@class pmclua.Annotation
---@field sources { path: string, lines: { number: integer, text?: string, a?: number, b?: number }[], why?: string }[]
---@field codes { path: string, sides: string, list: { offset: number, text: string, line?: integer, a?: number,
---  b?: number }[], why?: string }[]
---@field copies { fn: string, into: string, source?: string, line?: integer, a?: number, b?: number }[] counts of what
---  was copied into a function, by the line that calls it
---@field unplaced { a: number, b: number } means that are at no line

-- ---- counts --------------------------------------------------------------------------------------------

-- Adds to the counts of a file, by line or instruction.
local function add(files, key, path, at, side, value)
  files[key] = files[key] or { path = path, counts = {} }
  local counts = files[key].counts
  counts[at] = counts[at] or {}
  counts[at][side] = (counts[at][side] or 0) + value
end

-- Adds to the counts of a copy: the innermost function, and where it is called.
local function add_copy(copies, line, at, side, value)
  local copied, into = at.inlined[1], identity.full(at.inlined[2] or line)
  local key = table.concat({ identity.full(copied), into, copied.source or "", copied.line or "" }, "\0")
  copies[key] = copies[key] or { fn = identity.full(copied), into = into, source = copied.source,
    line = copied.line }
  copies[key][side] = (copies[key][side] or 0) + value
end

-- Means by source file and line, and by file and instruction.
local function gather(self, side, of)
  for _, entry in ipairs(of.lines) do
    local line, placed, parts = entry.line, 0, of.n * entry.iterations
    for _, at in ipairs(line.at or {}) do
      local source = at.source or line.source
      if source and at.line then
        add(self.by_source, source, line.file, at.line, side, at.count / parts)
        self.by_source[source].address = self.by_source[source].address or at.address
        placed = placed + at.count
      end
      if at.inlined then add_copy(self.copies, line, at, side, at.count / parts) end
      if type(at.address) == "number" then
        local key = line.file .. "\0" .. (line.build_id or "")
        add(self.by_file, key, line.file, at.address, side, at.count / parts)
      end
    end
    self.unplaced[side] = self.unplaced[side] + (line.count - placed) / parts
  end
end

-- ---- source --------------------------------------------------------------------------------------------

local AROUND = 3                -- lines and instructions that are shown around those with counts

-- Indices within `around` of some that matter, in order.
local function near(indices, most, around)
  local seen = {}
  for _, index in ipairs(indices) do
    for i = math.max(1, index - around), math.min(most, index + around) do seen[i] = true end
  end
  return lists.keys(seen)
end

local function texts_of(path, file, reading)
  if not reading.is_stored then return listing.source(path, file.path, reading.folders) end
  return listing.stored_source(path, file.path, file.address, reading.folders)
end

local function source_of(path, file, reading)
  local numbers = lists.keys(file.counts)
  local texts, why = texts_of(path, file, reading)
  local shown = texts and near(numbers, math.max(#texts, numbers[#numbers]), AROUND) or numbers
  local lines = lists.map(shown, function(number)
    local own = file.counts[number] or {}
    return { number = number, text = texts and texts[number] or nil, a = own.a, b = own.b }
  end)
  return { path = path, lines = lines, why = why }
end

local function weight_of(file)
  local sum = 0
  for _, own in pairs(file.counts) do sum = sum + (own.a or 0) + (own.b or 0) end
  return sum
end

local function by_weight(files, make, reading)
  local keys = lists.keys(files)
  table.sort(keys, function(x, y)
    local p, q = weight_of(files[x]), weight_of(files[y])
    return p > q or p == q and x < y
  end)
  return lists.map(keys, function(key) return make(key, files[key], reading) end)
end

-- ---- copies --------------------------------------------------------------------------------------------

local function by_cost(copies)
  local keys = lists.keys(copies)
  local function cost(key) return (copies[key].a or 0) + (copies[key].b or 0) end
  table.sort(keys, function(x, y) return cost(x) > cost(y) or cost(x) == cost(y) and x < y end)
  return lists.map(keys, function(key) return copies[key] end)
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
  for i, offset in ipairs(lists.keys(counts)) do
    list[i] = { index = i, offset = offset, a = counts[offset].a, b = counts[offset].b }
  end
  return list
end

local function code_of(_, file)
  local list, why = listing.instructions(file.path, lists.keys(file.counts))
  return { path = file.path, sides = sides_of(file.counts), why = why,
    list = list and with_counts(list, file.counts) or bare(file.counts) }
end

--- A function beside its source and instructions.
---@param a pmclua.SideLines
---@param b? pmclua.SideLines
---@param reading? { is_stored?: boolean, folders?: string[] } of sources: is_stored: a stored result names them;
---  folders: below which they may be, too
---@return pmclua.Annotation
function M.new(a, b, reading)
  local self = { by_source = {}, by_file = {}, copies = {}, unplaced = { a = 0, b = 0 } }
  gather(self, "a", a)
  if b then gather(self, "b", b) end
  return { unplaced = self.unplaced, copies = by_cost(self.copies),
    sources = by_weight(self.by_source, source_of, reading or {}),
    codes = by_weight(self.by_file, code_of) }
end

return M
