--- titles.lua: headlines of tables: what was counted, how often, and how.

local cells = require "pmclua.report.cells"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local ranks = require "pmclua.result.ranks"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

-- Valgrind fixes what a process gets by chance.
local function is_one_process(cell)
  local header = cell.result.header
  local is_run = lists.any(header.events, function(event) return not event.simulated and not event.status end)
  return kinds.of(cell.kind).in_runner and not header.target and is_run and cell.repetitions > 1
end

-- " in 15 processes", " in one process", or "" where repetitions are independent.
local function in_clusters(cell)
  local count, what = cell:clusters()
  return count and (" in %d %s"):format(count, what) or is_one_process(cell) and " in one process" or ""
end

local function repetitions(cell, count, is_fit)
  local result = cell.result
  local parts, warmup = text.plural(count, "repetition") .. in_clusters(cell), result.header.warmup or 0
  local passes = #result.header.pass_events
  if is_fit then parts = "fit, " .. parts end
  local has_run = count > 0 or cell.warmups > 0
  if warmup > 0 and has_run then parts = parts .. ", " .. text.plural(warmup, "warm-up") end
  return passes > 1 and ("%s, in %d passes"):format(parts, passes) or parts
end

local function span(header)
  local begin = header.delay and text.time(header.delay * 1e9) .. " after exec"
  if header.target then
    return ("counted: %s%s"):format(text.safe(header.target), begin and ", from " .. begin or "")
  end
  return ("%s to exit, %s"):format(begin or "exec",
    header.inherit == false and "first thread alone" or "children in")
end

local function launched_by(cell)
  local launch = ranks.launch(cell)
  return launch and "sum of the ranks of " .. text.safe(launch)
end

--- Whether each entry of a region is a value, instead of the sum of a run.
---@param cell pmclua.Cell
function M.entries_are_values(cell)
  local regions = cell.result.header.regions
  return cell.region and regions and regions.entries
end

local ENTRY = { marks = { "entry", "entries" }, functions = { "call" } }

local function words_of_entry(cell)
  return unpack(ENTRY[cell.result.header.regions.kind] or ENTRY.marks)
end

-- "sum of a run, of 12 calls", or of "11 … 13 calls" where runs differ.
local function summed(cell)
  local least, most = cell:iterations()
  if not least or not cell.result.header.regions then return "sum of a run" end
  local range = least < most and text.count(least) .. " … " or ""
  return ("sum of a run, of %s%s"):format(range, text.plural(tonumber(most), words_of_entry(cell)))
end

local function how_counted(cell)
  local header = cell.result.header
  if cell.region then return M.entries_are_values(cell) and "each a value" or summed(cell) end
  if header.target == cell.workload then return nil end       -- nothing was run: the headline names it
  if header.target or kinds.of(cell.kind).is_executed then return launched_by(cell) or span(header) end
  local least, most = cell:iterations()
  if cell.fitted and least ~= most then
    return ("fit over %s … %s iterations"):format(text.count(least), text.count(most))
  end
  local units = kinds.of(cell.kind).units
  if cell.per ~= "iteration" or not least then return units.run end
  if least == most then return ("%s, of %s"):format(units.iteration, text.count(least)) end
  return ("%s, of %s … %s"):format(units.iteration, text.count(least), text.count(most))
end

local function add(parts, part)
  if part and part ~= "" then parts[#parts + 1] = part end
end

local function how_many(cell)
  if not M.entries_are_values(cell) then
    return repetitions(cell, cell.repetitions)
  end
  return text.plural(cell.repetitions, words_of_entry(cell))
end

--- The headline of one cell's table.
---@param cell pmclua.Cell
---@return string[]
function M.cell(cell)
  local parts = { text.safe(cell.workload) }
  add(parts, words.levels(cell))
  add(parts, how_many(cell))
  add(parts, how_counted(cell))
  return parts
end

local function interleaved(result, pair)
  local seed, pairs_count = result.header.seed, pair.pairs
  if M.entries_are_values(pair.cell) then return how_many(pair.baseline) .. ", unpaired" end
  local ours, theirs = in_clusters(pair.cell), in_clusters(pair.baseline)
  if not pair.paired and (pair.cell.repetitions ~= pair.baseline.repetitions or ours ~= theirs) then
    return ("%s%s against %s%s, not interleaved"):format(text.count(pair.cell.repetitions), ours,
      text.plural(pair.baseline.repetitions, "repetition"), theirs)
  elseif not pair.paired then
    return ("%s each%s, not interleaved"):format(text.plural(pairs_count, "repetition"), ours)
  end
  return ("%s%s, interleaved%s"):format(text.plural(pairs_count, "pair"), in_clusters(pair.cell),
    seed and (", seed %s"):format(text.safe(tostring(seed))) or "")
end

local function iterations_of_both(pair)
  local cell, least, most = pair.cell, pair.cell:iterations()
  local is_one = cell.per == "iteration" and not cell.fitted and not cell.region and least and least == most
  local other_least, other_most = pair.baseline:iterations()
  if not is_one or other_least ~= least or other_most ~= most then return nil end
  return ("per iteration, of %s each"):format(text.count(least))
end

local NAMED_IN_TITLE = 2

--- The headline of cells that are compared with the same baseline.
---@param result pmclua.Result
---@param compared pmclua.ComparedPair[]
---@return string[]
function M.comparison(result, compared)
  local first = compared[1]
  local sides = lists.map(compared, function(pair) return words.side(pair.cell, pair.baseline) end)
  local ours = #sides > NAMED_IN_TITLE and ("%d others"):format(#sides) or text.list(sides)
  local parts = { ("%s against %s (baseline)"):format(ours, words.side(first.baseline, first.cell)) }
  for _, part in ipairs(words.common(first.cell, first.baseline)) do add(parts, part) end
  add(parts, interleaved(result, first))
  add(parts, iterations_of_both(first))
  return parts
end

local function baseline_words(baseline)
  local parts = {}
  for name, level in pairs(baseline) do
    parts[#parts + 1] = name == "workload" and text.safe(tostring(level))
      or ("%s = %s"):format(text.safe(name), words.level(name, level))
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

-- "8 repetitions", of all cells; "up to 8 repetitions" where some have fewer.
local function all_repetitions(result, is_fit)
  local most, least = 0, math.huge
  for cell in result:cells() do
    if not M.entries_are_values(cell) and cell.repetitions > 0 then
      most, least = math.max(most, cell.repetitions), math.min(least, cell.repetitions)
    end
  end
  return (least < most and "up to " or "") .. repetitions(result:cells()(), most, is_fit)
end

--- The headline of a table with workloads, or levels of a factor, side by side.
---@param result pmclua.Result
---@param by string
---@param comparison pmclua.Comparison?
---@return string[]
function M.side_by_side(result, by, comparison)
  local cell = result:cells()()
  local parts = { by == "workload" and "by workload" or "by " .. text.safe(by) }
  add(parts, cells.common_levels(result:list()))
  if cell.per == "iteration" then add(parts, "per iteration") end
  add(parts, all_repetitions(result, cell.fitted))
  if comparison then add(parts, "baseline " .. baseline_words(comparison.baseline)) end
  return parts
end

--- The headline of a quantity's table over a factor: that of the first table says what holds for all.
---@param result pmclua.Result
---@param name string
---@param groups string[]
---@param comparison pmclua.Comparison?
---@param is_first boolean
---@return string[]
function M.sweep(result, name, groups, comparison, is_first)
  local cell, metric = result:cells()(), result.metric_by_name[name]
  local summary = cell:summary(name)
  local per_iteration = cell.per == "iteration" and not metric
  local parts = { text.safe(summary.title) .. (per_iteration and " per iteration" or "") }
  if #groups == 1 then add(parts, groups[1]) end
  if not is_first then return parts end
  add(parts, cells.common_levels(result:list()))
  add(parts, all_repetitions(result, cell.fitted))
  if comparison then add(parts, "baseline " .. baseline_words(comparison.baseline)) end
  return parts
end

return M
