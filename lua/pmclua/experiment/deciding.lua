--- deciding.lua: whether simulated counts that differ are enough for what is asked of them: the limits on them, the
-- comparisons, or where there is neither a narrow interval.
--
-- Invariant: a decision is tried at only a few numbers of repetitions, with intervals corrected for it
-- (verdict/stop.lua).

local lists = require "pmclua.base.lists"
local means = require "pmclua.stats.mean"
local stop = require "pmclua.verdict.stop"
local values = require "pmclua.result.values"

local M = {}

local NARROW = 1e-4             -- half width of an interval, as a share
local FEWEST = 5                -- repetitions that show how many more would decide

-- The limits on simulated counts that can be checked here.
local function limits_of(declaration, result, with)
  local has_baseline = with.baseline ~= nil or declaration.against ~= nil
  return lists.map(declaration.gate or {}, function(limit)
    local is_checked = (has_baseline or not limit.relative) and values.is_simulated(result, limit)
    return is_checked and limit.formula or nil
  end)
end

local function load(file)
  return type(file) == "string" and require("pmclua.result.files").load(file) or file
end

-- How the limits are checked during the run: baselines are read once.
local function options_of(declaration, with)
  local own, baseline = lists.copy(with), with.baseline
  own.is_running, own.against = true, baseline == nil and declaration.against or nil
  local is_list = type(baseline) == "table" and not baseline.header
  own.baseline = is_list and lists.map(baseline, load) or load(baseline)
  return own
end

local function is_open(row, blocks)
  if row.state ~= "undecided" or not row.jitter then return false end
  local most = stop.SIMULATED_LOOKS[#stop.SIMULATED_LOOKS]
  return blocks < FEWEST or row.needed ~= nil and row.needed <= most
end

local function limits_are_open(result, options, blocks)
  local gate = require("pmclua.result.gate").check(result, options)
  return lists.any(gate.results, function(row) return is_open(row, blocks) end)
end

local function simulated_names(result)
  return lists.where(require("pmclua.result.names").quantities(result), function(name)
    return values.is_simulated(result, { needs = { name } })
  end)
end

local function comparisons_are_open(result, names)
  local compared = result:compare { names = names }
  return lists.any(compared.pairs, function(pair)
    return lists.any(pair.rows, function(row)
      return row.verdict ~= nil and row.verdict.verdict == "undecided"
    end)
  end)
end

local function is_wide(summary)
  if summary.n < 2 or summary.exact then return false end
  local estimate = means.of(summary.values)
  local low, high = means.interval(estimate, stop.simulated_level())
  return (high - low) / 2 > NARROW * math.abs(estimate.mean)
end

local function counts_are_wide(result, names)
  return lists.any(result:list(), function(cell)
    return lists.any(names, function(name) return is_wide(cell:summary(name)) end)
  end)
end

--- Decides how many repetitions of simulated counts are made.
---@param declaration pmclua.Declaration
---@param result pmclua.Result that grows
---@param gate_with? pmclua.GateOptions how the limits will be checked, if not as they were declared
---@return pmclua.Deciding
function M.new(declaration, result, gate_with)
  local options = options_of(declaration, gate_with or {})
  options.limits = limits_of(declaration, result, options)
  local has_limits = #options.limits > 0
  local function decide(blocks)
    if has_limits and limits_are_open(result, options, blocks) then return false end
    local names = simulated_names(result)
    if declaration.baseline then return not comparisons_are_open(result, names) end
    return has_limits or not counts_are_wide(result, names)
  end
  return { looks = stop.SIMULATED_LOOKS, decide = decide,
    extends = has_limits and not declaration.stop and declaration.layout ~= "randomise" }
end

return M
