--- definition.lua: what a vendor's metric needs, as plain data, to a metric that is computed.
--
-- Invariant: nothing is asked of this machine or its tables: the data goes into stored results, which are read
-- anywhere. It may be anybody's: what is no definition makes no metric, and formulae are parsed, never run.

local compute = require "pmclua.metric.compute"
local evaluate = require "pmclua.metric.evaluate"
local expression = require "pmclua.metric.expression"
local lazy = require "pmclua.base.lazy"
local lists = require "pmclua.base.lists"
local literals = require "pmclua.metric.literals"

local M = {}

local MARK = "vendor metric "     -- before the data of a definition, as text

---@class pmclua.metric.Condition with all that it needs
---@field name string
---@field formulas table<string, string> in perf's language: its own and those that it needs
---@field constants table<string, number> literals and calls that the machine decides
---@field whys table<string, string> why literals have no value
---@field inputs table<string, pmclua.metric.Input>
---@field events string[] specs

---@class pmclua.metric.Definition: pmclua.metric.Condition
---@field label string? what it is called instead, where there is another metric of that name
---@field unit string
---@field scale number that the formula's value is multiplied by
---@field threshold pmclua.metric.Condition?
---@field description string?
---@field groups string[]?
---@field parent string?
---@field level integer?
---@field children string[]?
---@field constraint string?
---@field table string?
---@field pmu string?

--- The key of a call among a definition's constants.
---@param name string
---@param word string
---@return string
function M.key(name, word) return ("%s(%s)"):format(name, word) end

--- The tree of a metric's formula; what is no formula has no value, and says why.
---@param name string
---@param source string
---@return table|number
function M.tree(name, source)
  local tree, why = expression.parse(source)
  if tree then return tree end
  local form = "the formula of %s is not understood: %s, at byte %d"
  return { "none", form:format(name, why.message, why.position) }
end

-- Constants are what they were where the metric was defined.
local function constants_of(definition)
  local known, whys = definition.constants, definition.whys
  return {
    literal = function(name) return known[name], whys[name] end,
    call = function(name, word) return known[M.key(name, word)] end,
  }
end

local function folded(definition)
  local trees, constants = {}, constants_of(definition)
  for name, source in pairs(definition.formulas) do
    trees[name] = expression.fold(M.tree(name, source), constants)
  end
  return trees
end

local function needs_of(definition)
  return lists.unique(lists.joined(lists.map(lists.keys(definition.inputs), function(name)
    local fields = definition.inputs[name].fields
    return #fields > 0 and fields or { (name:gsub("-", "_")) }
  end)))
end

local function source_of(definition)
  return MARK .. require("pmclua.base.json").encode(definition)
end

local function value_of(definition)
  return compute.formula({ "name", definition.name }, folded(definition), definition.inputs)
end

-- Whether a metric's value is a problem.
local function threshold_of(definition)
  if not definition then return nil end
  return { text = definition.formulas[definition.name], events = definition.events,
    needs = needs_of(definition),
    evaluate = evaluate.lifted(function(value) return value ~= 0 end, value_of(definition)) }
end

-- Constraints in perf's words, and when they hold.
local APART = {
  NO_GROUP_EVENTS = function() return true end,
  NO_GROUP_EVENTS_NMI = function() return literals.watchdog() end,
  NO_NMI_WATCHDOG = function() return literals.watchdog() end,
  NO_GROUP_EVENTS_SMT = function() return literals.value "smt_on" == 1 end,
}

local function is_apart(constraint)
  local holds = APART[constraint]
  return holds ~= nil and holds() or nil
end

--- The metric that a definition says.
---@param definition pmclua.metric.Definition
---@return pmclua.Metric
function M.build(definition)
  local formula, scale = value_of(definition), definition.scale
  local metric = { name = definition.label or definition.name, unit = definition.unit, kind = "ratio",
    places = {}, formula = definition.formulas[definition.name], needs = needs_of(definition),
    uses_iterations = false, meaning = definition.description,
    description = definition.description, events = definition.events,
    groups = definition.groups, parent = definition.parent, constraint = definition.constraint,
    apart = is_apart(definition.constraint), threshold = threshold_of(definition.threshold),
    table = definition.table, pmu = definition.pmu, level = definition.level, children = definition.children,
    stored = definition }
  metric.evaluate = evaluate.lifted(function(value) return evaluate.finite(value * scale) end, formula)
  metric.variants = { metric }
  return lazy.later(metric, { source = function() return source_of(definition) end })
end

--- Whether there is an event for each name that a definition needs.
---@param definition pmclua.metric.Definition
---@return boolean
function M.is_whole(definition)
  for _, input in pairs(definition.inputs) do
    if #input.fields == 0 then return false end
  end
  return true
end

--- A metric under another name: on a hybrid CPU there is one of that name for each kind of core.
---@param metric pmclua.Metric of a vendor
---@param label string
---@return pmclua.Metric
function M.labelled(metric, label)
  local definition = lists.copy(metric.stored)
  definition.label = label
  return M.build(definition)
end

-- Whether a value is a list of values of a type, or with `key_kind` a map to them.
local function all_are(map, kind, key_kind)
  if type(map) ~= "table" then return false end
  for key, value in pairs(map) do
    if type(value) ~= kind or type(key) ~= (key_kind or "number") then return false end
  end
  return true
end

local function are_inputs(inputs)
  if not all_are(inputs, "table", "string") then return false end
  for _, input in pairs(inputs) do
    local is_factor = input.factor == nil or type(input.factor) == "number"
    local is_count = input.counters == nil or type(input.counters) == "number"
    local is_why = input.why == nil or type(input.why) == "string"
    if not (all_are(input.fields, "string") and is_factor and is_count and is_why) then return false end
  end
  return true
end

-- Whether all formulae of a definition, its own included, can be computed.
local function can_compute(definition)
  return type(definition) == "table" and type(definition.name) == "string"
    and all_are(definition.formulas, "string", "string") and definition.formulas[definition.name] ~= nil
    and all_are(definition.constants, "number", "string") and all_are(definition.whys, "string", "string")
    and are_inputs(definition.inputs)
    and all_are(definition.events, "string")
end

local function is_definition(definition)
  return can_compute(definition) and type(definition.scale) == "number" and type(definition.unit) == "string"
    and (definition.label == nil or type(definition.label) == "string")
    and (definition.groups == nil or all_are(definition.groups, "string"))
    and (definition.threshold == nil or can_compute(definition.threshold))
end

--- The metric that stored data defines; nil if it defines none.
---@param definition table
---@return pmclua.Metric?
function M.restore(definition) return is_definition(definition) and M.build(definition) or nil end

--- The metric that a stored text defines; nil if it defines none.
---@param source string
---@return pmclua.Metric?
function M.parse(source)
  if source:sub(1, #MARK) ~= MARK then return nil end
  local definition = require("dkjson").decode(source:sub(#MARK + 1))
  return type(definition) == "table" and M.restore(definition) or nil
end

return M
