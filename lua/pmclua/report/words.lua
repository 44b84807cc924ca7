--- words.lua: summaries and verdicts as text for tables.
--
-- Invariant: an absent number is "–", never 0; a scaled number has a "~"; every name and reason from outside has
-- passed text.safe.

local lists = require "pmclua.base.lists"
local rule = require "pmclua.ledger.rule"
local text = require "pmclua.base.text"

local M = {}

M.ABSENT = "–"

--- Of a verdict that the medians beside it do not explain.
M.BY_MEANS = "by means: a cost comes in a part of the repetitions, which medians do not show"

local SAFE_UNITS = { ns = true, B = true, ["%"] = true }

-- An exact u64 as a double where a unit is to be taken of it.
local function plain(value) return type(value) == "cdata" and tonumber(value) or value end

local function marked(summary, shown)
  return summary.status == "scaled" and text.approximate(shown) or shown
end

-- Whether values are shown to the digits that their intervals leave.
local is_rounding = false

--- Makes something with values rounded by their intervals, for print; elsewhere counts are in full.
---@generic T
---@param make fun(): T
---@return T
function M.rounding(make)
  local before = is_rounding
  is_rounding = true
  local ok, made = pcall(make)
  is_rounding = before
  return ok and made or error(made, 0)
end

-- Half the width of a value's interval: digits below it mean nothing.
local function half_interval(summary)
  if not is_rounding or summary.exact or summary.low == nil or summary.low == summary.high then return nil end
  return (plain(summary.high) - plain(summary.low)) / 2
end

--- A value in full: "128,441,020", "41.20 ms", "~1,204,331".
---@param summary pmclua.Summary
---@param value? number|ffi.cdata* the median by default
---@return string
function M.value(summary, value)
  if value == nil then
    value = summary.median
    local half = half_interval(summary)
    if half then return marked(summary, text.safe(text.rounded(plain(value), half, summary.unit))) end
  end
  if value == nil then return M.ABSENT end
  if SAFE_UNITS[summary.unit] then value = plain(value) end
  -- Estimates have no digits behind the point.
  if summary.status == "scaled" and summary.unit == "" and math.abs(plain(value)) >= 1000 then
    value = math.floor(plain(value) + 0.5)
  end
  return marked(summary, text.safe(text.value(value, summary.unit)))
end

--- A value in few letters: "128.4 M", "41.20 ms".
---@param summary pmclua.Summary
---@return string
function M.short(summary)
  local value = summary.median
  if value == nil then return M.ABSENT end
  if summary.unit ~= "" then return M.value(summary) end
  local half = half_interval(summary)
  if half and half >= 100 and math.abs(plain(value)) >= 10000 then return M.value(summary) end
  return marked(summary, text.short(value))
end

--- The 95 % interval beside a value: "127.9 … 129.2 M", "=" for what is one value, "–" for none.
---@param summary pmclua.Summary
---@return string
function M.interval(summary)
  if summary.exact then return "=" end
  if summary.low == nil then return M.ABSENT end
  if summary.low == summary.high then
    local bound = M.short(setmetatable({ median = summary.low, status = "counted" }, { __index = summary }))
    return bound .. " … " .. bound
  end
  local low, high = plain(summary.low), plain(summary.high)
  return text.interval(low, high, plain(summary.median), summary.unit, is_rounding)
end

--- Half the interval as a share of the value: "3.9 %"; "=" for what is one value.
---@param summary pmclua.Summary
---@return string
function M.spread(summary)
  if summary.exact then return "=" end
  if summary.low and summary.low == summary.high then return text.percent(0) end
  if summary.low == nil or summary.median == 0 then return M.ABSENT end
  local low, high, median = plain(summary.low), plain(summary.high), plain(summary.median)
  return text.percent((high - low) / 2 / math.abs(median))
end

local DEFAULT_LEVEL = require("pmclua.verdict").DEFAULT_LEVEL

--- "95 % interval".
---@param level? number default: that of summaries and ledgers
---@return string
function M.interval_of(level)
  local percent = 100 * (level or DEFAULT_LEVEL)
  local digits = ("%.4g"):format(percent)
  return (tonumber(digits) < 100 and digits or ("%.12g"):format(percent)) .. " % interval"
end

--- A share of variance that a line explains; cut, not rounded, so that what is not 1 does not look it.
---@param value number?
---@return string
function M.r_squared(value)
  if value == nil or value == 1 then return value and "1" or "" end
  local digits = value > 0.99 and 4 or value > 0.9 and 3 or 2
  return ("%." .. digits .. "f"):format(math.floor(value * 10 ^ digits) / 10 ^ digits)
end

local QUALITY = {
  scaled = function(summary) return ("scaled, ran %s"):format(text.percent(summary.ran)) end,
  placed = function(summary) return ("on its CPUs %s"):format(text.percent(summary.ran)) end,
  single = function() return "one repetition" end,
  few = function() return "too few" end,
  unwatched = function() return "unwatched programs" end,
  launcher = function(summary) return ("lacks what %s ran"):format(text.safe(summary.launcher)) end,
  simulated = function(summary)
    if summary.exact then return "simulated, exact" end
    return summary.n == 1 and "simulated, one repetition" or "simulated"
  end,
}

--- How reliable a value is.
---@param summary pmclua.Summary
---@return string
function M.quality(summary)
  if summary.fit and summary.fit.linear == false then
    local pattern = summary.fit.pattern == "curved" and "curved" or "no line"
    return ("%s, R² %s"):format(pattern, M.r_squared(summary.fit.r2))
  end
  local say = QUALITY[summary.quality]
  local word = say and say(summary) or summary.quality
  if summary.n > 0 and summary.missing > 0 then word = word .. (", %d missing"):format(summary.missing) end
  return word
end

local STATUS = {
  unsupported = "<not supported>", ["not-counted"] = "<not counted>", ["constant-zero"] = "<always 0>",
  absent = "<absent>", unverified = "<unverified>", incomplete = "<incomplete>",
  ["below-probing"] = "<below what probing costs>",
}

--- The text in place of a number, for a status: "<not supported>".
---@param status string
---@return string
function M.status(status) return STATUS[status] or "<" .. status .. ">" end

--- A reason in short, without its common beginning and without advice, to fit on a line.
---@param why string?
---@return string
function M.brief(why)
  -- The colons in an event's name ("valgrind::instructions") end nothing.
  local reason = text.safe(why or ""):gsub("::", "\1")
  local rank = reason:match "^rank %d+: " or ""
  local brief = reason:sub(#rank + 1):gsub("^cannot open '.-': ", ""):gsub("^needs ([^:,]+): .*$", "needs %1")
  brief = brief:match "^(.-)[;:]" or brief
  return rank .. (brief:match "^(.-)%s+%(" or brief):gsub("%s+$", ""):gsub("\1", "::")
end

--- Why there is no number, on one line: "<not supported>: this virtual machine has no PMU".
---@param summary pmclua.Summary
---@return string
function M.absent(summary)
  local status, why = M.status(summary.status), M.brief(summary.why)
  return why == "" and status or status .. ": " .. why
end

--- The title of a result: its question, else what ran.
---@param result pmclua.Result
---@return string
function M.title(result)
  return text.safe(result.header.question or text.list(lists.column(result.header.workloads, "name")))
end

--- A level as people write it; of a factor called bytes or size as an amount of memory.
---@param name string
---@param level any
---@return string
function M.level(name, level)
  if level == nil then return M.ABSENT end
  if type(level) ~= "number" then return text.safe(tostring(level)) end
  local is_memory = (name == "bytes" or name == "size") and level >= 1024 and level % 1024 == 0
  if is_memory then return text.bytes(level) end
  if level % 1 == 0 and math.abs(level) < 1e15 then return text.count(level) end
  return ("%.10g"):format(level)
end

--- Some levels of a cell: { "n = 256", "stride = 64" }.
---@param cell pmclua.Cell
---@param wanted fun(name: string): boolean
---@return string[]
function M.levels_where(cell, wanted)
  local parts = {}
  for _, factor in ipairs(cell.result.header.factors) do
    local name = factor[1]
    if wanted(name) then
      parts[#parts + 1] = ("%s = %s"):format(text.safe(name), M.level(name, cell.levels[name]))
    end
  end
  return parts
end

local function with_parts(list, cell)
  return lists.append(list, lists.map(require("pmclua.result.cell").parts(cell), text.safe))
end

--- The levels of a cell: "n = 256, stride = 64"; "" where it has none.
---@param cell pmclua.Cell
---@return string
function M.levels(cell)
  return table.concat(with_parts(M.levels_where(cell, function() return true end), cell), ", ")
end

--- The difference between a cell and its baseline: "clang", "stride = 64".
---@param cell pmclua.Cell
---@param other pmclua.Cell
---@return string
function M.side(cell, other)
  local parts = M.levels_where(cell, function(name) return cell.levels[name] ~= other.levels[name] end)
  if cell.workload ~= other.workload then table.insert(parts, 1, text.safe(cell.workload)) end
  return table.concat(parts, ", ")
end

--- The parts of the names of two cells that are equal: workload, levels, part.
---@param cell pmclua.Cell
---@param other pmclua.Cell
---@return string[]
function M.common(cell, other)
  local parts = M.levels_where(cell, function(name) return cell.levels[name] == other.levels[name] end)
  local levels = table.concat(parts, ", ")
  local common = cell.workload == other.workload and { text.safe(cell.workload) } or {}
  if levels ~= "" then common[#common + 1] = levels end
  return with_parts(common, cell)
end

--- A verdict's ratio: "0.931"; a difference where there is none: "+12", "±0".
---@param verdict pmclua.Verdict?
---@return string
function M.ratio(verdict)
  if not verdict then return M.ABSENT end
  if verdict.ratio then return text.ratio(verdict.ratio) end
  local shift = verdict.difference.shift
  if shift == 0 then return "±0" end
  return (shift > 0 and "+" or "") .. text.short(shift)
end

--- The interval of a verdict's ratio or difference.
---@param verdict pmclua.Verdict?
---@return string
function M.ratio_interval(verdict)
  if not verdict then return M.ABSENT end
  if verdict.ratio then return text.ratio_interval(verdict.low, verdict.high) end
  local difference = verdict.difference
  return text.interval(difference.low, difference.high, difference.shift, "")
end

--- The margin: "±1 %".
---@param verdict pmclua.Verdict?
---@return string
function M.margin(verdict)
  return verdict and "±" .. text.percent(verdict.margin) or ""
end

--- The conclusion; the primary quantity's stands out where nothing is to be doubted: "FASTER".
---@param row pmclua.ComparedRow
---@return string
function M.verdict(row)
  if not row.verdict then return M.ABSENT end
  local words = row.verdict.verdict
  local is_sure = row.primary and #row.doubts == 0 and words ~= "undecided" and words ~= "same"
  return is_sure and words:upper() or words
end

-- ---- lines of a ledger ----

--- A line's verdict: "more", "fewer", "skewed"; of times "less". Empty where lines are not judged.
---@param row { verdict: string? }
---@param unit? string of the ledger
---@return string
function M.line_verdict(row, unit)
  if not row.verdict then return "" end
  return unit == "ns" and row.verdict == "fewer" and "less" or row.verdict
end

--- Tones of a verdict on a line.
M.TONES = { more = "bad", fewer = "good" }

--- How to read the verdicts of a ledger of two sides.
---@param ledger pmclua.Ledger
---@return string[]
function M.ledger_notes(ledger)
  local list, is_exact = {}, lists.all(ledger.lines, function(row) return row.exact end)
  if not is_exact and ledger.comparisons > 0 then
    list[1] = ("means, which add up; their intervals do not · verdicts hold together at %g %% for %s (%s)")
      :format(100 * rule.LEVEL, text.plural(ledger.comparisons, "line"), rule.PROCEDURE)
  end
  if ledger.conclusion.kind == "few" then
    list[#list + 1] = ("below %d pairs nothing is named"):format(rule.FEWEST_PAIRS)
  end
  local is_skewed = lists.any(ledger.lines, function(row)
    return row.verdict == "skewed" and not row.trifle
  end)
  if is_skewed then
    list[#list + 1] = "skewed: the signs of the pairs differ, outliers hide it in their mean: no verdict"
  end
  return list
end

return M
