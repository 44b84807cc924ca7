--- values.lua: values held against types of annotations.
--
-- Invariant: a value is only read, and nothing of it is called; what lies deeper than DEPTH, or in a list beyond its first
-- items, is not looked at.

local M = {}

local DEPTH, ITEMS = 3, 8

local function of_type(wanted) return function(value) return type(value) == wanted end end

--- Names that are no class.
M.SIMPLE = {
  any = function() return true end,
  unknown = function() return true end,
  integer = function(value) return type(value) == "number" and value % 1 == 0 or value == math.huge end,
  ["function"] = function(value)
    local meta = type(value) == "table" and getmetatable(value)
    return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil or type(value) == "cdata"
  end,
  ["ffi.cdata*"] = of_type "cdata",
  ["ffi.ctype*"] = of_type "cdata",
  ["file*"] = of_type "userdata",
}
for _, simple in ipairs { "nil", "boolean", "number", "string", "table", "userdata", "thread", "cdata" } do
  M.SIMPLE[simple] = of_type(simple)
end

local function shown(value)
  if type(value) == "string" then return ("%q"):format(value:sub(1, 60)) end
  return type(value) == "table" and "a table" or tostring(value)
end

-- A field, as far as nothing has to be called for it: a function may compute it, or refuse.
local function field_of(value, key)
  while type(value) == "table" do
    local own = rawget(value, key)
    if own ~= nil then return own, true end
    local meta = debug.getmetatable(value)
    if not meta then return nil, true end
    value = rawget(meta, "__index")
    if value == nil then return nil, true end
  end
  return nil, false
end

local mistake

local function mistake_in_fields(fields, value, depth, classes)
  for _, f in ipairs(fields) do
    local inner, is_known = field_of(value, f.name)
    if is_known and not (inner == nil and f.optional) then
      local why = mistake(f.type, inner, depth, classes)
      if why then return ("field '%s': %s"):format(tostring(f.name), why) end
    end
  end
end

local KINDS = {}

function KINDS.union(t, value, depth, classes)
  local first
  for _, alternative in ipairs(t) do
    local why = mistake(alternative, value, depth, classes)
    if not why then return nil end
    first = first or why
  end
  return type(value) == "table" and first or shown(value) .. " is none of the alternatives"
end

function KINDS.literal(t, value)
  if value ~= t.value then return ("%s is not %s"):format(shown(value), shown(t.value)) end
end

function KINDS.list(t, value, depth, classes)
  if type(value) == "cdata" then return nil end
  if type(value) ~= "table" then return shown(value) .. " is no list" end
  if depth == 0 then return nil end
  for i = 1, math.min(#value, ITEMS) do
    local why = mistake(t.item, rawget(value, i), depth - 1, classes)
    if why then return ("item %d: %s"):format(i, why) end
  end
end

function KINDS.map(t, value, depth, classes)
  if type(value) ~= "table" then return shown(value) .. " is no table" end
  if depth == 0 then return nil end
  local count = 0
  for key, inner in next, value do
    count = count + 1
    local why = mistake(t.key, key, depth - 1, classes)
    if why then return "key: " .. why end
    why = mistake(t.value, inner, depth - 1, classes)
    if why then return ("value of %s: %s"):format(shown(key), why) end
    if count == ITEMS then return nil end
  end
end

function KINDS.record(t, value, depth, classes)
  if type(value) ~= "table" then return shown(value) .. " is no table" end
  if depth > 0 then return mistake_in_fields(t, value, depth - 1, classes) end
end

local function mistake_in_class(class, value, depth, classes)
  if type(value) ~= "table" and type(value) ~= "cdata" and type(value) ~= "userdata" then
    return ("%s is no %s"):format(shown(value), class.name)
  end
  if depth == 0 then return nil end
  while class do
    local why = mistake_in_fields(class.fields, value, depth - 1, classes)
    if why then return ("%s (%s): %s"):format(class.name, class.where, why) end
    class = classes[class.parent]
  end
end

function KINDS.name(t, value, depth, classes)
  local simple = M.SIMPLE[t.name]
  if simple then
    if simple(value) then return nil end
    return ("%s is no %s"):format(shown(value), t.name)
  end
  local class = classes[t.name]
  if not class then return nil end                             -- a generic
  if class.alias then return mistake(class.alias, value, depth, classes) end
  return mistake_in_class(class, value, depth, classes)
end

function mistake(t, value, depth, classes) return KINDS[t.kind](t, value, depth, classes) end

--- Why a value is not of a type.
---@param t table of M.read
---@param value any
---@param classes table<string, table> by name: { name, where, parent?, fields } or { alias = a type }
---@return string? nil: it is of that type
function M.mistake(t, value, classes) return mistake(t, value, DEPTH, classes) end

return M
