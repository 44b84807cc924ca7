--- experiment.lua: an experiment that a script returned, as the command line runs it: its options, its report, its
--- exit status.

local output = require("pmclua.base.lazy").module "pmclua.host.output"

local M = {}

local STATUS = { done = 0, failed = 1, not_held = 3, nothing_counted = 77 }

-- Valgrind refuses some programs only when they run (setuid): every repetition of them lacks the count.
local function lost_every_run(result, event)
  if not event.simulated or result.status ~= "complete" then return false end
  for cell in result:cells() do
    local summary = cell:summary(event.field)
    if summary and summary.n > 0 then return false end
  end
  return true
end

-- Whether a counter counted. Times alone will do where nothing else was asked for, or where one of them decides.
local function anything_counted(result)
  local is_refused = false
  local deciding = result.event_by_field[result.header.primary]
  if deciding and deciding.tool then return true end
  for _, event in ipairs(result.header.events) do
    if event.status or lost_every_run(result, event) then is_refused = true
    elseif not event.tool then return true end
  end
  return not is_refused
end

local function say_nothing_counted(result, quiet)
  if not quiet then
    local specs = require("pmclua.event.simulated").would_help(result.header.events)
    local help = #specs > 0 and "; --simulate has Valgrind count " .. table.concat(specs, ", ") or ""
    output.note("none of the events could be counted here: exit status %d%s", STATUS.nothing_counted, help)
  end
  return STATUS.nothing_counted
end

--- Says how predictions fared on standard error; the exit status they stand for, if any.
local function report_expectations(result, quiet)
  local status, held = nil, 0
  for _, expectation in ipairs(result.expectations) do
    if expectation.state == "pass" then held = held + 1
    else output.write(("pmclua: %s\n"):format(require("pmclua.experiment.expect").line(expectation)), 2) end
    if expectation.state == "fail" then status = STATUS.not_held
    elseif expectation.state == "uncountable" then status = status or STATUS.nothing_counted end
  end
  if held > 0 and not quiet then
    output.note("%d of %d predictions hold", held, #result.expectations)
  end
  return status
end

local function exit_status(experiment, result, gating, quiet)
  local predicted = report_expectations(result, quiet)
  local gated = require("pmclua.cli.gating").conclude(gating, experiment, result, quiet)
  if result.problem then output.note("%s", tostring(result.problem)) end
  if result.status == "interrupted" then
    if result.cut_off and not quiet then
      output.note("interrupted: killed the repetition that was running (%s)", result.cut_off)
    end
    if result.path and not result.header.shard and not quiet then
      output.note("run it again with --resume %s to complete it", result.path)
    end
    return 128 + result.signal
  end
  if result.status == "failed" or result.problem then return STATUS.failed end
  return predicted == STATUS.not_held and predicted or gated or predicted
    or (anything_counted(result) and STATUS.done or say_nothing_counted(result, quiet))
end

--- An experiment as its command line changes it.
---@param experiment pmclua.Experiment
---@param args string[] what the script's own options have left
---@param script? pmclua.Script
---@return pmclua.Experiment
---@return pmclua.Overrides
function M.override(experiment, args, script)
  local overrides = require("pmclua.cli.experiment_options").parse(args)
  experiment = require("pmclua.experiment").override(experiment, overrides)
  experiment.declaration.name = experiment.declaration.name or script and script.name
  return experiment, overrides
end

local function run_options(overrides, gating)
  local store = overrides.store
  if overrides.no_store then store = false end
  return { store = store, resume = overrides.resume, quiet = overrides.quiet,
    any_host = overrides.any_host, any_cpu = overrides.any_cpu,
    gate_with = gating and gating.options }
end

--- Runs an experiment, stored as its command line says.
---@param experiment pmclua.Experiment
---@param overrides pmclua.Overrides
---@param gating? pmclua.Gating
---@return pmclua.Result
function M.run(experiment, overrides, gating)
  return experiment:run(run_options(overrides, gating))
end

local function report(result, overrides)
  local place = output.place(overrides.output)
  if not place then return end
  local to_terminal = type(place) == "number" or place == "-"
  local by_ending = not to_terminal and require("pmclua.report").format_of(overrides.output, "result")
  local options = { format = overrides.format or by_ending or "table", stream = to_terminal and 1 or nil,
    show = overrides.show, columns = overrides.columns }
  -- With --store - records go to standard output, and a report only to a file.
  local is_streamed = overrides.store == "-" and not overrides.no_store
  if not is_streamed or overrides.output then
    output.write(function(put) result:write(put, options) end, place)
  end
end

--- Prints the plan, if the command line asks for that alone.
---@param experiment pmclua.Experiment
---@param overrides pmclua.Overrides
---@return string?
function M.planned(experiment, overrides)
  if not (overrides.plan or overrides.plan_all) then return nil end
  return require("pmclua.report.plan").render(experiment.declaration,
    require("pmclua.experiment").planned(experiment), not overrides.plan_all)
end

--- Runs an experiment that a script returned, with its command line. Returns the exit status.
---@param experiment pmclua.Experiment
---@param args string[] what the script's own options have left
---@return integer
function M.main(experiment, args, script)
  local overrides
  experiment, overrides = M.override(experiment, args, script)
  local planned = M.planned(experiment, overrides)
  if planned then
    output.write(planned)
    return STATUS.done
  end
  local gating = require("pmclua.cli.gating").prepare(experiment.declaration, overrides)
  local function conclude(run)
    local result = run(run_options(overrides, gating))
    if not overrides.job or overrides.output then report(result, overrides) end
    return exit_status(experiment, result, gating, overrides.quiet)
  end
  if overrides.job then return require("pmclua.cli.job").main(experiment, overrides, script, conclude) end
  return conclude(function(options) return experiment:run(options) end)
end

return M
