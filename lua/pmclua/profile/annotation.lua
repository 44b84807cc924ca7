--- annotation.lua: the counts of one function by source line and by instruction, beside source and machine code.
--
-- Invariant: each count of the function is at one line and at one instruction, or in what has none. Of two builds there
-- is one listing: lines of one text, and instructions that do the same, are one row.

local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local listing = require "pmclua.profile.listing"

local M = {}

---@class pmclua.SideLines lines of a function in the profiles of one side, and how many profiles there are
---@field lines { line: table, iterations: number, index: integer }[] of profiles
---@field n integer

---@class pmclua.AnnotationReading
---@field is_stored? boolean a stored result names the sources
---@field folders? string[] below which they may be, too
---@field pairing? table which line of A is which of B: ledger/sources.lua; nil: A and B are one build
---@field aligned? fun(a: table[], b: table[]): fun(k: integer): integer? which of A's instructions is one of B's
---@field judge? fun(rows: table[]) gives rows with `values` of both sides their `verdict`

---@class pmclua.AnnotatedRow
---@field a? number mean
---@field b? number
---@field values? { a: number[], b: number[] } by repetition, 0 left out
---@field verdict? string
---@field text? string
---@field changed? true A's text is another

---@class pmclua.Annotation
---@field sources { path: string, path_b?: string, is_aligned: boolean, lines: pmclua.AnnotatedRow[], why?: string }[]
---  rows with `number`; is_aligned: of two builds, with `number` in A and `number_b` in B
---@field codes { path: string, path_b?: string, is_aligned: boolean, sides: string, list: pmclua.AnnotatedRow[],
---  why?: string }[] rows with `offset` and `offset_b`, `line` and `line_b`
---@field copies { fn: string, into: string, source?: string, line?: integer, a?: number, b?: number }[] counts of what
---  was copied into a function, by the line that calls it
---@field unplaced { a: number, b: number } means that are at no line

-- ---- counts --------------------------------------------------------------------------------------------

-- Adds to the counts of a file of one side, by line or instruction.
local function add(files, key, line, at, entry, n, count)
  local file = files[key]
  if not file then
    file = { path = line.file, key = key, build = line.build_id or line.file, counts = {} }
    files[key] = file
  end
  local own = file.counts[at] or { sum = 0, values = {} }
  file.counts[at] = own
  own.sum = own.sum + count / (n * entry.iterations)
  own.values[entry.index] = (own.values[entry.index] or 0) + count / entry.iterations
  return file
end

-- Adds to the counts of a copy: the innermost function, and where it is called.
local function add_copy(copies, line, at, side, value)
  local copied, into = at.inlined[1], identity.full(at.inlined[2] or line)
  local key = table.concat({ identity.full(copied), into, copied.source or "", copied.line or "" }, "\0")
  copies[key] = copies[key] or { fn = identity.full(copied), into = into, source = copied.source,
    line = copied.line }
  copies[key][side] = (copies[key][side] or 0) + value
end

-- Notes what was sampled, and the code that was kept of the function, by offset.
local function note_code(file, line, at)
  file.places, file.kept = file.places or {}, file.kept or {}
  file.places[at.address] = at
  for _, code in ipairs(line.code or {}) do file.kept[code.from] = code end
end

-- A side's counts by source file and line, and by file and instruction.
local function gather(self, side, of)
  local sources, codes = {}, {}
  for _, entry in ipairs(of.lines) do
    local line, placed, parts = entry.line, 0, of.n * entry.iterations
    for _, at in ipairs(line.at or {}) do
      local source = at.source or line.source
      if source and at.line then
        local file = add(sources, source, line, at.line, entry, of.n, at.count)
        file.address = file.address or at.address
        placed = placed + at.count
      end
      if at.inlined then add_copy(self.copies, line, at, side, at.count / parts) end
      if type(at.address) == "number" then
        local key = line.file .. "\0" .. (line.build_id or "")
        add(codes, key, line, at.address, entry, of.n, at.count)
        note_code(codes[key], line, at)
      end
    end
    self.unplaced[side] = self.unplaced[side] + (line.count - placed) / parts
  end
  return sources, codes
end

-- ---- rows of both sides --------------------------------------------------------------------------------

local AROUND = 3                -- lines and instructions that are shown around those with counts

-- A's and B's items in one order: B's, with those that A alone has behind what they follow there.
local function merged(count_a, count_b, partner)
  local taken, behind, list, last = {}, {}, {}, 0
  for j = 1, count_b do
    local i = partner(j)
    if i then taken[i] = j end
  end
  for i = 1, count_a do
    if taken[i] then last = taken[i]
    else
      behind[last] = behind[last] or {}
      table.insert(behind[last], { i = i })
    end
  end
  for j = 0, count_b do
    if j > 0 then list[#list + 1] = { i = partner(j), j = j } end
    lists.append(list, behind[j] or {})
  end
  return list
end

-- The rows that have counts, and those around them.
local function shown(rows)
  local seen = {}
  for index, row in ipairs(rows) do
    row.index = index
    for k = math.max(1, index - AROUND), math.min(#rows, index + (row.values and AROUND or -1)) do
      if row.values then seen[k] = true end
    end
  end
  return lists.map(lists.keys(seen), function(k) return rows[k] end)
end

local function put_counts(row, own_a, own_b)
  if not (own_a or own_b) then return row end
  row.a, row.b = own_a and own_a.sum, own_b and own_b.sum
  row.values = { a = own_a and own_a.values or {}, b = own_b and own_b.values or {} }
  return row
end

local function judged(rows, reading)
  if reading.judge then reading.judge(lists.where(rows, function(row) return row.values end)) end
  return rows
end

local function weight_of(file)
  local sum = 0
  for _, own in pairs(file and file.counts or {}) do sum = sum + own.sum end
  return sum
end

-- Files of A with those of B that they are, by `other_of`; the others alone; those with most counts first.
local function pairs_of(ours, theirs, other_of)
  local list, taken = {}, {}
  for key, file in pairs(theirs) do
    local other = ours[other_of(file)]
    if other and not taken[other] then taken[other] = true else other = nil end
    list[#list + 1] = { a = other, b = file, key = key }
  end
  for key, file in pairs(ours) do
    if not taken[file] then list[#list + 1] = { a = file, key = key } end
  end
  table.sort(list, function(x, y)
    local p, q = weight_of(x.a) + weight_of(x.b), weight_of(y.a) + weight_of(y.b)
    if p ~= q then return p > q end
    if x.key ~= y.key then return x.key < y.key end
    return x.a ~= nil
  end)
  return list
end

-- ---- source --------------------------------------------------------------------------------------------

local function texts_of(file, reading)
  return listing.named_source({ key = file.key, path = file.path, address = file.address,
    build = not reading.is_stored and file.build or nil }, reading.folders)
end

local function last_of(counts)
  local numbers = lists.keys(counts)
  return numbers[#numbers] or 0
end

-- A function from B's lines to A's. Within one build they are the same lines.
local function partner_of(pair, reading)
  if not pair.a then return function() return nil end end
  if not reading.pairing then return function(j) return j end end
  return function(j) return reading.pairing:partner(pair.b.key, j, pair.a.key) end
end

local function source_of(pair, reading)
  local file = pair.b or pair.a
  local texts, why = texts_of(file, reading)
  local texts_a = pair.a and pair.b and reading.pairing and texts_of(pair.a, reading) or texts
  local counts_a, counts_b = pair.a and pair.a.counts or {}, pair.b and pair.b.counts or {}
  local is_aligned = pair.a ~= nil and pair.b ~= nil and reading.pairing ~= nil
  local partner = partner_of(pair, reading)
  local function most(side, of, counts)
    return side and math.max(of and #of or 0, last_of(counts)) or 0
  end
  local merging = merged(most(pair.a, texts_a, counts_a), most(pair.b, texts, counts_b), partner)
  local rows = lists.map(merging, function(at)
    local text = at.j and texts and texts[at.j] or at.i and texts_a and texts_a[at.i] or nil
    local is_changed = at.i and is_aligned and at.j and reading.pairing:is_changed(pair.b.key, at.j)
    local row = { number = at.i, number_b = at.j, text = text, changed = is_changed or nil }
    if not is_aligned then row.number, row.number_b = at.i or at.j, nil end
    return put_counts(row, counts_a[at.i], counts_b[at.j])
  end)
  if not texts then rows = lists.where(rows, function(row) return row.values end) end
  return { path = (pair.a or pair.b).key, path_b = pair.a and pair.b and pair.b.key or nil, why = why,
    is_aligned = is_aligned,
    lines = judged(texts and shown(rows) or rows, reading) }
end

-- ---- copies --------------------------------------------------------------------------------------------

local function by_cost(copies)
  local keys = lists.keys(copies)
  local function cost(key) return (copies[key].a or 0) + (copies[key].b or 0) end
  table.sort(keys, function(x, y) return cost(x) > cost(y) or cost(x) == cost(y) and x < y end)
  return lists.map(keys, function(key) return copies[key] end)
end

-- ---- instructions --------------------------------------------------------------------------------------

local function bare(counts)
  return lists.map(lists.keys(counts), function(offset) return { offset = offset } end)
end

-- Two sides of one build: each may use the code that the other kept.
local function take_kept(file, other)
  for from, code in pairs(other.kept) do file.kept[from] = code end
  for offset, at in pairs(other.places) do file.places[offset] = at end
end

local function instructions_of(file, other)
  if not file then return {}, nil end
  local offsets = lists.keys(file.counts)
  if other and other.build == file.build then
    offsets = lists.unique(lists.joined { offsets, lists.keys(other.counts) })
    table.sort(offsets)
    take_kept(file, other)
  end
  local list, why = listing.instructions(file, offsets)
  return list or bare(file.counts), why
end

local function code_of(pair, reading)
  local is_one = pair.a and pair.b and pair.a.build == pair.b.build
  local is_aligned = pair.a ~= nil and pair.b ~= nil and not is_one
  local list_b, why = instructions_of(pair.b, pair.a)
  local list_a, why_a = list_b, nil
  if not is_one then list_a, why_a = instructions_of(pair.a, pair.b) end
  local partner = function(k) return is_one and k or nil end
  if is_aligned then partner = reading.aligned(list_a, list_b) end
  local rows = lists.map(merged(#list_a, #list_b, partner), function(at)
    local own, other = list_a[at.i], list_b[at.j]
    local row = { text = (other or own).text }
    row.offset, row.line = (own or other).offset, (own or other).line
    if is_aligned then
      row.offset, row.line = own and own.offset, own and own.line
      row.offset_b, row.line_b = other and other.offset, other and other.line
    end
    return put_counts(row, own and pair.a and pair.a.counts[own.offset],
      other and pair.b and pair.b.counts[other.offset])
  end)
  return { path = (pair.a or pair.b).path, path_b = pair.b and pair.b.path or nil,
    is_aligned = is_aligned,
    sides = (pair.a and "A" or "") .. (pair.b and "B" or ""), why = why or why_a,
    list = judged(shown(rows), reading) }
end

-- B's code is A's of the same build, else that of the same file; of another file only where each side has one.
local function other_code(ours, theirs)
  local function base(path) return path:match "[^/]*$" end
  local only_a, only_b = lists.keys(ours), lists.keys(theirs)
  return function(file)
    if ours[file.key] then return file.key end
    local alike = lists.where(only_a, function(key) return base(ours[key].path) == base(file.path) end)
    if #alike == 1 then return alike[1] end
    return #only_a == 1 and #only_b == 1 and only_a[1] or ""
  end
end

--- A function beside its source and instructions.
---@param a pmclua.SideLines
---@param b? pmclua.SideLines
---@param reading? pmclua.AnnotationReading
---@return pmclua.Annotation
function M.new(a, b, reading)
  reading = reading or {}
  local self = { copies = {}, unplaced = { a = 0, b = 0 } }
  local sources_a, codes_a = gather(self, "a", a)
  local sources_b, codes_b = {}, {}
  if b then sources_b, codes_b = gather(self, "b", b) end
  local function other_source(file)
    return reading.pairing and (reading.pairing:file(file.key) or "") or file.key
  end
  return { unplaced = self.unplaced, copies = by_cost(self.copies),
    sources = lists.map(pairs_of(sources_a, sources_b, other_source), function(pair)
      return source_of(pair, reading)
    end),
    codes = lists.map(pairs_of(codes_a, codes_b, other_code(codes_a, codes_b)), function(pair)
      return code_of(pair, reading)
    end) }
end

return M
