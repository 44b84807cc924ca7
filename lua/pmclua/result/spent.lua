--- spent.lua: how much of the calls' numbers is the cost of probing, and what is left without it.
--
-- Invariant: what is left is a number only where it exceeds the uncertainty of that cost.

local order = require "pmclua.stats.order"
local signed = require("pmclua.core.regions").signed

local M = {}

-- The cost of empty functions varies by this share between a program's own work, with other caches and branches, and a
-- program of their own, as observed.
local APART = 0.1

local SURE = 2                       -- the remainder must exceed the uncertainty this many times
local MOSTLY = 0.9

-- Where threads share stacks, the cost of a thread's probes cannot be assigned to calls.
local function is_known(region, run)
  local switching = run.regions[region.index].switching or 0
  return run.regions.costs_from ~= nil and run.costs[region.index] ~= nil and switching == 0
end

--- Whether numbers of a region are to be without the cost of probing, and it is known.
---@param region pmclua.RegionCalls
---@param run table
function M.is_taken_off(region, run) return region.subtracted and is_known(region, run) end

-- How far the cost of a column may be wrong, as a share of it: that of the region whose probes vary most.
local function share_of_spread(run, column)
  local most = 0
  for _, costs in pairs(run.costs) do
    local cost = costs[column]
    if cost.both ~= 0 then most = math.max(most, cost.spread / math.abs(cost.both)) end
  end
  return math.max(APART, most)
end

local DURATION, CPU_TIME = 1, 2

-- Preemption grows with the probes' time, sleep does not. Where half of the calls did not wait it is preemption.
local function spread_of_waiting(region, run, raw)
  local duration, cpu_time = tonumber(raw[DURATION]), tonumber(raw[CPU_TIME])
  local waiting, cost = duration - cpu_time, signed(raw[CPU_TIME + run.regions.costs_from])
  if waiting <= 0 or cpu_time == 0 then return 0 end
  local calls = run.regions.calls
  local durations = order.sorted(calls:values(region.index, DURATION))
  local cpu_times = order.sorted(calls:values(region.index, CPU_TIME))
  local sleeps = durations and order.median_of(durations) > 2 * order.median_of(cpu_times)
  return sleeps and 0 or waiting * math.min(1, cost / cpu_time)
end

-- A count that probes do not change stays as certain as it was.
local function spread_of_sum(run, cost, column) return math.abs(cost) * share_of_spread(run, column) end

--- The cost of probing in the sums of a region's calls; nil where it is unknown.
---@param region pmclua.RegionCalls
---@param run table
---@param raw table values of a sum, by column
---@param column integer
---@return number? cost
---@return number? spread by how much it may be wrong
function M.of_calls(region, run, raw, column)
  if not is_known(region, run) then return nil end
  local cost = signed(raw[column + run.regions.costs_from])
  local spread = spread_of_sum(run, cost, column)
  if column == DURATION then spread = spread + spread_of_waiting(region, run, raw) end
  return cost, spread
end

--- The cost of all probes in a run; nil where it is unknown for a region with calls.
---@param run table
---@param column integer
---@return number? cost
---@return number? spread
function M.of_run(run, column)
  local cost = 0
  if not run.regions.costs_from then return nil end
  for i, region in ipairs(run.regions) do
    if not run.costs[i] and region.entries ~= 0 then return nil end
    cost = cost + signed(region.spent[column])
  end
  return cost, spread_of_sum(run, cost, column)
end

--- The share of a sum in the run: of both without the cost of probing where that is known. Nil: nothing is left of
--- the run that could be told from it.
---@param run table
---@param values pmclua.RegionValues
---@param column integer
---@return number?
function M.share(run, values, column)
  local whole = run.whole[column]
  if not whole or whole == 0 then return nil end
  local enabled = run.whole[2]
  if values.status == "scaled" then whole = whole / run.ran end
  local cost, spread = M.of_run(run, column)
  if not cost or not values.probing then return values.sum / whole end
  if whole - cost <= SURE * spread then return nil end
  -- Time spent waiting for the CPU because of probes is unknown.
  local is_slowed = column == DURATION and enabled and enabled < MOSTLY * whole
  if is_slowed and cost > (1 - MOSTLY) * whole then return nil end
  return math.max(0, math.min(1, (values.sum - values.probing) / (whole - cost)))
end

--- Takes the cost of probing off a sum and what comes of it.
---@param values pmclua.RegionValues
---@param calls number
function M.take_off(values, calls)
  local ran = values.ran or 1
  local rest = values.sum - values.probing / ran
  if values.probing ~= 0 and rest <= SURE * values.probing_spread / ran then
    values.is_below, values.sum, values.mean, values.least, values.share = true, nil, nil, nil, nil
    values.min, values.max, values.status = nil, nil, "below-probing"
    values.why = "what is left of it without probing is within the uncertainty of probing"
    return
  end
  values.sum = rest
  values.mean = values.mean and rest / calls
  values.least = values.least and math.max(0, values.least - values.probing / ran)
end

--- The value below which a call cannot be told from the uncertainty of its probing, where that is taken off; else -1.
---@param region pmclua.RegionCalls
---@param run table
---@param column integer
---@param is_self? boolean
---@return number
function M.resolution(region, run, column, is_self)
  local facts = run.regions[region.index]
  if not M.is_taken_off(region, run) or facts.calls == 0 then return -1 end
  local calls = facts.calls - (is_self and 0 or facts.nested)
  local sums = is_self and require("pmclua.result.calls").self_sums(region, run) or facts.outermost
  local spread = spread_of_sum(run, signed(sums[column + run.regions.costs_from]), column)
  return spread > 0 and SURE * spread / calls or -1
end

--- The values of the calls that were kept, without the cost of probing where it is taken off.
---@param region pmclua.RegionCalls
---@param run table
---@param column integer
---@param is_self? boolean
---@return number[]
function M.list(region, run, column, is_self)
  local calls = run.regions.calls
  local list = calls:values(region.index, column, is_self)
  if not M.is_taken_off(region, run) then return list end
  local costs = calls:values(region.index, column + run.regions.costs_from, is_self)
  for i, cost in ipairs(costs) do list[i] = math.max(0, list[i] - cost) end
  return list
end

return M
