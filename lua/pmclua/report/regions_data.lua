--- regions_data.lua: the calls of regions for programs: JSON, and CSV of single calls.

local M = {}

---@class pmclua.RegionName what a region has values of
---@field field string
---@field title string
---@field unit string
---@field scale number?

--- All that the regions of a result have values of, in the order of the report.
---@param result pmclua.RegionResult
---@return pmclua.RegionName[]
function M.names(result)
  local list = { { field = "duration", title = "duration", unit = "ns" },
    { field = "cpu_time", title = "cpu time", unit = "ns" } }
  for _, event in ipairs(result.events) do
    list[#list + 1] = { field = event.field, title = event.name, unit = event.unit or "",
      scale = event.scale or 1 }
  end
  return list
end

--- The one of that name; raises where there is none.
---@param result pmclua.RegionResult
---@param name string
---@return pmclua.RegionName
function M.about(result, name)
  local fields = {}
  for i, about in ipairs(M.names(result)) do
    if about.field == name:gsub("-", "_") then return about end
    fields[i] = about.title
  end
  local nearest = require("pmclua.base.text").nearest(name, fields)
  error(require("pmclua.explain").problem { code = "ENOENT", operation = "report",
    message = ("regions have no '%s'"):format(name), hint = nearest and ("did you mean '%s'?"):format(nearest)
      or "there are " .. require("pmclua.base.text").list(fields) }, 0)
end

-- ---- JSON ----------------------------------------------------------------------------------------------

local QUANTILES = { { "q1", 0.25 }, { "median", 0.5 }, { "q3", 0.75 }, { "p90", 0.9 }, { "p99", 0.99 },
  { "p999", 0.999 } }

local function json_values(region, about, is_self)
  local values = region:values(about.field, is_self)
  local out = { status = values.status, why = values.why, total = values.sum, per_call = values.mean,
    least = values.least, share = values.share, ran = values.ran, n = values.n, min = values.min,
    max = values.max,
    probing = values.probing, probing_spread = values.probing_spread }
  for _, pair in ipairs(QUANTILES) do
    local value, is_exact = region:quantile(about.field, pair[2], is_self)
    out[pair[1]], out.exact = value, is_exact
  end
  if values.n > 0 and not is_self then out.histogram = region:histogram(about.field) end
  return out
end

local function json_region(result, region)
  local out = { name = region.name, notes = region.notes, events = {}, itself = {}, threads = {} }
  for _, name in ipairs(require("pmclua.result.calls").FACTS) do out[name] = region[name] end
  for _, about in ipairs(M.names(result)) do
    out.events[about.field] = json_values(region, about)
    out.itself[about.field] = json_values(region, about, true)
  end
  for i, thread in ipairs(region.threads) do
    out.threads[i] = { pid = thread.pid, tid = thread.tid, name = thread.name, calls = thread.calls }
  end
  return out
end

--- All of a result as one line of JSON.
---@param result pmclua.RegionResult
---@return string
function M.json(result)
  local out = { kind = "regions", schema = 1, command = result.command, outcome = result.outcome,
    exit = result.exit, signal = result.signal, wall_ns = result.wall_ns, followed = result.path,
    samples = result.samples, lost = result.lost, observed = result.observed, ran = result.ran,
    subtracted = result.subtracted or false, regions = {} }
  for i, region in ipairs(result) do out.regions[i] = json_region(result, region) end
  local cost, spread = result:probing "cpu_time"
  if cost then out.probing = { cpu_time = cost, spread = spread } end
  out.probing_unknown = result.cost_unknown
  return require("pmclua.base.json").encode(out) .. "\n"
end

-- ---- calls one by one ----------------------------------------------------------------------------------

local function csv_cell(value)
  local cell = type(value) == "string" and value or require("pmclua.base.json").number(value)
  return cell:find '[",\n]' and '"' .. cell:gsub('"', '""') .. '"' or cell
end

--- The kept calls of the first pass as CSV, in the order of their ends.
---@param result pmclua.RegionResult
---@return string
function M.calls(result)
  local run = result.runs[1]
  local calls, names = run.regions.calls, { "region", "tid", "start_ns", "level" }
  local columns = { 1, 2 }
  names[5], names[6] = "duration", "cpu_time"
  for index, event in ipairs(result.events) do
    if run.columns[index] then
      columns[#columns + 1], names[#names + 1] = run.columns[index], event.field
    end
  end
  local lines = { table.concat(names, ",") }
  for i = 1, calls.count do
    local call = calls:at(i)
    local cells = {}
    local region = result[call.region]
    local level = region:is_switching() and "" or call.level
    for k, fact in ipairs { region.name, call.tid, call.start_ns, level } do cells[k] = csv_cell(fact) end
    for k, column in ipairs(columns) do
      cells[#cells + 1] = region:why_not(names[4 + k]) and "" or csv_cell(calls:value(i, column))
    end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
