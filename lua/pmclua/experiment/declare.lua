--- declare.lua: what a script declares, checked whole before anything runs.
--
-- Every mistake is reported at once, each with the nearest right word; nothing unknown is ignored.

local explain = require "pmclua.explain"
local checking = require "pmclua.workload.check"
local meant, sorted_keys = checking.meant, checking.keys

local declare = {}

--- The checked declaration. Lists keep the script's order.
---@class pmclua.Declaration
---@field name? string
---@field question? string
---@field events pmclua.Event[]
---@field metrics pmclua.Metric[]
---@field factors { name: string, levels: any[] }[]
---@field workloads table[]
---@field per { name: string, formula: string }?
---@field baseline table?  partial cell: { workload =, factor = level }
---@field primary string
---@field repetitions integer
---@field warmup integer
---@field iterations integer?   nil: found per cell
---@field timeout_ns number?
---@field on_failure "stop"|"skip"|"keep"

declare.DEFAULT_EVENTS = { "duration_time", "task-clock", "context-switches", "cpu-migrations", "page-faults",
  "cycles", "instructions", "branches", "branch-misses" }

-- ---- small values ----

local SECONDS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, sec = 1, min = 60, h = 3600 }

--- Seconds of a duration: a number, or a string with a unit ("200ms", "5 min").
---@return number? seconds
function declare.seconds(value)
  if type(value) == "number" then return value > 0 and value or nil end
  if type(value) ~= "string" then return nil end
  local number, unit = value:match "^%s*([%d.]+)%s*(%a*)%s*$"
  number = tonumber(number)
  local factor = unit == "" and 1 or SECONDS[unit]
  return number and factor and number > 0 and number * factor or nil
end

local function is_count(value, least)
  return type(value) == "number" and value % 1 == 0 and value >= least and value < 2 ^ 53
end

-- ---- one checker a key: value in, value out; mistakes go to `wrong` ----

local check = {}

local function take_text(value, wrong, key)
  if type(value) ~= "string" then wrong("%s must be a string, not a %s", key, type(value)) end
  return value
end
check.name, check.question, check.pin = take_text, take_text, take_text

function check.events(value, wrong)
  local events, seen = {}, {}
  if type(value) == "string" then value = { value } end
  if type(value) ~= "table" then
    wrong("events must be a list of event names, not a %s", type(value))
    return {}
  end
  for i, spec in ipairs(value) do
    local list, problem
    if type(spec) == "string" then list, problem = require("pmclua.event").parse(spec)
    else problem = { message = ("event %d is a %s, not a string"):format(i, type(spec)) } end
    if problem then wrong("%s", explain.spec(tostring(spec), problem)) end
    for _, event in ipairs(list or {}) do
      if seen[event.field] then
        wrong("events '%s' and '%s' would both be called %s: give one a label, \"name = %s\"",
          seen[event.field], event.spec, event.field, event.spec)
      end
      seen[event.field] = event.spec
      events[#events + 1] = event
    end
  end
  if #value == 0 then wrong "events is empty: name at least one event" end
  return events
end

function check.metrics(value, wrong)
  local metric = require "pmclua.metric"
  local metrics = {}
  if type(value) == "string" then value = { value } end
  if type(value) ~= "table" then
    wrong("metrics must be a list, not a %s", type(value))
    return {}
  end
  for i, formula in ipairs(value) do
    local parsed, problem
    if type(formula) == "string" then parsed, problem = metric.parse(formula)
    else problem = { message = ("metric %d is a %s, not a string"):format(i, type(formula)) } end
    if parsed then metrics[#metrics + 1] = parsed
    else wrong("metric '%s': %s%s", tostring(formula), problem.message, problem.hint and "; " .. problem.hint or "") end
  end
  return metrics
end

local function check_factor(name, levels, wrong)
  if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
    wrong("a factor's name is a word, not '%s'", tostring(name))
  elseif name == "workload" then
    wrong "a factor cannot be called workload: that is what the workloads are"
  end
  if type(levels) ~= "table" or #levels == 0 then
    wrong("factor %s needs a list of levels", tostring(name))
    levels = {}
  end
  local seen = {}
  for _, level in ipairs(levels) do
    local kind = type(level)
    if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
      wrong("factor %s: a level is a %s; numbers, strings and booleans are possible", tostring(name), kind)
    end
    if seen[tostring(level)] then wrong("factor %s has the level %s twice", tostring(name), tostring(level)) end
    seen[tostring(level)] = true
  end
  return { name = name, levels = levels }
end

function check.factors(value, wrong)
  local factors, seen = {}, {}
  if type(value) ~= "table" then
    wrong("factors must be a list of { name, { levels } }, not a %s", type(value))
    return factors
  end
  local pairs_of = {}
  if #value > 0 then
    for i, pair in ipairs(value) do
      pairs_of[i] = type(pair) == "table" and { pair[1], pair[2] } or { pair, nil }
    end
  else
    for i, name in ipairs(sorted_keys(value)) do pairs_of[i] = { name, value[name] } end
  end
  for i, pair in ipairs(pairs_of) do
    factors[i] = check_factor(pair[1], pair[2], wrong)
    if seen[pair[1]] then wrong("the factor %s is there twice", tostring(pair[1])) end
    seen[tostring(pair[1])] = true
  end
  return factors
end

function check.workloads(value, wrong)
  local workload = require "pmclua.workload"
  if type(value) ~= "table" or getmetatable(value) then value = { value } end
  local list, seen = {}, {}
  local keys = #value > 0 and value or sorted_keys(value)
  for i, item in ipairs(keys) do
    local name
    if #value == 0 then name, item = item, value[item] end
    local made, why = workload.from(item, name)
    if made then
      list[#list + 1] = made
      if seen[made.name] then
        wrong("two workloads are called '%s': give one a name of its own, name = \"…\"", made.name)
      end
      seen[made.name] = true
    else
      wrong("workload %d: %s", i, why)
    end
  end
  if #keys == 0 then wrong "workloads is empty: name at least one" end
  return list
end

function check.per(value, wrong)
  if type(value) ~= "table" then
    wrong("per must be a map such as { element = \"n * n\" }, not a %s", type(value))
    return nil
  end
  local name = next(value)
  if not name or next(value, name) then wrong "per takes one name and one formula: { element = \"n * n\" }" end
  if not name then return nil end
  local formula, problem = require("pmclua.metric").parse(("%s = %s"):format(tostring(name), tostring(value[name])))
  if not formula then wrong("per %s: %s", tostring(name), problem.message) end
  return { name = tostring(name), formula = tostring(value[name]), metric = formula }
end

function check.baseline(value, wrong)
  if type(value) == "string" then return { workload = value } end
  if type(value) ~= "table" or next(value) == nil then
    wrong "baseline is a workload's name or a partial cell such as { n = 256 }"
    return nil
  end
  return value
end

check.primary = take_text

local function whole(least)
  return function(value, wrong, key)
    if not is_count(value, least) then wrong("%s must be a whole number of at least %d, not %s", key, least, tostring(value)) end
    return value
  end
end
check.repetitions, check.warmup, check.iterations, check.seed = whole(1), whole(0), whole(1), whole(0)

function check.timeout(value, wrong)
  local seconds = declare.seconds(value)
  if not seconds then wrong("timeout is a number of seconds or a string such as \"500ms\", not %s", tostring(value)) end
  return seconds
end

local function one_of(...)
  local words = { ... }
  return function(value, wrong, key)
    for _, word in ipairs(words) do
      if value == word then return value end
    end
    wrong("%s is one of %s, not %s%s", key, table.concat(words, ", "), tostring(value), meant(value, words))
  end
end
check.on_failure, check.passes = one_of("stop", "skip", "keep"), one_of("rerun", "multiplex")

local function margin_of(value)
  if type(value) == "number" then return value > 0 and value or nil end
  local percent = type(value) == "string" and tonumber(value:match "^%s*([%d.]+)%s*%%%s*$")
  return percent and percent > 0 and percent / 100 or nil
end

--- { default = ratio, event = ratio, … } of "1%" or { "1%", instructions = "0.1%" }.
function check.margin(value, wrong)
  if type(value) ~= "table" then value = { value } end
  local margins = {}
  for key, item in pairs(value) do
    local ratio = margin_of(item)
    if not ratio then wrong("margin is a percentage such as \"1%%\", not %s", tostring(item)) end
    margins[key == 1 and "default" or tostring(key):gsub("-", "_")] = ratio
  end
  return margins
end

function check.where(value, wrong)
  if type(value) == "function" then return value end
  local condition, problem = nil, { message = "it is a " .. type(value) }
  if type(value) == "string" then condition, problem = require("pmclua.metric").condition(value) end
  if not condition then
    wrong("where is a function of the levels or a condition on factors: %s", problem.message)
    return nil
  end
  return function(levels)
    return condition.evaluate(function(name) return levels[name] end) == true
  end
end

local function hook(value, wrong, key)
  if type(value) == "function" then return value end
  local made, why = require("pmclua.workload").from(value)
  if not made then wrong("%s is a function or a command: %s", key, why) end
  return made
end
check.setup, check.prepare, check.conclude, check.cleanup = hook, hook, hook, hook

-- ---- the whole ----

local DEFAULTS = { repetitions = 20, warmup = 2, on_failure = "stop", passes = "rerun", seed = 1,
  factors = {}, metrics = {}, margin = { default = 0.01 } }

local function check_keys(spec, wrong)
  local out = {}
  for _, key in ipairs(sorted_keys(spec)) do
    local checker = check[key]
    if checker then
      out[key] = checker(spec[key], wrong, key)
    else
      wrong("unknown key '%s'%s", tostring(key), meant(key, sorted_keys(check)))
    end
  end
  return out
end

local function names_of(list)
  local names = {}
  for i, item in ipairs(list) do names[i] = item.name end
  return names
end

local function check_baseline(declaration, wrong)
  for key, value in pairs(declaration.baseline or {}) do
    local levels
    if key == "workload" then levels = names_of(declaration.workloads) end
    for _, factor in ipairs(declaration.factors) do
      if factor.name == key then levels = factor.levels end
    end
    if not levels then
      wrong("baseline: there is no factor '%s'%s", tostring(key), meant(tostring(key), names_of(declaration.factors)))
    else
      local known, shown = false, {}
      for i, level in ipairs(levels) do
        known = known or level == value
        shown[i] = tostring(level)
      end
      if not known then
        wrong("baseline: no %s is '%s'%s; there are %s", key, tostring(value), meant(tostring(value), shown),
          table.concat(shown, ", "))
      end
    end
  end
end

--- Events that metrics need and the script did not name are added, after its own.
local function bring_events(declaration, wrong)
  local event = require "pmclua.event"
  local have = {}
  for _, factor in ipairs(declaration.factors) do have[factor.name] = true end
  for _, item in ipairs(declaration.events) do have[item.field] = true end
  for _, name in ipairs { "iterations", "wall_ns", "duration_time" } do have[name] = have[name] or name ~= "duration_time" end
  for _, metric in ipairs(declaration.metrics) do have[metric.name] = true end
  for _, metric in ipairs(declaration.metrics) do
    for _, field in ipairs(metric.needs) do
      local spec = field:gsub("_", "-")
      local list = not have[field] and (event.parse(spec) or event.parse(field))
      if list and #list == 1 then
        list[1].field, list[1].brought = field, true
        declaration.events[#declaration.events + 1] = list[1]
        have[field] = true
      elseif not have[field] then
        wrong("metric '%s' needs '%s', which is no event or factor here%s; an event can be given that label: \"%s = SPEC\"",
          metric.name, field, meant(field, sorted_keys(have)), field)
      end
    end
  end
end

local function check_primary(declaration, wrong)
  local fields = {}
  for _, event in ipairs(declaration.events) do fields[#fields + 1] = event.field end
  for _, metric in ipairs(declaration.metrics) do fields[#fields + 1] = metric.name end
  if declaration.primary then
    local field = declaration.primary:gsub("-", "_")
    for _, known in ipairs(fields) do
      if known == field then
        declaration.primary = field
        return
      end
    end
    wrong("primary '%s' is none of the events and metrics%s", declaration.primary, meant(field, fields))
  end
  declaration.primary = fields[1]
end

--- Checks a declaration. Returns it, and the list of mistakes (empty: none).
---@param spec table what the script wrote
---@return pmclua.Declaration, string[] mistakes
function declare.check(spec)
  local mistakes = {}
  local function wrong(form, ...) mistakes[#mistakes + 1] = form:format(...) end
  local declaration = check_keys(spec, wrong)
  if spec.workloads == nil then wrong "workloads is missing: what shall be run?" end
  if spec.events == nil then declaration.events = check.events(declare.DEFAULT_EVENTS, wrong) end
  for key, value in pairs(DEFAULTS) do
    if declaration[key] == nil then declaration[key] = value end
  end
  declaration.workloads = declaration.workloads or {}
  declaration.timeout_ns = declaration.timeout and declaration.timeout * 1e9
  declaration.margin.default = declaration.margin.default or DEFAULTS.margin.default
  check_baseline(declaration, wrong)
  bring_events(declaration, wrong)
  check_primary(declaration, wrong)
  return declaration, mistakes
end

return declare
