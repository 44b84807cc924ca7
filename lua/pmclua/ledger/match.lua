--- match.lua: which function of A is which of B.
--
-- By file, name and source file; where one of them left, by what is left of them, as long as only one on
-- each side can be meant; where the name left, by source file and lines. Invariant: each function of one
-- side is matched with one of the other at most.

local M = {}

local function base_name(path) return path and path:match "([^/]+)/*$" or "" end

-- Ways to match, the surest first: what must be equal.
local WAYS = {
  function(place) return place.key end,
  function(place) return not place.nameless and ("%s\0%s\0%s"):format(place.fn, base_name(place.source),
    place.line or "") or nil end,
  function(place)
    return not place.nameless and not place.line and ("%s\0%s"):format(place.file, place.fn) or nil
  end,
}

-- Unmatched places by a key that only one of them has.
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
    if other then matched[place], matched[other] = other, place end
  end
end

-- The share of their lines that two functions have in common; 0 where they are not of one source file.
local function overlap(x, y)
  if not (x.first and y.first) or x.line or base_name(x.source) ~= base_name(y.source) then return 0 end
  local both = math.min(x.last, y.last) - math.max(x.first, y.first) + 1
  return both / (math.max(x.last, y.last) - math.min(x.first, y.first) + 1)
end

local HALF = 0.5

-- Functions that were renamed: at the same lines of the same source file.
local function match_by_lines(a, b, matched)
  local found = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(matched[x] and {} or b) do
      local share = not matched[y] and overlap(x, y) or 0
      if share > HALF then found[#found + 1] = { x, y, share } end
    end
  end
  table.sort(found, function(p, q)
    if p[3] ~= q[3] then return p[3] > q[3] end
    return p[1].key < q[1].key or p[1].key == q[1].key and p[2].key < q[2].key
  end)
  for _, pair in ipairs(found) do
    local x, y = pair[1], pair[2]
    if not matched[x] and not matched[y] then matched[x], matched[y] = y, x end
  end
end

local function has_other_build(x, builds)
  for id in pairs(x.build_ids) do
    if not builds[id] then return true end
  end
  return false
end

local function builds_by_file(places)
  local by_file = {}
  for _, place in ipairs(places) do
    by_file[place.file] = by_file[place.file] or {}
    for id in pairs(place.build_ids) do by_file[place.file][id] = true end
  end
  return by_file
end

local function merge_into(target, place)
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
    local joins = place.nameless and others and next(others) and has_other_build(place, others)
    if not joins then
      list[#list + 1] = place
    elseif of_file[place.file] then
      merge_into(of_file[place.file], place)
    else
      local one = { key = place.file .. "\0\0", fn = "code without symbols", file = place.file,
        path = place.path, counts = {}, samples = 0, build_ids = place.build_ids, is_joined = true }
      merge_into(one, place)
      of_file[place.file], list[#list + 1] = one, one
    end
  end
  return list
end

--- The place of the other side that each place is.
---@param a pmclua.CodePlace[]
---@param b pmclua.CodePlace[]
---@return table<pmclua.CodePlace, pmclua.CodePlace>
function M.places(a, b)
  local matched = {}
  for _, way in ipairs(WAYS) do match_by(way, a, b, matched) end
  match_by_lines(a, b, matched)
  return matched
end

return M
