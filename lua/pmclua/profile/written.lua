--- written.lua: what the source of a program or library reads like, as hashes: of functions, each without its own
--- name, so that a function that was renamed has the hash that it had; and of each line, without blanks.
--
-- Invariant: there are none of a source that was changed after the program or library was made of it.

local core = require "pmclua.core"
local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local listing = require "pmclua.profile.listing"

local M = {}

-- Less than this is in many functions.
local LEAST_LINES, LEAST_CHARACTERS = 3, 40

-- Hexadecimal digits of a line's hash.
local DIGITS = 8

---@class pmclua.SourceText
---@field hashes? string of all lines, DIGITS each
---@field why? string there are none

---@class pmclua.Written
local Written = {}
Written.__index = Written

---@param symbols? pmclua.core.Symbols of the file; nil: it is not where sources could be found from
---@return pmclua.Written
function M.new(symbols)
  local made = symbols and core.stat(symbols.path)
  return setmetatable({ symbols = symbols, made_ns = made and made.mtime_ns, sources = {}, texts = {} },
    Written)
end

local function read(self, source)
  if not self.symbols then return { why = "the program is not here" } end
  local lines, why, changed_ns = listing.source(source, self.symbols)
  if not lines then return { why = why } end
  local is_same = self.made_ns and changed_ns <= self.made_ns
  return is_same and { lines = lines } or { why = "the source is newer than what was made of it" }
end

local function source_of(self, source)
  self.sources[source] = self.sources[source] or read(self, source)
  return self.sources[source]
end

local function nameless_text(lines, first, last, fn)
  local name = (fn:gsub("%b<>", ""):match "[%w_]+$" or fn):gsub("%p", "%%%0")
  local list = {}
  for number = first, math.min(last, #lines) do
    local line = lines[number]:gsub("%f[%w_]" .. name .. "%f[^%w_]", "\1"):gsub("%s+", "")
    list[#list + 1] = line ~= "" and line or nil
  end
  local text = table.concat(list, "\n")
  return #list >= LEAST_LINES and #text >= LEAST_CHARACTERS and text
end

--- The hash of the function that an instruction belongs to; nil: its source is not known, or says little.
---@param place pmclua.Attributed
---@return string?
function Written:text(place)
  local key = identity.key("", nil, place)
  if self.texts[key] == nil then
    local first, last
    if self.symbols then first, last = self.symbols:written(place.address) end
    local lines = first and source_of(self, place.source).lines
    local text = lines and nameless_text(lines, first, last, place.fn)
    self.texts[key] = text and core.hash(text):sub(1, 16) or false
  end
  return self.texts[key] or nil
end

local function hash_of(line) return core.hash((line:gsub("%s+", ""))):sub(-DIGITS) end

--- Hashes of the lines of a source.
---@param source string as the debug information has it
---@return pmclua.SourceText
function Written:source(source)
  local known = source_of(self, source)
  known.text = known.text or { why = known.why,
    hashes = known.lines and table.concat(lists.map(known.lines, hash_of)) }
  return known.text
end

--- The texts of all sources of a profile's lines. Of one that two files were made of, one of which is older,
--- there is none.
---@param lines pmclua.ProfileLine[]
---@param written_of fun(line: pmclua.ProfileLine): pmclua.Written?
---@return table<string, pmclua.SourceText> by source
function M.sources(lines, written_of)
  local texts, seen = {}, {}
  for _, line in ipairs(lines) do
    local own = written_of(line)
    if own and not seen[own] then seen[own] = {} end
    for _, at in ipairs(own and line.at or {}) do
      local source = at.line and at.source
      if source and not seen[own][source] then
        seen[own][source] = true
        if not (texts[source] and texts[source].why) then texts[source] = own:source(source) end
      end
    end
  end
  return texts
end

return M
