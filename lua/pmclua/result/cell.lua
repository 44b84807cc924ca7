--- cell.lua: one cell of a result: its levels, and summaries of its events and metrics by name.
--
-- Invariant: a name that was not asked for raises, with the nearest; a summary is made once, when it is
-- first asked for.

local explain = require "pmclua.explain"
local summaries = require "pmclua.result.summary"
local values = require "pmclua.result.values"
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"
local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"
local cell_key = require "pmclua.result.cell_key"

local M = {}

--- One workload at one level of each factor, and of one region where there are some.
---@class pmclua.Cell
---@field workload string
---@field levels table<string, any> also as fields: cell.n
---@field kind string "command", "kernel", "function" or "process"; a stored file may have another
---@field per "run"|"iteration"
---@field number integer place in the plan
---@field region string?
---@field thread integer|string|nil
---@field cpu integer|string|nil a CPU, or a core or package as "S0-D0-C1"
---@field interval integer?
---@field task integer? of a launched program: its rank
---@field repetitions integer summarised, in the pass that has most
---@field warmups integer
---@field rejected integer repeated, or left out, as the experiment asked
---@field first_rejected string? why the first of them was
---@field failed table<string, integer> by outcome ("exit": ended with a status but 0); left out, or kept
---  where the experiment says so
---@field fitted boolean repetitions have several iteration counts: values are slopes
---@field control string? the workload that this A/A control is a copy of
---@field exits table<integer, integer> repetitions by their exit status, where that was not 0
---@field first_failure table? outcome, exit, signal and why of the first that failed
---@field result pmclua.Result
---@field [string] pmclua.Summary of an event or metric
local Cell = require("pmclua.public.class").new("results", "cell")
local methods = Cell.__index

local function kind_of(unit) return unit == "ns" and "time" or "count" end

-- The event or metric of a name, and the reader of its values; nil where there is none.
local function source_of(cell, name)
  local result = cell.result
  local event, metric = result.event_by_field[name], result.metric_by_name[name]
  if event then
    return { name = name, title = event.name, unit = event.unit or "", kind = kind_of(event.unit),
      margin = names.margin(result, name), is_sampled = event.grain_ns ~= nil },
      function() return values.of_event(cell, event) end
  end
  if metric then
    return { name = name, title = metric.title or name, unit = metric.unit,
      kind = metric.event and kind_of(metric.unit) or metric.kind, margin = names.margin(result, name) },
      function() return values.of_metric(cell, metric) end
  end
end

local function field_of(name)
  return type(name) == "string" and name:find "[-:]" and require("pmclua.base.text").field(name) or name
end

local function find_summary(cell, name)
  local cached = cell.summaries[name]
  if cached then return cached end
  local about, read = source_of(cell, name)
  if not about then return nil end
  about.cell = cell
  local summary = summaries.new(about, read)
  cell.summaries[name] = summary
  return summary
end

--- The summary of an event or metric; raises for any other name.
---@param name string
---@return pmclua.Summary
function Cell:summary(name)
  return find_summary(self, field_of(name)) or names.unknown(self.result, name)
end

-- As source_of; raises for a name of neither an event nor a metric.
local function known_source(cell, name)
  local about, read = source_of(cell, field_of(name))
  if not about then names.unknown(cell.result, name) end
  return about, read
end

--- The values of an event or metric with where each comes from.
---@param cell pmclua.Cell
---@param name string of an event or metric
---@return pmclua.Values
function M.read(cell, name)
  local _, read = known_source(cell, name)
  return read()
end

--- What an event or metric is called, and its unit.
---@param cell pmclua.Cell
---@param name string of an event or metric
---@return { name: string, title: string, unit: string, kind: string }
function M.about(cell, name) return (known_source(cell, name)) end

--- The values of a summary, in the order of measuring.
---@param name string of an event or metric
---@return number[]
function Cell:values(name) return M.read(self, name).list end

--- The values of a summary, by the block (repetition) that each was measured in.
---@param name string of an event or metric
---@return table<integer, number>
function Cell:values_by_block(name)
  return values.by_block(M.read(self, name))
end

--- The estimate behind the slope of an event or metric of a fitted cell.
---@param cell pmclua.Cell
---@param name string
---@return pmclua.Estimate
function M.estimate(cell, name) return values.estimate(M.read(cell, name)) end

--- How much of the spread of an event or metric is between drawn processes or layouts, and how much between runs of
--- one.
---@param name string
---@return pmclua.Components? components between_share and within_share of the mean; nil where neither was
---  drawn, or where there are too few values
---@return string? reason
function Cell:components(name)
  local groups = clusters.of(self) and clusters.groups(self, M.read(self, name))
  if not groups then return nil, "neither processes nor layouts were drawn" end
  return require("pmclua.stats").components(groups)
end

--- How many processes or layouts a cell's repetitions ran in.
---@return integer? count nil where they are independent
---@return "processes"|"layouts"|nil
function Cell:clusters()
  local of = clusters.of(self)
  if not of then return nil end
  local ids = {}
  for _, block in pairs(self.columns.passes) do
    for i = 1, block.n do ids[of(block.index[i])] = true end
  end
  return #lists.keys(ids), clusters.word(self)
end

--- The least and most iterations of its repetitions.
---@return number? least
---@return number? most
function Cell:iterations()
  local least, most
  for _, block in pairs(self.columns.passes) do
    for i = 1, block.n do
      local n = tonumber(block.iterations[i])
      least, most = math.min(least or n, n), math.max(most or n, n)
    end
  end
  return least, most
end

local FIELDS = { control = true, thread = true, cpu = true, interval = true, task = true, region = true,
  first_failure = true, first_rejected = true }

function Cell.__index(cell, name)
  if rawget(Cell, name) then return methods[name] end
  if FIELDS[name] then return nil end
  local level = rawget(cell, "levels")[name]
  if level ~= nil then return level end
  return find_summary(cell, field_of(name)) or names.unknown(rawget(cell, "result"), name)
end

--- The parts of its run or target that it describes: { "region parse" }, { "cpu 3" }, { "cgroup a.slice" }.
---@param cell pmclua.Cell
---@param but? string a part that is said elsewhere
---@return string[]
function M.parts(cell, but)
  return lists.map(cell_key.PARTS, function(name)
    if cell[name] == nil or name == but then return nil end
    local value = tostring(cell[name])
    -- A cgroup is recorded where a thread is, and is called what it is.
    local is_cgroup = name == "thread" and value:find "^cgroup "
    return is_cgroup and value or ("%s %s"):format(name, value)
  end)
end

--- The name that tells this cell from others: "rows, n = 256".
---@return string
function Cell:label()
  local levels = lists.map(self.result.header.factors, function(factor)
    local level = self.levels[factor[1]]        -- nil: its file's experiment had no such factor
    return level ~= nil and ("%s = %s"):format(factor[1], tostring(level)) or nil
  end)
  return table.concat(lists.joined { { self.workload }, levels, M.parts(self) }, ", ")
end

local own_fields = Cell.__fields

function Cell.__fields(cell)
  return lists.joined { own_fields(), lists.column(cell.result.header.factors, 1),
    lists.keys(cell.result.event_by_field), lists.keys(cell.result.metric_by_name) }
end

function Cell:__about()
  return ("%s, %s"):format(self:label(), require("pmclua.base.text").plural(self.repetitions, "repetition"))
end

function Cell:__newindex(key)
  explain.misuse(("a cell is for reading: %s of %s cannot be set"):format(tostring(key), self:label()), 2)
end

local function count_repetitions(data)
  local most = 0
  for _, block in pairs(data.passes) do most = math.max(most, block.n) end
  return most
end

--- The cell of a part of a result.
---@param result pmclua.Result
---@param part table
---@return pmclua.Cell
function M.new(result, part)
  local planned, data = result.header.cells[part.number], part.columns
  local workload = result.workload_by_name[planned.workload]
  local per = workload.per or "run"
  return setmetatable({ result = result, columns = data, workload = planned.workload,
    levels = lists.copy(planned.levels), control = workload.control, kind = workload.kind, per = per,
    lines = {},
    fitted = per == "iteration" and fits.is_fitted(result.header, planned), number = part.number,
    region = part.region, thread = part.thread, cpu = part.cpu, interval = part.interval, task = part.task,
    summaries = {},
    repetitions = count_repetitions(data), warmups = data.warmup_count, rejected = data.rejected,
    failed = lists.copy(data.failed), exits = data.exits, first_failure = data.first_failure,
    first_rejected = data.first_rejected }, Cell)
end

--- The same cell as one of another view of its result, whose metrics it then has.
---@param cell pmclua.Cell
---@param result pmclua.Result
---@return pmclua.Cell
function M.adopt(cell, result)
  local mine = lists.copy(cell)
  mine.result, mine.summaries, mine.lines = result, {}, {}
  return setmetatable(mine, Cell)
end

return M
