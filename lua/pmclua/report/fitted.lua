--- fitted.lua: rows of tables whose values are slopes: the cost of one iteration, what starting and
--- stopping costs in each count, and how well a line fits.
--
-- Invariant: where the counts are no straight line, that is said beside the slope.

local text = require "pmclua.text"
local words = require "pmclua.report.words"

local M = {}

--- What marks a value whose counts are no straight line.
M.MARK = "!"

--- The columns after a row's name.
---@return pmclua.GridColumn[]
function M.columns()
  return { { name = "per iteration", align = "right" }, { name = "95 % interval", drop = 3 },
    { name = "overhead", align = "right", drop = 2 }, { name = "R²", align = "right", drop = 1 },
    { name = "quality", gap = 3 } }
end

local function in_unit(summary, value)
  return words.value(setmetatable({ status = "counted" }, { __index = summary }), value)
end

local function overhead(summary)
  local intercept = summary.fit.intercept
  if not intercept then return "" end
  -- An overhead of fractions is noise.
  if summary.unit == "" and math.abs(intercept) >= 10 then intercept = math.floor(intercept + 0.5) end
  return in_unit(summary, intercept)
end

--- What is said of a slope after its row's name.
---@param summary pmclua.Summary
---@return string[]
function M.cells(summary)
  local fit = summary.fit
  return { words.value(summary), words.interval(summary), overhead(summary),
    words.r_squared(fit.r2), words.quality(summary) }
end

--- The least R² of those summaries whose counts are no straight line, as a footnote; nil where all are.
---@param summaries pmclua.Summary[]
---@return string?
function M.note(summaries)
  local least, count = math.huge, 0
  for _, summary in ipairs(summaries) do
    if summary.fit and summary.fit.linear == false then
      least, count = math.min(least, summary.fit.r2 or 1), count + 1
    end
  end
  if count == 0 then return nil end
  return ("%s no linear fit (R² %s%s)"):format(M.MARK, count > 1 and "from " or "", words.r_squared(least))
end

--- Which of these quantities are no straight line over iterations, as a footnote.
---@param rows { title: string, cell: pmclua.Summary, baseline: pmclua.Summary }[] of a comparison
---@return string?
function M.note_of_rows(rows)
  local titles = {}
  for _, row in ipairs(rows) do
    if M.note { row.cell, row.baseline } then titles[#titles + 1] = text.safe(row.title) end
  end
  return #titles > 0 and ("%s no linear fit: %s"):format(M.MARK, text.list(titles)) or nil
end

--- From how many iterations on the overhead of each event is 1 % of its count at most, as a footnote.
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
