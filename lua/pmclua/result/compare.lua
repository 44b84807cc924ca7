--- compare.lua: each cell of a result against its baseline, for every event and metric.
--
-- Invariant: repetitions of one block are compared with each other; what has no blocks in common (other
-- files, entries of regions) is compared unpaired. The verdicts on the primary quantity, in all cells, hold together,
-- and so do those on all others (verdict.together).

local explain = require "pmclua.explain"
local clusters = require("pmclua.base.lazy").module "pmclua.result.clusters"
local complete = require "pmclua.result.complete"
local doubts = require "pmclua.result.doubts"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local verdict = require "pmclua.verdict"
local names = require "pmclua.result.names"
local values = require "pmclua.result.values"
local cell_key = require "pmclua.result.cell_key"
local estimate = require("pmclua.result.cell").estimate
local read_cell = require("pmclua.result.cell").read
local fits = require("pmclua.base.lazy").module "pmclua.result.fits"

local M = {}

--- One event or metric of a pair of cells.
---@class pmclua.ComparedRow
---@field name string
---@field title string
---@field unit string
---@field kind "time"|"count"|"ratio"
---@field primary boolean
---@field cell pmclua.Summary
---@field baseline pmclua.Summary
---@field verdict pmclua.Verdict? nil where one of them is absent
---@field why string? why there is none
---@field is_incomplete boolean? because what was counted is not enough to conclude from
---@field doubts string[] in what else the sides differ, or what their repetitions have in common

---@class pmclua.ComparedPair
---@field cell pmclua.Cell
---@field baseline pmclua.Cell
---@field rows pmclua.ComparedRow[]
---@field control pmclua.Cell? the baseline's A/A control
---@field paired boolean repetitions of one block are compared; those of different files have none, nor have
---  entries of a region that are each a value
---@field pairs? integer blocks that both have; where unpaired, repetitions of the one that has fewer

---@class pmclua.Comparison prints as its tables
---@field result pmclua.Result
---@field baseline table<string, any> the partial cell
---@field pairs pmclua.ComparedPair[]
---@field primary string? name
---@field primaries integer verdicts on the primary quantity, which hold together
---@field others integer verdicts on the others, which hold together
---@field level number

local Comparison = require("pmclua.public.class").new("results", "comparison", "primary")

local Pair = require("pmclua.public.class").new("results", "pair")

Pair.__about = function(self) return ("%s against %s"):format(self.cell:label(), self.baseline:label()) end

-- "page-faults", as reports show it, is the field page_faults.
local methods = Pair.__index
function Pair.__index(pair, name)
  local field = type(name) == "string" and text.field(name) or name
  return field ~= name and rawget(pair, field) or methods[name]
end

local function pair_of(pair)
  local object = {}
  for _, row in ipairs(pair.rows) do object[row.name] = row.verdict or { why = row.why } end
  for _, field in ipairs { "cell", "baseline", "paired", "pairs" } do object[field] = pair[field] end
  return setmetatable(object, Pair)
end

--- Iterates over the pairs of a comparison.
---@param comparison pmclua.Comparison
---@return fun(): table? next_pair cell, baseline, paired, pairs, and each quantity's verdict by its field
function M.iterate(comparison)
  local i = 0
  return function()
    i = i + 1
    return comparison.pairs[i] and pair_of(comparison.pairs[i])
  end
end

-- ---- which cell is compared with which ---------------------------------------------------------------

local function refuse(what, wanted, known)
  explain.misuse(("baseline: no %s '%s': %s"):format(what, tostring(wanted),
    text.meant_or_all(wanted, known)), 5)
end

local function known_levels(result, name)
  if name == "workload" then return lists.column(result.header.workloads, "name") end
  local factor = result.factor_by_name[name]
  return factor and factor[2]
end

--- Raises where a partial cell names what is no factor, or no level of it.
---@param result pmclua.Result
---@param baseline table<string, any>
function M.check_baseline(result, baseline)
  for name, wanted in pairs(baseline) do
    local levels = known_levels(result, name)
    if not levels then
      refuse("factor is called", name, lists.append({ "workload" }, lists.column(result.header.factors, 1)))
    end
    if not lists.contains(levels, wanted) then
      refuse(("%s is"):format(name), wanted, lists.map(levels, tostring))
    end
  end
end

local function partial_cell(result, baseline)
  baseline = baseline or result.header.baseline
  if baseline == nil then explain.misuse("compare needs a baseline: a workload or a partial cell", 4) end
  if type(baseline) == "string" then baseline = { workload = baseline } end
  M.check_baseline(result, baseline)
  return baseline
end

-- The key of a cell's baseline: its own place, with the baseline's levels.
local function key_of_baseline(cell, baseline)
  local levels = {}
  for name, level in pairs(cell.levels) do
    if baseline[name] == nil then levels[name] = level else levels[name] = baseline[name] end
  end
  return cell_key.of(baseline.workload or cell.workload, levels, cell)
end

local function find_pairs(result, baseline)
  local regions = result.header.regions
  local cells, controls = cell_key.index(result)
  return lists.map(result:list(), function(cell)
    local key = key_of_baseline(cell, baseline)
    local other = cells[key]
    if not other or other == cell then return nil end
    local are_entries = cell.region and regions and regions.entries
    return { cell = cell, baseline = other, control = controls[key], rows = {}, pairs = 0,
      paired = not are_entries and cell_key.share_blocks(cell, other) }
  end)
end

--- The cells of a result with those that they are compared with.
---@param result pmclua.Result
---@param baseline string|table a workload's name or a partial cell
---@return pmclua.ComparedPair[] without rows
function M.pairs(result, baseline) return find_pairs(result, partial_cell(result, baseline)) end

-- ---- what is compared --------------------------------------------------------------------------------

-- Events and metrics; also costs of one element, where an element is not the same of both sides.
local function all_names(result, baseline)
  local function differs(name) return result.factor_by_name[name] and baseline[name] ~= nil end
  local costs = lists.where(result.per_metrics, function(metric) return lists.any(metric.needs, differs) end)
  return lists.append(names.quantities(result), lists.column(costs, "name"))
end

local function chosen_names(result, asked, baseline)
  if not asked then return all_names(result, baseline) end
  return lists.map(type(asked) == "string" and { asked } or asked, function(name)
    local field = text.field(tostring(name))
    names.check(result, field)
    return field
  end)
end

local function margins_of(result, spec)
  local margins = verdict.margins(spec or {}, function(why) explain.misuse("margin" .. why, 6) end)
  for name in pairs(margins) do
    if name ~= "default" then names.check(result, name) end
  end
  return function(name) return margins[name] or margins.default or names.margin(result, name) end
end

local function unpaired_values(pair, name, are_simulated)
  local ours, theirs = read_cell(pair.cell, name), read_cell(pair.baseline, name)
  pair.pairs = math.max(pair.pairs, math.min(#ours.list, #theirs.list))
  if are_simulated then return ours.list, theirs.list end
  return clusters.means(pair.cell, ours), clusters.means(pair.baseline, theirs)
end

-- Values of both sides, in the order of blocks where they are paired; then the process or layout of each pair, where these
-- were drawn.
local function values_of(pair, name, are_simulated)
  local ours, theirs = pair.cell, pair.baseline
  if are_simulated or not pair.paired then return unpaired_values(pair, name, are_simulated) end
  local a, b, blocks = verdict.pair(ours:values_by_block(name), theirs:values_by_block(name))
  pair.pairs = math.max(pair.pairs, #blocks)
  return a, b, clusters.of_blocks({ ours, theirs }, blocks)
end

-- The conclusion on a quantity of a pair, by the level of its interval; nil and why where there is none.
---@param asked pmclua.CompareOptions without the level
---@return fun(level: number): pmclua.Verdict?, string?
local function conclusion_of(pair, name, asked)
  asked.simulated, asked.paired = values.is_simulated(pair.cell.result, { needs = { name } }), pair.paired
  local ours, theirs, ids = values_of(pair, name, asked.simulated)
  local are_fitted = pair.cell.fitted and pair.baseline.fitted and #ours > 0 and #theirs > 0
  return function(level)
    local at_level = setmetatable({ level = level }, { __index = asked })
    if are_fitted then
      return fits.compare(estimate(pair.cell, name), estimate(pair.baseline, name), at_level)
    end
    if ids then return clusters.compare(pair.cell, ids, ours, theirs, at_level) end
    local compared, why = verdict.compare(ours, theirs, at_level)
    if compared then compared.reason = clusters.reason(pair.cell, compared.reason) end
    return compared, why
  end
end

-- The difference of equals here: the baseline against its control; nil where it is unknown.
local function noise_floor(pair, name, options)
  if not pair.control then return nil end
  local equals = { cell = pair.control, baseline = pair.baseline, paired = pair.paired, pairs = 0 }
  local equal = conclusion_of(equals, name, { kind = "count", margin = options.margin(name) })(options.level)
  return equal and verdict.noise_floor(equal)
end

-- Why the two sides measure different things; nil where they do not. Within a file they do not.
local function why_unlike(pair, name)
  if cell_key.share_blocks(pair.cell, pair.baseline) then return nil end
  local needed = values.events_needed(pair.cell.result, { needs = { name } })
  local unlike = lists.find(needed, function(event) return event.unlike end)
  return unlike and "counted differently, " .. unlike.unlike
end

-- Of a primary quantity that was to be counted here, and has no value that can be believed in any repetition.
local UNCOUNTED = lists.set { "not-counted", "unverified", "incomplete" }

-- A row without its verdict, and what concludes it. Without values there is no summary; a scaled count has one, and its
-- verdict rests on estimates.
local function row_of(pair, name, options)
  local a, b = pair.cell:summary(name), pair.baseline:summary(name)
  local row = { name = name, title = a.title, unit = a.unit, kind = a.kind, cell = a, baseline = b,
    primary = name == options.primary, doubts = doubts.of(pair, { needs = { name } }) }
  local absent, side = a.n == 0 and a or b.n == 0 and b, a.n == 0 and pair.cell or pair.baseline
  row.why = absent and absent.why or why_unlike(pair, name)
  row.is_incomplete = absent and row.primary and side.repetitions > 0 and UNCOUNTED[absent.status] or nil
  if absent or row.why then return row end
  row.why = complete.of_pair(pair, name)
  if row.why then
    row.is_incomplete = true
    return row
  end
  local conclude = conclusion_of(pair, name, { kind = a.kind, margin = options.margin(name),
    floor = options.floor or noise_floor(pair, name, options) })
  local compared, why = conclude(options.level)
  row.why = why
  return row, compared and conclude or nil
end

-- Rows are judged together. Returns how many they are.
local function judge(rows, tests, level)
  for i, adjusted in ipairs(verdict.together(tests, verdict.differs, level)) do rows[i].verdict = adjusted end
  return #rows
end

--- Compares the cells of a result with their baselines.
---@param result pmclua.Result
---@param options { baseline: any, names: string|string[]|nil, margin: any, level: number?, floor: number? }
---@return pmclua.Comparison
function M.new(result, options)
  local baseline = partial_cell(result, options.baseline)
  local matched, list = find_pairs(result, baseline), chosen_names(result, options.names, baseline)
  local primary = result.header.primary
  -- A run that a stop rule ended has a level of its own.
  local level = options.level or result.header.level or verdict.DEFAULT_LEVEL
  local shared = { primary = primary, level = level, margin = margins_of(result, options.margin),
    floor = options.floor }
  local families = { [true] = { rows = {}, tests = {} }, [false] = { rows = {}, tests = {} } }
  for _, pair in ipairs(matched) do
    for i, name in ipairs(list) do
      local row, test = row_of(pair, name, shared)
      local family = test and families[row.primary]
      pair.rows[i] = row
      if family then family.rows[#family.rows + 1], family.tests[#family.tests + 1] = row, test end
    end
  end
  return setmetatable({ result = result, baseline = baseline, pairs = matched, primary = primary,
    level = level, primaries = judge(families[true].rows, families[true].tests, level),
    others = judge(families[false].rows, families[false].tests, level) }, Comparison)
end

return M
