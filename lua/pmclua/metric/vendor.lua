--- vendor.lua: the metrics that vendors define, from the tables of lua/pmclua/vendor/.
--
-- A metric is found in two steps. `define` gathers what it needs into plain data: its formula and those of the metrics
-- that it names, what constants are here, and which events each name stands for. `build` makes a pmclua.Metric of
-- that; the data goes into stored results, so that they are read without tables.

local compute = require "pmclua.metric.compute"
local event = require "pmclua.event"
local expression = require "pmclua.metric.expression"
local lazy = require "pmclua.base.lazy"
local literals = lazy.module "pmclua.metric.literals"
local specs = lazy.module "pmclua.metric.specs"
local vendor = require "pmclua.vendor"

local M = {}

local MARK = "vendor metric "     -- before the data of a definition, as text

---@class pmclua.metric.Definition
---@field name string
---@field unit string
---@field scale number that the formula's value is multiplied by
---@field formulas table<string, string> in perf's language: its own and those that it needs
---@field constants table<string, number> literals and calls that the machine decides
---@field inputs table<string, pmclua.metric.Input>
---@field events string[] specs
---@field threshold pmclua.metric.Definition? a condition, in its formula, with all that it needs
---@field description string?
---@field groups string[]
---@field parent string?
---@field level integer?
---@field children string[]?
---@field constraint string?
---@field table string
---@field pmu string?

-- ---- defining ------------------------------------------------------------------------------------------

-- What a constant is here; what it is goes into the definition.
local function constants_of(known, inputs)
  local function remember(key, value, why)
    if value then known[key] = value end
    return value, why
  end
  return {
    literal = function(name)
      if known[name] then return known[name] end
      return remember(name, literals.value(name))
    end,
    call = function(name, word)
      local key = ("%s(%s)"):format(name, word)
      if known[key] or name == "source_count" and not inputs then return known[key] end
      if name == "has_event" then return remember(key, event.parse(specs.of(word)) and 1 or 0) end
      if name == "strcmp_cpuid_str" then return remember(key, specs.is_this_cpu(word) and 1 or 0) end
    end,
  }
end

-- Of the metrics of a name that of this kind of core; else the first.
local function of_kind(records, pmu)
  for _, record in ipairs(records) do
    if record.pmu == pmu then return record end
  end
  return records[1]
end

local TIMES = { duration_time = true, user_time = true, system_time = true }

-- The events of a name: fields of what it stands for, and a spec of all.
local function add_input(definition, name)
  if definition.inputs[name] then return end
  if TIMES[name] then
    definition.inputs[name] = { fields = { name }, factor = 1e-9 }
    definition.specs[#definition.specs + 1] = { spec = name }
    return
  end
  local spec, events, why = specs.resolve(name, definition.pmu)
  local fields = {}
  for i, one in ipairs(events or {}) do fields[i] = one.field end
  definition.inputs[name] = { fields = fields, why = why }
  definition.specs[#definition.specs + 1] = { spec = spec }
end

local add_formula

-- A name is a metric, but in the formula of that metric itself.
local function add_name(definition, tables, name, within)
  if definition.formulas[name] and name ~= within then return end
  local record = name ~= within and of_kind(tables:metrics(name), definition.pmu)
  if record then add_formula(definition, tables, name, record.expression)
  else add_input(definition, name) end
end

local function parse(name, source)
  local tree, why = expression.parse(source)
  if tree then return tree end
  local said = "the formula of %s is not understood: %s, at byte %d"
  return { "none", said:format(name, why.message, why.position) }
end

function add_formula(definition, tables, name, source)
  definition.formulas[name] = source
  local tree = expression.fold(parse(name, source), constants_of(definition.constants))
  expression.each_name(tree, function(other) add_name(definition, tables, other, name) end)
end

-- "100%" to 1 and "%": a share of 1 is shown in percent.
local function unit_of(scale)
  local number, unit = (scale or ""):match "^([%d.]+[eE]?[+-]?%d*)%s*(.*)$"
  number = tonumber(number)
  if not number then return 1, scale or "" end
  if unit == "%" then return number / 100, "%" end
  return number, unit
end

local function split(groups)
  local list = {}
  for group in (groups or ""):gmatch "[^;]+" do list[#list + 1] = group end
  return list
end

-- "tma_memory_bound_group" has what is below tma_memory_bound.
local function parent_of(record, tables)
  if record.parent then return record.parent end
  for _, group in ipairs(split(record.groups)) do
    local parent = group:match "^(.*)_group$"
    if parent and parent:lower() ~= record.name:lower() and tables:metrics(parent)[1] then return parent end
  end
end

-- What a formula needs, in a definition that has nothing else.
local function gather(name, pmu, source, tables)
  local definition = { name = name, pmu = pmu, formulas = {}, constants = {}, inputs = {}, specs = {} }
  add_formula(definition, tables, name, source)
  definition.events = specs.list(definition.specs)
  definition.specs = nil
  return definition
end

local function define(record, tables)
  local definition = gather(record.name, record.pmu, record.expression, tables)
  definition.scale, definition.unit = unit_of(record.scale)
  definition.description, definition.table = record.description, record.table
  definition.groups, definition.parent = split(record.groups), parent_of(record, tables)
  definition.constraint, definition.level = record.constraint, tonumber(record.level)
  definition.children = record.children and split(record.children)
  if record.threshold then
    definition.threshold = gather(record.name .. " threshold", record.pmu, record.threshold, tables)
  end
  return definition
end

-- ---- building ------------------------------------------------------------------------------------------

local function folded(definition)
  local trees, constants = {}, constants_of(definition.constants, definition.inputs)
  for name, source in pairs(definition.formulas) do
    trees[name] = expression.fold(parse(name, source), constants)
  end
  return trees
end

local function needs_of(definition)
  local needs, seen = {}, {}
  local names = {}
  for name in pairs(definition.inputs) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local input = definition.inputs[name]
    local fields = #input.fields > 0 and input.fields or { (name:gsub("-", "_")) }
    for _, field in ipairs(fields) do
      if not seen[field] then needs[#needs + 1], seen[field] = field, true end
    end
  end
  return needs
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
  local condition = value_of(definition)
  return { text = definition.formulas[definition.name], events = definition.events,
    needs = needs_of(definition), evaluate = function(lookup)
      local value, why = condition(lookup)
      if value == nil then return nil, why end
      return value ~= 0
    end }
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
  local metric = { name = definition.name, unit = definition.unit, kind = "ratio", places = {},
    formula = definition.formulas[definition.name], needs = needs_of(definition), uses_iterations = false,
    meaning = definition.description, description = definition.description, events = definition.events,
    groups = definition.groups, parent = definition.parent, constraint = definition.constraint,
    apart = is_apart(definition.constraint), threshold = threshold_of(definition.threshold),
    table = definition.table, pmu = definition.pmu, level = definition.level, children = definition.children,
    stored = definition }
  function metric.evaluate(lookup)
    local value, why = formula(lookup)
    if value == nil then return nil, why end
    value = value * scale
    if value - value ~= 0 then return nil, "the result is not a finite number" end
    return value
  end
  metric.variants = { metric }
  return lazy.later(metric, { source = function() return source_of(definition) end })
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
    local is_why = input.why == nil or type(input.why) == "string"
    if not all_are(input.fields, "string") or not is_factor or not is_why then return false end
  end
  return true
end

-- What is computed of a definition, its own formula included.
local function can_compute(definition)
  return type(definition) == "table" and type(definition.name) == "string"
    and all_are(definition.formulas, "string", "string") and definition.formulas[definition.name] ~= nil
    and all_are(definition.constants, "number", "string") and are_inputs(definition.inputs)
    and all_are(definition.events, "string")
end

local function is_definition(definition)
  return can_compute(definition) and type(definition.scale) == "number" and type(definition.unit) == "string"
    and (definition.groups == nil or all_are(definition.groups, "string"))
    and (definition.threshold == nil or can_compute(definition.threshold))
end

--- The metric that stored data says; nil where it is none.
---@param definition any
---@return pmclua.Metric?
function M.restore(definition) return is_definition(definition) and M.build(definition) or nil end

--- The metric that a stored text says; nil where it is none.
---@param source string
---@return pmclua.Metric?
function M.parse(source)
  if source:sub(1, #MARK) ~= MARK then return nil end
  return M.restore((require("dkjson").decode(source:sub(#MARK + 1))))
end

-- ---- names ---------------------------------------------------------------------------------------------

local function is_whole(definition)
  for _, input in pairs(definition.inputs) do
    if #input.fields == 0 then return false end
  end
  return true
end

-- "cpu_atom/tma_retiring/" is that of one kind of core.
local function records_of(tables, name)
  local pmu, bare = name:match "^([%w_]+)/([%w_.]+)/$"
  local list = {}
  for _, record in ipairs(tables:metrics(bare or name)) do
    if not pmu or record.pmu == pmu then list[#list + 1] = record end
  end
  return list
end

--- The vendor's metric of a name, in any case. On a hybrid CPU the variants are those of each kind of core, first
--- that of one that has all its events; "cpu_atom/NAME/" is that of one kind.
---@param name string
---@return pmclua.Metric?
function M.named(name)
  local tables, variants = vendor.tables(), {}
  local records = records_of(tables, name)
  -- cpu_core before cpu_atom.
  table.sort(records, function(a, b) return (a.pmu or "") > (b.pmu or "") end)
  for _, record in ipairs(records) do
    local definition = define(record, tables)
    local is_first = #variants > 0 and not is_whole(variants[1].stored) and is_whole(definition)
    table.insert(variants, is_first and 1 or #variants + 1, M.build(definition))
  end
  for _, variant in ipairs(variants) do
    variant.where, variant.variants = variant.pmu, variants
  end
  return variants[1]
end

--- The metrics of a group, by name, in any case; nil where there is no such group.
---@param group string
---@return string[]?
function M.group(group)
  local list, seen, wanted = {}, {}, group:lower()
  for record in vendor.tables():each_metric() do
    for _, one in ipairs(split(record.groups)) do
      if one:lower() == wanted and not seen[record.name] then
        list[#list + 1], seen[record.name] = record.name, true
      end
    end
  end
  return list[1] and list or nil
end

--- The names of all groups, sorted.
---@return string[]
function M.groups()
  local list, seen = {}, {}
  for record in vendor.tables():each_metric() do
    for _, group in ipairs(split(record.groups)) do
      if not seen[group] then list[#list + 1], seen[group] = group, true end
    end
  end
  table.sort(list)
  return list
end

--- Why there are none; nil: there are tables.
---@return string?
function M.absent() return vendor.tables().absent end

--- Every metric once, sorted by name.
---@return { name: string, meaning: string, groups: string[] }[]
function M.list()
  local list, last = {}, nil
  for record in vendor.tables():each_metric() do
    if record.name ~= last then
      list[#list + 1] = { name = record.name, meaning = record.description or "",
        groups = split(record.groups) }
    end
    last = record.name
  end
  return list
end

--- The names of all vendor's metrics, sorted.
---@return string[]
function M.names()
  local names = {}
  for i, one in ipairs(M.list()) do names[i] = one.name end
  return names
end

return M
