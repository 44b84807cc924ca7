--- imported.lua: results of other benchmark tools as results.

local foreign = require "pmclua.result.foreign"
local lists = require "pmclua.base.lists"

local M = {}

local function events_of(import)
  local names = {}
  for _, benchmark in ipairs(import.benchmarks) do
    for _, row in ipairs(benchmark.rows) do
      for name in pairs(row.values) do names[name] = true end
    end
  end
  names.duration_time = nil
  return lists.joined { { "duration_time" }, lists.keys(names) }
end

local function event_of(import, name)
  local is_time = name == "duration_time"
  return { name = name, field = name, spec = name, unit = is_time and "ns" or import.units[name] or "",
    scale = 1 / foreign.parts(import, name), attr = {},
    tool = is_time and import.knows_iterations and "wall_ns" or nil }
end

local function header_of(import, names)
  local per, pass = import.knows_iterations and "iteration" or "run", {}
  for i = import.knows_iterations and 2 or 1, #names do pass[#pass + 1] = i end
  return { name = "import", question = nil, started = import.started, factors = {}, metrics = {}, per = {},
    seed = 0, repetitions = 0, warmup = 0, passes = "rerun", primary = "duration_time",
    pass_events = { pass }, anchors = {}, host = { hostname = import.host, cpu = import.cpu },
    notes = import.notes,
    workloads = lists.map(import.benchmarks, function(benchmark)
      return { name = benchmark.name, kind = import.kind, per = per }
    end),
    cells = lists.map(import.benchmarks, function(benchmark)
      return { workload = benchmark.name, levels = {} }
    end),
    events = lists.map(names, function(name) return event_of(import, name) end) }
end

local function record_of(import, benchmark, row, names)
  local iterations = import.knows_iterations and row.iterations or 1
  local record = { workload = benchmark.name, levels = {}, pass = 1, warmup = false, outcome = "done",
    iterations = iterations, counts = {}, enabled = {}, running = {},
    wall_ns = math.floor(row.values.duration_time * iterations + 0.5) }
  for i, name in ipairs(names) do
    local value = row.values[name]
    if value then
      record.counts[i] = foreign.count(import, name, value, iterations)
      record.enabled[i], record.running[i] = 1, 1
    end
  end
  return record
end

--- A result of another tool.
---@param path string of a file, or of a folder of criterion's ("target/criterion")
---@return pmclua.Result result with a remark on what was left out; raises an error object where nothing can be read
function M.import(path)
  local import = foreign.read(path)
  local names, results, order = events_of(import), require "pmclua.result", 0
  import.notes.tool = import.tool
  local result = results.new(header_of(import, names))
  for cell, benchmark in ipairs(import.benchmarks) do
    for index, row in ipairs(benchmark.rows) do
      local record = record_of(import, benchmark, row, names)
      order = order + 1
      record.cell, record.index, record.order = cell, index, order
      results.add(result, record)
    end
  end
  require("pmclua.result.ending").set(result, "complete")
  result.remarks = lists.map(import.left_out, function(why) return "left out: " .. why end)
  return result
end

return M
