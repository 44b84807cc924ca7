--- benchmark.lua: a result in the JSON format of google/benchmark, for its compare.py and for what tracks
--- benchmarks by it.
--
-- One entry a repetition and four aggregates a cell, real and CPU time in ns per iteration; counts and
-- metrics are user counters. An absent count, and one that lacks what a launcher had others do, has no counter: the
-- format cannot say why. Where the CPU time is not known, cpu_time, which the format demands, repeats real_time.

local json = require "pmclua.base.json"
local read_cell = require("pmclua.result.cell").read
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"
local times = require "pmclua.report.times"

local M = {}

local ORDER = { "context", "benchmarks", "name", "family_index", "per_family_instance_index", "run_name",
  "run_type", "repetitions", "repetition_index", "threads", "aggregate_name", "aggregate_unit", "iterations",
  "real_time", "cpu_time", "time_unit" }

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

local RESERVED = lists.set(ORDER)

-- The list itself where every row has a value.
local function values_of_rows(values)
  if #values.rows == values.block.n then return values.list end
  local value_of_row = {}
  for k, row in ipairs(values.rows) do value_of_row[row] = values.list[k] end
  return value_of_row
end

-- A function that gives a value of each repetition of the block of its times: of the same block in
-- its order, else looked up.
local function by_row(cell, name, block)
  local summary = read_cell(cell, name)
  if summary.launcher then return function() end, {} end
  if summary.block == block then
    local value_of_row = values_of_rows(summary)
    return function(row) return value_of_row[row] end, summary.list
  end
  local by_block = cell:values_by_block(name)
  return function(row) return by_block[block.index[row]] end, summary.list
end

local function counters(cell, block)
  local list = lists.map(require("pmclua.report.tables").names(cell.result), function(field)
    local at, values = by_row(cell, field, block)
    return { name = RESERVED[field] and field .. "_count" or field, at = at, list = values }
  end)
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function base_entry(cell, number, count)
  return { family_index = number - 1, per_family_instance_index = 0, run_name = run_name(cell),
    repetitions = count, threads = 1, time_unit = "ns" }
end

-- An entry a repetition differs from the one before in numbers alone: they are put between texts that are
-- made once. Keys stand in the order of ORDER, then counters by name.
local function repetition_texts(cell, number, count, extra)
  local name = json.string(run_name(cell))
  local head = ('{"name":%s,"family_index":%d,"per_family_instance_index":0,"run_name":%s,'
    .. '"run_type":"iteration","repetitions":%d,"repetition_index":'):format(name, number - 1, name, count)
  local keys = {}
  for i, counter in ipairs(extra) do keys[i] = "," .. json.string(counter.name) .. ":" end
  return head, keys
end

local function repetition_entry(values, k, head, keys, extra)
  local iterations, wall, row = values.iterations(k), values.wall(k), values.rows[k]
  local parts = { head, json.number(k - 1), ',"threads":1,"iterations":',
    json.number(iterations == 0 and 1 or iterations), ',"real_time":', json.number(wall), ',"cpu_time":',
    json.number(values.cpu(k) or wall), ',"time_unit":"ns"' }
  for i, counter in ipairs(extra) do
    local value = counter.at(row)
    if value then parts[#parts + 1], parts[#parts + 2] = keys[i], json.number(value) end
  end
  parts[#parts + 1] = "}"
  return table.concat(parts)
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

local function aggregate_entry(cell, number, aggregate, wall, cpu, extra)
  local name, compute, unit = unpack(aggregate)
  local real = compute(wall)
  if not real then return nil end
  local entry = base_entry(cell, number, #wall)
  entry.name, entry.run_type = entry.run_name .. "_" .. name, "aggregate"
  entry.aggregate_name, entry.aggregate_unit, entry.iterations = name, unit, #wall
  entry.real_time, entry.cpu_time = real, compute(cpu)
  for _, counter in ipairs(extra) do
    entry[counter.name] = #counter.list > 0 and compute(counter.list) or nil
  end
  return json.encode(entry, { order = ORDER })
end

local function add_cell(add, cell, number)
  local timing = times.of(cell)
  local count = #timing.rows
  if count == 0 then return end
  local extra = counters(cell, timing.block)
  local head, keys = repetition_texts(cell, number, count, extra)
  for k = 1, count do add(repetition_entry(timing, k, head, keys, extra)) end
  local wall, cpu = times.list(timing, "wall"), times.list(timing, "cpu")
  for k = 1, count do cpu[k] = cpu[k] or wall[k] end
  for _, aggregate in ipairs(AGGREGATES) do
    local entry = aggregate_entry(cell, number, aggregate, wall, cpu, extra)
    if entry then add(entry) end
  end
end

--- Writes the result as google/benchmark would, in pieces.
---@param result pmclua.Result
---@param put fun(piece: string)
function M.write(result, put)
  local out, separator = require("pmclua.base.pieces").new(put), ""
  local function add(entry)
    out:add(separator .. entry)
    separator = ","
  end
  out:add('{\n  "context": ' .. json.encode(context(result.header), { order = ORDER }))
  out:add ',\n  "benchmarks": ['
  for number, cell in ipairs(lists.collect(result:cells())) do add_cell(add, cell, number) end
  out:add "]\n}\n"
  out:flush()
end

return M
