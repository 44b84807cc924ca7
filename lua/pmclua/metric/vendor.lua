--- vendor.lua: the metrics that vendors define, from the tables of lua/pmclua/vendor/.
--
-- A metric's needs are gathered into plain data (definition.lua): its formula and those of the metrics that
-- it names, what constants are here, and which events each name stands for.

local event = require "pmclua.event"
local definitions = require "pmclua.metric.definition"
local expression = require "pmclua.metric.expression"
local lists = require "pmclua.base.lists"
local literals = require "pmclua.metric.literals"
local specs = require "pmclua.metric.specs"
local topology = require "pmclua.host.topology"
local vendor = require "pmclua.vendor"

local M = {}

-- ---- defining ------------------------------------------------------------------------------------------

-- The value of a constant here, which goes into the definition.
local function constants_of(definition)
  local known = definition.constants
  local function remember(key, value, why)
    known[key] = value
    if value == nil then definition.whys[key] = why end
    return value, why
  end
  return {
    literal = function(name)
      if known[name] then return known[name] end
      return remember(name, literals.value(name))
    end,
    call = function(name, word)
      local key = definitions.key(name, word)
      if known[key] then return known[key] end
      if name == "has_event" then return remember(key, event.parse(specs.of(word)) and 1 or 0) end
      if name == "strcmp_cpuid_str" then return remember(key, specs.is_this_cpu(word) and 1 or 0) end
    end,
  }
end

-- The metric for this kind of core, among those of one name; else the first.
local function of_kind(records, pmu)
  return lists.find(records, function(record) return record.pmu == pmu end) or records[1]
end

-- How many counters count events of PMUs that count for all tasks, each on CPUs of its own; nil for others,
-- whose counters are as many as the CPUs of the target.
local function counters_of(events)
  local count = 0
  for _, needed in ipairs(events or {}) do
    local cpus = needed.cpus and topology.parse(needed.cpus)
    if not cpus then return nil end
    count = count + #cpus
  end
  return count > 0 and count or nil
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
  for i, needed in ipairs(events or {}) do fields[i] = needed.field end
  definition.inputs[name] = { fields = fields, counters = counters_of(events), why = why }
  definition.specs[#definition.specs + 1] = { spec = spec }
end

local DEEPEST = 100               -- metrics that need each other: a table made to exhaust the stack has more

local add_formula

-- A name is a metric, but in the formula of that metric itself.
local function add_name(definition, tables, name, within)
  if definition.formulas[name] and name ~= within then return end
  local record = name ~= within and of_kind(tables:metrics(name), definition.pmu)
  if record and definition.depth >= DEEPEST then
    local why = ("metrics need each other more than %d deep"):format(DEEPEST)
    definition.inputs[name] = { fields = {}, why = why }
  elseif record then add_formula(definition, tables, name, record.expression)
  else add_input(definition, name) end
end

function add_formula(definition, tables, name, source)
  definition.formulas[name] = source
  definition.depth = definition.depth + 1
  local tree = expression.fold(definitions.tree(name, source), constants_of(definition))
  expression.each_name(tree, function(other) add_name(definition, tables, other, name) end)
  definition.depth = definition.depth - 1
end

-- "100%" to 1 and "%": a share of 1 is shown in percent.
local function unit_of(scale)
  local number, unit = (scale or ""):match "^([%d.]+[eE]?[+-]?%d*)%s*(.*)$"
  number = tonumber(number)
  if not number then return 1, scale or "" end
  if unit == "%" then return number / 100, "%" end
  return number, unit
end

local function split(groups) return lists.collect((groups or ""):gmatch "[^;]+") end

-- "tma_memory_bound_group" has what is below tma_memory_bound.
local function parent_of(record, tables)
  if record.parent then return record.parent end
  for _, group in ipairs(split(record.groups)) do
    local parent = group:match "^(.*)_group$"
    if parent and parent:lower() ~= record.name:lower() and tables:metrics(parent)[1] then return parent end
  end
end

-- A definition with nothing but what a formula needs.
local function gather(name, pmu, source, tables)
  local definition = { name = name, pmu = pmu, formulas = {}, constants = {}, whys = {}, inputs = {},
    specs = {}, depth = 0 }
  add_formula(definition, tables, name, source)
  definition.events = lists.unique(lists.column(definition.specs, "spec"))
  definition.specs, definition.depth = nil, nil
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

-- ---- names ---------------------------------------------------------------------------------------------

-- "cpu_atom/tma_retiring/" is that of one kind of core.
local function records_of(tables, name)
  local pmu, bare = name:match "^([%w_]+)/([%w_.]+)/$"
  return lists.where(tables:metrics(bare or name), function(record) return not pmu or record.pmu == pmu end)
end

--- The vendor's metric of a name, in any case. On a hybrid CPU the variants are those of each kind of core,
--- first that of one that has all its events; "cpu_atom/NAME/" is that of one kind.
---@param name string
---@return pmclua.Metric?
function M.named(name)
  local tables, variants = vendor.tables(), {}
  local records = records_of(tables, name)
  -- cpu_core before cpu_atom.
  table.sort(records, function(a, b) return (a.pmu or "") > (b.pmu or "") end)
  for _, record in ipairs(records) do
    local definition = define(record, tables)
    local is_first = #variants > 0 and not definitions.is_whole(variants[1].stored)
      and definitions.is_whole(definition)
    table.insert(variants, is_first and 1 or #variants + 1, definitions.build(definition))
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
  for record in vendor.tables():each_metric(wanted) do
    for _, member in ipairs(split(record.groups)) do
      if member:lower() == wanted and not seen[record.name] then
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
function M.names() return lists.column(M.list(), "name") end

return M
