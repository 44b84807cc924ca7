--- record.lua: turns what a runner (or this process) measured into the record that is stored.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local reading = require("pmclua.base.lazy").module "pmclua.counting.reading"

local M = {}

local COPIED = { "start_ns", "wall_ns", "iterations", "user_ns", "system_ns", "max_rss_bytes", "minor_faults",
  "major_faults", "voluntary_switches", "involuntary_switches" }

--- The readings of one thread: counts, enabled and running by event index.
local function thread_counts(readings, at, pass)
  local counts, enabled, running = {}, {}, {}
  for _, group in ipairs(pass.groups) do
    local enabled_ns, running_ns = readings[at], readings[at + 1]
    at = at + 2
    for _, index in ipairs(group.events) do
      enabled[index], running[index] = enabled_ns, running_ns
      if running_ns ~= 0 then counts[index] = readings[at] end
      at = at + 1
    end
  end
  return { counts = counts, enabled = enabled, running = running }, at
end

local function add_thread(total, thread, pass)
  for _, index in ipairs(pass.events) do
    local is_lost = reading.is_lost(total.enabled[index], total.running[index])
      or reading.is_lost(thread.enabled[index], thread.running[index])
    for _, part in ipairs { "counts", "enabled", "running" } do
      total[part][index] = core.sum(total[part][index], thread[part][index])
    end
    -- A sum with a reading that is lost is lost (core/pmclua.h: pmclua_reading_add).
    if is_lost then total.counts[index], total.enabled[index], total.running[index] = nil, 1, 0 end
  end
end

-- Time and memory of a run under Valgrind are Valgrind's own.
local function set_simulated(record, result, pass)
  for _, name in ipairs(COPIED) do
    if name ~= "start_ns" and name ~= "iterations" then record[name] = nil end
  end
  local counts = result.simulated or {}
  for _, index in ipairs(pass.events) do record.counts[index] = counts[index] end
end

--- A record of one repetition.
---@param step table of plan.steps
---@param result table of Session:run
---@param pass { groups: table[], events: integer[] }
---@param events pmclua.Event[]
---@param why? string what ended it badly
---@return table record  store/README.md, "The record"
function M.new(step, result, pass, events, why)
  local record = {
    workload = step.cell.workload.name, levels = step.cell.levels, cell = step.cell.index,
    pass = step.pass, index = step.index, order = step.order, warmup = step.warmup,
    outcome = result.outcome, exit = result.exit >= 0 and result.exit or nil,
    signal = result.signal ~= 0 and result.signal or nil, why = why,
    read = result.method ~= "syscall" and result.method or nil, process = step.process,
    incomplete = result.incomplete, launcher = result.launcher,
    counts = {}, enabled = {}, running = {}, simulated = pass.simulated and true or nil,
  }
  for _, name in ipairs(COPIED) do record[name] = result[name] end
  local threads, at = {}, 1
  if #result.readings > 0 then
    for i = 1, math.max(1, result.threads) do
      threads[i], at = thread_counts(result.readings, at, pass)
    end
  end
  record.system_calls = result.system_calls
  for _, thread in ipairs(threads) do add_thread(record, thread, pass) end
  if #threads > 1 and not result.of_ranks then record.threads = threads end
  -- Events that need no descriptor are facts of the record itself.
  for index, event in ipairs(events) do
    if event.tool and not pass.simulated then record.counts[index] = result[event.tool] end
  end
  if pass.simulated then set_simulated(record, result, pass) end
  return record
end

--- The exact counts of a result's first thread, by event index; nil where it has none.
---@param result table of Session:run
---@param pass { groups: table[], events: integer[] }
---@return table<integer, number|ffi.cdata*>?
function M.counts(result, pass)
  if #result.readings == 0 then return nil end
  return (thread_counts(result.readings, 1, pass)).counts
end

--- Records of the parts of a repetition: of CPUs, threads or regions, each with the field that says which.
---@param step table
---@param result table with `parts`, each a result and its `field` and `value`
---@return table[] records empty where it has no parts
function M.parts(step, result, pass, events)
  local list = {}
  for i, part in ipairs(result.parts or {}) do
    list[i] = M.new(step, part, pass, events)
    list[i].thread, list[i].task = part.thread, part.task       -- of a region
    list[i][part.field], list[i].index, list[i].host = part.value, part.index or list[i].index, part.host
  end
  return list
end

--- The records of a result's sums over its parts, where these are entries or threads; nil: its parts are sums.
---@param step table
---@param result table of the session, or of Counter:around
---@param pass table of the plan
---@param events pmclua.Event[]
---@return table[]?
function M.sums(step, result, pass, events)
  return result.sums and M.parts(step, { parts = result.sums }, pass, events)
end

--- A region's part of a repetition; its counts are still to come.
---@param name string of the region
---@param result table of the repetition
---@return table part
function M.region_part(name, result)
  return { field = "region", value = name, outcome = result.outcome, exit = result.exit,
    signal = result.signal, start_ns = result.start_ns, threads = 1, readings = {} }
end

--- The key of a region's entries that are numbered together.
---@return string
function M.entry_key(cell, pass, is_warmup, region)
  return ("%d/%d/%s/%s"):format(cell, pass, tostring(is_warmup), region)
end

-- The value of the whole repetition; nil where it was not counted.
local function whole_value(record, index, events)
  if record.launcher and events[index].tool ~= "wall_ns" then return nil end
  -- Events without a descriptor are fields of the record, and in a stored one nothing else.
  local function read(other)
    return record.counts[other] or record[events[other].tool], record.enabled[other], record.running[other]
  end
  local elsewhere = reading.elsewhere(events[index], events, read)
  local raw, enabled, running = read(index)
  return (reading.of(events[index], raw, enabled, running, elsewhere))
end

local function indices_of(events)
  local indices = {}
  for index, event in ipairs(events) do indices[event.field] = index end
  return indices
end

--- The events that names of a formula stand for, themselves or through metrics that need them.
---@param declaration { events: table[], metrics: table[]? }
---@param names string[]
---@return integer[] indices
function M.needed(declaration, names)
  local index_of, metrics = indices_of(declaration.events), lists.by(declaration.metrics or {}, "name")
  local list, seen = {}, {}
  local function add(needs)
    for _, name in ipairs(needs) do
      if index_of[name] and not seen[name] then list[#list + 1] = index_of[name] end
      local metric = not index_of[name] and not seen[name] and metrics[name]
      seen[name] = true
      if metric then add(metric.needs) end
    end
  end
  add(names)
  return list
end

--- A lookup for formulae in one record: counts by event field, of the whole repetition or of one iteration (for
--- commands the same), metrics, factor levels, iterations.
---@param record table
---@param declaration { events: table[], metrics: table[]? } events with field, scale and index in their place
---@param is_whole boolean counts are those of the whole repetition
---@return pmclua.Lookup
function M.lookup(record, declaration, is_whole)
  local index_of, depth = indices_of(declaration.events), 0
  local metrics = lists.by(declaration.metrics or {}, "name")
  local workload = lists.by(declaration.workloads or {}, "name")[record.workload]
  local constants = workload and workload.constants and workload:constants() or {}
  local lookup
  local function evaluate(metric)
    if depth > #declaration.metrics then return nil, metric.name .. " is defined by itself" end
    depth = depth + 1
    local value, why = metric.evaluate(lookup(metric.uses_iterations))
    depth = depth - 1
    return value, why
  end
  function lookup(whole)
    local parts = whole and 1 or tonumber(record.iterations or 1)
    return function(name)
      if name == "iterations" then return record.iterations end
      if record.levels[name] ~= nil then return record.levels[name] end
      if constants[name] then return constants[name] end
      local index, metric = index_of[name], metrics[name]
      if metric and not index then return evaluate(metric) end
      local count = index and whole_value(record, index, declaration.events)
      if not count then return nil, name .. " was not counted" end
      return count / parts
    end
  end
  return lookup(is_whole)
end

return M
