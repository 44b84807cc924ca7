--- regions_data.lua: the calls of regions for programs: facts, and single calls as records.

local region_calls = require "pmclua.result.calls"
local lists = require "pmclua.base.lists"

local M = {}

-- ---- facts ---------------------------------------------------------------------------------------------

local QUANTILES = { { "q1", 0.25 }, { "median", 0.5 }, { "q3", 0.75 }, { "p90", 0.9 }, { "p99", 0.99 },
  { "p999", 0.999 } }

local function json_values(region, about, is_self)
  local values = region:values(about.field, is_self)
  local out = { status = values.status, why = values.why, total = values.sum, per_call = values.mean,
    least = values.least, share = values.share, ran = values.ran, n = values.n, min = values.min,
    max = values.max,
    probing = values.probing, probing_spread = values.probing_spread }
  for _, pair in ipairs(QUANTILES) do
    local value, is_exact = region:quantile(about.field, pair[2], is_self)
    out[pair[1]], out.exact = value, is_exact
  end
  if values.n > 0 and not is_self then out.histogram = region:histogram(about.field) end
  return out
end

local function json_region(result, region)
  local out = { name = region.name, notes = region.notes, events = {}, itself = {} }
  for _, name in ipairs(region_calls.FACTS) do out[name] = region[name] end
  for _, about in ipairs(region_calls.names(result.events)) do
    out.events[about.field] = json_values(region, about)
    out.itself[about.field] = json_values(region, about, true)
  end
  out.threads = lists.map(region.threads, function(thread)
    return { pid = thread.pid, tid = thread.tid, name = thread.name, calls = thread.calls }
  end)
  return out
end

--- The followed calls of a cell, for JSON.
---@param result pmclua.Regions
---@return table
function M.entry(result)
  local out = { command = result.command, outcome = result.outcome, exit = result.exit,
    signal = result.signal, wall_ns = result.wall_ns, followed = result.path, samples = result.samples,
    lost = result.lost, observed = result.observed, ran = result.ran, subtracted = result.subtracted or false,
    regions = lists.map(result, function(region) return json_region(result, region) end) }
  local cost, spread = result:probing "cpu_time"
  if cost then out.probing = { cpu_time = cost, spread = spread } end
  out.probing_unknown = result.cost_unknown
  return out
end

---@param result pmclua.Regions
---@return pmclua.ReportFacts
function M.facts(result) return { value = M.entry(result) } end

-- ---- calls one by one ----------------------------------------------------------------------------------

local FACTS = { "region", "tid", "start_ns", "level", "duration", "cpu_time" }

local function csv_columns(result, run)
  local names, columns = { unpack(FACTS) }, { [5] = 1, [6] = 2 }
  for index, event in ipairs(result.events) do
    if run.columns[index] then
      names[#names + 1] = event.field
      columns[#names] = run.columns[index]
    end
  end
  return names, columns
end

local function known_fields(result, names)
  local known = {}
  for i, region in ipairs(result) do
    known[i] = { level = not region_calls.is_switching(region) }
    for k = 5, #names do known[i][k] = not region_calls.why_not(region, names[k]) end
  end
  return known
end

--- The kept calls of the first pass, in the order of their ends.
---@param result pmclua.Regions
---@return pmclua.Records
function M.records(result)
  local run = result.runs[1]
  local names, columns = csv_columns(result, run)
  local known, calls = known_fields(result, names), run.regions.calls
  return { columns = names, each = function(lines)
    for i = 1, calls.count do
      local call = calls:at(i)
      local has = known[call.region]
      local fields = { result[call.region].name, call.tid, call.start_ns, has.level and call.level }
      for k, column in pairs(columns) do fields[k] = has[k] and calls:value(i, column) end
      lines:put(fields)
    end
  end }
end

return M
