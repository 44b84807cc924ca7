--- profiles.lua: the profiles of many repetitions as one list of functions, or of source lines, each with
--- its counts in every repetition.
--
-- Invariant: whatever a profile holds is in exactly one line, so that lines and rest add up to its total.

local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

--- A function, or a line of one, in the profiles of one side.
---@class pmclua.CodePlace
---@field key string
---@field fn string
---@field full string
---@field which? number
---@field declared? string file that the function is declared in
---@field file string base name; of the program itself "" where its name is known
---@field path string as mapped
---@field held_in string the same; where it is not told, the program
---@field source? string file of the line; of a function where it is declared
---@field line? integer
---@field first? integer its lowest source line
---@field last? integer
---@field counts table<integer, number> by repetition; nil: it has none of it
---@field samples integer
---@field nameless? boolean its file has no symbols there
---@field build_id? string
---@field is_local? true a name that only its source file sees
---@field text? string hash of its source
---@field copies? table<string, number> by full name: counts of what was copied into a function
---@field into? table<string, number> by full name: counts of its copies in other functions
---@field copy_of? string of a line: the function that it was copied with
---@field of_key string key of the function
---@field text_line? integer|string of a line of one of two builds: equal for those of one text
---@field fed? number[] of data: counts by repetition of what only computed with it
---@field other_line? integer what its number is on the other side
---@field home? string of one of two builds: what A calls the file that the function is declared in

local function base_name(path) return path and text.base_name(path) or "?" end

local NAMELESS = "%+0x%x+$"

local function is_nameless(line) return line.nameless or not line.fn or line.fn:find(NAMELESS) ~= nil end

-- The measured program is one file, whatever each side calls it.
local function file_of(profile, line)
  return profile.program and line.file == profile.program and "" or base_name(line.file)
end

local function new_place(key, profile, line, of)
  return { key = key, fn = of.fn or base_name(line.file), full = identity.full(of) or base_name(line.file),
    which = of.which, declared = of.source, file = file_of(profile, line), path = line.file,
    held_in = line.file == "?" and profile.program or line.file,
    of_key = identity.key(line.file, line.build_id, of), counts = {}, samples = 0,
    nameless = is_nameless(of) or nil, build_id = line.build_id,
    is_local = of.is_local or of.is_copy, text = of.text }
end

local function note_line(place, number)
  if not number then return end
  place.first = math.min(place.first or number, number)
  place.last = math.max(place.last or number, number)
end

local function add(place, repetition, count, samples)
  place.counts[repetition] = (place.counts[repetition] or 0) + count
  place.samples = place.samples + (samples or 0)
end

local function line_of(at) return at.line and at.line > 0 and at.line or nil end

local BY_LINE = { line = true, ["inlined line"] = true }
local BY_COPIES = { inlined = true, ["inlined line"] = true }

-- A line's parts: functions, source functions or source lines. Calls `put(of, at)` for each instruction, and last for
-- samples without one.
local function each_part(line, by, put)
  local left, left_samples = line.count, line.samples or 0
  for _, at in ipairs(line.at or {}) do
    put(BY_COPIES[by] and identity.innermost(line, at) or line, at)
    left, left_samples = left - at.count, left_samples - (at.samples or 0)
  end
  if left ~= 0 then put(line, { count = left, samples = left_samples }) end
end

local function key_of(line, of, at, by)
  local key = identity.key(line.file, line.build_id, of)
  if not BY_LINE[by] then return key end
  local copied = at.inlined and identity.full(at.inlined[1]) or ""
  return ("%s\0%s\0%s\0%s"):format(key, at.source or line.source or "", line_of(at) or "?", copied)
end

local function add_to(map, name, count)
  map = map or {}
  map[name] = (map[name] or 0) + count
  return map
end

---@alias pmclua.CodeBy "function"|"inlined"|"line"|"inlined line"|pmclua.DataBy
---@alias pmclua.DataBy "data"|"data line"|"data member"|"data source"|"data node"|"data function"
---  inlined: functions as the source has them, with what was copied into others, and without what was copied into them

--- The lines and rest of one side's profiles.
---@param profiles table[] one for each repetition: profile/README.md
---@param by pmclua.CodeBy
---@return pmclua.CodePlace[]
function M.places(profiles, by)
  local list, by_key = {}, {}
  local function place_at(profile, line, of, at)
    local key = key_of(line, of, at, by)
    local place = by_key[key]
    if not place then
      place = new_place(key, profile, line, of)
      place.source, place.line = place.declared, nil
      if BY_LINE[by] then place.source, place.line = at.source or line.source, line_of(at) end
      place.copy_of = by == "line" and at.inlined and at.inlined[1].fn or nil
      by_key[key], list[#list + 1] = place, place
    end
    return place
  end
  local function take(profile, i, line)
    each_part(line, by, function(of, at)
      local place = place_at(profile, line, of, at)
      add(place, i, at.count, at.samples)
      note_line(place, line_of(at))
      if of.is_copy then place.into = add_to(place.into, identity.full(at.inlined[2] or line), at.count) end
    end)
  end
  local function take_whole(profile, i, line)
    local place = place_at(profile, line, line, {})
    add(place, i, line.count, line.samples)
    if line.fed then
      place.fed = place.fed or {}
      place.fed[i] = (place.fed[i] or 0) + line.fed
    end
    for _, at in ipairs(line.at or {}) do
      note_line(place, line_of(at))
      local copied = at.inlined and identity.full(at.inlined[1])
      if copied then place.copies = add_to(place.copies, copied, at.count) end
    end
  end
  for i, profile in ipairs(profiles) do
    for _, line in ipairs(profile.lines) do
      if BY_LINE[by] or BY_COPIES[by] then take(profile, i, line) else take_whole(profile, i, line) end
    end
  end
  return list
end

--- The instructions of a place, as lines of profiles that have no others.
---@param profiles table[]
---@param place pmclua.CodePlace
---@param by pmclua.CodeBy
---@return { line: table, iterations: number, index: integer }[] iterations: of a kernel, else 1; index: of the profile
function M.lines_of(profiles, place, by)
  local list = {}
  for index, profile in ipairs(profiles) do
    for _, line in ipairs(profile.lines) do
      local part = { file = line.file, build_id = line.build_id, fn = line.fn, full = line.full,
        source = line.source, code = line.code, count = 0, at = {} }
      each_part(line, by, function(of, at)
        if key_of(line, of, at, by) ~= place.key then return end
        part.count = part.count + at.count
        if at.address or at.line then part.at[#part.at + 1] = at end
      end)
      if part.count > 0 then
        list[#list + 1] = { line = part, iterations = profile.iterations or 1, index = index }
      end
    end
  end
  return list
end

-- ---- the rest ----

--- Why counts are attributed to no code, in the order in which they are told.
M.REASONS = {
  { "kernel_unsampled", "in Linux, not sampled" }, { "lost", "lost samples" },
  { "throttled", "while throttled" }, { "unmapped", "of no known file" },
  { "tasks_too_short", "after a task's last sample" }, { "missed_ticks", "missed ticks" },
  { "in_linux", "in Linux" }, { "computing", "computing (division, root)" },
  { "no_operand", "no operand in memory" }, { "ambiguous", "one of several objects" },
  { "address_lost", "address lost" }, { "no_code", "code not readable" },
  { "recording", "recording of allocations" },
  { "not_kept", "more samples than are kept" },
}

-- Shown where nothing had them as well: what a view of data cannot tell.
local ALWAYS = { computing = true, no_operand = true, ambiguous = true, address_lost = true }

local KNOWN = lists.by(M.REASONS, 1)

--- Reasons that occur in some profiles: the known ones, then others by name.
---@param ... table[] lists of profiles
---@return { [1]: string, [2]: string }[]
function M.reasons(...)
  local seen = {}
  for _, profile in ipairs(lists.joined { ... }) do
    for name, value in pairs(profile.rest or {}) do seen[name] = seen[name] or value ~= 0 or ALWAYS[name] end
  end
  local known = lists.where(M.REASONS, function(reason) return seen[reason[1]] end)
  return lists.append(known, lists.map(lists.keys(seen), function(name)
    return not KNOWN[name] and { name, (name:gsub("_", " ")) } or nil
  end))
end

return M
