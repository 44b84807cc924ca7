--- period.lua: how many events lie between two samples.
--
-- A random prime, so that samples do not beat with loops: with any whole number in the same range a true 10 % reads
-- wrong by over a point in 3.2 % of draws, with primes never. Rare events are all recorded: then profiles are exact.

local M = {}

-- Samples of a second of CPU time cost 1.4 % at 1,000 and 5.7 % at 4,000 (tests/bench); a repetition should have some
-- hundreds.
local RATE, MOST_RATE, WANTED = 1000, 4000, 1000
-- Up to this count the period is 1.
local EXACT = 100000
-- At less, half of a clock's ticks vanish without a trace.
local LEAST_CLOCK_NS = 1e5

local function is_prime(number)
  if number < 4 then return number > 1 end
  if number % 2 == 0 then return false end
  for divisor = 3, math.floor(math.sqrt(number)), 2 do
    if number % divisor == 0 then return false end
  end
  return true
end

--- A prime in [0.8 mean, 1.2 mean], drawn anew each time; 1 where the mean is 1.
---@param mean number
---@param source pmclua.Random
---@return integer
function M.draw(mean, source)
  if mean <= 1 then return 1 end
  local low, high = math.ceil(0.8 * mean), math.floor(1.2 * mean)
  local start = low + math.floor(source:uniform() * (high - low + 1))
  for step = 0, high - low do
    local candidate = low + (start - low + step) % (high - low + 1)
    if is_prime(candidate) then return candidate end
  end
  return math.max(1, math.floor(mean))          -- a range so small that it has none
end

--- The mean period for a repetition with this count.
---@param event pmclua.Event
---@param count number of a repetition
---@param cpu_seconds number that it takes
---@return number
function M.mean(event, count, cpu_seconds)
  if event.unit == "ns" then
    local rate = math.min(MOST_RATE, math.max(RATE, WANTED / math.max(cpu_seconds, 1e-3)))
    return math.max(LEAST_CLOCK_NS / 0.8, 1e9 / rate)
  end
  if count <= EXACT then return 1 end
  return math.max(1, count / math.max(WANTED, RATE * cpu_seconds))
end

return M
