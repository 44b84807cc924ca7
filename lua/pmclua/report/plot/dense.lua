--- dense.lua: charts of more values than a picture has room for.

local lists = require "pmclua.base.lists"

local M = {}

local MOST_POINTS = 2000        -- of a picture

--- Thins a sorted list to values at equal steps of rank, with the first and the last.
---@param sorted number[]
---@param shares integer how many cells share the room
---@return number[]
function M.thinned(sorted, shares)
  local n, most = #sorted, math.max(2, math.floor(MOST_POINTS / shares))
  if n <= most then return sorted end
  local list = {}
  for k = 1, most do list[k] = sorted[1 + math.floor((k - 1) * (n - 1) / (most - 1) + 0.5)] end
  return list
end

--- The places of the smallest and the largest of each run of neighbours, so that no outlier is lost.
---@param values number[]
---@param shares integer
---@return integer[]
function M.extremes(values, shares)
  local size, places = math.ceil(2 * #values * shares / MOST_POINTS), {}
  for first = 1, #values, math.max(1, size) do
    local low, high = first, first
    for i = first + 1, math.min(#values, first + size - 1) do
      if values[i] < values[low] then low = i elseif values[i] > values[high] then high = i end
    end
    places[#places + 1] = math.min(low, high)
    if low ~= high then places[#places + 1] = math.max(low, high) end
  end
  return places
end

--- A chart's subtitle, with the way values were chosen where it does not show all.
---@param what string
---@param cells pmclua.Cell[]
---@param name string of the quantity
---@param how string
---@return string
function M.said(what, cells, name, how)
  local count = lists.sum(cells, function(cell) return cell:summary(name).n end)
  return count <= MOST_POINTS and what or ("%s · %s"):format(what, how)
end

return M
