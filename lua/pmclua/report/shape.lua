--- shape.lua: the distribution of values as five characters.

local M = {}

local BINS = 5
local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- Counts of the values in `bins` equal parts of their range; nil where all are one value.
---@param values number[]
---@param bins? integer default 5
---@return integer[]? counts
---@return number? low
---@return number? high
function M.histogram(values, bins)
  bins = bins or BINS
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

--- The histogram as bars: the fullest part is the highest. "" where all values are one.
---@param values number[]
---@return string
function M.bars(values)
  local counts = M.histogram(values)
  if not counts then return "" end
  local most = math.max(unpack(counts))
  local bars = {}
  for i, count in ipairs(counts) do bars[i] = BARS[1 + math.floor((#BARS - 1) * count / most + 0.5)] end
  return table.concat(bars)
end

return M
