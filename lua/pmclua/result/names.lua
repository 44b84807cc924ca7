--- names.lua: what the names in a result mean: events, metrics, factors, workloads of its header.
--
-- Invariant: every metric of a result is known to need only what the result has.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local metrics = require("pmclua.base.lazy").module "pmclua.metric"
local text = require "pmclua.base.text"

local M = {}

-- Fields of a cell besides its levels, events and metrics.
local cell_fields = lists.set { "workload", "levels", "kind", "per", "number", "region", "thread", "cpu",
  "task", "interval", "repetitions", "warmups", "rejected", "failed", "first_failure", "first_rejected",
  "exits", "result", "columns",
  "summaries", "summary", "fitted", "control", "components",
  "lines", "estimate", "values", "values_by_block", "found", "label" }

--- Why nothing in an experiment may have this name; nil where it may.
---@param name string
---@return string?
function M.reserved(name) return cell_fields[name] and "cells have a field of that name" or nil end

--- Whether Valgrind counted a pass: the times and other facts of its runs are not the program's.
---@param header table
---@param pass integer
---@return boolean
function M.is_simulated(header, pass)
  local first = header.events[header.pass_events[pass][1]]
  return first ~= nil and first.simulated ~= nil
end

local function passes_of(header, index, tool)
  local passes = {}
  for pass, events in ipairs(header.pass_events) do
    local has_record = tool ~= nil and not M.is_simulated(header, pass)
    if has_record or lists.contains(events, index) then passes[#passes + 1] = pass end
  end
  return passes
end

---@class pmclua.ResultEvent: pmclua.NamedEvent the header's entry
---@field index integer in the header
---@field passes integer[] that count it
---@field status? string why there are no counts: why
---@field why? string

local function read_events(result)
  for i, event in ipairs(result.header.events) do
    local mine = { index = i, passes = passes_of(result.header, i, event.tool) }
    setmetatable(mine, { __index = event })
    result.events[i], result.event_by_field[event.field] = mine, mine
  end
end

local function read_passes(result)
  for pass, planned in ipairs(result.header.pass_events) do
    local tools = M.is_simulated(result.header, pass) and {} or result.tools
    result.pass_events[pass] = lists.unique(lists.joined { planned, lists.keys(tools) })
  end
end

--- Whether a formula may have this name.
---@param result pmclua.Result
---@param name string
---@return boolean
function M.is_known(result, name)
  local named = result.event_by_field[name] or result.metric_by_name[name] or result.factor_by_name[name]
  return named ~= nil or name == "iterations" or name == "wall_ns"
    or lists.any(result.header.workloads, function(workload)
      return (workload.constants or {})[name] ~= nil
    end)
end

--- The first name that a metric or limit needs and the result has nothing for; nil where it has all.
---@param result pmclua.Result
---@param metric { needs: string[] }
---@return string?
function M.missing(result, metric)
  return lists.find(metric.needs, function(name) return not M.is_known(result, name) end)
end

-- A named metric has a unit and a meaning that its formula does not say, and variants for machines.
local function variant_for(result, parsed)
  local named = metrics.own(parsed.name)
  return lists.find(named and named.variants or {}, function(variant)
    return parsed.variants and not M.missing(result, variant) or parsed.formula == variant.formula
  end) or parsed
end

--- Adds a metric, or replaces the one of its name. Raises a text where it cannot be computed.
---@param result pmclua.Result
---@param source string a name, or name = formula
function M.add_metric(result, source)
  local parsed, problem = metrics.parse(source)
  if not parsed then error(("metric '%s': %s"):format(tostring(source), problem.message), 0) end
  local metric = variant_for(result, parsed)
  local missing = M.missing(result, metric)
  if missing then
    error(("metric '%s' needs '%s', which was not counted%s"):format(metric.name, missing,
      text.meant(missing, M.all(result), ": ")), 0)
  end
  local name = metric.name
  local taken = M.reserved(name) or result.event_by_field[name] and "an event has that name"
    or result.factor_by_name[name] and "a factor has that name"
  if taken then error(("a metric cannot be called '%s': %s"):format(name, taken), 0) end
  if not result.metric_by_name[name] then result.metrics[#result.metrics + 1] = metric end
  result.metric_by_name[name] = metric
end

-- The cost of one element, for each event: cycles_per_element = cycles / (n * n).
local function add_per(result)
  for element, formula in pairs(result.header.per or {}) do
    for _, event in ipairs(result.events) do
      local name = ("%s_per_%s"):format(event.field, element)
      local metric = metrics.parse(("%s = %s / (%s)"):format(name, event.field, formula))
      if metric and not M.missing(result, metric) and not result.metric_by_name[name] then
        metric.unit, metric.event, metric.element = event.unit or "", event, element
        metric.title = ("%s/%s"):format(event.name, element)
        result.per_metrics[#result.per_metrics + 1] = metric
        result.metric_by_name[name], result.per_event[event.field] = metric, metric
        result.element = element
      end
    end
  end
end

--- The names of a result's events and of its metrics, as they are shown.
---@param result pmclua.Result
---@return string[]
function M.quantities(result)
  return lists.append(lists.column(result.events, "field"), lists.column(result.metrics, "name"))
end

--- All names of events and metrics, the cost of one element for each event among them.
---@param result pmclua.Result
---@return string[]
function M.all(result)
  return lists.append(M.quantities(result), lists.column(result.per_metrics, "name"))
end

--- The margin within which values of a name are the same, as a share.
---@param result pmclua.Result
---@param name string
---@return number? nil: the default
function M.margin(result, name)
  local margin = result.header.margin
  if type(margin) ~= "table" then return tonumber(margin) end
  return margin[name] or margin.default
end

--- Raises for a name that nothing has.
---@param result pmclua.Result
---@param name any
function M.unknown(result, name)
  local list = lists.append(M.all(result), lists.column(result.header.factors, 1))
  explain.misuse(("nothing here is called '%s': %s"):format(tostring(name), text.meant_or_all(name, list)), 3)
end

--- Raises for a name that is no event's and no metric's.
---@param result pmclua.Result
---@param name string
function M.check(result, name)
  if not (result.event_by_field[name] or result.metric_by_name[name]) then M.unknown(result, name) end
end

-- Checks a header, which anyone may have written; declarations were checked before.
local function check_primary(result)
  local primary = result.header.primary
  if not primary or result.event_by_field[primary] or result.metric_by_name[primary] then return end
  error(("its primary '%s' is none of its events and metrics"):format(primary), 0)
end

local function read_factors(result)
  for _, factor in ipairs(result.header.factors) do
    local reserved = M.reserved(factor[1])
    if reserved then error(("a factor cannot be called '%s': %s"):format(factor[1], reserved), 0) end
    result.factor_by_name[factor[1]] = factor
  end
end

--- Fills in a new result's tables of names from its header.
---@param result pmclua.Result
function M.read(result)
  local header = result.header
  for i, event in ipairs(header.events) do result.tools[i] = event.tool end
  for _, workload in ipairs(header.workloads) do result.workload_by_name[workload.name] = workload end
  read_factors(result)
  read_events(result)
  read_passes(result)
  for _, source in ipairs(header.metrics or {}) do M.add_metric(result, source) end
  add_per(result)
  check_primary(result)
end

return M
