--- limits.lua: one limit in one cell: what was observed, what is allowed, and what that concludes.
--
-- Invariant: nothing passes for want of values. What was not counted, was counted otherwise, or lacks the
-- repetitions that would decide is uncountable, with the reason.

local comparable = require "pmclua.result.comparable"
local check = require "pmclua.verdict.check"
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"
local layouts = require("pmclua.base.lazy").module "pmclua.result.layouts"
local metric = require "pmclua.metric"
local runs = require "pmclua.verdict.runs"
local text = require "pmclua.base.text"
local values = require "pmclua.result.values"
local verdict = require "pmclua.verdict"

local settled = require("pmclua.base.lazy").module "pmclua.result.settled"

local M = {}

-- One side of a limit as a metric, so that it is scaled, per iteration and absent as metrics are.
local function side(limit, evaluate)
  return { name = limit.formula, needs = limit.needs, uses_iterations = limit.uses_iterations,
    evaluate = evaluate }
end

local function uncountable(limit, reason)
  return { state = "uncountable", text = limit.formula, reason = reason }
end

local function why_absent(found) return found.why or found.status end

-- ---- what a cell lacks -------------------------------------------------------------------------------------

-- Repetitions that have no value: they failed and were left out, or were not counted.
local function lost(cell, found)
  local count = found.missing
  for _, failure in ipairs(cell.columns.failures) do
    local is_repeated = (failure.why or ""):find "^reject_if"
    if not (failure.row or failure.warmup or is_repeated) then count = count + 1 end
  end
  return count
end

local function said_lost(cell, found)
  local count = lost(cell, found)
  return ("%d of %s have no value"):format(count, text.plural(#found.list + count, "repetition"))
end

-- ---- absolute ----------------------------------------------------------------------------------------------

local function rows_of(left, right)
  local by_index, rows = {}, {}
  for k, row in ipairs(right.rows) do by_index[right.block.index[row]] = right.list[k] end
  for k, row in ipairs(left.rows) do
    rows[k] = { left = left.list[k], right = by_index[left.block.index[row]] }
  end
  return rows
end

-- A limit over rows that were evaluated already.
local function plain(limit)
  return setmetatable({ left = function(row) return row.left end,
    right = function(row) return row.right end }, { __index = limit })
end

-- Whether the limit would hold, too, if every repetition without a value were beyond it.
local function holds_at_worst(limit, rows, count)
  local worst = limit.operator:sub(1, 1) == ">" and -math.huge or math.huge
  local all = {}
  for i, row in ipairs(rows) do all[i] = row end
  for _ = 1, count do all[#all + 1] = { left = worst, right = rows[1].right } end
  table.sort(all, function(a, b) return a.left < b.left end)
  local n = #all
  local low, high = all[math.ceil(n / 2)].left, all[math.floor(n / 2) + 1].left
  local middle = low == high and low or (low + high) / 2
  return metric.holds(limit.operator, middle, rows[1].right)
end

local function of_rows(limit, cell, observed, rows)
  local found, count = check.gate(plain(limit), rows), lost(cell, observed)
  local is_needed = found.state == "pass" and count > 0 and not holds_at_worst(limit, rows, count)
  if not is_needed then return found end
  return uncountable(limit, said_lost(cell, observed) .. ", and it would fail if they were beyond the limit")
end

local function absolute(limit, cell, observed)
  local allowed = values.of_metric(cell, side(limit, limit.right))
  if #allowed.list == 0 then return uncountable(limit, why_absent(allowed)) end
  if not observed.fit then return of_rows(limit, cell, observed, rows_of(observed, allowed)) end
  local most = allowed.fit and allowed.fit.slope or allowed.list[1]
  return check.gate(plain(limit), { { left = observed.fit.slope, right = most } })
end

-- ---- relative: new against old, each a cell and what was found in it -----------------------------------------

-- Values that are independent of each other.
local function independent(one)
  return one.cell.result.header.layouts and layouts.means(one.found) or one.found.list
end

local function by_block(found)
  local list = {}
  for k, row in ipairs(found.rows) do list[found.block.index[row]] = found.list[k] end
  return list
end

local function compare_paired(new, old, level, exact_from)
  local a, b, blocks = verdict.pair(by_block(new.found), by_block(old.found))
  if not exact_from and new.cell.result.header.layouts then a, b = layouts.pairs(blocks, a, b) end
  return verdict.compare(a, b, { paired = true, level = level, exact_from = exact_from })
end

local function exact_in(limit, one)
  return settled.exact_from(one.cell, values.events_needed(one.cell.result, limit), one.found)
end

-- The estimate of new against old, within what these repetitions can say.
local function compare(limit, new, old, options)
  if new.found.fit and old.found.fit then
    return fits.compare(new.found.estimate, old.found.estimate, options)
  end
  local exact_from = exact_in(limit, new) and exact_in(limit, old)
  if options.paired then return compare_paired(new, old, options.level, exact_from) end
  local function list_of(one) return exact_from and one.found.list or independent(one) end
  return verdict.compare(list_of(new), list_of(old),
    { paired = false, level = options.level, exact_from = exact_from })
end

local function differently(ours, theirs)
  if not ours then return nil end
  return theirs == "" and "counted differently, " .. ours
    or ("counted differently, %s here, %s in the baseline"):format(ours, theirs)
end

-- Why the counts of two cells must not be compared; nil where they may be.
local function why_unlike(limit, cell, before)
  local ours, theirs = comparable.cell(cell, before)
  if not ours and cell.result.header ~= before.result.header then
    ours, theirs = comparable.mode(cell.result.header, before.result.header)
    for _, event in ipairs(ours and {} or values.events_needed(cell.result, limit)) do
      local other = before.result.event_by_field[event.field]
      if other and not ours then ours, theirs = comparable.event(event, other) end
      if other and not ours and event.simulated then
        ours, theirs = comparable.simulation(cell.result.header, before.result.header)
      end
    end
  end
  return differently(ours, theirs)
end

-- Why too few values are left to stand for a cell; nil where they are enough.
local function why_few(one, where)
  if 2 * lost(one.cell, one.found) < #one.found.list + lost(one.cell, one.found) then return nil end
  return where .. said_lost(one.cell, one.found)
end

-- A name of a limit that a result has nothing for; nil where it has all.
local function missing_name(result, limit)
  for _, name in ipairs(limit.needs) do
    local is_there = result.event_by_field[name] or result.metric_by_name[name] or result.factor_by_name[name]
    if not is_there and name ~= "iterations" and name ~= "wall_ns" then return name end
  end
end

-- The cell of a baseline and what was found in it; nil and why where it cannot be compared with.
local function old_of(limit, new, before)
  if not before then return nil, "the baseline has no such cell" end
  local missing = missing_name(before.result, limit)
  if missing then return nil, "the baseline did not count " .. missing end
  local unlike = why_unlike(limit, new.cell, before)
  if unlike then return nil, unlike end
  local old = { cell = before, found = values.of_metric(before, side(limit, limit.left)) }
  if #old.found.list == 0 then return nil, "in the baseline, " .. why_absent(old.found) end
  local few = why_few(old, "in the baseline, ")
  if few then return nil, few end
  return old
end

--- Whether a quantity is a time, or computed from one: what a machine changes from run to run.
---@param result pmclua.Result
---@param limit table
---@return boolean
function M.is_timed(result, limit)
  for _, name in ipairs(limit.needs) do
    local other = result.metric_by_name[name]
    if name == "wall_ns" or other and values.needs(result, other, "wall_ns") then return true end
  end
  for _, event in ipairs(values.events_needed(result, limit)) do
    if event.unit == "ns" then return true end
  end
  return false
end

-- What is known of new against all old runs; nil and why.
local function estimate(limit, new, olds, options)
  local list = {}
  for i, old in ipairs(olds) do
    local found, why = compare(limit, new, old, options)
    if not found then return nil, why end
    list[i] = found
  end
  if #list > 1 then return runs.several(list, options.level) end
  local spread = options.spread or M.is_timed(new.cell.result, limit) and runs.ASSUMED_SPREAD or 0
  if options.paired or list[1].method == "exact" then return list[1] end
  return runs.single(list[1], spread, options.level)
end

local function value_of(found)
  if found.fit then return found.fit.slope end
  return (require("pmclua.stats").median(found.list))
end

local function mean_of(olds)
  local sum = 0
  for _, old in ipairs(olds) do sum = sum + value_of(old.found) end
  return sum / #olds
end

local function relative(limit, new, befores, options)
  local olds = {}
  if #befores == 0 then return uncountable(limit, "it is relative, and there is no baseline") end
  for i, before in ipairs(befores) do
    local old, why = old_of(limit, new, before)
    if not old then return uncountable(limit, why) end
    olds[i] = old
  end
  local few = why_few(new, "")
  if few then return uncountable(limit, few) end
  local found, why = estimate(limit, new, olds, options)
  if not found then return uncountable(limit, why) end
  local result = check.judge(limit, found, value_of(new.found), mean_of(olds))
  result.runs, result.spread, result.is_assumed = #olds, found.spread, found.is_assumed
  result.paired = options.paired or nil
  return result
end

-- ---- either ------------------------------------------------------------------------------------------------

---@class pmclua.LimitOptions
---@field level number of the intervals
---@field paired? boolean the old cell ran in the same blocks
---@field spread? number between runs, where there is one baseline; nil: assumed for times

--- Checks a limit in a cell.
---@param limit table of metric.limit
---@param cell pmclua.Cell
---@param befores pmclua.Cell[] the same cell in each run of the baseline; false where one has none
---@param options pmclua.LimitOptions
---@return pmclua.GateResult
function M.check(limit, cell, befores, options)
  local observed = values.of_metric(cell, side(limit, limit.left))
  if #observed.list == 0 then return uncountable(limit, why_absent(observed)) end
  local new = { cell = cell, found = observed }
  local found = limit.relative and relative(limit, new, befores, options) or absolute(limit, cell, observed)
  found.missing = lost(cell, observed)
  found.repetitions = #observed.list + found.missing
  return found
end

return M
