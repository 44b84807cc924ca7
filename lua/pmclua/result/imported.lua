--- imported.lua: results of other benchmark tools as results.

local foreign = require "pmclua.result.foreign"
local lists = require "pmclua.base.lists"

local M = {}

-- The names of the events, the time first.
local function events_of(found)
  local names = {}
  for _, one in ipairs(found.benchmarks) do
    for _, row in ipairs(one.rows) do
      for name in pairs(row.values) do names[name] = true end
    end
  end
  names.duration_time = nil
  return lists.joined { { "duration_time" }, lists.keys(names) }
end

local function event_of(found, name)
  local is_time = name == "duration_time"
  return { name = name, field = name, spec = name, unit = is_time and "ns" or found.units[name] or "",
    scale = 1 / foreign.parts(found, name), attr = {},
    tool = is_time and found.knows_iterations and "wall_ns" or nil }
end

local function header_of(found, names)
  local per, pass = found.knows_iterations and "iteration" or "run", {}
  for i = found.knows_iterations and 2 or 1, #names do pass[#pass + 1] = i end
  return { name = "import", question = nil, started = found.started, factors = {}, metrics = {}, per = {},
    seed = 0, repetitions = 0, warmup = 0, passes = "rerun", primary = "duration_time",
    pass_events = { pass }, anchors = {}, host = { hostname = found.host, cpu = found.cpu },
    notes = found.notes,
    workloads = lists.map(found.benchmarks, function(one)
      return { name = one.name, kind = found.kind, per = per }
    end),
    cells = lists.map(found.benchmarks, function(one) return { workload = one.name, levels = {} } end),
    events = lists.map(names, function(name) return event_of(found, name) end) }
end

local function record_of(found, one, row, names)
  local iterations = found.knows_iterations and row.iterations or 1
  local record = { workload = one.name, levels = {}, pass = 1, warmup = false, outcome = "done",
    iterations = iterations, counts = {}, enabled = {}, running = {},
    wall_ns = math.floor(row.values.duration_time * iterations + 0.5) }
  for i, name in ipairs(names) do
    local value = row.values[name]
    if value then
      record.counts[i] = foreign.count(found, name, value, iterations)
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
  for cell, one in ipairs(import.benchmarks) do
    for index, row in ipairs(one.rows) do
      local record = record_of(import, one, row, names)
      order = order + 1
      record.cell, record.index, record.order = cell, index, order
      results.add(result, record)
    end
  end
  require("pmclua.result.ending").set(result, "complete")
  result.remarks = lists.map(import.left_out, function(said) return "left out: " .. said end)
  return result
end

return M
