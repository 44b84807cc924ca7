--- bins.lua: the histogram of a region's calls, whose bars are fine, in fewer bins of equal width or equal ratio.

local M = {}

---@class pmclua.Bins
---@field low number
---@field high number
---@field count integer
---@field log boolean bins are of equal ratio
local Bins = {}
Bins.__index = Bins

---@param low number above 0 where they are of equal ratio
---@param high number
---@param count integer
---@param log boolean
---@return pmclua.Bins
function M.new(low, high, count, log)
  return setmetatable({ low = low, high = high, count = count, log = log }, Bins)
end

-- Where a value is between the lowest and the highest, from 0 to 1.
local function position(self, value)
  if self.log then return math.log(math.max(value, self.low) / self.low) / math.log(self.high / self.low) end
  return (value - self.low) / (self.high - self.low)
end

--- How many calls each bin has.
---@param bars pmclua.Bar[]
---@return integer[] counts from bin 1 on
function Bins:counts(bars)
  local counts = {}
  for bin = 1, self.count do counts[bin] = 0 end
  for _, bar in ipairs(bars) do
    local middle = position(self, (bar.low + bar.high) / 2)
    local bin = math.min(self.count, 1 + math.floor(self.count * middle))
    counts[bin] = counts[bin] + bar.count
  end
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

return M
