--- public.lua: do the annotations of what scripts can call agree with lua/pmclua/public/signatures?
--
-- They agree where parameters have the same names in the same order, where the same ones may be absent, and where types
-- name the same kinds of values. What one side alone says, such as the keys of a table, is no disagreement.

local annotations = require "tests.contracts.annotations"
local entries = require "pmclua.public.entries"
local signature_types = require "pmclua.public.types"

local M = {}

---@class tests.Context
---@field classes table<string, table> annotated classes by name
---@field class_names table<string, string> their names by those of the signatures' classes
---@field compared table<string, true> records and classes whose fields are compared already

-- ---- shapes: what both ways of writing a type can say ---------------------------------------------------

---@class tests.Shape
---@field kinds table<string, true> "string", "integer", "table", …
---@field words table<any, true> literals
---@field classes table<string, true> names of annotated classes
---@field item tests.Shape? of a list
---@field fields { name: string, is_open: boolean?, read: fun(): table<string, tests.Shape> }? of a table whose keys are
---  listed; is_open: it may have others
---@field optional boolean
---@field is_parameter boolean?
---@field is_refused boolean? of an item of a parameter: the function may take any, and refuse it

local function new_shape() return { kinds = {}, words = {}, classes = {} } end

local KINDS = { name = { "string" }, path = { "string" }, spec = { "string" }, condition = { "string" },
  share = { "string" }, level = { "number" }, duration = { "number", "string" }, u64 = { "number", "cdata" },
  file = { "userdata" }, ["ffi.cdata*"] = { "cdata" }, ["file*"] = { "userdata" }, unknown = { "any" } }

local function add_kinds(shape, name)
  for _, kind in ipairs(KINDS[name] or { name }) do shape.kinds[kind] = true end
end

local function add_literal(shape, value)
  add_kinds(shape, type(value))
  shape.words[value] = true
end

local function add_table(shape, fields)
  add_kinds(shape, "table")
  shape.fields = fields or shape.fields
end

-- ---- of signatures -------------------------------------------------------------------------------------

local shape_of_signature

-- Keys that have a name; "[]" and the like are no fields.
local function fields_of_entry(entry, context)
  local fields = {}
  for _, name in ipairs(entry.order) do
    local field = entry.fields[name]
    if name:find "^%a" then
      fields[name] = shape_of_signature(field.type, entry.topic, context)
      fields[name].optional = field.optional
    end
  end
  return fields
end

local add_alternative = {}

function add_alternative.simple(shape, form) add_kinds(shape, form.name) end
function add_alternative.literal(shape, form) add_literal(shape, form.literal) end
function add_alternative.list(shape, form, context)
  add_table(shape)
  shape.item = new_shape()
  for _, item in ipairs(form.items) do add_alternative[item.kind](shape.item, item, context) end
end
function add_alternative.class(shape, form, context)
  add_table(shape)
  local class = context.class_names[form.entry.name]
  if class then shape.classes[class] = true end
end
function add_alternative.record(shape, form, context)
  local entry = form.entry
  add_table(shape, { name = entry.name, is_open = entry.fields["..."] ~= nil,
    read = function() return fields_of_entry(entry, context) end })
end
add_alternative.keys = add_alternative.record

-- A type as signatures write it; of returns with "?" or "..." behind it.
function shape_of_signature(source, topic, context)
  local shape, plain, mark = new_shape(), source:match "^(.-)(%??)%.*$"
  for _, form in ipairs(signature_types.read(plain, topic)) do
    add_alternative[form.kind](shape, form, context)
  end
  shape.optional = mark == "?"
  return shape
end

-- ---- of annotations ------------------------------------------------------------------------------------

local shape_of_place

local function fields_of_places(places, context)
  local fields = {}
  for _, place in ipairs(places) do fields[place.name] = shape_of_place(place, context) end
  return fields
end

local function fields_of_class(class, context)
  local parent = context.classes[class.parent]
  local fields = parent and fields_of_class(parent, context) or {}
  for name, shape in pairs(fields_of_places(class.fields, context)) do fields[name] = shape end
  return fields
end

local add_type = {}

function add_type.union(shape, t, context)
  for _, alternative in ipairs(t) do add_type[alternative.kind](shape, alternative, context) end
end
function add_type.literal(shape, t) add_literal(shape, t.value) end
function add_type.map(shape) add_table(shape) end
function add_type.list(shape, t, context)
  add_table(shape)
  shape.item = shape_of_place({ type = t.item }, context)
end
function add_type.record(shape, t, context)
  add_table(shape, { name = "{…}", read = function() return fields_of_places(t, context) end })
end
function add_type.name(shape, t, context)
  local class = context.classes[t.name]
  if not class then return add_kinds(shape, t.name) end
  if class.alias then return add_type[class.alias.kind](shape, class.alias, context) end
  add_table(shape, { name = class.name, read = function() return fields_of_class(class, context) end })
  shape.classes[class.name] = true
end

function shape_of_place(place, context)
  local shape = new_shape()
  add_type[place.type.kind](shape, place.type, context)
  shape.optional = place.optional or shape.kinds["nil"] or shape.kinds.any or false
  return shape
end

-- ---- comparing -----------------------------------------------------------------------------------------

local function words_of(set)
  local list = {}
  for word in pairs(set) do list[#list + 1] = tostring(word) end
  table.sort(list)
  return table.concat(list, "|")
end

-- A whole number is a number, and that a value may be absent is compared apart.
local function kinds_of(shape)
  local kinds = {}
  for kind in pairs(shape.kinds) do kinds[kind] = true end
  kinds["nil"] = nil
  if kinds.number then kinds.integer = nil end
  return kinds
end

local function holds_all(set, kinds)
  for kind in pairs(kinds) do
    if not set[kind] then return false end
  end
  return true
end

-- What only one side says is no difference.
local function differ(place, signed, annotated, report)
  local words, others = words_of(signed), words_of(annotated)
  if words ~= "" and others ~= "" and words ~= others then
    report("%s: %s in the signature, %s in the annotation", place, words, others)
  end
end

-- Classes under the name of the parent that is meant, where one has it.
local function parents_of(classes, meant, context)
  local names = {}
  for name in pairs(classes) do
    local parent = name
    while parent and not meant[parent] do parent = (context.classes[parent] or {}).parent end
    names[parent or name] = true
  end
  return names
end

local compare_fields

local function compare(place, signed, annotated, context, report)
  local kinds, others = kinds_of(signed), kinds_of(annotated)
  -- Modules call a function, too, and may pass what scripts may not.
  local takes_more = signed.is_parameter and holds_all(others, kinds) or signed.is_refused and others.any
  if not takes_more then differ(place, kinds, others, report) end
  local differs = not signed.optional ~= not annotated.optional
  if differs and not kinds.any and not (takes_more and annotated.optional) then
    report("%s: %s in the signature alone", place, signed.optional and "optional" or "required")
  end
  differ(place, signed.words, annotated.words, report)
  differ(place, signed.classes, parents_of(annotated.classes, signed.classes, context), report)
  if signed.item and annotated.item then
    signed.item.is_refused = signed.is_parameter           -- by the function itself, where it is wrong
    compare(place .. ": an item", signed.item, annotated.item, context, report)
  end
  if signed.fields and annotated.fields then
    compare_fields(place, signed, annotated.fields, context, report)
  end
end

-- A record is compared with a class once, wherever they meet.
function compare_fields(place, shape, annotated, context, report)
  local signed = shape.fields
  local both = ("%s as %s"):format(signed.name, annotated.name)
  if context.compared[both] then return end
  if annotated.name ~= "{…}" then place, context.compared[both] = both, true end
  local fields, others = signed.read(), annotated.read()
  for name, field in pairs(fields) do
    field.is_parameter = signed.is_open and shape.is_parameter
    if others[name] then compare(("%s: %s"):format(place, name), field, others[name], context, report)
    elseif not signed.is_open then report("%s: %s: not in the annotation", place, name) end
  end
  for name in pairs(others) do
    local is_extra = not fields[name] and not signed.is_open
    if is_extra then report("%s: %s: not in the signature", place, tostring(name)) end
  end
end

local function compare_places(what, signed, annotated, context, report)
  for i = 1, math.max(#signed, #annotated) do
    local argument, place = signed[i], annotated[i]
    if not argument then return report("%s %d: not in the signature", what, i) end
    if not place then return report("%s %d: not in the annotation", what, i) end
    local where = ("%s %s"):format(what, argument.name or i)
    if argument.name and argument.name ~= place.name then
      return report("%s is called '%s' in the annotation", where, place.name)
    end
    compare(where, argument, shape_of_place(place, context), context, report)
  end
end

-- With "..." those that may stand behind it.
local function arguments_of(entry, context)
  local list, rest = {}, {}
  for _, argument in ipairs(entry.arguments) do
    if argument.name == "..." or rest[1] then rest[#rest + 1] = argument.type
    else
      local shape = shape_of_signature(argument.type, entry.topic, context)
      shape.name, shape.optional, shape.is_parameter = argument.name, argument.optional, true
      list[#list + 1] = shape
    end
  end
  if rest[1] then
    list[#list + 1] = shape_of_signature(table.concat(rest, "|"), entry.topic, context)
    list[#list].name, list[#list].is_parameter = "...", true
  end
  return list
end

local function returns_of(entry, context)
  local list = {}
  for part in (entry.returns or ""):gmatch "[^, ][^,]*" do
    list[#list + 1] = shape_of_signature(part:match "^[%w_]+: (.*)$" or part, entry.topic, context)
  end
  return list
end

-- "@return nil" says that there is nothing.
local function written_returns(annotated)
  local list = annotated["return"]
  return #list == 1 and list[1].type.name == "nil" and {} or list
end

local function collector(list, name)
  return function(form, ...) list[#list + 1] = ("%s: "):format(name) .. form:format(...) end
end

--- How a function's annotation differs from its signature.
---@param entry pmclua.public.Entry
---@param annotated tests.Annotated
---@param context tests.Context
---@return string[]
function M.differences(entry, annotated, context)
  local list = {}
  local report = collector(list, entry.name)
  compare_places("parameter", arguments_of(entry, context), annotated.param, context, report)
  compare_places("return", returns_of(entry, context), written_returns(annotated), context, report)
  return list
end

-- The annotation of a class may have more: fields that are not for scripts.
local function class_differences(entry, class, context)
  local list, fields = {}, fields_of_class(class, context)
  local report = collector(list, entry.name)
  for name, field in pairs(fields_of_entry(entry, context)) do
    if not fields[name] then report("field %s: not in the annotation", name)
    else compare("field " .. name, field, fields[name], context, report) end
  end
  return list
end

-- ---- this tree -----------------------------------------------------------------------------------------

-- Whether a module annotates this class.
local function is_in(module, class) return class and class.where:find(module.path .. ":", 1, true) == 1 end

local function annotated_name(module, name, before, classes)
  local own = "pmclua." .. ("_" .. name):gsub("_(%l)", string.upper)
  return is_in(module, classes[own]) and own or before
end

-- Names of a module's classes by the variables that hold them: `local Cell = … .new("results", "cell")`. The annotation
-- of the class has its name, or stands right before it.
local function classes_of(module, context)
  local names, before = {}, nil
  for line in module.text:gmatch "([^\n]*)\n" do
    local variable, name = line:match '^local (%u%a+) = .*%("%l+", "([%l_]+)"'
    local entry = name and entries.find(name)
    if entry and entry.kind == "class" then
      names[variable] = name
      context.class_names[name] = annotated_name(module, name, before, context.classes)
    end
    before = line:match "^%-%-%-@class ([%w_.]+)" or line:find "^%-%-" and before or nil
  end
  return names
end

local function collect_methods(module, names, methods)
  for _, annotated in ipairs(module.functions) do
    local variable, method = annotated.name:match "^(%u%a+)[:.]([%w_]+)$"
    if names[variable] then methods[("%s:%s"):format(names[variable], method)] = annotated end
  end
end

-- The function that public/call.lua wraps.
local function unchecked(fn)
  for i = 1, debug.getinfo(fn, "u").nups do
    local name, value = debug.getupvalue(fn, i)
    if name == "fn" then return value end
  end
end

-- What is annotated of the function behind a name: "pmc.stats.median".
local function annotated_of(name, pmc, modules)
  local value = pmc
  for word in name:match "^pmc%.(.*)$":gmatch "[%w_]+" do value = value[word] end
  local info = debug.getinfo(unchecked(value), "S")
  for _, module in ipairs(modules) do
    for _, annotated in ipairs(module.name == info.source:sub(2) and module.functions or {}) do
      if annotated.line == info.linedefined then return annotated end
    end
  end
end

--- How annotations of a tree's lua/ differ from the signatures.
---@param tree string
---@param pmc table that tree's public names
---@return string[] differences
---@return { functions: integer, classes: integer } compared how many
function M.of_tree(tree, pmc)
  local modules, classes = annotations.read_tree(tree)
  local context, methods = { classes = classes, class_names = {}, compared = {} }, {}
  for _, module in ipairs(modules) do collect_methods(module, classes_of(module, context), methods) end
  local differences, compared = {}, { functions = 0, classes = 0 }
  local function add(kind, list)
    compared[kind] = compared[kind] + 1
    for _, line in ipairs(list) do differences[#differences + 1] = line end
  end
  for _, entry in ipairs(entries.all()) do
    local class = classes[context.class_names[entry.name]]
    local is_function = entry.kind == "function" and entry.name:find "^pmc%."
    local annotated = methods[entry.name] or is_function and annotated_of(entry.name, pmc, modules)
    if annotated then add("functions", M.differences(entry, annotated, context)) end
    if class then add("classes", class_differences(entry, class, context)) end
  end
  return differences, compared
end

return M
