--- openmetrics.lua: a result in the text format of OpenMetrics 1.0, for what collects metrics (Prometheus and its like).
--
-- A family of gauges for each quantity, a sample for each cell: the median, its interval's ends, and how many values these
-- are of. Times are in seconds. What was not counted, or lacks what a launcher had others do, has no sample.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"' }

local PARTS = { "region", "thread", "cpu", "interval" }

local function label(name, value)
  return ('%s="%s"'):format(name, (text.safe(tostring(value)):gsub('[\\"]', ESCAPES)))
end

local function labels_of(cell, factor_name)
  local list = { label("workload", cell.workload) }
  for _, name in ipairs(lists.keys(cell.levels)) do
    list[#list + 1] = label(factor_name(name), cell.levels[name])
  end
  for _, part in ipairs(PARTS) do
    if cell[part] ~= nil then list[#list + 1] = label(part, cell[part]) end
  end
  return list
end

local function samples_of(summary, scale)
  return { { "median", summary.median, scale }, { "low", summary.low, scale },
    { "high", summary.high, scale }, { "values", summary.n, 1 } }
end

local function family(result, quantity, names, put)
  local is_time = quantity.unit == "ns"
  local name = "pmclua_" .. names.family(quantity.field, is_time and "_seconds" or "")
  put(("# TYPE %s gauge\n"):format(name))
  if is_time then put(("# UNIT %s seconds\n"):format(name)) end
  put(("# HELP %s %s\n"):format(name, (text.safe(quantity.name):gsub('[\\"]', ESCAPES))))
  for cell in result:cells() do
    local summary, labels = cell:summary(quantity.field), table.concat(labels_of(cell, names.factor), ",")
    local has_value = summary and summary.n > 0 and not summary.launcher
    for _, sample in ipairs(has_value and samples_of(summary, is_time and 1e-9 or 1) or {}) do
      if sample[2] then
        put(('%s{%s,stat="%s"} %s\n'):format(name, labels, sample[1], json.number(sample[2] * sample[3])))
      end
    end
  end
end

--- Writes the result.
---@param result pmclua.Result
---@param put fun(piece: string)
function M.write(result, put)
  local names = { family = text.naming {},
    factor = text.naming(lists.set(lists.joined { { "workload", "stat" }, PARTS })) }
  for _, event in ipairs(result.header.events) do family(result, event, names, put) end
  for _, metric in ipairs(result.metrics or {}) do
    local quantity = { field = metric.name, name = metric.title or metric.name, unit = metric.unit }
    family(result, quantity, names, put)
  end
  put "# EOF\n"
end

return M
