--- grammar.lua: the text of a formula or comparison to a tree, or to a message that points.
--
-- Invariant: `-` and `/` are only operators, never part of a name (init.lua writes page-faults as page_faults); a text either is understood to its
-- last character or is refused at the character where it stops making sense.
--
--   metric      NAME "=" sum [ "[" unit "]" ]
--   condition   all { "or" all };   all = comparison { "and" comparison }
--   comparison  sum OP sum [ ("+-" | "±") NUMBER ["%"] ];   OP  == ~= != <= >= < >
--   limit       sum OP ( ("+" | "-") NUMBER "%" | sum )
--   sum         product { ("+" | "-") product };   product = unary { ("*" | "/") unary }
--   unary       { "-" } ( NUMBER | NAME | FUNCTION "(" sum { "," sum } ")" | "(" sum ")" )
--   NAME        an event's field name: letters, digits, "_", ".", ":" inside

local lpeg = require "lpeg"
local text = require "pmclua.base.text"

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V
local C, Cc, Cg, Cp, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cp, lpeg.Ct

local M = {}

local DEEPEST = 30          -- parentheses in each other; LPeg itself gives up at 200 nested captures
local LONGEST = 4000        -- bytes
local AROUND = 60           -- bytes of a long text that a message shows

--- Functions and how many arguments they take: least, most.
M.functions = {
  min = { 2, 16 }, max = { 2, 16 }, abs = { 1, 1 }, log = { 1, 1 }, sqrt = { 1, 1 },
}

---@class pmclua.FormulaError
---@field message string
---@field position integer byte in the text, from 1
---@field hint? string
---@field text string the whole text

local Error = {}
Error.__index = Error

-- The text, or what is around the place in a long one.
local function excerpt(source, position)
  if #source <= AROUND then return text.safe(source) end
  local from = math.max(1, position - AROUND / 2)
  local part = text.safe(source:sub(from, from + AROUND))
  return (from > 1 and "..." or "") .. part .. (from + AROUND < #source and "..." or "")
end

function Error:__tostring()
  local hint = self.hint and "; " .. self.hint or ""
  return ("%s, at character %d of '%s'%s"):format(self.message, self.position,
                                                  excerpt(self.text, self.position), hint)
end

--- An error about a text; prints as one sentence.
---@return pmclua.FormulaError
function M.error(source, position, message, hint)
  return setmetatable({ text = source, position = position, message = message, hint = hint }, Error)
end

-- Ends the match: what stands here is no `expected`. Raised through LPeg and caught in `match`.
local HINTS = {
  ["="] = "to compare, write '=='", ["=<"] = "write '<='", ["=>"] = "write '>='",
  ["^"] = "there is no power operator: multiply",
  ["%"] = "a percentage is allowed only in a tolerance (+- 2%) or a limit (<= +1%)",
  ["["] = "a unit comes at the end of a metric: name = formula [unit]",
  ["+-"] = "'+-' is a tolerance, after '=='; to add a negative number, write '+ -'",
  ["<"] = "a comparison is not a value", [">"] = "a comparison is not a value",
}

local TOKENS = { "^[%a_][%w_.:]*", "^[=<>~!]=", "^=[<>]",
  "^%+%-", "^[^\128-\255]", "^[\194-\244][\128-\191]*" }

local function found_at(source, i)
  if i > #source then return "the end" end
  for _, pattern in ipairs(TOKENS) do
    local token = source:match(pattern, i)
    if token then return "'" .. text.safe(token) .. "'", HINTS[token] end
  end
  return "'" .. text.safe(source:sub(i, i)) .. "'"
end

local function expected(what, hint)
  return P(function(source, i)
    local token, token_hint = found_at(source, i)
    error(M.error(source, i, ("expected %s, not %s"):format(what, token), hint or token_hint), 0)
  end)
end

-- ---- words ------------------------------------------------------------------------------------------

local space = S " \t\r\n" ^ 0
local digit, letter = R "09", R("az", "AZ") + "_"
local word_end = -(letter + digit)

local function symbol(s) return P(s) * space end
local function keyword(s) return P(s) * word_end * space end

local exponent = S "eE" * S "+-" ^ -1 * digit ^ 1
local digits = (digit ^ 1 * ("." * digit ^ 0) ^ -1 + "." * digit ^ 1) * exponent ^ -1
local number = lpeg.Cmt(C(digits), function(source, i, written)
  local value = tonumber(written)                -- nil, too, where its exponent has too many digits
  if not value or value == math.huge then
    error(M.error(source, i - #written, "the number is too large"), 0)
  end
  return true, value
end)
  * (word_end + expected "an operator after the number") * space

-- ":" and "." only between other characters: "cycles:u", "a::B:C", "mem_inst.all".
local plain = letter + digit
local reserved = (P "and" + "or") * word_end
local name = C((letter * plain ^ 0 * ((P ":" ^ 1 + ".") * plain ^ 1) ^ 0) - reserved) * space

-- ---- the tree ---------------------------------------------------------------------------------------

-- A lone operand stands for itself; more become { kind, operand, operator, operand, operator, … }.
local function chain(kind)
  return function(first, operator, ...)
    if not operator then return first end
    return { kind = kind, first, operator, ... }
  end
end

local function negated(signs, node)
  return #signs:gsub("%s", "") % 2 == 1 and { kind = "negative", node } or node
end

-- Operands of "/" remember their text: the reason of a division by zero names them.
local function sourced(pattern)
  return Cg(Cp() * pattern * Cp()) / function(from, node, to)
    return { kind = "source", node, from = from, to = to }
  end
end

local function call(position, fn, ...)
  return { kind = "call", name = fn, position = position, ... }
end

local value = expected "a number, a name or '('"
local closing = symbol ")" + expected "')'"
local name_node = Cp() * name / function(position, word)
  return { kind = "name", name = text.field(word), position = position }
end
local number_node = number / function(n) return { kind = "number", value = n } end
local arguments = V "sum" * (symbol "," * V "sum") ^ 0
local primary = number_node
  + Cp() * name * symbol "(" * arguments * closing / call
  + name_node
  + symbol "(" * V "sum" * closing
  + value
local unary = C((P "-" * space) ^ 0) * primary / negated
local product = unary * (C "*" * space * unary + C "/" * space * sourced(unary)) ^ 0 / chain "product"
local minus = C "-" * space
local plus = C "+" * -P "-" * space          -- "+-" is a tolerance
local sum = product * ((plus + minus) * product) ^ 0 / chain "sum"

local function whole(pattern)
  return P { space * pattern * (-P(1) + expected "an operator or the end"), sum = sum }
end

-- ---- comparisons ------------------------------------------------------------------------------------

local comparison_sign = (C "==" + P "!=" * Cc "~=" + C "~=" + C "<=" + C ">=" + C "<" + C ">") * space
local sign = comparison_sign + expected "a comparison (== ~= < <= > >=)"
local percent = Cg(P "%" * Cc(true), "percent") * space
local tolerance = (P "+-" + "±") * space
  * Ct(Cg(number + expected "a number", "value") * percent ^ -1)

local function comparison(left, operator, right, allowed)
  return { kind = "comparison", left = left, operator = operator, right = right, tolerance = allowed }
end

local comparing = V "sum" * sign * V "sum" * tolerance ^ -1 / comparison
local all = Ct(comparing * (keyword "and" * comparing) ^ 0)
local any = Ct(all * (keyword "or" * all) ^ 0)

local signed = (P "+" * Cc(1) + P "-" * Cc(-1)) * space * number * P "%" * space
local relative = signed / function(direction, n) return { kind = "relative", value = direction * n / 100 } end
local bare_percent = #(number * "%") * expected("a sign before the percentage",
                                                "a relative limit is written +1% or -1%")
local bare_sign = #P "+" * expected("a number without a sign, or a percentage",
                                    "a relative limit is written +1% or -1%")
local limit = V "sum" * sign * (relative + bare_percent + bare_sign + V "sum") / comparison

local unit = P "[" * C((1 - S "[]") ^ 1) * (symbol "]" + expected "']'")
local DEFINING = "a metric is written name = formula"
local naming = (name + expected("a name", DEFINING)) * (P "=" * -P "=" * space + expected("'='", DEFINING))
local definition = Ct(Cg(Cp(), "position") * Cg(naming, "name") * Cg(Cp(), "start") * Cg(V "sum", "tree")
  * Cg(Cp(), "finish") * Cg(unit, "unit") ^ -1)

local patterns = {
  formula = whole(V "sum"),
  definition = whole(definition),
  comparison = whole(comparing),
  condition = whole(any),
  limit = whole(limit),
}

-- ---- matching ---------------------------------------------------------------------------------------

local function too_deep(source)
  local depth = 0
  for place, bracket in source:gmatch "()([()])" do
    depth = depth + (bracket == "(" and 1 or -1)
    if depth > DEEPEST then return place end
  end
end

--- The tree of a text.
---@param kind "formula"|"definition"|"comparison"|"condition"|"limit"
---@param source string
---@return table? tree
---@return pmclua.FormulaError? error
function M.match(kind, source)
  if #source > LONGEST then
    return nil, M.error(source, LONGEST, ("a formula has at most %d characters"):format(LONGEST))
  end
  local place = too_deep(source)
  if place then
    return nil, M.error(source, place, ("parentheses nest at most %d deep"):format(DEEPEST))
  end
  local ok, tree = pcall(patterns[kind].match, patterns[kind], source)
  if ok then return tree end
  if getmetatable(tree) == Error then return nil, tree end
  error(tree, 0)
end

return M
