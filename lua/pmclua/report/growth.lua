--- growth.lua: how quantities grow over a factor: a table, sentences, facts.
--
-- Invariant: the criterion that chose a shape is said, shapes that it does not tell apart are named, and what lies beyond
-- the data is marked.

local cells = require "pmclua.report.cells"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats.growth"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

-- ---- words -----------------------------------------------------------------------------------------------

-- An exponent, and other numbers without a unit, by the interval: no digit that means nothing.
local function plain(range, value)
  return text.rounded(value or range.value, (range.high - range.low) / 2)
end

local function ends(range) return ("%s … %s"):format(plain(range, range.low), plain(range, range.high)) end

local function in_unit(growth, range)
  return text.rounded(range.value, (range.high - range.low) / 2, growth.unit)
end

-- b with its sign: "+ 41 ns"; nothing where it may be 0.
local function added(growth, b)
  if b.low <= 0 and b.high >= 0 then return "" end
  local size = { value = math.abs(b.value), low = b.low, high = b.high }
  return (" %s %s"):format(b.value < 0 and "-" or "+", in_unit(growth, size))
end

local function size_of(growth, size)
  local digits = size >= 1000 and 0 or 2
  return words.level(growth.over, tonumber(("%%.%df"):format(digits):format(size)))
end

local FORMULAE = {
  power = function(growth, p, over)
    return ("%s · %s^%s"):format(in_unit(growth, p.factor), over, plain(p.exponents[1]))
  end,
  linear = function(growth, p, over)
    return ("%s · %s%s"):format(in_unit(growth, p.a), over, added(growth, p.b))
  end,
  ["n log n"] = function(growth, p, over)
    return ("%s · %s log2 %s%s"):format(in_unit(growth, p.a), over, over, added(growth, p.b))
  end,
  steps = function(growth, p, over)
    local parts = {}
    for i, exponent in ipairs(p.exponents) do
      local to = p.breaks[i]
      parts[i] = ("%s^%s%s"):format(over, plain(exponent), to and " to " .. size_of(growth, to.value) or "")
    end
    return table.concat(parts, ", ")
  end,
}

--- The curve as a formula: "0.63 ns · n^1.98".
---@param growth pmclua.ResultGrowth
---@return string
function M.formula(growth)
  return FORMULAE[growth.shape](growth, growth.parameters, text.safe(growth.over))
end

local SIMPLE = { { -1, "1/%s" }, { 0, "constant" }, { 0.5, "√%s" }, { 1, "%s" }, { 1.5, "%s^1.5" },
  { 2, "%s²" }, { 3, "%s³" } }

-- An exponent in words: the prediction, or the simple growth in its interval.
local function verdict(growth)
  local asked, exponent = growth.asked, growth.exponent
  if asked then
    local predicted = ("%.4g"):format(asked.exponent)
    return growth.verdict == "differs" and "not " .. predicted or growth.verdict == "same" and predicted
      or predicted .. " or not: undecided"
  end
  local like = lists.map(SIMPLE, function(simple)
    local is_within = simple[1] >= exponent.low and simple[1] <= exponent.high
    return is_within and simple[2]:format(text.safe(growth.over)) or nil
  end)
  return #like > 0 and text.list(like, "or") or "between these"
end

-- Shapes that the criterion does not tell from the best.
local function not_told_apart(growth)
  local first = growth.shapes[1].criterion
  return lists.map({ unpack(growth.shapes, 2) }, function(shape)
    local beyond = shape.criterion and shape.criterion - (first or 0)
    return beyond and beyond < stats.NOT_TOLD_APART and ("%s (%.1f more)"):format(shape.shape, beyond) or nil
  end)
end

local function worst(growth)
  local at = 1
  for i, left in ipairs(growth.residuals) do
    if math.abs(left) > math.abs(growth.residuals[at]) then at = i end
  end
  return growth.residuals[at], growth.sizes[at]
end

local function signed(share) return (share > 0 and "+" or "") .. text.percent(share) end

local function subject(growth)
  local cell = growth.cells[1]
  local levels = cell and words.levels_where(cell, function(name) return name ~= growth.over end) or {}
  return table.concat({ text.safe(growth.title), text.safe(growth.workload), unpack(levels) }, ", ")
end

local function breaks_said(growth)
  return table.concat(lists.map(growth.parameters.breaks or {}, function(at)
    local low, high = size_of(growth, at.low), size_of(growth, at.high)
    return ("; break at %s [%s … %s]"):format(size_of(growth, at.value), low, high)
  end))
end

--- The fit in words: "cycles, rows: 2.1 · n^1.98; exponent 1.98 [1.95 … 2.01]: n²".
---@param growth pmclua.ResultGrowth
---@return string
function M.sentence(growth)
  if growth.why then return ("%s: no fit: %s"):format(subject(growth), growth.why) end
  return ("%s: %s%s; exponent %s [%s]: %s"):format(subject(growth), M.formula(growth), breaks_said(growth),
    plain(growth.exponent), ends(growth.exponent), verdict(growth))
end

-- ---- a table ---------------------------------------------------------------------------------------------

local COLUMNS = { { name = "quantity" }, { name = "grows as" },
  { name = "exponent", align = "right" }, { name = words.interval_of(), whole = true }, { name = "verdict" },
  { name = "spread", align = "right", drop = 1 }, { name = "largest residual", drop = 2 } }

local function row_of(growth, label)
  if growth.why then
    return { label, words.ABSENT .. " " .. text.safe(growth.why), span = 2, tone = "dim" }
  end
  local left, size = worst(growth)
  local exponent = growth.exponent
  return { label, M.formula(growth), plain(exponent), ends(exponent), verdict(growth),
    text.percent(growth.shapes[1].spread), ("%s at %s"):format(signed(left), size_of(growth, size)),
    tones = { [5] = growth.verdict == "differs" and "bad" or nil } }
end

-- "rows at 4,096 (beyond the data): 5.1 ms, 95 % interval of a value 4.8 … 5.4".
local function prediction(growth, who, size)
  local predicted, why = growth:at(size)
  local place = who .. " at " .. size_of(growth, size)
  if not predicted then return ("%s: no prediction: %s"):format(place, why) end
  return ("%s%s: %s, %s of a value %s"):format(place, predicted.beyond and " (beyond the data)" or "",
    in_unit(growth, predicted), words.interval_of(growth.level),
    text.interval(predicted.low, predicted.high, predicted.value, growth.unit))
end

local function notes_of(growth, at)
  if growth.why then return {} end
  local who, list = subject(growth), {}
  local others, breaks = not_told_apart(growth), breaks_said(growth)
  if #others > 0 then list[1] = ("%s: not told apart from %s"):format(who, text.list(others)) end
  if breaks ~= "" then list[#list + 1] = who .. ": " .. breaks:gsub("^; ", "") end
  for _, size in ipairs(at or {}) do list[#list + 1] = prediction(growth, who, size) end
  return list
end

-- A row for each fit; those of one quantity stand below its name.
local function rows_of(result, list)
  local rows, varies = {}, cells.varying(result:list())
  for i, growth in ipairs(list) do
    local title, cell = text.safe(growth.title), growth.cells[1]
    local is_one = #lists.where(list, function(other) return other.name == growth.name end) == 1
    if not is_one and (i == 1 or list[i - 1].name ~= growth.name) then
      rows[#rows + 1] = { title, span = 1, strong = 1 }
    end
    local label = cell and cells.label(cell, varies, growth.over) or text.safe(growth.workload)
    rows[#rows + 1] = row_of(growth, is_one and title or "  " .. label)
  end
  return rows
end

--- The table of the fits that a result declares; nil where it has none.
---@param result pmclua.Result
---@param names string[] of quantities that are shown
---@return pmclua.ReportBlock?
function M.block(result, names)
  local is_shown = lists.set(names)
  local list = lists.where(require("pmclua.result.growth").declared(result), function(growth)
    return is_shown[growth.name]
  end)
  if #list == 0 then return nil end
  local fit = result.header.fit
  local notes = { "relative least squares of the medians; the shape is the best by AICc, the exponent "
    .. "that of a power of " .. text.safe(fit.over) }
  for _, growth in ipairs(list) do lists.append(notes, notes_of(growth, fit.at)) end
  return { title = { "growth over " .. text.safe(fit.over) }, columns = COLUMNS, notes = notes,
    rows = rows_of(result, list) }
end

-- ---- facts -----------------------------------------------------------------------------------------------

local FIELDS = { "name", "over", "workload", "shape", "parameters", "exponent", "shapes", "sizes", "values",
  "residuals", "level", "asked", "verdict", "why" }

local function entry(result, growth)
  local made = json.fields(growth, FIELDS)
  made.levels = json.object(lists.copy(growth.levels))
  made.predictions = lists.map(not growth.why and result.header.fit.at or {}, function(size)
    return (growth:at(size))
  end)
  return made
end

--- The fits that a result declares, for JSON.
---@param result pmclua.Result
---@return table[]
function M.facts(result)
  return lists.map(require("pmclua.result.growth").declared(result), function(growth)
    return entry(result, growth)
  end)
end

return M
