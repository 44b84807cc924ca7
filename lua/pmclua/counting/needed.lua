--- needed.lua: the events that formulae need and the script did not name.
--
-- Invariant: after `events` every name of a formula is an event, a factor, a metric or `iterations`. What
-- this machine has no event for is an event without a number, and why, where a named metric asks for it;
-- where the script does it is a mistake.

local checking = require "pmclua.base.arguments"
local event = require "pmclua.event"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

-- ---- named metrics --------------------------------------------------------------------------------------

--- The first variant of a named metric whose events this machine has.
---@param metric pmclua.Metric
---@return pmclua.Metric
function M.variant(metric)
  local variants = metric.variants and #metric.variants > 1 and metric.variants or {}
  local function opens(variant) return lists.all(variant.events, event.available) end
  return lists.find(variants, opens) or metric
end

-- ---- adding events --------------------------------------------------------------------------------------

-- The events that are not there yet. If some of a {group} are there, the others come as single events.
local function missing_of(list, have)
  local missing = lists.where(list, function(needed) return not have[needed.field] end)
  if #missing < #list then
    for _, lacking in ipairs(missing) do lacking.leader = nil end
  end
  return missing
end

-- One event, a {group}, or the events of several PMUs whose sum is meant.
local function makes_sense(list)
  if #list < 2 then return #list == 1 end
  return list[1].part_of ~= nil or list[2].leader ~= nil
end

local function add(declaration, have, list)
  local missing = missing_of(list, have)
  for _, lacking in ipairs(missing) do
    lacking.brought = true
    have[lacking.field] = true
    if lacking.part_of then have[lacking.part_of] = true end
  end
  event.append(declaration.events, missing)
end

--- Adds the events of a spec that are not there yet; `field`: what one is called in formulae. False and why
--- where it is no spec.
local function add_spec(declaration, have, spec, field)
  local list, problem = event.parse(spec)
  if not list then return false, problem.message end
  if not makes_sense(list) then return false, "it stands for several events" end
  if #list == 1 and field then list[1].field = field end
  add(declaration, have, list)
  return true
end

-- Stands for an event that this machine does not know.
local function add_absent(declaration, have, field, name, why)
  local absent = { spec = name, name = name, field = field, attr = {}, source = "absent", absent = why,
    unit = "", scale = 1, verified = true }
  add(declaration, have, { absent })
end

-- ---- formulae ---------------------------------------------------------------------------------------------

--- Every formula of a declaration, with what it is called in messages.
local function formulae(declaration)
  local list = {}
  local function take(what, formula) list[#list + 1] = { what = what, formula = formula } end
  for _, metric in ipairs(declaration.metrics) do take("metric '" .. metric.name .. "'", metric) end
  if declaration.reject_if then take("reject_if", declaration.reject_if) end
  for _, kind in ipairs { "expect", "gate" } do
    for _, formula in ipairs(declaration[kind] or {}) do
      take(("%s '%s'"):format(kind, formula.formula), formula)
    end
  end
  return list
end

--- The names that formulae may use.
local function known_names(declaration)
  local have = { iterations = true }
  for _, factor in ipairs(declaration.factors) do have[factor.name] = true end
  for _, workload in ipairs(declaration.workloads or {}) do
    for name in pairs(workload.constants and workload:constants() or {}) do have[name] = true end
  end
  for _, metric in ipairs(declaration.metrics) do have[metric.name] = true end
  for _, declared in ipairs(declaration.events) do
    have[declared.field] = true
    if declared.part_of then have[declared.part_of] = true end
  end
  return have
end

-- Named metrics that limits and predictions need, as if the script had listed them.
local function add_metrics(declaration)
  local have = known_names(declaration)
  declaration.metrics = { unpack(declaration.metrics) }       -- it may be the default's
  for _, kind in ipairs { "expect", "gate" } do
    for _, formula in ipairs(declaration[kind] or {}) do
      for _, name in ipairs(formula.needs) do
        local named = not have[name] and require("pmclua.metric").find(name)
        if named then declaration.metrics[#declaration.metrics + 1], have[name] = M.variant(named), true end
      end
    end
  end
end

-- A named metric's name for a field without an event, and why there is none.
local function absent_of(metric, field)
  for name, input in pairs(metric.stored and metric.stored.inputs or {}) do
    if #input.fields == 0 and name:gsub("-", "_") == field then return name, input.why end
  end
  local name = field:gsub("_", "-")
  local _, problem = event.parse(name)
  return name, problem and problem.message
end

local function add_for_named(declaration, have, metric)
  local first_why
  for _, spec in ipairs(metric.events) do
    local ok, why = add_spec(declaration, have, spec)
    if not ok then first_why = first_why or why end
  end
  for _, field in ipairs(metric.needs) do
    if not have[field] then
      local name, why = absent_of(metric, field)
      add_absent(declaration, have, field, name, why or first_why)
    end
  end
end

-- The names a formula may use: events of this machine, Valgrind's, and system calls.
local function known_fields(have)
  local simulated = require "pmclua.event.simulated"
  local system_call = require "pmclua.event.system_call"
  local specs = lists.joined { lists.map(simulated.names(), simulated.spec),
    lists.map(system_call.names(), system_call.spec) }
  return lists.append(checking.keys(have), lists.map(specs, text.field))
end

-- The spec of what is counted in a pass of its own, by its name in formulae.
local function spec_of(field)
  local call = field:match "^syscalls_(.+)$"
  if call then return require("pmclua.event.system_call").spec(call) end
  return field:find "^valgrind_" and require("pmclua.event.simulated").spec_of(field)
end

local function add_for_own(declaration, have, item, wrong)
  for _, field in ipairs(item.formula.needs) do
    local spec = spec_of(field) or field:gsub("_", "-")
    local is_there = have[field] or add_spec(declaration, have, spec, field)
      or add_spec(declaration, have, field)
    if not is_there then
      local near = checking.meant(field, known_fields(have))
      local hint = near ~= "" and near or ("; give an event that label: \"%s = SPEC\""):format(field)
      wrong("%s needs '%s', which is not an event or factor here%s", item.what, field, hint)
    end
  end
end

--- Replaces a word that stands for several events by their sum, in formulae.
---@param declaration pmclua.Asked changed
---@param parts table<string, string[]> fields of events by the word
function M.bind(declaration, parts)
  if next(parts) == nil then return end
  local with_sums = require("pmclua.metric").with_sums
  for i, metric in ipairs(declaration.metrics) do declaration.metrics[i] = with_sums(metric, parts) end
  for key, kind in pairs { expect = "comparison", gate = "limit" } do
    for i, formula in ipairs(declaration[key] or {}) do
      declaration[key][i] = with_sums(formula, parts, kind)
    end
  end
  local condition = declaration.reject_if
  declaration.reject_if = condition and with_sums(condition, parts, "condition")
end

-- A formula that names a word for events of several PMUs (boxes of a memory controller, both kinds of cores) means
-- their sum.
local function bind_sums(declaration)
  local parts = {}
  for _, group in ipairs(lists.groups(declaration.events, function(declared) return declared.part_of end)) do
    parts[group.key] = lists.column(group, "field")
  end
  M.bind(declaration, parts)
end

--- Adds cycles and instructions, which show that passes did the same work, where they can be counted and nothing is
--- called so. Returns whether it added any.
---@param declaration pmclua.Asked changed
---@return boolean
function M.anchors(declaration)
  local have, count = known_names(declaration), #declaration.events
  for _, spec in ipairs { "cycles", "instructions" } do
    if not have[spec] and event.available(spec) then add_spec(declaration, have, spec) end
  end
  return #declaration.events > count
end

--- Adds them, after the script's own.
---@param declaration pmclua.Asked changed
---@param wrong fun(form: string, ...) gets each mistake
function M.events(declaration, wrong)
  add_metrics(declaration)
  local have = known_names(declaration)
  for _, item in ipairs(formulae(declaration)) do
    if item.formula.events then add_for_named(declaration, have, item.formula)
    else add_for_own(declaration, have, item, wrong) end
  end
  if require("pmclua.event.perf_metrics").lack_slots(declaration.events) then
    add_spec(declaration, have, "slots")
  end
  bind_sums(declaration)
end

return M
