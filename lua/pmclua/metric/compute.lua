--- compute.lua: folded trees of perf's language (expression.lua) to a function that computes them.
--
-- Invariant: what needs an absent number is absent, with the reason, and so is a division by zero; what a branch that
-- is not taken needs does not matter. Each name is looked up, and each metric computed, once an evaluation.

local evaluate = require "pmclua.metric.evaluate"
local expression = require "pmclua.metric.expression"

local M = {}

local compile                     -- tree, program -> function() -> number | nil, why

-- The value of a slot, found once in each run of the program.
local function remembered(program, find)
  local run, value, why = 0, nil, nil
  return function()
    if run == program.run then return value, why end
    value, why = find()
    run = program.run
    return value, why
  end
end

local function sum_of(program, input)
  local fields, factor = input.fields, input.factor or 1
  if #fields == 0 then
    local why = input.why or "there is no such event here"
    return function() return nil, why end
  end
  return function()
    local sum = 0
    for i = 1, #fields do
      local value, why = program.lookup(fields[i])
      if value == nil then return nil, why or fields[i] .. " is absent" end
      sum = sum + value
    end
    return sum * factor
  end
end

local function input_of(program, name)
  local slot = program.inputs_read[name]
  if not slot then
    local input = program.inputs[name] or { fields = {}, why = ("there is no event '%s'"):format(name) }
    slot = remembered(program, sum_of(program, input))
    program.inputs_read[name] = slot
  end
  return slot
end

local function metric_of(program, name)
  local slot = program.metrics_read[name]
  if slot == "open" then
    -- In its own formula a metric's name is an event's.
    if program.inputs[name] then return input_of(program, name) end
    return function() return nil, ("%s is defined by itself"):format(name) end
  end
  if not slot then
    program.metrics_read[name] = "open"
    slot = remembered(program, compile(program.trees[name], program))
    program.metrics_read[name] = slot
  end
  return slot
end

local kinds = {}

function kinds.name(tree, program)
  local name = tree[2]
  return program.trees[name] and metric_of(program, name) or input_of(program, name)
end

function kinds.none(tree)
  local why = tree[2]
  return function() return nil, why end
end

-- Over how many counters Linux's perf adds up an event's count.
local function counters_of(name, input)
  local count = input and input.counters
  if count then return function() return count end end
  local form = "no formula knows how many CPUs are counted: aggr_nr(%s) asks for it"
  local why = input and input.why or form:format(name)
  return function() return nil, why end
end

function kinds.call(tree, program)
  local name = tree[2]
  local apply = expression.functions[name]
  if name == "source_count" then
    local input = program.inputs[tree[3]]
    local count = input and #input.fields or 0
    return function() return count end
  elseif name == "aggr_nr" then
    return counters_of(tree[3], program.inputs[tree[3]])
  elseif not apply then
    return function() return nil, ("%s has no value here"):format(name) end
  end
  return evaluate.lifted(apply, compile(tree[3], program), compile(tree[4], program))
end

kinds["if"] = function(tree, program)
  local condition, a, b = compile(tree[2], program), compile(tree[3], program), compile(tree[4], program)
  return function()
    local holds, why = condition()
    if holds == nil then return nil, why end
    if holds ~= 0 then return a() end
    return b()
  end
end

local LONGEST = 60                -- bytes of a divisor that a reason shows

-- A divisor as a reason names it; nil for a long one.
local function text_of(tree)
  if type(tree) == "number" then return ("%.15g"):format(tree) end
  if tree[1] == "name" then return tree[2] end
  local left = expression.operators[tree[1]] and tree[3] ~= nil and text_of(tree[2])
  local right = left and text_of(tree[3])
  local text = right and ("%s %s %s"):format(left, tree[1], right)
  return text and #text <= LONGEST and text or nil
end

local function binary(tree, program)
  local apply = expression.operators[tree[1]]
  local divisor = ("%s is 0"):format(text_of(tree[3]) or "a divisor")
  return evaluate.lifted(function(a, b)
    local value = apply(a, b)
    return value, value == nil and divisor or nil
  end, compile(tree[2], program), compile(tree[3], program))
end

function compile(tree, program)
  if type(tree) == "number" then return function() return tree end end
  local special = kinds[tree[1]]
  if special then return special(tree, program) end
  if tree[3] == nil then
    return evaluate.lifted(function(value) return -value end, compile(tree[2], program))
  end
  return binary(tree, program)
end

---@class pmclua.metric.Input
---@field fields string[] whose sum it is
---@field factor number? that the sum is multiplied by
---@field counters integer? of which its count is the sum, where PMUs count for all tasks on CPUs of their own
---@field why string? where there are none

--- A function that computes a tree from what `lookup` says of each field.
---@param root table|number folded
---@param trees table<string, table|number> folded, by name: what other names than inputs are
---@param inputs table<string, pmclua.metric.Input>
---@return fun(lookup: pmclua.Lookup): number?, string?
function M.formula(root, trees, inputs)
  local program = { run = 0, trees = trees, inputs = inputs, inputs_read = {}, metrics_read = {} }
  local compute = compile(root, program)
  return function(lookup)
    program.run = program.run + 1
    program.lookup = evaluate.as_function(lookup)
    local value, why = compute()
    program.lookup = nil
    return evaluate.finite(value, why)
  end
end

return M
