--- expression.lua: perf's language of formulae to a tree, and a tree to what is left of it once its constants are
--- known.
--
-- From low to high: `a if c else b` (nests to the right), `|`, `^`, `&`, `<` and `>`, `+` and `-`, `*`, `/` and `%`,
-- unary minus. Words are events, metrics, or "#literals"; in words `@` stands for `/`, `\` before a character for
-- the character, `?` for a parameter of the machine, here 0. Other than perf, which drops them, characters that mean
-- nothing are mistakes.
--
-- A tree is a number (a constant), or { op, … }: { "name", text }, { "call", function, … }, { "if", c, a, b },
-- { "-", a } and { operator, a, b }.

local M = {}

local DEEPEST = 100               -- levels of parentheses and ifs
local LONGEST = 1048576           -- bytes: Intel writes some with every node of the tree in them, 65,000 and more
local HIGHEST = 2000              -- nodes above each other: walking a tree nests this many calls

---@class pmclua.ExpressionError
---@field message string
---@field position integer byte, from 1

local function fail(state, form, ...)
  error({ message = form:format(...), position = state.at }, 0)
end

-- ---- words ------------------------------------------------------------------------------------------------

local FUNCTIONS = { min = 2, max = 2, d_ratio = 2, source_count = "name", has_event = "name",
  strcmp_cpuid_str = "name", aggr_nr = "name" }

-- "msr@tsc@" to "msr/tsc/".
local function normal(word)
  return (word:gsub("\\?.", function(sign)
    if #sign == 2 then return sign:sub(2) end
    return sign == "@" and "/" or sign == "?" and "0" or nil
  end))
end

local NUMBER = "^%d*%.?%d*()"

-- The end of a number at `at`; nil where there is none.
local function number_end(source, at)
  local stop = source:match(NUMBER, at)
  if not source:sub(at, stop - 1):find "%d" then return nil end
  return source:match("^[eE][+-]?%d+()", stop) or stop
end

local function word_end(source, at)
  local start = at
  while true do
    local stop = source:match("^[%w_.:@?]+()", at) or source:match("^\\[%-,=/:]()", at)
    if not stop then break end
    at = stop
  end
  return at > start and at or nil
end

-- The token at `state.at`: kind, value; what is longest is meant, as "1e9" is a number and "1_PORTS" a word.
local function read_token(state)
  local source = state.source
  local at = source:match("^%s*()", state.at)
  state.at = at
  if at > #source then return "end", nil, at end
  local literal = source:match("^#[%w_.-]+", at)
  if literal then return "literal", literal:sub(2):lower(), at + #literal end
  local word, number = word_end(source, at), number_end(source, at)
  if number and number >= (word or 0) then
    local value = tonumber(source:sub(at, number - 1))
    if not value then fail(state, "this is no number") end
    return "number", value, number
  elseif word then
    local text = normal(source:sub(at, word - 1))
    if text == "if" or text == "else" then return text, text, word end
    return "word", text, word
  end
  local sign = source:match("^[-+*/%%|&^<>(),]", at)
  if not sign then
    local shown = require("pmclua.base.text").safe(source:match("^[^\128-\255]", at) or "?")
    fail(state, "'%s' means nothing here", shown)
  end
  return sign, sign, at + 1
end

local function advance(state)
  state.kind, state.value, state.next = read_token(state)
end

local function take(state, kind)
  if state.kind ~= kind then return false end
  state.at = state.next
  advance(state)
  return true
end

local function expect(state, kind)
  if take(state, kind) then return end
  fail(state, "expected '%s'%s", kind, state.kind == "end" and " before the end" or "")
end

-- ---- the tree ---------------------------------------------------------------------------------------------

local conditional                 -- state -> tree, its height

-- The height of a node above others.
local function above(state, a, b)
  local height = math.max(a, b) + 1
  if height > HIGHEST then fail(state, "more than %d of its operators stand above each other", HIGHEST) end
  return height
end

local function call(state, name)
  local wants = FUNCTIONS[name]
  if wants == "name" then
    local word = state.value
    if state.kind ~= "word" then fail(state, "%s takes a name", name) end
    take(state, "word")
    expect(state, ")")
    return { "call", name, word }, 1
  end
  local first, first_height = conditional(state)
  expect(state, ",")
  local second, second_height = conditional(state)
  expect(state, ")")
  return { "call", name, first, second }, above(state, first_height, second_height)
end

local function primary(state)
  local kind, value = state.kind, state.value
  if take(state, "number") then return value, 1 end
  if take(state, "literal") then return { "literal", value }, 1 end
  if take(state, "word") then
    if FUNCTIONS[value] and take(state, "(") then return call(state, value) end
    return { "name", value }, 1
  end
  if take(state, "(") then
    local inner, height = conditional(state)
    expect(state, ")")
    return inner, height
  end
  fail(state, kind == "end" and "expected a value before the end" or "expected a value")
end

local function unary(state)
  local count = 0
  while take(state, "-") do count = count + 1 end
  local value, height = primary(state)
  if count % 2 == 0 then return value, height end
  return { "-", value }, above(state, height, 0)
end

local LEVELS = { { "|" }, { "^" }, { "&" }, { "<", ">" }, { "+", "-" }, { "*", "/", "%" } }

local function binary(state, level)
  local operators = LEVELS[level]
  if not operators then return unary(state) end
  local left, height = binary(state, level + 1)
  while true do
    local operator
    for _, candidate in ipairs(operators) do operator = operator or state.kind == candidate and candidate end
    if not operator then return left, height end
    take(state, operator)
    local right, right_height = binary(state, level + 1)
    left, height = { operator, left, right }, above(state, height, right_height)
  end
end

function conditional(state)
  state.depth = state.depth + 1
  if state.depth > DEEPEST then fail(state, "it nests more than %d deep", DEEPEST) end
  local value, height = binary(state, 1)
  if take(state, "if") then
    local condition, condition_height = binary(state, 1)
    expect(state, "else")
    local other, other_height = conditional(state)
    value = { "if", condition, value, other }
    height = above(state, math.max(height, condition_height), other_height)
  end
  state.depth = state.depth - 1
  return value, height
end

local function whole(source)
  local state = { source = source, at = 1, depth = 0 }
  if #source > LONGEST then fail(state, "a formula has at most %d bytes", LONGEST) end
  advance(state)
  local tree = conditional(state)
  if state.kind ~= "end" then fail(state, "expected an operator or the end") end
  return tree
end

--- The tree of a formula.
---@param source string
---@return table|number|nil tree
---@return pmclua.ExpressionError? error
function M.parse(source)
  local ok, tree = pcall(whole, source)
  if ok then return tree end
  if type(tree) == "table" and tree.position then return nil, tree end
  error(tree, 0)
end

-- ---- constants --------------------------------------------------------------------------------------------

local function truth(value) return value and 1 or 0 end

local function whole_part(x) return x < 0 and math.ceil(x) or math.floor(x) end

--- Operators on numbers; nil: no value.
M.operators = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) if b ~= 0 then return a / b end end,
  ["%"] = function(a, b)
    a, b = whole_part(a), whole_part(b)
    if b ~= 0 then return math.fmod(a, b) end
  end,
  ["<"] = function(a, b) return truth(a < b) end,
  [">"] = function(a, b) return truth(a > b) end,
  ["|"] = function(a, b) return truth(a ~= 0 or b ~= 0) end,
  ["&"] = function(a, b) return truth(a ~= 0 and b ~= 0) end,
  ["^"] = function(a, b) return truth((a ~= 0) ~= (b ~= 0)) end,
}

--- Functions of two values.
M.functions = {
  min = function(a, b) return a < b and a or b end,
  max = function(a, b) return a > b and a or b end,
  d_ratio = function(a, b) return b == 0 and 0 or a / b end,
}

-- Folds a constant operand that decides the result alone: perf then opens no event of the other.
local function decided(operator, a, b)
  local constant = type(a) == "number" and a or b
  local other = type(a) == "number" and b or a
  if operator == "|" and constant ~= 0 then return 1 end
  if operator == "&" and constant == 0 then return 0 end
  return { operator, constant, other }
end

local function fold_binary(tree, constants)
  local operator, a, b = tree[1], M.fold(tree[2], constants), M.fold(tree[3], constants)
  local is_a, is_b = type(a) == "number", type(b) == "number"
  if is_a and is_b then
    local value = M.operators[operator](a, b)
    return value or { "none", "it divides by 0" }
  end
  if operator == "/" and b == 0 then return { "none", "it divides by 0" } end
  if (operator == "|" or operator == "&") and (is_a or is_b) then return decided(operator, a, b) end
  return { operator, a, b }
end

local function fold_call(tree, constants)
  local name = tree[2]
  if not M.functions[name] then return constants.call(name, tree[3]) or tree end
  local a, b = M.fold(tree[3], constants), M.fold(tree[4], constants)
  if type(a) == "number" and type(b) == "number" then return M.functions[name](a, b) end
  if name == "d_ratio" and b == 0 then return 0 end
  return { "call", name, a, b }
end

local function fold_if(tree, constants)
  local condition = M.fold(tree[2], constants)
  if type(condition) == "number" then return M.fold(condition ~= 0 and tree[3] or tree[4], constants) end
  local a, b = M.fold(tree[3], constants), M.fold(tree[4], constants)
  if type(a) == "number" and a == b then return a end
  return { "if", condition, a, b }
end

--- Folds constants in a tree, so that the events of branches that are never taken
--- are not needed. { "none", why } stands for what has no value.
---@param tree table|number
---@param constants { literal: fun(name: string): number?, string?; call: fun(name: string, word: string): number? }
---@return table|number
function M.fold(tree, constants)
  if type(tree) == "number" then return tree end
  local kind = tree[1]
  if kind == "name" or kind == "none" then return tree end
  if kind == "literal" then
    local value, why = constants.literal(tree[2])
    return value or { "none", why or ("nothing says what #%s is here"):format(tree[2]) }
  end
  if kind == "call" then return fold_call(tree, constants) end
  if kind == "if" then return fold_if(tree, constants) end
  if tree[3] == nil then
    local value = M.fold(tree[2], constants)
    return type(value) == "number" and -value or { "-", value }
  end
  return fold_binary(tree, constants)
end

--- Calls `visit(name)` for each name that a tree needs, in order.
---@param tree table|number
---@param visit fun(name: string)
function M.each_name(tree, visit)
  if type(tree) ~= "table" then return end
  if tree[1] == "name" then visit(tree[2])
  elseif tree[1] == "call" and type(tree[3]) == "string" then
    if tree[2] == "source_count" or tree[2] == "aggr_nr" then visit(tree[3]) end
  elseif tree[1] == "call" then
    M.each_name(tree[3], visit)
    M.each_name(tree[4], visit)
  elseif tree[1] ~= "none" and tree[1] ~= "literal" then
    for i = 2, #tree do M.each_name(tree[i], visit) end
  end
end

return M
