--- asked.lua: the events and metrics that a script or command line asks for, checked whole.
--
-- Every mistake is reported through `wrong(form, …)`, so that all come out at once. Experiments, monitors and
-- typed groups read their `events` and `metrics` here.

local checking = require "pmclua.base.arguments"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local metric = require("pmclua.base.lazy").module "pmclua.metric"
local spelled = checking.spelled

local M = {}

--- Reports what would be lost of a list; returns whether anything would.
---@param what string "events"
---@param list table
---@param wrong fun(form: string, ...)
---@param spelling? fun(key: any, value: any): string how it is written rightly
function M.say_stray(what, list, wrong, spelling)
  local problem = checking.stray(what, list, spelling)
  if problem then wrong("%s", problem) end
  return problem ~= nil
end

-- A metric that stands among the events.
local function with_metric_hint(spec, problem)
  local at = problem.position
  local word = at and spec:sub(at, at + problem.length - 1)
  if not word or not metric.find(word) then return problem end
  local hint = "it is a metric: ask for it among the metrics (-M)"
  return { message = problem.message, position = at, length = problem.length, hint = hint }
end

-- Every event of a list in one string that is wrong, not the first alone.
local function say_each(spec, problem, options, wrong)
  for _, each in ipairs(require("pmclua.event.mistakes").of(spec, problem, options)) do
    wrong("%s", explain.spec(each.spec, with_metric_hint(each.spec, each.problem)))
  end
end

-- The value as a list, and whether some of it would be lost. One text is a list of one; nil: a
-- mistake.
local function list_of(what, value, wrong, form)
  if type(value) == "string" then return { value }, false end
  if type(value) == "table" then return value, M.say_stray(what, value, wrong, spelled.labelled) end
  wrong(form, type(value))
end

--- The events of a list as a script or a command line has it.
---@param value any a list of specs, or one string
---@param wrong fun(form: string, ...) gets each mistake
---@param options? table as for pmclua.event.parse
---@return pmclua.Event[]
function M.events(value, wrong, options)
  local events, seen = {}, {}
  local given, is_lost = list_of("events", value, wrong, "events must be a list of event names, not a %s")
  if not given then return {} end
  for i, spec in ipairs(given) do
    local list, problem
    if type(spec) == "string" then list, problem = require("pmclua.event").parse(spec, options)
    else problem = { message = ("event %d is a %s, not a string"):format(i, type(spec)) } end
    if problem and type(spec) == "string" then say_each(spec, problem, options, wrong)
    elseif problem then wrong("%s", problem.message) end
    for _, event in ipairs(list or {}) do
      if seen[event.field] then
        wrong("events '%s' and '%s' would both be called %s: give one a label, \"name = %s\"",
          seen[event.field], event.spec, event.field, event.spec)
      end
      seen[event.field] = event.spec
    end
    require("pmclua.event").append(events, list or {})
  end
  local may_be_empty = options and options.may_be_empty
  if #given == 0 and not (is_lost or may_be_empty) then wrong "events is empty: name at least one event" end
  return events
end

-- The formulae of a list, in which "ipc,cpi" stands for two, as for perf stat -M.
local function each_formula(list)
  local all = {}
  for _, item in ipairs(list) do
    local is_names = type(item) == "string" and item:find "^[%w_%s]+,[%w_%s,]*[%w_]$"
    for name in is_names and item:gmatch "[^,%s]+" or function() end do all[#all + 1] = name end
    if not is_names then all[#all + 1] = item end
  end
  return all
end

local function add_metric(metrics, seen, asked)
  for _, variant in ipairs(metric.of_each_kind(asked) or { asked }) do
    if seen[variant.name] ~= variant.formula then                 -- groups overlap
      seen[variant.name] = variant.formula
      metrics[#metrics + 1] = require("pmclua.counting.needed").variant(variant)
    end
  end
end

-- The metrics that a formula, a name or a group stands for; nil and the problem. A vendor may have a metric and a group
-- of one name; both are meant, as for perf.
local function metrics_of(formula)
  local name = formula:match "^%s*([%a_][%w_]*)%s*$" or formula:match "^%s*(.+%.group)%s*$"
  local of_file, wrong
  if name then of_file, wrong = metric.of_group(name) end
  if of_file or wrong then return of_file, wrong and { message = wrong } end
  local parsed, problem = metric.parse(formula)
  local is_own = parsed and not parsed.table
  local members = name and not is_own and metric.vendor_group(name) or {}
  local list = lists.joined { { parsed }, lists.map(members, metric.of_vendor) }
  return list[1] and list, problem
end

--- The metrics of a list: names, groups, paths of groups' files, and formulae.
---@param value any
---@param wrong fun(form: string, ...) gets each mistake
---@return pmclua.Metric[]
function M.metrics(value, wrong)
  local metrics, seen = {}, {}
  local given = list_of("metrics", value, wrong, "metrics must be a list, not a %s") or {}
  for i, formula in ipairs(each_formula(given)) do
    local defined, problem
    if type(formula) == "string" then defined, problem = metrics_of(formula)
    else problem = { message = ("metric %d is a %s, not a string"):format(i, type(formula)) } end
    for _, definition in ipairs(defined or {}) do add_metric(metrics, seen, definition) end
    if not defined then
      wrong("metric '%s': %s%s", tostring(formula), problem.message,
        problem.hint and "; " .. problem.hint or "")
    end
  end
  return metrics
end

---@class pmclua.Asked what is to be counted, in an experiment or by itself
---@field events pmclua.Event[]
---@field metrics pmclua.Metric[]
---@field factors { name: string, levels: any[] }[]

-- ---- names ----

local OF_REPETITIONS = { iterations = true, wall_ns = true }

-- A name in a formula, and of a field of a cell, is that of one thing. The same thing twice is said elsewhere.
--- Reports what is called like something else.
---@param declaration pmclua.Asked
---@param wrong fun(form: string, ...)
---@param reserved fun(name: string): string? why nothing may have a name; nil: it is free
function M.check_names(declaration, wrong, reserved)
  local taken = {}
  local function take(what, name, formula)
    local before = taken[name]
    local is_another = before and (before.what ~= what or before.formula ~= formula)
    local why = reserved(name) or OF_REPETITIONS[name] and "every repetition has a field of that name"
      or is_another and before.what .. " has that name"
    if why then wrong("%s cannot be called '%s': %s", what, name, why) end
    taken[name] = before or { what = what, formula = formula }
  end
  for _, factor in ipairs(declaration.factors) do take("a factor", factor.name) end
  for _, event in ipairs(declaration.events) do take("an event", event.field) end
  for _, definition in ipairs(declaration.metrics) do
    take("a metric", definition.name, definition.formula)
  end
end

--- Events and metrics by themselves, without an experiment: those that were asked for and those that metrics need.
---@param spec { events: any, metrics: any }
---@param reserved fun(name: string): string? why nothing may have a name
---@return pmclua.Asked
---@return string[] mistakes
function M.check(spec, reserved)
  local mistakes, wrong = checking.mistakes()
  local asked = { factors = {}, events = M.events(spec.events, wrong),
    metrics = M.metrics(spec.metrics or {}, wrong) }
  require("pmclua.counting.needed").events(asked, wrong)
  M.check_names(asked, wrong, reserved)
  return asked, mistakes
end

return M
