--- json_file.lua: JSON in which a mistake costs only the object that has it: if a file as a whole cannot be parsed,
--- each object of its lists is parsed by itself.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

local LARGEST = 64 * 1024 * 1024  -- bytes of a file
local MOST_BROKEN = 200           -- objects: each may be searched to the end of the text

-- dkjson, by LPeg, which is faster.
local function decode(text)
  local json = require "dkjson"
  -- A null is false: nil would end a list.
  local ok, value, _, why = pcall(json.use_lpeg().decode, text, 1, false, nil, nil)
  if not ok then return nil, tostring(value) end
  return value, why
end

-- Where the object that begins at `from` ends; nil where it does not.
local function object_end(text, from)
  local depth, at = 0, from
  while true do
    local place, sign = text:match('()([{}"])', at)
    if not place then return nil end
    at = place + 1
    if sign == "{" then depth = depth + 1
    elseif sign == "}" then depth = depth - 1
    else                          -- a string: to the quote that no backslash precedes
      repeat
        local stop, character = text:match('()([\\"])', at)
        if not stop then return nil end
        at = stop + (character == "\\" and 2 or 1)
      until character == '"'
    end
    if depth == 0 then return place end
  end
end

-- The objects of a text that are whole in themselves, none within another; how many are not.
local function salvage(text)
  local list, broken, at = {}, 0, text:find("{", 1, true)
  while at do
    local stop = object_end(text, at)
    local value = stop and decode(text:sub(at, stop))
    if type(value) == "table" then
      list[#list + 1] = value
      at = text:find("{", stop + 1, true)
    else
      broken = broken + 1
      if broken >= MOST_BROKEN then break end
      local next_object = text:find("\n%s*{", at + 1)
      at = next_object and text:find("{", next_object, true)
    end
  end
  return list, broken
end

--- The objects of a text that stand behind a name and are whole, none within another: { name, value }.
---@param text string
---@return { [1]: string, [2]: table }[]
function M.named(text)
  local list, broken, at = {}, 0, 1
  while broken < MOST_BROKEN do
    local name, start = text:match('"([^"%c]+)"%s*:%s*(){', at)
    if not name then break end
    local stop = object_end(text, start)
    local value = stop and decode(text:sub(start, stop))
    if type(value) == "table" then
      list[#list + 1], at = { name, value }, stop + 1
    else
      broken, at = broken + 1, start + 1
    end
  end
  return list
end

local TEXT_OF = {
  string = function(value) return value end,
  number = function(value) return ("%.15g"):format(value) end,
  boolean = function(value) return value and "1" or nil end,
}

--- The fields of an object that are texts or can be written as such: 3 is "3", true is "1"; no others.
---@param object any
---@return table<string, string> texts
---@return string? other a field that is no text
function M.texts(object)
  local texts, other = {}, nil
  for key, value in pairs(type(object) == "table" and object or {}) do
    local text_of = TEXT_OF[type(value)]
    if text_of then texts[key] = text_of(value) else other = tostring(key) end
  end
  return texts, other
end

--- The objects of a list; empty if it is no list.
---@param list any
---@return table[]
function M.objects(list)
  return lists.where(type(list) == "table" and list or {}, function(item) return type(item) == "table" end)
end

--- The value of a text. Where it is broken: the list of the objects in it that are not.
---@param text string
---@return any value
---@return string? problem what was lost
function M.read_text(text)
  local value, why = decode(text)
  if value ~= nil then return value end
  local list, broken = salvage(text)
  local lost = broken == 0 and "" or broken == 1 and "; one of its entries is lost"
    or ("; %d of its entries are lost"):format(broken)
  return list, ("no valid JSON (%s)%s"):format(require("pmclua.base.text").safe(why or "empty"), lost)
end

--- The value of a file, as read_text; nil and why where it cannot be read.
---@param path string
---@return any value
---@return string? problem
---@return string? text of the file
function M.read(path)
  local text, why = core.read_plain(path, LARGEST)
  if not text then return nil, (why:gsub("^.*: ", "")) end
  local value, problem = M.read_text(text)
  return value, problem, text
end

return M
