--- notes.lua: headlines and footnotes: how the numbers of a table were obtained, and what is wrong.
--
-- Invariant: nothing that was left out, cut short or not counted goes unsaid; each reason is said once.

local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

-- ---- headlines -----------------------------------------------------------------------------------------

local function repetitions(result, count, is_fit)
  local said, warmup = text.plural(count, "repetition"), result.header.warmup or 0
  local passes = #result.header.pass_events
  if is_fit then said = "fit, " .. said end
  if warmup > 0 then said = said .. ", " .. text.plural(warmup, "warm-up") end
  return passes > 1 and ("%s, in %d passes"):format(said, passes) or said
end

-- The least and most iterations of a cell's repetitions.
local function iterations(cell)
  local least, most
  for _, block in pairs(cell.columns.passes) do
    for i = 1, block.n do
      local n = tonumber(block.iterations[i])
      least, most = math.min(least or n, n), math.max(most or n, n)
    end
  end
  return least, most
end

-- Who was counted in place of the workload, or from when on and with which threads a command was.
local function span(header)
  local begin = header.delay and text.time(header.delay * 1e9) .. " after exec"
  if header.target then
    return ("counted: %s%s"):format(text.safe(header.target), begin and ", from " .. begin or "")
  end
  return ("%s to exit, %s"):format(begin or "exec",
    header.inherit == false and "first thread alone" or "children in")
end

local function entries_are_values(cell)
  local regions = cell.result.header.regions
  return cell.region and regions and regions.entries
end
M.entries_are_values = entries_are_values

local ENTRY = { marks = { "entry", "entries" }, functions = { "call" } }

local function words_of_entry(cell)
  return unpack(ENTRY[cell.result.header.regions.kind] or ENTRY.marks)
end

-- "sum of a run, of 12 calls", or of "11 … 13 calls" where runs differ.
local function summed(cell)
  local least, most = iterations(cell)
  if not least or not cell.result.header.regions then return "sum of a run" end
  local range = least < most and text.count(least) .. " … " or ""
  return ("sum of a run, of %s%s"):format(range, text.plural(tonumber(most), words_of_entry(cell)))
end

local function how_counted(cell)
  local header = cell.result.header
  if cell.region then return entries_are_values(cell) and "each a value" or summed(cell) end
  if header.target == cell.workload then return nil end       -- nothing was run: the headline names it
  if header.target or cell.kind == "command" then return span(header) end
  local least, most = iterations(cell)
  if cell.fitted and least ~= most then
    return ("fit over %s … %s iterations"):format(text.count(least), text.count(most))
  end
  if cell.per ~= "iteration" or not least then
    return cell.kind == "function" and "a Lua function" or "per run"
  end
  local unit = cell.kind == "function" and "per call of a Lua function" or "per iteration"
  if least == most then return ("%s, of %s"):format(unit, text.count(least)) end
  return ("%s, of %s … %s"):format(unit, text.count(least), text.count(most))
end

local function add(parts, part)
  if part and part ~= "" then parts[#parts + 1] = part end
end

-- How many values there are: of repetitions, or of a region's entries where each is one.
local function how_many(cell)
  if not entries_are_values(cell) then return repetitions(cell.result, cell.repetitions) end
  return text.plural(cell.repetitions, words_of_entry(cell))
end

--- The headline of one cell's table.
---@param cell pmclua.Cell
---@return string[]
function M.cell_title(cell)
  local parts = { text.safe(cell.workload) }
  add(parts, words.levels(cell))
  add(parts, how_many(cell))
  add(parts, how_counted(cell))
  return parts
end

local function interleaved(result, pair)
  local seed, pairs_count = result.header.seed, pair.pairs
  if entries_are_values(pair.cell) then return how_many(pair.baseline) .. ", unpaired" end
  if not pair.paired then return text.plural(pairs_count, "repetition") .. " each, not interleaved" end
  return ("%s, interleaved%s"):format(text.plural(pairs_count, "pair"),
    seed and (", seed %s"):format(text.safe(tostring(seed))) or "")
end

--- The headline of a comparison of two cells.
---@param result pmclua.Result
---@param pair pmclua.ComparedPair
---@return string[]
function M.pair_title(result, pair)
  local cell, baseline = pair.cell, pair.baseline
  local ours, theirs = words.side(cell, baseline), words.side(baseline, cell)
  local parts = { ("%s against %s (baseline)"):format(ours, theirs) }
  for _, part in ipairs(words.common(cell, baseline)) do add(parts, part) end
  add(parts, interleaved(result, pair))
  return parts
end

local NAMED_IN_TITLE = 2

--- The headline of several cells that are compared with one baseline.
---@param result pmclua.Result
---@param compared pmclua.ComparedPair[]
---@return string[]
function M.several_title(result, compared)
  local first, sides = compared[1], {}
  for i, pair in ipairs(compared) do sides[i] = words.side(pair.cell, pair.baseline) end
  local ours = #sides > NAMED_IN_TITLE and ("%d others"):format(#sides) or text.list(sides)
  local parts = { ("%s against %s (baseline)"):format(ours, words.side(first.baseline, first.cell)) }
  for _, part in ipairs(words.common(first.cell, first.baseline)) do add(parts, part) end
  add(parts, interleaved(result, first))
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
    if not entries_are_values(cell) and cell.repetitions > 0 then
      most, least = math.max(most, cell.repetitions), math.min(least, cell.repetitions)
    end
  end
  return (least < most and "up to " or "") .. repetitions(result, most, is_fit)
end

-- Levels that all cells have in common.
local function common_levels(result)
  local parts = {}
  for _, factor in ipairs(result.header.factors) do
    local name, first, same = factor[1], nil, true
    for cell in result:cells() do
      if first == nil then first = cell.levels[name] end
      same = same and cell.levels[name] == first
    end
    if same then parts[#parts + 1] = ("%s = %s"):format(text.safe(name), words.level(name, first)) end
  end
  return table.concat(parts, ", ")
end

--- The headline of a quantity's table over a factor: that of the first table says what holds for all.
---@param result pmclua.Result
---@param name string
---@param groups string[]
---@param comparison pmclua.Comparison?
---@param is_first boolean
---@return string[]
function M.sweep_title(result, name, groups, comparison, is_first)
  local cell, metric = result:cells()(), result.metric_by_name[name]
  local summary = cell:summary(name)
  local per_iteration = cell.per == "iteration" and not metric
  local parts = { text.safe(summary.title) .. (per_iteration and " per iteration" or "") }
  if #groups == 1 then add(parts, groups[1]) end
  if not is_first then return parts end
  add(parts, common_levels(result))
  add(parts, all_repetitions(result, cell.fitted))
  if comparison then add(parts, "baseline " .. baseline_words(comparison.baseline)) end
  return parts
end

-- ---- footnotes of one table ----------------------------------------------------------------------------

local function corrections(comparison)
  local said = "* primary"
  if comparison.corrected > 0 then
    said = ("%s; the others corrected for %s"):format(said, text.plural(comparison.corrected, "comparison"))
  end
  return said
end

-- The noise floor of the primary quantity (or the first that has one), where there is an A/A control.
local function noise_floor(comparison, compared)
  local least, most, has_control
  for _, pair in ipairs(compared) do
    has_control = has_control or pair.control
    for _, row in ipairs(pair.rows) do
      local floor = row.verdict and row.verdict.floor
      if floor and (row.primary or not comparison.primary) then
        least, most = math.min(least or floor, floor), math.max(most or floor, floor)
      end
    end
  end
  if not has_control then return nil end
  if not least then return "no noise floor: the A/A control has too few repetitions" end
  local said = "noise floor (A/A) " .. text.percent(least)
  return least == most and said or said .. " … " .. text.percent(most)
end

--- Footnotes of a comparison.
---@param comparison pmclua.Comparison
---@param pair pmclua.ComparedPair
---@return string[]
function M.of_comparison(comparison, pair)
  local parts, list = {}, {}
  for _, row in ipairs(pair.rows) do
    if row.primary then parts[1] = corrections(comparison) end
  end
  add(parts, noise_floor(comparison, { pair }))
  add(list, table.concat(parts, " · "))
  for _, row in ipairs(pair.rows) do
    if row.verdict and row.verdict.reason then
      add(list, ("%s: %s"):format(text.safe(row.title), text.safe(row.verdict.reason)))
    end
  end
  return list
end

local function shares(list)
  table.sort(list)
  local least, most = text.percent(list[1]), text.percent(list[#list])
  return least == most and most or least .. " … " .. most
end

--- How much of the spread of a quantity is between layouts and how much between runs, as a footnote:
--- "cycles: layout 3.1 %, run 0.4 %"; of several cells from the least to the most.
---@param cells pmclua.Cell[]
---@param name string
---@return string? nil where layouts were not drawn, or nothing varies
function M.of_layouts(cells, name)
  local layout, run, title, varies = {}, {}, nil, false
  for _, cell in ipairs(cells) do
    local found = cell:components(name)
    if found and found.between_share then
      layout[#layout + 1], run[#run + 1] = found.between_share, found.within_share
      title, varies = cell:summary(name).title, varies or found.between_share + found.within_share > 0
    end
  end
  if not varies then return nil end
  return ("%s: layout %s, run %s"):format(text.safe(title), shares(layout), shares(run))
end

local FEW_ITERATIONS = 10        -- of which a cold first one is a share that matters

local function at(swept, level) return ("at %s = %s"):format(text.safe(swept), level) end

--- Which iterations kernels had along a factor, where they were not the same, as a footnote: a curve is then of
--- repetitions that began cold in different shares.
---@param result pmclua.Result
---@param swept string
---@return string?
function M.of_iterations(result, swept)
  local least, most
  for cell in result:cells() do
    local count = cell.kind == "kernel" and not cell.fitted and not cell.region and iterations(cell)
    local found = count and { count = count, level = cell.levels[swept] }
    if found and (not least or count < least.count) then least = found end
    if found and (not most or count > most.count) then most = found end
  end
  if not least or least.count == most.count then return nil end
  local said = ("a repetition has %s %s, and %s %s"):format(
    text.plural(most.count, "iteration"), at(swept, words.level(swept, most.level)),
    text.count(least.count), at(swept, words.level(swept, least.level)))
  if least.count >= FEW_ITERATIONS then return said end
  return said .. ": where they are few, caches and predictors are colder; iterations = N has them the same"
end

-- Why a verdict is undecided: its own reason, or that its interval crosses the margin, and the interval.
local function undecided(verdict)
  if verdict.verdict ~= "undecided" then return nil end
  if verdict.reason then return text.safe(verdict.reason) end
  if not (verdict.ratio and verdict.low) then return nil end
  return "the interval crosses the margin of " .. words.margin(verdict), words.ratio_interval(verdict)
end

local NAMED = 3                   -- undecided cells that are named

--- Why verdicts of a quantity are undecided, one footnote a reason.
---@param cells pmclua.Cell[]
---@param verdicts? table compared rows by cell
---@param swept string
---@return string[]
function M.of_undecided(cells, verdicts, swept)
  local reasons, levels_of = {}, {}
  for _, cell in ipairs(cells) do
    local row = verdicts and verdicts[cell]
    local why, interval
    if row and row.verdict then why, interval = undecided(row.verdict) end
    if why then
      if not levels_of[why] then reasons[#reasons + 1], levels_of[why] = why, {} end
      local level = words.level(swept, cell.levels[swept])
      table.insert(levels_of[why], interval and ("%s (%s)"):format(level, interval) or level)
    end
  end
  local list = {}
  for i, why in ipairs(reasons) do
    local where, more = levels_of[why], #levels_of[why] - NAMED
    local named = table.concat(where, ", ", 1, math.min(#where, NAMED))
    if more > 0 then named = ("%s and %d more"):format(named, more) end
    list[i] = ("undecided %s: %s"):format(at(swept, named), why)
  end
  return list
end

--- Footnotes of the first table over a factor that compares.
---@param result pmclua.Result
---@param comparison pmclua.Comparison
---@return string[]
function M.of_sweep(result, comparison)
  local list, primary = {}, result.header.primary
  if primary and comparison.corrected > 0 then
    list[1] = ("verdicts: %s is primary; the others are corrected for %s"):format(text.safe(primary),
      text.plural(comparison.corrected, "comparison"))
  end
  add(list, noise_floor(comparison, comparison.pairs))
  for _, pair in ipairs(comparison.pairs) do
    if not pair.paired and not entries_are_values(pair.cell) then
      list[#list + 1] = "repetitions of different files were not interleaved"
      break
    end
  end
  return list
end

-- ---- notes on the whole result -------------------------------------------------------------------------

local function full_reason(why)
  return (text.safe(why):gsub("^cannot open '.-': ", ""))
end

-- Events that are absent for one reason are said together.
local function absent_events(result, list)
  local reasons, names = {}, {}
  for _, event in ipairs(result.events) do
    if event.status then
      local reason = full_reason(event.why or event.status)
      if not names[reason] then
        names[reason] = {}
        reasons[#reasons + 1] = reason
      end
      table.insert(names[reason], text.safe(event.name))
    end
  end
  for _, reason in ipairs(reasons) do add(list, ("%s: %s"):format(text.list(names[reason]), reason)) end
end

-- What is said of several events alike is said once.
local function said_of_events(result, list)
  local notes, names = {}, {}
  for _, event in ipairs(result.events) do
    local note = event.note
    if note and not names[note] then notes[#notes + 1], names[note] = note, {} end
    if note then table.insert(names[note], text.safe(event.name)) end
  end
  for _, note in ipairs(notes) do add(list, ("%s: %s"):format(text.list(names[note]), text.safe(note))) end
end

local function event_notes(result, list)
  local unverified = {}
  said_of_events(result, list)
  for _, event in ipairs(result.events) do
    if event.verified == false and not event.status then
      unverified[#unverified + 1] = text.safe(event.name)
    end
  end
  if #unverified > 0 then
    add(list, text.list(unverified) .. ": unverified, nothing says that this PMU has the event")
  end
end

-- Whether labels are needed to tell what a note is about.
local function has_several_cells(result)
  local next_cell = result:cells()
  return next_cell() ~= nil and next_cell() ~= nil
end

local function about(result, label, said)
  return has_several_cells(result) and text.safe(label) .. ": " .. said or said
end

local LONGEST_CODE = 60             -- characters of a copy's instructions that are shown

-- What the compiler made of one copy of a C snippet, once for each that differs.
local function machine_code(result, list)
  local seen = {}
  for cell in result:cells() do
    local code = (result.header.cells[cell.number] or {}).machine_code
    local shown = code and code.text ~= "" and code.text and text.safe(code.text)
    if shown and not seen[cell.workload .. shown] then
      seen[cell.workload .. shown] = true
      local count = code.least == code.most and text.plural(code.least, "instruction")
        or ("%d to %d instructions"):format(code.least, code.most)
      local spelled = #shown <= LONGEST_CODE and ": " .. shown or ""
      add(list, ("%s: one copy is %s%s"):format(text.safe(cell.workload), count, spelled))
    end
  end
end

-- "12 repetitions rejected by 'context_switches > 0'", or left out for how they ended.
local function rejected(cell)
  local said, why = text.plural(cell.rejected, "repetition"), cell.first_rejected or ""
  local condition = why:match "^reject_if: (.*)"
  if condition then return ("%s rejected by '%s', and repeated"):format(said, text.safe(condition)) end
  return ("%s left out%s"):format(said, why ~= "" and ", the first: " .. text.safe(why) or "")
end

local function failure(result, why)
  local is_only = result.header.repetitions == 1 and not result.header.stop
  return (is_only and "! it failed: %s; it may not have done its work" or "the first failure: %s"):format(why)
end

local function failures(result, list)
  for cell in result:cells() do
    local first = cell.first_failure
    if cell.rejected > 0 then add(list, about(result, cell:label(), rejected(cell))) end
    if first and first.why then
      add(list, about(result, cell:label(), failure(result, text.safe(first.why))))
    end
  end
end

local BUSY = 0.5                 -- runnable threads, in the minute before the first repetition

-- What of a machine makes counts and times vary, as its facts say; nil: nothing that they know of.
local function noise(host)
  local causes = {}
  if host.virtual then causes[1] = "it is a virtual machine" end
  if host.smt == "1" then causes[#causes + 1] = "two threads share a core (SMT)" end
  if host.governor and host.governor ~= "performance" then
    causes[#causes + 1] = "its frequency governor is " .. text.safe(tostring(host.governor))
  end
  if host.turbo then causes[#causes + 1] = "turbo is on" end
  if (tonumber(host.load) or 0) >= BUSY then
    causes[#causes + 1] = ("it had a load of %.1f on %s when this began"):format(host.load,
      text.plural(tonumber(host.cpus) or 1, "CPU"))
  end
  return #causes > 0 and "what makes noise on this machine: " .. text.list(causes) or nil
end

local NOISY = { first = true, drift = true, outliers = true }

local function warnings(result, list)
  local is_noisy = false
  for _, warning in ipairs(result:warnings()) do
    is_noisy = is_noisy or NOISY[warning.kind]
    local said = ("%s; %s"):format(text.safe(warning.message), text.safe(warning.hint))
    local count, cell = #warning.cells, text.safe(warning.cell)
    add(list, "! " .. (count > 1 and ("%d cells, the first %s: %s"):format(count, cell, said)
      or about(result, warning.cell, said)))
  end
  if is_noisy then add(list, noise(result.header.host or {})) end
end

local STOPPED = {
  decided = "stopped after %s", narrow = "stopped after %s",
  repetitions = "stopped at the limit of %s",
  time = "stopped after %s, at the limit of %s",
}

-- Why a stop rule ended the run, and what it did not reach.
local function stopping(result)
  local why, count = require("pmclua.result.stopping").why(result)
  if not why then return nil end
  local rule, compares = result.header.stop, result.header.baseline
  local reached = rule.interval and (compares and "decided, or as narrow as asked" or "as narrow as asked")
    or compares and "decided"
  local all, missed = compares and "all comparisons" or "all intervals", ""
  if why == "decided" or why == "narrow" then missed = (": %s are %s"):format(all, reached)
  elseif reached then missed = (", before %s were %s"):format(all, reached) end
  return STOPPED[why]:format(text.plural(count, "repetition"), text.duration(rule.seconds)) .. missed
end

-- Whether the median of a time is known as narrowly as the margin.
local function has_narrow_time(result)
  for cell in result:cells() do
    for _, event in ipairs(result.events) do
      local summary = cell:summary(event.field)
      if summary.kind == "time" and summary.quality == "stable" then return true end
    end
  end
  return false
end

-- What intervals cannot know: ratios of what ran in the same blocks do without it.
local function between_runs(result)
  local header = result.header
  if header.unpaired then
    return "measured in runs of their own: how runs differ is not in these intervals"
  end
  if header.baseline or header.rank or not has_narrow_time(result) then return nil end
  return "times hold for this run alone: how runs differ is not in their intervals"
end

local function problems(result, list)
  if result.problem then add(list, "! " .. text.safe((tostring(result.problem):gsub("%s*\n%s*", "; ")))) end
  for _, problem in ipairs(result.problems) do add(list, "stored result: " .. text.safe(problem)) end
end

-- What the person who ran it noted: "commit = 1a2b3c".
local function own_notes(header)
  local parts = {}
  for name, said in pairs(header.notes or {}) do
    parts[#parts + 1] = ("%s = %s"):format(text.safe(name), text.safe(said))
  end
  table.sort(parts)
  return #parts > 0 and "noted: " .. table.concat(parts, ", ") or nil
end

local function ending(result, list)
  add(list, stopping(result))
  local header = result.header
  add(list, own_notes(header))
  add(list, between_runs(result))
  if header.rank then
    add(list, ("rank %d, on %s"):format(header.rank, text.safe(header.host and header.host.hostname or "?")))
  end
  if header.hosts then
    local names = {}
    for i, host in ipairs(header.hosts) do
      names[i] = ("%s (%s)"):format(text.safe(host.hostname or "?"), text.safe(host.cpu or "?"))
    end
    add(list, ("measured on %s: counts of different machines differ by themselves"):format(text.list(names)))
  end
  for _, remark in ipairs(result.remarks or {}) do add(list, text.safe(remark)) end
  if result.status == "interrupted" then add(list, "interrupted: what was complete is shown") end
  if result.status == "failed" then add(list, "stopped at a failure: what was complete is shown") end
  problems(result, list)
end

--- Why there is nothing to show.
---@param result pmclua.Result
---@return string[]
function M.of_failure(result)
  local list = {}
  problems(result, list)
  return list
end

--- Notes on the whole result, what matters most last.
---@param result pmclua.Result
---@return string[]
function M.of_result(result)
  local list = {}
  absent_events(result, list)
  event_notes(result, list)
  failures(result, list)
  machine_code(result, list)
  warnings(result, list)
  ending(result, list)
  return list
end

return M
