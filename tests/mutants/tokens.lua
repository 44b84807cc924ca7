--- tokens.lua: the tokens of Lua and C that can be exchanged for another, and the function each stands in.
--
-- Invariant: nothing within comments, strings or preprocessor lines is a token; an exchange moves no line, so that
-- a mutant's failures name the lines of the original.

local lpeg = require "lpeg"

local P, R, S, C, Cp, Ct, Cc = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cp, lpeg.Ct, lpeg.Cc

local M = {}

-- What each token may become. One step away, so that a spec has to look at the boundary to notice.
local SHARED = { ["+"] = "-", ["-"] = "+", ["*"] = "/", ["/"] = "*", ["<"] = "<=", ["<="] = "<",
  [">"] = ">=", [">="] = ">", ["=="] = { lua = "~=", c = "!=" } }
local EXCHANGES = {
  lua = { ["~="] = "==", ["and"] = "or", ["or"] = "and", ["not"] = "", ["true"] = "false",
    ["false"] = "true" },
  c = { ["!="] = "==", ["&&"] = "||", ["||"] = "&&", ["!"] = "", ["+="] = "-=", ["-="] = "+=" },
}
for language, list in pairs(EXCHANGES) do
  for from, to in pairs(SHARED) do list[from] = type(to) == "table" and to[language] or to end
end

local name = (R("az", "AZ") + "_") * (R("az", "AZ", "09") + "_") ^ 0
local digits = R "09" ^ 1
local exponent = (S "eE" * S "+-" ^ -1 * digits) ^ -1
local number = P "0" * S "xX" * R("09", "af", "AF") ^ 1 * S "uUlL" ^ 0
  + (digits * (P "." * R "09" ^ 0) ^ -1 + "." * digits) * exponent * S "uUlLfF" ^ 0
local function quoted(mark) return P(mark) * (P "\\" * 1 + (1 - P(mark))) ^ 0 * mark end

local long = lpeg.Cmt("[" * C(P "=" ^ 0) * "[", function(subject, position, equals)
  local _, stop = subject:find("]" .. equals .. "]", position, true)
  return stop and stop + 1
end)
local line_end = (1 - P "\n") ^ 0

local function token(kind, pattern) return Ct(Cp() * Cc(kind) * C(pattern)) end

local LEXERS = {
  lua = Ct((P "--" * (long + line_end) + long + quoted '"' + quoted "'"
    + token("number", number) + token("word", name)
    + token("sign", P "..." + ".." + "==" + "~=" + "<=" + ">=" + S "+-*/<>=(){}[],;:.%^#") + 1) ^ 0),
  -- Preprocessor lines may go on: a backslash before the line's end.
  c = Ct((P "/*" * (1 - P "*/") ^ 0 * "*/" + P "//" * line_end + quoted '"' + quoted "'"
    + P "#" * ((P "\\\n" + (1 - P "\n")) ^ 0)
    + token("number", number) + token("word", name)
    + token("sign", P "->" + "++" + "--" + "<<" + ">>" + "<=" + ">=" + "==" + "!=" + "&&" + "||" + "+=" + "-="
      + S "+-*/<>=!(){}[],;:.%^&|~?") + 1) ^ 0),
}

---@class tests.Token
---@field at integer its first byte
---@field text string
---@field kind "number"|"word"|"sign"
---@field to? string what it may be exchanged for
---@field scope integer the function that it stands in, 0 outside all

local OPENS = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = true, ["until"] = true }

-- Lua: functions are counted as they begin; `starts[k]` is where the body of the k-th begins.
local function lua_scopes(tokens, starts)
  local open, scope, depth, expects = {}, 0, 0, false
  for _, t in ipairs(tokens) do
    if OPENS[t.text] and t.kind == "word" then
      local outer = scope
      if t.text == "function" then
        expects, depth = true, 0
        starts[#starts + 1] = false
        scope = #starts
      end
      open[#open + 1] = outer
    elseif CLOSES[t.text] and t.kind == "word" then
      t.scope = scope
      scope = table.remove(open) or 0
    elseif expects and t.text == "(" then depth = depth + 1
    elseif expects and t.text == ")" then
      depth = depth - 1
      if depth == 0 then starts[scope], expects = t.at + 1, false end
    end
    t.scope = t.scope or scope
  end
end

-- C, in this project's style: the brace of a function's body begins a line, and its end does.
local function c_scopes(tokens, starts, text)
  local scope = 0
  for _, t in ipairs(tokens) do
    local begins_line = t.at == 1 or text:byte(t.at - 1) == 10
    if t.text == "{" and begins_line then
      starts[#starts + 1] = t.at + 1
      scope = #starts
    end
    t.scope = scope
    if t.text == "}" and begins_line then scope = 0 end
  end
end

local function next_number(text)
  local value = tonumber((text:gsub("[uUlLfF]+$", "")))
  if not value or text:find "^0[xX]" then return nil end
  if not text:find "[%.eE]" then return ("%d"):format(value + 1) end
  return ("%.17g"):format(value == 0 and 1 or 2 * value)
end

--- The tokens of a text.
---@param text string
---@param language "lua"|"c"
---@return tests.Token[] tokens
---@return integer[] starts the first byte of the body of each function, by scope
function M.of(text, language)
  local tokens, starts = {}, {}
  for i, found in ipairs(LEXERS[language]:match(text)) do
    local t = { at = found[1], kind = found[2], text = found[3] }
    if t.kind == "number" then t.to = next_number(t.text) else t.to = EXCHANGES[language][t.text] end
    tokens[i] = t
  end
  if language == "lua" then lua_scopes(tokens, starts) else c_scopes(tokens, starts, text) end
  return tokens, starts
end

--- The text with a token exchanged.
---@param text string
---@param t tests.Token
---@return string
function M.exchange(text, t)
  return text:sub(1, t.at - 1) .. " " .. t.to .. " " .. text:sub(t.at + #t.text)
end

return M
