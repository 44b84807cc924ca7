--- profiles.lua: the profiles of many repetitions as one list of functions, or of source lines, each with
--- its counts in every repetition.
--
-- Invariant: whatever a profile holds is in exactly one line, so that lines and rest add up to its total.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.CodePlace: a function, or a line of one, in the profiles of one side
---@field key string
---@field fn string
---@field file string base name; of the program itself "" where its name is known
---@field path string as mapped
---@field source? string
---@field line? integer
---@field first? integer its lowest source line
---@field last? integer
---@field counts number[] by repetition
---@field samples integer
---@field nameless? boolean its file has no symbols there
---@field build_ids table<string, boolean>

local CLONES = { "%.constprop%.%d+", "%.isra%.%d+", "%.part%.%d+", "%.cold%.%d+", "%.cold",
  "%.lto_priv%.%d+" }

-- Parts and clones of a function, as compilers name them, are the function.
local function plain_name(fn)
  if not fn:find(".", 1, true) then return fn end
  for _, pattern in ipairs(CLONES) do fn = fn:gsub(pattern, "") end
  return fn
end

local function base_name(path) return path and (path:match "([^/]+)/*$" or path) or "?" end

local NAMELESS = "%+0x%x+$"

local function is_nameless(line) return line.nameless or not line.fn or line.fn:find(NAMELESS) ~= nil end

-- The program that was measured is one file, whatever each side calls it.
local function file_of(profile, line)
  return profile.program and line.file == profile.program and "" or base_name(line.file)
end

local function name_of(line) return plain_name(line.fn or base_name(line.file)) end

-- A function of a source file; its name alone may stand in several.
local function key_of(profile, line, source)
  return ("%s\0%s\0%s"):format(file_of(profile, line), name_of(line), base_name(source or ""))
end

local function new_place(key, profile, line, source, number)
  return { key = key, fn = name_of(line), file = file_of(profile, line), path = line.file, source = source,
    line = number, first = number, last = number, counts = {}, samples = 0,
    nameless = is_nameless(line) or nil, build_ids = {} }
end

local function note_lines(place, line)
  for _, at in ipairs(line.at or {}) do
    if at.line and at.line > 0 then
      place.first = math.min(place.first or at.line, at.line)
      place.last = math.max(place.last or at.line, at.line)
    end
  end
end

local function add(place, repetition, count, samples)
  place.counts[repetition] = (place.counts[repetition] or 0) + count
  place.samples = place.samples + (samples or 0)
end

-- A function's counts as those of its source lines; what is at none comes last.
local function each_source_line(line, put)
  local left, left_samples = line.count, line.samples or 0
  for _, at in ipairs(line.at or {}) do
    local number = at.line and at.line > 0 and at.line or nil
    put(at.source or line.source, number, at.count, at.samples)
    left, left_samples = left - at.count, left_samples - (at.samples or 0)
  end
  if left ~= 0 then put(line.source, nil, left, left_samples) end
end

--- What profiles hold of one side.
---@param profiles table[] one for each repetition: profile/README.md
---@param by "function"|"line"
---@return pmclua.CodePlace[]
function M.places(profiles, by)
  local list, by_key = {}, {}
  local function place_at(profile, line, source, number)
    local key = key_of(profile, line, source)
    if by == "line" then key = ("%s\0%s"):format(key, number or "?") end
    if not by_key[key] then
      by_key[key] = new_place(key, profile, line, source, number)
      list[#list + 1] = by_key[key]
    end
    if line.build_id then by_key[key].build_ids[line.build_id] = true end
    return by_key[key]
  end
  for i, profile in ipairs(profiles) do
    for _, line in ipairs(profile.lines) do
      if by == "line" then
        each_source_line(line, function(source, number, count, samples)
          add(place_at(profile, line, source, number), i, count, samples)
        end)
      else
        local place = place_at(profile, line, line.source)
        add(place, i, line.count, line.samples)
        note_lines(place, line)
      end
    end
  end
  return list
end

--- The lines of profiles that are one function.
---@param profiles table[]
---@param key string of a place
---@return { line: table, iterations: number }[] iterations: of a kernel, else 1
function M.lines_of(profiles, key)
  local list = {}
  for _, profile in ipairs(profiles) do
    for _, line in ipairs(profile.lines) do
      if key_of(profile, line, line.source) == key then
        list[#list + 1] = { line = line, iterations = profile.iterations or 1 }
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
}

local KNOWN = lists.by(M.REASONS, 1)

--- Reasons that occur in some profiles: the known ones, then others by name.
---@param ... table[] lists of profiles
---@return { [1]: string, [2]: string }[]
function M.reasons(...)
  local seen = {}
  for _, profile in ipairs(lists.joined { ... }) do
    for name, value in pairs(profile.rest or {}) do seen[name] = seen[name] or value ~= 0 or nil end
  end
  local known = lists.where(M.REASONS, function(reason) return seen[reason[1]] end)
  return lists.append(known, lists.map(lists.keys(seen), function(name)
    return not KNOWN[name] and { name, (name:gsub("_", " ")) } or nil
  end))
end

return M
