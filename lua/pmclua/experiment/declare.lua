--- declare.lua: checks a script's declaration before anything runs.
--
-- All mistakes are reported at once, with the likely right words; unknown keys are errors.

local keys = require "pmclua.experiment.keys"
local checking = require "pmclua.base.arguments"
local DEFAULT_MARGIN = require("pmclua.verdict").DEFAULT_MARGIN
local lists = require "pmclua.base.lists"
local signatures = require "pmclua.public.call"
local meant, sorted_keys = checking.meant, checking.keys
local check = keys.check

local declare = {}

--- The checked declaration. Lists keep the script's order.
---@class pmclua.Declaration: pmclua.Asked
---@field name? string
---@field question? string
---@field workloads? table[]
---@field per { name: string, formula: string }?
---@field baseline table?  partial cell: { workload =, factor = level }
---@field against table?  partial cell that relative limits are relative to
---@field primary? string nil: until it is chosen
---@field repetitions integer
---@field is_count_open boolean whether the script leaves it to us how many
---@field warmup integer
---@field iterations? number|"fit"|table  nil: found per cell; whole once it is checked
---@field timeout_ns number?
---@field layout_runs? integer repetitions of each layout that is drawn
---@field build? pmclua.Command makes commands anew for each layout
---@field sample? string[] fields of the events that are sampled
---@field on_failure "stop"|"skip"|"keep"

declare.DEFAULT_EVENTS = { "duration_time", "task-clock", "context-switches", "cpu-migrations", "page-faults",
  "cycles", "instructions", "branches", "branch-misses" }

-- ---- the whole ----

local DEFAULTS = { warmup = 2, on_failure = "stop", passes = "rerun", read = "auto",
  factors = {}, metrics = {}, margin = { default = DEFAULT_MARGIN } }

-- Repetitions where the script says none (of short kernels there are more: processes.lua): 30 pairs find 2 % in 98 of
-- 100 where ratios spread by 1 %, 20 in 90 (tests/bench/honesty.lua).
local TO_COMPARE, TO_MEASURE = 30, 20

-- Checks each key against the table of signatures; values that are more than a type have checkers of their own.
local function check_keys(spec, wrong)
  local out, record = {}, signatures.record("experiment_keys", "measuring")
  for _, key in ipairs(sorted_keys(spec)) do
    local value = spec[key]
    key = check[key] and key or signatures.current_key(record, key)
    if check[key] then out[key] = check[key](value, wrong, key, spec)
    elseif signatures.check_key(record, key, value, wrong) then out[key] = value end
  end
  return out
end

-- The levels of a factor, or the names of the workloads; nil where there is no such factor.
local function levels_of(declaration, key)
  local factor = lists.by(declaration.factors, "name")[key]
  return factor and factor.levels or key == "workload" and lists.column(declaration.workloads, "name") or nil
end

-- A partial cell that is named under `what`.
local function check_cell(declaration, what, wrong)
  for key, value in pairs(declaration[what] or {}) do
    local levels = levels_of(declaration, key)
    if not levels then
      wrong("%s: there is no factor '%s'%s", what, tostring(key),
        meant(tostring(key), lists.column(declaration.factors, "name")))
    -- The missing workloads are already reported.
    elseif #levels > 0 and not lists.contains(levels, value) then
      local shown = lists.map(levels, tostring)
      wrong("%s: no %s is '%s'%s; there are %s", what, key, tostring(value), meant(tostring(value), shown),
        table.concat(shown, ", "))
    end
  end
end

local function check_primary(declaration, wrong)
  local fields = lists.joined { lists.column(declaration.events, "field"),
    lists.column(declaration.metrics, "name") }
  local asked = declaration.primary
  local field = asked and require("pmclua.base.text").field(asked)
  local is_known = lists.contains(fields, field)
  if asked and not is_known then
    wrong("primary '%s' is not one of the events and metrics%s", asked, meant(field, fields))
  end
  declaration.primary = is_known and field or fields[1]
end

-- Sampled events are counted, too, in a pass before: adds those that are not among the events already.
local function add_sampled(declaration)
  declaration.events = declaration.events or {}
  local known = lists.set(lists.column(declaration.events, "field"))
  require("pmclua.event").append(declaration.events, lists.where(declaration.sample.events, function(event)
    return not known[event.field]
  end))
  declaration.sample.events = nil
end

-- layout = { build = … } draws layouts, unless a factor says where code lies.
local function set_build(declaration)
  local is_factor = lists.contains(lists.column(declaration.factors or {}, "name"), "code_layout")
  declaration.build, declaration.layout = declaration.layout.build, not is_factor and "randomise" or nil
end

-- Workloads run in the folder of the commit that is their level (commits/factor.lua).
local function place_in_commits(declaration)
  local factor = lists.find(declaration.factors, function(candidate) return candidate.folder end)
  if not factor then return end
  local within, folder = require("pmclua.workload").within, ("%s/{%s}"):format(factor.folder, factor.name)
  declaration.workloads = lists.map(declaration.workloads, function(workload)
    return within(workload, folder)
  end)
end

--- Checks a declaration. Returns it, and the list of mistakes (empty: none).
---@param spec table what the script wrote
---@param of_run? table options of its run that the script wrote with it
---@return pmclua.Declaration, string[] mistakes
function declare.check(spec, of_run)
  local mistakes, wrong = checking.mistakes()
  if of_run then signatures.report_options(of_run, "run_options", "", "measuring", wrong) end
  local declaration = check_keys(spec, wrong)
  if spec.workloads == nil then wrong "workloads is missing: what is to be run?" end
  if spec.events == nil and not declaration.sample then
    declaration.events = check.events(declare.DEFAULT_EVENTS, wrong)
  end
  if declaration.sample then add_sampled(declaration) end
  if type(declaration.layout) == "table" then set_build(declaration) end
  for key, value in pairs(DEFAULTS) do
    if declaration[key] == nil then declaration[key] = value end
  end
  declaration.is_count_open = declaration.repetitions == nil and not declaration.stop
  declaration.repetitions = declaration.repetitions or declaration.baseline and TO_COMPARE or TO_MEASURE
  declaration.layout_runs = require("pmclua.experiment.layout").runs(declaration)
  declaration.workloads = declaration.workloads or {}
  place_in_commits(declaration)
  declaration.seed = declaration.seed or tonumber(require("pmclua.core").now_ns()) % 2 ^ 31
  declaration.timeout_ns = declaration.timeout and declaration.timeout * 1e9
  declaration.margin.default = declaration.margin.default or DEFAULTS.margin.default
  check_cell(declaration, "baseline", wrong)
  check_cell(declaration, "against", wrong)
  require("pmclua.experiment.layout").check(declaration, wrong)
  require("pmclua.counting.needed").events(declaration, wrong)
  local has_none = spec.gate ~= nil and #declaration.events == 0 and #mistakes == 0
  if has_none then wrong "events is empty, and no limit needs one: name at least one event" end
  if declaration.simulate then require("pmclua.counting.instead").replace(declaration) end
  check_primary(declaration, wrong)
  require("pmclua.experiment.conflicts").check(declaration, wrong)
  return declaration, mistakes
end

return declare
