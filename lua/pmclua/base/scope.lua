--- scope.lua: the global environment of one script: reading a name that nobody defined raises.
--
-- A scope inherits the real globals and keeps what the script assigns to itself, so two scripts, or a
-- script and the modules it requires, do not meet in each other's globals. `rawget(_G, name)` asks
-- whether something is there without raising.

local M = {}

local function names_of(scope)
  local keys = require("pmclua.base.arguments").keys
  return require("pmclua.base.lists").joined { keys(scope), keys(_G) }
end

-- The full name of pmc's own functions, and of exit.
local function elsewhere(name)
  if name == "exit" or name == "quit" then return "os.exit" end
  for _, field in ipairs(getmetatable(require "pmclua").__fields()) do
    if field == name then return "pmc." .. name end
  end
end

local function undefined(scope, name)
  if name == "pmc" then return [[undefined variable 'pmc': begin with `local pmc = require "pmclua"`]] end
  local nearest = elsewhere(name) or require("pmclua.base.text").nearest(tostring(name), names_of(scope))
  local hint = nearest and (": did you mean '%s'?"):format(nearest) or ""
  return ("undefined variable '%s'%s"):format(tostring(name), hint)
end

--- A new scope.
---@param lazy? table<string, fun(): any> globals made when first read
---@return table scope for setfenv
function M.new(lazy)
  local scope = {}
  return setmetatable(scope, {
    __index = function(_, name)
      local value = rawget(_G, name)
      if value ~= nil then return value end
      local make = lazy and lazy[name]
      if not make then require("pmclua.base.problem").misuse(undefined(scope, name), 3) end
      scope[name] = make()
      return scope[name]
    end,
  })
end

return M
