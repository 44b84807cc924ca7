--- gate.lua: whether a result stays within limits, absolute or against a stored baseline, cell by cell.
--
-- Invariant: what could not be counted on either side does not pass: it is uncountable, with the reason.
-- Counts of different hosts are not compared unless that was asked for. Relative limits are judged at
-- levels that hold together (Bonferroni), so that more cells do not make more false alarms.

local check = require "pmclua.verdict.check"
local checking = require "pmclua.workload.check"
local explain = require "pmclua.explain"
local fits = require("pmclua.lazy").module "pmclua.experiment.result.fits"
local hosts = require "pmclua.experiment.hosts"
local interval = require "pmclua.stats.interval"
local layouts = require("pmclua.lazy").module "pmclua.experiment.result.layouts"
local metric = require "pmclua.metric"
local names = require "pmclua.experiment.result.names"
local place = require "pmclua.experiment.result.place"
local values = require "pmclua.experiment.result.values"

local M = {}

---@class pmclua.Gate
---@field state "pass"|"fail"|"uncountable"
---@field results pmclua.GateRow[] each limit in each cell
local Gate = {}
Gate.__index = Gate

---@class pmclua.GateRow: pmclua.GateResult
---@field cell string
---@field unit string
---@field missing integer? repetitions without a value, of
---@field repetitions integer?

--- What did not hold, a line each; one line where all did.
---@return string
function Gate:__tostring() return require("pmclua.report.gate").render(self) end

-- ---- what is asked ---------------------------------------------------------------------------------------

local function parsed_limits(list)
  local limits = {}
  checking.list("gate: limits", list, 4, checking.spelled.condition)
  for i, source in ipairs(type(list) == "string" and { list } or list) do
    local limit, problem = metric.limit(source)
    if not limit then explain.misuse(("limit '%s': %s"):format(tostring(source), problem.message), 4) end
    limits[i] = limit
  end
  if #limits == 0 then explain.misuse("gate needs limits, such as \"instructions <= +1%\"", 4) end
  return limits
end

-- A name of a limit may be a metric that the result was not made with.
local function with_metrics(result, limits)
  local wanted = {}
  for _, limit in ipairs(limits) do
    for _, name in ipairs(limit.needs) do
      local known = result.event_by_field[name] or result.metric_by_name[name] or result.factor_by_name[name]
      if not known and metric.named(name) then wanted[#wanted + 1] = name end
    end
  end
  return #wanted > 0 and result:with { metrics = wanted } or result
end

local function check_names(result, limits)
  local known = { iterations = true, wall_ns = true }
  for _, name in ipairs(names.all(result)) do known[name] = true end
  for _, factor in ipairs(result.header.factors) do known[factor[1]] = true end
  for _, limit in ipairs(limits) do
    for _, name in ipairs(limit.needs) do
      if not known[name] then names.unknown(result, name) end
    end
  end
end

local SAME_HOST = { "hostname", "cpu", "architecture" }

--- Raises an error object where a baseline is of another host.
---@param here table facts of a host
---@param baseline pmclua.Result
function M.check_host(here, baseline)
  local there = baseline.header.host or {}
  local name = hosts.difference(SAME_HOST, there, here)
  if not name then return end
  error(explain.problem { code = "EHOST", operation = "gate",
    message = ("the baseline is of another host: its %s is '%s', here it is '%s'"):format(name,
      tostring(there[name]), tostring(here[name])),
    hint = "counts of different machines differ by themselves; --any-host compares them" }, 0)
end

-- ---- one limit in one cell -------------------------------------------------------------------------------

-- One side of a limit as a metric, so that it is scaled, per iteration and absent as metrics are.
local function side(limit, evaluate)
  return { name = limit.formula, needs = limit.needs, uses_iterations = limit.uses_iterations,
    evaluate = evaluate }
end

local function identity(value) return value end

local function absent(limit, found, where)
  return { state = "uncountable", text = limit.formula, reason = where .. (found.why or found.status) }
end

local function rows_of(left, right)
  local by_index, rows = {}, {}
  for k, row in ipairs(right.rows) do by_index[right.block.index[row]] = right.list[k] end
  for k, row in ipairs(left.rows) do
    rows[k] = { left = left.list[k], right = by_index[left.block.index[row]] }
  end
  return rows
end

local function absolute(limit, cell, observed)
  local allowed = values.of_metric(cell, side(limit, limit.right))
  if #allowed.list == 0 then return absent(limit, allowed, "") end
  local plain = setmetatable({ left = function(row) return row.left end,
    right = function(row) return row.right end }, { __index = limit })
  if not observed.fit then return check.gate(plain, rows_of(observed, allowed)) end
  local most = allowed.fit and allowed.fit.slope or allowed.list[1]
  return check.gate(plain, { { left = observed.fit.slope, right = most } })
end

-- Values that are independent of each other.
local function independent(cell, found)
  return cell.result.header.layouts and layouts.means(found) or found.list
end

-- Each side is a cell and what was found in it.
local function relative(limit, cell, other, level)
  local observed, before = cell.found, other.found
  if observed.fit and before.fit then
    local found, why = fits.compare(observed.estimate, before.estimate, { level = level, paired = false })
    if not found then return { state = "uncountable", text = limit.formula, reason = why } end
    return check.judge(limit, found, observed.fit.slope, before.fit.slope)
  end
  return check.gate(setmetatable({ left = identity }, { __index = limit }), independent(cell.cell, observed),
    independent(other.cell, before), level)
end

local function check_observed(limit, cell, observed, before, level)
  if not limit.relative then return absolute(limit, cell, observed) end
  if not before then
    return { state = "uncountable", text = limit.formula, reason = "the baseline has no such cell" }
  end
  local theirs = values.of_metric(before, side(limit, limit.left))
  if #theirs.list == 0 then return absent(limit, theirs, "in the baseline, ") end
  return relative(limit, { cell = cell, found = observed }, { cell = before, found = theirs }, level)
end

local function check_cell(limit, cell, before, level)
  local observed = values.of_metric(cell, side(limit, limit.left))
  if #observed.list == 0 then return absent(limit, observed, "") end
  local found = check_observed(limit, cell, observed, before, level)
  found.missing, found.repetitions = observed.missing, #observed.list + observed.missing
  return found
end

-- ---- all limits in all cells -----------------------------------------------------------------------------

local function count_relative(result, limits)
  local count, cells = 0, 0
  for _ in result:cells() do cells = cells + 1 end
  for _, limit in ipairs(limits) do count = count + (limit.relative and cells or 0) end
  return count
end

local function unit_of(result, limit)
  local event = #limit.needs == 1 and result.event_by_field[limit.needs[1]]
  return event and event.unit or ""
end

---@class pmclua.GateOptions
---@field limits? string[] "instructions <= +1%", "page_faults <= 5000"; those of the result by default
---@field baseline? pmclua.Result|string a result or a stored one's path; relative limits need it
---@field any_host? boolean compare results of different machines too

--- Checks a result against limits.
---@param result pmclua.Result
---@param options pmclua.GateOptions
---@return pmclua.Gate
function M.check(result, options)
  local baseline = options.baseline
  if type(baseline) == "string" then baseline = require("pmclua.experiment.result.files").load(baseline) end
  local limits = parsed_limits(options.limits or result.header.gate or {})
  result, baseline = with_metrics(result, limits), baseline and with_metrics(baseline, limits)
  check_names(result, limits)
  if baseline then check_names(baseline, limits) end
  if baseline and not options.any_host then M.check_host(result.header.host or {}, baseline) end
  local level = interval.bonferroni(0.95, count_relative(result, limits))
  local results, before = {}, baseline and place.index(baseline) or {}
  for _, limit in ipairs(limits) do
    for cell in result:cells() do
      local found = check_cell(limit, cell, before[place.key(cell.workload, cell.levels, cell)], level)
      found.cell, found.unit = cell:label(), unit_of(result, limit)
      results[#results + 1] = found
    end
  end
  return setmetatable({ state = check.together(results), results = results }, Gate)
end

return M
