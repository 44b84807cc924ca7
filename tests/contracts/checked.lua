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
local function key_of(text) return (text:gsub("%d+", "")) end

local context = { classes = signatures.classes,
  is_reported = function(text) return reported[key_of(text)] end }

-- Who called, or got, what is wrong: from `level` on, past C.
local function caller_at(level)
  local caller
  repeat
    level = level + 1
    caller = debug.getinfo(level, "Sl")
  until not caller or caller.what ~= "C"
  return caller and ("%s:%d"):format(caller.short_src, caller.currentline) or "C"
end

local function report(signature, place, why, from)
  local is_ours = from:find "^pmclua%." or from:find "/lua/pmclua/" or from:find "scripts/"
  if not is_ours and place:find "^parameter" then on_purpose[why] = true end
  local text = values.at(("%s: %s: %s"):format(signature.where, signature.name, place), why)
  if context.is_reported(text) or on_purpose[why] then return end
  reported[key_of(text)] = true
  local file = io.open(signatures.report, "a")
  if not file then return end
  file:write(text, "\t", signature.name, " called from ", from, "\n")
  file:close()
end

-- Holds values against places of a kind, "param" or "return".
local function check(signature, kind, ...)
  for i, place in ipairs(signature[kind]) do
    for k = i, place.name == "..." and select("#", ...) or i do
      local value = (select(k, ...))
      local why = not (value == nil and place.optional) and values.mistake(place.type, value, context)
      local is_param = kind == "param"
      local what = is_param and ("parameter '%s'"):format(place.name) or "return " .. i
      if why then report(signature, what, why, caller_at(is_param and 4 or 3)) end
    end
  end
end

--- The checks of a module: of arguments, and of results, which it returns.
---@param name string
---@return fun(n: integer, ...) into
---@return fun(n: integer, ...): ... out
function M.of(name)
  local module = signatures.modules[name]
  return function(n, ...) check(module[n], "param", ...) end,
    function(n, ...)
      check(module[n], "return", ...)
      return ...
    end
end

return M
