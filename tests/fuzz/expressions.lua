--- expressions.lua: mutated formulae of vendors' tables, and mutated metrics as they are stored.

local compute = require "pmclua.metric.compute"
local definition = require "pmclua.metric.definition"
local expression = require "pmclua.metric.expression"
local input = require "tests.fuzz.input"

local hold, one_of = input.hold, input.one_of

local FORMULAE = { "a.b / c", "100 * (a if #smt_on else b) / max(c, 1e-3)",
  "min(a, b) - -1 + d_ratio(c, 0) % 7",
  "a > 0.1 & b < 0.2 | c ^ #num_cpus", "cpu@A.B\\,cmask\\=1\\,edge@ + c\\-d:u + msr@tsc@",
  "1 if a < 5 else 2 if b > 3 else c", "source_count(a.b) * #num_packages + has_event(c)",
  "(a + 5 * cpu@INT.X\\,edge@) / (2 * (b - c)) + 0*a" }
local VALUES = { 0, 1, -1, 1e308, 2 ^ 53, 0.1 }
local LITERALS = { smt_on = 1, num_cpus = 2, num_packages = 1 }

local STORED = 'vendor metric {"name":"m","unit":"%","scale":1,'
  .. '"formulas":{"m":"a / b if n > 1 else c","n":"2 * a"},'
  .. '"constants":{"smt_on":0},"whys":{},"inputs":{"a":{"fields":["a"]},'
  .. '"b":{"fields":["x","y"],"factor":1e-9},'
  .. '"c":{"fields":[],"why":"no c"}},"events":["a","b"],"groups":["G"],"table":"t",'
  .. '"threshold":{"name":"m threshold","formulas":{"m threshold":"m > 0.1","m":"a"},"constants":{},'
  .. '"whys":{},'
  .. '"inputs":{"a":{"fields":["a"]}},"events":["a"]}}'

local constants = {
  literal = function(name) return LITERALS[name], "no such literal" end,
  call = function(name) return name == "has_event" and 1 or nil end,
}

local function check_value(value, why, text)
  hold(value ~= nil or type(why) == "string", "neither a value nor a reason", text)
  hold(type(value) ~= "number" or value - value == 0, "no finite number", text)
end

local function lookup_by(random)
  return function()
    local value = one_of(random, VALUES)
    if value == -1 then return nil, "not counted" end
    return value
  end
end

local function try_formula(random)
  local text = input.mutated(random, one_of(random, FORMULAE))
  local tree, problem = expression.parse(text)
  if not tree then
    hold(problem.message ~= "" and problem.position >= 1 and problem.position <= #text + 1, "no place", text)
    hold(not problem.message:find "%c", "control characters", text)
    return false
  end
  local folded, inputs = expression.fold(tree, constants), {}
  expression.each_name(folded, function(name) inputs[name] = { fields = { name } } end)
  local evaluate = compute.formula(folded, {}, inputs)
  for _ = 1, 3 do
    local value, why = evaluate(lookup_by(random))
    check_value(value, why, text)
  end
  return true
end

local function try_stored(random)
  local text = input.mutated(random, STORED)
  local metric = definition.parse(text)
  if not metric then return false end
  local value, why = metric.evaluate(lookup_by(random))
  check_value(value, why, text)
  if metric.threshold then
    local holds, why_not = metric.threshold.evaluate(lookup_by(random))
    hold(type(holds) == "boolean" or type(why_not) == "string", "no answer", text)
  end
  return true
end

--- Tries one formula, or one stored metric; whether it was understood.
---@param random pmclua.Random
---@return boolean
return function(random)
  if random:integer(4) == 1 then return try_stored(random) end
  return try_formula(random)
end
