--- match.lua: which function of A is which of B.
--
-- Invariant: each function of one side is matched with one of the other at most. Within one build of a file a function
-- is matched with itself alone; of two builds with that of the same full name, as long as only one on each side can be
-- meant. Renamed functions need evidence, and are a guess. A line of two builds is the one of the same text (sources.lua),
-- never that of the same number.

local apart = require "pmclua.base.apart"
local lists = require "pmclua.base.lists"

local M = {}

local function tail(path, count) return path and apart.tail(path, count) or "" end

--- Tells a build from others; of files that have no build id it is not known whether they are one build.
---@param place { build_id?: string, held_in: string }
---@return string
function M.build_of(place) return place.build_id or "at " .. place.held_in end

local build_of = M.build_of

-- Places in builds that the other side lacks.
local function without(places, others)
  local builds = {}
  for _, place in ipairs(others) do builds[build_of(place)] = true end
  return lists.where(places, function(place) return place.line and not builds[build_of(place)] end)
end

--- The places with lines of builds that only one side has.
---@param a pmclua.CodePlace[]
---@param b pmclua.CodePlace[]
---@return pmclua.CodePlace[] a
---@return pmclua.CodePlace[] b
function M.of_other_builds(a, b) return without(a, b), without(b, a) end

-- The key of a place within one build. A program may be at two paths.
local function exact(place)
  return table.concat({ build_of(place), place.full, place.declared or "", place.which or "",
    place.source or "", place.line or "", place.copy_of or "" }, "\0")
end

-- The key of a place across builds: full name, maybe the file, and part of the source's path. A global name needs no
-- file.
local function of_two_builds(has_file, components)
  return function(place)
    -- A distinction that holds in one build alone says nothing about another.
    local is_established = not place.which and (components > 0 or not (place.is_local and place.declared))
    if place.nameless or not is_established then return nil end
    return table.concat({ has_file and place.file or "", place.full,
      tail(place.home or place.declared, components), place.text_line or "", place.copy_of or "" }, "\0")
  end
end

local function moved(place)
  return not place.nameless and not place.line and place.text and place.full .. "\0" .. place.text or nil
end

-- Ways to match, the surest first.
local WAYS = { exact, of_two_builds(true, math.huge), of_two_builds(true, 3), of_two_builds(true, 2),
  of_two_builds(true, 1), of_two_builds(true, 0), moved, of_two_builds(false, 1) }

local function unique(places, matched, way)
  local by_key, several = {}, {}
  for _, place in ipairs(places) do
    local key = not matched[place] and way(place)
    if key then
      several[key] = by_key[key] ~= nil or several[key]
      by_key[key] = place
    end
  end
  for key in pairs(several) do by_key[key] = nil end
  return by_key
end

local function match_by(way, a, b, matched)
  local ours, theirs = unique(a, matched, way), unique(b, matched, way)
  for key, place in pairs(ours) do
    local other = theirs[key]
    local is_one_build = other and build_of(place) == build_of(other)
    if other and (way == exact or not is_one_build) then matched[place], matched[other] = other, place end
  end
end

-- ---- renamed functions ---------------------------------------------------------------------------------

-- "work" of "app::work<i32>(int)": another of that name is an overload or an instantiation.
local function bare_name(place) return (place.fn:gsub("%b<>", ""):match "[%w_~]+$") end

local function is_called_by_same(x, y, callers)
  if not callers then return true end
  local ours, theirs = callers.a[x.full] or {}, callers.b[y.full] or {}
  for name in pairs(ours) do
    if theirs[name] then return true end
  end
  return next(ours) == nil and next(theirs) == nil
end

local function is_renamed(x, y, callers)
  return build_of(x) ~= build_of(y) and bare_name(x) ~= bare_name(y) and is_called_by_same(x, y, callers)
end

local function by_text(place) return not place.line and place.text or nil end

-- A function was renamed if its name is gone, the text of its lines stayed, and so did its callers.
local function match_renamed(a, b, matched, callers)
  local guesses = {}
  local ours, theirs = unique(a, matched, by_text), unique(b, matched, by_text)
  for text, x in pairs(ours) do
    local y = theirs[text]
    if y and is_renamed(x, y, callers) then
      matched[x], matched[y], guesses[x] = y, x, true
    end
  end
  return guesses
end

-- ---- code without names --------------------------------------------------------------------------------

local function builds_by_file(places)
  local by_file = {}
  for _, place in ipairs(places) do
    by_file[place.file] = by_file[place.file] or {}
    if place.build_id then by_file[place.file][place.build_id] = true end
  end
  return by_file
end

--- Adds the counts of a place to those of another.
---@param target pmclua.CodePlace
---@param place pmclua.CodePlace
function M.merge_into(target, place)
  for i, count in pairs(place.counts) do target.counts[i] = (target.counts[i] or 0) + count end
  target.samples = target.samples + place.samples
end

--- Addresses of one build mean nothing in another: where the sides have different builds of a file, its
--- nameless code is one place.
---@param a pmclua.CodePlace[]
---@param b pmclua.CodePlace[]
---@return pmclua.CodePlace[] of `a`
function M.join_nameless(a, b)
  local builds, list, of_file = builds_by_file(b), {}, {}
  for _, place in ipairs(a) do
    local others = builds[place.file]
    local joins = place.nameless and others and next(others) and place.build_id and not others[place.build_id]
    if not joins then
      list[#list + 1] = place
    elseif of_file[place.file] then
      M.merge_into(of_file[place.file], place)
    else
      local key = place.file .. "\0\0"
      local nameless = { key = key, of_key = key, fn = "code without symbols", full = "code without symbols",
        file = place.file, path = place.path, held_in = place.held_in, counts = {}, samples = 0,
        is_joined = true }
      M.merge_into(nameless, place)
      of_file[place.file], list[#list + 1] = nameless, nameless
    end
  end
  return list
end

--- The place of the other side that each place is, and of which that is a guess.
---@param a pmclua.CodePlace[]
---@param b pmclua.CodePlace[]
---@param callers? { a: table<string, table<string, true>>, b: table } by full name, where they are known of both sides
---@return table<pmclua.CodePlace, pmclua.CodePlace>
---@return table<pmclua.CodePlace, true> guesses of A
function M.places(a, b, callers)
  local matched = {}
  for _, way in ipairs(WAYS) do match_by(way, a, b, matched) end
  return matched, match_renamed(a, b, matched, callers)
end

return M
