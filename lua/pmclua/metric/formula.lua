--- formula.lua: texts to formulae, with the names that they need: metrics, costs, conditions, predictions, limits.
--
-- Invariant: a formula knows every name that it needs before anything is counted, and its value is a
-- number or nil with the reason. Values come from a lookup in the unit of their event (nanoseconds for
-- times). Where a formula names `iterations`, it means the counts of a whole repetition
-- (`uses_iterations`); where it does not, counts of kernels are per iteration (but those of `reject_if`,
-- which is asked of whole repetitions).

local evaluate = require "pmclua.metric.evaluate"
local grammar = require "pmclua.metric.grammar"
local lists = require "pmclua.base.lists"
local nearest = require "pmclua.base.text"

local M = {}

---@class pmclua.Computed
---@field needs string[] names, in the order of first use
---@field evaluate fun(lookup: pmclua.Lookup): number?, string?

---@class pmclua.Formula: pmclua.Computed
---@field formula string its text
---@field source string the text that positions are places in
---@field places table<string, integer> where each stands first, bytes from 1
---@field uses_iterations boolean

-- ---- names and calls in a tree ------------------------------------------------------------------------

local function visit(node, f)
  if type(node) ~= "table" then return end
  f(node)
  for _, child in ipairs(node) do visit(child, f) end
  visit(node.left, f)
  visit(node.right, f)
end

local function names_of(tree)
  local needs, places = {}, {}
  visit(tree, function(node)
    if node.kind == "name" and not places[node.name] then
      needs[#needs + 1] = node.name
      places[node.name] = node.position
    end
  end)
  return needs, places
end

local function check_call(source, node)
  local arity = grammar.functions[node.name]
  if not arity then
    local hint = nearest.meant_or_all(node.name, lists.keys(grammar.functions))
    return grammar.error(source, node.position, ("there is no function '%s'"):format(node.name), hint)
  end
  if #node < arity[1] or #node > arity[2] then
    local wanted = arity[2] == 1 and "one value" or "two values or more"
    return grammar.error(source, node.position, ("%s takes %s, not %d"):format(node.name, wanted, #node))
  end
end

local function wrong_call(source, tree)
  local wrong
  visit(tree, function(node)
    if node.kind == "call" and not wrong then wrong = check_call(source, node) end
  end)
  return wrong
end

-- "page-faults", as reports show it, is written page_faults in a formula, where it is an event; places stay as they are.
local function with_fields(source)
  return (source:gsub("[%a_][%w_:.]*%-[%w_:.%-]*%w", function(word)
    return require("pmclua.event").parse(word) and word:gsub("-", "_") or nil
  end))
end

-- Applies `make` to the tree of a text, with the names that it needs; nil and the problem where it is no
-- such text.
local function parse(kind, source, make)
  if type(source) ~= "string" then
    return nil, grammar.error(tostring(source), 1, "a formula must be a string, not a " .. type(source))
  end
  local tree, problem = grammar.match(kind, with_fields(source))
  if not tree then return nil, problem end
  local named = kind == "definition" and tree.tree or tree
  local wrong = wrong_call(source, named)
  if wrong then return nil, wrong end
  local result = make(tree)
  result.source, result.formula = source, result.formula or source
  result.needs, result.places = names_of(named)
  result.uses_iterations = result.places.iterations ~= nil
  return result
end

-- ---- formulae and metrics -----------------------------------------------------------------------------

--- A formula without a name, e.g. of `per`.
---@param text string
---@return pmclua.Formula? formula
---@return pmclua.FormulaError? error message, position, hint
function M.formula(text)
  return parse("formula", text, function(tree) return { evaluate = evaluate.formula(tree, text) } end)
end

--- A metric: `name = formula`, with a `[unit]` after it if it has one.
---@param source string
---@return pmclua.Metric? metric
---@return pmclua.FormulaError? error
function M.definition(source)
  return parse("definition", source, function(tree)
    return { name = tree.name, unit = tree.unit or "", kind = "ratio",
      formula = (source:sub(tree.start, tree.finish - 1):gsub("%s+$", "")),
      evaluate = evaluate.formula(tree.tree, source) }
  end)
end

-- ---- conditions, predictions, limits ------------------------------------------------------------------

--- A condition, e.g. of `reject_if`: comparisons joined by `and` and `or`.
---@param text string e.g. "context_switches > 0"
---@return table? condition a pmclua.Formula whose evaluate gives a boolean, or nil and a reason
---@return pmclua.FormulaError? error
function M.condition(text)
  return parse("condition", text, function(tree)
    return { evaluate = evaluate.condition(tree, text) }
  end)
end

local function comparison(kind, source)
  return parse(kind, source, function(tree)
    local is_relative = tree.right.kind == "relative"
    return { operator = tree.operator, tolerance = tree.tolerance, left = evaluate.formula(tree.left, source),
      right = not is_relative and evaluate.formula(tree.right, source) or nil,
      relative = is_relative and tree.right.value or nil }
  end)
end

--- One comparison, e.g. of `expect`, with a tolerance after "+-".
---@param text string e.g. "instructions == 3 * iterations + 2", "cycles == 3 +- 2%"
---@return table? comparison { formula, operator, tolerance, left(lookup), right(lookup), needs, places }
---@return pmclua.FormulaError? error
function M.comparison(text)
  local result, problem = comparison("comparison", text)
  if not result then return nil, problem end
  if result.tolerance and result.operator ~= "==" then
    local place = text:find("+-", 1, true) or text:find("±", 1, true)
    return nil, grammar.error(text, place, "a tolerance is allowed only after '=='")
  end
  return result
end

--- One limit of a gate: absolute, or relative to the baseline where the right side is a signed
--- percentage.
---@param text string e.g. "instructions <= +1%", "page_faults <= 5000"
---@return table? limit as a comparison; `relative` (0.01 for +1%) instead of `right`
---@return pmclua.FormulaError? error
function M.limit(text)
  local result, problem = comparison("limit", text)
  if not result then return nil, problem end
  local one_sided = result.operator:find "^[<>]"
  if result.relative and not one_sided then
    return nil, grammar.error(text, text:find(result.operator:sub(1, 1), 1, true),
      "a relative limit must be an upper or a lower one", "write <= or >=")
  end
  return result
end

-- ---- names that are not there -------------------------------------------------------------------------

-- "cache-misses" is cache minus misses here: the known name that dashes make from this place, if any,
-- and where it ends.
local function dashed(source, place, is_known)
  local last = source:match("^[%w_.:]+()", place)
  local joined, finish
  while last do
    local name = source:sub(place, last - 1):gsub("%s*%-%s*", "_")
    if is_known[name] then joined, finish = name, last end
    last = source:match("^%s*%-%s*[%w_.:]+()", last)
  end
  return joined, finish
end

local function unknown_hint(name, joined, known)
  if joined then return ("'-' is minus in a formula: write %s"):format(joined) end
  return nearest.meant(name, known)
end

--- Errors in the names of a formula, one for each unknown name.
---@param parsed pmclua.Formula
---@param known string[] fields of events, factors, "iterations"
---@return pmclua.FormulaError[] errors empty where all are known
function M.unknown(parsed, known)
  local is_known, errors, covered = {}, {}, 0
  for _, name in ipairs(known) do is_known[name] = true end
  for _, name in ipairs(parsed.needs) do
    local place = parsed.places[name] or 1           -- of a formula that a script put together
    if not is_known[name] and place >= covered then
      local joined, finish = dashed(parsed.source, place, is_known)
      covered = finish or covered
      errors[#errors + 1] = grammar.error(parsed.source, place, ("nothing is called '%s'"):format(name),
                                          unknown_hint(name, joined, known))
    end
  end
  return errors
end

return M
