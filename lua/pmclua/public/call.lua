--- call.lua: public functions, whose arguments are checked by their signatures before anything else happens.
--
-- Mistakes are raised at the caller's line. A signature is read when its function is first asked for.

local entries = require "pmclua.public.entries"
local problem = require "pmclua.base.problem"
local types = require "pmclua.public.types"

local M = {}

-- Functions to their names, for help on one at hand.
local names = setmetatable({}, { __mode = "k" })

--- The name of a public function: "pmc.measure", "result:cells".
---@param fn function
---@return string?
function M.name_of(fn) return names[fn] end

-- ---- raising -------------------------------------------------------------------------------------------

local mistakes

local function wrong(form, ...)
  mistakes = mistakes or {}
  mistakes[#mistakes + 1] = form:format(...)
end

local function raise_mistakes()
  table.sort(mistakes)
  local text = table.concat(mistakes, "\n")
  mistakes = nil
  problem.misuse(text, 3)
end

local function refuse_self(entry)
  local class, method = entry.name:match "^(.-):(.*)$"
  local prefix = (entries.find(class, entry.topic) or {}).prefix or class
  problem.misuse(("%s is a method of a %s: write %s:%s(…), with a colon"):format(entry.name,
    class:gsub("_", " "), prefix, method), 3)
end

-- ---- checking ------------------------------------------------------------------------------------------

---@class pmclua.public.Signature
---@field entry pmclua.public.Entry
---@field arguments { name: string, optional: boolean, alternatives: pmclua.public.Type[], owner: string? }[]
---@field rest? table what "..." stands for
---@field last? table options behind "..."

local function argument_of(entry, field)
  return { name = ("%s: %s"):format(entry.name, field.name), optional = field.optional,
    alternatives = types.read(field.type, entry.topic), owner = entry.name }
end

local function signature_of(entry)
  local signature = { entry = entry, arguments = {} }
  for _, field in ipairs(entry.arguments) do
    if field.name == "..." then
      field = { name = "argument %d", type = field.type, optional = field.optional }
      signature.rest = argument_of(entry, field)
    elseif signature.rest then signature.last = argument_of(entry, field)
    else table.insert(signature.arguments, argument_of(entry, field)) end
  end
  return signature
end

local function check_one(argument, value, name)
  if value == nil and argument.optional then return end
  types.check(value, argument.alternatives, name or argument.name, wrong, argument.owner)
end

local function are_options(value)
  return type(value) == "table" and not getmetatable(value) and value[1] == nil
end

local function check_rest(signature, from, count, ...)
  local rest, last = signature.rest, signature.last
  if not rest then
    if count > #signature.arguments and select(from, ...) ~= nil then
      wrong("%s takes %s, not %d", signature.entry.name,
        require("pmclua.base.text").plural(#signature.arguments, "argument"), count)
    end
    return
  end
  for i = from, count do
    local value = select(i, ...)
    if last and i == count and i > 1 and are_options(value) then check_one(last, value)
    else check_one(rest, value, rest.name:format(i)) end
  end
end

local function check(signature, ...)
  local list, count = signature.arguments, select("#", ...)
  for i = 1, #list do check_one(list[i], (select(i, ...))) end
  if signature.rest or count > #list then check_rest(signature, #list + 1, count, ...) end
  if mistakes then raise_mistakes() end
end

-- Methods that take nothing, or one thing, are called a million times a second: they cost a comparison or two.
local function method_without_arguments(fn, class, check_all)
  return function(self, extra)
    if getmetatable(self) ~= class or extra ~= nil then check_all(self, extra) end
    return fn(self)
  end
end

local function method_of_one(fn, class, check_all, is_right)
  return function(self, first, extra)
    local is_fine = getmetatable(self) == class and extra == nil and is_right(first)
    if not is_fine then check_all(self, first, extra) end
    return fn(self, first)
  end
end

local function method_of_one_and_any(fn, class, check_all, is_right)
  return function(self, first, ...)
    if getmetatable(self) ~= class or not is_right(first) then check_all(self, first, ...) end
    return fn(self, first, ...)
  end
end

local function entry_of(name, topic)
  return entries.find(name, topic) or error(("signatures/%s.lua has no %s"):format(topic, name))
end

local function checker(name, topic)
  local signature
  return function(...)
    signature = signature or signature_of(entry_of(name, topic))
    check(signature, ...)
  end
end

local function checked_method(fn, class, name, topic)
  local check_arguments = checker(name, topic)
  local function check_all(self, ...)
    if getmetatable(self) ~= class then refuse_self(entry_of(name, topic)) end
    check_arguments(...)
  end
  local takes = debug.getinfo(fn, "u")
  if takes.nparams == 1 and not takes.isvararg then return method_without_arguments(fn, class, check_all) end
  local entry = entry_of(name, topic)
  local list = entry.arguments
  if #list == 0 then return method_without_arguments(fn, class, check_all) end
  local is_right = types.quick(types.read(list[1].type, entry.topic))
  if #list == 1 and list[1].name ~= "..." then return method_of_one(fn, class, check_all, is_right) end
  local takes_any = #list == 2 and list[2].name == "..." and list[2].type == "any"
  if takes_any then return method_of_one_and_any(fn, class, check_all, is_right) end
  return function(...)
    check_all(...)
    return fn(...)
  end
end

local function checked_function(fn, name, topic)
  local check_arguments = checker(name, topic)
  return function(...)
    check_arguments(...)
    return fn(...)
  end
end

--- A public function: checks its arguments, then calls `fn`.
---@param name string of its signature
---@param topic string
---@param fn function
---@param class? table of a method: the metatable of its objects
---@return function
function M.checked(name, topic, fn, class)
  local checked = class and checked_method(fn, class, name, topic) or checked_function(fn, name, topic)
  names[checked] = name
  return checked
end

--- Reports what is wrong with a table of options.
---@param value any
---@param name string of its record: "run_options"
---@param owner string whose options they are: "pmc.regions"; "": they are keys of a declaration
---@param topic string
---@param report fun(form: string, ...)
function M.report_options(value, name, owner, topic, report)
  types.check(value, types.read(name, topic), owner, report)
end

--- A record, whose keys are checked one by one.
---@param name string
---@param topic string
---@return pmclua.public.Entry
function M.record(name, topic) return entries.find(name, topic) end

--- The current name of a key: for an old name the new one, with a note, once.
---@param record pmclua.public.Entry
---@param key any
---@return any
function M.current_key(record, key)
  local field = entries.field(record, key)
  if not (field and field.instead) then return key end
  require("pmclua.public").note_old(("%s ="):format(key), ("%s ="):format(field.instead))
  return field.instead
end

--- A table of options by the names that they have now.
---@param options table with a script's keys
---@param name string of its record
---@param topic string
---@return table options themselves, or a copy where an old name is among them
function M.current(options, name, topic)
  local record, copy = entries.find(name, topic), {}
  for key, value in pairs(options) do copy[M.current_key(record, key)] = value end
  return copy
end

--- Reports what is wrong with one key of a declaration; whether nothing is.
---@param record pmclua.public.Entry
---@param key any
---@param value any
---@param report fun(form: string, ...)
---@return boolean
function M.check_key(record, key, value, report)
  local is_right = true
  types.check_key(value, record, key, "", function(...)
    is_right = false
    report(...)
  end)
  return is_right
end

return M
