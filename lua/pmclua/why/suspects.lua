--- suspects.lua: whatever else was counted and differs between the two sides. They come with the
--- difference, and may be its cause, its effect, or neither.
--
-- Differences below the margin do not count. The others are judged together: at most 5 % of those listed are expected
-- to be chance (Benjamini and Hochberg 1995). Times and nodes of a tree are in the ledgers instead.

local complete = require "pmclua.result.complete"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local multiple = require "pmclua.stats.multiple"
local order = require "pmclua.stats.order"
local sides = require "pmclua.why.sides"
local tree = require("pmclua.base.lazy").module "pmclua.metric.tree"

local M = {}

local RATE = 0.05

---@class pmclua.Suspect
---@field name string
---@field title string
---@field unit string
---@field a number mean
---@field b number
---@field ratio? number of the means; nil where one is 0
---@field p number
---@field adjusted number the least rate at which it would be listed
---@field exact? boolean both sides are the same in all repetitions
---@field simulated? boolean

local function is_time(about) return about.unit == "ns" or about.unit == "seconds" end

local function indices_of(why, a, b)
  if not why.paired then return sides.common(a), sides.common(b) end
  local both = sides.common(a, b)
  return both, both
end

local function p_of(why, a, b)
  if order.are_equal(a) and order.are_equal(b) then return a[1] == b[1] and 1 or 0, true end
  local estimate = why.paired and mean.paired(a, b) or mean.unpaired(a, b)
  return mean.p(estimate) or 1, false
end

local function candidate(why, about, name)
  local a, b = sides.values(why.a, name), sides.values(why.b, name)
  if not (a and b) then return nil end
  local of_a, of_b = indices_of(why, a, b)
  if #of_a == 0 or #of_b == 0 then return nil end
  local list_a, list_b = sides.listed(a, of_a), sides.listed(b, of_b)
  local p, exact = p_of(why, list_a, list_b)
  local mean_a, mean_b = mean.average(list_a), mean.average(list_b)
  if math.abs(mean_b - mean_a) <= why.margin * mean_a then return nil end
  return { name = name, title = about.title or about.name, unit = about.unit or "", a = mean_a, b = mean_b,
    ratio = mean_a > 0 and mean_b > 0 and mean_b / mean_a or nil, p = p, exact = exact,
    simulated = about.source == "valgrind" or nil }
end

-- Events and metrics that are in no ledger, each with its name.
local function quantities(result)
  local list = {}
  for _, event in ipairs(result.events) do
    if not is_time(event) then list[#list + 1] = { about = event, name = event.field } end
  end
  for _, metric in ipairs(result.metrics) do
    local is_elsewhere = is_time(metric) or tree.level(metric)
    if not is_elsewhere then list[#list + 1] = { about = metric, name = metric.name } end
  end
  return list
end

-- Those of which too little was counted are none; the second list has them, with why.
local function candidates(why)
  local list, incomplete = {}, {}
  local pair = { cell = why.b, baseline = why.a }
  for _, quantity in ipairs(quantities(why.result)) do
    local name, about = quantity.name, quantity.about
    local has_values = sides.values(why.a, name) and sides.values(why.b, name)
    local reason = has_values and complete.of_pair(pair, name)
    if reason then
      incomplete[#incomplete + 1] = { title = about.title or about.name, why = reason }
    else
      list[#list + 1] = candidate(why, about, name)
    end
  end
  return list, incomplete
end

local function size(suspect) return suspect.ratio and math.abs(math.log(suspect.ratio)) or math.huge end

--- The quantities that differ, the largest ratio first.
---@param why pmclua.Why
---@return pmclua.Suspect[]
---@return { title: string, why: string }[] incomplete what cannot be judged
function M.of(why)
  local chosen, list, incomplete = {}, candidates(why)
  for i, tested in ipairs(multiple.benjamini_hochberg(lists.column(list, "p"), RATE)) do
    list[i].adjusted = tested.adjusted
    if tested.rejected then chosen[#chosen + 1] = list[i] end
  end
  table.sort(chosen, function(x, y)
    if size(x) ~= size(y) then return size(x) > size(y) end
    return x.title < y.title
  end)
  return chosen, incomplete
end

return M
