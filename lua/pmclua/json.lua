--- json.lua: values to JSON text, exactly.
--
-- Invariant: what is written is valid JSON in UTF-8 that reads back as the same value: integers to
-- 2^64-1 digit by digit, other numbers with the 17 digits of a double, keys in a fixed order. What JSON
-- cannot say (NaN, infinities, functions, cycles) raises and is never written as something else.
-- dkjson quotes the strings; its numbers keep 14 digits, hence this file.

local dkjson = require "dkjson"

local M = {}

local DEPTH = 60                 -- below PMCLUA_LINE_DEPTH, so that what was written can be read

--- JSON's null, for places where an absent value must be said.
M.null = setmetatable({}, {
  __tostring = function() return "null" end,
  __newindex = function() error("json.null has no fields", 2) end,
})

local object_meta = { __jsontype = "object" }

--- Marks `map` as an object, also where it is empty or has a field `n`.
---@param map table
---@return table map the same
function M.object(map)
  return setmetatable(map, object_meta)
end

local CONTINUATION = "[\128-\191]"

-- Bytes of the valid UTF-8 sequence at `at` (Unicode 15, table 3-7); nil where there is none.
local function sequence_length(text, at)
  local first, second = text:byte(at, at + 1)
  second = second or 0
  local length
  if first < 0x80 then return 1
  elseif first >= 0xC2 and first <= 0xDF then length = 2
  elseif first == 0xE0 then length = second >= 0xA0 and 3
  elseif first == 0xED then length = second <= 0x9F and 3
  elseif first > 0xE0 and first <= 0xEF then length = 3
  elseif first == 0xF0 then length = second >= 0x90 and 4
  elseif first > 0xF0 and first <= 0xF3 then length = 4
  elseif first == 0xF4 then length = second <= 0x8F and 4
  end
  return length and text:find("^" .. CONTINUATION:rep(length - 1), at + 1) and length or nil
end

--- `text` with each byte that is no UTF-8 replaced by U+FFFD (file names are bytes, JSON is not).
---@param text string
---@return string
function M.utf8(text)
  if not text:find("[\128-\255]") then return text end
  local parts, at = {}, 1
  while at <= #text do
    local length = sequence_length(text, at)
    parts[#parts + 1] = length and text:sub(at, at + length - 1) or "\239\191\189"
    at = at + (length or 1)
  end
  return table.concat(parts)
end

--- The text of a number: exact for u64 and for every double. Raises where JSON has no such number.
---@param value number|ffi.cdata* a double, or a u64 above 2^53
---@return string
function M.number(value)
  if type(value) == "cdata" then return ("%u"):format(value) end
  if value ~= value or value == math.huge or value == -math.huge then
    error(("%s is no JSON number"):format(tostring(value)), 2)
  end
  if value == math.floor(value) and math.abs(value) < 2 ^ 63 then return ("%.0f"):format(value) end
  local short = ("%.15g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

local function is_list(value)
  local kind = (getmetatable(value) or {}).__jsontype
  if kind then return kind == "array" end
  local count = 0
  for key in pairs(value) do
    if type(key) ~= "number" then return false end
    count = count + 1
  end
  return count == #value
end

-- Keys in the order that `rank` gives, then the others by name.
local function ordered_keys(map, rank)
  local keys = {}
  for key in pairs(map) do
    if type(key) ~= "string" then error("a JSON object has only names for keys, not " .. tostring(key), 0) end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local first, second = rank[a] or math.huge, rank[b] or math.huge
    if first ~= second then return first < second end
    return a < b
  end)
  return keys
end

local encode

-- A list of numbers is joined by itself: a million of them would be two million parts of the whole.
local function join_numbers(value)
  local texts = {}
  for i = 1, #value do
    local item = value[i]
    if rawequal(item, M.null) then texts[i] = "null"
    elseif type(item) == "number" or type(item) == "cdata" then texts[i] = M.number(item)
    else return nil end
  end
  return "[" .. table.concat(texts, ",") .. "]"
end

local function encode_list(out, value, context, depth)
  local numbers = join_numbers(value)
  if numbers then
    out[#out + 1] = numbers
    return
  end
  out[#out + 1] = "["
  for i = 1, #value do
    if i > 1 then out[#out + 1] = "," end
    encode(out, value[i], context, depth)
  end
  out[#out + 1] = "]"
end

local function encode_object(out, value, context, depth)
  out[#out + 1] = "{"
  local newline = context.indent and depth <= context.indent
  for i, key in ipairs(ordered_keys(value, context.rank)) do
    if i > 1 then out[#out + 1] = "," end
    if newline then out[#out + 1] = "\n" .. ("  "):rep(depth) end
    out[#out + 1] = M.string(key) .. (newline and ": " or ":")
    encode(out, value[key], context, depth)
  end
  if newline then out[#out + 1] = "\n" .. ("  "):rep(depth - 1) end
  out[#out + 1] = "}"
end

function encode(out, value, context, depth)
  local kind = type(value)
  if rawequal(value, M.null) then out[#out + 1] = "null"
  elseif kind == "string" then out[#out + 1] = M.string(value)
  elseif kind == "number" or kind == "cdata" then out[#out + 1] = M.number(value)
  elseif kind == "boolean" then out[#out + 1] = tostring(value)
  elseif kind ~= "table" then error(("a %s cannot be written as JSON"):format(kind), 0)
  elseif depth >= DEPTH then error("too deep (or circular) to be written as JSON", 0)
  elseif is_list(value) then encode_list(out, value, context, depth + 1)
  else encode_object(out, value, context, depth + 1)
  end
end

--- A JSON string, quotes and all.
---@param text string any bytes
---@return string
function M.string(text)
  return dkjson.quotestring(M.utf8(text))
end

---@class pmclua.JsonOptions
---@field order? string[] keys that come first, in this order, in every object
---@field indent? integer objects down to this depth get a line for each key

--- The JSON text of `value`. A table is a list where its keys are 1…n, and an empty one is a list unless
--- made by json.object; what is absent in a list is json.null.
---@param value any
---@param options? pmclua.JsonOptions
---@return string
function M.encode(value, options)
  local context = { rank = {}, indent = options and options.indent }
  for i, key in ipairs(options and options.order or {}) do context.rank[key] = i end
  local out = {}
  encode(out, value, context, 0)
  return table.concat(out)
end

return M
