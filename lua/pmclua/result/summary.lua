--- summary.lua: the values of one event or metric in one cell, and what is said of them.
--
-- Invariant: a summary says how its numbers were obtained: status, why, and what share of the time a
-- scaled count ran. Absent numbers are nil with a reason. Where a number is one that was counted (not
-- a mean of two, not scaled, not per iteration) it is exact to 2^64-1.

local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"
local distribution = require "pmclua.stats.distribution"
local LEVEL = require("pmclua.stats.multiple").LEVEL
local verdict = require "pmclua.verdict"

local M = {}

--- The values of one event or metric in one cell, in the order of the records.
---@class pmclua.Values
---@field list number[] what is summarised: scaled, per iteration, in the unit
---@field rows integer[] the repetition in its block of each
---@field block pmclua.Block? of these
---@field raw (number|ffi.cdata*)[]? the counts themselves where `list` has them unchanged
---@field fit pmclua.Fitted? of a fitted cell: `list` is the cost of one iteration in each repetition, the
---  intercept taken off
---@field no_fit string? why a metric of slopes has no value
---@field status "counted"|"scaled"|"not-counted"|"unsupported"|"constant-zero"|"unverified"|"placed"|"simulated"
---  |"unwatched"|"launcher"|"incomplete"|"absent"
---@field statuses table<integer, string> of single values, where they were not "counted"
---@field why string?
---@field ran number? the mean share of the time, where scaled or placed
---@field missing integer repetitions that have no value
---@field launcher string? of the status "launcher": the program that had others do its work

---@class pmclua.Summary of one event or metric in one cell
---@field name string field
---@field title string as shown
---@field unit string
---@field kind "time"|"count"|"ratio"
---@field status string as pmclua.Values
---@field quality string the status where it is not "counted"; else "exact", "single", "few", "stable", "noisy" or
---  "sampled"
---@field is_sampled boolean? the OS kernel samples it: values that agree are not exact
---@field why string? why there is no number, or not one of all that was done
---@field launcher string? the program that had others do its work
---@field n integer values
---@field missing integer repetitions without a value
---@field median number|ffi.cdata*|nil
---@field low number|ffi.cdata*|nil 95 % order-statistic interval; nil and `reason` with too few values
---@field high number|ffi.cdata*|nil
---@field coverage number? of the interval, exactly
---@field reason string? why there is no interval
---@field min number|ffi.cdata*|nil a lower bound
---@field max number|ffi.cdata*|nil
---@field q1 number|ffi.cdata*|nil
---@field q3 number|ffi.cdata*|nil
---@field mad number? unscaled
---@field exact boolean all of several values are one
---@field outliers integer[] places in `values`
---@field ran number? share of the time that a scaled count ran
---@field fit pmclua.Fitted? where repetitions had several iteration counts: median, low and high are the
---  slope and its interval
---@field values number[] in the order of measuring

local function is_cdata(value) return type(value) == "cdata" end

-- The element at a position between 1 and n; nil between two different ones.
local function element(sorted, position)
  local below = math.floor(position)
  local value = sorted[below]
  if below == position or sorted[below + 1] == value then return value end
end

-- Doubles cannot hold a count above 2^53: takes every order statistic from the counts themselves.
local function set_exact(summary, raw)
  local sorted, n = {}, #raw
  for i = 1, n do sorted[i] = raw[i] end
  table.sort(sorted, function(a, b) return a < b end)
  local k = distribution.median_rank(n, LEVEL)
  local places = { median = (n + 1) / 2, min = 1, max = n, q1 = (n + 3) / 4, q3 = (3 * n + 1) / 4,
    low = k, high = k and n + 1 - k }
  for name, position in pairs(places) do summary[name] = element(sorted, position) or summary[name] end
  summary.exact = n > 1 and sorted[1] == sorted[n]
end

local function set_clustered(summary, cell, values)
  local interval = stats.median_interval(clusters.means(cell, values), LEVEL)
  summary.low, summary.high, summary.coverage = interval.low, interval.high, interval.coverage
  summary.reason = clusters.reason(cell, interval.reason)
  if not interval.low then return end
  summary.low, summary.high = math.min(interval.low, summary.median), math.max(interval.high, summary.median)
end

local function set_slope(summary, fit)
  summary.fit, summary.median = fit, fit.slope
  summary.low, summary.high, summary.reason = fit.low, fit.high, fit.reason
  summary.exact, summary.coverage = fit.exact, nil
end

-- Numbers are in a table of their own, because scripts only read them.
local NUMBERS, READ = {}, {}

local Summary = require("pmclua.public.class").new("results", "summary",
  "why median low high coverage reason min max q1 q3 mad ran fit is_sampled launcher")
local fields = Summary.__index

function Summary:__index(name)
  if name == "values" then return rawget(self, READ)().list end
  local value = rawget(self, NUMBERS)[name]
  if value == nil then return fields[name] end
  return type(value) == "table" and lists.deep_copy(value) or value
end

function Summary:__newindex(name)
  explain.misuse(("a summary is for reading: %s of %s cannot be set"):format(tostring(name), self.name), 2)
end

function Summary:__tostring()
  local text = require "pmclua.base.text"
  if self.median == nil then return ("%s: %s"):format(text.safe(self.title), self.why or self.status) end
  local parts = lists.map({ "median", "low", "high", "min", "max" }, function(name)
    return self[name] and ("%s = %s"):format(name, text.value(self[name], self.unit)) or nil
  end)
  return ("%s: %s, n = %d, %s"):format(text.safe(self.title), table.concat(parts, ", "), self.n, self.quality)
end

local function describe(summary, values, cell)
  local described = stats.summary(values.list, LEVEL)
  for _, name in ipairs { "median", "low", "high", "coverage", "reason", "q1", "q3", "mad", "exact",
    "outliers" } do
    summary[name] = described[name]
  end
  summary.min, summary.max = described.minimum, described.maximum
  if values.raw and lists.any(values.raw, is_cdata) then set_exact(summary, values.raw) end
  if values.fit then set_slope(summary, values.fit)
  elseif not summary.exact and not is_cdata(summary.median) and clusters.of(cell) then
    set_clustered(summary, cell, values)
  end
  return summary
end

--- How many values there are to summarise, their status, and why there is none, or not one of all that was done.
---@param values pmclua.Values
---@return integer n
---@return string status
---@return string? why
function M.standing(values)
  if values.no_fit then return 0, "absent", values.no_fit end
  return #values.list, values.status, values.why
end

--- Summarises values. `read` gives them again: they are not kept.
---@param about { name: string, title: string, unit: string, kind: string, margin: number?,
---  is_sampled: boolean?, cell: pmclua.Cell }
---@param read fun(): pmclua.Values
---@return pmclua.Summary
function M.new(about, read)
  local values = read()
  local n, status, why = M.standing(values)
  local summary = { name = about.name, title = about.title, unit = about.unit, kind = about.kind,
    status = status, why = why, launcher = values.launcher, n = n,
    missing = values.missing, ran = values.ran, exact = false, outliers = {} }
  local description = summary.n > 0 and describe(summary, values, about.cell) or nil
  if about.is_sampled then summary.exact, summary.is_sampled = false, true end
  summary.quality = verdict.quality(summary.status, description, about.margin)
  return setmetatable({ [NUMBERS] = summary, [READ] = read }, Summary)
end

return M
