--- imported.lua: results of other benchmark tools as results: their repetitions, where they kept them.
--
-- Invariant: a value is what the tool wrote. A time of one operation is stored as that of its iterations, where the tool
-- says how many these were, else in picoseconds: so nothing is lost by rounding. What a tool kept no repetitions of is
-- left out, with a remark: one mean says nothing of how it varies.

local lfs = require "lfs"

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local problem = require "pmclua.base.problem"
local text = require "pmclua.base.text"

local M = {}

local MOST_BYTES = 256 * 1024 * 1024
local MOST_FILES, MOST_DEPTH = 10000, 12
local PER_NS = 1000                     -- picoseconds

---@class pmclua.ImportedRow one repetition of a benchmark
---@field iterations? number
---@field values table<string, number> of one iteration, by event; duration_time in ns

---@class pmclua.Imported
---@field tool string
---@field kind "command"|"kernel"
---@field knows_iterations boolean
---@field benchmarks { name: string, rows: pmclua.ImportedRow[] }[]
---@field units table<string, string> of events
---@field notes table<string, string>
---@field cpu? string
---@field left_out string[] what was not taken, and why

local function fail(path, why, hint)
  error(problem.problem { code = "EIMPORT", operation = "import", hint = hint,
    message = ("%s: %s"):format(text.safe(path), why) }, 0)
end

local function new(tool, kind)
  return { tool = tool, kind = kind or "kernel", knows_iterations = kind ~= "command", benchmarks = {},
    by_name = {}, units = {}, notes = {}, left_out = {} }
end

local function add(found, name, iterations, values)
  local own = found.by_name[name]
  if not own then
    own = { name = name, rows = {} }
    found.by_name[name], found.benchmarks[#found.benchmarks + 1] = own, own
  end
  if not iterations then found.knows_iterations = false end
  own.rows[#own.rows + 1] = { iterations = iterations, values = values }
end

-- A tool's date in UTC; nil: it is none, or has no offset from UTC, and `is_utc` does not say that it is.
local function utc(date, is_utc)
  if type(date) ~= "string" then return nil end
  local year, month, day, hour, minute, second, zone =
    date:match "^(%d%d%d%d)-(%d%d)-(%d%d)[T ](%d%d):(%d%d):(%d%d)[%d.]*(.*)$"
  if not year then return nil end
  local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
  if not (sign or zone == "Z" or is_utc and zone == "") then return nil end
  local offset = sign and (sign == "-" and -1 or 1) * (hours * 60 + minutes) or 0
  -- os.time takes local time, of which the difference to UTC is taken off again.
  local at = os.time { year = year, month = month, day = day, hour = hour, min = minute - offset,
    sec = second, isdst = false }
  local there = os.date("!*t", at)
  there.isdst = false
  return os.date("!%Y-%m-%dT%H:%M:%SZ", at + os.difftime(at, os.time(there)))
end

local NS = { ns = 1, us = 1e3, ["µs"] = 1e3, ["μs"] = 1e3, ms = 1e6, s = 1e9 }

local function is_number(value)
  return type(value) == "number" and value == value and math.abs(value) < math.huge
end

-- "[n=100, kind=x]" of parameters.
local function parameters(map)
  if type(map) ~= "table" or next(map) == nil then return "" end
  return " [" .. table.concat(lists.map(lists.keys(map), function(name)
    return ("%s=%s"):format(name, tostring(map[name]))
  end), ", ") .. "]"
end

-- ---- the tools -------------------------------------------------------------------------------------------

local readers = {}

-- google/benchmark, --benchmark_out_format=json. Its own keys; others are counters.
local GOOGLE = lists.set { "name", "run_name", "run_type", "repetitions", "repetition_index", "threads",
  "iterations", "real_time", "cpu_time", "time_unit", "family_index", "per_family_instance_index", "label",
  "error_occurred", "error_message", "skipped", "skip_message", "aggregate_name", "aggregate_unit" }

function readers.google(json)
  local context = json.context
  local is_own = type(context) == "table" and type(json.benchmarks) == "table" and context.executable ~= nil
  if not is_own then return nil end
  local import = new "google/benchmark"
  for _, one in ipairs(json.benchmarks) do
    local scale = NS[one.time_unit or "ns"]
    if one.error_occurred or one.skipped then
      import.left_out[#import.left_out + 1] = ("%s: %s"):format(one.name,
        one.error_message or one.skip_message or "it was skipped")
    elseif one.run_type ~= "aggregate" and scale and is_number(one.real_time) then
      local values = { duration_time = one.real_time * scale, cpu_time = one.cpu_time * scale }
      for _, name in ipairs(lists.keys(one)) do
        if not GOOGLE[name] and is_number(one[name]) then values[text.field(name)] = one[name] end
      end
      add(import, one.run_name or one.name, one.iterations, values)
    end
  end
  import.units.cpu_time = "ns"
  import.host, import.started = context.host_name, utc(context.date)
  return import
end

-- hyperfine, --export-json.
function readers.hyperfine(json)
  local first = type(json.results) == "table" and json.results[1]
  if type(first) ~= "table" or first.command == nil then return nil end
  local import = new("hyperfine", "command")
  for _, one in ipairs(json.results) do
    local name = one.command .. parameters(one.parameters)
    if type(one.times) ~= "table" then
      import.left_out[#import.left_out + 1] = name .. ": it has no times"
    end
    for i, seconds in ipairs(type(one.times) == "table" and one.times or {}) do
      local memory = type(one.memory_usage_byte) == "table" and one.memory_usage_byte[i]
      add(import, name, nil, { duration_time = seconds * 1e9, max_rss = memory or nil })
    end
  end
  import.units.max_rss = "B"
  return import
end

-- pytest-benchmark, --benchmark-json.
function readers.pytest(json)
  local is_own = type(json.machine_info) == "table" and type(json.benchmarks) == "table"
  if not is_own then return nil end
  local import = new "pytest-benchmark"
  for _, one in ipairs(json.benchmarks) do
    local data = type(one.stats) == "table" and one.stats.data
    local name = one.fullname or one.name
    if type(data) ~= "table" then
      import.left_out[#import.left_out + 1] = name .. ": it has no rounds (--benchmark-save-data keeps them)"
    end
    for _, seconds in ipairs(type(data) == "table" and data or {}) do
      add(import, name, one.stats.iterations, { duration_time = seconds * 1e9 })
    end
  end
  local commit, cpu = json.commit_info, json.machine_info.cpu
  local hash = type(commit) == "table" and type(commit.id) == "string" and commit.id or nil
  import.notes.commit = hash and hash .. (commit.dirty == true and "+" or "")
  import.started = utc(json.datetime, true)
  import.cpu = type(cpu) == "table" and (cpu.brand_raw or cpu.brand) or nil
  import.host = json.machine_info.node
  return import
end

-- JMH, -rf json. Throughput is turned into the time of one operation.
local function jmh_ns(unit, value)
  local of, per = unit:match "^(.-)/(.-)$"
  if per == "op" and NS[of] then return value * NS[of] end
  if of == "ops" and NS[per] and value > 0 then return NS[per] / value end
end

function readers.jmh(json)
  local first = json[1]
  if type(first) ~= "table" or type(first.primaryMetric) ~= "table" then return nil end
  local import = new "JMH"
  for _, one in ipairs(json) do
    local name, raw = one.benchmark .. parameters(one.params), one.primaryMetric.rawData
    local count = 0
    for fork, values in ipairs(type(raw) == "table" and raw or {}) do
      for i, value in ipairs(values) do
        local row = { duration_time = is_number(value) and jmh_ns(one.primaryMetric.scoreUnit, value) or nil }
        for key, metric in pairs(one.secondaryMetrics or {}) do
          local other = type(metric.rawData) == "table" and (metric.rawData[fork] or {})[i]
          local field = text.field((key:gsub("^[^%w]+", ""):gsub("%W+", "_")))
          if is_number(other) then row[field] = other end
        end
        if row.duration_time then add(import, name, nil, row) end
        count = count + (row.duration_time and 1 or 0)
      end
    end
    if count == 0 then
      import.left_out[#import.left_out + 1] = ("%s: mode %s keeps no times of iterations"):format(name,
        tostring(one.mode))
    end
  end
  return import
end

-- asv, a file of its results folder: a list by result_columns, or (version 1) a map.
local function asv_column(columns, one, name)
  if one[name] ~= nil or not columns then return one[name] end
  for i, column in ipairs(columns) do
    if column == name then return one[i] end
  end
end

-- Combinations of parameters in asv's order: the last varies fastest.
local function asv_names(params)
  local names = { "" }
  for _, values in ipairs(type(params) == "table" and params or {}) do
    local longer = {}
    for _, before in ipairs(names) do
      for _, value in ipairs(values) do
        longer[#longer + 1] = before == "" and tostring(value) or before .. ", " .. tostring(value)
      end
    end
    names = longer
  end
  return lists.map(names, function(name) return name == "" and "" or "(" .. name .. ")" end)
end

function readers.asv(json)
  local is_own = json.commit_hash ~= nil and type(json.results) == "table"
  if not is_own then return nil end
  local import = new "asv"
  for _, name in ipairs(lists.keys(json.results)) do
    local one = json.results[name]
    local samples = type(one) == "table" and asv_column(json.result_columns, one, "samples")
    local labels = asv_names(type(one) == "table" and asv_column(json.result_columns, one, "params"))
    local is_time = (name:match "[^.]+$"):find "^time_" ~= nil
    if not (is_time and type(samples) == "table") then
      import.left_out[#import.left_out + 1] = name
        .. (is_time and ": it has no samples (asv run --record-samples)" or ": it is no time")
    end
    for k, list in ipairs(is_time and type(samples) == "table" and samples or {}) do
      for _, seconds in ipairs(type(list) == "table" and list or {}) do
        add(import, name .. (labels[k] or ""), nil, { duration_time = seconds * 1e9 })
      end
    end
  end
  import.notes.commit = json.commit_hash
  import.started = is_number(json.date) and os.date("!%Y-%m-%dT%H:%M:%SZ", json.date / 1000) or nil
  local machine = type(json.params) == "table" and json.params or {}
  import.cpu, import.host = machine.cpu, machine.machine
  return import
end

-- criterion, sample.json: total ns of so many iterations; beside it benchmark.json with the name.
function readers.criterion(json, path)
  local is_own = type(json.iters) == "table" and type(json.times) == "table"
  if not is_own then return nil end
  local import, folder = new "criterion", path:match "^(.*)/[^/]*$" or "."
  local known = require("dkjson").decode(core.read_plain(folder .. "/benchmark.json", MOST_BYTES) or "null")
  local name = type(known) == "table" and (known.full_id or known.title) or path
  for i, ns in ipairs(json.times) do
    local count = json.iters[i]
    if is_number(count) and count > 0 then add(import, name, count, { duration_time = ns / count }) end
  end
  return import
end

-- go test -bench, a line a repetition: "BenchmarkX-8  1000  1234 ns/op  16 B/op  1 allocs/op".
local GO_NAMES = { ["ns/op"] = "duration_time", ["B/op"] = "bytes_allocated", ["allocs/op"] = "allocations" }

local function read_go(bytes)
  local import = new "go test -bench"
  for line in bytes:gmatch "[^\n]+" do
    local name, count, rest = line:match "^(Benchmark%S*)%s+(%d+)%s+(.*%S)"
    local values = {}
    for value, unit in (rest or ""):gmatch "(%S+)%s+(%S+)" do
      values[GO_NAMES[unit] or text.field((unit:gsub("%W+", "_")))] = tonumber(value)
    end
    if name and values.duration_time then add(import, name:gsub("%-%d+$", ""), tonumber(count), values) end
    import.cpu = import.cpu or line:match "^cpu: (.*%S)"
  end
  import.units.bytes_allocated = "B"
  return #import.benchmarks > 0 and import or nil
end

-- ---- a result --------------------------------------------------------------------------------------------

local function read(path)
  local bytes, code = core.read_plain(path, MOST_BYTES)
  if not bytes then fail(path, (tostring(code):gsub("^.*: ", ""))) end
  local go = read_go(bytes)
  if go then return go end
  local json, _, why = require("dkjson").decode(bytes)
  if type(json) ~= "table" then fail(path, why or "it is neither JSON nor the output of go test -bench") end
  for _, name in ipairs(lists.keys(readers)) do
    local ok, found = pcall(readers[name], json, path)
    if not ok then fail(path, "it is damaged: " .. tostring(found)) end
    if found then return found end
  end
  fail(path, "no tool is known that writes this", "google/benchmark, criterion (sample.json), "
    .. "pytest-benchmark, go test -bench, hyperfine, asv and JMH are")
end

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
  local is_scaled = is_time and not found.knows_iterations
  return { name = name, field = name, spec = name, unit = is_time and "ns" or found.units[name] or "",
    scale = is_scaled and 1 / PER_NS or 1, tool = is_time and not is_scaled and "wall_ns" or nil, attr = {} }
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

local function whole(value) return math.floor(value + 0.5) end

local function record_of(found, one, row, names)
  local iterations = found.knows_iterations and row.iterations or 1
  local record = { workload = one.name, levels = {}, pass = 1, warmup = false, outcome = "done",
    iterations = iterations, counts = {}, enabled = {}, running = {},
    wall_ns = whole(row.values.duration_time * iterations) }
  for i, name in ipairs(names) do
    local value, is_scaled = row.values[name], name == "duration_time" and not found.knows_iterations
    if value then
      record.counts[i] = whole(value * iterations * (is_scaled and PER_NS or 1))
      record.enabled[i], record.running[i] = 1, 1
    end
  end
  return record
end

-- In the order of their names.
local function names_in(folder)
  local names = {}
  local ok, following, state = pcall(lfs.dir, folder)
  if not ok then fail(folder, (following:match ": ([^:]*)$" or following)) end
  for name in following, state do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- The samples that criterion has below a folder, as one.
local function read_folder(path)
  local import, files = new "criterion", 0
  local function take(folder, depth)
    for _, name in ipairs(names_in(folder)) do
      local own = folder .. "/" .. name
      local is_folder = name:sub(1, 1) ~= "." and depth < MOST_DEPTH
        and lfs.symlinkattributes(own, "mode") == "directory"
      if own:find "/new/sample%.json$" then
        files = files + 1
        if files > MOST_FILES then fail(path, ("it has more than %d samples"):format(MOST_FILES)) end
        for _, one in ipairs(read(own).benchmarks) do
          for _, row in ipairs(one.rows) do add(import, one.name, row.iterations, row.values) end
        end
      elseif is_folder then
        take(own, depth + 1)
      end
    end
  end
  take(path, 0)
  return import
end

--- A result of another tool.
---@param path string of a file, or of a folder of criterion's ("target/criterion")
---@return pmclua.Result result with a remark on what was left out; raises an error object where nothing can be read
function M.import(path)
  local is_folder = lfs.attributes(path, "mode") == "directory"
  local import = is_folder and read_folder(path) or read(path)
  if #import.benchmarks == 0 then
    local first = import.left_out[1]
    fail(path, "it has no repetitions" .. (first and ": " .. text.safe(first) or ""))
  end
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
