--- growth.lua: how the quantities of a result grow over a numeric factor, and whether as predicted.
--
-- Invariant: a fit uses the medians of cells that differ in this factor alone; where it cannot be made it says why.

local cell_key = require "pmclua.result.cell_key"
local complete = require "pmclua.result.complete"
local explain = require "pmclua.explain"
local growth = require "pmclua.stats.growth"
local lists = require "pmclua.base.lists"
local names = require "pmclua.result.names"
local text = require "pmclua.base.text"

local M = {}

local MARGIN = 0.1                      -- exponents that are no further apart are the same

---@class pmclua.ResultGrowth fields of pmclua.Growth are nil where there is no fit
---@field name string field of the event or metric
---@field title string
---@field unit string
---@field over string the factor
---@field workload string
---@field levels table<string, any> of the other factors
---@field cells pmclua.Cell[] by size
---@field shape "power"|"linear"|"n log n"|"steps"|nil
---@field parameters table?
---@field exponent { value: number, low: number, high: number }?
---@field shapes { shape: string, criterion?: number, spread: number }[]?
---@field sizes number[]?
---@field values number[]? medians
---@field residuals number[]?
---@field n integer?
---@field level number?
---@field asked { exponent: number, margin: number }? what was predicted
---@field verdict "same"|"differs"|"undecided"|nil the exponent against that
---@field why string? why there is no fit
local Growth = require("pmclua.public.class").new("results", "growth",
  "asked verdict why shape parameters exponent shapes residuals sizes values n level")

local FITTED = {}

function Growth:at(size)
  local fitted = rawget(self, FITTED)
  if not fitted then return nil, self.why end
  local predicted = growth.at(fitted, size)
  if not predicted then return nil, "the curve is not above 0 there" end
  return predicted
end

function Growth:__tostring() return self:sentence() end

--- Cells that differ in this factor alone, in the order of the plan.
---@param result pmclua.Result
---@param over string the factor
---@return pmclua.Cell[][]
function M.groups(result, over)
  return lists.groups(result:list(), function(cell)
    return cell_key.of(cell.workload, lists.without(cell.levels, over), cell)
  end)
end

-- Sizes and medians of the cells that have both, and those cells.
local function points_of(cells, over, name)
  local x, y, used = {}, {}, {}
  for _, cell in ipairs(cells) do
    local median = cell:summary(name).median
    if median ~= nil then
      x[#x + 1], y[#y + 1], used[#used + 1] = cell.levels[over], tonumber(median), cell
    end
  end
  return x, y, used
end

-- A cell of which too little was counted makes no point, and to leave it out would change the curve.
local function why_incomplete(cells, name)
  for _, cell in ipairs(cells) do
    local why = complete.of_cell(cell, name)
    if why then return why end
  end
end

-- The curve through the points of some cells; nil and why.
local function fit_of(x, y, used, name, level)
  local why = why_incomplete(used, name)
  if why then return nil, why end
  return growth.fit(x, y, level)
end

local function verdict_of(exponent, asked)
  local low, high = asked.exponent - asked.margin, asked.exponent + asked.margin
  if exponent.low > high or exponent.high < low then return "differs" end
  return exponent.low >= low and exponent.high <= high and "same" or "undecided"
end

local function grown(cells, name, options)
  local x, y, used = points_of(cells, options.over, name)
  local first, summary = cells[1], cells[1]:summary(name)
  local made = { name = name, title = summary.title, unit = summary.unit, over = options.over,
    workload = first.workload, levels = lists.without(first.levels, options.over), cells = used }
  local fitted, why = fit_of(x, y, used, name, options.level)
  if options.exponent then
    made.asked = { exponent = options.exponent, margin = options.margin or MARGIN }
    made.verdict = fitted and verdict_of(fitted.exponent, made.asked)
  end
  made.why, made[FITTED] = why, fitted
  for _, field in ipairs { "shape", "parameters", "exponent", "shapes", "residuals", "n", "level" } do
    made[field] = fitted and fitted[field]
  end
  made.sizes, made.values = fitted and fitted.x, fitted and fitted.y
  table.sort(used, function(a, b) return a.levels[options.over] < b.levels[options.over] end)
  return setmetatable(made, Growth)
end

--- Why nothing can be fitted over a factor; nil where it can be.
---@param levels any[]?
---@param fewest? integer levels that are needed; default: those of a curve's shape
---@return string?
function M.problem(levels, fewest)
  if not levels then return "there is no such factor" end
  local bad = lists.find(levels, function(level) return type(level) ~= "number" or level <= 0 end)
  if bad ~= nil then return ("its level %s is no number above 0"):format(text.safe(tostring(bad))) end
  fewest = fewest or growth.FEWEST
  if #levels < fewest then return ("a fit takes %d levels, there are %d"):format(fewest, #levels) end
end

--- A fit as it is declared: a factor's name, or fit_keys; as it is stored.
---@param value any
---@param wrong fun(form: string, ...) gets each mistake
---@return { over: string, exponent: number?, margin: number?, at: number[]?, names: string[]? }
function M.read(value, wrong)
  if type(value) ~= "table" then value = { value } end
  require("pmclua.public.call").report_options(value, "fit_keys", "fit", "measuring", wrong)
  local at, asked = value.at, value.names
  return { over = value[1], exponent = value.exponent, margin = value.margin,
    at = type(at) == "number" and { at } or at, names = type(asked) == "string" and { asked } or asked }
end

--- Raises where nothing can be fitted over a factor of a result.
---@param result pmclua.Result
---@param over string
---@param what? string that is asked for; default: "fit"
---@param fewest? integer levels
function M.check(result, over, what, fewest)
  local factor = result.factor_by_name[over]
  local levels = factor and lists.unique(lists.map(result:list(), function(cell)
    return cell.levels[over]
  end))
  local problem = M.problem(levels, fewest)
  if not problem then return end
  local known = lists.column(result.header.factors, 1)
  local hint = (factor or #known == 0) and "" or "; " .. text.meant_or_all(over, known)
  explain.misuse(("%s over '%s': %s%s"):format(what or "fit", text.safe(tostring(over)), problem, hint), 4)
end

--- How quantities grow over a factor: for each, each workload, and each level of other factors.
---@param result pmclua.Result
---@param over string the factor
---@param options? { names: string|string[]|nil, exponent: number?, margin: number?, level: number? } names: default
---  all with a value; exponent: a prediction
---@return pmclua.ResultGrowth[]
function M.of(result, over, options)
  options = setmetatable({ over = over }, { __index = options or {} })
  M.check(result, over)
  local asked = type(options.names) == "string" and { options.names } or options.names
  local wanted = lists.map(asked or names.quantities(result), function(name)
    local field = text.field(name)
    names.check(result, field)
    return field
  end)
  local list = {}
  for _, name in ipairs(wanted) do
    for _, cells in ipairs(M.groups(result, over)) do
      local has_value = lists.any(cells, function(cell) return cell:summary(name).n > 0 end)
      if asked or has_value then list[#list + 1] = grown(cells, name, options) end
    end
  end
  return list
end

--- A fit for a result that may have been stored without one; raises for mistakes.
---@param result pmclua.Result
---@param value any as read
---@return table
function M.asked(result, value)
  local fit = M.read(value, function(...) explain.misuse(("fit: " .. ...):format(select(2, ...)), 4) end)
  M.check(result, fit.over)
  return fit
end

--- The fits that an experiment declared; none where it has none, or cells were left out since.
---@param result pmclua.Result
---@return pmclua.ResultGrowth[]
function M.declared(result)
  local fit = result.header.fit
  if not fit or not result.factor_by_name[fit.over] then return {} end
  return M.of(result, fit.over, fit)
end

--- The outcome of a predicted exponent, of the primary quantity alone.
---@param result pmclua.Result
---@return table[] as Expectations:results
function M.expectations(result)
  local fit = result.header.fit
  if not (fit and fit.exponent) then return {} end
  local states = { same = "pass", undecided = "pass", differs = "fail" }
  return lists.map(M.of(result, fit.over, setmetatable({ names = result.header.primary }, { __index = fit })),
    function(fitted)
      return { state = states[fitted.verdict] or "uncountable", reason = fitted.why,
        workload = fitted.workload, levels = fitted.levels, said = tostring(fitted), n = fitted.n or 0,
        text = ("exponent of %s over %s == %g"):format(fitted.name, fitted.over, fit.exponent) }
    end)
end

return M
