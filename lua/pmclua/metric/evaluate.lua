--- evaluate.lua: the tree of a formula to a function that computes it.
--
-- Invariant: what is computed from an absent number is absent, with the reason; so is a division by
-- zero, and whatever is no finite number. Never 0 instead.

local abs, log, sqrt, min, max = math.abs, math.log, math.sqrt, math.min, math.max

local M = {}

local compile       -- tree, text -> function(lookup) -> number | nil, reason

--- Applies `f` to one or two operands; absent, with the reason, if one of them is.
---@param f fun(a: any, b: any): any, string?
---@param first fun(lookup: any): any, string?
---@param second? fun(lookup: any): any, string?
---@return fun(lookup: any): any, string?
function M.lifted(f, first, second)
  return function(lookup)
    local a, why = first(lookup)
    if a == nil then return nil, why end
    if not second then return f(a) end
    local b, why_not = second(lookup)
    if b == nil then return nil, why_not end
    return f(a, b)
  end
end

local kinds = {}

function kinds.number(node)
  local value = node.value
  return function() return value end
end

function kinds.name(node)
  local name = node.name
  return function(lookup)
    local value, reason = lookup(name)
    if value == nil then return nil, reason or name .. " is absent" end
    return value
  end
end

function kinds.negative(node, text)
  return M.lifted(function(value) return -value end, compile(node[1], text))
end

function kinds.source(node, text) return compile(node[1], text) end

local apply = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b, divisor)
    if b == 0 then return nil, divisor .. " is 0" end
    return a / b
  end,
}

local function source_of(node, text)
  return node.kind == "source" and (text:sub(node.from, node.to - 1):gsub("%s+$", "")) or nil
end

-- Long sums are loops, so the depth of calls is the depth of parentheses.
local function chain(node, text)
  local first, steps = compile(node[1], text), {}
  for i = 2, #node, 2 do
    local operand = node[i + 1]
    steps[#steps + 1] = { apply[node[i]], compile(operand, text), source_of(operand, text) }
  end
  return function(lookup)
    local value, reason = first(lookup)
    for i = 1, #steps do
      if value == nil then return nil, reason end
      local step = steps[i]
      local operand
      operand, reason = step[2](lookup)
      if operand == nil then return nil, reason end
      value, reason = step[1](value, operand, step[3])
    end
    return value, reason
  end
end

kinds.sum, kinds.product = chain, chain

local functions = {
  abs = abs,
  log = function(x)
    if x <= 0 then return nil, "the logarithm of a value that is not above 0" end
    return log(x)
  end,
  sqrt = function(x)
    if x < 0 then return nil, "the square root of a value below 0" end
    return sqrt(x)
  end,
  min = min, max = max,
}

function kinds.call(node, text)
  local fn, arguments = functions[node.name], {}
  for i = 1, #node do arguments[i] = compile(node[i], text) end
  return function(lookup)
    local values = {}
    for i = 1, #arguments do
      local value, reason = arguments[i](lookup)
      if value == nil then return nil, reason end
      values[i] = value
    end
    return fn(unpack(values))
  end
end

function compile(node, text) return kinds[node.kind](node, text) end

---@alias pmclua.Lookup table<string, number> | fun(name: string): number?, string?

--- A lookup as a function.
---@param lookup pmclua.Lookup
---@return fun(name: string): number?, string?
function M.as_function(lookup)
  if type(lookup) == "function" then return lookup end
  return function(name) return lookup[name] end
end

--- A value that was computed; nil and why where it is absent, or no finite number.
---@param value? number
---@param why? string
---@return number?
---@return string?
function M.finite(value, why)
  if value == nil then return nil, why end
  if value - value ~= 0 then return nil, "the result is not a finite number" end
  return value
end

--- A function that computes the tree from what `lookup` says of each name.
---@param tree table
---@param text string that the tree was made of
---@return fun(lookup: pmclua.Lookup): number?, string?
function M.formula(tree, text)
  local compute = compile(tree, text)
  return function(lookup) return M.finite(compute(M.as_function(lookup))) end
end

local compare = {
  ["=="] = function(a, b) return a == b end,
  ["~="] = function(a, b) return a ~= b end,
  ["<"] = function(a, b) return a < b end,
  ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end,
  [">="] = function(a, b) return a >= b end,
}

--- Whether `observed` stands to `expected` as asked; with a tolerance, whether it is within it.
---@param operator string
---@param observed number|ffi.cdata*|string|boolean
---@param expected number|ffi.cdata*|string|boolean
---@param tolerance? { value: number, percent: boolean? }
---@return boolean
function M.holds(operator, observed, expected, tolerance)
  if not tolerance then return compare[operator](observed, expected) end
  local allowed = tolerance.percent and abs(expected) * tolerance.value / 100 or tolerance.value
  return abs(observed - expected) <= allowed
end

local function comparison(node, text)
  return M.lifted(function(observed, expected)
    return M.holds(node.operator, observed, expected, node.tolerance)
  end, M.formula(node.left, text), M.formula(node.right, text))
end

-- Three-valued: `decisive` decides whatever the others are; else one unknown makes it unknown.
local function combine(list, decisive)
  return function(lookup)
    local unknown, why
    for i = 1, #list do
      local value, reason = list[i](lookup)
      if value == decisive then return decisive end
      if value == nil then unknown, why = true, why or reason end
    end
    if unknown then return nil, why end
    return not decisive
  end
end

--- A condition's function: true, false, or nil and a reason where it depends on what is absent.
---@param tree table of "condition"
---@param text string
---@return fun(lookup: pmclua.Lookup): boolean?, string?
function M.condition(tree, text)
  local any = {}
  for i, all in ipairs(tree) do
    local parts = {}
    for k, node in ipairs(all) do parts[k] = comparison(node, text) end
    any[i] = combine(parts, false)
  end
  return combine(any, true)
end

return M
