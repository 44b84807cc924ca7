--- written.lua: what the functions of a file are written like: hashes of their source lines, each without the
--- function's own name. A function that was renamed has the hash that it had.

local core = require "pmclua.core"
local identity = require "pmclua.profile.identity"
local listing = require "pmclua.profile.listing"

local M = {}

-- Less than this is in many functions.
local LEAST_LINES, LEAST_CHARACTERS = 3, 40

---@class pmclua.Written
local Written = {}
Written.__index = Written

---@param symbols pmclua.core.Symbols of the file
---@param path string
---@return pmclua.Written
function M.new(symbols, path)
  local made = core.stat(path)
  return setmetatable({ symbols = symbols, path = path, made_ns = made and made.mtime_ns, sources = {},
    texts = {} }, Written)
end

-- The lines of a source file; false where it was changed after the program or library was made of it.
local function source_lines(self, source)
  if self.sources[source] == nil then
    local facts = core.stat(source)
    local is_same = facts and self.made_ns and facts.mtime_ns <= self.made_ns
    self.sources[source] = is_same and listing.source(source, self.path) or false
  end
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

--- The hash of the function that an instruction is of; nil: its source is not known, or says little.
---@param place pmclua.Attributed
---@return string?
function Written:text(place)
  local key = identity.key("", nil, place)
  if self.texts[key] == nil then
    local first, last = self.symbols:written(place.address)
    local lines = first and source_lines(self, place.source)
    local text = lines and nameless_text(lines, first, last, place.fn)
    self.texts[key] = text and core.hash(text):sub(1, 16) or false
  end
  return self.texts[key] or nil
end

return M
