--- bins.lua: how many values, or calls of a region, lie where: bins of equal width or equal ratio; a distribution as
--- five characters, a share as a bar.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Bins
---@field low number
---@field high number
---@field count integer
---@field log boolean bins have equal ratios
local Bins = {}
Bins.__index = Bins

---@param low number above 0 if they have equal ratios
---@param high number
---@param count integer
---@param log boolean
---@return pmclua.Bins
function M.new(low, high, count, log)
  return setmetatable({ low = low, high = high, count = count, log = log }, Bins)
end

local function position(self, value)
  if self.log then return math.log(math.max(value, self.low) / self.low) / math.log(self.high / self.low) end
  return (value - self.low) / (self.high - self.low)
end

local function no_counts(self)
  local counts = {}
  for bin = 1, self.count do counts[bin] = 0 end
  return counts
end

local function add(self, counts, value, number)
  local bin = math.min(self.count, 1 + math.floor(self.count * position(self, value)))
  counts[bin] = counts[bin] + number
end

--- How many calls each bin has.
---@param bars pmclua.Bar[] of a fine histogram
---@return integer[] counts from bin 1 on
function Bins:counts(bars)
  local counts = no_counts(self)
  for _, bar in ipairs(bars) do add(self, counts, (bar.low + bar.high) / 2, bar.count) end
  return counts
end

--- Where a bin ends; of 0: where the first one begins.
---@param bin integer
---@return number
function Bins:edge(bin)
  local share = bin / self.count
  if self.log then return self.low * (self.high / self.low) ^ share end
  return self.low + (self.high - self.low) * share
end

--- The bars of a chart: middle, height, width.
---@param counts integer[]
---@param divisor number
---@return number[][]
function Bins:bars(counts, divisor)
  local data = {}
  for bin, count in ipairs(counts) do
    local from, to = self:edge(bin - 1) / divisor, self:edge(bin) / divisor
    data[bin] = { (from + to) / 2, count, to - from }
  end
  return data
end

--- Bins that hold all of some values; nil where all are one value.
---@param values number[]
---@param count integer
---@param log boolean
---@return pmclua.Bins? bins
---@return integer[]? counts
function M.of_values(values, count, log)
  local low, high = lists.range(values)
  if low >= high then return nil end
  local bins = M.new(low, high, count, log)
  local counts = no_counts(bins)
  for i = 1, #values do add(bins, counts, values[i], 1) end
  return bins, counts
end

-- ---- five characters -----------------------------------------------------------------------------------

M.SHAPE = 5                      -- bins of a shape
local SIGNS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- Counts as signs: the fullest bin has the highest.
---@param counts integer[]
---@return string
function M.drawn(counts)
  local most, signs = math.max(unpack(counts)), {}
  for i, count in ipairs(counts) do signs[i] = SIGNS[1 + math.floor((#SIGNS - 1) * count / most + 0.5)] end
  return table.concat(signs)
end

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }

--- A share as a bar, to an eighth of a character.
---@param share number more than the whole, and less than nothing, are drawn as these
---@param width integer columns of the whole
---@return string
function M.bar(share, width)
  local eighths = math.floor(math.min(1, math.max(0, share)) * width * 8 + 0.5)
  return ("█"):rep(math.floor(eighths / 8)) .. (EIGHTHS[eighths % 8] or "")
end

--- The distribution of values. "" where all are one value.
---@param values number[]
---@return string
function M.shape(values)
  local bins, counts = M.of_values(values, M.SHAPE, false)
  return bins and M.drawn(counts) or ""
end

return M
