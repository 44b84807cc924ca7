--- gated.lua: the limits of an experiment that has run: what fails by times is tried once more, and its cause is looked for.
--
-- Invariant: a limit of times fails only where two runs say so, each with processes, an order and layouts of its own,
-- and both are shown. Counts need no second run. A cause is looked for only where a limit fails or is undecided.

local cause = require "pmclua.why.cause"
local check = require "pmclua.verdict.check"
local clusters = require "pmclua.result.clusters"
local ending = require "pmclua.result.ending"
local experiments = require "pmclua.experiment"
local lists = require "pmclua.base.lists"
local output = require "pmclua.host.output"
local placing = require "pmclua.experiment.placing"
local stored = require "pmclua.why.stored"
local units = require "pmclua.base.units"

local M = {}

-- ---- once more ---------------------------------------------------------------------------------------------

local function same_row(rows, row)
  return lists.find(rows, function(other) return other.text == row.text and other.cell == row.cell end)
end

local function run_again(experiment)
  local seed = (experiment.declaration.seed + 1) % 2 ^ 31
  return experiments.override(experiment, { seed = seed }):run { store = false, quiet = true }
end

-- Gives rows what a second run of the same says; one that it does not confirm is undecided.
local function confirm(experiment, gate, options, quiet)
  local failing = lists.where(gate.results, function(row) return row.state == "fail" and row.is_timed end)
  if #failing == 0 or ending.of(gate.result) ~= "complete" then return end
  if not quiet then output.note "a limit of times fails: it is tried once more" end
  local ok, result = pcall(run_again, experiment)
  if not ok or ending.of(result) ~= "complete" then
    table.insert(gate.remarks, "the limits that fail could not be tried once more"
      .. (ok and "" or ": " .. tostring(result)))
    return
  end
  local second = result:gate(options)
  for _, row in ipairs(failing) do
    row.again = same_row(second.results, row)
    if row.again and row.again.state ~= "fail" then row.state = "undecided" end
  end
  gate.state = check.gravest(gate.results)
end

-- ---- its cause ---------------------------------------------------------------------------------------------

local function workload_of(experiment, cell, code)
  local workload = lists.by(experiment.declaration.workloads, "name")[cell.workload]
  local placed = require("pmclua.workload").renamed(workload, cell:label())
  local levels = cell.levels
  if workload.takes["layout.build"] then levels = placing.levels(experiment.declaration, cell, code) end
  if placed.fix then placed:fix(levels) end
  return placed
end

local function absent_cause(cell, limits, why)
  return { cell = cell, limits = limits, sentences = {}, parts = {}, absent = { why }, unit = "" }
end

local function is_open(row) return row.state == "fail" or row.state == "undecided" end

-- The layout in which a pair differs most, the way it does on the whole: the seed of its code.
local function worst_layout(pair, limits)
  local event = require("pmclua.result.values").events_needed(pair.cell.result,
    require("pmclua.metric").limit(limits[1]))[1]
  local ours, theirs = pair.cell:values_by_block(event.field), pair.baseline:values_by_block(event.field)
  local layouts, sums, sum, worst = pair.cell.result.header.layouts, {}, 0, nil
  for index, value in pairs(ours) do
    local ratio = theirs[index] and theirs[index] > 0 and value > 0 and math.log(value / theirs[index]) or 0
    local layout = layouts[math.ceil(index / clusters.runs_of_a_layout(pair.cell.result.header))]
    sums[layout], sum = (sums[layout] or 0) + ratio, sum + ratio
  end
  for _, layout in ipairs(layouts) do
    local is_further = sums[layout] and (not worst or (sums[layout] - sums[worst]) * sum > 0)
    if is_further then worst = layout end
  end
  return worst and worst.code or 0
end

-- Runs a function while the programs of a layout are there, then leaves them as their build had made them.
local function in_layout(declaration, code, fn)
  local session = require("pmclua.workload.session").new()
  local placed = placing.new(declaration, session)
  local ok, outcome = pcall(function()
    placed:prepare({ levels = {} }, { code = code })
    return fn()
  end)
  local is_restored, why = pcall(placed.restore, placed)
  session:close()
  if not (ok and is_restored) then error(ok and why or outcome, 0) end
  return outcome
end

local function cause_of(experiment, pair, limits, seconds)
  local declaration = experiment.declaration
  local a, b = pair.baseline, pair.cell
  local function look(code)
    return cause.of({ a = a, b = b }, { a = workload_of(experiment, a, code),
      b = workload_of(experiment, b, code) }, limits, { budget = seconds, pin = declaration.pin,
      timeout = declaration.timeout, on_failure = declaration.on_failure,
      simulation = declaration.simulation })
  end
  if not declaration.build then return look() end
  local code = worst_layout(pair, limits)
  local ok, outcome = pcall(in_layout, declaration, code, function() return look(code) end)
  if not ok then
    return absent_cause(b:label(), limits, "its layout could not be built again: " .. tostring(outcome))
  end
  local own = ("these are the programs of the layout that differs most, seed %d"):format(code)
  outcome.sentences[#outcome.sentences + 1] = own
  return outcome
end

local function add_causes(gate, seconds, look)
  local groups = lists.groups(lists.where(gate.results, is_open), function(row) return row.cell end)
  gate.causes = {}
  for i, rows in ipairs(groups) do
    gate.causes[i] = look(rows.key, lists.column(rows, "text"), seconds / #groups)
  end
end

local function look_here(experiment, gate, against)
  local pairs_of = against and require("pmclua.result.compare").pairs(gate.result, against) or {}
  return function(label, limits, seconds)
    local pair = lists.find(pairs_of, function(candidate) return candidate.cell:label() == label end)
    return pair and cause_of(experiment, pair, limits, seconds)
      or absent_cause(label, limits, "there is nothing of the same run to compare it with (against)")
  end
end

local function look_stored(gate, program)
  return function(label, limits, seconds)
    local cell = lists.find(gate.result:list(), function(candidate) return candidate:label() == label end)
    local before = cell and stored.baseline(gate, cell)
    if not before then return absent_cause(label, limits, "no baseline has this cell") end
    local sides, why = stored.sides({ a = before, b = cell }, program)
    if not sides then return absent_cause(label, limits, why) end
    local named = cause.of({ a = before, b = cell }, sides, limits, { budget = seconds })
    named.sentences[#named.sentences + 1] = why
    return named
  end
end

--- Checks the limits of a stored result.
---@param result pmclua.Result
---@param options pmclua.GateOptions with why, budget, old_program
---@return pmclua.Gate
function M.check_stored(result, options)
  local own = lists.copy(options)
  own.why, own.budget, own.old_program = nil, nil, nil
  local seconds = units.seconds(options.budget or cause.BUDGET_S)
  local gate = require("pmclua.result.gate").check(result, own)
  if options.why and lists.any(gate.results, is_open) then
    add_causes(gate, seconds, look_stored(gate, options.old_program))
  end
  return gate
end

---@class pmclua.GatedOptions: pmclua.GateOptions
---@field why? boolean true: the cause of what fails or is undecided is looked for; nil: as the experiment declares
---@field budget? number|string how long that may take; default: 2 min
---@field quiet? boolean

--- Checks the limits of a run of an experiment.
---@param experiment pmclua.Experiment
---@param result pmclua.Result of `experiment:run`
---@param options? pmclua.GatedOptions
---@return pmclua.Gate
function M.check(experiment, result, options)
  local own = lists.copy(options or {})
  local is_why, budget, quiet = own.why, own.budget, own.quiet
  own.why, own.budget, own.quiet = nil, nil, nil
  if own.baseline == nil and own.against == nil then own.against = experiment.declaration.against end
  if is_why == nil then is_why = experiment.declaration.why end
  local seconds = units.seconds(budget or cause.BUDGET_S)
  local gate = result:gate(own)
  if not own.baseline then confirm(experiment, gate, own, quiet) end
  local is_wanted = is_why and lists.any(gate.results, is_open) and ending.of(result) == "complete"
  if is_wanted then add_causes(gate, seconds, look_here(experiment, gate, own.against)) end
  return gate
end

return M
