--- growth.lua: what one more costs: an event, a thread, a CPU, a repetition, a cell, a record.
--
-- Each row gives the cost of one unit where there are 1, 10, 100 … of them. Where a row's figures do not rise
-- from left to right, the whole grows in proportion to its size, or slower.

local core = require "pmclua.core"
local declare = require "pmclua.experiment.declare"
local pmc = require "pmclua"
local programs = require "programs"
local records = require "records"
local stats = require "pmclua.stats"
local text = require "pmclua.base.text"
local add_record = require("pmclua.result").add

local M = {}

local TURNS, TURNS_SHORT = 5, 1

local function elapsed_ns(fn)
  local before = core.now_ns()
  fn()
  return core.now_ns() - before
end

local function software(config) return { type = 1, config = config } end

-- n events that every machine has, of several kinds.
local function attrs(n, fields)
  local list = {}
  for i = 1, n do
    list[i] = software(({ 2, 1, 3, 4, 9 })[i % 5 + 1])
    for name, value in pairs(fields or {}) do list[i][name] = value end
  end
  return list
end

-- ---- events, CPUs ----

local READS = 200

local function open_and_close(n)
  return elapsed_ns(function() assert(core.group(attrs(n))):close() end) / n
end

local function read_group(n)
  local group = assert(core.group(attrs(n)))
  group:start()
  local room = group:buffer()
  local ns = elapsed_ns(function() for _ = 1, READS do group:read_into(room) end end)
  group:close()
  return ns / READS / n
end

-- A CPU more is a group more to open and to read; here all are of the first CPU.
local function groups_of_cpus(n)
  local list = {}
  local ok, why = pcall(function()
    for i = 1, n do
      list[i] = assert(core.group(attrs(2), { pid = -1, cpu = 0 }))
      list[i]:start()
    end
  end)
  local ns = ok and elapsed_ns(function()
    for i = 1, n do list[i]:read_into(list[i]:buffer()) end
  end)
  for _, group in ipairs(list) do group:close() end
  if not ok then error(why, 0) end
  return ns / n
end

-- ---- threads, repetitions ----

local kernels = {}

local function run_threads(n)
  kernels[n] = kernels[n] or programs.session:workload(function(message)
    message:text("library", programs.compile("empty", { "-shared", "-fPIC" })):text("symbol", "empty")
    message:number("threads", n)
  end)
  local events = programs.session:events { { attrs = attrs(2) } }
  local job = { workload = kernels[n], events = events, iterations = 1, in_runner = true }
  assert(programs.session:run(job).outcome == "done")
  local ns = elapsed_ns(function() assert(programs.session:run(job).outcome == "done") end)
  programs.session:forget(kernels[n])
  kernels[n] = nil
  return ns / n
end

local function repeat_command(n)
  return elapsed_ns(function()
    pmc.measure("true", { events = { "page-faults", "task-clock" }, repetitions = n, warmup = 0,
      quiet = true })
  end) / n
end

local function repeat_function(n)
  return elapsed_ns(function()
    pmc.measure(function() end, { events = { "page-faults" }, repetitions = n, warmup = 0, quiet = true })
  end) / n
end

-- ---- plans, results ----

local function plan_cells(n)
  local levels = {}
  for i = 1, n do levels[i] = i end
  return elapsed_ns(function()
    local declaration = declare.check { workloads = { "true {n}" }, factors = { { "n", levels } },
      repetitions = 10, events = { "page-faults" } }
    local plan = require "pmclua.experiment.plan"
    local made, steps = plan.make(declaration), 0
    for _ in plan.steps(declaration, made) do steps = steps + 1 end
    assert(steps == n * 12)
  end) / n
end

local function plan_events(n)
  local events = {}
  for i = 1, n do events[i] = ("e%d = page-faults"):format(i) end
  return elapsed_ns(function()
    require("pmclua.experiment.plan").make(declare.check { workloads = { "true" }, events = events })
  end) / n
end

local function result_of(n)
  local result = require("pmclua.result").new(records.HEADER)
  for i = 1, n do add_record(result, records.record(i)) end
  return result
end

local function add_records(n) return elapsed_ns(function() result_of(n) end) / n end

local function summarise(n)
  local result = result_of(n)
  return elapsed_ns(function()
    for cell in result:cells() do
      for _, event in ipairs(result.events) do cell:summary(event.field) end
    end
  end) / n
end

local function load_records(n)
  local path = programs.folder() .. "/records.jsonl"
  local writer = require("pmclua.store").create(path, records.HEADER)
  for i = 1, n do writer:add(records.record(i)) end
  writer:finish "complete"
  local ns = elapsed_ns(function() pmc.load(path) end)
  os.remove(path)
  return ns / n
end

local function list_events(n)
  return elapsed_ns(function() assert(#pmc.events.list(n > 3000 and { all = true } or nil) > 0) end)
    / #pmc.events.list(n > 3000 and { all = true } or nil)
end

---@class bench.Growth
---@field what string
---@field unit string what the figures are for one of
---@field counts integer[]
---@field cost fun(n: integer): number ns of one

---@type bench.Growth[]
M.rows = {
  { what = "opening and closing a group", unit = "event", counts = { 1, 10, 100, 600 },
    cost = open_and_close },
  { what = "reading a group", unit = "event", counts = { 1, 10, 100, 600 }, cost = read_group },
  { what = "reading a group of each CPU", unit = "CPU", counts = { 1, 10, 100, 1000 },
    cost = groups_of_cpus },
  { what = "a repetition of a kernel on threads", unit = "thread", counts = { 1, 10, 100, 1000 },
    cost = run_threads },
  { what = "`pmc.measure(\"true\")`", unit = "repetition", counts = { 1, 10, 100, 1000 },
    cost = repeat_command },
  { what = "`pmc.measure(function)`", unit = "repetition", counts = { 1, 10, 100, 1000 },
    cost = repeat_function },
  { what = "declaring and planning, 10 repetitions", unit = "cell", counts = { 1, 10, 100, 1000 },
    cost = plan_cells },
  { what = "declaring and planning", unit = "event", counts = { 1, 10, 100, 600 }, cost = plan_events },
  { what = "taking records into a result", unit = "record", counts = { 1e3, 1e4, 1e5, 1e6 },
    cost = add_records },
  { what = "summarising a cell of three events", unit = "record", counts = { 1e3, 1e4, 1e5, 1e6 },
    cost = summarise },
  { what = "loading a stored result", unit = "record", counts = { 1e3, 1e4, 1e5, 1e6 }, cost = load_records },
  { what = "listing events (present; all that are known)", unit = "event", counts = { 2000, 20000 },
    cost = list_events },
}

local function cost_of(row, n, turns)
  local list = {}
  for i = 1, turns do
    collectgarbage()
    local ok, ns = pcall(row.cost, n)
    if not ok then return nil, tostring(ns) end
    list[i] = ns
  end
  return stats.median(list)
end

--- Prints the table. `short`: of small sizes alone.
---@param short boolean
function M.print(short)
  print "| what | cost of one | of 1 or 10³ | 10 or 10⁴ | 100 or 10⁵ | 1000 (600 events) or 10⁶ |"
  print "|---|---|---|---|---|---|"
  for _, row in ipairs(M.rows) do
    local cells = {}
    for i, n in ipairs(row.counts) do
      if short and i > 2 then break end
      local ns, why = cost_of(row, n, short and TURNS_SHORT or TURNS)
      cells[i] = ns and text.time(ns) or "– (" .. why:gsub("^.-:%d+: ", ""):gsub("\n.*", "") .. ")"
    end
    print(("| %s | %s | %s |"):format(row.what, row.unit, table.concat(cells, " | ")))
    io.stdout:flush()
  end
end

return M
