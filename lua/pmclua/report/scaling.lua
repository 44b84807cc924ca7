--- scaling.lua: how a time scales over ranks, threads or nodes: speed-up, efficiency, the serial share; table, facts,
--- records.
--
-- Invariant: what the serial share means is said beside it, and where the law does not describe the times, that comes first.

local cells = require "pmclua.report.cells"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local LAWS = { amdahl = "Amdahl", gustafson = "Gustafson" }

-- ---- words ----------------------------------------------------------------------------------------------

local function half_of(range) return range.low and (range.high - range.low) / 2 or 0 end

local function plain(range) return text.rounded(range.value, half_of(range)) end

local function ends(range, unit)
  local scale = unit and 100 or 1
  if not range.low then return words.ABSENT end
  if range.low == range.high then return "=" end
  local half = half_of(range) * scale
  return ("%s … %s"):format(text.rounded(range.low * scale, half), text.rounded(range.high * scale, half))
end

local function share(range)
  return ("%s %%"):format((text.rounded(100 * range.value, 100 * half_of(range))))
end

local function bracketed(range, unit)
  return range.low and range.low < range.high and (" [%s]"):format(ends(range, unit)) or ""
end

local function place(scaling, level)
  return ("%s %s"):format(text.safe(scaling.by), words.level(scaling.by, level))
end

local function limit_words(scaling)
  local limit = scaling.limit
  local as = (" times as fast as at %s, however many"):format(place(scaling, 1))
  if limit.low == math.huge or not limit.low and limit.value == math.huge then return "no limit is seen" end
  if limit.value == math.huge or limit.high == math.huge then
    return ("the limit, if any, is at least %s%s"):format(text.short(limit.low or limit.value), as)
  end
  if not limit.low then return ("at most some %s%s"):format(text.short(limit.value), as) end
  return ("at most %s%s%s"):format(plain(limit), bracketed(limit), as)
end

local function meaning(scaling)
  if #scaling.off > 0 then
    return "of the nearest curve; nothing follows for levels that were not measured"
  end
  if not scaling.weak then return limit_words(scaling) end
  local parallel = 1 - scaling.fit.share.value
  return ("every 1 more of %s adds %s of what %s does in the same time"):format(text.safe(scaling.by),
    text.percent(parallel), place(scaling, 1))
end

-- "serial share 4.8 % [4.5 … 5.2] (Amdahl): at most 21 [19 … 22] times as fast …".
local function sentence(scaling)
  if not scaling.fit then return "no serial share: " .. scaling.why end
  local serial = scaling.fit.share
  return ("serial share %s%s (%s): %s%s"):format(share(serial), bracketed(serial, "%"), LAWS[scaling.fit.law],
    meaning(scaling), serial.reason and "; no interval: " .. serial.reason or "")
end

local function misfit_note(scaling)
  if #scaling.off == 0 then return nil end
  local parts = lists.map(scaling.off, function(level)
    local left = level.residual
    return ("%s takes %s %s"):format(place(scaling, level.level), text.percent(math.abs(left.value)),
      left.value > 0 and "longer" or "less")
  end)
  return ("%s's law does not describe these times: %s than it says"):format(LAWS[scaling.fit.law],
    text.list(parts))
end

local function extrapolation_note(scaling)
  if not scaling.fit then return nil end
  -- A smaller level may have no time.
  local first = lists.find(scaling.levels, function(level) return level.speedup ~= nil end).level
  if first == 1 then return nil end
  return ("speed-ups are against %s; what is said of %s is extrapolated"):format(place(scaling, first),
    place(scaling, 1))
end

-- ---- a table ---------------------------------------------------------------------------------------------

local function columns_of(scaling)
  local interval = words.interval_of()
  return { { name = text.safe(scaling.by), align = "right" }, { name = "time", align = "right" },
    { name = interval, whole = true, drop = 2 },
    { name = scaling.weak and "scaled" or "speed-up", align = "right" },
    { name = interval, whole = true }, { name = "efficiency", align = "right" },
    { name = interval, whole = true, drop = 3 }, { name = "off the law", align = "right", drop = 1 } }
end

local function row_of(scaling, point)
  local level = words.level(scaling.by, point.level)
  if point.why then
    return { level, words.ABSENT .. " " .. text.safe(words.brief(point.why)), span = 2, tone = "dim" }
  end
  local left = point.residual
  local row = { level, words.short(point.summary), words.interval(point.summary) }
  if not point.speedup then return row end
  return lists.append(row, { plain(point.speedup), ends(point.speedup),
    share(point.efficiency), ends(point.efficiency, "%"),
    left and (left.value > 0 and "+" or "") .. text.percent(left.value) or "" })
end

local function block(scaling, varies)
  local label = cells.label(scaling.levels[1].cell, varies, scaling.by)
  local n = scaling.n and (scaling.paired and text.plural(scaling.n, "block")
    or text.plural(scaling.n, "repetition") .. " each, not interleaved")
  return { title = lists.append({ text.safe(scaling.title), label,
      ("%s scaling over %s"):format(scaling.weak and "weak" or "strong", text.safe(scaling.by)) }, { n }),
    columns = columns_of(scaling),
    rows = lists.map(scaling.levels, function(level) return row_of(scaling, level) end),
    notes = lists.joined { { scaling.fit and misfit_note(scaling) }, { sentence(scaling) },
      { extrapolation_note(scaling) } } }
end

-- ---- forms ----------------------------------------------------------------------------------------------

local function of_options(result, options)
  local asked = options.show and require("pmclua.report.tables").shown_names(result, options.show)
  return require("pmclua.result.scaling").of(result, options.scaling, { names = asked, weak = options.weak })
end

--- Tables of how a result's times scale.
---@param result pmclua.Result
---@param options pmclua.ReportOptions `scaling`, `weak`
---@return pmclua.Report
function M.blocks(result, options)
  local varies = cells.varying(result:list())
  local blocks = lists.map(of_options(result, options), function(scaling) return block(scaling, varies) end)
  return require("pmclua.report.tables").around(result, blocks, options)
end

local function triple(estimate)
  return estimate and json.fields(estimate, { "value", "low", "high" }) or json.null
end

-- JSON has no infinity.
local function finite(estimate)
  if not estimate then return json.null end
  local function of(value) return value ~= math.huge and value or nil end
  return triple { value = of(estimate.value), low = of(estimate.low), high = of(estimate.high) }
end

local function level_facts(point)
  local summary = point.summary
  return { level = point.level, n = summary.n, time = triple { value = summary.median, low = summary.low,
    high = summary.high }, speedup = triple(point.speedup), efficiency = triple(point.efficiency),
    residual = triple(point.residual), why = json.or_null(point.why) }
end

local function facts_of(scaling)
  local first, fit = scaling.levels[1], scaling.fit
  return { name = scaling.name, workload = first.cell.workload, region = first.cell.region,
    levels = json.object(lists.without(first.cell.levels, scaling.by)), unit = first.summary.unit,
    paired = scaling.paired, n = json.or_null(scaling.n), law = json.or_null(fit and fit.law),
    serial = triple(fit and fit.share), limit = finite(scaling.limit),
    holds = json.or_null(fit and #scaling.off == 0),
    why = json.or_null(scaling.why or fit and fit.share.reason),
    points = lists.map(scaling.levels, level_facts) }
end

local ORDER = { "format", "scaling", "weak", "quantities", "name", "workload", "region", "levels", "unit",
  "paired", "n", "law", "serial", "limit", "holds", "why", "points", "level", "time", "speedup", "efficiency",
  "residual", "value", "low", "high" }

--- The facts of a report on scaling.
---@param result pmclua.Result
---@param options pmclua.ReportOptions
---@return pmclua.ReportFacts
function M.facts(result, options)
  return { order = ORDER, indent = 1, value = { format = 1, scaling = options.scaling,
    weak = options.weak or false, quantities = lists.map(of_options(result, options), facts_of) } }
end

local FOUND = { "time", "speedup", "efficiency", "residual", "serial" }

--- The same as records, one for each level.
---@param result pmclua.Result
---@param options pmclua.ReportOptions
---@return pmclua.Records
function M.records(result, options)
  local columns = { "name", "workload", "of", "unit", "scaling", "law", "level", "n" }
  for _, name in ipairs(FOUND) do lists.append(columns, { name, name .. "_low", name .. "_high" }) end
  columns[#columns + 1] = "why"
  return { columns = columns, each = function(lines)
    local varies = cells.varying(result:list())
    for _, scaling in ipairs(of_options(result, options)) do
      for _, point in ipairs(scaling.levels) do
        local summary, fit = point.summary, scaling.fit or {}
        local line = { scaling.name, point.cell.workload, cells.label(point.cell, varies, scaling.by),
          summary.unit, scaling.by, fit.law, point.level, summary.n }
        local time = { value = summary.median, low = summary.low, high = summary.high }
        local triples = { time, point.speedup or {}, point.efficiency or {}, point.residual or {},
          fit.share or {} }
        for i, each in ipairs(triples) do
          local at = 8 + 3 * (i - 1)
          line[at + 1], line[at + 2], line[at + 3] = each.value, each.low, each.high
        end
        line[#columns] = point.why or scaling.why
        lines:put(line)
      end
    end
  end }
end

return M
