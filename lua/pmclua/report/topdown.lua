--- topdown.lua: a top-down tree as tables for people: the nodes of each cell, or what each node has more than in the
-- baseline.
--
-- Invariant: a node without a number says why; a difference says whether it is one.

local bins = require "pmclua.report.bins"
local lists = require "pmclua.base.lists"
local notes = require "pmclua.report.notes"
local text = require "pmclua.base.text"
local titles = require "pmclua.report.titles"
local words = require "pmclua.report.words"

local M = {}

local WIDEST = 12                       -- characters of a bar that is the whole

--- A node below those above it; Intel's prefix tells nothing where each node has it.
---@param node pmclua.TopdownNode
---@param name? string instead of the node's
---@return string
function M.indented(node, name)
  local depth, above = 0, node.parent
  while above do depth, above = depth + 1, above.parent end
  return ("  "):rep(depth) .. text.safe(name or (node.name:gsub("^tma_", "")))
end

-- "over", "not over"; where repetitions differ, in how many of them: "over in 60 %".
local function threshold_words(row)
  local threshold = row.threshold
  if not threshold then return "" end
  if threshold.share == nil then return "not known" end
  local judged = row.passed and "over" or "not over"
  local is_divided = threshold.share > 0 and threshold.share < 1
  return is_divided and "over in " .. text.percent(threshold.share) or judged
end

local function node_row(row)
  local name = M.indented(row.node)
  if row.summary.n == 0 then
    return { name, words.ABSENT, words.absent(row.summary), span = 3, tone = "dim" }
  end
  return { name, words.value(row.summary), words.interval(row.summary), bins.bar(row.share or 0, WIDEST),
    threshold_words(row), tone = not row.passed and "dim" or nil,
    tones = { [5] = row.passed and "warn" or nil } }
end

local function threshold_notes(rows)
  local list, seen = {}, {}
  for _, row in ipairs(rows) do
    local threshold = row.threshold
    if threshold and threshold.assumed and threshold.share and not seen[threshold.text] then
      seen[threshold.text], list[#list + 1] = true, threshold.text
    end
  end
  if #list == 0 then return {} end
  return { ("over: %s by level, where the table has no threshold"):format(text.list(list)) }
end

local function cell_table(topdown, cell)
  local rows, list = topdown:rows(cell), {}
  for i, row in ipairs(rows) do list[i] = node_row(row) end
  local title = titles.cell(cell)
  table.insert(title, 2, "top-down")
  return { title = title, rows = list, notes = threshold_notes(rows),
    columns = { { name = "node" }, { name = "share", align = "right" },
      { name = words.interval_of(), whole = true, drop = 2 },
      { name = "", least = WIDEST, drop = 1, is_shape = true }, { name = "threshold" } } }
end

-- ---- A against B -----------------------------------------------------------------------------------------

local ROUNDING = 1e-9                   -- of the whole

local function signed(value)
  local size = text.short(math.abs(value))
  return size == "0" and "±0" or (value > 0 and "+" or "-") .. size
end

local function interval(row)
  if not row.low then return words.ABSENT end
  if row.low == row.high then return "=" end
  return ("%s … %s"):format(signed(row.low), signed(row.high))
end

local function difference_row(row, name, show_verdict)
  if row.difference == nil then
    return { name, words.ABSENT, text.safe(words.brief(row.why)), span = 3, tone = "dim" }
  end
  return { name, text.short(row.a), text.short(row.b), signed(row.difference), interval(row),
    row.share and text.percent(row.share) or "", show_verdict and words.line_verdict(row) or "",
    tone = row.rest and "dim" or nil, tones = { [7] = words.TONES[row.verdict] } }
end

-- A remainder of shares that add up is their quotients' rounding.
local function without_rounding(row, total)
  if not row.rest or math.abs(row.a) > ROUNDING * math.abs(total.a) then return row end
  return setmetatable({ a = 0 }, { __index = row })
end

local function rest_name(row)
  local child = row.node.children[1]
  return row.node.level and child and M.indented(child, "(rest)") or "(rest)"
end

local WIDEST_SIDE = 9

-- The names of both sides over their columns, where they are short.
local function side_names(pair)
  local a, b = words.side(pair.baseline, pair.cell), words.side(pair.cell, pair.baseline)
  if math.max(text.width(a), text.width(b)) <= WIDEST_SIDE then return a, b end
  return "baseline", "other"
end

local function compared_table(topdown, pair)
  local title, unit, a, b = topdown.total.name, topdown.total.name, side_names(pair)
  local list = { difference_row(pair.total, title, false) }
  for _, row in ipairs(pair.rows) do
    -- The children of a node mostly leave nothing.
    if not row.rest then list[#list + 1] = difference_row(row, M.indented(row.node), true)
    elseif math.abs(row.difference) >= 0.5 or math.abs(row.a) >= 0.5 then
      list[#list + 1] = difference_row(without_rounding(row, pair.total), rest_name(row), true)
    end
  end
  return { title = titles.comparison(topdown.result, { { cell = pair.cell, baseline = pair.baseline,
      paired = pair.paired, pairs = pair.n } }), rows = list,
    columns = { { name = unit .. " by node" },
      { name = a, align = "right" }, { name = b, align = "right", drop = 1 },
      { name = "difference", align = "right" },
      { name = "interval", whole = true }, { name = "of all", align = "right", drop = 0 },
      { name = "verdict" } },
    notes = pair.ledger and words.ledger_notes(pair.ledger) or {} }
end

--- The tables of differences by node; none where there is no baseline.
---@param topdown pmclua.Topdown
---@return pmclua.ReportBlock[]
function M.differences(topdown)
  return lists.map(topdown:differences() or {}, function(pair) return compared_table(topdown, pair) end)
end

local function picture(topdown)
  local plot = require("pmclua.report.plot").of_chart("topdown",
    require("pmclua.report.topdown_chart").of(topdown), {})
  return { { title = "top-down", svg = plot:render "svg" } }
end

--- A tree as blocks.
---@param topdown pmclua.Topdown
---@return pmclua.Report
function M.blocks(topdown)
  local tables = {}
  -- A program with marks has no count of the whole, and empty marks have none at all.
  for _, cell in ipairs(topdown:cells()) do
    if topdown:has_numbers(cell) or not topdown:has_numbers() then
      tables[#tables + 1] = cell_table(topdown, cell)
    end
  end
  local all = notes.result(topdown.result)
  for _, remark in ipairs(topdown.remarks or {}) do table.insert(all, 1, remark) end
  return { blocks = lists.joined { tables, M.differences(topdown) }, notes = all, result = topdown.result,
    plots = function()
      local ok, list = pcall(picture, topdown)
      return ok and list or {}
    end }
end

return M
