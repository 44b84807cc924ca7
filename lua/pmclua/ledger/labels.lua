--- labels.lua: what lines of code are called: "parse", "memcpy [libc.so.6]", "parse.c:88 parse".
--
-- Invariant: no two lines of a ledger read alike. Where they would, they have the parameters, then the source file with
-- as much of its path as they need, then the address, then the whole path of the program or library.

local apart = require "pmclua.base.apart"

local tail = apart.tail

local M = {}

-- The shortest first; source: how many components of its path.
local FORMS = {
  { source = 1 }, { full = true, source = 1 }, { full = true, says_source = true, source = 1 },
  { full = true, says_source = true, source = 2 }, { full = true, says_source = true, source = math.huge },
  { full = true, says_source = true, source = 1, address = true },
  { full = true, says_source = true, source = math.huge, address = true, path = true },
}

local function name_of(place, form)
  local name = form.full and place.full or place.fn
  if form.says_source and place.declared and not place.line then
    name = ("%s (%s)"):format(name, tail(place.declared, form.source))
  end
  return form.address and place.which and ("%s at 0x%x"):format(name, place.which) or name
end

local function sum(map)
  local total = 0
  for _, count in pairs(map or {}) do total = total + count end
  return total
end

-- How much of a function's counts is in copies of it: " (inlined)", " (partly inlined)", "".
local function copied_words(line)
  local copied, whole = 0, 0
  for _, place in pairs { a = line.place, b = line.other } do
    copied, whole = copied + sum(place.into), whole + sum(place.counts)
  end
  return copied == 0 and "" or copied == whole and " (inlined)" or " (partly inlined)"
end

-- "fill" of what B has as "fill2".
local function name_of_both(place, other, form)
  local named = place.nameless and other and not other.nameless and other or place
  local name = name_of(named, form)
  if other and other.fn ~= named.fn and not place.nameless and not other.nameless then
    return ("%s = %s (a guess)"):format(name, name_of(other, form))
  end
  return name
end

local function file_of(place, form)
  local file = form.path and place.path or place.file
  if file == "" or file == "?" then return nil end
  return file:match "^%[(.*)%]$" or file
end

-- The same of a line that has counts on one side alone: the other may have that line, too.
local function words_of_one(line, place, parts, form)
  local number = place.other_line
  if not number then return ("%s (%s)"):format(parts, line.place and "A" or "B") end
  if number == place.line then return parts end
  local a, b = place.line, number
  if not line.place then a, b = b, a end
  return ("%s:%d (B %d)"):format(tail(place.source, form.source), a, b)
end

-- "parse.c:12"; of two builds what B's is, too, or whose it is.
local function line_words(line, place, form)
  local function at(own)
    return ("%s:%d"):format(own.source and tail(own.source, form.source) or "?", own.line)
  end
  local label, other = at(place), line.place and line.other
  if not place.text_line then return label end
  if not other then return words_of_one(line, place, label, form) end
  local is_same = tail(place.source, 1) == tail(other.source, 1)
  if is_same and place.line == other.line then return label end
  return ("%s (B %s)"):format(label, is_same and other.line or at(other))
end

local function label_of(line, form)
  local place = line.place or line.other
  local label = name_of_both(place, line.place and line.other, form)
  line.name = label
  label = place.copy_of and ("%s (inlined into %s)"):format(place.copy_of, label)
    or label .. copied_words(line)
  if place.line then
    label = ("%s %s%s"):format(line_words(line, place, form), label, line.is_changed and " (changed)" or "")
  end
  local file = file_of(place, form)
  return file and not label:find(file, 1, true) and ("%s [%s]"):format(label, file) or label
end

--- Gives each line its `label`, and its `name`, which leaves the file out.
---@param lines pmclua.LedgerLine[] with `place`, `other` or both
function M.add(lines)
  for line, label in pairs(apart.names(lines, FORMS, label_of)) do line.label = label end
end

return M
