--- waterfall.lua: how A's total becomes B's, a bar for each line of a ledger: as a table, and as an SVG drawing.
--
-- Invariant: each bar begins where the one before it ends, so the last one ends at B's total.

local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local svg = require "pmclua.report.svg"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.WaterfallBar
---@field label string
---@field from number in the ledger's unit
---@field to number
---@field low? number where the interval of `to` begins; nil: there is none
---@field high? number
---@field shown string the value, in words
---@field kind "total"|"more"|"fewer"|"unsure"

---@class pmclua.Waterfall
---@field bars pmclua.WaterfallBar[]
---@field first number where the axis begins: 0, or nearer to bars that are short beside the totals
---@field last number where it ends
---@field unit string

local function total(label, value, unit)
  return { label = label, from = 0, to = value, shown = number.value(value, unit), kind = "total" }
end

local function kind_of(row) return ledger.is_named(row) and row.verdict or "unsure" end

local CUT = 0.5                 -- bars that all lie above this share of the longest have an axis of their own
local ROOM = 0.08               -- of the axis, before the first of them

local function set_axis(self)
  local first, last = math.huge, 0
  for _, bar in ipairs(self.bars) do
    local begins = bar.kind == "total" and bar.to or bar.from
    first = math.min(first, begins, bar.to, bar.low or bar.to)
    last = math.max(last, begins, bar.to, bar.high or bar.to)
  end
  local is_cut = first > CUT * last and last > first
  self.first, self.last = is_cut and first - ROOM * (last - first) or math.min(0, first), last
  return self
end

--- The bars of a ledger of two sides.
---@param judged pmclua.Ledger
---@param rows pmclua.LedgerRow[] that add up to its total
---@param a string A's name
---@param b string
---@return pmclua.Waterfall
function M.of(judged, rows, a, b)
  local bars, at = { total(a, judged.total.a, judged.unit) }, judged.total.a
  for _, row in ipairs(rows) do
    bars[#bars + 1] = { label = row.label, from = at, to = at + row.difference,
      low = row.low and at + row.low, high = row.high and at + row.high,
      shown = number.signed(row.difference, judged.unit), kind = kind_of(row) }
    at = at + row.difference
  end
  bars[#bars + 1] = total(b, judged.total.b, judged.unit)
  return set_axis { bars = bars, unit = judged.unit }
end

-- The part of a bar outside its interval; nil: none.
local function sure_part(bar)
  if bar.kind == "total" or not bar.low then return bar.from, bar.to end
  if bar.low > bar.from then return bar.from, bar.low end
  if bar.high < bar.from then return bar.high, bar.from end
end

-- ---- a drawing -----------------------------------------------------------------------------------------

local WIDTH, LEFT, RIGHT, TOP, STEP, HALF = 960, 300, 110, 10, 26, 8
local LABEL = 40                -- characters that a label has room for

local function bar_parts(self, bar, number_of, last)
  local function x(value)
    return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.first) / (self.last - self.first)
  end
  local y = TOP + STEP * (number_of - 0.5)
  local from, to = x(math.max(self.first, math.min(bar.from, bar.to))), x(math.max(bar.from, bar.to))
  local parts = { svg.text("", "end", LEFT - 8, y + 4, text.cut_middle(text.safe(bar.label), LABEL)),
    svg.rect(bar.kind, from, y - HALF, math.max(1, to - from), 2 * HALF) }
  if bar.low then
    parts[#parts + 1] = svg.line("", x(bar.low), x(bar.high), y, y)
    for _, edge in ipairs { bar.low, bar.high } do
      parts[#parts + 1] = svg.line("", x(edge), x(edge), y - 4, y + 4)
    end
  end
  if number_of < last then parts[#parts + 1] = svg.line("join", x(bar.to), x(bar.to), y, y + STEP) end
  local behind = math.max(to, bar.high and x(bar.high) or 0) + 8
  parts[#parts + 1] = svg.text("", "start", behind, y + 4, bar.shown)
  return table.concat(parts)
end

-- Where bars begin, if not at 0; nil: they do.
local function axis_note(self)
  return self.first > 0 and "bars begin at " .. number.value(self.first, self.unit) or nil
end

--- The bars as an SVG image.
---@param self pmclua.Waterfall
---@return string
function M.svg(self)
  local parts = {}
  for i, bar in ipairs(self.bars) do parts[i] = bar_parts(self, bar, i, #self.bars) end
  local note, height = axis_note(self), 2 * TOP + STEP * #self.bars
  if note then
    height = height + STEP
    parts[#parts + 1] = svg.text("", "start", LEFT, height - TOP, note)
  end
  return svg.drawing(WIDTH, height, table.concat(parts))
end

-- ---- a table -------------------------------------------------------------------------------------------

local COLUMNS = 44              -- characters of the axis
local TONES = { more = "bad", fewer = "good", unsure = "dim" }

local function drawn(self, bar)
  local function column(value)
    return math.floor((value - self.first) / (self.last - self.first) * COLUMNS + 0.5)
  end
  local from, to = sure_part(bar)
  local least = math.min(bar.from, bar.to, bar.low or bar.to)
  local most = math.max(bar.from, bar.to, bar.high or bar.to)
  local begins = bar.kind == "total" and 0 or column(least)
  local ends, signs = math.max(column(most), begins + 1), {}
  for i = begins, ends - 1 do
    local is_sure = from and i >= column(math.min(from, to)) and i < column(math.max(from, to))
    signs[#signs + 1] = (is_sure or bar.kind == "total") and "█" or "▒"
  end
  return (" "):rep(begins) .. table.concat(signs)
end

--- The bars as a block of a report, which pages show as a drawing.
---@param self pmclua.Waterfall
---@param title string
---@return table
function M.block(self, title)
  local columns = { { name = "line" }, { name = "time", align = "right" }, { name = "" } }
  local rows = lists.map(self.bars, function(bar)
    return { text.safe(bar.label), bar.shown, drawn(self, bar), tones = { [3] = TONES[bar.kind] } }
  end)
  return { title = { title }, columns = columns, rows = rows, notes = { axis_note(self) },
    drawing = M.svg(self) }
end

return M
