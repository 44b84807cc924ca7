--- values.lua: from the columns of a cell to the values of an event or a metric.
--
-- Invariant: raw counts are read, never changed. A value is the count times its unit's scale, times
-- enabled/running where it ran part of the time (status "scaled"), divided by the iterations where
-- the workload is a kernel. A metric is computed from values of one repetition.

local M = {}

local NO_ROOM = "it never ran: the PMU had no counter free for it"
local NEVER_ON = "the target never ran while it was counted"

-- ---- the counts of an event ------------------------------------------------------------------------

-- The pass that an event's values are of: the first that has some. Others (of anchors) tell whether the
-- passes agree.
local function column_of(cell, event)
  local first
  for _, pass in ipairs(event.passes) do
    local block = cell.columns.passes[pass]
    local counts = block and block.counts[event.index]
    if counts then
      local column = { block = block, counts = counts, partial = block.partial[event.index] or {} }
      first = first or column
      for i = 1, block.n do
        if counts[i] then return column end
      end
    end
  end
  return first
end

local function column_in(cell, event, pass)
  local block = cell.columns.passes[pass]
  local counts = block and block.counts[event.index]
  return counts and { block = block, counts = counts, partial = block.partial[event.index] or {} }
end

-- Value, state and share of the time of one repetition; nil where it was not counted.
local function value_at(event, column, i, per_iteration)
  local raw = column.counts[i]
  if not raw then return nil end
  local value, times, state, ran = tonumber(raw) * (event.scale or 1), column.partial[i], "counted", 1
  if times then
    ran = tonumber(times[2]) / tonumber(times[1])
    state = event.hybrid and "placed" or "scaled"
    if state == "scaled" then value = value / ran end
  end
  if per_iteration then value = value / tonumber(column.block.iterations[i]) end
  return value, state, ran
end

local function why_absent(event, column)
  if event.why and (event.status or not column) then return event.why end
  local _, times = next(column and column.partial or {})
  if not times then return "no repetition has a count of it" end
  return times[1] == 0 and NEVER_ON or NO_ROOM
end

-- ---- collecting --------------------------------------------------------------------------------------

local Collector = {}
Collector.__index = Collector

local function collect(block)
  return setmetatable({ list = {}, rows = {}, block = block, missing = 0, state = "counted", ran_sum = 0 },
    Collector)
end

function Collector:take(i, value, state, ran)
  if value == nil then
    self.missing = self.missing + 1
    return
  end
  local n = #self.list + 1
  self.list[n], self.rows[n] = value, i
  if state ~= "counted" then self.state = state end
  self.ran_sum = self.ran_sum + ran
end

-- `status` and `why` are for the case that there is no value.
function Collector:finish(status, why)
  local n = #self.list
  local values = { list = self.list, rows = self.rows, block = self.block, missing = self.missing,
    status = n > 0 and self.state or status }
  if n == 0 then values.why = why end
  if n > 0 and self.state ~= "counted" then values.ran = self.ran_sum / n end
  return values
end

-- The counts themselves, where the values are these: not scaled, not in another unit, of one iteration.
local function unchanged_counts(event, column, values, per_iteration)
  if values.status ~= "counted" or (event.scale or 1) ~= 1 then return nil end
  local raw, iterations = {}, column.block.iterations
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
  local column, list = column_in(cell, event, pass), {}
  for i = 1, column and column.block.n or 0 do
    list[#list + 1] = value_at(event, column, i, cell.per == "iteration")
  end
  return list
end

--- The values of an event in a cell.
---@param cell pmclua.Cell
---@param event table of the header, with its index and passes
---@return pmclua.Values
function M.of_event(cell, event)
  local column = column_of(cell, event)
  local values = collect(column and column.block)
  local per_iteration = cell.per == "iteration"
  for i = 1, column and column.block.n or 0 do values:take(i, value_at(event, column, i, per_iteration)) end
  values = values:finish(event.status or "not-counted", why_absent(event, column))
  values.raw = column and unchanged_counts(event, column, values, per_iteration)
  return values
end

-- ---- metrics -----------------------------------------------------------------------------------------

-- The pass in which all these events ran; nil where there is none.
local function common_pass(cell, events)
  local count, best = {}, nil
  for _, event in ipairs(events) do
    for _, pass in ipairs(event.passes) do count[pass] = (count[pass] or 0) + 1 end
  end
  for pass, events_there in pairs(count) do
    local is_common = events_there == #events and cell.columns.passes[pass]
    if is_common and (not best or pass < best) then best = pass end
  end
  return best
end

local function rows_by_index(block)
  local rows = {}
  for i = 1, block.n do rows[block.index[i]] = i end
  return rows
end

-- A function that gives an event's value in the repetition that row `i` of `base` is of.
local function reader_of(event, column, base, per_iteration)
  if column.block == base then
    return function(i) return value_at(event, column, i, per_iteration) end
  end
  local rows = rows_by_index(column.block)
  return function(i)
    local row = rows[base.index[i]]
    if row then return value_at(event, column, row, per_iteration) end
  end
end

local function wall_reader(base, per_iteration)
  return function(i)
    local wall = base.wall[i]
    if not wall then return nil end
    return tonumber(wall) / (per_iteration and tonumber(base.iterations[i]) or 1), "counted", 1
  end
end

-- The events behind a metric's names, through other metrics that it names.
local function events_needed(result, metric, events, seen)
  for _, name in ipairs(metric.needs) do
    local event, other = result.event_by_field[name], result.metric_by_name[name]
    if not seen[name] then
      seen[name] = true
      if event then events[#events + 1] = event
      elseif other then events_needed(result, other, events, seen) end
    end
  end
  return events
end

-- Readers of each name that a metric needs; nil, status and why where one of its events is absent.
local function readers_of(cell, metric, events)
  local pass, columns = common_pass(cell, events), {}
  for i, event in ipairs(events) do
    local column = pass and column_in(cell, event, pass) or column_of(cell, event)
    if not column then
      return nil, event.status or "not-counted", ("needs %s: %s"):format(event.name, why_absent(event, nil))
    end
    columns[i] = column
  end
  local base = columns[1] and columns[1].block or select(2, next(cell.columns.passes))
  if not base then return nil, "not-counted", "there is no repetition" end
  local per_iteration = cell.per == "iteration" and not metric.uses_iterations
  local readers = { wall_ns = wall_reader(base, per_iteration),
    iterations = function(i)
      -- Those of a region are its calls.
      local has_iterations = cell.per == "iteration" or cell.region ~= nil
      return has_iterations and tonumber(base.iterations[i]) or 1, "counted", 1
    end }
  for i, event in ipairs(events) do
    readers[event.field] = reader_of(event, columns[i], base, per_iteration)
  end
  return readers, base
end

-- What evaluate() asks for each name, of the row that `at` is set to.
local function lookup_of(cell, readers, at)
  local depth = 0
  local function lookup(name)
    local read = readers[name]
    if read then
      local value, state, ran = read(at.row)
      if value == nil then
        at.uncounted = true
        return nil, ("needs %s, which was not counted"):format(name)
      end
      if state ~= "counted" then at.state, at.ran = state, math.min(at.ran, ran) end
      return value
    end
    local other, level = cell.result.metric_by_name[name], cell.levels[name]
    if not other then return tonumber(level), ("%s is %s: no number"):format(name, tostring(level)) end
    if depth > #cell.result.metrics then return nil, name .. " is defined by itself" end
    depth = depth + 1
    local value, why = other.evaluate(lookup)
    depth = depth - 1
    return value, why
  end
  return lookup
end

--- The values of a metric in a cell, one for each repetition in which all it needs was counted.
---@param cell pmclua.Cell
---@param metric pmclua.Metric
---@return pmclua.Values
function M.of_metric(cell, metric)
  local events = events_needed(cell.result, metric, {}, {})
  local readers, base, problem = readers_of(cell, metric, events)
  if not readers then return collect(nil):finish(base, problem) end
  local at, values, why = { uncounted = false }, collect(base), nil
  local lookup = lookup_of(cell, readers, at)
  for i = 1, base.n do
    at.row, at.state, at.ran = i, "counted", 1
    local value, reason = metric.evaluate(lookup)
    why = why or reason
    values:take(i, value, at.state, at.ran)
  end
  return values:finish(at.uncounted and "not-counted" or "absent", why or "there is no repetition")
end

return M
