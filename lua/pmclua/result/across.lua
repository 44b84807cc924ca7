--- across.lua: which metrics of a result come from one pass, and which are computed across passes.
--
-- Invariant: a metric of one pass divides counts of the same runs. One across passes pairs runs of different
-- passes by their repetition, and is as true as the passes did the same work, which the anchors show.

local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"
local values = require "pmclua.result.values"

local M = {}

--- In how many passes the events of a metric were counted: 1 where one pass has them all; nil where an event is
--- in none.
---@param result pmclua.Result
---@param metric { needs: string[] }
---@return integer?
function M.passes(result, metric)
  local events = values.events_needed(result, metric)
  if lists.any(events, function(event) return #event.passes == 0 end) then return nil end
  if #events == 0 or #values.common_passes(events) > 0 then return 1 end
  return #lists.unique(lists.map(events, function(event) return event.passes[1] end))
end

local function spread_in(cell, event)
  local least, most
  for _, pass in ipairs(event.passes) do
    local median = stats.median(values.of_pass(cell, event, pass))
    if median then least, most = math.min(least or median, median), math.max(most or median, median) end
  end
  return least and least > 0 and (most - least) / least or nil
end

--- The events of all passes, which show whether these did the same work, and how far the medians of each are apart,
--- as a share, in the cell in which they are farthest.
---@param result pmclua.Result
---@return { name: string, spread: number }[]
function M.anchors(result)
  local list = {}
  for _, index in ipairs(result.header.anchors or {}) do
    local event, most = result.events[index], nil
    for cell in result:cells() do
      local spread = event and spread_in(cell, event)
      if spread then most = math.max(most or 0, spread) end
    end
    if most then list[#list + 1] = { name = event.name, spread = most } end
  end
  return list
end

return M
