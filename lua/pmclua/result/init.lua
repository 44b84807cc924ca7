--- result/init.lua: what an experiment found: cells, each with summaries of its events and metrics.
--
-- Invariant: a result is its header and records; everything else is derived when asked for. The same
-- comes of records as they arrive and of a stored file. What was not counted is absent with a reason.
-- Rooms in result/: columns (records as columns of numbers), cell, names, values, fits, summary, select,
-- compare, merge, files, save, warnings.

local explain = require "pmclua.explain"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local columns = require "pmclua.result.columns"
local cells = require "pmclua.result.cell"
local ending = require "pmclua.result.ending"
local names = require "pmclua.result.names"
local reading = require "pmclua.counting.reading"
local cell_key = require "pmclua.result.cell_key"
local select_cells = require("pmclua.base.lazy").module "pmclua.result.select"

local M = {}

---@class pmclua.Result
---@field header table store/README.md, "The header"
---@field events table[] of the header, with `index` and `passes`
---@field metrics pmclua.Metric[]
---@field per_metrics pmclua.Metric[] the cost of one element, for each event
---@field per_event table<string, pmclua.Metric> the same by event
---@field element string? what it is called
---@field status "complete"|"interrupted"|"unfinished"|"running"|"failed"
---@field problem? any what ended the run
---@field signal? integer that interrupted it
---@field ended? pmclua.BadEnd has the three above where the run did not end well (ending.lua)
---@field remarks string[]?
---@field expectations table[]? what became of the predictions
---@field problems string[] what a stored file lacks
---@field followed table<integer, table[]> what following calls found in cells, by number: result/regions.lua
---@field path string? of the stored file
---@field profiled table<integer, table[]> profiles and system calls of cells, by number: result/profiles.lua
---@field is_chosen boolean? cells were left out on purpose
local Result = require("pmclua.public.class").new("results", "result",
  "cell_list problem path signal remarks expectations waits cut_off is_chosen profiled followed element "
  .. "status ended")
local methods = Result.__index

function Result:__index(name)
  local ended = ending.read(self, name)
  if ended ~= nil then return ended end
  return methods[name]
end

local function part_of(result, number, record)
  local plain = not record or not cell_key.is_part(record)
  local key = plain and number or ("%d/%s/%s/%s/%s/%s"):format(number, tostring(record.region),
    tostring(record.thread), tostring(record.cpu), tostring(record.interval), tostring(record.task))
  local part = result.part_by_key[key]
  if part then return part end
  local workload = result.workload_by_name[result.header.cells[number].workload]
  part = { number = number, columns = columns.new(kinds.of(workload.kind).is_executed) }
  if not plain then
    part.region, part.thread, part.cpu = record.region, record.thread, record.cpu
    part.interval, part.task = record.interval, record.task
  end
  result.part_by_key[key] = part
  result.parts[#result.parts + 1] = part
  return part
end

--- An empty result.
---@param header table store/README.md, "The header"
---@return pmclua.Result
function M.new(header)
  local result = setmetatable({ header = header, events = {}, metrics = {}, per_metrics = {},
    per_event = {}, tools = {}, most = {}, event_by_field = {}, metric_by_name = {}, factor_by_name = {},
    workload_by_name = {}, pass_events = {}, status = "running", problems = {} }, Result)
  names.read(result)
  for index, event in ipairs(result.events) do result.most[index] = reading.most_per_ns(event) end
  M.clear(result)
  return result
end

--- Drops every record.
---@param result pmclua.Result
function M.clear(result)
  result.parts, result.part_by_key, result.cell_list = {}, {}, nil
  result.profiled, result.followed = {}, {}
  for number in ipairs(result.header.cells) do part_of(result, number) end
end

--- Takes a record of the plan.
---@param result pmclua.Result
---@param record table store/README.md, "The record"
function M.add(result, record)
  local part = part_of(result, record.cell, record)
  columns.add(part.columns, record, result.pass_events[record.pass], result.tools, result.most,
    result.header.on_failure == "keep")
  if record.profiles or record.system_calls then require("pmclua.result.profiles").add(result, record) end
  if record.followed then require("pmclua.result.regions").add(result, record) end
  result.cell_list = nil
end

--- Takes the records of a packed line, if that can be done at once.
---@param result pmclua.Result
---@param first table the first of them
---@param packed table as columns.add_packed has it
---@param values (number|ffi.cdata*|nil)[]
---@param event_at? integer[] which event of the result each of the file's is; nil: the same
---@return boolean
function M.add_packed(result, first, packed, values, event_at)
  local place = {}
  for k, event in ipairs(packed.events) do place[event_at and event_at[event] or event] = k end
  result.cell_list = nil
  return columns.add_packed(part_of(result, first.cell, first).columns, first, packed, values,
    result.pass_events[first.pass], place, result.tools, result.most)
end

-- In the order of the plan, regions after their cell. A cell of which only regions were recorded is
-- not there as a whole.
local function make_cells(result)
  local list, parts_of = {}, {}
  for number in ipairs(result.header.cells) do parts_of[number] = {} end
  for _, part in ipairs(result.parts) do table.insert(parts_of[part.number], part) end
  for _, own in ipairs(parts_of) do
    for i, part in ipairs(own) do
      if i > 1 or #own == 1 or columns.has_records(part.columns) then
        list[#list + 1] = cells.new(result, part)
      end
    end
  end
  return list
end

--- Iterates over the cells in the order of the plan.
---@param with_controls? boolean those of the A/A control too
---@return fun(): pmclua.Cell?
function Result:cells(with_controls)
  local list, i = self:list(with_controls), 0
  return function()
    i = i + 1
    return list[i]
  end
end

--- The cells in the order of the plan, as a list; those of a launched program's ranks are apart (ranks.lua).
---@param with_controls? boolean those of the A/A control too
---@return pmclua.Cell[]
function Result:list(with_controls)
  self.cell_list = self.cell_list or make_cells(self)
  return lists.where(self.cell_list, function(cell)
    return (with_controls or not cell.control) and not cell.task
  end)
end

local function view(result, list)
  local numbers = lists.set(lists.column(list, "number"))
  list = lists.joined { list, lists.where(result.cell_list, function(cell)
    return cell.task and numbers[cell.number]
  end) }
  local copy = setmetatable(lists.copy(result), Result)
  copy.cell_list = lists.map(list, function(cell) return cells.adopt(cell, copy) end)
  return copy
end

local function chosen(result, conditions)
  local ok, list = pcall(select_cells.cells, result, conditions)
  return ok and list or explain.misuse(list, 3)
end

--- The result of the cells for which all conditions hold.
---@param conditions table<string, any> a factor or "workload" to a level, a list of levels, a comparison such as
---  ">=512", or a function of the level
---@return pmclua.Result
function Result:only(conditions)
  local list = chosen(self, conditions)
  if #list == 0 then explain.misuse("no cell has " .. select_cells.text_of(conditions), 2) end
  -- No choice leaves out the controls.
  local controls = lists.where(self:list(true), function(cell) return cell.control end)
  local result = view(self, lists.append(list, controls))
  result.is_chosen = true
  return result
end

--- Where in the code the counts of an event are that was sampled.
---@param event? string|table its name, default: the first; conditions are an old way to write `only`
---@return pmclua.CodeResult|pmclua.Result
function Result:where(event)
  if type(event) ~= "table" then return require("pmclua.result.code").new(self, event) end
  require("pmclua.public").note_old("result:where {…}", "result:only {…}")
  return Result.only(self, event)
end

local function add_metrics(result, metrics)
  result.metrics, result.metric_by_name = lists.copy(result.metrics), lists.copy(result.metric_by_name)
  for _, source in ipairs(type(metrics) == "string" and { metrics } or metrics) do
    local ok, problem = pcall(names.add_metric, result, source)
    if not ok then explain.misuse(problem, 3) end
  end
end

local function change_header(result, key, value)
  result.header = setmetatable({ [key] = value }, { __index = result.header })
end

--- The result with more metrics (or others of the same name), another baseline or primary quantity.
---@param changes { metrics: string|string[]|nil, baseline: string|table|nil, primary: string?,
---  fit: string|table|nil } baseline: a workload's name, "n=256", or a partial cell; fit: as an experiment has it
---@return pmclua.Result
function Result:with(changes)
  local result, baseline = view(self, self:list(true)), changes.baseline
  if changes.metrics then add_metrics(result, changes.metrics) end
  if type(baseline) == "string" then baseline = select_cells.cell(baseline) end
  if baseline then
    change_header(result, "baseline", baseline)
    require("pmclua.result.compare").check_baseline(result, baseline)
  end
  if changes.primary then
    local name = require("pmclua.base.text").field(changes.primary)
    names.check(result, name)
    change_header(result, "primary", name)
  end
  if changes.fit then
    change_header(result, "fit", require("pmclua.result.growth").asked(result, changes.fit))
  end
  return result
end

--- The values of an event or metric in the cells that are meant, in the order of measuring.
---@param name string
---@param conditions? table<string, any> as for only; needed where there are several cells
---@return number[]
function Result:values(name, conditions)
  local list = chosen(self, conditions or {})
  if #list ~= 1 then
    explain.misuse(("values come from one cell, but %d have %s"):format(#list,
      conditions and select_cells.text_of(conditions) or "them: say which one"), 2)
  end
  return list[1]:values(name)
end

--- Compares cells with their baseline: each event and metric, paired by block.
---@param options? { baseline: string|table|nil, names: string|string[]|nil, margin: string|table|nil,
---  level: number?, floor: number? }  baseline: a workload's name or a partial cell, as declared where nothing is said; names: of events and
---  metrics, all by default; margin: as in an experiment; level: of the intervals, 0.95 by default;
---  floor: of noise, a share of 1
---@return pmclua.Comparison
function Result:compare(options)
  return require("pmclua.result.compare").new(self, options or {})
end

--- How quantities grow over a numeric factor.
---@param over string
---@param options? table names, exponent, margin, level
---@return pmclua.ResultGrowth[]
function Result:fit(over, options) return require("pmclua.result.growth").of(self, over, options) end

function Result:pairs(options)
  return require("pmclua.result.compare").iterate(self:compare(options))
end

--- The calls of the functions that were followed.
---@param conditions? table<string, any> as for only; needed where there are several cells
---@return pmclua.Regions
function Result:calls(conditions)
  local numbers = lists.unique(lists.column(chosen(self, conditions or {}), "number"))
  local followed = lists.where(numbers, function(number) return self.followed[number] end)
  if #followed == 1 then return require("pmclua.result.regions").of(self, followed[1]) end
  explain.misuse(#followed == 0 and "no calls were followed: pmc.regions does"
    or ("%d cells have calls: say which one"):format(#followed), 2)
end

--- The vendor's top-down tree that its metrics are nodes of.
---@return pmclua.Topdown? topdown nil where none of its metrics is one
function Result:topdown() return require("pmclua.result.topdown").of(self) end

--- Reasons to doubt these numbers, the gravest first.
---@return pmclua.Warning[] each with kind, message, hint and cell
function Result:warnings() return require("pmclua.result.warnings").of(self) end

--- Stores the result in a new file, as it would have been stored while it ran; of a `where` the cells that it
--- has. Where nothing was stored, the file lacks what is not kept in memory, and its header says what.
---@param path string raises an error object where it is there already or cannot be written
---@return pmclua.Result result itself
function Result:store(path)
  require("pmclua.result.save").write(self, path)
  return self
end

return M
