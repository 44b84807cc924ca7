--- checked.lua: holds what functions are given, and what they return, against their annotations. In a tree that
-- instrument.lua has rewritten it is the module pmclua.contracts.
--
-- Invariant: nothing is raised and nothing returned is changed. Each mistake is a line of REPORT, once in a process.

local values = require "pmclua.contracts.values"
local signatures = require "pmclua.contracts.signatures"

local M = {}

-- What specs and their scripts pass wrongly on purpose, and what that is reported as further in.
local on_purpose, reported = {}, {}

-- Values differ, the mistake is the same.
local function is_reported(text) return reported[(text:gsub("%d+", ""))] end

local context = { classes = signatures.classes, is_reported = is_reported }

-- `level` is that of the caller.
local function report(signature, what, level, why, is_of_class)
  local caller
  repeat caller, level = debug.getinfo(level + 1, "Sl"), level + 1 until not caller or caller.what ~= "C"
  local from = caller and ("%s:%d"):format(caller.short_src, caller.currentline) or "C"
  local text = is_of_class and why or ("%s: %s: %s: %s"):format(signature.where, signature.name, what, why)
  local is_ours = from:find "^pmclua%." or from:find "/lua/pmclua/" or from:find "scripts/"
  if not is_ours and what:find "^parameter" then on_purpose[why] = true end
  if is_reported(text) or on_purpose[why] then return end
  reported[(text:gsub("%d+", ""))] = true
  local file = io.open(signatures.report, "a")
  if not file then return end
  file:write(text, "\t", signature.name, " called from ", from, "\n")
  file:close()
end

local function check(signature, what, place, value, level)
  if value == nil and place.optional then return end
  local why, is_of_class = values.mistake(place.type, value, context)
  if why then report(signature, what, level + 1, why, is_of_class) end
end

local function check_arguments(signature, ...)
  for i, param in ipairs(signature.param) do
    local last = param.name == "..." and select("#", ...) or i
    for k = i, last do
      check(signature, ("parameter '%s'"):format(param.name), param, select(k, ...), 4)
    end
  end
end

local function check_returns(signature, ...)
  for i, result in ipairs(signature["return"]) do
    check(signature, "return " .. i, result, (select(i, ...)), 3)
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
