--- expect.lua: checks a script's predictions against the counts, cell by cell, as records arrive.

local check = require("pmclua.base.lazy").module "pmclua.verdict.check"
local complete = require("pmclua.base.lazy").module "pmclua.result.complete"
local cell_key = require "pmclua.result.cell_key"
local lists = require "pmclua.base.lists"
local records = require "pmclua.experiment.record"
local reading = require "pmclua.counting.reading"

local M = {}

local Expectations = {}
Expectations.__index = Expectations

local function has_event(pass, declaration, index)
  if declaration.events[index].tool then return not pass.simulated end
  return lists.contains(pass.events, index)
end

-- The passes that count all that a prediction needs; nil where none does, or nothing is counted in passes.
local function passes_of(prediction, declaration, passes)
  local needed, numbers = records.needed(declaration, prediction.needs), nil
  for number, pass in ipairs(passes or {}) do
    if lists.all(needed, function(index) return has_event(pass, declaration, index) end) then
      numbers = numbers or {}
      numbers[number] = true
    end
  end
  return numbers
end

--- Starts checking a declaration's predictions.
---@param declaration pmclua.Declaration
---@param passes? pmclua.Pass[] of the plan: a prediction is checked in those that count what it needs
function M.new(declaration, passes)
  local passes_by = {}
  for i, prediction in ipairs(declaration.expect or {}) do
    passes_by[i] = passes_of(prediction, declaration, passes)
  end
  local doubtful = {}
  for index, event in ipairs(declaration.events) do
    if reading.is_unverified(event) then doubtful[event.field] = index end
  end
  return setmetatable({ predictions = declaration.expect or {}, declaration = declaration, passes = passes_by,
    doubtful = doubtful, cells = {} }, Expectations)
end

-- `checks` by the number of the prediction: those of every workload, and of this one.
local function new_cell(self, record)
  local checks = {}
  for i, prediction in ipairs(self.predictions) do
    local is_of_it = not prediction.workload or prediction.workload == record.workload
    checks[i] = is_of_it and check.prediction(prediction)
  end
  return { workload = record.workload, levels = record.levels, has_counted = {}, checks = checks }
end

--- Checks a record. Warm-ups, parts of a repetition and failed repetitions are skipped.
function Expectations:take(record)
  if #self.predictions == 0 or record.warmup or record.outcome ~= "done" then return end
  if cell_key.is_part(record) then return end
  local cell = self.cells[record.cell] or new_cell(self, record)
  self.cells[record.cell] = cell
  for i, checked in ipairs(cell.checks) do
    if checked and (not self.passes[i] or self.passes[i][record.pass]) then
      checked:take(records.lookup(record, self.declaration, self.predictions[i].uses_iterations))
    end
  end
  for field, index in pairs(self.doubtful) do
    local count = record.counts[index]
    cell.has_counted[field] = cell.has_counted[field] or count ~= nil and count ~= 0
  end
end

-- The first event of a prediction that is unverified and never counted anything but 0.
local function doubtful_in(self, prediction, cell)
  return lists.find(prediction.needs, function(name)
    return self.doubtful[name] and not cell.has_counted[name]
  end)
end

-- Why a prediction cannot be looked at, whatever was counted; nil where it can be.
local function why_not(self, prediction, cell, remarks)
  local name, events = doubtful_in(self, prediction, cell), self.declaration.events
  local event = name and events[self.doubtful[name]]
  if event then return ("needs %s: %s"):format(name, reading.why(event, "only-zeros")) end
  local needed = lists.map(records.needed(self.declaration, prediction.needs), function(index)
    return events[index]
  end)
  return complete.why_cpus(remarks, needed)
end

local function result_of(self, checked, prediction, cell, remarks)
  local why = why_not(self, prediction, cell, remarks)
  return why and { state = "uncountable", text = prediction.formula, n = 0, reason = why } or checked:result()
end

--- The outcome of each prediction in each cell.
---@param remarks? string[] on the run
---@return (pmclua.Expectation|{ cell: integer, workload: string, levels: table })[]
function Expectations:results(remarks)
  local list = {}
  for _, number in ipairs(lists.keys(self.cells)) do
    local cell = self.cells[number]
    for i, checked in ipairs(cell.checks) do
      local result = checked and result_of(self, checked, self.predictions[i], cell, remarks or {})
      if result then result.cell, result.workload, result.levels = number, cell.workload, cell.levels end
      list[#list + 1] = result or nil
    end
  end
  return list
end

local function label_of(result)
  return table.concat({ result.workload, unpack(lists.assignments(result.levels)) }, " ")
end

local function number(value) return value % 1 == 0 and ("%.0f"):format(value) or ("%.6g"):format(value) end

--- One line about a prediction.
---@param result table of Expectations:results
---@return string
function M.line(result)
  if result.said then return ("expect '%s': %s"):format(result.text, result.said) end
  local head = ("expect '%s', %s: "):format(result.text, label_of(result))
  if result.state == "uncountable" then return head .. "cannot be checked: " .. result.reason end
  if result.state == "pass" then return ("%sholds (%d repetitions)"):format(head, result.n) end
  local where = result.index and ("repetition %d: "):format(result.index) or "median: "
  local how_often = result.failed and (" (fails in %d of %d)"):format(result.failed, result.n) or ""
  return ("%sfails: %sobserved %s, expected %s%s"):format(head, where, number(result.observed),
    number(result.expected), how_often)
end

return M
