--- cache.lua: the generic cache events, "L1-dcache-load-misses" and its many spellings.
--
-- A name is a cache, then at most one operation and one result, in either order. perf ignores a second
-- operation or result; here it is an error, because the name would promise what is not counted.

local lazy = require "pmclua.base.lazy"
local lists = require "pmclua.base.lists"
local lpeg = lazy.module "lpeg"
local names = require "pmclua.event.names"
local problem = require "pmclua.event.problem"

local M = {}

-- Longest first, so that "loads" is not read as "load" and an "s".
local function words(list)
  local flat = {}
  for i, entry in ipairs(list) do
    for _, name in ipairs(entry.names) do flat[#flat + 1] = { name, i - 1 } end
  end
  table.sort(flat, function(a, b)
    if #a[1] ~= #b[1] then return #a[1] > #b[1] end
    return a[1] < b[1]
  end)
  local pattern = lpeg.P(false)
  for _, word in ipairs(flat) do pattern = pattern + lpeg.P(word[1]) * lpeg.Cc(word[2]) end
  return pattern
end

local function tagged(tag, pattern)
  return lpeg.Ct(lpeg.Cg(lpeg.Cc(tag), "tag") * lpeg.Cg(lpeg.Cp(), "at") * lpeg.Cg(pattern, "value") *
    lpeg.Cg(lpeg.Cp(), "stop"))
end

local function cache_name()
  local word_end = lpeg.P("-") + -1
  local cache_word = words(names.caches) * #word_end
  local qualifier_word = tagged("operation", words(names.operations)) + tagged("result", words(names.results))
  local qualifier = "-" * qualifier_word * #word_end
  return lpeg.Ct(lpeg.Cg(cache_word, "cache") * lpeg.Cg(lpeg.Ct(qualifier ^ 0), "qualifiers") *
    lpeg.Cg(lpeg.Cp(), "stop"))
end

-- Lists of events name them all and match none.
local patterns = lazy.later({}, { cache_name = cache_name })

local function operations_of(cache)
  return table.concat(lists.map(names.operations, function(operation)
    return cache[operation.key] and operation.names[1] or nil
  end), ", ")
end

-- perf's rules: an absent operation is a load; an absent result is an access.
local function config_of(head, parsed)
  local chosen = {}
  for _, q in ipairs(parsed.qualifiers) do
    local position, length = head.position + q.at - 1, q.stop - q.at
    if chosen[q.tag] then
      problem.raise(position, length, "'%s' has a second %s", head.text, q.tag)
    end
    chosen[q.tag] = q
  end
  local cache = names.caches[parsed.cache + 1]
  local operation = chosen.operation and chosen.operation.value or 0
  local result = chosen.result and chosen.result.value or 0
  if not cache[names.operations[operation + 1].key] then
    local q = chosen.operation
    problem.raise(head.position + q.at - 1, q.stop - q.at,
      "the cache %s has no such operation; it has %s", cache.names[1], operations_of(cache))
  end
  return parsed.cache + operation * 0x100 + result * 0x10000
end

--- The config of a cache event, or nil where `head` is not the name of one. Raises a problem where it is
--- one of a cache that has no such operation.
---@param head { text: string, position: integer }
---@return integer? config
function M.find(head)
  local parsed = patterns.cache_name:match(head.text)
  if not parsed or parsed.stop <= #head.text then return nil end
  return config_of(head, parsed)
end

--- Raises a problem that points at the wrong part, where `head` begins with a cache's name.
---@param head { text: string, position: integer }
function M.blame(head)
  local parsed = patterns.cache_name:match(head.text)
  if not parsed then return end
  local wrong = head.text:sub(parsed.stop + 1)
  local qualifiers = lists.joined(lists.column(lists.joined { names.operations, names.results }, "names"))
  problem.unknown({ text = wrong, position = head.position + parsed.stop }, qualifiers,
    "'%s' is neither a cache operation nor a cache result", wrong)
end

--- The name of a cache event that another spelling of case, or of "-" as "_", is meant for.
---@param word string
---@return string?
function M.respelt(word)
  local lower = word:lower():gsub("_", "-")
  for _, cache in ipairs(names.caches) do
    for _, name in ipairs(cache.names) do
      local rest = lower:match("^" .. name:lower():gsub("%-", "%%-") .. "(%-.*)$")
      local parsed = rest and patterns.cache_name:match(name .. rest)
      if parsed and parsed.stop > #name + #rest then return name .. rest end
    end
  end
end

--- The usual name of a cache config, or nil for one that has none.
---@param config integer
---@return string?
function M.name_of(config)
  local cache = names.caches[config % 0x100 + 1]
  local operation = names.operations[math.floor(config / 0x100) % 0x100 + 1]
  local result = math.floor(config / 0x10000)
  if not cache or not operation or not cache[operation.key] or result > 1 then return nil end
  local plural = { read = "loads", write = "stores", prefetch = "prefetches" }
  local missed = { read = "load-misses", write = "store-misses", prefetch = "prefetch-misses" }
  return cache.names[1] .. "-" .. (result == 0 and plural or missed)[operation.key]
end

--- Every cache event by its usual name.
---@return { name: string, config: integer }[]
function M.all()
  local all = {}
  for c = 0, #names.caches - 1 do
    for o = 0, #names.operations - 1 do
      for r = 0, 1 do
        local config = c + o * 0x100 + r * 0x10000
        local name = M.name_of(config)
        if name then all[#all + 1] = { name = name, config = config } end
      end
    end
  end
  return all
end

return M
