--- code.lua: where the counts of a sampled event are in the code: of one cell, or of a cell against its
--- baseline.
--
-- Invariant: repetitions are paired by their block; those of which only one side was sampled are left
-- out, and `missing` says how many.

local cell_key = require "pmclua.result.cell_key"
local explain = require "pmclua.explain"
local ledgers = require "pmclua.ledger.code"
local layouts = require "pmclua.result.layouts"
local profile_lines = require("pmclua.ledger.profiles").lines_of
local profiles = require "pmclua.result.profiles"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.CodeResult
---@field result pmclua.Result
---@field event string
---@field unit string
---@field cell pmclua.Cell B, or the only one
---@field baseline? pmclua.Cell A
---@field a table[] profiles of A; of the only one
---@field b? table[] of B; where paired, in A's order
---@field paired boolean
---@field missing integer repetitions without a partner
---@field profiles table[] all of them: A's, then B's
local CodeResult = require("pmclua.base.methods").extend({}, "pmclua.CodeResult")
CodeResult.__index = CodeResult
CodeResult.__tostring = function(self) return self:report() end

local function event_of(result, asked)
  local events = profiles.events(result)
  if #events == 0 then
    error(explain.problem { code = "EPROFILE", operation = "where", message = "no event was sampled",
      hint = 'give sample = "cpu-clock" to the experiment' }, 0)
  end
  if not asked then return events[1] end
  for _, event in ipairs(events) do
    if event == asked or event:gsub("-", "_") == asked then return event end
  end
  explain.misuse(("'%s' was not sampled, only %s"):format(text.safe(asked), text.list(events)), 4)
end

local function sampled_cells(result, event)
  local list = {}
  for cell in result:cells() do
    local is_sampled = not cell_key.is_part(cell) and next(profiles.by_index(result, cell.number, event))
    if is_sampled then list[#list + 1] = cell end
  end
  return list
end

local function is_baseline(result, cell)
  local baseline = result.header.baseline
  if type(baseline) == "string" then baseline = { workload = baseline } end
  for name, wanted in pairs(baseline or {}) do
    local level
    if name == "workload" then level = cell.workload else level = cell.levels[name] end
    if level ~= wanted then return false end
  end
  return baseline ~= nil
end

-- A and B of at most two cells: the baseline, or the first.
local function sides(result, cells)
  if #cells > 2 then
    explain.misuse(("%d cells were sampled: choose two, as in r:where { n = 512 }:where()"):format(#cells), 4)
  end
  if #cells == 2 and is_baseline(result, cells[2]) then return cells[2], cells[1] end
  return cells[1], cells[2]
end

local function indices_of(by_index)
  local list = {}
  for index in pairs(by_index) do list[#list + 1] = index end
  table.sort(list)
  return list
end

local function in_order(by_index, indices)
  local list = {}
  for i, index in ipairs(indices) do list[i] = by_index[index] end
  return list
end

-- What ran in one block, and how much has no partner.
local function common(ours, theirs)
  local indices, left = {}, 0
  for _, index in ipairs(indices_of(ours)) do
    if theirs[index] then indices[#indices + 1] = index else left = left + 1 end
  end
  for index in pairs(theirs) do
    if not ours[index] then left = left + 1 end
  end
  return indices, left
end

-- Cells of different files did not run in one block.
local function are_paired(result, a, b)
  local factor = result.header.unpaired
  return not factor or a.levels[factor] == b.levels[factor]
end

local function layout_groups(result, indices)
  if result.header.layout ~= "randomise" then return nil end
  local groups = {}
  for i, index in ipairs(indices) do groups[i] = math.ceil(index / layouts.REPETITIONS_OF_ONE) end
  return groups
end

local function put_sides(self, result, event, a, b)
  local ours = profiles.by_index(result, a.number, event)
  local indices = indices_of(ours)
  self.paired, self.missing = true, 0
  if b then
    local theirs = profiles.by_index(result, b.number, event)
    self.paired = are_paired(result, a, b)
    if self.paired then indices, self.missing = common(ours, theirs) end
    self.b = in_order(theirs, self.paired and indices or indices_of(theirs))
  end
  self.a, self.groups = in_order(ours, indices), self.paired and layout_groups(result, indices) or nil
end

--- Where the counts of a sampled event are.
---@param result pmclua.Result
---@param asked? string its name; nil: the first that was sampled
---@return pmclua.CodeResult
function M.new(result, asked)
  local event = event_of(result, asked)
  local a, b = sides(result, sampled_cells(result, event))
  local self = setmetatable({ result = result, event = event, ledgers = {} }, CodeResult)
  self.baseline, self.cell = b and a, b or a
  put_sides(self, result, event, a, b)
  self.profiles = { unpack(self.a) }
  for _, profile in ipairs(self.b or {}) do self.profiles[#self.profiles + 1] = profile end
  if #self.a == 0 then
    error(explain.problem { code = "EPROFILE", operation = "where",
      message = "no block has a sampled repetition of both sides" }, 0)
  end
  self.unit = self.a[1].unit
  return self
end

--- The ledger by function, or by source line. Its rows: key, label, a, b (means), a_sum, b_sum,
--- difference, low, high, share, verdict.
---@param by? "function"|"line"
---@return pmclua.Ledger
function CodeResult:ledger(by)
  by = by or "function"
  self.ledgers[by] = self.ledgers[by] or ledgers.new { a = self.a, b = self.b, by = by, paired = self.paired,
    groups = self.groups }
  return self.ledgers[by]
end

-- The names that a row of the ledger answers to.
local function names_of(row)
  local list = { row.label }
  for _, place in pairs { row.line.place or false, row.line.other or false } do
    if place then list[#list + 1] = place.fn end
  end
  return list
end

local function is_called(row, name)
  for _, own in ipairs(names_of(row)) do
    if own == name then return true end
  end
  return false
end

--- The row of a function; of several of one name the one that explains most. Raises where there is none.
---@param name string "parse", "memcpy [libc.so.6]"
---@return pmclua.LedgerRow
function CodeResult:row(name)
  local names = {}
  for _, row in ipairs(self:ledger().lines) do
    if is_called(row, name) then return row end
    if row.line.place or row.line.other then names[#names + 1] = names_of(row)[2] end
  end
  local nearest = text.nearest(name, names)
  explain.misuse(("no function '%s' has a line of its own%s"):format(text.safe(name),
    nearest and (", did you mean '%s'?"):format(text.safe(nearest)) or ""), 3)
end

local function side_lines(profiles_of_side, place)
  return { lines = place and profile_lines(profiles_of_side, place.key) or {}, n = #profiles_of_side }
end

--- A function's counts by source line and by instruction, as means of A and of B.
---@param row pmclua.LedgerRow of `ledger()`
---@return pmclua.Annotation
function CodeResult:annotation(row)
  return require("pmclua.profile.annotation").new(side_lines(self.a, row.line.place),
    self.b and side_lines(self.b, row.line.other))
end

return M
