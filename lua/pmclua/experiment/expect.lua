--- expect.lua: predictions of a script against what was counted, cell by cell.
--
-- Both sides of each prediction are computed as records come, so that no record need be kept.

local check = require("pmclua.lazy").module "pmclua.verdict.check"
local record = require "pmclua.experiment.record"

local M = {}

local Expectations = {}
Expectations.__index = Expectations

--- Gathers what a declaration's predictions say of each record.
---@param declaration pmclua.Declaration
function M.new(declaration)
  return setmetatable({ predictions = declaration.expect or {}, events = declaration.events, cells = {} }, Expectations)
end

local function side(formula, lookup)
  local value, why = formula(lookup)
  return { value = value, why = why }
end

--- Takes a record; warm-ups and what did not end well say nothing.
function Expectations:take(made)
  if #self.predictions == 0 or made.warmup or made.outcome ~= "done" then return end
  local cell = self.cells[made.cell] or { workload = made.workload, levels = made.levels, rows = {} }
  self.cells[made.cell] = cell
  local lookup, row = record.lookup(made, self.events), {}
  for i, prediction in ipairs(self.predictions) do
    row[i] = { side(prediction.left, lookup), side(prediction.right, lookup) }
  end
  table.insert(cell.rows, row)
end

--- A prediction whose sides are those that were computed; a row stands for its lookup.
local function computed(prediction, i)
  local function of(place)
    return function(row) return row[i][place].value, row[i][place].why end
  end
  return { formula = prediction.formula, operator = prediction.operator, tolerance = prediction.tolerance,
    left = of(1), right = of(2) }
end

--- How each prediction fared in each cell.
---@return (pmclua.Expectation|{ cell: integer, workload: string, levels: table })[]
function Expectations:results()
  local list = {}
  for number, cell in pairs(self.cells) do
    for i, prediction in ipairs(self.predictions) do
      local result = check.expect(computed(prediction, i), cell.rows)
      result.cell, result.workload, result.levels = number, cell.workload, cell.levels
      list[#list + 1] = result
    end
  end
  table.sort(list, function(a, b) return a.cell < b.cell end)
  return list
end

local function place_of(result)
  local parts = { result.workload }
  for name, level in pairs(result.levels) do parts[#parts + 1] = ("%s=%s"):format(name, tostring(level)) end
  return table.concat(parts, " ")
end

local function number(value) return value % 1 == 0 and ("%.0f"):format(value) or ("%.6g"):format(value) end

--- One line on a prediction.
---@param result table of Expectations:results
---@return string
function M.line(result)
  local head = ("expect '%s', %s: "):format(result.text, place_of(result))
  if result.state == "uncountable" then return head .. "cannot be checked: " .. result.reason end
  if result.state == "pass" then return ("%sholds (%d repetitions)"):format(head, result.n) end
  local where = result.index and ("repetition %d: "):format(result.index) or "median: "
  local how_often = result.failed and (" (fails in %d of %d)"):format(result.failed, result.n) or ""
  return ("%sfails: %sobserved %s, expected %s%s"):format(head, where, number(result.observed),
    number(result.expected), how_often)
end

return M
