--- instead.lua: for each hardware event that cannot be opened here its counterpart of Valgrind, where a script asks
-- for that (simulate = true).
--
-- Invariant: a simulated event has Valgrind's name, and says in whose place it stands; only one that the script itself
-- named (a label) keeps its name. Formulae, limits and margins follow. Named metrics get a name of their own, sim_….

local event = require "pmclua.event"
local lists = require "pmclua.base.lists"
local metric = require "pmclua.metric"
local needed = require "pmclua.counting.needed"
local simulated = require "pmclua.event.simulated"

local M = {}

local HARDWARE = { hardware = true, cache = true }

-- Why an event cannot be opened here; nil: it can, or Valgrind has nothing like it.
local function refusal(asked)
  if not HARDWARE[asked.source] or asked.core_cpus or not simulated.counterpart(asked) then return nil end
  local tried = require("pmclua.event.try").event(asked)
  if tried.status ~= "unsupported" then return nil end
  local why = tried.why
  local reason = type(why) == "table" and (why.reason or why.message) or tostring(why)
  return reason:match "^[^:;]*"
end

-- The simulated event that takes the place of one.
local function stand_in(replaced, why)
  local is_labelled = replaced.field ~= (replaced.spec:gsub("-", "_"))
  local spec = simulated.spec(simulated.counterpart(replaced))
  local other = assert(event.parse(is_labelled and ("%s = %s"):format(replaced.name, spec) or spec))[1]
  if is_labelled then other.name, other.field = replaced.name, replaced.field end
  other.brought, other.instead_of, other.refusal = replaced.brought, replaced.spec, why
  return other
end

-- Without what was replaced, a {group} is led by the first that is left.
local function lead_anew(events, place_of, is_gone)
  local leader_of = {}
  for _, declared in ipairs(events) do
    local leader = declared.leader
    if leader and is_gone[leader] then
      declared.leader = leader_of[leader]
      leader_of[leader] = leader_of[leader] or place_of[declared]
    elseif leader then
      declared.leader = place_of[events[leader]]
    end
  end
end

-- The list with what stands in, and the names that changed.
local function replaced(events)
  local list, names, have, is_gone = {}, {}, lists.set(lists.column(events, "field")), {}
  for index, declared in ipairs(events) do
    local why = refusal(declared)
    local other = why and stand_in(declared, why)
    if other and other.field ~= declared.field then names[declared.field] = other.field end
    is_gone[index] = other ~= nil
    if not other or not have[other.field] or other.field == declared.field then
      list[#list + 1] = other or declared
      have[list[#list].field] = true
    end
  end
  local place_of = {}
  for place, kept in ipairs(list) do place_of[kept] = place end
  lead_anew(events, place_of, is_gone)
  return list, names
end

-- A named metric of other events is another metric.
local function rename_metrics(metrics, names)
  for _, definition in ipairs(metrics) do
    local is_changed = lists.any(definition.needs, function(name) return names[name] end)
    if is_changed and definition.events then names[definition.name] = "sim_" .. definition.name end
  end
end

local function plain(formula) return (formula:gsub("[()%s]", "")) end

local function renamed(asked, name)
  if not name then return asked end
  local named = metric.find(name)
  if named and plain(named.formula) == plain(asked.formula) then return named end
  local unit = asked.unit ~= "" and (" [%s]"):format(asked.unit) or ""
  return assert(metric.parse(("%s = %s%s"):format(name, asked.formula, unit)))
end

local function bind(declaration, names)
  local parts = {}
  for name, other in pairs(names) do parts[name] = { other } end
  needed.bind(declaration, parts)
  for i, definition in ipairs(declaration.metrics) do
    declaration.metrics[i] = renamed(definition, names[definition.name])
  end
end

local function rename_margins(declaration, names)
  for name, other in pairs(names) do
    local margin = declaration.margin
    margin[other], margin[name] = margin[other] or margin[name], nil
  end
end

--- Replaces them, in the events of a declaration and wherever these are named.
---@param declaration pmclua.Asked changed
function M.replace(declaration)
  local names
  declaration.events, names = replaced(declaration.events)
  if next(names) == nil then return end
  rename_metrics(declaration.metrics, names)
  bind(declaration, names)
  rename_margins(declaration, names)
  local primary = declaration.primary and require("pmclua.base.text").field(declaration.primary)
  declaration.primary = primary and names[primary] or declaration.primary
end

return M
