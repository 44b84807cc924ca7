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

--- Whether what is wrong is a class's field: that begins with the place of the class, wherever it is met.
---@param why string
---@return boolean
function M.is_of_class(why) return why:find "^lua/" ~= nil end

--- What is wrong at a place.
---@param place string
---@param why string?
---@return string?
function M.at(place, why)
  if not why or M.is_of_class(why) then return why end
  return ("%s: %s"):format(place, why)
end

local function mistake_in_fields(fields, value, depth, context, class)
  for _, f in ipairs(fields) do
    local inner, is_known = field_of(value, f.name)
    if is_known and not (inner == nil and f.optional) then
      local why = M.at(("field '%s'"):format(f.name), mistake(f.type, inner, depth, context))
      if class then why = M.at(("%s: %s"):format(class.where, class.name), why) end
      if why and not context.is_reported(why) then return why end
    end
  end
end

local KINDS = {}

function KINDS.union(t, value, depth, context)
  local first
  for _, alternative in ipairs(t) do
    local why = mistake(alternative, value, depth, context)
    if not why then return nil end
    first = first or why
  end
  return type(value) == "table" and first or shown(value) .. " is none of the alternatives"
end

function KINDS.literal(t, value)
  if not rawequal(value, t.value) then return ("%s is not %s"):format(shown(value), shown(t.value)) end
end

function KINDS.list(t, value, depth, context)
  if type(value) == "cdata" then return nil end
  if type(value) ~= "table" then return shown(value) .. " is no list" end
  for i = 1, depth > 0 and math.min(#value, ITEMS) or 0 do
    local why = M.at("item " .. i, mistake(t.item, rawget(value, i), depth - 1, context))
    if why then return why end
  end
end

function KINDS.map(t, value, depth, context)
  if type(value) ~= "table" then return shown(value) .. " is no table" end
  local left = depth > 0 and ITEMS or 0
  for key, inner in next, value do
    if left == 0 then return nil end
    left = left - 1
    local why = M.at("key", mistake(t.key, key, depth - 1, context))
      or M.at("of " .. shown(key), mistake(t.value, inner, depth - 1, context))
    if why then return why end
  end
end

function KINDS.record(t, value, depth, context)
  if type(value) ~= "table" then return shown(value) .. " is no table" end
  return depth > 0 and mistake_in_fields(t, value, depth - 1, context) or nil
end

local OBJECTS = { table = true, cdata = true, userdata = true }

function KINDS.name(t, value, depth, context)
  local simple, class = M.SIMPLE[t.name], context.classes[t.name]
  if simple then return not simple(value) and ("%s is no %s"):format(shown(value), t.name) or nil end
  if not class then return nil end                             -- a generic
  if class.alias then return mistake(class.alias, value, depth, context) end
  if not OBJECTS[type(value)] then return ("%s is no %s"):format(shown(value), class.name) end
  while class and depth > 0 do
    local why = mistake_in_fields(class.fields, value, depth - 1, context, class)
    if why then return why end
    class = context.classes[class.parent]
  end
end

function mistake(t, value, depth, context) return KINDS[t.kind](t, value, depth, context) end

--- Why a value is not of a type.
---@param t table of types.read
---@param value any
---@param context { classes: table<string, table>, is_reported: fun(why: string): boolean? } classes by name, as
---  annotations.read has them; mistakes of fields that are passed over
---@return string? why nil: it is of that type
function M.mistake(t, value, context) return mistake(t, value, DEPTH, context) end

return M
