--- rows.lua: a row of a table: a value, how well it is known, and the cost of one element; for a slope also the
--- overhead, and how well the line fits.
--
-- Invariant: a missing number comes with a reason, and a slope of counts that do not lie on a line is marked.

local bins = require "pmclua.report.bins"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

--- Marks a value whose counts do not lie on a line.
M.MARK = "!"

local function value_columns()
  return { { name = "median", align = "right" }, { name = words.interval_of(), least = 20, drop = 2 },
    { name = "shape", drop = 1 }, { name = "quality", gap = 3 } }
end

local function slope_columns()
  return { { name = "per iteration", whole = true, align = "right" },
    { name = words.interval_of(), whole = true, drop = 3 },
    { name = "overhead", align = "right", drop = 2 }, { name = "R²", align = "right", drop = 1 },
    { name = "quality", gap = 3 } }
end

--- The columns after a row's name.
---@param fitted boolean values are slopes
---@param element string? what costs are per, in a column of their own
---@return pmclua.GridColumn[]
function M.columns(fitted, element)
  local columns = fitted and slope_columns() or value_columns()
  if element then
    table.insert(columns, 2, { name = "/" .. text.safe(element), align = "right" })
    columns[3].least = nil
  end
  return columns
end

--- A value in the unit of a summary.
---@param summary pmclua.Summary
---@param value number
---@return string
function M.in_unit(summary, value)
  return words.value(setmetatable({ status = "counted" }, { __index = summary }), value)
end
local in_unit = M.in_unit

local function overhead(summary)
  local intercept = summary.fit.intercept
  if not intercept then return "" end
  -- An overhead of fractions is noise.
  if summary.unit == "" and math.abs(intercept) >= 10 then intercept = math.floor(intercept + 0.5) end
  return in_unit(summary, intercept)
end

local TONES = { noisy = "warn", scaled = "warn", placed = "warn", unwatched = "warn", launcher = "warn",
  single = "warn" }

local function how_known(summary)
  if summary.fit then return overhead(summary), words.r_squared(summary.fit.r2) end
  return summary.exact and "" or bins.shape(summary.values)
end

--- A row: its name, and what is known of a value.
---@param name string made safe
---@param summary pmclua.Summary
---@param fitted boolean as the columns
---@param element string? as the columns
---@param each pmclua.Summary? the cost of one element, where the value has one
---@return pmclua.GridRow
function M.row(name, summary, fitted, element, each)
  if summary.n == 0 then
    return { name, words.ABSENT, words.absent(summary), span = 3, tone = "dim" }
  end
  local row = { name, words.value(summary) }
  if element then row[3] = each and words.short(each) or "" end
  row[#row + 1] = words.interval(summary)
  lists.append(row, { how_known(summary) })
  row[#row + 1] = words.quality(summary)
  local is_line = not fitted or summary.fit.linear ~= false
  row.tones = { [#row] = is_line and TONES[summary.quality] or "warn" }
  return row
end

--- The columns of a comparison. Where there is little room, a ratio's interval says more than the baseline's values.
---@param second pmclua.GridColumn what follows a row's name
---@param third string the heading of B's values
---@param level number of the intervals
---@return pmclua.GridColumn[]
function M.compared_columns(second, third, level)
  second.drop = second.drop or 2
  return { { name = "event" }, second, { name = third, align = "right" }, { name = "ratio", align = "right" },
    { name = words.interval_of(level), whole = true, drop = 3 },
    { name = "margin", align = "right", drop = 1 },
    { name = "verdict" } }
end

M.VERDICT_TONES = { faster = "good", slower = "bad" }

--- A row of a comparison: B's value, and the verdict or why there is none.
---@param name string made safe
---@param second string
---@param row pmclua.ComparedRow
---@return pmclua.GridRow
function M.compared(name, second, row)
  local verdict = row.verdict
  if not verdict then
    local side = row.cell.n == 0 and row.cell or row.baseline
    local reason = side.n == 0 and words.absent(side) or words.brief(row.why)
    return { name, second, words.short(row.cell), words.ABSENT, reason, span = 5, tone = "dim" }
  end
  return { name, second, words.short(row.cell), words.ratio(verdict), words.ratio_interval(verdict),
    words.margin(verdict), words.verdict(row), tones = { [7] = M.VERDICT_TONES[verdict.verdict] } }
end

--- The title of a compared quantity: the primary one's has a star.
---@param row pmclua.ComparedRow
---@return string
function M.title(row) return text.safe(row.title) .. (row.primary and " *" or "") end

--- A row of a comparison that is named by its quantity, with the baseline's value.
---@param row pmclua.ComparedRow
---@return pmclua.GridRow
function M.of_quantity(row) return M.compared(M.title(row), words.short(row.baseline), row) end

--- A footnote with the lowest R² of the summaries that do not fit a line; nil if all do.
---@param summaries pmclua.Summary[]
---@return string?
function M.note(summaries)
  local bent = lists.where(summaries, function(summary) return (summary.fit or {}).linear == false end)
  if #bent == 0 then return nil end
  local least = 1
  for _, summary in ipairs(bent) do least = math.min(least, summary.fit.r2 or 1) end
  return ("%s no linear fit (R² %s%s)"):format(M.MARK, #bent > 1 and "from " or "", words.r_squared(least))
end

--- A footnote that names the quantities that do not fit a line over iterations.
---@param rows { title: string, cell: pmclua.Summary, baseline: pmclua.Summary }[] of a comparison
---@return string?
function M.note_of_rows(rows)
  local titles = lists.map(rows, function(row)
    return M.note { row.cell, row.baseline } and text.safe(row.title) or nil
  end)
  return #titles > 0 and ("%s no linear fit: %s"):format(M.MARK, text.list(titles)) or nil
end

--- A footnote: from how many iterations on the overhead of each event is at most 1 % of its count.
---@param summaries pmclua.Summary[]
---@return string?
function M.region_note(summaries)
  local most, title
  for _, summary in ipairs(summaries) do
    local smallest = summary.fit and summary.fit.linear and summary.fit.smallest
    if smallest and (not most or smallest > most) then most, title = smallest, summary.title end
  end
  if not most or most <= 1 then return nil end
  return ("overhead is 1 %% of a count at most from %s iterations on (%s)"):format(text.count(most),
    text.safe(title))
end

return M
