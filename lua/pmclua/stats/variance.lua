--- variance.lua: how much of the spread is between groups (layouts), how much within (runs).
--
-- Invariant: components are variances, never negative: an estimate below 0 means that no difference
-- between groups can be seen, and is given as 0.

local order = require "pmclua.stats.order"

local sqrt, max = math.sqrt, math.max

local M = {}

---@class pmclua.Components
---@field mean number of all values
---@field between number variance between groups
---@field within number variance within groups
---@field between_share? number standard deviation between groups over the mean; absent for mean 0
---@field within_share? number
---@field groups integer
---@field n integer values

local function sums(groups)
  local n, total, squares = 0, 0, 0
  for _, group in ipairs(groups) do
    n, squares = n + #group, squares + #group * #group
    for _, value in ipairs(group) do total = total + value end
  end
  return n, total / n, squares
end

local function sums_of_squares(groups, grand)
  local between, within = 0, 0
  for _, group in ipairs(groups) do
    local mean = 0
    for _, value in ipairs(group) do mean = mean + value / #group end
    between = between + #group * (mean - grand) * (mean - grand)
    for _, value in ipairs(group) do within = within + (value - mean) * (value - mean) end
  end
  return between, within
end

--- Variance components of the one-way random effects model by the analysis of variance, for groups of
--- any sizes (Searle, Casella, McCulloch: "Variance Components", 3.6): between = (MSB - MSW)/n₀ with
--- n₀ = (N - Σnᵢ²/N)/(k - 1).
---@param groups number[][] values of each group
---@return pmclua.Components? components nil under two groups, or where no group has two values
---@return string? reason
function M.components(groups)
  for _, group in ipairs(groups) do
    local ok, reason = order.sorted(group)
    if not ok then return nil, reason end
  end
  if #groups < 2 then return nil, "variance between groups needs two groups" end
  local n, grand, squares = sums(groups)
  if n == #groups then return nil, "variance within groups needs a group of two values" end
  local ssb, ssw = sums_of_squares(groups, grand)
  local k = #groups
  local msb, msw = ssb / (k - 1), ssw / (n - k)
  local size = (n - squares / n) / (k - 1)
  local between = max(0, (msb - msw) / size)
  local result = { mean = grand, between = between, within = msw, groups = k, n = n }
  if grand ~= 0 then
    result.between_share, result.within_share = sqrt(between) / math.abs(grand), sqrt(msw) / math.abs(grand)
  end
  return result
end

return M
