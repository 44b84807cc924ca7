--- stats/init.lua: the statistics that scripts and the engine share; its rooms are in stats/.
--
-- Invariant: functions take plain lists of finite numbers, change none, know no clock and no file, and
-- give the same result on every machine. What cannot be said is nil and a reason.

local order = require "pmclua.stats.order"

local M = { ranks = order.ranks, sorted = order.sorted }

require("pmclua.base.lazy").fields(M, {
  ["pmclua.stats.random"] = { random = "new" },
  ["pmclua.stats.interval"] = { "summary", "paired_ratio", "paired_difference", median_interval = "median" },
  ["pmclua.stats.multiple"] = { "bonferroni" },
  ["pmclua.stats.rank"] = { "spearman", "mann_whitney", "hodges_lehmann" },
  ["pmclua.stats.fit"] = { "line", "theil_sen", "bootstrap" },
  ["pmclua.stats.slope"] = { slope = "fit", slopes = "bootstrap" },
  ["pmclua.stats.growth"] = { growth = "fit" },
  ["pmclua.stats.variance"] = { "components" },
})

--- Quantile, type 7: as R and NumPy by default.
---@param values number[]
---@param p number from 0 to 1
---@return number? quantile nil where there is no value
---@return string? reason
function M.quantile(values, p)
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    error("quantile(values, p) takes a p from 0 to 1, not " .. tostring(p), 2)
  end
  local sorted, reason = order.sorted(values)
  if not sorted then return nil, reason end
  return order.quantile_of(sorted, p)
end

-- A function of values that are in order as one of values as measured.
local function of_any_order(f)
  return function(values)
    local sorted, reason = order.sorted(values)
    if not sorted then return nil, reason end
    return f(sorted, values)
  end
end

--- The median; nil and the reason where there is no value.
---@type fun(values: number[]): number?, string?
M.median = of_any_order(order.median_of)

--- Median absolute deviation from the median, unscaled, and the median; nil and the reason where there is no value.
---@type fun(values: number[]): number?, number|string
M.mad = of_any_order(order.mad_of)

--- Indices of outliers by the modified z-score of Iglewicz and Hoaglin, none where the MAD is 0; nil and the reason
--- where there is no value.
---@type fun(values: number[]): integer[]?, string?
M.outliers = of_any_order(function(sorted, values) return order.outliers(values, order.mad_of(sorted)) end)

return M
