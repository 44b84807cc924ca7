--- linux.lua: files of Linux's tools/perf/pmu-events/arch: lists of events and metrics.
--
-- An entry with an ArchStdEvent takes what it lacks from the event of that name in the files beside mapfile.csv.

local jevents = require "pmclua.vendor.jevents"
local json_file = require "pmclua.vendor.json_file"
local lists = require "pmclua.base.lists"

local M = {}

local function read_list(path, collection)
  local list, problem = json_file.read(path)
  if problem then collection:problem("%s: %s", path, problem) end
  return type(list) == "table" and list or {}
end

-- The architecture's standard events by name, in lower case: in the files of the folder that has mapfile.csv.
local function standard_events(path, collection)
  local folder = path
  repeat folder = folder:match "^(.*)/[^/]*$"
  until not folder or require("pmclua.core").signature(folder .. "/mapfile.csv")
  if not folder then return {} end
  collection.standard = collection.standard or {}
  local known = collection.standard[folder]
  if known then return known end
  known = {}
  collection.standard[folder] = known
  for _, name in ipairs(require("pmclua.host.machine").entries(folder)) do
    local list = name:find "%.json$" and read_list(folder .. "/" .. name, collection)
    for _, object in ipairs(json_file.objects(list)) do
      local row = json_file.texts(object)
      if row.EventName then known[row.EventName:lower()] = row end
    end
  end
  return known
end

local function with_standard(row, path, collection)
  if type(row.ArchStdEvent) ~= "string" then return row end
  local standard = standard_events(path, collection)[row.ArchStdEvent:lower()]
  local whole = lists.copy(standard or {})
  for key, value in pairs(row) do whole[key] = value end
  return whole, standard == nil and ("there is no standard event %s"):format(row.ArchStdEvent) or nil
end

local function take_metric(row, collection)
  if type(row.MetricExpr) ~= "string" then return false end
  collection:metric { name = row.MetricName, expression = row.MetricExpr, scale = row.ScaleUnit,
    threshold = type(row.MetricThreshold) == "string" and row.MetricThreshold or nil,
    constraint = row.MetricConstraint, groups = row.MetricGroup, pmu = jevents.pmu_of(row.Unit),
    description = row.BriefDescription or row.PublicDescription }
  return true
end

local function take(row, path, collection)
  local whole, why = with_standard(row, path, collection)
  local is_metric = type(whole.MetricName) == "string" and take_metric(whole, collection)
  if is_metric and not whole.EventName then return end
  if why or not jevents.take(whole, collection) then
    collection:problem("%s: %s has no code%s", path, tostring(row.EventName or row.MetricName or "an entry"),
      why and ": " .. why or "")
  end
end

--- Reads a file.
---@param file { path: string }
---@param collection pmclua.vendor.Collection
function M.read(file, collection)
  if file.path:find "/metricgroups%.json$" then return end      -- what groups mean
  for _, row in ipairs(json_file.objects(read_list(file.path, collection))) do
    local texts, other = json_file.texts(row)
    if not other then take(texts, file.path, collection)
    else collection:problem("%s: %s: %s is no text", file.path, texts.EventName or "an entry", other) end
  end
end

return M
