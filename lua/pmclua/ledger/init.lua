--- ledger/init.lua: a total as lines that add up to it, of one side or of B against A, each difference with its
--- interval.
--
-- Invariant: in every repetition the lines and what is not attributed are the total, to the last count.
-- So the means add up as well; the intervals do not. Generic: a line may be a function's counts or a kind
-- of time.
--
-- Statistics (README.md has simulations and resampled runs): counts rather than shares, since shares make lines depend
-- on each other; means of paired differences, judged by rule.lua. A line's verdict and its interval come from one test.

local interval = require "pmclua.stats.interval"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local holm = require("pmclua.stats.multiple").holm
local order = require "pmclua.stats.order"
local rule = require "pmclua.ledger.rule"

local new_class = require("pmclua.public.class").new
local Ledger = new_class("measuring", "ledger", "n_b differs grown of groups margin")
local LedgerRow = new_class("measuring", "ledger_row",
  "b b_sum difference low high level median p adjusted share verdict exact rest estimate signs "
  .. "node why tone samples trifle")

Ledger.__about = function(self)
  return ("%d lines of %d %s"):format(#self.lines, self.n, self.paired and "pairs" or "repetitions")
end
LedgerRow.__about = function(self) return self.label end

local M = {}

--- A line as it is asked for.
---@class pmclua.LedgerLine
---@field key any what identifies it
---@field label? string
---@field a number[] its value in each repetition of A; whole numbers add up exactly
---@field b? number[] in each repetition of B
---@field samples? number how many samples its values come from; nil: they were not sampled
---@field rest? boolean it says why something is not attributed: shown with its interval, never named

--- A line as it is told.
---@class pmclua.LedgerRow
---@field key any
---@field label string
---@field a number mean of A
---@field b? number mean of B
---@field a_sum number of all repetitions
---@field b_sum? number
---@field difference? number B's mean less A's
---@field low? number of the difference; of one side: of its median
---@field high? number
---@field level? number of that interval
---@field median? number of one side
---@field p? number
---@field adjusted? number p corrected for all lines
---@field share? number of the total; of two sides: of its difference, absent where that may be 0
---@field verdict? "more"|"fewer"|"same"|"skewed"|"undecided" nil where lines are not tested; skewed: the signs of the
---  pairs say that it differs, and the interval of the mean does not
---@field exact? boolean the difference is known without statistics
---@field rest? boolean
---@field trifle? true the difference is below the margin
---@field line? pmclua.LedgerLine

---@class pmclua.Ledger
---@field unit string
---@field n integer repetitions of A; where paired, pairs
---@field n_b? integer
---@field paired boolean
---@field lines pmclua.LedgerRow[] named ones first, each kind with what explains most first, the others last
---@field few integer lines that were joined as others, which is a row of `lines` with key "others"
---@field rest pmclua.LedgerRow[] what is not attributed, by reason
---@field total pmclua.LedgerRow
---@field groups? (integer|string)[] the layout of each pair
---@field comparisons integer lines that were tested together
---@field uncompared { why: string, sources: string[] }[] why functions with lines of these are one line each
---@field grown? pmclua.GrownChain of functions with what they call: where the difference comes from
---@field conclusion { kind: "named"|"spread"|"none"|"few"|"one"|"incomplete", names: pmclua.LedgerRow[], why: string? }

---@class pmclua.LedgerAsked
---@field unit? string "ns", "" (counts)
---@field a number[] the total in each repetition of A
---@field b? number[] of B; nil: A alone
---@field lines pmclua.LedgerLine[]
---@field exact? boolean nothing was sampled: what is the same in all repetitions is known without statistics
---@field paired? boolean false: B's repetitions did not run in A's blocks
---@field groups? (integer|string)[] the layout of each pair: repetitions of one layout are one observation
---@field incomplete? string why nothing is concluded: too much of what was to be counted is missing
---@field uncompared? { why: string, sources: string[] }[] why functions with lines of these are not divided
---@field overlaps? boolean lines have parts in common: nothing is said of what they lack, and none are joined
---@field margin? number a share of the total, or of its difference: lines that differ by less are trifles, not named
---@field is_rounded? boolean values are quotients: what lines lack by rounding is nothing

-- ---- what the lines lack of the total ----

local ROUNDING = 1e-9           -- of a total

local function remainder(totals, lines, side, tolerance)
  local left, some = lists.copy(totals), false
  for _, line in ipairs(lines) do
    for i = 1, #left do left[i] = left[i] - line[side][i] end
  end
  for i = 1, #left do some = some or math.abs(left[i]) > tolerance * math.abs(totals[i]) end
  return left, some
end

local function add_remainder(asked, lines)
  local tolerance = asked.is_rounded and ROUNDING or 0
  local a, has_a = remainder(asked.a, lines, "a", tolerance)
  local b, has_b
  if asked.b then b, has_b = remainder(asked.b, lines, "b", tolerance) end
  if not (has_a or has_b) then return end
  lines[#lines + 1] = { key = "not attributed", label = "not attributed", a = a, b = b, rest = true }
end

-- ---- lines with few samples ----

--- The values of several lines on one side, added up in each repetition.
---@param lines pmclua.LedgerLine[]
---@param side string "a", "b", or another field of the lines that has values
---@return number[]
function M.added(lines, side)
  local sums = {}
  for _, line in ipairs(lines) do
    for i, value in ipairs(line[side]) do sums[i] = (sums[i] or 0) + value end
  end
  return sums
end

local function joined(few)
  local of_data = lists.where(few, function(line) return line.fed ~= nil end)
  return { key = "others", label = ("%d others"):format(#few), a = M.added(few, "a"),
    fed = #of_data > 0 and M.added(of_data, "fed") or nil,
    b = few[1].b and M.added(few, "b"), samples = mean.sum(lists.column(few, "samples")), of = few }
end

-- Lines that can be told apart from nothing, the others as one line, and the rest.
local function sort_out(asked, lines)
  local main, few, rest = {}, {}, {}
  for _, line in ipairs(lines) do
    local is_few = line.samples and line.samples < rule.FEWEST_SAMPLES and not asked.exact
    local list = line.rest and rest or is_few and few or main
    list[#list + 1] = line
  end
  if asked.overlaps then return main, 0, rest end
  if #few > 1 then main[#main + 1] = joined(few) else main[#main + 1] = few[1] end
  return main, #few > 1 and #few or 0, rest
end

-- ---- rows ----

-- Repetitions of one layout are not independent: their mean is one observation.
local function by_group(values, groups)
  if not groups then return values end
  local together, at = {}, {}
  for i, value in ipairs(values) do
    if not at[groups[i]] then
      at[groups[i]] = {}
      together[#together + 1] = at[groups[i]]
    end
    table.insert(at[groups[i]], value)
  end
  return lists.map(together, mean.average)
end

local function plain_row(line)
  local row = setmetatable({ key = line.key, label = line.label, rest = line.rest, line = line,
    a_sum = mean.sum(line.a) }, LedgerRow)
  row.a = row.a_sum / #line.a
  if line.b then
    row.b_sum = mean.sum(line.b)
    row.b = row.b_sum / #line.b
    row.difference = row.b - row.a
  end
  return row
end

-- The largest spread of a line on one side: any line may differ by this much by chance, also one with few repetitions.
local function largest_spread(lines)
  local largest = 0
  for _, line in ipairs(lines) do
    for _, values in pairs { line.a, line.b } do
      local low, high = math.huge, -math.huge
      for _, value in ipairs(values) do low, high = math.min(low, value), math.max(high, value) end
      largest = math.max(largest, high - low)
    end
  end
  return largest
end

-- The difference, as it is estimated and as the signs of its pairs see it.
local function compare(row, asked, spread)
  local line = row.line
  row.exact = asked.exact and order.are_equal(line.a) and order.are_equal(line.b)
    and (row.difference == 0 or math.abs(row.difference) > spread)
  if row.exact then
    row.estimate, row.p = { mean = row.difference, error = 0, df = 1 }, row.difference == 0 and 1 or 0
    return
  end
  local a, b = by_group(line.a, asked.groups), by_group(line.b, asked.groups)
  row.estimate = asked.paired == false and mean.unpaired(a, b) or mean.paired(a, b)
  row.p = mean.p(row.estimate)
  row.signs = asked.paired ~= false and { a, b } or nil
end

local function set_interval(row, level)
  row.low, row.high = mean.interval(row.estimate, level)
  row.level = level
  if row.exact then row.low, row.high = row.difference, row.difference end
end

-- Whether the interval of the median of the pairs leaves 0 out.
local function signs_differ(row, level)
  local shift = row.signs and interval.paired_difference(row.signs[2], row.signs[1], level)
  return shift ~= nil and shift.low ~= nil and (shift.low > 0 or shift.high < 0)
end

local function judge(row, tested, can_name)
  set_interval(row, tested.level)
  row.adjusted = tested.adjusted
  local says = tested.rejected and (can_name or row.exact) and (row.difference > 0 and "more" or "fewer")
  row.verdict = says or row.exact and row.difference == 0 and "same"
    or can_name and signs_differ(row, tested.level) and "skewed" or "undecided"
end

-- Verdicts on all lines together.
local function test(rows, can_name)
  local tested = holm(lists.map(rows, function(row) return row.p or 1 end), 1 - rule.LEVEL)
  for i, row in ipairs(rows) do judge(row, tested[i], can_name) end
end

local function rows_of(lines, asked, spread)
  local rows = {}
  for i, line in ipairs(lines) do
    local row = plain_row(line)
    rows[i] = row
    if asked.b then
      compare(row, asked, spread)
      set_interval(row, rule.INTERVAL_LEVEL)
    else
      local median = interval.median(by_group(line.a, asked.groups), rule.INTERVAL_LEVEL)
      row.median, row.low, row.high, row.level = median.median, median.low, median.high, rule.INTERVAL_LEVEL
      row.exact = asked.exact and order.are_equal(line.a)
    end
  end
  return rows
end

-- ---- the whole ----

--- Whether a row's difference is told from chance.
---@param row pmclua.LedgerRow
---@return boolean
function M.is_named(row) return row.verdict == "more" or row.verdict == "fewer" end

local is_named = M.is_named

-- The size of the difference, or of one side's total.
local function weight(row) return math.abs(row.difference or row.a) end

local function by_weight(x, y)
  if (x.key == "others") ~= (y.key == "others") then return y.key == "others" end
  if is_named(x) ~= is_named(y) then return is_named(x) end
  if weight(x) ~= weight(y) then return weight(x) > weight(y) end
  if x.a ~= y.a then return x.a > y.a end
  return x.label < y.label
end

local function add_shares(ledger, rows)
  local total = ledger.total
  local whole = total.difference or total.a
  local is_there = not total.difference or ledger.differs
  if not is_there or whole == 0 then return end
  for _, row in ipairs(rows) do row.share = (row.difference or row.a) / whole end
end

local function note_trifles(rows, total, margin)
  local least = margin * math.max(total.a, math.abs(total.difference))
  for _, row in ipairs(rows) do row.trifle = math.abs(row.difference) < least or nil end
end

local function conclude(ledger, can_name)
  local names = lists.where(ledger.lines, function(row)
    return is_named(row) and row.key ~= "others" and not row.trifle
  end)
  local kind = not ledger.total.difference and "one" or #names > 0 and "named"
    or not can_name and not ledger.total.exact and "few" or ledger.differs and "spread" or "none"
  return { kind = kind, names = names }
end

local function observations(asked)
  local n = #by_group(asked.a, asked.groups)
  return asked.b and asked.paired == false and math.min(n, #asked.b) or n
end

--- Rows as one, with the interval of their sum.
---@param ledger pmclua.Ledger
---@param rows pmclua.LedgerRow[] one or more
---@param label string
---@return pmclua.LedgerRow
function M.joined(ledger, rows, label)
  local lines = lists.column(rows, "line")
  local line = { key = "joined", label = label, a = M.added(lines, "a"), b = M.added(lines, "b") }
  local row = rows_of({ line }, { b = line.b, paired = ledger.paired, groups = ledger.groups }, 0)[1]
  add_shares(ledger, { row })
  return row
end

--- A ledger. Values are lists of one number for each repetition; where A and B are paired, the i-th of
--- both ran in one block.
---@param asked pmclua.LedgerAsked
---@return pmclua.Ledger
function M.new(asked)
  local lines = lists.copy(asked.lines)
  if not asked.overlaps then add_remainder(asked, lines) end
  local main, few, rest = sort_out(asked, lines)
  local spread = asked.exact and largest_spread(lines) or 0
  local total = { key = "total", label = "total", a = asked.a, b = asked.b }
  local ledger = setmetatable({ unit = asked.unit or "", n = #asked.a, n_b = asked.b and #asked.b, few = few,
    paired = asked.paired ~= false, groups = asked.groups, margin = asked.margin,
    level = rule.LEVEL, exact = asked.exact or false, uncompared = asked.uncompared or {},
    lines = rows_of(main, asked, spread), rest = rows_of(rest, asked, spread),
    total = rows_of({ total }, asked, spread)[1] }, Ledger)
  local can_name = observations(asked) >= rule.FEWEST_PAIRS
  local is_tested = asked.b ~= nil and not asked.incomplete
  if is_tested then
    test(ledger.lines, can_name)
    local low, high = ledger.total.low, ledger.total.high
    ledger.differs = low ~= nil and (low > 0 or high < 0)
  end
  ledger.comparisons = is_tested and #ledger.lines or 0
  for _, rows in ipairs { ledger.lines, ledger.rest, { ledger.total } } do
    table.sort(rows, by_weight)
    add_shares(ledger, rows)
    if asked.b and asked.margin then note_trifles(rows, ledger.total, asked.margin) end
  end
  ledger.conclusion = asked.incomplete and { kind = "incomplete", names = {}, why = asked.incomplete }
    or conclude(ledger, can_name)
  return ledger
end

return M
