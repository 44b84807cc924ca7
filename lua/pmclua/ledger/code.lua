--- code.lua: the code ledger: where the counts of one program are, or where B's differ from A's.

local by_line = require "pmclua.ledger.lines"
local chains = require "pmclua.profile.chains"
local labels = require "pmclua.ledger.labels"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local match = require "pmclua.ledger.match"
local objects = require "pmclua.ledger.objects"
local profiles = require "pmclua.ledger.profiles"

local M = {}

-- A repetition's numbers are divided by a kernel's iterations.
local function parts_of(profile) return profile.iterations or 1 end

local function dense(counts, profiles_of_side)
  local list = {}
  for i, profile in ipairs(profiles_of_side) do list[i] = (counts and counts[i] or 0) / parts_of(profile) end
  return list
end

local function line_of(place, other, ours, theirs, is_renamed)
  local is_changed = place and other and place.is_changed or nil
  return { key = (place or other).key, a = dense(place and place.counts, ours),
    b = theirs and dense(other and other.counts, theirs), is_guess = is_renamed or is_changed,
    is_changed = is_changed, fed = place and place.fed and dense(place.fed, ours),
    samples = (place and place.samples or 0) + (other and other.samples or 0), place = place, other = other }
end

local function lines_of_both(a, b, ours, theirs)
  local uncompared
  a, b = match.join_nameless(a, b), match.join_nameless(b, a)
  a, b, uncompared = by_line.prepared(a, b, ours, theirs)
  local callers = chains.callers(ours, theirs)
  local matched, guesses = match.places(a, b, callers)
  local lines = {}
  for _, place in ipairs(a) do
    lines[#lines + 1] = line_of(place, matched[place], ours, theirs, guesses[place])
  end
  for _, place in ipairs(b) do
    if not matched[place] then lines[#lines + 1] = line_of(nil, place, ours, theirs) end
  end
  return lines, uncompared
end

local function lines_of_one(a, ours)
  return lists.map(a, function(place) return line_of(place, nil, ours) end)
end

local function rest_values(list, name)
  return lists.map(list, function(profile)
    return (profile.rest and profile.rest[name] or 0) / parts_of(profile)
  end)
end

local function add_rest(lines, a, b)
  for _, reason in ipairs(profiles.reasons(a, b or {})) do
    lines[#lines + 1] = { key = "rest " .. reason[1], label = reason[2], rest = true,
      a = rest_values(a, reason[1]), b = b and rest_values(b, reason[1]) }
  end
end

local function totals(list)
  return lists.map(list, function(profile) return profile.total / parts_of(profile) end)
end

local function are_exact(list)
  return #list > 0 and lists.all(list, function(profile) return profile.exact end)
end

---@class pmclua.CodeAsked
---@field a table[] profiles of A, one for each repetition
---@field b? table[] of B; where paired, the i-th ran in the block of A's i-th
---@field by? pmclua.CodeBy
---@field paired? boolean
---@field groups? integer[]
---@field incomplete? string why nothing is concluded

--- The code ledger. Its rows' lines have `place` and `other`: where the code is, in A and in B.
---@param asked pmclua.CodeAsked
---@return pmclua.Ledger
function M.new(asked)
  local by = asked.by or "function"
  local a, b = objects.profiles(asked.a, by), objects.profiles(asked.b, by)
  local ours = profiles.places(a, by)
  local lines, uncompared = lines_of_one(ours, a), {}
  if b then lines, uncompared = lines_of_both(ours, profiles.places(b, by), a, b) end
  for _, line in ipairs(lines) do line.by = by end
  labels.add(lines)
  add_rest(lines, a, b)
  local first = a[1] or b and b[1] or {}
  return ledger.new { unit = first.unit or "", a = totals(a), b = b and totals(b), lines = lines,
    exact = are_exact(a) and (not b or are_exact(b)), paired = asked.paired, groups = asked.groups,
    is_rounded = first.iterations ~= nil, incomplete = asked.incomplete, uncompared = uncompared }
end

return M
