--- values.lua: from the columns of a cell to the values of an event or a metric.
--
-- Invariant: a metric is computed from values of one repetition.

local counted = require "pmclua.result.column"
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"
local launcher = require("pmclua.base.lazy").module "pmclua.explain.launcher"
local lists = require "pmclua.base.lists"
local names = require("pmclua.base.lazy").module "pmclua.result.names"
local reading = require "pmclua.counting.reading"
local settled = require("pmclua.base.lazy").module "pmclua.result.settled"
local new_table = require "table.new"

local M = {}

-- ---- collecting --------------------------------------------------------------------------------------

local function no_values(block, status, why)
  return { list = {}, rows = {}, statuses = {}, missing = 0, block = block, status = status, why = why }
end

-- Values of each row of a block; also the first cause of a missing one.
local function collect(block, read, may_be_too_small)
  local values, n, ran_sum, first_cause = no_values(block, "counted"), 0, 0, nil
  values.list, values.rows = new_table(block.n, 0), new_table(block.n, 0)
  for i = 1, block.n do
    local value, status, ran, cause = read(i)
    if value == nil then
      values.missing, first_cause = values.missing + 1, first_cause or cause
    else
      n = n + 1
      values.list[n], values.rows[n], ran_sum = value, i, ran_sum + ran
      if status ~= "counted" then values.status, values.statuses[n] = status, status end
    end
  end
  -- If at least half of the values are missing and may have been too small, the rest is biased, and so is its median.
  if may_be_too_small and values.missing >= n then return no_values(block), first_cause end
  if n > 0 and not counted.is_whole(values.status) then values.ran = ran_sum / n end
  return values, first_cause
end

local function first_of(notes, n)
  for i = 1, n do
    if notes[i] then return notes[i] end
  end
end

local function or_absent(values, status, why, cause)
  if values.status == launcher.STATUS then
    values.launcher = first_of(values.block.launcher, values.block.n)
    values.why = launcher.why(values.launcher)
  end
  if #values.list > 0 then return values end
  if cause == counted.INCOMPLETE then
    status, why = counted.INCOMPLETE, first_of(values.block.incomplete, values.block.n)
  end
  values.status, values.why = status, why
  return values
end

-- The raw counts, where values equal them: not scaled, in the same unit, of one iteration.
local function unchanged_counts(event, column, values, per_iteration)
  if not counted.is_whole(values.status) or (event.scale or 1) ~= 1 then return nil end
  local raw, iterations = new_table(#values.rows, 0), column.block.iterations
  for k, i in ipairs(values.rows) do
    if per_iteration and iterations[i] ~= 1 then return nil end
    raw[k] = column.counts[i]
  end
  return raw
end

--- The values of an event in one pass of a cell: what passes are compared by.
---@param cell pmclua.Cell
---@param event table
---@param pass integer
---@return number[]
function M.of_pass(cell, event, pass)
  local column, list = counted.in_pass(cell, event, pass), {}
  local read = column and counted.reader(cell, column)
  for i = 1, read and column.block.n or 0 do list[#list + 1] = read(i) end
  return list
end

--- The values of an event in a cell.
---@param cell pmclua.Cell
---@param event table of the header, with its index and passes
---@return pmclua.Values
function M.of_event(cell, event)
  local column, status, why = counted.supply(cell, event)
  if not column then return no_values(nil, status, why) end
  local read, fit = counted.reader(cell, column)
  if not read then return no_values(column.block, "absent", fit) end
  local values, cause = collect(column.block, read, reading.may_be_too_small(event))
  or_absent(values, event.status or "not-counted", counted.why_absent(cell, event, cause), cause)
  if fit then values.fit, values.points = fit.line, fit.points
  else values.raw = unchanged_counts(event, column, values, cell.per == "iteration") end
  return values
end

--- Values by the block (repetition) that each was measured in.
---@param values pmclua.Values
---@return table<integer, number>
function M.by_block(values)
  local by_block = {}
  for k, row in ipairs(values.rows) do by_block[values.block.index[row]] = values.list[k] end
  return by_block
end

-- ---- metrics -----------------------------------------------------------------------------------------

--- The passes that count all these events, in order.
---@param events table[] of the header, with their passes
---@return integer[]
function M.common_passes(events)
  local passes = lists.joined(lists.column(events, "passes"))
  local same = lists.groups(passes, function(pass) return pass end)
  return lists.column(lists.where(same, function(group) return #group == #events end), "key")
end

local function rows_by_index(block)
  local rows = {}
  for i = 1, block.n do rows[block.index[i]] = i end
  return rows
end

-- `read`, of rows of `block`, as a function of rows of `base`. Simulated counts stand for other repetitions in turn.
local function by_base(cell, read, block, base)
  if block == base then return read end
  local rows, is_settled = rows_by_index(block), settled.is_block(cell, block)
  return function(i)
    local row = rows[base.index[i]] or is_settled and (i - 1) % block.n + 1
    if row then return read(row) end
  end
end

-- The repetitions of a metric's values: those of its first event that is not simulated, which may
-- be settled; of a metric without any events those of a pass that took time.
local function base_of(cell, events, columns)
  for i, event in ipairs(events) do
    if not event.simulated then return columns[i].block end
  end
  if columns[1] then return columns[1].block end
  local first
  for pass, block in pairs(cell.columns.passes) do
    first = not (first and names.is_simulated(cell.result.header, pass)) and block or first
  end
  return first
end

-- All names that a metric or limit needs, also through other metrics, in order; as a list and a set.
local function all_needs(result, metric, list, seen)
  for _, name in ipairs(metric.needs) do
    if not seen[name] then
      seen[name], list[#list + 1] = true, name
      local other = not result.event_by_field[name] and result.metric_by_name[name]
      if other then all_needs(result, other, list, seen) end
    end
  end
  return list, seen
end

--- The events behind the names of a metric or limit, through metrics that it names.
---@param result { event_by_field: table, metric_by_name: table }
---@param metric { needs: string[] }
---@return table[] events
function M.events_needed(result, metric)
  local needs = all_needs(result, metric, {}, {})
  return lists.map(needs, function(name) return result.event_by_field[name] end)
end

--- Whether a metric or limit needs a name, be it through other metrics.
---@param result { event_by_field: table, metric_by_name: table }
---@param metric { needs: string[] }
---@param wanted string
---@return boolean
function M.needs(result, metric, wanted)
  local _, needed = all_needs(result, metric, {}, {})
  return needed[wanted] == true
end

--- Whether a metric or limit is computed from counts of Valgrind's alone: nothing but the program varies it.
---@param result { event_by_field: table, metric_by_name: table }
---@param metric { needs: string[] }
---@return boolean
function M.is_simulated(result, metric)
  local events = M.events_needed(result, metric)
  return #events > 0 and not M.needs(result, metric, "wall_ns")
    and lists.all(events, function(event) return event.simulated end)
end

-- The columns that a metric is computed of, of one pass where there is one, and the block whose rows its
-- values are of; nil, a status and why where one is absent.
local function columns_of(cell, metric)
  local events, columns, absent = M.events_needed(cell.result, metric), {}, nil
  local pass = lists.find(M.common_passes(events), function(number) return cell.columns.passes[number] end)
  for i, event in ipairs(events) do
    local column, status, why = counted.supply(cell, event, pass)
    columns[i] = column
    -- One that cannot be counted here tells more than another, which may have been left out for want of it.
    local tells_more = not absent or event.status and not absent.event.status
    if not column and tells_more then absent = { event = event, status = status, why = why } end
  end
  if absent then return nil, absent.status, ("needs %s: %s"):format(absent.event.name, absent.why) end
  local base = base_of(cell, events, columns)
  if not base then return nil, "not-counted", "there are no repetitions" end
  if M.needs(cell.result, metric, "wall_ns") then table.insert(columns, 1, counted.wall(cell, base)) end
  return columns, base
end

local function iterations_of(cell, base)
  -- A region's iterations are its calls.
  local has_iterations = cell.per == "iteration" and not cell.fitted or cell.region ~= nil
  if not has_iterations then return function() return 1, "counted", 1 end end
  return function(i)
    if counted.is_incomplete(cell, base, i, true) then return nil, counted.INCOMPLETE end
    return tonumber(base.iterations[i]), "counted", 1
  end
end

local function readers_of(cell, metric, columns, base)
  local are_whole = metric.uses_iterations and not cell.fitted
  local readers = { iterations = iterations_of(cell, base) }
  for _, column in ipairs(columns) do
    local read, problem = column.read, nil
    if not are_whole then read, problem = counted.reader(cell, column) end
    if not read then return nil, problem end
    readers[column.name] = by_base(cell, read, column.block, base)
  end
  return readers
end

-- A lookup for evaluate(): names that `read` does not know are metrics, or levels.
local function lookup_of(cell, read)
  local depth = 0
  local function lookup(name)
    local value, why = read(name)
    if value ~= nil or why then return value, why end
    local other, level = cell.result.metric_by_name[name], cell.levels[name]
    if level == nil then level = (cell.result.workload_by_name[cell.workload].constants or {})[name] end
    if level == nil and not other then return nil, ("%s has no %s"):format(cell.workload, name) end
    if not other then return tonumber(level), ("%s is %s: not a number"):format(name, tostring(level)) end
    if depth > #cell.result.metrics then return nil, name .. " is defined by itself" end
    depth = depth + 1
    value, why = other.evaluate(lookup)
    depth = depth - 1
    return value, why
  end
  return lookup
end

-- A lookup of what was counted in the row that `at` is set to.
local function row_lookup(cell, readers, at)
  return lookup_of(cell, function(name)
    local read = readers[name]
    if not read then return nil end
    local value, status, ran = read(at.row)
    if value == nil then
      at.uncounted, at.cause = true, at.cause or status
      return nil, ("needs %s, which was not counted"):format(name)
    end
    if status ~= "counted" then at.status, at.ran = status, math.min(at.ran, ran) end
    return value
  end)
end

-- The lines of the columns of a metric of slopes.
local function estimate_of(cell, metric, columns)
  local lines, line_of = lists.map(columns, function(column) return counted.fit(cell, column) end), {}
  for i, column in ipairs(columns) do line_of[column.name] = i end
  local function compute(slopes)
    return metric.evaluate(lookup_of(cell, function(name)
      if name == "iterations" then return 1 end
      return line_of[name] and slopes[line_of[name]]
    end))
  end
  return { points = lists.column(lines, "points"), lines = lists.column(lines, "line"), compute = compute }
end

--- The values of a metric in a cell, one for each repetition in which all it needs was counted.
---@param cell pmclua.Cell
---@param metric pmclua.Computed
---@return pmclua.Values
function M.of_metric(cell, metric)
  local columns, base, absent = columns_of(cell, metric)
  if not columns then return no_values(nil, base, absent) end
  local readers, problem = readers_of(cell, metric, columns, base)
  if not readers then return no_values(nil, "absent", problem) end
  local at = { uncounted = false }
  local lookup = row_lookup(cell, readers, at)
  local may_be_too_small = lists.any(M.events_needed(cell.result, metric), reading.may_be_too_small)
  local values, why = collect(base, function(i)
    at.row, at.status, at.ran = i, "counted", 1
    local value, reason = metric.evaluate(lookup)
    return value, at.status, at.ran, reason
  end, may_be_too_small)
  or_absent(values, at.uncounted and "not-counted" or "absent", why or "there are no repetitions", at.cause)
  if cell.fitted and #values.list > 0 then
    values.estimate = estimate_of(cell, metric, columns)
    values.fit, values.no_fit = fits.value(values.estimate)
  end
  return values
end

--- The estimate behind the value of an event or metric of a fitted cell.
---@param values pmclua.Values
---@return pmclua.Estimate
function M.estimate(values)
  return values.estimate or { points = { values.points }, lines = { values.fit },
    compute = function(slopes) return slopes[1] end }
end

return M
