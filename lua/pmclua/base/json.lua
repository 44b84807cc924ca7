--- json.lua: values to JSON text, exactly.
--
-- Invariant: what is written is valid JSON in UTF-8 that reads back as the same value: integers to
-- 2^64-1 digit by digit, other numbers with the 17 digits of a double, keys in a fixed order. What JSON
-- cannot say (NaN, infinities, functions, cycles) raises and is never written as something else.
-- dkjson quotes the strings; its numbers keep 14 digits, hence this file.

local dkjson = require "dkjson"
local text = require "pmclua.base.text"

local M = {}

local FEW_DIGITS = 1e14
local DEPTH = 60                 -- below PMCLUA_LINE_DEPTH, so that what was written can be read

--- JSON's null, for places where an absent value must be said.
M.null = setmetatable({}, {
  __tostring = function() return "null" end,
  __newindex = function() error("json.null has no fields", 2) end,
})

--- A value, or JSON's null where there is none.
---@param value any
---@return any
function M.or_null(value)
  if value == nil then return M.null end
  return value
end

--- Fields of a table by name, each JSON's null where there is none.
---@param source table
---@param names string[]
---@return table
function M.fields(source, names)
  local fields = {}
  for _, name in ipairs(names) do fields[name] = M.or_null(source[name]) end
  return fields
end

local object_meta = { __jsontype = "object" }

--- Marks `map` as an object, also where it is empty or has a field `n`.
---@param map table
---@return table map the same
function M.object(map)
  return setmetatable(map, object_meta)
end

--- The text of a number: exact for u64 and for every double. Raises where JSON has no such number.
---@param value number|ffi.cdata* a double, or a u64 above 2^53
---@return string
function M.number(value)
  if type(value) == "cdata" then return ("%u"):format(value) end
  -- 14 digits are what tostring has; most counts have fewer, and it is three times as fast.
  if value > -FEW_DIGITS and value < FEW_DIGITS and value == math.floor(value) then return tostring(value) end
  if value ~= value or value == math.huge or value == -math.huge then
    error(("%s is not a JSON number"):format(tostring(value)), 2)
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
    if type(key) ~= "string" then error("the keys of a JSON object are strings, not " .. tostring(key), 0) end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local first, second = rank[a] or math.huge, rank[b] or math.huge
    if first ~= second then return first < second end
    return a < b
  end)
  return keys
end

-- ---- writing in pieces -----------------------------------------------------------------------------------

local lazy_meta = { __jsontype = "lazy" }

--- A list whose items are made when they are written.
---@param count integer
---@param item fun(i: integer): any
---@return table
function M.list(count, item) return setmetatable({ count = count, item = item }, lazy_meta) end

local column_meta = { __jsontype = "column" }

--- A list of numbers, of which those that are nil or false are null. It is written in half the time of
--- another list: LuaJIT compiles one loop for all columns, but a loop over a list for that list's own
--- function.
---@param values (number|ffi.cdata*|false|nil)[]
---@param count integer
---@return table
function M.column(values, count) return setmetatable({ count = count, values = values }, column_meta) end

local encode

local function encode_column(out, count, values)
  out:add("[")
  for i = 1, count do
    if i > 1 then out:add(",") end
    local value = values[i]
    if value then out:number(value) else out:add("null") end
  end
  out:add("]")
end

local function encode_items(out, count, item, context, depth)
  for i = 1, count do
    if i > 1 then out:add(",") end
    encode(out, item(i), context, depth)
  end
end

local function encode_list(out, count, item, context, depth)
  out:add("[")
  encode_items(out, count, item, context, depth)
  out:add("]")
end

local function encode_object(out, value, context, depth)
  out:add("{")
  local newline = context.indent and depth <= context.indent
  for i, key in ipairs(ordered_keys(value, context.rank)) do
    if i > 1 then out:add(",") end
    if newline then out:add("\n" .. ("  "):rep(depth)) end
    out:add(M.string(key) .. (newline and ": " or ":"))
    encode(out, value[key], context, depth)
  end
  if newline then out:add("\n" .. ("  "):rep(depth - 1)) end
  out:add("}")
end

local function encode_table(out, value, context, depth)
  if depth > DEPTH then error("nested too deep (or circular) to be written as JSON", 0) end
  local meta = getmetatable(value)
  if meta == column_meta then return encode_column(out, value.count, value.values) end
  if meta == lazy_meta then return encode_list(out, value.count, value.item, context, depth) end
  if not is_list(value) then return encode_object(out, value, context, depth) end
  encode_list(out, #value, function(i) return value[i] end, context, depth)
end

function encode(out, value, context, depth)
  local kind = type(value)
  if rawequal(value, M.null) then out:add("null")
  elseif kind == "string" then out:add(M.string(value))
  elseif kind == "number" or kind == "cdata" then out:number(value)
  elseif kind == "boolean" then out:add(tostring(value))
  elseif kind == "table" then encode_table(out, value, context, depth + 1)
  else error(("a %s cannot be written as JSON"):format(kind), 0)
  end
end

--- A JSON string, quotes and all.
---@param value string any bytes
---@return string
function M.string(value)
  return dkjson.quotestring(text.utf8(value))
end

---@class pmclua.JsonOptions
---@field order? string[] keys that come first, in this order, in every object
---@field indent? integer objects down to this depth get a line for each key

--- Writes the JSON text of `value` in pieces. A table is a list where its keys are 1…n, and an empty one is
--- a list unless made by json.object; what is absent in a list is json.null.
---@param put fun(piece: string)
---@param value any
---@param options? pmclua.JsonOptions
function M.write(put, value, options)
  local context = { rank = {}, indent = options and options.indent }
  for i, key in ipairs(options and options.order or {}) do context.rank[key] = i end
  local out = require("pmclua.base.pieces").new(put)
  encode(out, value, context, 0)
  out:flush()
end

--- The JSON text of `value`, as M.write has it.
---@param value any
---@param options? pmclua.JsonOptions
---@return string
function M.encode(value, options)
  return require("pmclua.base.pieces").joined(function(put) M.write(put, value, options) end)
end

return M
