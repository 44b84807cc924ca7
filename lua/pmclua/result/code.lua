--- code.lua: where the counts of a sampled event are in the code: of one cell, or of a cell against its
--- baseline.
--
-- Invariant: repetitions are paired by their block; those of which only one side was sampled are left
-- out, and `missing` says how many.

local cell_key = require "pmclua.result.cell_key"
local explain = require "pmclua.explain"
local ledgers = require "pmclua.ledger.code"
local clusters = require "pmclua.result.clusters"
local complete = require "pmclua.result.complete"
local added, new_ledger = require("pmclua.ledger").added, require("pmclua.ledger").new
local lists = require "pmclua.base.lists"
local match = require "pmclua.ledger.match"
local mean = require "pmclua.stats.mean"
local means = require("pmclua.core.symbols").means
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
---@field incomplete? string why nothing is concluded from them
---@field confirmed? pmclua.Confirmation[] what breakpoints counted, where they were asked for
local CodeResult = require("pmclua.public.class").new("measuring", "where",
  "baseline b groups incomplete called pairing confirmed")

local function event_of(result, asked)
  local events = profiles.events(result)
  if #events == 0 then
    error(explain.problem { code = "EPROFILE", operation = "where", message = "no event was sampled",
      hint = 'give sample = "cpu-clock" to the experiment' }, 0)
  end
  if not asked then return events[1] end
  local event_of_both = lists.find(events, function(event)
    return event == asked or text.field(event) == text.field(tostring(asked))
  end)
  if event_of_both then return event_of_both end
  explain.misuse(("'%s' was not sampled, only %s"):format(text.safe(asked), text.list(events)), 4)
end

local function sampled_cells(result, event)
  return lists.where(result:list(), function(cell)
    return not cell_key.is_part(cell) and next(profiles.by_index(result, cell.number, event))
  end)
end

local function sides(result, cells)
  if #cells > 2 then
    explain.misuse(("%d cells were sampled: choose two, as in r:only { n = 512 }:where()"):format(#cells), 4)
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
  self.groups = self.paired and clusters.of_blocks({ a, b }, indices or lists.keys(ours)) or nil
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
  local confirmed = lists.find(self.profiles, function(profile)
    return profile.data and profile.data.confirmed
  end)
  self.unit, self.confirmed = self.a[1].unit, confirmed and confirmed.data.confirmed
  local sampled = result.event_by_field[text.field(event)]
  self.incomplete = complete.why_cpus(result.remarks, { sampled })
    or complete.why_zeros(self.profiles, sampled)
    or complete.why_samples(self.a) or b and complete.why_samples(self.b) or nil
  return self
end

--- The ledger by function, or by source line. Its rows: key, label, a, b (means), a_sum, b_sum,
--- difference, low, high, share, verdict.
---@param by? pmclua.CodeBy
---@return pmclua.Ledger
function CodeResult:ledger(by)
  by = by or "function"
  local is_data = require("pmclua.ledger.objects").is_view(by)
  if is_data and not lists.all(self.profiles, function(profile) return profile.data end) then
    error(explain.problem { code = "EPROFILE", operation = "where",
      message = "what was accessed was not recorded",
      hint = "sample with data = true, or pmclua where --data" }, 0)
  end
  self.ledgers[by] = self.ledgers[by] or ledgers.new { a = self.a, b = self.b, by = by, paired = self.paired,
    groups = self.groups, incomplete = self.incomplete }
  return self.ledgers[by]
end

--- The ledger of functions with all that they call; nil: no call chains were taken of a side. `grown` says which
--- function makes the difference.
---@return pmclua.Ledger?
function CodeResult:callers()
  if self.called == nil then
    self.called = require("pmclua.ledger.callers").new { a = self.a, b = self.b, paired = self.paired,
      groups = self.groups, incomplete = self.incomplete, exact = self:ledger().exact } or false
  end
  return self.called or nil
end

-- ---- functions by name ---------------------------------------------------------------------------------

local function places_of(row) return row.line.place, row.line.other end

-- How surely a name means a row: 0: not at all.
local function rank_of(row, name)
  if row.label == name then return math.huge end
  local ours, theirs = places_of(row)
  local rank = 0
  for _, place in pairs { a = ours, b = theirs } do
    rank = math.max(rank, means(place.full, place.fn, name))
  end
  return rank
end

-- The rows that a name means most surely, as signature.lua takes functions.
local function rows_by_name(rows)
  return { match = function(_, name)
    local best_rows, best = {}, 1
    for _, row in ipairs(rows) do
      local rank = rank_of(row, name)
      if rank > best then best_rows, best = {}, rank end
      local ours, theirs = places_of(row)
      if rank == best then best_rows[#best_rows + 1] = { shown = (ours or theirs).full, row = row } end
    end
    return best_rows
  end }
end

local function find_rows(ledger, name)
  local rows = lists.where(ledger.lines, function(row) return row.line.place or row.line.other end)
  return lists.column(require("pmclua.event.signature").match(rows_by_name(rows), name), "row"), rows
end

--- The row of a function. Raises where there is none, and where the name means several.
---@param name string "parse", "ns::parse(int)", the end of a path ("Parser::parse"), "memcpy [libc.so.6]"
---@param by? "function"|"inlined" nil: by function, and where there is none what was copied into others
---@return pmclua.LedgerRow
function CodeResult:row(name, by)
  local matching, rows = find_rows(self:ledger(by), name)
  if #matching == 0 and not by then matching = find_rows(self:ledger "inlined", name) end
  if #matching == 1 then return matching[1] end
  if #matching > 1 then
    explain.misuse(("'%s' means several functions: %s"):format(text.safe(name),
      text.list(lists.map(matching, function(row) return ("'%s'"):format(text.safe(row.label)) end))), 3)
  end
  local nearest = text.nearest(name, lists.map(rows, function(row)
    local ours, theirs = places_of(row)
    return (ours or theirs).fn
  end))
  explain.misuse(("no function '%s' has a line of its own%s"):format(text.safe(name),
    nearest and (", did you mean '%s'?"):format(text.safe(nearest)) or ""), 3)
end

local function side_lines(profiles_of_side, place, by)
  return { lines = place and profile_lines(profiles_of_side, place, by) or {}, n = #profiles_of_side }
end

local function pairing_of(self, place, other)
  if not (place and other) or match.build_of(place) == match.build_of(other) then return nil end
  self.pairing = self.pairing or require("pmclua.ledger.lines").pairing(self.a, self.b)
  return self.pairing
end

local function dense(values, profiles_of_side)
  local list = {}
  for i = 1, #profiles_of_side do list[i] = values[i] or 0 end
  return list
end

local function judge_rows(self, rows)
  if #rows == 0 then return end
  local samples = self.a[1].period
  local lines = lists.map(rows, function(row)
    local a, b = dense(row.values.a, self.a), dense(row.values.b, self.b)
    return { key = row, label = "", a = a, b = b, samples = (mean.sum(a) + mean.sum(b)) / samples }
  end)
  local joined = new_ledger { unit = self.unit, lines = lines, a = added(lines, "a"), b = added(lines, "b"),
    overlaps = true, exact = self:ledger().exact, paired = self.paired,
    groups = self.groups, incomplete = self.incomplete }
  for _, judged in ipairs(joined.lines) do judged.key.verdict = judged.verdict end
end

--- A function's counts by source line and by instruction, as means of A and of B, with verdicts on what differs.
---@param row pmclua.LedgerRow of `ledger()` or `ledger "inlined"`
---@param sources? string[] below which sources may be
---@return pmclua.Annotation
function CodeResult:annotation(row, sources)
  local ours, theirs = places_of(row)
  local is_stored = lists.any(self.profiles, require("pmclua.store.profiles").is_stored)
  local pairing = pairing_of(self, ours, theirs)
  return require("pmclua.profile.annotation").new(side_lines(self.a, ours, row.line.by),
    self.b and side_lines(self.b, theirs, row.line.by),
    { is_stored = is_stored, folders = sources, pairing = pairing,
      aligned = function(a, b) return require("pmclua.ledger.instructions").aligned(a, b, pairing) end,
      judge = self.b and function(rows) judge_rows(self, rows) end or nil })
end

return M
