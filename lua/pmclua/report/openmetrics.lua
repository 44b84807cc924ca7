--- openmetrics.lua: a result in the text format of OpenMetrics 1.0, for what collects metrics (Prometheus and its like).
--
-- A family of gauges for each quantity, a sample for each cell: the median, its interval's ends, and how many values these
-- are of. Times are in seconds. What was not counted has no sample.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"' }

local function label(name, value)
  return ('%s="%s"'):format(name:gsub("[^%w_]", "_"), (text.safe(tostring(value)):gsub('[\\"]', ESCAPES)))
end

local function labels_of(cell)
  local list = { label("workload", cell.workload) }
  for _, name in ipairs(lists.keys(cell.levels)) do
    list[#list + 1] = label(name == "stat" and "factor_stat" or name, cell.levels[name])
  end
  for _, part in ipairs { "region", "thread", "cpu", "interval" } do
    if cell[part] ~= nil then list[#list + 1] = label(part, cell[part]) end
  end
  return list
end

local function samples_of(summary, scale)
  return { { "median", summary.median, scale }, { "low", summary.low, scale },
    { "high", summary.high, scale }, { "values", summary.n, 1 } }
end

local function family(result, quantity, put)
  local is_time = quantity.unit == "ns"
  local name = ("pmclua_%s%s"):format(quantity.field:gsub("[^%w_]", "_"), is_time and "_seconds" or "")
  put(("# TYPE %s gauge\n"):format(name))
  if is_time then put(("# UNIT %s seconds\n"):format(name)) end
  put(("# HELP %s %s\n"):format(name, (text.safe(quantity.name):gsub('[\\"]', ESCAPES))))
  for cell in result:cells() do
    local summary, labels = cell:summary(quantity.field), table.concat(labels_of(cell), ",")
    for _, sample in ipairs(summary and summary.n > 0 and samples_of(summary, is_time and 1e-9 or 1) or {}) do
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
  for _, event in ipairs(result.header.events) do family(result, event, put) end
  for _, metric in ipairs(result.metrics or {}) do
    family(result, { field = metric.name, name = metric.title or metric.name, unit = metric.unit }, put)
  end
  put "# EOF\n"
end

return M
