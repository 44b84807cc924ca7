--- times.lua: the wall and CPU times of a cell's repetitions, for formats whose subject is time.

local counted = require "pmclua.result.column"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local reading = require "pmclua.counting.reading"

local M = {}

local function first_block(cell)
  for pass = 1, #cell.result.header.pass_events do
    if cell.columns.passes[pass] then return cell.columns.passes[pass] end
  end
end

-- The step at which the OS kernel sampled one of the times; 0: not known.
local function grain_of(cell, field)
  for _, event in ipairs(cell.result.events) do
    if event.tool == field and event.grain_ns then return event.grain_ns end
  end
  return (cell.result.header.host or {}).tick_ns or 0
end

local function per(cell, block, i) return cell.per == "iteration" and tonumber(block.iterations[i]) or 1 end

---@class pmclua.Times of the repetitions that have a wall time of all that they are about, in the order of measuring
---@field rows integer[] of the block
---@field block pmclua.Block?
---@field wall fun(k: integer): number ns of the k-th, per iteration for kernels
---@field user fun(k: integer): number|false ns; false: not known
---@field system fun(k: integer): number|false ns
---@field cpu fun(k: integer): number|false user and system time, ns
---@field memory fun(k: integer): number|false largest resident set, bytes
---@field exit fun(k: integer): integer|false
---@field iterations fun(k: integer): number

--- The times of a cell's repetitions; no rows where none was made.
---@param cell pmclua.Cell
---@return pmclua.Times
function M.of(cell)
  local block, rows = first_block(cell), {}
  local wall = block and counted.wall(cell, block)
  for i = 1, block and block.n or 0 do
    if wall.read(i) then rows[#rows + 1] = i end
  end
  local resources = block and block.resources or {}
  local function resource(name)
    return function(k)
      local value = resources[name] and resources[name][rows[k]]
      return value and tonumber(value) or false
    end
  end
  -- Where a launcher had others do the work, its own CPU time and memory are not the work's.
  local by_launcher = block and block.launcher or {}
  local function work_resource(name)
    local read = resource(name)
    return function(k) return not by_launcher[rows[k]] and read(k) end
  end
  local times = { rows = rows, block = block, memory = work_resource "max_rss_bytes", exit = resource "exit" }
  -- Less than the OS kernel can tell is not known.
  local function sampled(name)
    local read, event = work_resource(name), { grain_ns = grain_of(cell, name) }
    return function(k) return reading.known(event, read(k)) or false end
  end
  local user_ns, system_ns = work_resource "user_ns", work_resource "system_ns"
  times.user, times.system = sampled "user_ns", sampled "system_ns"
  function times.wall(k) return tonumber(block.wall[rows[k]]) / per(cell, block, rows[k]) end
  function times.iterations(k) return tonumber(block.iterations[rows[k]]) end
  function times.cpu(k)
    local user, system = user_ns(k), system_ns(k)
    return user and system and user + system
  end
  return times
end

--- All values of one of these.
---@param times pmclua.Times
---@param name string "wall", "cpu", …
---@return (number|false)[]
function M.list(times, name)
  local list, get = {}, times[name]
  for k = 1, #times.rows do list[k] = get(k) end
  return list
end

--- Mean and standard deviation (of a sample; nil for one value): what other tools' formats ask for.
---@param values number[] not empty
---@return number mean
---@return number? deviation
function M.moments(values)
  local average, squares, n = mean.average(values), 0, #values
  for i = 1, n do squares = squares + (values[i] - average) ^ 2 end
  return average, n > 1 and math.sqrt(squares / (n - 1)) or nil
end

--- Mean of the values that are known; nil where none is.
---@param values (number|false)[]
---@return number?
function M.known_mean(values)
  local known = lists.where(values, function(value) return value end)
  return #known > 0 and mean.average(known) or nil
end

return M
