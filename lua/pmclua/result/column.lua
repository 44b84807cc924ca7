--- column.lua: the column of a cell that supplies an event's values, what reads them, or why there are none.
--
-- Invariant: raw counts are read, never changed. A value is what counting/reading.lua makes of a count,
-- divided by the iterations where the workload is a kernel; where a line was fitted, its intercept is taken
-- off first.

local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local complete = require("pmclua.base.lazy").module "pmclua.result.complete"
local dropped = require("pmclua.base.lazy").module "pmclua.explain.dropped"
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"
local kinds = require "pmclua.workload.kinds"
local launcher = require("pmclua.base.lazy").module "pmclua.explain.launcher"
local lists = require "pmclua.base.lists"
local reading = require "pmclua.counting.reading"
local settled = require("pmclua.base.lazy").module "pmclua.result.settled"
local tool = require("pmclua.base.lazy").module "pmclua.event.tool"

local M = {}

local BETWEEN_MARKS = "it is counted between marks only: counting the whole run would take counters from them"
local TARGET_NEVER_RAN = "the target never ran in that time"
local NO_PEAK_MEMORY = "known only for commands, and only above the runner's own (about 2 MB)"
local NO_ACCOUNT = {
  times = "known only of commands, of kernels, and of processes and threads that are counted (-p, -t) "
    .. "and have not ended meanwhile, where /proc is mounted",
  io = "known only of commands and of processes that are counted (-p) and have not ended meanwhile, "
    .. "where /proc lets their io file be read",
}

-- The raw count and times of the event at `index` in a repetition of a block.
local function reading_at(block, index, i)
  local counts, partial = block.counts[index], block.partial[index]
  local times = partial and partial[i]
  if times then return counts and counts[i], times[1], times[2] end
  return counts and counts[i]
end

-- Whether a program was executed whose counting Linux may have ended.
local function is_unwatched(cell, event)
  if event.tool or event.simulated then return false end
  return lists.any(cell.result.remarks or {}, function(remark)
    return dropped.is_unseen(remark, cell.workload)
  end)
end

--- The status of what is left out because it is not all that there was to count: entries of a mark were lost, or a
--- part of a run counted more than the whole. The record says why.
M.INCOMPLETE = "incomplete"

--- Whether a repetition's count is left out. Of a part its sums lack something, so all are; of a whole run what its
--- record has is whole.
---@param cell pmclua.Cell
---@param block pmclua.Block
---@param i integer row of the block
---@param count any of the whole run
---@return boolean
function M.is_incomplete(cell, block, i, count)
  local why = block.incomplete and block.incomplete[i]
  return why ~= nil and (cell.region ~= nil or not count)
end

-- The same reader with the status of what a launcher had others do, which takes time and is in no count.
local function of_launchers(event, block, read)
  local by_launcher = event.tool ~= "wall_ns" and block.launcher
  if not by_launcher then return read end
  return function(i)
    local value, status, share, cause = read(i)
    return value, value ~= nil and by_launcher[i] and launcher.STATUS or status, share, cause
  end
end

-- Something that was counted or timed in a pass: what values of events and metrics are made of.
---@class pmclua.Column
---@field name string of the event, or "wall_ns"
---@field event? pmclua.ResultEvent
---@field block pmclua.Block
---@field counts? table raw, of an event
---@field read fun(i: integer): number?, string, number?, string? from a row of the block to the value of all
---  of the repetition, its status and share of the time; without a value also the cause

--- The column of an event in a pass; nil: it was not counted there.
---@param cell pmclua.Cell
---@param event pmclua.ResultEvent
---@param pass integer
---@return pmclua.Column?
function M.in_pass(cell, event, pass)
  local block = cell.columns.passes[pass]
  local counts = block and block.counts[event.index]
  if not counts then return nil end
  local partial = block.partial[event.index] or {}
  local elsewhere = reading.elsewhere(event, cell.result.events, function(index, i)
    return reading_at(block, index, i)
  end)
  local whole = is_unwatched(cell, event) and dropped.UNWATCHED or "counted"
  local function read(i)
    if M.is_incomplete(cell, block, i, counts[i]) then return nil, M.INCOMPLETE, nil, M.INCOMPLETE end
    local times = partial[i]
    if times then return reading.of(event, counts[i], times[1], times[2], elsewhere, i) end
    local value, status, share, cause = reading.of(event, counts[i])
    return value, status == "counted" and whole or status, share, cause
  end
  return { name = event.field, event = event, block = block, counts = counts,
    read = of_launchers(event, block, read) }
end

--- The wall time of a block's repetitions as a column.
---@param cell pmclua.Cell
---@param block pmclua.Block
---@return pmclua.Column
function M.wall(cell, block)
  return { name = "wall_ns", block = block, read = function(i)
    if M.is_incomplete(cell, block, i, true) then return nil, M.INCOMPLETE, nil, M.INCOMPLETE end
    local wall = block.wall[i]
    if wall then return tonumber(wall), "counted", 1 end
  end }
end

-- The pass that supplies an event's values: the first that has some. Events in several passes (anchors) show
-- whether the passes agree.
local function column_of(cell, event)
  local first
  for _, pass in ipairs(event.passes) do
    local column = M.in_pass(cell, event, pass)
    first = first or column
    for i = 1, column and column.block.n or 0 do
      if column.counts[i] then return column end
    end
  end
  return first
end

local function is_doubtful(event, column)
  if not reading.is_unverified(event) then return false end
  local has_zero = false
  for i = 1, column.block.n do
    local count = column.counts[i]
    if count and count ~= 0 then return false end
    has_zero = has_zero or count == 0
  end
  return has_zero
end

--- The points of a column and the line through them, fitted once; where there is no line, why.
---@param cell pmclua.Cell
---@param column pmclua.Column
---@return { points: table, line: table?, why: string? }
function M.fit(cell, column)
  local lines = cell.lines[column.name] or {}
  cell.lines[column.name] = lines
  if not lines[column.block] then
    local points, all = fits.points(column.block, column.read, clusters.of(cell)), column.block.n
    local why = complete.why_few(all - #points.x, all)
      or complete.why_cpus(cell.result.remarks, { column.event })
    local line
    if not why then line, why = fits.line(points) end
    lines[column.block] = { points = points, line = line, why = why }
  end
  return lines[column.block]
end

--- The reader of a column's values, which are per iteration where the workload is a kernel. Nil and why
--- where the cell needs a fitted line and has none.
---@param cell pmclua.Cell
---@param column pmclua.Column
---@return function? read
---@return table|string|false|nil fit of a fitted cell; or why there is none
function M.reader(cell, column)
  local whole, iterations = column.read, column.block.iterations
  if cell.per ~= "iteration" then return whole end
  local fit = cell.fitted and M.fit(cell, column)
  if fit and not fit.line then return nil, fit.why end
  local overhead = fit and fit.line.intercept or 0
  return function(i)
    local value, status, ran, cause = whole(i)
    if value == nil then return nil, status, ran, cause end
    return (value - overhead) / tonumber(iterations[i]), status, ran
  end, fit
end

-- A command always runs, so Linux dropped its events; for a target, the remarks say so.
local function was_dropped(cell)
  if not cell.result.header.target then return kinds.of(cell.kind).is_executed end
  return lists.any(cell.result.remarks or {}, dropped.is_remark)
end

--- Why an event has no value in a cell. No cause: the event was in no repetition.
---@param cell pmclua.Cell
---@param event pmclua.ResultEvent
---@param cause? string
---@return string?
function M.why_absent(cell, event, cause)
  if event.why and (event.status or not cause) then return event.why end
  if cause == "never-enabled" then
    return was_dropped(cell) and dropped.WHY or TARGET_NEVER_RAN
  end
  local has_none = not cause or cause == "no-reading"
  local account = has_none and event.tool and tool.account_of(event.tool)
  if account then return NO_ACCOUNT[account] end
  local regions = cell.result.header.regions
  if has_none and not cell.region and regions and regions.kind == "marks" then return BETWEEN_MARKS end
  local lost = event.simulated and settled.why_lost(cell, event)
  if lost then return lost end
  local is_peak = event.tool == "max_rss_bytes" and has_none
  return is_peak and NO_PEAK_MEMORY or reading.why(event, cause or "no-reading")
end

--- The column that supplies an event's values, of one pass if it is given; nil, a status and why where there
--- is none.
---@param cell pmclua.Cell
---@param event pmclua.ResultEvent
---@param pass? integer
---@return pmclua.Column? column
---@return string? status
---@return string? why
function M.supply(cell, event, pass)
  local column = pass and M.in_pass(cell, event, pass) or column_of(cell, event)
  if not column then return nil, event.status or "not-counted", M.why_absent(cell, event) end
  if is_doubtful(event, column) then return nil, "unverified", reading.why(event, "only-zeros") end
  return column
end

--- Whether a count of this status is what was read, not an estimate.
---@param status string
---@return boolean
function M.is_whole(status)
  return status == "counted" or status == "simulated" or status == dropped.UNWATCHED
    or status == launcher.STATUS
end

return M
