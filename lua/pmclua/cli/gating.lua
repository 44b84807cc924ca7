--- gating.lua: checks the limits that a script declares, after its run.
--
-- Limits without a baseline are always checked; the others against stored results (`--gate FILE`) or a cell of the
-- same blocks (`against`, `--against CELL`).

local lists = require "pmclua.base.lists"
local output = require("pmclua.base.lazy").module "pmclua.host.output"

local M = {}

---@class pmclua.Gating
---@field limits string[] to check
---@field skipped integer limits that need a baseline where none was named
---@field options pmclua.GateOptions how they are checked
---@field strict boolean? undecided is not enough
---@field output string? path of a file that gets what they conclude
---@field why boolean? the cause of what fails or is undecided is looked for
---@field budget string? how long that may take

local function usage_error(message) error(require("pmclua.base.problem").usage_error(message), 0) end

local function usable(limits, has_baseline)
  local checked = lists.where(limits, function(limit) return has_baseline or not limit.relative end)
  return lists.column(checked, "formula")
end

-- The baselines, refused before anything runs if one comes from another host.
local function baselines_of(declaration, overrides)
  if not overrides.gate then return nil end
  local gate, names = require "pmclua.result.gate", { event_by_field = {}, metric_by_name = {} }
  for _, event in ipairs(declaration.events) do names.event_by_field[event.field] = event end
  for _, metric in ipairs(declaration.metrics) do names.metric_by_name[metric.name] = metric end
  local are_simulated = gate.are_simulated(names, declaration.gate)
  local list, here = {}, require("pmclua.host.machine").facts()
  for i, path in ipairs(overrides.gate) do
    list[i] = require("pmclua.result.files").load(path)
    if not are_simulated then gate.check_host(here, list[i], overrides) end
  end
  return list
end

local function check_options(limits, overrides)
  for _, name in ipairs { "gate", "against", "strict", "gate_output", "run_spread", "why", "budget" } do
    if overrides[name] and #limits == 0 then
      usage_error(("--%s: this experiment declares no limits; `pmclua gate` takes them as --limit")
        :format((name:gsub("_", "-"))))
    end
  end
  if overrides.gate and overrides.against then
    usage_error "--gate compares with a stored result, --against with a cell of this run: give only one"
  end
end

--- The limits to check; the baseline is read before anything runs.
---@param declaration pmclua.Declaration
---@param overrides pmclua.Overrides
---@return pmclua.Gating? nil where there is nothing to check; raises a usage error for --gate without limits
function M.prepare(declaration, overrides)
  local limits = declaration.gate or {}
  check_options(limits, overrides)
  if #limits == 0 then return nil end
  output.check(overrides.gate_output)
  local baseline = baselines_of(declaration, overrides)
  local against = not baseline and declaration.against or nil
  local list = usable(limits, baseline or against)
  return { limits = list, skipped = #limits - #list, strict = overrides.strict,
    output = overrides.gate_output, why = overrides.why, budget = overrides.budget,
    options = { limits = list, baseline = baseline, against = against, any_host = overrides.any_host,
      any_cpu = overrides.any_cpu, any_arguments = overrides.any_arguments,
      run_spread = overrides.run_spread } }
end

--- Checks a finished run and says on standard error what did not hold.
---@param gating pmclua.Gating?
---@param experiment pmclua.Experiment
---@param result pmclua.Result
---@param quiet boolean?
---@return integer? status that it stands for; nil where all held
function M.conclude(gating, experiment, result, quiet)
  if not gating then return nil end
  if gating.skipped > 0 and not quiet then
    output.note("%d of the limits need a baseline: --gate FILE names one", gating.skipped)
  end
  if #gating.limits == 0 then return nil end
  local options = lists.copy(gating.options)
  options.why, options.budget, options.quiet = gating.why or nil, gating.budget, quiet
  local gate = experiment:gate(result, options)
  if gate.state ~= "pass" or not quiet then output.write(("pmclua: %s\n"):format(tostring(gate)), 2) end
  if gating.output then gate:write(gating.output) end
  local status = gate:status(gating.strict)
  return status ~= 0 and status or nil
end

return M
