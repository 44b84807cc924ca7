--- gating.lua: the limits that a script declares, checked when its run has ended.
--
-- Limits that need no baseline are always checked; the others where `--gate FILE` names one.

local M = {}

---@class pmclua.Gating
---@field limits string[] to check
---@field skipped integer limits that need a baseline where none was named
---@field baseline pmclua.Result?
---@field any_host boolean?

local function usable(limits, baseline)
  local list = {}
  for _, limit in ipairs(limits) do
    if baseline or not limit.relative then list[#list + 1] = limit.formula end
  end
  return list
end

-- The baseline, refused before anything runs where it is of another host.
local function baseline_of(overrides)
  if not overrides.gate then return nil end
  local baseline = require("pmclua.experiment.result.files").load(overrides.gate)
  if not overrides.any_host then
    require("pmclua.experiment.result.gate").check_host(require("pmclua.machine").facts(), baseline)
  end
  return baseline
end

--- What will be checked; the baseline is read before anything runs.
---@param declaration pmclua.Declaration
---@param overrides pmclua.Overrides
---@return pmclua.Gating? nil where there is nothing to check; raises a usage error for --gate without limits
function M.prepare(declaration, overrides)
  local limits = declaration.gate or {}
  if overrides.gate and #limits == 0 then
    error(require("pmclua.options").usage_error(
      "--gate: this experiment declares no limits; `pmclua gate` takes them as --limit"), 0)
  end
  if #limits == 0 then return nil end
  local baseline = baseline_of(overrides)
  local list = usable(limits, baseline)
  return { limits = list, skipped = #limits - #list, baseline = baseline, any_host = overrides.any_host }
end

local STATUS = { pass = nil, fail = 3, uncountable = 77 }

--- Checks a finished run and says on standard error what did not hold.
---@param gating pmclua.Gating?
---@param result pmclua.Result
---@param quiet boolean?
---@return integer? status that it stands for; nil where all held
function M.conclude(gating, result, quiet)
  if not gating then return nil end
  if gating.skipped > 0 and not quiet then
    local said = "pmclua: %d of the limits need a baseline: --gate FILE names one\n"
    io.stderr:write(said:format(gating.skipped))
  end
  if #gating.limits == 0 then return nil end
  local gate = result:gate { limits = gating.limits, baseline = gating.baseline, any_host = gating.any_host }
  if gate.state ~= "pass" or not quiet then io.stderr:write("pmclua: ", tostring(gate), "\n") end
  return STATUS[gate.state]
end

return M
