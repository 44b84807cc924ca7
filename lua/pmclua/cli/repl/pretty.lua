--- pretty.lua: values as the REPL shows them: short, exact, in a stable order.

local text = require "pmclua.base.text"

local M = {}

local WIDTH = 78
local DEPTH = 4        -- tables within tables; deeper ones are {...}
local ENTRIES = 40     -- of one table; more are counted

local IS_KEYWORD = require("pmclua.base.lists").set(require("pmclua.cli.repl.complete").KEYWORDS)

local function number(value)
  if value % 1 == 0 and math.abs(value) <= 2 ^ 53 then return ("%.0f"):format(value) end
  return ("%.14g"):format(value)
end

local function cdata(value)
  local shown = tostring(value)
  return (shown:gsub("^(%-?%d+)U?LL$", "%1"))
end

local function has_own_text(value)
  local meta = getmetatable(value)
  return type(meta) == "table" and meta.__tostring ~= nil
end

--- The display of an object of a class: its methods, not its fields.
local function object_text(value)
  local class = (getmetatable(value) or {}).__index
  if type(class) ~= "table" then return nil end
  local methods = {}
  for name, method in next, class do
    local public = type(name) == "string" and not name:find "^_"
    if public and type(method) == "function" then methods[#methods + 1] = ":" .. name end
  end
  table.sort(methods)
  return #methods > 0 and "object with " .. table.concat(methods, " ") or nil
end

local show

local function key_text(key)
  if type(key) == "string" and key:match "^[%a_][%w_]*$" and not IS_KEYWORD[key] then return key end
  return "[" .. show(key, DEPTH, 0, {}) .. "]"
end

-- Numbers first, then words, then the rest, each in order.
local function before(a, b)
  local kinds = { number = 1, string = 2 }
  local ka, kb = kinds[type(a)] or 3, kinds[type(b)] or 3
  if ka ~= kb then return ka < kb end
  if ka == 3 then return tostring(a) < tostring(b) end
  return a < b
end

local function other_keys(value)
  local keys = {}
  for key in next, value do
    local listed = type(key) == "number" and key % 1 == 0 and key >= 1 and key <= #value
    if not listed then keys[#keys + 1] = key end
  end
  table.sort(keys, before)
  return keys
end

local function entries(value, depth, indent, seen)
  local list, left_out = {}, 0
  local function add(make)
    if #list < ENTRIES then list[#list + 1] = make() else left_out = left_out + 1 end
  end
  for i = 1, #value do
    add(function() return show(rawget(value, i), depth + 1, indent + 2, seen) end)
  end
  for _, key in ipairs(other_keys(value)) do
    add(function()
      local name = key_text(key)
      return name .. " = " .. show(rawget(value, key), depth + 1, indent + 2, seen)
    end)
  end
  if left_out > 0 then list[#list + 1] = ("... %d more"):format(left_out) end
  return list
end

local function show_table(value, depth, indent, seen)
  if seen[value] then return "{ this again }" end
  if next(value) == nil then return "{}" end
  if depth >= DEPTH then return "{...}" end
  seen[value] = true
  local list = entries(value, depth, indent, seen)
  seen[value] = nil
  local line = "{ " .. table.concat(list, ", ") .. " }"
  if text.width(line) + indent <= WIDTH and not line:find "\n" then return line end
  local margin = (" "):rep(indent + 2)
  return ("{\n%s%s\n%s}"):format(margin, table.concat(list, ",\n" .. margin), (" "):rep(indent))
end

-- An object that tells its fields, as a table of them.
local function plain(value)
  local meta = getmetatable(value)
  local fields = type(meta) == "table" and meta.__fields_are_all and meta.__fields(value)
  if not fields then return value end
  local copy = {}
  for _, name in ipairs(fields) do copy[name] = value[name] end
  return copy
end

--- Text of any value inside a table: strings quoted and harmless to a terminal.
show = function(value, depth, indent, seen)
  local kind = type(value)
  if kind == "number" then return number(value) end
  if kind == "string" then return '"' .. text.safe(value):gsub('"', '\\"') .. '"' end
  if kind == "cdata" then return cdata(value) end
  if kind ~= "table" then return tostring(value) end
  if has_own_text(value) then return (tostring(value):gsub("\n", "\n" .. (" "):rep(indent))) end
  return object_text(value) or show_table(plain(value), depth, indent, seen)
end

--- The text that the REPL prints for a value. A string is printed as it is; in a table it is quoted.
---@param value any
---@return string
function M.show(value)
  if type(value) == "string" then return value end
  return show(value, 0, 0, {})
end

return M
