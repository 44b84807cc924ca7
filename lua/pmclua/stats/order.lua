--- order.lua: what values say once they are put in order.
--
-- Invariant: no function changes the list it is given. Functions named …_of take a list that is
-- already in ascending order, so that a summary sorts once.

local new_table = require "table.new"
local floor, min, abs = math.floor, math.min, math.abs

local M = {}

local RUN = 16              -- runs this short are sorted by insertion

-- Iglewicz, Hoaglin: "How to Detect and Handle Outliers", ASQC 1993: the modified z-score and its limit.
local NORMAL_MAD, OUTLIER_LIMIT = 0.6745, 3.5

local function insert(list, low, high)
  for i = low + 1, high do
    local value, j = list[i], i - 1
    while j >= low and list[j] > value do
      list[j + 1] = list[j]
      j = j - 1
    end
    list[j + 1] = value
  end
end

-- Merges from[low…middle] and from[middle+1…high], both ascending, into the same places of `to`.
local function merge(from, to, low, middle, high)
  if middle >= high or from[middle] <= from[middle + 1] then
    for k = low, high do to[k] = from[k] end
    return
  end
  local i, j, k = low, middle + 1, low
  while i <= middle and j <= high do
    local a, b = from[i], from[j]
    if a <= b then
      to[k], i = a, i + 1
    else
      to[k], j = b, j + 1
    end
    k = k + 1
  end
  for rest = i, middle do to[k], k = from[rest], k + 1 end
  for rest = j, high do to[k], k = from[rest], k + 1 end
end

-- Merge sort: never quadratic, compiled by the JIT (2.5 times as fast as table.sort on 10^6 values).
local function sort(list, n)
  for low = 1, n, RUN do insert(list, low, min(low + RUN - 1, n)) end
  local from, to, run = list, new_table(n, 0), RUN
  while run < n do
    for low = 1, n, 2 * run do
      merge(from, to, low, min(low + run - 1, n), min(low + 2 * run - 1, n))
    end
    from, to, run = to, from, 2 * run
  end
  return from
end

--- A copy in ascending order.
---@param values any[]
---@return number[]? sorted nil where there is no value, or one is no finite number
---@return string? reason
function M.sorted(values)
  local n = #values
  if n == 0 then return nil, "no values" end
  local copy, previous, is_in_order = new_table(n, 0), -math.huge, true
  for i = 1, n do
    local value = values[i]
    if type(value) ~= "number" or value - value ~= 0 then
      return nil, ("value %d is not a finite number"):format(i)
    end
    is_in_order = is_in_order and previous <= value
    copy[i], previous = value, value
  end
  -- Exact counts are: all of them are one value.
  return is_in_order and copy or sort(copy, n)
end

--- Copies of two lists in ascending order.
---@param x number[]
---@param y number[]
---@param order? fun(values: number[]): number[]?, string? default: sorted
---@return number[]? x nil where `order` refuses one of them
---@return number[]|string y, or the reason
function M.both(x, y, order)
  order = order or M.sorted
  local of_x, why = order(x)
  if not of_x then return nil, why end
  local of_y, why_not = order(y)
  return of_y and of_x, of_y or why_not
end

--- Whether all values are one value.
---@param values number[]
---@return boolean
function M.are_equal(values)
  for i = 2, #values do
    if values[i] ~= values[1] then return false end
  end
  return true
end

--- Quantile by linear interpolation between order statistics (type 7 of Hyndman, Fan: "Sample
--- Quantiles in Statistical Packages", The American Statistician 50, 1996; the default of R and NumPy).
---@param sorted number[] ascending, not empty
---@param p number from 0 to 1
---@return number
function M.quantile_of(sorted, p)
  local position = (#sorted - 1) * p + 1
  local below = floor(position)
  local value, part = sorted[below], position - below
  if part == 0 then return value end
  return value + part * (sorted[below + 1] - value)
end

--- The percentiles that bound the middle `level` of values.
---@param sorted number[] ascending, not empty
---@param level number e.g. 0.95
---@return number low
---@return number high
function M.middle_of(sorted, level)
  local tail = (1 - level) / 2
  return M.quantile_of(sorted, tail), M.quantile_of(sorted, 1 - tail)
end

---@param sorted number[] ascending, not empty
---@return number
function M.median_of(sorted)
  local n = #sorted
  local middle = floor((n + 1) / 2)
  if n % 2 == 1 then return sorted[middle] end
  return sorted[middle] + (sorted[middle + 1] - sorted[middle]) / 2
end

--- Median absolute deviation from the median, unscaled. The deviations are met in ascending order by
--- walking outward from the median, so nothing is sorted again.
---@param sorted number[] ascending, not empty
---@return number mad
---@return number median
function M.mad_of(sorted)
  local n, median = #sorted, M.median_of(sorted)
  local left = floor(n / 2)
  local right = left + 1
  local needed, previous, current = floor(n / 2) + 1, 0, 0
  for _ = 1, needed do
    local below = left >= 1 and median - sorted[left] or math.huge
    local above = right <= n and sorted[right] - median or math.huge
    previous = current
    if below < above then
      current, left = below, left - 1
    else
      current, right = above, right + 1
    end
  end
  if n % 2 == 1 then return current, median end
  return previous + (current - previous) / 2, median
end

--- Sizes of the runs of equal values, where longer than 1.
---@param sorted number[]
---@return integer[]
function M.ties_of(sorted)
  local ties, start = {}, 1
  for i = 2, #sorted + 1 do
    if sorted[i] ~= sorted[start] then
      if i - start > 1 then ties[#ties + 1] = i - start end
      start = i
    end
  end
  return ties
end

--- Ranks from 1; equal values share the mean of their ranks.
---@param values number[]
---@return number[]? ranks nil as for sorted
---@return string? reason
function M.ranks(values)
  local sorted, reason = M.sorted(values)
  if not sorted then return nil, reason end
  local n, rank_of, start = #sorted, {}, 1
  for i = 2, n + 1 do
    if sorted[i] ~= sorted[start] then
      rank_of[sorted[start]] = (start + i - 1) / 2
      start = i
    end
  end
  local ranks = new_table(n, 0)
  for i = 1, n do ranks[i] = rank_of[values[i]] end
  return ranks
end

--- Outliers by the modified z-score, 0.6745·|x - median| / MAD > 3.5. A MAD of 0 is
--- normal for exact counters and flags nothing.
---@param values number[] as measured
---@param mad number
---@param median number
---@return integer[] indices into values
function M.outliers(values, mad, median)
  local flagged = {}
  if mad == 0 then return flagged end
  for i = 1, #values do
    if NORMAL_MAD * abs(values[i] - median) / mad > OUTLIER_LIMIT then flagged[#flagged + 1] = i end
  end
  return flagged
end

--- The standard deviation of values about a level that may drift, by neighbours' differences: the median of a normal
--- distribution's |difference| is 0.954 deviations.
---@param series number[][] each in the order of time
---@return number? nil: there are no neighbours
function M.spread_of_neighbours(series)
  local list = {}
  for _, values in ipairs(series) do
    for i = 2, #values do list[#list + 1] = math.abs(values[i] - values[i - 1]) end
  end
  return #list > 0 and M.median_of(M.sorted(list)) / 0.954 or nil
end

return M
