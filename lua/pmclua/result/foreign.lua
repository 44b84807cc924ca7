--- foreign.lua: what other benchmark tools write: their repetitions, where they kept them.
--
-- Invariant: a value is what the tool wrote. A time of one operation is stored as that of its iterations, where the tool
-- says how many these were, else in picoseconds; counts of tools in thousandths: so little is lost by rounding. What a
-- tool kept no repetitions of, or is no count, is left out, with a remark: one mean says nothing of how it varies.

local lfs = require "lfs"

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local problem = require "pmclua.base.problem"
local text = require "pmclua.base.text"

local M = {}

local MOST_BYTES, MOST_FILES, MOST_DEPTH = 256 * 2 ^ 20, 10000, 12
local PARTS = 1000                      -- of a unit, in which is stored what need not be whole
local MOST_COUNT, MOST_WHOLE = 2 ^ 63, 2 ^ 53

---@class pmclua.ImportedRow one repetition of a benchmark
---@field iterations? number
---@field values table<string, number> of one iteration, by event; duration_time in ns

---@class pmclua.Imported
---@field tool string
---@field kind "command"|"kernel"
---@field knows_iterations boolean? it says of how many iterations each value is the mean
---@field benchmarks { name: string, rows: pmclua.ImportedRow[] }[]
---@field units table<string, string> of events
---@field notes table<string, string>
---@field cpu? string
---@field field fun(name: string): string the field of what only this tool counts
---@field left_out string[] what was not taken, and why

local function fail(path, why, hint)
  error(problem.problem { code = "EIMPORT", operation = "import", hint = hint,
    message = ("%s: %s"):format(text.safe(path), why) }, 0)
end

local OWN_FIELDS = { "duration_time", "cpu_time", "allocations", "bytes_allocated", "max_rss" }

local function new(tool, more)
  local import = { tool = tool, kind = "kernel", benchmarks = {}, by_name = {}, units = {}, notes = {},
    left_out = {}, field = text.naming(lists.set(OWN_FIELDS)) }
  for key, value in pairs(more or {}) do import[key] = value end
  return import
end

-- A field that a file of another version may lack, or have as something else.
local function as_table(value) return type(value) == "table" and value or {} end

local is_number = require("pmclua.base.number").is_finite

local function leave_out(import, form, ...)
  local reason = form:format(...)
  if not lists.contains(import.left_out, reason) then table.insert(import.left_out, reason) end
end

local WHOLE = lists.set { "allocations", "bytes_allocated", "max_rss" }

--- In how many parts of its unit an event is counted.
---@param import pmclua.Imported
---@param name string of the event
---@return integer
function M.parts(import, name)
  return (WHOLE[name] or name == "duration_time" and import.knows_iterations) and 1 or PARTS
end

--- The count of an event that is stored: of all iterations, in parts of its unit.
---@param import pmclua.Imported
---@param name string of the event
---@param value number of one iteration
---@param iterations? number
---@return number
function M.count(import, name, value, iterations)
  return math.floor(value * (iterations or 1) * M.parts(import, name) + 0.5)
end

local function add(import, name, iterations, values)
  for _, event in ipairs(lists.keys(values)) do
    local value = values[event]
    if not (is_number(value) and value >= 0 and M.count(import, event, value, iterations) < MOST_COUNT) then
      leave_out(import, "%s: %s is no number, below 0 or too large", name, event)
      values[event] = nil
    end
  end
  local is_whole = not iterations
    or is_number(iterations) and iterations >= 1 and iterations % 1 == 0 and iterations < MOST_WHOLE
  if not is_whole then leave_out(import, "%s: its iterations are no whole number", name) end
  if not (is_whole and values.duration_time) then return end
  local own = import.by_name[name]
  if not own then
    own = { name = name, rows = {} }
    import.by_name[name], import.benchmarks[#import.benchmarks + 1] = own, own
  end
  own.rows[#own.rows + 1] = { iterations = iterations, values = values }
end

-- Names are unique: of several benchmarks with one name, the second is "name (2)".
local function own_name(import, name)
  local number, own = 1, name
  while import.by_name[own] do
    number = number + 1
    own = ("%s (%d)"):format(name, number)
  end
  return own
end

local UTC = "!%Y-%m-%dT%H:%M:%SZ"

-- Days from 1970-01-01 to a date of the Gregorian calendar, which is as well before it: years begin in March, so that the
-- day of a leap year is their last.
local function days_to(year, month, day)
  year, month = month > 2 and year or year - 1, (month + 9) % 12
  return year * 365 + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((month * 153 + 2) / 5) + day - 719469
end

-- A tool's date in UTC; nil where it is no date, or has no offset and `is_utc` does not say that it is UTC.
local function utc(date, is_utc)
  if type(date) ~= "string" then return nil end
  local year, month, day, hour, minute, second, zone =
    date:match "^(%d%d%d%d)-(%d%d)-(%d%d)[T ](%d%d):(%d%d):(%d%d)[%d.]*(.*)$"
  if not year then return nil end
  local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
  if not (sign or zone == "Z" or is_utc and zone == "") then return nil end
  local offset_s = sign and (sign == "-" and -1 or 1) * (hours * 60 + minutes) * 60 or 0
  local at = days_to(tonumber(year), tonumber(month), tonumber(day)) * 86400 + hour * 3600 + minute * 60
    + second
  local is_date = os.date("!%Y%m%d%H%M%S", at) == year .. month .. day .. hour .. minute .. second
  return is_date and os.date(UTC, at - offset_s) or nil
end

local NS = { ns = 1, us = 1e3, ["µs"] = 1e3, ["μs"] = 1e3, ms = 1e6, s = 1e9 }

-- Values that are no numbers stay as they are, and are left out.
local function ns(value, scale) return is_number(value) and value * scale or value end

-- "[n=100, kind=x]" of parameters.
local function parameters(map)
  local list = lists.map(lists.keys(as_table(map)), function(name)
    return ("%s=%s"):format(name, tostring(map[name]))
  end)
  return #list > 0 and " [" .. table.concat(list, ", ") .. "]" or ""
end

-- ---- the tools -------------------------------------------------------------------------------------------

local readers = {}

-- google/benchmark, --benchmark_out_format=json. Keys not in this list are counters.
local GOOGLE = lists.set { "name", "run_name", "run_type", "repetitions", "repetition_index", "threads",
  "iterations", "real_time", "cpu_time", "time_unit", "family_index", "per_family_instance_index", "label",
  "error_occurred", "error_message", "skipped", "skip_message", "aggregate_name", "aggregate_unit" }

function readers.google(json)
  local context = as_table(json.context)
  if type(json.benchmarks) ~= "table" or context.executable == nil then return nil end
  local import, has_runs = new("google/benchmark", { knows_iterations = true }), {}
  for _, entry in ipairs(json.benchmarks) do
    local scale, name = NS[entry.time_unit or "ns"], entry.run_name or entry.name
    if entry.error_occurred or entry.skipped then
      leave_out(import, "%s: %s", entry.name, entry.error_message or entry.skip_message or "it was skipped")
    elseif not scale then
      leave_out(import, "%s: its time is in %s", name, tostring(entry.time_unit))
    elseif entry.run_type ~= "aggregate" then
      local values = {}
      for _, counter in ipairs(lists.keys(entry)) do
        if not GOOGLE[counter] and type(entry[counter]) == "number" then
          values[import.field(counter)] = entry[counter]
        end
      end
      values.duration_time, values.cpu_time = ns(entry.real_time, scale), ns(entry.cpu_time, scale)
      has_runs[name] = true
      add(import, name, is_number(entry.iterations) and math.max(entry.iterations, 1) or 1, values)
    elseif not has_runs[name] then
      leave_out(import, "%s: only its aggregates are there (--benchmark_report_aggregates_only)", name)
    end
  end
  import.units.cpu_time = "ns"
  import.host, import.started = context.host_name, utc(context.date)
  return import
end

-- hyperfine, --export-json.
function readers.hyperfine(json)
  if as_table(as_table(json.results)[1]).command == nil then return nil end
  local import = new("hyperfine", { kind = "command" })
  for _, command in ipairs(json.results) do
    local name = own_name(import, command.command .. parameters(command.parameters))
    if type(command.times) ~= "table" then leave_out(import, "%s: it has no times", name) end
    for i, seconds in ipairs(as_table(command.times)) do
      local memory = as_table(command.memory_usage_byte)[i] or nil
      add(import, name, nil, { duration_time = ns(seconds, NS.s), max_rss = memory })
    end
  end
  import.units.max_rss = "B"
  return import
end

-- pytest-benchmark, --benchmark-json.
function readers.pytest(json)
  if type(json.machine_info) ~= "table" or type(json.benchmarks) ~= "table" then return nil end
  local import = new("pytest-benchmark", { knows_iterations = true })
  for _, benchmark in ipairs(json.benchmarks) do
    local data = as_table(benchmark.stats).data
    local name = own_name(import, benchmark.fullname or benchmark.name)
    if type(data) ~= "table" then
      leave_out(import, "%s: it has no rounds (--benchmark-save-data keeps them)", name)
    end
    for _, seconds in ipairs(as_table(data)) do
      add(import, name, benchmark.stats.iterations or 1, { duration_time = ns(seconds, NS.s) })
    end
  end
  local commit = as_table(json.commit_info)
  local hash = type(commit.id) == "string" and commit.id or nil
  import.notes.commit = hash and hash .. (commit.dirty == true and "+" or "")
  import.started = utc(json.datetime, true)
  local cpu = as_table(json.machine_info.cpu)
  import.cpu = cpu.brand_raw or cpu.brand
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
  if type(as_table(json[1]).primaryMetric) ~= "table" then return nil end
  local import = new "JMH"
  local modes = {}                      -- of a benchmark: a file may have it in several
  for _, item in ipairs(json) do
    local named = item.benchmark .. parameters(item.params)
    modes[named] = (modes[named] or 0) + 1
  end
  for _, item in ipairs(json) do
    local name, raw = item.benchmark .. parameters(item.params), item.primaryMetric.rawData
    name = own_name(import, modes[name] > 1 and ("%s, %s"):format(name, item.mode) or name)
    local count = 0
    for fork, values in ipairs(as_table(raw)) do
      for i, value in ipairs(values) do
        local time = is_number(value) and jmh_ns(item.primaryMetric.scoreUnit, value) or nil
        local row = { duration_time = time }
        for key, metric in pairs(item.secondaryMetrics or {}) do
          -- Iterations that lack it are not listed: of fewer it is not known which.
          local others = as_table(metric.rawData)[fork] or {}
          local other = #others == #values and others[i]
          local field = import.field((key:gsub("^[^%w]+", "")))
          if is_number(other) then row[field] = other end
        end
        if row.duration_time then add(import, name, nil, row) end
        count = count + (row.duration_time and 1 or 0)
      end
    end
    if count == 0 then
      leave_out(import, "%s: mode %s keeps no times of iterations", name, tostring(item.mode))
    end
  end
  return import
end

-- asv, a file of its results folder: a list by result_columns, or (version 1) a map.
local function asv_column(columns, row, name)
  if row[name] ~= nil then return row[name] end
  for i, column in ipairs(as_table(columns)) do
    if column == name then return row[i] end
  end
end

-- Combinations of parameters in asv's order: the last varies fastest.
local function asv_names(params)
  local names = { "" }
  for _, values in ipairs(as_table(params)) do
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
  if json.commit_hash == nil or type(json.results) ~= "table" then return nil end
  local import = new "asv"
  for _, name in ipairs(lists.keys(json.results)) do
    local row = as_table(json.results[name])
    local samples = asv_column(json.result_columns, row, "samples")
    local labels = asv_names(asv_column(json.result_columns, row, "params"))
    local is_time = (name:match "[^.]+$"):find "^time_" ~= nil
    local form = is_time and "%s: it has no samples (asv run --record-samples)" or "%s: it is no time"
    if not (is_time and type(samples) == "table") then leave_out(import, form, name) end
    for k, list in ipairs(is_time and as_table(samples) or {}) do
      local label = name .. (labels[k] or "")
      if type(list) ~= "table" then leave_out(import, form, label) end
      for _, seconds in ipairs(as_table(list)) do
        add(import, label, nil, { duration_time = ns(seconds, NS.s) })
      end
    end
  end
  import.notes.commit = json.commit_hash
  import.started = is_number(json.date) and os.date(UTC, json.date / 1000) or nil
  local machine = as_table(json.params)
  import.cpu, import.host = machine.cpu, machine.machine
  return import
end

-- criterion, sample.json: total ns by number of iterations; beside it benchmark.json with the name.
function readers.criterion(json, path)
  if type(json.iters) ~= "table" or type(json.times) ~= "table" then return nil end
  local import, folder = new("criterion", { knows_iterations = true }), path:match "^(.*)/[^/]*$" or "."
  local known = require("dkjson").decode(core.read_plain(folder .. "/benchmark.json", MOST_BYTES) or "null")
  local name = as_table(known).full_id or as_table(known).title or path
  for i, total_ns in ipairs(json.times) do
    local count = json.iters[i]
    if is_number(count) and count > 0 then
      add(import, name, count, { duration_time = ns(total_ns, 1 / count) })
    end
  end
  return import
end

-- go test -bench, a line a repetition: "BenchmarkX-8  1000  1234 ns/op  16 B/op  1 allocs/op".
local GO_NAMES = { ["ns/op"] = "duration_time", ["B/op"] = "bytes_allocated", ["allocs/op"] = "allocations" }

-- The lines of go's output. A name ends in -8 where the benchmark had 8 CPUs; what is called so itself does not.
local function go_lines(bytes)
  local lines, packages, suffixes, package = {}, {}, {}, nil
  for line in bytes:gmatch "[^\r\n]+" do
    package = line:match "^pkg: (%S+)" or package
    local name, count, rest = line:match "^(Benchmark%S*)%s+(%d+)%s+(.*%S)"
    if name then
      lines[#lines + 1] = { name = name, count = tonumber(count), rest = rest, package = package }
      packages[package or ""], suffixes[name:match "%-%d+$" or ""] = true, true
    end
  end
  local suffix = #lists.keys(suffixes) == 1 and next(suffixes) or ""
  for _, line in ipairs(lines) do
    line.name = line.name:sub(1, #line.name - #suffix)
    if #lists.keys(packages) > 1 and line.package then line.name = line.package .. "." .. line.name end
  end
  return lines
end

local function written_by_go(bytes)
  if not bytes:find '^{[^\n]*"Action":' then return bytes end
  return (bytes:gsub("[^\n]*\n?", function(line)
    local output = as_table(require("dkjson").decode(line)).Output
    return type(output) == "string" and output or ""
  end))
end

local function read_go(bytes)
  local import = new("go test -bench", { knows_iterations = true })
  for _, line in ipairs(go_lines(bytes)) do
    local values = {}
    for value, unit in line.rest:gmatch "(%S+)%s+(%S+)" do
      values[GO_NAMES[unit] or import.field(unit)] = tonumber(value)
    end
    add(import, line.name, math.max(line.count, 1), values)
  end
  import.cpu = ("\n" .. bytes):match "\ncpu: ([^\r\n]*[^%s])"
  import.units.bytes_allocated = "B"
  return #import.benchmarks > 0 and import or nil
end

-- ---- files -----------------------------------------------------------------------------------------------

-- Python writes NaN and infinities, which JSON lacks: they become null.
local function without_nan(bytes)
  if not (bytes:find("NaN", 1, true) or bytes:find("Infinity", 1, true)) then return bytes end
  local hidden = bytes:gsub("\\(.)", function(char) return char == '"' and "\\\1" or nil end)
  return (hidden:gsub('([^"]*)("?[^"]*"?)', function(outside, quoted)
    return outside:gsub("%-?%f[%a]NaN%f[%A]", "null"):gsub("%-?%f[%a]Infinity%f[%A]", "null") .. quoted
  end):gsub("\\\1", '\\"'))
end

local function read(path)
  local bytes, code = core.read_plain(path, MOST_BYTES)
  if not bytes then fail(path, (tostring(code):gsub("^.*: ", ""))) end
  local go = read_go(written_by_go(bytes))
  if go then return go end
  local json, _, why = require("dkjson").decode(without_nan(bytes), 1, false)
  if type(json) ~= "table" then fail(path, why or "it is neither JSON nor the output of go test -bench") end
  for _, name in ipairs(lists.keys(readers)) do
    local ok, import = pcall(readers[name], json, path)
    if not ok then fail(path, "it is damaged, or of another version of " .. name) end
    if import then return import end
  end
  fail(path, "no tool is known that writes this", "google/benchmark, criterion (sample.json), "
    .. "pytest-benchmark, go test -bench, hyperfine, asv and JMH are")
end

local function names_in(folder)
  local names = {}
  local ok, following, state = pcall(lfs.dir, folder)
  if not ok then fail(folder, (following:match ": ([^:]*)$" or following)) end
  for name in following, state do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function read_folder(path)
  local import, files = new("criterion", { knows_iterations = true }), 0
  local function take(folder, depth)
    for _, name in ipairs(names_in(folder)) do
      local own = folder .. "/" .. name
      local is_folder = name:sub(1, 1) ~= "." and depth < MOST_DEPTH
        and lfs.symlinkattributes(own, "mode") == "directory"
      if own:find "/new/sample%.json$" then
        files = files + 1
        if files > MOST_FILES then fail(path, ("it has more than %d samples"):format(MOST_FILES)) end
        local sample = read(own)
        lists.append(import.left_out, sample.left_out)
        for _, benchmark in ipairs(sample.benchmarks) do
          for _, row in ipairs(benchmark.rows) do add(import, benchmark.name, row.iterations, row.values) end
        end
      elseif is_folder then
        take(own, depth + 1)
      end
    end
  end
  take(path, 0)
  return import
end

--- Reads what another tool wrote.
---@param path string of a file, or of a folder of criterion's ("target/criterion")
---@return pmclua.Imported imported of one benchmark at least; raises an error object where nothing can be read
function M.read(path)
  local import = lfs.attributes(path, "mode") == "directory" and read_folder(path) or read(path)
  if #import.benchmarks == 0 then
    fail(path, text.safe(table.concat({ "it has no repetitions", import.left_out[1] }, ": ")))
  end
  return import
end

return M
