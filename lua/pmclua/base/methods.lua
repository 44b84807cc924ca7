--- methods.lua: methods that a later room gives to the classes of an earlier one, loaded when first called.
--
-- Results do not know how they are shown: report/methods.lua has their `report` and `plot`, and pmclua/init.lua
-- says so. So `result` can be read, used and tested without `report`.

local M = {}

local provider

--- Names the module that has such methods; it returns a table of them by class and name.
---@param module string
function M.provide(module) provider = module end

--- Lets a class have the methods that are provided for it, below its own.
---@param class table its `__index` is the class itself
---@param name string as its `---@class` line has it: "pmclua.Result"
---@return table class
function M.extend(class, name)
  local function provided() return provider and require(provider)[name] or {} end
  local function find(_, method)
    local found = type(method) == "string" and provided()[method] or nil
    rawset(class, method, found)
    return found
  end
  -- For completion at the prompt.
  local function fields()
    local list = {}
    for method in pairs(provided()) do list[#list + 1] = method end
    return list
  end
  return setmetatable(class, { __index = find, __fields = fields })
end

return M
