--- benchmark.lua: a result in the JSON format of google/benchmark, for its compare.py and for what tracks
--- benchmarks by it.
--
-- One entry a repetition and four aggregates a cell, real and CPU time in ns per iteration; counts and
-- metrics are user counters. An absent count has no counter: the format cannot say why. Where the CPU
-- time is not known, cpu_time, which the format demands, repeats real_time.

local json = require "pmclua.json"
local stats = require "pmclua.stats"
local times = require "pmclua.report.times"

local M = {}

local ORDER = { "context", "benchmarks", "name", "family_index", "per_family_instance_index", "run_name",
  "run_type", "repetitions", "repetition_index", "threads", "aggregate_name", "aggregate_unit", "iterations",
  "real_time", "cpu_time", "time_unit" }

-- ---- context -------------------------------------------------------------------------------------------

local function context(header)
  local host = header.host or {}
  return { date = header.started or "", host_name = host.hostname or "", executable = "pmclua",
    num_cpus = host.cpus or 1, mhz_per_cpu = host.mhz or 0,
    cpu_scaling_enabled = host.governor ~= nil and host.governor ~= "performance",
    caches = {}, load_avg = {}, library_build_type = "release", json_schema_version = 1 }
end

-- ---- entries -------------------------------------------------------------------------------------------

-- "rows/n:256": levels after the name, as google/benchmark has arguments.
local function run_name(cell)
  local parts = { cell.workload }
  for _, factor in ipairs(cell.result.header.factors) do
    local level = cell.levels[factor[1]]
    parts[#parts + 1] = ("%s:%s"):format(factor[1], type(level) == "number" and json.number(level)
      or tostring(level))
  end
  if cell.region then parts[#parts + 1] = cell.region end
  return table.concat(parts, "/")
end

local RESERVED = {}
for _, name in ipairs(ORDER) do RESERVED[name] = true end

-- Values of events and metrics by repetition.
local function counters(cell)
  local found = {}
  for _, list in ipairs { cell.result.events, cell.result.metrics } do
    for _, item in ipairs(list) do
      local name = item.field or item.name
      found[RESERVED[name] and name .. "_count" or name] = cell:values_by_block(name)
    end
  end
  return found
end

local function base_entry(cell, number, count)
  return { family_index = number - 1, per_family_instance_index = 0, run_name = run_name(cell),
    repetitions = count, threads = 1, time_unit = "ns" }
end

local function repetition_entry(cell, number, found, i, extra)
  local entry = base_entry(cell, number, #found.wall)
  entry.name, entry.run_type, entry.repetition_index = entry.run_name, "iteration", i - 1
  entry.iterations = found.iterations[i] == 0 and 1 or found.iterations[i]
  entry.real_time, entry.cpu_time = found.wall[i], found.cpu[i] or found.wall[i]
  for name, by_block in pairs(extra) do entry[name] = by_block[found.index[i]] end
  return entry
end

local function cpu_times(found)
  local list = {}
  for i = 1, #found.wall do list[i] = found.cpu[i] or found.wall[i] end
  return list
end

local AGGREGATES = {
  { "mean", function(values) return (times.moments(values)) end, "time" },
  { "median", function(values) return (stats.median(values)) end, "time" },
  { "stddev", function(values) return select(2, times.moments(values)) end, "time" },
  { "cv", function(values)
    local mean, deviation = times.moments(values)
    return deviation and mean ~= 0 and deviation / mean or nil
  end, "percentage" },
}

local function add_aggregates(entries, cell, number, found, extra)
  for _, aggregate in ipairs(AGGREGATES) do
    local name, compute, unit = unpack(aggregate)
    local real = compute(found.wall)
    if real then
      local entry = base_entry(cell, number, #found.wall)
      entry.name, entry.run_type = entry.run_name .. "_" .. name, "aggregate"
      entry.aggregate_name, entry.aggregate_unit, entry.iterations = name, unit, #found.wall
      entry.real_time, entry.cpu_time = real, compute(cpu_times(found))
      for counter, by_block in pairs(extra) do
        local list = {}
        for _, value in pairs(by_block) do list[#list + 1] = value end
        entry[counter] = #list > 0 and compute(list) or nil
      end
      entries[#entries + 1] = entry
    end
  end
end

local function add_cell(entries, cell, number)
  local found = times.of(cell)
  if #found.wall == 0 then return end
  local extra = counters(cell)
  for i = 1, #found.wall do entries[#entries + 1] = repetition_entry(cell, number, found, i, extra) end
  add_aggregates(entries, cell, number, found, extra)
end

--- The result as google/benchmark would write it.
---@param result pmclua.Result
---@return string
function M.render(result)
  local entries, number = {}, 0
  for cell in result:cells() do
    number = number + 1
    add_cell(entries, cell, number)
  end
  local whole = { context = context(result.header), benchmarks = entries }
  return json.encode(whole, { order = ORDER, indent = 1 }) .. "\n"
end

return M
