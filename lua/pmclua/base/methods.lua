--- methods.lua: methods that a later room gives to the classes of an earlier one, loaded when first called.
--
-- Results do not know how they are shown: report/methods.lua has their `report` and `plot`, and pmclua/init.lua
-- says so. So `result` can be read, used and tested without `report`.

local M = {}

local modules = {}

--- Names the module that has methods of classes; it returns a table of them by class and name.
---@param module string
---@param classes string[] as their `---@class` lines have them
function M.provide(module, classes)
  for _, class in ipairs(classes) do modules[class] = module end
end

--- Lets a class have the methods that are provided for it, below its own.
---@param class table its `__index` is the class itself
---@param name string "pmclua.Result"
---@return table class
function M.extend(class, name)
  return setmetatable(class, { __index = function(_, method)
    local module = type(method) == "string" and modules[name]
    local found = module and require(module)[name][method] or nil
    rawset(class, method, found)
    return found
  end })
end

return M
