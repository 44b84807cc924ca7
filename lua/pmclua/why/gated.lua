--- gated.lua: the limits of an experiment that has run: what fails by times is tried once more, and its cause is looked for.
--
-- Invariant: a limit of times fails only where two runs say so, each with processes, an order and layouts of its own,
-- and both are shown. Counts need no second run. A cause is looked for only where a limit fails or is undecided.

local cause = require "pmclua.why.cause"
local check = require "pmclua.verdict.check"
local ending = require "pmclua.result.ending"
local experiments = require "pmclua.experiment"
local lists = require "pmclua.base.lists"
local output = require "pmclua.host.output"
local shellwords = require "pmclua.workload.shellwords"

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

-- A cell's workload without factors: their levels are filled in.
local function workload_of(experiment, cell, name)
  local workload = lists.by(experiment.declaration.workloads, "name")[cell.workload]
  local placed = require("pmclua.workload").renamed(workload, name)
  if placed.kind == "command" then
    placed.argv = shellwords.fill_all(placed.argv, cell.levels)
    placed.cwd = placed.cwd and shellwords.fill(placed.cwd, cell.levels)
    placed.stdin = placed.stdin and shellwords.fill(placed.stdin, cell.levels)
  elseif placed.kind == "kernel" then
    placed.params = lists.copy(placed.params or {})
    for factor, level in pairs(cell.levels) do placed.params[factor] = level end
  end
  return placed
end

local function absent_cause(cell, limits, why)
  return { cell = cell, limits = limits, sentences = {}, parts = {}, absent = { why }, unit = "" }
end

local function is_open(row) return row.state == "fail" or row.state == "undecided" end

local function cause_of(experiment, pair, limits, seconds)
  local declaration = experiment.declaration
  local a, b = pair.baseline, pair.cell
  if declaration.build then
    return absent_cause(b:label(), limits, "programs that are built for each layout are not looked into")
  end
  return cause.of({ a = a, b = b }, { a = workload_of(experiment, a, a:label()),
    b = workload_of(experiment, b, b:label()) }, limits, { budget = seconds, pin = declaration.pin,
    timeout = declaration.timeout, on_failure = declaration.on_failure })
end

-- Causes, cell by cell; the budget is shared out among those that are left.
local function add_causes(experiment, gate, options, seconds)
  local against = options.against
  local pairs_of = against and require("pmclua.result.compare").pairs(gate.result, against) or {}
  local groups = lists.groups(lists.where(gate.results, is_open), function(row) return row.cell end)
  gate.causes = {}
  for i, rows in ipairs(groups) do
    local limits = lists.column(rows, "text")
    local pair = lists.find(pairs_of, function(one) return one.cell:label() == rows.key end)
    gate.causes[i] = pair and cause_of(experiment, pair, limits, seconds / #groups)
      or absent_cause(rows.key, limits, "there is nothing of the same run to compare it with (against)")
  end
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
  local seconds = cause.seconds(budget)
  local gate = result:gate(own)
  if not own.baseline then confirm(experiment, gate, own, quiet) end
  local is_wanted = is_why and lists.any(gate.results, is_open) and ending.of(result) == "complete"
  if is_wanted then add_causes(experiment, gate, own, seconds) end
  return gate
end

return M
