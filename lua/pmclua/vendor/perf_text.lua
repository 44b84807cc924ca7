--- perf_text.lua: what `perf list --details` prints, for perf before 6.2, which has no --json.
--
--     name
--          [description, wrapped. Unit: uncore_imc]
--           uncore_imc_0/event=0x4,umask=0xf/
--
-- Behind "Metrics:" and in each group behind "Metric Groups:" a name has a description and a formula, both in
-- brackets and of one line each. Names with "[Kernel PMU event]" and the like are sysfs's and not taken.

local M = {}

local UNIT = "%.? *Unit: *([%w_,]+) *$"

-- Behind a description the PMU that has the event.
local function split_unit(description)
  local unit = description:match(UNIT)
  return (description:gsub(UNIT, "")), unit
end

local function finish_event(entry, take)
  local pmu, terms, rest = entry.encoding:match "^([^/]+)/([^/]*)/%s*(.-)%s*$"
  local description, unit = split_unit(entry[1] or "")
  take.event { name = entry.name, pmu = unit or pmu, terms = terms, description = description }
  local name, expression = rest:match "^MetricName: (.-) MetricExpr: (.+)$"
  if not name then return end
  take.metric { name = name:match "^%S+", expression = expression, description = description }
end

local function finish_metric(entry, take, group)
  local expression = entry[#entry]
  local description, unit = split_unit(#entry > 1 and entry[1] or "")
  take.metric { name = entry.name, expression = expression, description = description, pmu = unit,
    group = group }
end

local function finish(entry, take, group)
  if not entry then return end
  for i, paragraph in ipairs(entry) do entry[i] = paragraph:gsub("%]%s*$", "") end
  if entry.encoding then finish_event(entry, take)
  elseif group ~= nil and entry[1] then finish_metric(entry, take, group or nil) end
end

-- A line within an entry: "[" begins a paragraph, others go on with it, or are the encoding.
local function add_line(entry, line)
  local opening = line:match "^%s+%[(.*)$"
  local is_whole = #entry == 0 or entry[#entry]:find "%]%s*$"
  if opening and is_whole then
    entry[#entry + 1] = opening
  elseif is_whole and line:find "^%s+[%w_.-]+/[^/]*/" then
    entry.encoding = line:match "^%s+(.*)$"
  elseif #entry > 0 then
    entry[#entry] = ("%s %s"):format(entry[#entry], line:match "^%s*(.*)$")
  end
end

--- Reads the text; `take.event` and `take.metric` get each, a metric once for each of its groups.
---@param text string
---@param take { event: fun(event: table), metric: fun(metric: table) }
function M.read(text, take)
  local entry, group              -- group: nil among events, false for metrics without one
  for line in text:gmatch "[^\n]+" do
    local name = line:match "^  (%S.*)$"
    if name or line:find "^%S" then
      finish(entry, take, group)
      entry = nil
    end
    if name then
      name = name:match "^(%S+)%s*$"
      entry = name and { name = name }
    elseif line:find "^%S" then
      local head = line:match "^(.-):%s*$"
      if head == "Metrics" or head == "Metric Groups" then group = false
      elseif group ~= nil then group = head or false end
    elseif entry then
      add_line(entry, line)
    end
  end
  finish(entry, take, group)
end

return M
