--- code.lua: where the counts of a sampled event are in the code: of one cell, or of a cell against its
--- baseline.
--
-- Invariant: repetitions are paired by their block; those of which only one side was sampled are left
-- out, and `missing` says how many.

local cell_key = require "pmclua.result.cell_key"
local explain = require "pmclua.explain"
local ledgers = require "pmclua.ledger.code"
local clusters = require "pmclua.result.clusters"
local lists = require "pmclua.base.lists"
local profile_lines = require("pmclua.ledger.profiles").lines_of
local profiles = require "pmclua.result.profiles"
local select_cells = require "pmclua.result.select"
local text = require "pmclua.base.text"
local verdict = require "pmclua.verdict"

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
  local found = lists.find(events, function(event)
    return event == asked or event:gsub("-", "_") == asked
  end)
  if found then return found end
  explain.misuse(("'%s' was not sampled, only %s"):format(text.safe(asked), text.list(events)), 4)
end

local function sampled_cells(result, event)
  return lists.where(result:list(), function(cell)
    return not cell_key.is_part(cell) and next(profiles.by_index(result, cell.number, event))
  end)
end

-- A and B of at most two cells: the baseline, or the first.
local function sides(result, cells)
  if #cells > 2 then
    explain.misuse(("%d cells were sampled: choose two, as in r:where { n = 512 }:where()"):format(#cells), 4)
  end
  return select_cells.sides(result, cells)
end

local function in_order(by_index)
  return lists.map(lists.keys(by_index), function(index) return by_index[index] end)
end

local function put_sides(self, a, b)
  local ours, indices = profiles.by_index(self.result, a.number, self.event), nil
  self.a, self.paired, self.missing = in_order(ours), not b or cell_key.share_blocks(a, b), 0
  if b then
    local theirs = profiles.by_index(self.result, b.number, self.event)
    self.b = in_order(theirs)
    if self.paired then
      local whole = #self.a + #self.b
      self.a, self.b, indices = verdict.pair(ours, theirs)
      self.missing = whole - 2 * #indices
    end
  end
  self.groups = self.paired and clusters.of_pairs(a, b, indices or lists.keys(ours)) or nil
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
  put_sides(self, a, b)
  self.profiles = lists.joined { self.a, self.b }
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
  local ours, theirs = row.line.place, row.line.other
  return { row.label, ours and ours.fn or theirs and theirs.fn, ours and theirs and theirs.fn }
end

--- The row of a function; of several of one name the one that explains most. Raises where there is none.
---@param name string "parse", "memcpy [libc.so.6]"
---@return pmclua.LedgerRow
function CodeResult:row(name)
  local rows = self:ledger().lines
  local found = lists.find(rows, function(row) return lists.set(names_of(row))[name] end)
  if found then return found end
  local nearest = text.nearest(name, lists.map(rows, function(row) return names_of(row)[2] end))
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
