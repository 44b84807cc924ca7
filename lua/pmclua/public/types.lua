--- types.lua: the types that signatures are written in: what a value must be, checked and in words.
--
--     string  boolean  function  any  nil    number  number(0..1)  integer(1..)  "a"|"b"  true
--     string[]  duration  share  path  name  result (a class)  kernel_options (a record)
--
-- Invariant: a number is finite and within its range, a whole number is exact, and a text has no zero byte, where C
-- would cut it. So what is accepted can be used.

local arguments = require "pmclua.base.arguments"
local entries = require "pmclua.public.entries"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local MOST = 2 ^ 53             -- whole numbers beyond are not exact

-- ---- simple types --------------------------------------------------------------------------------------

local function is_text(value) return type(value) == "string" and not value:find("\0", 1, true) end

local function is_filled(value) return is_text(value) and value ~= "" end

local is_finite = require("pmclua.base.number").is_finite

local function is_callable(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
end

-- The check of a reader of base/units.lua, and its reason for a refusal.
local function read_by(reader, words)
  local function read(value) return require("pmclua.base.units")[reader](value) end
  return { is = function(value) return read(value) ~= nil end, words = words,
    why = function(value) return select(2, read(value)) end }
end

---@class pmclua.public.Simple
---@field is fun(value: any): boolean
---@field words string after "must be"
---@field spelled? fun(key: string, value: any): string in a list: how an entry that has a name is written
---@field why? fun(value: any): string what it must be, and what to write instead of this value

---@type table<string, pmclua.public.Simple>
M.SIMPLE = {
  any = { is = function(value) return value ~= nil end, words = "a value" },
  ["nil"] = { is = function(value) return value == nil end, words = "nil" },
  string = { is = is_text, words = "a string" },
  name = { is = is_filled, words = "a name" },
  path = { is = is_filled, words = "a path" },
  boolean = { is = function(value) return type(value) == "boolean" end, words = "true or false" },
  spec = { is = is_text, words = "a string", spelled = arguments.spelled.labelled },
  condition = { is = is_text, words = "a string", spelled = arguments.spelled.condition },
  ["function"] = { is = is_callable, words = "a function" },
  table = { is = function(value) return type(value) == "table" and not M.class_of(value) end,
    words = "a table" },
  number = { is = is_finite, words = "a number" },
  integer = { is = function(value)
    return is_finite(value) and value % 1 == 0 and math.abs(value) <= MOST
  end, words = "a whole number" },
  u64 = { is = function(value) return is_finite(value) or type(value) == "cdata" end, words = "a number" },
  level = { is = function(value) return is_finite(value) and value > 0 and value < 1 end,
    words = "a number between 0 and 1, such as 0.95" },
  duration = read_by("seconds", 'a number of seconds or a string such as "500ms"'),
  share = read_by("share", 'a percentage such as "1%"'),
  file = { is = function(value) return io.type(value) == "file" end, words = "an open file" },
}

-- ---- classes -------------------------------------------------------------------------------------------

local classes = {}              -- metatable to the name of its class

--- Makes a metatable that of a class.
---@param meta table
---@param name string
function M.declare_class(meta, name) classes[meta] = name end

--- The class of a public object.
---@param value any
---@return string? name nil: it is none of pmclua's objects
function M.class_of(value)
  local kind = type(value)
  return (kind == "table" or kind == "userdata") and classes[getmetatable(value)] or nil
end

-- ---- reading -------------------------------------------------------------------------------------------

---@class pmclua.public.Type one alternative
---@field kind "simple"|"literal"|"list"|"class"|"record"|"keys" keys: a record that its function checks itself
---@field name? string of a simple one
---@field simple? pmclua.public.Simple
---@field least? number of numbers
---@field most? number
---@field literal? any
---@field items? pmclua.public.Type[] of a list: the alternatives of each item
---@field entry? pmclua.public.Entry of a class or record

local LITERALS = { ["true"] = true, ["false"] = false }

local read

-- An entry's own name stands for its type.
local function of_entry(name, topic)
  local entry = entries.find(name, topic)
  if not entry then error(("signatures/%s.lua: there is no type '%s'"):format(tostring(topic), name)) end
  if entry.kind == "type" then return unpack(read(entry.type, entry.topic)) end
  return { kind = entry.kind, entry = entry }
end

local function read_one(part, topic)
  if M.SIMPLE[part] then return { kind = "simple", name = part, simple = M.SIMPLE[part] } end
  local literal = part:match '^"(.*)"$' or tonumber(part) or LITERALS[part]
  if literal ~= nil then return { kind = "literal", literal = literal } end
  local item = part:match "^%((.*)%)%[%]$" or part:match "^(.*)%[%]$"
  if item then return { kind = "list", items = read(item, topic) } end
  local unchecked = part:match "^{(.*)}$"
  if unchecked then return { kind = "keys", entry = entries.find(unchecked, topic) } end
  local name, least, most = part:match "^(%a+)%(([^.]*)%.%.(.*)%)$"
  if not M.SIMPLE[name] then return of_entry(part, topic) end
  return { kind = "simple", name = name, simple = M.SIMPLE[name], least = tonumber(least),
    most = tonumber(most) }
end

local known = {}

--- The alternatives of a type. They are for reading.
---@param source string
---@param topic string whose types it may name
---@return pmclua.public.Type[]
function M.read(source, topic)
  if known[source] then return known[source] end
  local list, whole = {}, source
  -- "(a|b)[]" is one.
  if source:find("(", 1, true) then
    whole = source:gsub("%b()%[%]", function(group) return (group:gsub("|", "\1")) end)
  end
  for part in whole:gmatch "[^|]+" do lists.append(list, { read_one(part:gsub("\1", "|"), topic) }) end
  known[source] = list
  return list
end
read = M.read

-- ---- in words ------------------------------------------------------------------------------------------

local function range_words(form)
  local words, least, most = form.simple.words, form.least, form.most
  if least and most then return ("%s from %.15g to %.15g"):format(words, least, most) end
  if least then return ("%s of at least %.15g"):format(words, least) end
  return ("%s of at most %.15g"):format(words, most)
end

--- "an open event" of "open_event".
---@param word string
---@return string
function M.article(word) return (word:find "^[aeiou]" and "an " or "a ") .. word:gsub("_", " ") end
local article = M.article

local SHORT = 30                -- an example that fits a sentence

local function class_words(entry)
  local example = entry.example and entry.example:match "^[%w_]+ = (.*)$"
  return article(entry.name) .. (example and #example <= SHORT and " such as " .. example or "")
end

local describe

local function words_of(form)
  if form.kind == "literal" then return arguments.shown(form.literal) end
  if form.kind == "list" then return "a list of " .. describe(form.items):gsub("^an? ", "") .. "s" end
  if form.kind == "class" then return class_words(form.entry) end
  if form.kind == "record" or form.kind == "keys" then return "a table" end
  return (form.least or form.most) and range_words(form) or form.simple.words
end

-- The words for a type, as in "must be …".
function describe(alternatives)
  local words = lists.unique(lists.map(alternatives, words_of))
  local are_words = lists.all(alternatives, function(form) return form.kind == "literal" end)
  if are_words and #words > 2 then return "one of " .. table.concat(words, ", ") end
  return text.list(words, "or")
end

local LONGEST = 60

--- A value as a message shows it: a number or text as it is, of others what they are.
---@param value any
---@return string
function M.shown(value)
  local kind, class = type(value), M.class_of(value)
  if class then return article(class) end
  if kind == "string" then return ('"%s"'):format(text.cut(text.safe(value), LONGEST)) end
  if kind == "number" or kind == "boolean" or kind == "nil" then return tostring(value) end
  return article(kind)
end

-- ---- checking ------------------------------------------------------------------------------------------

local function is_within(form, value)
  return (form.least == nil or value >= form.least) and (form.most == nil or value <= form.most)
end

local accepts = {}

function accepts.simple(form, value)
  return form.simple.is(value) and (type(value) ~= "number" or is_within(form, value))
end
function accepts.literal(form, value) return value == form.literal end
function accepts.class(form, value) return M.class_of(value) == form.entry.name end
-- A mistake within a table is reported for the part that is wrong.
local function is_plain(_, value) return type(value) == "table" and not M.class_of(value) end
accepts.list, accepts.record, accepts.keys = is_plain, is_plain, is_plain

local look_into = {}

function look_into.list(form, value, name, wrong)
  local simple = form.items[1].simple
  local stray = arguments.stray(name, value, simple and simple.spelled)
  if stray then return wrong("%s", stray) end
  for i, item in ipairs(value) do M.check(item, form.items, ("%s[%d]"):format(name, i), wrong) end
end

local key_type
function key_type(record, key)
  local field = entries.field(record, key) or record.fields[("[%s]"):format(tostring(key))]
    or type(key) == "number" and record.fields["[]"] or type(key) == "string" and record.fields["[name]"]
  if field and field.instead then return key_type(record, field.instead) end
  if field then field.alternatives = field.alternatives or M.read(field.type, record.topic) end
  return field
end

local function unknown_key(record, key, name, wrong)
  if record.fields["[name]"] then return wrong("%s: each entry needs a name: { NAME = … }", name) end
  local names = lists.where(record.order, function(other) return other:find "^%a" end)
  local items, near = record.fields["[]"], text.meant(key, names)
  wrong("%s '%s'%s%s", name == "" and "unknown key" or name .. " has no option", text.safe(tostring(key)),
    near and ", " .. near or "; there are " .. text.list(names),
    items and items.text and "; " .. items.text or "")
end

local function name_of_key(name, key)
  local joint = name == "" and "" or name:find "^[%l_]+[.:][%w_.:]*$" and ": " or "."
  return name .. joint .. (type(key) == "number" and "item " .. key or tostring(key))
end

--- Reports what is wrong with one key of a table of options.
---@param value any
---@param record pmclua.public.Entry
---@param key any
---@param name string whose options they are
---@param wrong fun(form: string, ...)
function M.check_key(value, record, key, name, wrong)
  local field = key_type(record, key)
  if not field and record.fields["..."] then return end
  if not field then unknown_key(record, key, name, wrong)
  else M.check(value, field.alternatives, name_of_key(name, key), wrong) end
end

function look_into.record(form, value, name, wrong)
  local record = form.entry
  local list = record.fields["[]"] and arguments.stray(name, arguments.numbered(value))
  if list then wrong("%s", list) end
  for key, item in pairs(value) do M.check_key(item, record, key, name, wrong) end
  for _, key in ipairs(record.order) do
    local field = record.fields[key]
    if not field.optional and key:find "^%a" and value[key] == nil then
      wrong("%s needs %s =, %s", name, key, field.text or field.type)
    end
  end
end

-- Whether a table looks like this one of several: a list has a first item, options have none.
local function has_form(form, value)
  if form.kind ~= "list" and form.kind ~= "record" and form.kind ~= "keys" then return true end
  local fields = form.kind == "record" and form.entry.fields or {}
  local takes_items = form.kind == "list" or fields["[]"] or fields["[1]"]
  return (value[1] ~= nil) == (takes_items and true or false)
end

local FLAT = { simple = true, literal = true, class = true }

--- A quick test for values that need no closer look: true where one is right, false where `check` has to say.
---@param alternatives pmclua.public.Type[]
---@return fun(value: any): boolean
function M.quick(alternatives)
  local first = alternatives[1]
  local is_lone = #alternatives == 1 and first.kind == "simple" and not (first.least or first.most)
  if is_lone then return first.simple.is end
  return function(value)
    for i = 1, #alternatives do
      local form = alternatives[i]
      if FLAT[form.kind] and accepts[form.kind](form, value) then return true end
    end
    return false
  end
end

local function meant(value, alternatives)
  local words = lists.map(alternatives, function(form)
    return type(form.literal) == "string" and form.literal or nil
  end)
  return #words > 0 and arguments.meant(value, words) or ""
end

--- Reports what is wrong with a value.
---@param value any
---@param alternatives pmclua.public.Type[]
---@param name string of the value: "pmc.group: read"
---@param wrong fun(form: string, ...)
---@param owner? string whose keys those of a table of options are; default: the value's own
function M.check(value, alternatives, name, wrong, owner)
  local matching
  for i = 1, #alternatives do
    local form = alternatives[i]
    if accepts[form.kind](form, value) and (not matching or has_form(form, value)) then
      matching = form
      if type(value) ~= "table" or has_form(form, value) then break end
    end
  end
  if matching then
    local look = look_into[matching.kind]
    return look and look(matching, value, matching.kind == "record" and owner or name, wrong)
  end
  local scalar = type(value) == "number" or is_text(value)
  local reader = scalar and lists.find(alternatives, function(form)
    return form.simple and form.simple.why
  end)
  if reader then return wrong("%s must be %s", name, reader.simple.why(value)) end
  wrong("%s must be %s, not %s%s", name, describe(alternatives), M.shown(value), meant(value, alternatives))
end

return M
