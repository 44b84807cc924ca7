--- times.lua: the wall and CPU times of a cell's repetitions, for formats whose subject is time.

local M = {}

-- The block of the first pass: each repetition of a cell once.
local function first_block(cell)
  for pass = 1, #cell.result.header.pass_events do
    if cell.columns.passes[pass] then return cell.columns.passes[pass] end
  end
end

local function per(cell, block, i) return cell.per == "iteration" and tonumber(block.iterations[i]) or 1 end

---@class pmclua.Times of repetitions, in the order of measuring
---@field wall number[] ns, per iteration for kernels
---@field cpu (number|false)[] user and system time, ns; false: not known
---@field user (number|false)[] ns
---@field system (number|false)[] ns
---@field memory (number|false)[] largest resident set, bytes
---@field exit (integer|false)[]
---@field iterations number[]
---@field index integer[] the block (repetition) of each

--- The times of a cell's repetitions that have a wall time; empty where none was made.
---@param cell pmclua.Cell
---@return pmclua.Times
function M.of(cell)
  local times = { wall = {}, cpu = {}, user = {}, system = {}, memory = {}, exit = {}, iterations = {},
    index = {} }
  local block = first_block(cell)
  if not block then return times end
  local resources = block.resources or {}
  local function resource(name, i)
    local value = resources[name] and resources[name][i]
    return value and tonumber(value) or false
  end
  for i = 1, block.n do
    if block.wall[i] then
      local n = #times.wall + 1
      times.wall[n] = tonumber(block.wall[i]) / per(cell, block, i)
      times.iterations[n], times.index[n] = tonumber(block.iterations[i]), block.index[i]
      times.user[n], times.system[n] = resource("user_ns", i), resource("system_ns", i)
      times.memory[n], times.exit[n] = resource("max_rss_bytes", i), resource("exit", i)
      times.cpu[n] = times.user[n] and times.system[n] and times.user[n] + times.system[n] or false
    end
  end
  return times
end

--- Mean and standard deviation (of a sample; nil for one value): what other tools' formats ask for.
---@param values number[] not empty
---@return number mean
---@return number? deviation
function M.moments(values)
  local sum, squares, n = 0, 0, #values
  for i = 1, n do sum = sum + values[i] end
  local mean = sum / n
  for i = 1, n do squares = squares + (values[i] - mean) ^ 2 end
  return mean, n > 1 and math.sqrt(squares / (n - 1)) or nil
end

--- Mean of the values that are known; nil where none is.
---@param values (number|false)[]
---@return number?
function M.known_mean(values)
  local known = {}
  for i = 1, #values do known[#known + 1] = values[i] or nil end
  return #known > 0 and M.moments(known) or nil
end

return M
