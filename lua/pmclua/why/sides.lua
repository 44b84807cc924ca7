--- sides.lua: the two cells of a result that are held against each other, and their values by repetition.
--
-- Invariant: the i-th values of both sides come from one block if the sides ran interleaved.

local complete = require "pmclua.result.complete"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local profiles = require "pmclua.result.profiles"
local select_cells = require "pmclua.result.select"

local M = {}

local function labels_of(result)
  return table.concat(lists.map(result:list(), function(cell) return cell:label() end), "; ")
end

local function cell_of(result, wanted)
  local conditions = type(wanted) == "string" and select_cells.cell(wanted) or wanted
  local ok, list = pcall(select_cells.cells, result, conditions)
  if ok and type(wanted) == "string" and #list == 0 then
    list = lists.where(result:list(), function(cell)
      return cell.workload == wanted or cell:label() == wanted
    end)
  end
  if not ok or #list ~= 1 then
    local words = type(wanted) == "string" and "'" .. wanted .. "'" or select_cells.text_of(wanted)
    explain.misuse(("%s is not one cell of this result, which has: %s"):format(words, labels_of(result)), 4)
  end
  return list[1]
end

local function default_cells(result)
  local list = result:list()
  if #list ~= 2 then
    explain.misuse(("of %d cells say which two: %s"):format(#list, labels_of(result)), 4)
  end
  return select_cells.sides(result, list)
end

--- The cells that are meant: A and B.
---@param result pmclua.Result
---@param a? string|table as `where` takes it, or "n=256"; nil: of two cells the baseline
---@param b? string|table
---@return pmclua.Cell a, pmclua.Cell b
function M.cells(result, a, b)
  if a == nil and b == nil then return default_cells(result) end
  if a == nil or b == nil then explain.misuse("why takes both cells, or neither", 3) end
  return cell_of(result, a), cell_of(result, b)
end

--- The values of an event or metric by repetition; nil where it has none there.
---@param cell pmclua.Cell
---@param name string
---@return table<integer, number>?
function M.values(cell, name)
  if not (cell.result.event_by_field[name] or cell.result.metric_by_name[name]) then return nil end
  local values = cell:values_by_block(name)
  return next(values) and values or nil
end

-- Nanoseconds that a command's processes used, by repetition of the first pass: of user space, of Linux.
local function cpu_times(cell)
  local block = cell.columns.passes[1]
  local resources = block and block.resources
  if not resources then return nil end
  local user, system = {}, {}
  for i = 1, block.n do
    if resources.user_ns[i] and resources.system_ns[i] then
      local index = block.index[i]
      user[index], system[index] = tonumber(resources.user_ns[i]), tonumber(resources.system_ns[i])
    end
  end
  return next(user) and user or nil, system
end

---@class pmclua.WhySide what was measured of one cell, in the order of repetitions that have all of it
---@field n integer
---@field duration_time number[] ns, as the three that it is the sum of
---@field on_cpu_time number[]
---@field wait_time number[]
---@field off_cpu_time number[]
---@field user? number[] ns of all threads and children in user space
---@field system? number[] and in Linux
---@field profiles? pmclua.Profile[] of the clock that was sampled
---@field scale? number[] what a ns of a profile, missing samples left out, is worth where nothing is sampled
---@field sample_ns? number[] and what a sample is
---@field calls? pmclua.SystemCalls[]

local TIMES = { "duration_time", "on_cpu_time", "wait_time", "off_cpu_time" }

local function by_index(cell, sampled)
  local result, list = cell.result, {}
  for _, name in ipairs(TIMES) do
    list[name] = M.values(cell, name)
    if not list[name] then return nil end
  end
  local calls = profiles.calls_by_index(result, cell.number)
  local own = sampled and profiles.by_index(result, cell.number, sampled.name) or {}
  list.calls = next(calls) and calls or nil
  list.profiles = next(own) and own or nil
  list.clock = list.profiles and M.values(cell, sampled.field)
  list.user, list.system = cpu_times(cell)
  return list
end

--- The repetitions that all these lists have.
---@param ... table<integer, any> one or more
---@return integer[] ascending
function M.common(...)
  local all = { ... }
  return lists.where(lists.keys(all[1]), function(index)
    return lists.all(all, function(list) return list[index] ~= nil end)
  end)
end

--- Values in the order of repetitions.
---@param values table<integer, number> by repetition
---@param indices integer[]
---@return number[]
function M.listed(values, indices)
  return lists.map(indices, function(index) return values[index] or 0 end)
end

local REQUIRED = lists.joined { TIMES, { "calls", "profiles" } }

-- Repetitions with all that both sides have any of.
local function needed(side, other)
  return lists.map(REQUIRED, function(name)
    return side[name] and other[name] and side[name] or nil
  end)
end

-- Samples share what was counted where nothing was sampled; those that are missing are taken to be like the others.
local function add_scale(side, clock)
  side.scale, side.sample_ns = {}, {}
  for i, profile in ipairs(side.profiles) do
    local there = profile.total
    for _, cause in ipairs(complete.CAUSES) do there = there - (profile.rest[cause] or 0) end
    side.scale[i] = there > 0 and (clock and clock[i] or profile.total) / there or 1
    side.sample_ns[i] = profile.period * side.scale[i]
  end
end

local function side_of(by_name, indices)
  local side = { n = #indices }
  for name, values in pairs(by_name) do
    side[name] = lists.map(indices, function(index) return values[index] end)
    if #side[name] < side.n then side[name] = nil end
  end
  if side.profiles then add_scale(side, side.clock) end
  return side
end

--- The times of two cells; nil: not all were measured, or no repetition has them all.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param paired boolean
---@param sampled? pmclua.Event the clock that was sampled
---@return { a: pmclua.WhySide, b: pmclua.WhySide, indices: { a: integer[], b: integer[] } }?
function M.read(a, b, paired, sampled)
  local ours, theirs = by_index(a, sampled), by_index(b, sampled)
  if not (ours and theirs) then return nil end
  local lists_a, lists_b = needed(ours, theirs), needed(theirs, ours)
  local indices = { a = M.common(unpack(paired and lists.joined { lists_a, lists_b } or lists_a)) }
  indices.b = paired and indices.a or M.common(unpack(lists_b))
  if #indices.a == 0 or #indices.b == 0 then return nil end
  local sides = { a = side_of(ours, indices.a), b = side_of(theirs, indices.b), indices = indices }
  for _, name in ipairs { "calls", "profiles", "user" } do
    if not (sides.a[name] and sides.b[name]) then sides.a[name], sides.b[name] = nil, nil end
  end
  return sides
end

return M
