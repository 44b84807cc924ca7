--- lines.lua: the source lines of two builds, ready to be matched: each with what it is by its text; those of a function
--- of which a source is not known, as that function.

local lists = require "pmclua.base.lists"
local match = require "pmclua.ledger.match"
local sources = require "pmclua.ledger.sources"

local M = {}

local UNKNOWN = { why = "what the source read like is not in the stored result" }
local SHORTER = { why = "the source does not have as many lines" }
local SEVERAL = { why = "the source was changed between repetitions" }

local function texts_of(profiles)
  local texts = {}
  for _, profile in ipairs(profiles) do
    for path, text in pairs(profile.sources or {}) do
      local other, is_known = texts[path], text.hashes or text.why
      if is_known then texts[path] = (not other or other.hashes == text.hashes) and text or SEVERAL end
    end
  end
  return texts
end

local function function_of(place) return place.file .. "\0" .. place.full end

local function refuse(refused, place, why)
  local source = place.source or "?"
  refused.functions[function_of(place)] = true
  refused.sources[source] = refused.sources[source] or { source = source, why = why, count = 0 }
  for _, count in pairs(place.counts) do
    refused.sources[source].count = refused.sources[source].count + count
  end
end

local function find_texts(side, pairing, texts, refused)
  for _, place in ipairs(side.of_builds) do
    place.text_line, place.is_changed, place.other_line =
      pairing:line(side.name, place.source or "", place.line)
    place.home = side.name == "b" and pairing:file(place.declared or "") or nil
    if not place.text_line then
      refuse(refused, place, (texts[place.source or ""] or UNKNOWN).why or SHORTER.why)
    end
  end
end

-- The places of a side, with all lines of functions that are refused as one place each.
local function take_together(places, side, refused)
  local list, whole = {}, {}
  local own = lists.set(side.of_builds)
  for _, place in ipairs(places) do
    local is_refused = refused.functions[function_of(place)] and (own[place] or not place.line)
    local target = is_refused and whole[place.of_key]
    if target then
      match.merge_into(target, place)
    else
      list[#list + 1] = place
      if is_refused then
        whole[place.of_key] = place
        place.source, place.line, place.text_line, place.copy_of = place.declared, nil, nil, nil
      end
    end
  end
  return list
end

local function reasons_of(refused)
  local list = lists.map(lists.keys(refused.sources), function(source) return refused.sources[source] end)
  table.sort(list, function(x, y) return x.count > y.count or x.count == y.count and x.source < y.source end)
  return lists.map(lists.groups(list, function(remark) return remark.why end), function(group)
    return { why = group[1].why, sources = lists.column(group, "source") }
  end)
end

--- Pairs lines of A and B by their sources.
---@param ours table[] profiles of A
---@param theirs table[] of B
---@return pmclua.SourcePairing
function M.pairing(ours, theirs) return sources.new(texts_of(ours), texts_of(theirs)) end

--- Lines of two sides, ready for `match.places`.
---@param a pmclua.CodePlace[] by line, changed
---@param b pmclua.CodePlace[]
---@param ours table[] profiles of A
---@param theirs table[] of B
---@return pmclua.CodePlace[] a
---@return pmclua.CodePlace[] b
---@return { why: string, sources: string[] }[] uncompared why lines of some sources are not compared
function M.prepared(a, b, ours, theirs)
  local of_a, of_b = match.of_other_builds(a, b)
  if #of_a + #of_b == 0 then return a, b, {} end
  local texts_a, texts_b, refused = texts_of(ours), texts_of(theirs), { functions = {}, sources = {} }
  local pairing = sources.new(texts_a, texts_b)
  local side_a, side_b = { name = "a", of_builds = of_a }, { name = "b", of_builds = of_b }
  find_texts(side_a, pairing, texts_a, refused)
  find_texts(side_b, pairing, texts_b, refused)
  return take_together(a, side_a, refused), take_together(b, side_b, refused), reasons_of(refused)
end

return M
