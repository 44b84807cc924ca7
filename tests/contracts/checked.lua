--- checked.lua: holds what functions are given, and what they return, against their annotations. In a tree that
-- instrument.lua has rewritten it is the module pmclua.contracts.
--
-- Invariant: nothing is raised and nothing returned is changed. Each mistake is a line of REPORT, once in a process.

local values = require "pmclua.contracts.values"
local signatures = require "pmclua.contracts.signatures"

local M = {}

-- What specs pass wrongly on purpose, and what that is reported as further in.
local on_purpose, reported = {}, {}

-- `level` is that of the caller.
local function report(signature, what, why, level)
  local caller = debug.getinfo(level, "Sl")
  local from = caller and ("%s:%d"):format(caller.short_src, caller.currentline) or "C"
  -- A field that is false is so for all who are given its class.
  local of_class, where, field = why:match "^.*()pmclua[%w_.]* %((%S+:%d+)%): (field .*)$"
  if of_class then why = where .. ": " .. why:sub(of_class):match "^%S+" .. ": " .. field end
  local text = of_class and why or ("%s: %s: %s: %s"):format(signature.where, signature.name, what, why)
  if what:find "^parameter" and from:find "_spec%.lua:" then on_purpose[why] = true end
  if reported[text] or on_purpose[why] then return end
  reported[text] = true
  local file = io.open(signatures.report, "a")
  if not file then return end
  file:write(text, " (called from ", from, ")\n")
  file:close()
end

local function mistake(place, value)
  if value == nil and place.optional then return nil end
  return values.mistake(place.type, value, signatures.classes)
end

local function check_arguments(signature, ...)
  for i, param in ipairs(signature.params) do
    if param.name == "..." then
      for k = i, select("#", ...) do
        local why = mistake(param, (select(k, ...)))
        if why then report(signature, "parameter '...'", why, 5) end
      end
      return
    end
    local why = mistake(param, (select(i, ...)))
    if why then report(signature, ("parameter '%s'"):format(param.name), why, 5) end
  end
end

local function check_returns(signature, ...)
  for i, result in ipairs(signature.returns) do
    local why = values.mistake(result, (select(i, ...)), signatures.classes)
    if why then report(signature, ("return %d"):format(i), why, 4) end
  end
end

--- The checks of a module: of arguments, and of results, which it returns.
---@param name string
---@return fun(n: integer, ...) into
---@return fun(n: integer, ...): ... out
function M.of(name)
  local module = signatures.modules[name]
  return function(n, ...) check_arguments(module[n], ...) end,
    function(n, ...)
      check_returns(module[n], ...)
      return ...
    end
end

return M
