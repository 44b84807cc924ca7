--- warnings.lua: the cells of a result as what warning.lua asks of them.

local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local reading = require "pmclua.counting.reading"
local stats = require "pmclua.stats"
local warning = require "pmclua.verdict.warning"
local names = require "pmclua.result.names"
local values = require "pmclua.result.values"

local M = {}

local LOOKED_AT = 1000          -- repetitions, for a median that need not be exact; of more, every k-th

-- A summary whose numbers are doubles: warnings reckon with them.
local function numeric(summary)
  local plain = { exact = summary.exact, outliers = summary.outliers, n = summary.n }
  for _, name in ipairs { "median", "q1", "q3", "low", "high", "mad" } do
    plain[name] = summary[name] and tonumber(summary[name])
  end
  return plain
end

-- The measured overhead of counting an event, where no fit removes it.
local function overhead_of(cell, event)
  if not event or cell.fitted or not kinds.of(cell.kind).in_runner then return nil end
  for _, pass in ipairs(event.passes) do
    local block, overhead = cell.columns.passes[pass], (cell.result.header.overhead or {})[pass]
    local median = block and overhead and overhead.median[event.index]
    if median then return median * (event.scale or 1) / tonumber(block.iterations[1]) end
  end
end

local function times_kept_off(cell, event)
  local count = 0
  for _, pass in ipairs(event and event.passes or {}) do
    local block = cell.columns.passes[pass]
    for _, times in pairs(block and block.partial[event.index] or {}) do
      local _, _, cause = reading.status(event, times[1], times[2])
      if cause == "never-on" or cause == "lost" then count = count + 1 end
    end
  end
  return count
end

-- The executed instructions should not depend on where code lies.
local function moved_instructions(cell, event)
  local drawn = (cell.result.header.layouts or {})[1]
  if not (event and drawn and drawn.code and event.name:find "instructions") then return nil end
  return cell:components(event.field)
end

-- Several runs: files that share a cell, or a run resumed elsewhere.
local function runs_of(cell, name)
  local _, first = next(cell.columns.passes)
  if not (first and (first.source or first.host)) then return nil end
  local summary = require("pmclua.result.cell").read(cell, name)
  local block = summary.block or {}
  local sources, hosts = block.source or {}, block.host or {}
  return lists.groups(summary.list, function(_, k)
    local row = summary.rows[k]
    return ("%s/%s"):format(sources[row] or "", hosts[row] or "")
  end)
end

local function event_of(cell, name)
  local summary, event = cell:summary(name), cell.result.event_by_field[name]
  return { title = summary.title, values = summary.values, runs = runs_of(cell, name),
    status = summary.status, ran = summary.ran,
    summary = summary.n > 0 and numeric(summary) or nil, overhead = overhead_of(cell, event),
    kept_off = times_kept_off(cell, event), moved = moved_instructions(cell, event) }
end

local function median_of(columns)
  local list, n = {}, columns[1].n
  for i = 1, n, math.max(1, math.ceil(n / LOOKED_AT)) do
    local sum = 0
    for _, column in ipairs(columns) do sum = sum and column[i] and sum + tonumber(column[i]) or nil end
    if sum then list[#list + 1] = sum end
  end
  return (stats.median(list))
end

-- Enabled time and run time of a command; nil where others contribute.
local function times_of(cell)
  local header = cell.result.header
  if header.target or header.inherit == false then return nil end
  local _, block = next(cell.columns.passes)
  local resources = block and block.resources
  if not resources then return nil end
  return median_of { resources.enabled_ns }, median_of { resources.user_ns, resources.system_ns }
end

local function wall_ns_of(cell)
  local _, block = next(cell.columns.passes)
  return kinds.of(cell.kind).is_executed and block and not block.launcher
    and not cell.result.workload_by_name[cell.workload].launch and median_of { block.wall } or nil
end

-- Wall time of each pass, the anchor where no event is in all passes.
local function wall_anchor(result, cell)
  local passes = {}
  for pass in ipairs(result.header.pass_events) do
    local block, list = cell.columns.passes[pass], {}
    for i = 1, block and block.n or 0 do
      local wall, parts = block.wall[i], cell.per == "iteration" and tonumber(block.iterations[i]) or 1
      if wall then list[#list + 1] = tonumber(wall) / parts end
    end
    if #list > 0 then passes[#passes + 1] = list end
  end
  return { title = "the wall time", unit = "ns", passes = passes }
end

local function iteration_ns_of(result, cell)
  if not kinds.of(cell.kind).in_runner then return nil end
  local list, all = {}, wall_anchor(result, cell).passes[1] or {}
  for i = 1, #all, math.ceil(#all / LOOKED_AT) do list[#list + 1] = all[i] end
  return (stats.median(list))
end

local function anchors_of(result, cell)
  local anchors = {}
  for _, index in ipairs(result.header.anchors or {}) do
    local event = result.events[index]
    local passes = lists.map(event and event.passes or {}, function(pass)
      local list = values.of_pass(cell, event, pass)
      return #list > 0 and list or nil
    end)
    if #passes > 1 then anchors[#anchors + 1] = { title = event.name, passes = passes } end
  end
  if #anchors == 0 and #result.header.pass_events > 1 then anchors[1] = wall_anchor(result, cell) end
  return anchors
end

-- How long a command waited for CPUs: by wait_time where that was counted, else as far as it was looked at.
local function waited_of(result, cell)
  if not kinds.of(cell.kind).is_executed then return nil end
  local event = result.event_by_field.wait_time
  local _, block = next(cell.columns.passes)
  local counts = event and block and block.counts[event.index]
  if not counts then
    return lists.find(result.waits or {}, function(waited) return waited.cell == cell.number end)
  end
  local margin = names.margin(result, "default") or 0.01
  local waited = { count = 0, over = 0, wait_ns = 0, wall_ns = 0 }
  for i = 1, block.n do
    local wait, wall = counts[i], block.wall[i]
    if wait and wall then
      wait, wall = tonumber(wait), tonumber(wall)
      waited.count = waited.count + 1
      waited.wait_ns, waited.wall_ns = waited.wait_ns + wait, waited.wall_ns + wall
      if warning.has_waited(wait, wall, margin) then waited.over = waited.over + 1 end
    end
  end
  return waited
end

local function are_ranks(result)
  return lists.any(result.header.sources or {}, function(source) return source.rank ~= nil end)
end

local function cell_of(result, cell)
  local enabled_ns, cpu_ns = times_of(cell)
  local regions = result.header.regions
  local are_entries = cell.region and regions and regions.entries
  return { label = cell:label(), warmups = not are_entries and (result.header.warmup or 0) or nil,
    events = lists.map(names.quantities(result), function(name) return event_of(cell, name) end),
    are_ranks = are_ranks(result), margin = names.margin(result, "default"), exits = cell.exits,
    outcomes = lists.without(cell.failed, "exit"),
    repetitions = not result.header.stop and result.header.repetitions or nil,
    iteration_ns = iteration_ns_of(result, cell), enabled_ns = enabled_ns, cpu_ns = cpu_ns,
    wall_ns = wall_ns_of(cell),
    waited = waited_of(result, cell),
    in_passes = result.header.passes == "rerun",
    anchors = anchors_of(result, cell), machine_code = (result.header.cells[cell.number] or {}).machine_code,
    repetitions_of_a_layout = clusters.runs_of_a_layout(result.header, cell.number) }
end

--- Reasons to doubt the numbers of a result, the gravest first.
---@param result pmclua.Result
---@return pmclua.Warning[]
function M.of(result)
  local cells = lists.where(result:list(), function(cell)
    return cell.repetitions > 0 or next(cell.failed)
  end)
  return warning.check(cells, function(cell) return cell_of(result, cell) end)
end

return M
