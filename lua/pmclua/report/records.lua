--- records.lua: a result as records: one for each repetition of each event and metric of each cell, and of each rank of
--- a launched program.
--
-- Invariant: one shape of record, whatever was counted; an absent number has its status and reason.

local cells = require "pmclua.result.cell"
local lists = require "pmclua.base.lists"
local ranks = require "pmclua.result.ranks"
local summaries = require "pmclua.result.summary"

local M = {}

local FIRST = "workload"
local RANK = "rank"             -- only where ranks were launched; empty: their sum
local LAST = { "region", "thread", "cpu", "interval", "name", "unit", "pass", "repetition", "order", "value",
  "status", "raw", "enabled_ns", "running_ns", "iterations", "why", "slope", "intercept", "r2" }
local OF_RECORD = 13            -- of these, from pass on, are of one repetition

--- The factors of a result and what their columns are called: one that is called as one of our own is factor_NAME.
---@param result pmclua.Result
---@param own string[] columns
---@return { name: string, title: string }[]
function M.factors(result, own)
  local is_own = lists.set(own)
  return lists.map(result.header.factors, function(factor)
    return { name = factor[1], title = is_own[factor[1]] and "factor_" .. factor[1] or factor[1] }
  end)
end

--- A level as a field.
---@param level any
---@return string|number
function M.level(level) return type(level) == "boolean" and tostring(level) or level end

local function columns_of(result, has_ranks)
  local rank = has_ranks and { RANK } or {}
  local factors = M.factors(result, lists.joined { { FIRST }, rank, LAST })
  return lists.joined { { FIRST }, lists.column(factors, "title"), rank, LAST }
end

local function start_of(lines, result, cell, about, has_ranks)
  local values = { cell.workload }
  for _, factor in ipairs(result.header.factors) do
    values[#values + 1] = M.level(cell.levels[factor[1]])
  end
  local at = 1 + #result.header.factors
  if has_ranks then
    at = at + 1
    values[at] = cell.task
  end
  values[at + 1], values[at + 2] = cell.region, cell.thread
  values[at + 3], values[at + 4] = cell.cpu, cell.interval
  values[at + 5], values[at + 6] = about.name, about.unit
  return lines:join(values, at + 6)
end

local function pass_of(cell, block)
  for pass, other in pairs(cell.columns.passes) do
    if other == block then return pass end
  end
end

local function end_of(lines, fit)
  return lines.separator .. lines:join({ nil, fit.slope, fit.intercept, fit.r2 }, 4)
end

local function add_number(out, value, separator)
  if value then out:number(value) end
  out:add(separator)
end

-- The fields of one repetition, from its number to its iterations: there are millions.
local function add_record(out, separator, block, i, value, status, raw, times)
  add_number(out, block.index[i], separator)
  add_number(out, block.order[i], separator)
  add_number(out, value, separator)
  out:add(status)
  out:add(separator)
  add_number(out, raw, separator)
  add_number(out, times and times[1], separator)
  add_number(out, times and times[2], separator)
  out:number(block.iterations[i])
end

local function add_records(lines, start, cell, values, event)
  local block, k = values.block, 1
  local counts = event and block.counts[event.index] or {}
  local partial = event and block.partial[event.index] or {}
  local separator, out = lines.separator, lines.pieces
  local head, tail = start .. separator .. pass_of(cell, block) .. separator, end_of(lines, values.fit or {})
  for i = 1, block.n do
    local value, status = nil, event and "not-counted" or "absent"
    if block.incomplete and block.incomplete[i] then status = "incomplete" end
    if values.rows[k] == i then
      value, status = values.raw and values.raw[k] or values.list[k], values.statuses[k] or "counted"
      k = k + 1
    end
    out:add(head)
    add_record(out, separator, block, i, value, status, value ~= nil and counts[i], partial[i])
    lines:add(tail)
  end
end

-- Values without what a summary says of them: that would sort them.
local function add_values(lines, result, cell, name, has_ranks)
  local values = cells.read(cell, name)
  local start = start_of(lines, result, cell, cells.about(cell, name), has_ranks)
  local n, status, why = summaries.standing(values)
  if n == 0 then
    lines:add(start .. lines.separator .. lines:join({ [5] = status, [10] = why }, OF_RECORD))
    return
  end
  add_records(lines, start, cell, values, result.event_by_field[name])
end

--- The records of a result.
---@param result pmclua.Result
---@return pmclua.Records
function M.records(result)
  local counted = lists.joined { result.events, result.metrics, result.per_metrics }
  local ranks_of = ranks.reader(result)
  local has_ranks = ranks_of ~= nil
  local function add_cell(lines, cell)
    for _, item in ipairs(counted) do add_values(lines, result, cell, item.field or item.name, has_ranks) end
  end
  return { columns = columns_of(result, has_ranks), each = function(lines)
    for cell in result:cells(true) do
      add_cell(lines, cell)
      for _, rank in ipairs(ranks_of and ranks_of(cell) or {}) do add_cell(lines, rank) end
    end
  end }
end

return M
