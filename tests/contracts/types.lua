--- types.lua: the types of annotations as lua-language-server has them, read from text.

local lpeg = require "lpeg"

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V
local C, Cc, Cg, Cp, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cp, lpeg.Ct

local M = {}

local space = S " \t" ^ 0
local word = (R("az", "AZ") + "_") * (R("az", "AZ", "09") + "_") ^ 0
local name = word * ("." * word) ^ 0 * P "*" ^ -1
local function sign(text) return space * text * space end
local function node(kind, pattern) return Ct(Cg(Cc(kind), "kind") * pattern) end
local function separated(item) return (item * (sign(S ",;") * item) ^ 0) ^ -1 end

local function union(...)
  if select("#", ...) == 1 then return (...) end
  return { kind = "union", ... }
end

local NIL = { kind = "name", name = "nil" }
local function with_ends(inner, ...)
  for _, ending in ipairs { ... } do
    inner = ending == "?" and union(inner, NIL) or { kind = "list", item = inner }
  end
  return inner
end

local quoted = '"' * C((1 - P '"') ^ 0) * '"' + "'" * C((1 - P "'") ^ 0) * "'"
local number = C(P "-" ^ -1 * R "09" ^ 1) / tonumber
local truth = (P "true" * Cc(true) + P "false" * Cc(false)) * -(R("az", "AZ", "09") + S "_.")

-- What a function takes and gives is not looked at: it would have to be called.
local argument = (P "..." + word) * P "?" ^ -1 * (sign ":" * V "type") ^ -1
local result = (word * sign ":") ^ -1 * V "type"
local next_result = sign "," * -(word * P "?" ^ -1 * sign ":") * ("..." + result)
local results = sign ":" * (P "..." + result) * next_result ^ 0
local field = Ct(Cg("[" * (quoted + number) * "]" + C(word), "name")
  * Cg(P "?" * Cc(true) + Cc(false), "optional") * sign ":" * Cg(V "type", "type"))
local entries = "[" * V "type" * "]" * sign ":" * V "type" / 0                   -- of any key: not looked at

local READER = P { "top",
  top = V "type" * Cp(),
  type = V "postfix" * (sign "|" * V "postfix") ^ 0 / union,
  postfix = V "primary" * C(P "[]" + "?") ^ 0 / with_ends,
  primary = "(" * space * V "type" * space * ")"
    + node("name", P "fun(" * space * (separated(argument) / 0) * space * ")" * (results / 0) ^ -1
      * Cg(Cc "function", "name"))
    + node("map", P "table<" * space * Cg(V "type", "key") * sign "," * Cg(V "type", "value") * space * ">")
    + node("record", "{" * space * separated(entries + field) * sign "}" * Cc(nil))
    + node("literal", Cg(quoted + number + truth, "value"))
    + node("name", Cg(C(name), "name")),
}

--- Reads the type that a text begins with.
---@param text string
---@return table? type nil: it begins with none
---@return string? rest
function M.read(text)
  local found, stop = READER:match(text)
  if not found then return nil end
  return found, text:sub(stop)
end

--- Calls f(name) for each name in a type.
---@param t table
---@param f fun(name: string)
function M.each_name(t, f)
  if t.kind == "name" then f(t.name) end
  for _, inner in ipairs { t.item or false, t.key or false, t.value or false } do
    if type(inner) == "table" then M.each_name(inner, f) end
  end
  for _, inner in ipairs(t) do M.each_name(inner.type or inner, f) end
end

return M
