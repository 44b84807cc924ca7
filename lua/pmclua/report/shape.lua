--- shape.lua: the distribution of values as five characters.

local M = {}

M.BINS = 5
local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- Counts of the values in `bins` equal parts of their range; nil where all are one value.
---@param values number[]
---@param bins? integer default 5
---@return integer[]? counts
---@return number? low
---@return number? high
function M.histogram(values, bins)
  bins = bins or M.BINS
  local low, high = math.huge, -math.huge
  for i = 1, #values do low, high = math.min(low, values[i]), math.max(high, values[i]) end
  if low >= high then return nil end
  local counts = {}
  for bin = 1, bins do counts[bin] = 0 end
  for i = 1, #values do
    local bin = math.min(bins, 1 + math.floor(bins * ((values[i] - low) / (high - low))))
    counts[bin] = counts[bin] + 1
  end
  return counts, low, high
end

--- Counts as bars: the fullest part is the highest.
---@param counts integer[]
---@return string
function M.drawn(counts)
  local most, bars = math.max(unpack(counts)), {}
  for i, count in ipairs(counts) do bars[i] = BARS[1 + math.floor((#BARS - 1) * count / most + 0.5)] end
  return table.concat(bars)
end

--- The histogram of values as bars. "" where all values are one.
---@param values number[]
---@return string
function M.bars(values)
  local counts = M.histogram(values)
  return counts and M.drawn(counts) or ""
end

return M
