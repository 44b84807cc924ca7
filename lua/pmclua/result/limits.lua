--- limits.lua: one limit in one cell: what was observed, what is allowed, and what that concludes.
--
-- Invariant: nothing passes for want of values. What was not counted, was counted otherwise, or lacks the
-- repetitions that would decide is uncountable, with the reason.

local average = require("pmclua.stats.mean").average
local comparable = require "pmclua.result.comparable"
local check = require "pmclua.verdict.check"
local complete = require "pmclua.result.complete"
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"
local hosts = require "pmclua.result.hosts"
local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local lists = require "pmclua.base.lists"
local metric = require "pmclua.metric"
local names = require "pmclua.result.names"
local means = require("pmclua.base.lazy").module "pmclua.stats.mean"
local runs = require "pmclua.verdict.runs"
local stats = require("pmclua.base.lazy").module "pmclua.stats"
local stop = require("pmclua.base.lazy").module "pmclua.verdict.stop"
local values = require "pmclua.result.values"
local verdict = require "pmclua.verdict"

local M = {}

-- A metric, so that it is scaled, per iteration and absent as metrics are.
local function side(limit, evaluate)
  return { name = limit.formula, needs = limit.needs, uses_iterations = limit.uses_iterations,
    evaluate = evaluate }
end

local function why_absent(observed) return observed.why or observed.status end

local function spread_of(list)
  local least, most = lists.range(list)
  return most - least
end

-- There is no value, or a launcher had other processes do the work.
local function is_absent(observed) return #observed.list == 0 or observed.launcher ~= nil end

-- ---- what a cell lacks -------------------------------------------------------------------------------------

-- Failed, left out or not counted.
local function lost(cell, observed)
  local count = observed.missing
  for _, failure in ipairs(cell.columns.failures) do
    local is_repeated = (failure.why or ""):find "^reject_if"
    if not (failure.row or failure.warmup or is_repeated) then count = count + 1 end
  end
  return count
end

local function said_lost(cell, observed)
  local count = lost(cell, observed)
  return complete.said(count, #observed.list + count)
end

-- ---- absolute ----------------------------------------------------------------------------------------------

-- The limit's bound in the repetitions that were observed.
local function allowed_for(observed, allowed)
  local by_block = values.by_block(allowed)
  return lists.map(observed.rows, function(row) return by_block[observed.block.index[row]] end)
end

-- Whether the limit would hold even if every missing repetition were beyond it.
local function holds_at_worst(limit, list, allowed, count)
  local worst = limit.operator:sub(1, 1) == ">" and -math.huge or math.huge
  local all = lists.copy(list)
  for _ = 1, count do all[#all + 1] = worst end
  table.sort(all)
  local low, high = all[math.ceil(#all / 2)], all[math.floor(#all / 2) + 1]
  local middle = low == high and low or (low + high) / 2
  return metric.holds(limit.operator, middle, allowed)
end

-- The interval of simulated counts that vary: of their median, or with few values of their mean.
local function interval_of(list, level)
  level = stop.simulated_level(level)
  local interval = stats.median_interval(list, level)
  if interval.low then return interval.low, interval.high end
  return means.interval(means.of(list), level)
end

-- Also how far simulated counts are apart, and how many would decide.
local function varying(limit, observed, most, options)
  local list, level = observed.list, options.level or verdict.DEFAULT_LEVEL
  local checked = check.absolute(limit, list, most, interval_of(list, level))
  checked.jitter = spread_of(list)
  if checked.state == "undecided" then
    checked.needed = stop.needed(checked.observed - checked.allowed, list, nil, false, level)
  end
  return checked
end

local function absolute(limit, cell, observed, options)
  local allowed = values.of_metric(cell, side(limit, limit.right))
  if #allowed.list == 0 then return check.uncountable(limit, why_absent(allowed)) end
  if observed.fit then
    local most = allowed.fit and allowed.fit.slope or allowed.list[1]
    return check.absolute(limit, { observed.fit.slope }, { most })
  end
  local most, count = allowed_for(observed, allowed), lost(cell, observed)
  local is_varying = spread_of(observed.list) > 0 and values.is_simulated(cell.result, limit)
  local judged = is_varying and varying(limit, observed, most, options)
    or check.absolute(limit, observed.list, most)
  local is_safe = judged.state ~= "pass" or count == 0 or holds_at_worst(limit, observed.list, most[1], count)
  if is_safe then return judged end
  return check.uncountable(limit, said_lost(cell, observed)
    .. ", and it would fail if they were beyond the limit")
end

-- ---- relative: new against old, each a cell and what was found in it -----------------------------------------

local function independent(side_values)
  return clusters.means(side_values.cell, side_values.found)
end

local function compare_paired(new, old, level)
  local a, b, blocks = verdict.pair(values.by_block(new.found), values.by_block(old.found))
  local ids = clusters.of_blocks({ new.cell, old.cell }, blocks)
  if not ids then return verdict.compare(a, b, { paired = true, level = level }) end
  local compared, why = clusters.compare(new.cell, ids, a, b, { paired = true, level = level })
  if compared and new.cell.result.header.layouts then
    compared.layouts = #lists.unique(ids)
    compared.odd_layout = require("pmclua.result.odd_layout").of(a, b, ids)
  end
  return compared, why
end

local function compare(limit, new, old, options)
  if new.found.fit and old.found.fit then
    return fits.compare(new.found.estimate, old.found.estimate, options)
  end
  if values.is_simulated(new.cell.result, limit) then
    return verdict.compare(new.found.list, old.found.list, { simulated = true, level = options.level })
  end
  if options.paired then return compare_paired(new, old, options.level) end
  return verdict.compare(independent(new), independent(old), { paired = false, level = options.level })
end

local function differently(ours, theirs)
  if not ours then return nil end
  return theirs == "" and "counted differently, " .. ours
    or ("counted differently, %s here, %s in the baseline"):format(ours, theirs)
end

local FOREIGN = "the baseline is of another architecture, %s here and %s there"
local OTHERWISE = "the baseline was given other %s, %s here and %s there: --any-arguments accepts it"

-- Why a baseline's program got other input, as a whole sentence; nil where it did not, or where that is accepted.
local function why_other(cell, before, options)
  local here, there = hosts.architectures(cell.result.header, before.result.header)
  if here and not options.any_cpu then return FOREIGN:format(here, there) end
  local what, ours, theirs = comparable.asked(cell, before)
  return what and not options.any_arguments and OTHERWISE:format(what, ours, theirs) or nil
end

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

local function why_few(side_values, where)
  local count = lost(side_values.cell, side_values.found)
  local why = complete.why_few(count, #side_values.found.list + count)
  return why and where .. why
end

-- Why a cell lacks some of the target's counts; nil where it has them all.
local function why_cpus(limit, cell, where)
  local why = complete.why_cpus(cell.result.remarks, values.events_needed(cell.result, limit))
  return why and where .. why
end

-- The baseline's cell and its values; nil, why it cannot be compared, and whether to show that whole.
local function old_of(limit, new, before, options)
  if not before then return nil, "the baseline has no such cell" end
  local missing = names.missing(before.result, limit)
  if missing then return nil, "the baseline did not count " .. missing end
  local other = new.cell.result ~= before.result and why_other(new.cell, before, options)
  if other then return nil, other, true end
  local unlike = why_unlike(limit, new.cell, before)
  if unlike then return nil, unlike end
  local old = { cell = before, found = values.of_metric(before, side(limit, limit.left)) }
  if is_absent(old.found) then return nil, "in the baseline, " .. why_absent(old.found) end
  local few = why_few(old, "in the baseline, ") or why_cpus(limit, before, "in the baseline, ")
  if few then return nil, few end
  return old
end

-- Times vary from run to run.
local function is_timed(result, limit)
  local function is_time(event) return event.unit == "ns" end
  return values.needs(result, limit, "wall_ns") or lists.any(values.events_needed(result, limit), is_time)
end

local function estimate(limit, new, olds, options)
  local list = {}
  for i, old in ipairs(olds) do
    local compared, why = compare(limit, new, old, options)
    if not compared then return nil, why end
    list[i] = compared
  end
  if #list > 1 then return runs.several(list, options.level) end
  local spread = options.spread or is_timed(new.cell.result, limit) and runs.ASSUMED_SPREAD or 0
  if options.paired or list[1].method == "exact" then return list[1] end
  return runs.single(list[1], spread, options.level)
end

local function value_of(observed)
  if observed.fit then return observed.fit.slope end
  return (stats.median(observed.list))
end

-- Repetitions of simulated counts that would decide; only of this run where the baseline is stored.
local function needed(result, new, olds, estimated, options)
  if #olds > 1 then return nil end
  local ours, theirs = new.found.list, olds[1].found.list
  local distance = result.allowed - result.baseline - (estimated.difference or { shift = 0 }).shift
  if estimated.ratio then
    ours, theirs = lists.map(ours, math.log), lists.map(theirs, math.log)
    distance = math.log(result.allowed / result.baseline / estimated.ratio)
  end
  return stop.needed(distance, ours, theirs, not options.paired, options.level)
end

-- The jitter of simulated counts, beside the conclusion.
local function add_jitter(result, new, olds, estimated, options)
  for _, side_values in ipairs { new, unpack(olds) } do
    result.jitter = math.max(result.jitter or 0, spread_of(side_values.found.list))
  end
  if result.state == "undecided" then result.needed = needed(result, new, olds, estimated, options) end
end

local function relative(limit, new, befores, options)
  local olds = {}
  if #befores == 0 then return check.uncountable(limit, "it is relative, and there is no baseline") end
  for i, before in ipairs(befores) do
    local old, why, is_whole = old_of(limit, new, before, options)
    if not old then return check.uncountable(limit, why, is_whole) end
    olds[i] = old
  end
  local few = why_few(new, "")
  if few then return check.uncountable(limit, few) end
  local estimated, why = estimate(limit, new, olds, options)
  if not estimated then return check.uncountable(limit, why) end
  local before = average(lists.map(olds, function(old) return value_of(old.found) end))
  local result = check.judge(limit, estimated, value_of(new.found), before)
  result.runs, result.spread, result.is_assumed = #olds, estimated.spread, estimated.is_assumed
  result.paired = options.paired or nil
  result.layouts, result.odd_layout = estimated.layouts, estimated.odd_layout
  result.by_means = estimated.by_means
  local is_varying = estimated.method ~= "exact" and not new.found.fit
    and values.is_simulated(new.cell.result, limit)
  if is_varying then add_jitter(result, new, olds, estimated, options) end
  return result
end

-- ---- either ------------------------------------------------------------------------------------------------

---@class pmclua.LimitOptions
---@field level? number of the intervals
---@field paired? boolean the old cell ran in the same blocks
---@field spread? number between runs, where there is one baseline; nil: assumed for times
---@field any_cpu? boolean another architecture is accepted
---@field any_arguments? boolean other arguments are accepted

--- Checks a limit in a cell.
---@param limit table of metric.limit
---@param cell pmclua.Cell
---@param befores (pmclua.Cell|false)[] the same cell in each run of the baseline; false where one has none
---@param options pmclua.LimitOptions
---@return pmclua.GateResult
function M.check(limit, cell, befores, options)
  local observed = values.of_metric(cell, side(limit, limit.left))
  if is_absent(observed) then return check.uncountable(limit, why_absent(observed)) end
  local why = why_cpus(limit, cell, "")
  if why then return check.uncountable(limit, why) end
  local new = { cell = cell, found = observed }
  local judged = limit.relative and relative(limit, new, befores, options)
    or absolute(limit, cell, observed, options)
  judged.is_timed = is_timed(cell.result, limit) or nil
  judged.missing = lost(cell, observed)
  judged.repetitions = #observed.list + judged.missing
  return judged
end

return M
