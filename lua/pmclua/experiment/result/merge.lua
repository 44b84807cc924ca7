--- merge.lua: several stored results as one, told apart by a factor called file.
--
-- Invariant: no record is changed but for the numbers of its cell, pass and events. Repetitions of
-- different files did not run in one block: they are compared unpaired (header.unpaired).

local M = {}

-- ---- names of files ------------------------------------------------------------------------------------

local function short_names(paths)
  local names, seen = {}, {}
  for i, path in ipairs(paths) do
    names[i] = path:match("([^/]+)$"):gsub("%.jsonl$", "")
    seen[names[i]] = (seen[names[i]] or 0) + 1
  end
  for i, path in ipairs(paths) do
    if seen[names[i]] > 1 then names[i] = path end
  end
  return names
end

local function factor_name(headers)
  for _, header in ipairs(headers) do
    for _, factor in ipairs(header.factors) do
      if factor[1] == "file" then return "result" end
    end
  end
  return "file"
end

-- ---- headers -------------------------------------------------------------------------------------------

local function copy(map)
  local out = {}
  for name, value in pairs(map) do out[name] = value end
  return out
end

-- Adds the events of a file, by field; returns where each of its events now is. An event counts as
-- absent only where no file could count it.
local function add_events(merged, header, name)
  local places = {}
  for i, event in ipairs(header.events) do
    local at = merged.event_at[event.field]
    if not at then
      at = #merged.events + 1
      merged.events[at], merged.event_at[event.field] = copy(event), at
    elseif merged.events[at].status and not event.status then
      local why = merged.events[at].why
      merged.events[at] = copy(event)
      merged.events[at].why = why
    elseif event.status and not merged.events[at].status then
      merged.events[at].why = ("in %s: %s"):format(name, event.why or event.status)
    end
    places[i] = at
  end
  return places
end

local function add_passes(merged, header, places)
  local offset = #merged.pass_events
  for _, events in ipairs(header.pass_events) do
    local pass = {}
    for i, event in ipairs(events) do pass[i] = places[event] end
    merged.pass_events[#merged.pass_events + 1] = pass
  end
  return offset
end

local function add_factors(merged, header)
  for _, factor in ipairs(header.factors) do
    local mine = merged.factor_at[factor[1]]
    if not mine then
      mine = { factor[1], {}, seen = {} }
      merged.factor_at[factor[1]] = mine
      merged.factors[#merged.factors + 1] = mine
    end
    for _, level in ipairs(factor[2]) do
      if not mine.seen[level] then mine.seen[level], mine[2][#mine[2] + 1] = true, level end
    end
  end
end

local function add_workloads(merged, header)
  for _, workload in ipairs(header.workloads) do
    if not merged.workload_at[workload.name] then
      merged.workloads[#merged.workloads + 1] = workload
      merged.workload_at[workload.name] = true
    end
  end
end

local function add_cells(merged, header, factor, name)
  local offset = #merged.cells
  for _, cell in ipairs(header.cells) do
    local levels = copy(cell.levels)
    levels[factor] = name
    merged.cells[#merged.cells + 1] = { workload = cell.workload, levels = levels,
      iterations = cell.iterations or header.iterations or false }
  end
  return offset
end

local function add_metrics(merged, header)
  for _, source in ipairs(header.metrics or {}) do
    if not merged.metric_at[source] then
      merged.metrics[#merged.metrics + 1], merged.metric_at[source] = source, true
    end
  end
end

local function new_merged(first)
  return { name = first.name, question = first.question, events = {}, event_at = {}, pass_events = {},
    factors = {}, factor_at = {}, workloads = {}, workload_at = {}, cells = {}, metrics = {}, metric_at = {},
    per = first.per, primary = first.primary, margin = first.margin, repetitions = first.repetitions,
    warmup = first.warmup, on_failure = first.on_failure, host = first.host, anchors = {} }
end

--- One header of several, and how to renumber the records of each.
---@param headers table[]
---@param paths string[]
---@return table header
---@return { cell: integer, pass: integer, events: integer[] }[] maps
function M.headers(headers, paths)
  local merged, maps, names = new_merged(headers[1]), {}, short_names(paths)
  local factor = factor_name(headers)
  for k, header in ipairs(headers) do
    local places = add_events(merged, header, names[k])
    maps[k] = { events = places, pass = add_passes(merged, header, places),
      cell = add_cells(merged, header, factor, names[k]) }
    add_factors(merged, header)
    add_workloads(merged, header)
    add_metrics(merged, header)
  end
  merged.factors[#merged.factors + 1] = { factor, names }
  merged.unpaired = factor
  return merged, maps
end

-- ---- records -------------------------------------------------------------------------------------------

local function renumbered(list, places)
  local out = {}
  for event, value in pairs(list or {}) do out[places[event]] = value end
  return out
end

--- A record of a file as one of the merged result. The record itself is changed.
---@param record table
---@param map { cell: integer, pass: integer, events: integer[] }
---@param header table merged
---@return table record
function M.record(record, map, header)
  record.cell, record.pass = record.cell + map.cell, record.pass + map.pass
  record.levels = header.cells[record.cell].levels
  for _, name in ipairs { "counts", "enabled", "running" } do
    record[name] = renumbered(record[name], map.events)
  end
  return record
end

return M
