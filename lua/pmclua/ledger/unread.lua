--- unread.lua: what a source read like that was changed since A was built from it, as far as line numbers and counts tell.
--
-- A function with as many lines as before is taken to read as it does now. One with more or fewer was changed: its first
-- lines are those that have the same counts for each call, and so are its last ones; what lies between reads otherwise.
-- A guess: what was changed and has as many lines as before is not seen.

local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local DIGITS = 8                -- of a line's hash: profile/written.lua

-- The lines of functions that were executed, by last name of the source and function: counts by number.
local function functions_of(profile)
  local functions = {}
  for _, line in ipairs(profile.lines) do
    for _, at in ipairs(line.at or {}) do
      local of = identity.innermost(line, at)
      local source = at.source or line.source
      if at.line and source and source == of.source then
        local key = text.base_name(source) .. "\0" .. identity.full(of)
        local entry = functions[key] or { source = source, first = at.line, last = at.line, counts = {} }
        entry.first, entry.last = math.min(entry.first, at.line), math.max(entry.last, at.line)
        entry.counts[at.line] = (entry.counts[at.line] or 0) + at.count
        functions[key] = entry
      end
    end
  end
  return functions
end

-- How many lines from one end on have the same counts for each call.
local function alike(ours, theirs, step)
  local from, to = step > 0 and ours.first or ours.last, step > 0 and theirs.first or theirs.last
  local calls_a, calls_b = ours.counts[ours.first], theirs.counts[theirs.first]
  local most = math.min(ours.last - ours.first, theirs.last - theirs.first)
  for i = 0, most do
    local a, b = ours.counts[from + step * i] or 0, theirs.counts[to + step * i] or 0
    if a * calls_b ~= b * calls_a then return i end
  end
  return most + 1
end

-- Gives lines of a function of A the hashes of those of B.
local function put(hashes, ours, theirs, digits)
  local function take(from, to, count)
    for i = 0, count - 1 do
      local at = (to + i - 1) * DIGITS
      hashes[from + i] = digits:sub(at + 1, at + DIGITS)
    end
  end
  local lines, lines_b = ours.last - ours.first + 1, theirs.last - theirs.first + 1
  if lines == lines_b then return take(ours.first, theirs.first, lines) end
  local head = alike(ours, theirs, 1)
  local tail = math.min(alike(ours, theirs, -1), math.min(lines, lines_b) - head)
  take(ours.first, theirs.first, head)
  take(ours.last - tail + 1, theirs.last - tail + 1, tail)
end

-- The texts of B's sources by their last name; false: of several.
local function texts_by_name(profile)
  local texts = {}
  for path, source in pairs(profile.sources or {}) do
    local name = text.base_name(path)
    if texts[name] ~= nil then texts[name] = false else texts[name] = source.hashes or false end
  end
  return texts
end

local function guessed(profile, other)
  local texts, theirs, hashes = texts_by_name(other), functions_of(other), {}
  for key, ours in pairs(functions_of(profile)) do
    local known, digits = profile.sources[ours.source], texts[text.base_name(ours.source)]
    if known and not known.hashes and digits and theirs[key] then
      hashes[ours.source] = hashes[ours.source] or {}
      put(hashes[ours.source], ours, theirs[key], digits)
    end
  end
  local sources = lists.copy(profile.sources)
  for path, by_line in pairs(hashes) do
    local list, numbers = {}, lists.keys(by_line)
    for i = 1, numbers[#numbers] do list[i] = by_line[i] or ("a%07x"):format(i) end
    sources[path] = { hashes = table.concat(list) }
  end
  return setmetatable({ sources = sources }, { __index = profile })
end

--- A's profiles with what their sources read like, where that is not known and B's is.
---@param a table[] profiles
---@param b table[]
---@return table[]
function M.told(a, b)
  local is_unknown = lists.any(a, function(profile)
    return lists.any(lists.keys(profile.sources or {}), function(path)
      return not profile.sources[path].hashes
    end)
  end)
  if not is_unknown or not b[1] then return a end
  return lists.map(a, function(profile) return profile.sources and guessed(profile, b[1]) or profile end)
end

return M
