--- checked.lua: holds what functions are given, and what they return, against their annotations. In a tree that
-- instrument.lua has rewritten it is the module pmclua.contracts.
--
-- Invariant: nothing is raised and nothing returned is changed. Each mistake is a line of REPORT, once in a process.

local values = require "pmclua.contracts.values"
local signatures = require "pmclua.contracts.signatures"

local M = {}

-- What was reported; what specs and their scripts passed wrongly, and is reported as further in.
local reported, passed = {}, {}

-- Values differ, the mistake is the same.
local function key_of(text) return (text:gsub('"[^"]*"', ""):gsub("%d+", "")) end

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

local function write(signature, text, from)
  local file = not context.is_reported(text) and io.open(signatures.report, "a")
  reported[key_of(text)] = true
  if not file then return end
  file:write(text, "\t", signature.name, " called from ", from, "\n")
  file:close()
end

-- What specs pass may be meant to be refused, and what they make by hand need not be whole.
local function report(signature, place, why, from)
  local is_ours = from:find "^pmclua%." or from:find "/lua/pmclua/" or from:find "scripts/"
  local text = values.at(("%s: %s: %s"):format(signature.where, signature.name, place), why)
  if place:find "^parameter" and not is_ours then
    passed[why] = true
    local is_spec = from:find "_spec%.lua:" and not values.is_of_class(why)
    signature.taken = is_spec and { text = text, from = from } or nil
  elseif not passed[why] then write(signature, text, from) end
end

-- Holds values against places of a kind, "param" or "return".
local function check(signature, kind, ...)
  for i, place in ipairs(signature[kind]) do
    for k = i, place.name == "..." and select("#", ...) or i do
      local value = (select(k, ...))
      local why = not (value == nil and place.optional) and values.mistake(place.type, value, context)
      local is_param = kind == "param"
      local what = is_param and ("parameter '%s'"):format(place.name) or "return " .. i
      if why then report(signature, what, why, caller_at(is_param and 5 or 4)) end
    end
  end
end

local function into(signature, ...)
  signature.taken = nil
  check(signature, "param", ...)
end

local function out(signature, ...)
  check(signature, "return", ...)
  local taken = signature.taken
  local is_refused = #signature["return"] > 0 and not (...)
  if taken and not is_refused then write(signature, taken.text, taken.from) end
end

--- The checks of a module: of arguments, and of results, which it returns.
---@param name string
---@return fun(n: integer, ...) into
---@return fun(n: integer, ...): ... out
function M.of(name)
  local module = signatures.modules[name]
  return function(n, ...) into(module[n], ...) end,
    function(n, ...)
      out(module[n], ...)
      return ...
    end
end

return M
