--- perf_json.lua: what `perf list --json` prints, for perf since 6.2: a list of objects, of which those with a
--- MetricName are metrics, once for each group, and those with an Encoding are events.

local json_file = require "pmclua.vendor.json_file"

local M = {}

local function is_text(value) return type(value) == "string" and value ~= "" end

-- "cpu/event=0xd1,period=0x186b5,umask=0x10/" to the PMU and the terms.
local function split_encoding(encoding)
  return encoding:match "^([^/]+)/([^/]*)/"
end

-- Only what tables have, which is described: names of sysfs are found in sysfs.
local function read_event(row, take)
  local pmu, terms = split_encoding(is_text(row.Encoding) and row.Encoding or "")
  local is_described = is_text(row.BriefDescription) or is_text(row.PublicDescription) or is_text(row.Topic)
  if not pmu or not is_described or not terms:find "=" then return end
  take.event { name = row.EventName, pmu = is_text(row.Unit) and row.Unit or pmu, terms = terms,
    scale = row.ScaleUnit, description = row.BriefDescription or row.PublicDescription,
    is_deprecated = row.Deprecated == "1" }
end

local function read_metric(row, take)
  take.metric { name = row.MetricName, expression = row.MetricExpr, threshold = row.MetricThreshold,
    scale = row.ScaleUnit, group = is_text(row.MetricGroup) and row.MetricGroup or nil,
    pmu = is_text(row.Unit) and row.Unit or nil, description = row.BriefDescription or row.PublicDescription }
end

--- Takes one object of the list.
---@param row table
---@param take { event: fun(event: table), metric: fun(metric: table) }
function M.row(row, take)
  row = json_file.texts(row)
  if is_text(row.MetricName) and is_text(row.MetricExpr) then read_metric(row, take)
  elseif is_text(row.EventName) then read_event(row, take) end
end

return M
