--- text.lua: words and columns as people read them; and numbers, as number.lua has them.
--
-- Invariant: nothing here depends on the locale, and what `safe` returns moves no cursor, changes no
-- colour and is valid UTF-8, whatever bytes went in.

local number = require "pmclua.base.number"

local M = require("pmclua.base.lists").copy(number)

-- ---- code points ----------------------------------------------------------------------------------

-- First byte to length and the smallest code point of that length: an overlong form is no character.
local function lead(byte)
  if byte < 0x80 then return 1, 0, byte end
  if byte >= 0xc2 and byte < 0xe0 then return 2, 0x80, byte - 0xc0 end
  if byte >= 0xe0 and byte < 0xf0 then return 3, 0x800, byte - 0xe0 end
  if byte >= 0xf0 and byte < 0xf5 then return 4, 0x10000, byte - 0xf0 end
end

-- The code point at byte `i` and its length; nil and 1 where the bytes are not UTF-8.
local function decode(s, i)
  local length, smallest, point = lead(s:byte(i))
  if not length then return nil, 1 end
  for k = 1, length - 1 do
    local byte = s:byte(i + k)
    if not byte or byte < 0x80 or byte > 0xbf then return nil, 1 end
    point = point * 64 + byte - 0x80
  end
  local surrogate = point >= 0xd800 and point <= 0xdfff
  if point < smallest or point > 0x10ffff or surrogate then return nil, 1 end
  return point, length
end

-- Iterates over (place, code point or nil, length).
local function points(s)
  local place = 1
  return function()
    if place > #s then return nil end
    local at = place
    local point, length = decode(s, at)
    place = at + length
    return at, point, length
  end
end

local function within(point, ranges)
  for i = 1, #ranges, 2 do
    if point >= ranges[i] and point <= ranges[i + 1] then return true end
  end
  return false
end

-- Combining marks, zero-width characters, variation selectors.
local ZERO_WIDTH = { 0x300, 0x36f, 0x483, 0x489, 0x591, 0x5bd, 0x610, 0x61a, 0x64b, 0x65f, 0x1ab0, 0x1aff,
                     0x1dc0, 0x1dff, 0x200b, 0x200f, 0x2060, 0x2064, 0x20d0, 0x20ff, 0xfe00, 0xfe0f,
                     0xfe20, 0xfe2f, 0xfeff, 0xfeff, 0xe0100, 0xe01ef }
-- East Asian wide and full-width blocks, and emoji (Unicode Annex 11).
local DOUBLE_WIDTH = { 0x1100, 0x115f, 0x2e80, 0x303e, 0x3041, 0xa4cf, 0xa960, 0xa97f, 0xac00, 0xd7a3,
                       0xf900, 0xfaff, 0xfe30, 0xfe6f, 0xff00, 0xff60, 0xffe0, 0xffe6, 0x1f300, 0x1f64f,
                       0x1f680, 0x1f6ff, 0x1f900, 0x1faff, 0x20000, 0x3fffd }
-- Controls, and what reorders or separates lines unseen: C0 and C1, line and paragraph separators,
-- bidirectional overrides and isolates.
local HARMFUL = { 0, 0x1f, 0x7f, 0x9f, 0x61c, 0x61c, 0x200e, 0x200f, 0x2028, 0x202e, 0x2066, 0x2069 }

local function columns(point)
  if not point or point < 0x300 then return 1 end
  if within(point, ZERO_WIDTH) then return 0 end
  return within(point, DOUBLE_WIDTH) and 2 or 1
end

-- Most texts are ASCII: that is found in a third of the time that looking for other bytes takes.
local ASCII = "^[\32-\126]*$"

--- Columns that a text takes on a terminal.
---@param s string
---@return integer
function M.width(s)
  local width = #s
  if s:find(ASCII) then return width end
  for run in s:gmatch "[\128-\255]+" do
    width = width - #run
    for _, point in points(run) do width = width + columns(point) end
  end
  return width
end

local NAMED = { [9] = "\\t", [10] = "\\n", [13] = "\\r", [27] = "\\e" }

-- A text whose runs of some bytes are written anew, character by character: `f` takes one and its code point, nil where
-- it is a byte that is not UTF-8.
local function respelt(s, runs, f)
  return (s:gsub(runs, function(run)
    local out = {}
    for at, point, length in points(run) do out[#out + 1] = f(run:sub(at, at + length - 1), point) end
    return table.concat(out)
  end))
end

-- Makes visible what a terminal would act upon in these runs of bytes.
local function made_visible(s, runs)
  return respelt(s, runs, function(character, point)
    if point and not within(point, HARMFUL) then return character end
    return NAMED[point] or (character:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
  end)
end

--- The text with all that a terminal would act upon made visible: control characters, bytes that are
--- not UTF-8, and characters that reorder a line become \n, \e, \x9b …
---@param s string
---@return string
function M.safe(s) return s:find(ASCII) and s or made_visible(s, "[^\32-\126]+") end

--- The same, but for its lines and tabs: for messages.
---@param s string
---@return string
function M.plain(s)
  return s:find "^[\32-\126\n\t]*$" and s or made_visible(s, "[^\32-\126\n\t]+")
end

-- Colours of reports (report/table.lua).
local COLOURS = { ["0"] = true, ["1"] = true, ["2"] = true, ["31"] = true, ["32"] = true, ["33"] = true }

--- The same for reports, which have colours.
---@param s string
---@return string
function M.printed(s)
  if not s:find("\27", 1, true) then return M.plain(s) end
  local parts, at = {}, 1
  for from, code, beyond in s:gmatch "()\27%[(%d+)m()" do
    if COLOURS[code] then
      parts[#parts + 1], at = M.plain(s:sub(at, from - 1)) .. "\27[" .. code .. "m", beyond
    end
  end
  return table.concat(parts) .. M.plain(s:sub(at))
end

--- The text with each byte that is not UTF-8 replaced by U+FFFD (file names are bytes).
---@param s string
---@return string
function M.utf8(s)
  return respelt(s, "[\128-\255]+", function(character, point)
    return point and character or "\239\191\189"
  end)
end

-- Characters beyond ASCII in reports, by their ASCII spelling.
local IN_ASCII = {
  ["…"] = "..", ["·"] = "-", ["–"] = "-", ["±"] = "+-", ["×"] = "x", ["µ"] = "u", ["²"] = "2", ["−"] = "-",
  ["≤"] = "<=", ["≥"] = ">=", ["α"] = "a", ["δ"] = "d", ["▁"] = ".", ["▂"] = ".", ["▃"] = ":", ["▄"] = ":",
  ["▅"] = "|", ["▆"] = "|", ["▇"] = "#", ["█"] = "#",
  ["▒"] = "+", ["▏"] = ".", ["▎"] = ".", ["▍"] = ".", ["▌"] = ".",
  ["▋"] = "#", ["▊"] = "#", ["▉"] = "#", ["¹"] = "^1", ["³"] = "^3", ["⁶"] = "^6", ["⁹"] = "^9", ["’"] = "'",
}

--- The same text for a terminal without UTF-8: known signs by their nearest spelling, others as "?".
---@param s string
---@return string
function M.ascii(s)
  return respelt(s, "[\128-\255]+", function(character) return IN_ASCII[character] or "?" end)
end

-- ---- columns --------------------------------------------------------------------------------------

--- Filled with spaces to `width` columns; never cut.
---@param s string
---@param width integer columns
---@param align? "left"|"right" default left
---@return string
function M.pad(s, width, align)
  local fill = (" "):rep(width - M.width(s))
  return align == "right" and fill .. s or s .. fill
end

--- Cut to `width` columns, ending in "…" where something was cut.
---@param s string
---@param width integer columns, at least 1
---@return string
function M.cut(s, width)
  if M.width(s) <= width then return s end
  local used, keep = 0, 0
  for at, point, length in points(s) do
    used = used + columns(point)
    if used > width - 1 then break end
    keep = at + length - 1
  end
  return s:sub(1, keep) .. "…"
end

--- Cut to `width` columns, with "…" in the middle: names that begin alike stay apart.
---@param s string
---@param width integer columns, at least 1
---@return string
function M.cut_middle(s, width)
  if M.width(s) <= width then return s end
  local tail, rest = math.floor((width - 1) / 2), M.width(s)
  local from = #s + 1
  for at, point in points(s) do
    if rest <= tail then
      from = at
      break
    end
    rest = rest - columns(point)
  end
  return M.cut(s, width - tail) .. s:sub(from)
end

--- Broken at spaces into lines of at most `width` columns (a longer word stands alone).
---@param s string
---@param width integer columns
---@return string[] lines
function M.wrap(s, width)
  local lines, line, used = {}, nil, 0
  for word in s:gmatch "%S+" do
    local columns_of_word = M.width(word)
    if line and used + 1 + columns_of_word <= width then
      line, used = line .. " " .. word, used + 1 + columns_of_word
    else
      lines[#lines + 1] = line
      line, used = word, columns_of_word
    end
  end
  lines[#lines + 1] = line
  return lines
end

--- The lines of a text, empty ones too.
---@param s string
---@return string[]
function M.lines(s)
  local lines, from = {}, 1
  local to = s:find("\n", 1, true)
  while to do
    lines[#lines + 1] = s:sub(from, to - 1)
    from = to + 1
    to = s:find("\n", from, true)
  end
  if from <= #s or from == 1 then lines[#lines + 1] = s:sub(from) end
  return lines
end

--- The last part of a path; of "/" the path itself.
---@param path string
---@return string
function M.base_name(path) return path:match "([^/]+)/*$" or path end

--- Long lines broken at spaces, all but the first line indented.
---@param lines string[]
---@param width integer columns
---@return string[]
function M.hang(lines, width)
  local hung = {}
  for _, line in ipairs(lines) do
    for _, part in ipairs(M.wrap(line, width - 2)) do
      hung[#hung + 1] = #hung == 0 and part or "  " .. part
    end
  end
  return hung
end

--- "a", "a and b", "a, b and c".
---@param items string[]
---@param last? string the last joint, default "and"
---@return string
function M.list(items, last)
  if #items < 2 then return items[1] or "" end
  return table.concat(items, ", ", 1, #items - 1) .. " " .. (last or "and") .. " " .. items[#items]
end

--- "1 event", "3 events".
---@param n integer
---@param word string
---@param several? string where the plural is not word .. "s"
---@return string
function M.plural(n, word, several)
  return number.count(n) .. " " .. (n == 1 and word or several or word .. "s")
end

-- ---- the nearest word -----------------------------------------------------------------------------

-- Case, and "-" for "_", are not what makes a word wrong.
local function folded(word) return (word:lower():gsub("_", "-")) end

-- Optimal string alignment: insert, delete, replace, swap neighbours, each 1; nil beyond `limit`.
local function distance(a, b, limit)
  if math.abs(#a - #b) > limit then return nil end
  local before, previous, current = {}, {}, {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    current[0] = i
    local least, byte = i, a:byte(i)
    for j = 1, #b do
      local cost = byte == b:byte(j) and 0 or 1
      local best = math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
      if i > 1 and j > 1 and byte == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        best = math.min(best, before[j - 2] + 1)
      end
      current[j] = best
      least = math.min(least, best)
    end
    if least > limit then return nil end
    before, previous, current = previous, current, before
  end
  return previous[#b] <= limit and previous[#b] or nil
end

-- The only candidate that `word` begins, if that says enough.
local function completion(word, candidates)
  local only
  for _, candidate in ipairs(candidates) do
    if #word >= 3 and folded(candidate:sub(1, #word)) == word then
      if only then return nil end
      only = candidate
    end
  end
  return only
end

--- The candidate that was probably meant: at most a third of the word's letters wrong (swapped
--- neighbours count once), or the only one that begins so. Of equally near ones the one that begins so, or
--- the first.
---@param word string
---@param candidates string[]
---@return string? best nil where none is near
function M.nearest(word, candidates)
  word = folded(word)
  -- A word of two letters is near to too many: it has to be right but for its case.
  local limit = math.floor(#word / 3)
  local best
  for _, candidate in ipairs(candidates) do
    local is_as_long = math.abs(#word - #candidate) <= limit
    local d = is_as_long and distance(word, folded(candidate), limit)
    if d == 0 then return candidate end
    if d then best, limit = candidate, d - 1 end
    if limit < 0 then break end
  end
  local longer = completion(word, candidates)
  local is_as_near = longer and #longer - #word <= limit + 1
  return (not best or is_as_near) and longer or best
end

--- The field of an event or metric by its name as reports show it: cache_misses of "cache-misses",
--- valgrind_instructions of "valgrind::instructions", syscalls_total of "syscalls::total".
---@param name string
---@return string
function M.field(name)
  return (name:gsub("-", "_"):gsub("^valgrind::", "valgrind_"):gsub("^syscalls::", "syscalls_"))
end

--- Gives each name a word of letters, digits and _, to each another: where two would be equal, the second ends in _2.
---@param taken table<string, any> words that nobody gets; it is added to
---@return fun(name: string, ending?: string): string word  it ends in `ending`
function M.naming(taken)
  return function(name, ending)
    local clean, count = name:gsub("[^%w_]", "_"):gsub("^%d", "_%0"):gsub("^$", "_"), 1
    local word = clean .. (ending or "")
    while taken[word] and taken[word] ~= name do
      count = count + 1
      word = ("%s_%d%s"):format(clean, count, ending or "")
    end
    taken[word] = name
    return word
  end
end

--- "did you mean 'WORD'?" for the nearest of `candidates`.
---@param word any
---@param candidates string[]
---@param joint? string put before it, where it goes on with a sentence
---@return string? hint where none is near nil, or "" with a joint
function M.meant(word, candidates, joint)
  local near = M.nearest(tostring(word), candidates)
  return near and ("%sdid you mean '%s'?"):format(joint or "", near) or joint and ""
end

--- The same, or what there is: "there are a, b and c".
---@param word any
---@param candidates string[]
---@return string
function M.meant_or_all(word, candidates)
  return M.meant(word, candidates) or "there are " .. M.list(candidates)
end

--- Whole numbers as ranges: "3,17-19". Digits are kept as they are written: "01-03".
---@param numbers (integer|string)[] ascending
---@return string
function M.ranges(numbers)
  local words, parts, i = {}, {}, 1
  for k, item in ipairs(numbers) do
    words[k] = type(item) == "string" and item or ("%.0f"):format(item)
  end
  while words[i] do
    local last = i
    while words[last + 1] and tonumber(words[last + 1]) == tonumber(words[last]) + 1 do last = last + 1 end
    parts[#parts + 1] = last == i and words[i] or words[i] .. "-" .. words[last]
    i = last + 1
  end
  return table.concat(parts, ",")
end

return M
