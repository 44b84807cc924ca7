--- collect.lua: gathers the events and metrics that a reader takes from its files, and what was wrong with them.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.vendor.Collection
---@field events table[]
---@field metrics table[]
---@field problems string[]

local Collection = {}
Collection.__index = Collection

--- An empty collection; `source` is where its entries are from, for people.
---@param source string
---@return pmclua.vendor.Collection
function M.new(source)
  local empty = { source = source, events = {}, metrics = {}, problems = {}, metric_by_key = {} }
  return setmetatable(empty, Collection)
end

-- "event=0xd1,period=0x186b5": a period is for sampling.
local function counted_terms(terms)
  return table.concat(lists.where(lists.collect(terms:gmatch "[^,]+"), function(term)
    return not term:find "^period="
  end), ",")
end

Collection.counted_terms = counted_terms

--- Takes an event: name, pmu, terms; scale, description, is_deprecated.
function Collection:event(event)
  if type(event.name) ~= "string" or type(event.terms) ~= "string" then return end
  -- A table holds for all equal PMUs, and perf may name the first: "uncore_imc_0".
  local pmu = event.pmu and event.pmu:gsub("_%d+$", "")
  self.events[#self.events + 1] = { name = event.name, pmu = pmu, terms = counted_terms(event.terms),
    scale = event.scale, deprecated = event.is_deprecated or nil, table = self.source,
    description = event.description }
end

local function add_groups(metric, groups)
  for group in (groups or ""):gmatch "[^;]+" do
    local word = group:match "^%s*(.-)%s*$"
    if word ~= "" and not metric.has_group[word] then
      metric.has_group[word] = true
      metric.groups = metric.groups and metric.groups .. ";" .. word or word
    end
  end
end

--- Takes a metric: name, expression; pmu, scale, threshold, constraint, group or groups, parent, level, children,
--- description. One that comes again adds its groups.
function Collection:metric(metric)
  if type(metric.name) ~= "string" or type(metric.expression) ~= "string" then return end
  local key = ("%s\n%s\n%s"):format(metric.name, metric.pmu or "", metric.expression)
  local known = self.metric_by_key[key]
  if not known then
    known = { name = metric.name, pmu = metric.pmu, expression = metric.expression, scale = metric.scale,
      threshold = metric.threshold, constraint = metric.constraint, parent = metric.parent,
      table = self.source, description = metric.description, level = metric.level,
      children = metric.children, has_group = {} }
    self.metric_by_key[key] = known
    self.metrics[#self.metrics + 1] = known
  end
  add_groups(known, metric.group or metric.groups)
end

--- A collector for readers: two functions that take an event and a metric.
function Collection:takers()
  return {
    event = function(event) self:event(event) end,
    metric = function(metric) self:metric(metric) end,
  }
end

--- Notes that an answer was cut, which another time it may not be: what is gathered is not kept.
function Collection:cut(form, ...)
  self.is_cut = true
  self:problem(form, ...)
end

--- Notes what was wrong with a file.
function Collection:problem(form, ...) self.problems[#self.problems + 1] = form:format(...) end

return M
