--- class.lua: the classes of public objects: their methods are checked, and an unknown field raises.
--
-- Invariant: what can be called on an object is what its class defines, and signatures/ has all of it. Functions that
-- are not for scripts are no methods: they are their module's.

local problem = require "pmclua.base.problem"
local types = require "pmclua.public.types"

local M = {}

local provider

--- Names the module that has methods of classes of earlier rooms; it returns tables of them by class. So results can
--- be read without the room that shows them.
---@param module string
function M.provide(module) provider = module end

local function provided(name) return provider and require(provider)[name] or {} end

local function names_of(class, name)
  local list = {}
  for _, methods in ipairs { class, provided(name) } do
    for method, value in next, methods do
      if type(value) == "function" and not method:find "^__" then list[#list + 1] = method end
    end
  end
  return list
end

local function fields_of(class, name, topic)
  local lists, entry = require "pmclua.base.lists", require("pmclua.public.entries").find(name, topic)
  local fields = lists.where(entry.order, function(field) return field:find "^%a" end)
  return lists.joined { names_of(class, name), fields }
end

--- Raises for a field that is not there.
---@param owner string who has not got it: "a result", "pmc.stats"
---@param field any
---@param fields string[] those that there are
function M.unknown(owner, field, fields)
  problem.misuse(("%s has no '%s'%s"):format(owner, require("pmclua.base.text").safe(tostring(field)),
    require("pmclua.base.arguments").meant(field, fields)), 3)
end

--- A new class: the metatable of its objects, in which its module defines their methods.
---@param topic string where its entry is
---@param name string
---@param optional? string names of fields that may be nil, with blanks between them
---@return table class its `__about`, where the module defines it, says of an object which one it is; one that has a report is shown by that
function M.new(topic, name, optional)
  local class, may_be_nil = {}, require("pmclua.base.lists").words(optional or "")
  local methods = setmetatable({}, { __index = function(methods, field)
    if may_be_nil[field] then return nil end
    local is_word = type(field) == "string" and not field:find "^__"
    local method = is_word and (rawget(class, field) or provided(name)[field])
    if not method then
      return M.unknown(types.article(name), field, fields_of(class, name, topic))
    end
    rawset(methods, field, require("pmclua.public.call").checked(name .. ":" .. field, topic, method, class))
    return methods[field]
  end })
  class.__index = methods
  class.__fields = function() return fields_of(class, name, topic) end
  class.__fields_are_all = true
  class.__tostring = function(object)
    local report = class.report or provided(name).report
    if report then return report(object) end
    local about = class.__about and class.__about(object)
    return types.article(name) .. (about and ": " .. about or "")
  end
  types.declare_class(class, name)
  return class
end

return M
