--- regions.lua: the calls of regions as blocks for people.
--
-- Invariant: what was left out of a number is said beside it: calls that were not counted, records that
-- were lost, threads that were not followed.

local bins = require "pmclua.report.bins"
local histogram = require "pmclua.report.regions_histogram"
local lists = require "pmclua.base.lists"
local region_calls = require "pmclua.result.calls"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local ABSENT = words.ABSENT

-- ---- rows ----------------------------------------------------------------------------------------------

local function shown(value, about)
  if value == nil then return ABSENT end
  return text.value(value * (about.scale or 1), about.unit)
end

local FAR = 16                   -- largest over smallest above which bins have equal ratios

--- The histogram as five characters: where calls are.
local function shape_of(bars)
  if #bars < 2 then return "" end
  local low, high = bars[1].low, bars[#bars].high
  return bins.drawn(bins.new(low, high, bins.SHAPE, low > 0 and high / low > FAR):counts(bars))
end

local COLUMNS = {
  { name = "event" }, { name = "total", align = "right" }, { name = "of run", align = "right", drop = 5 },
  { name = "per call", align = "right", drop = 4 }, { name = "median", align = "right" },
  { name = "quartiles", drop = 1.5 }, { name = "99 %", align = "right", drop = 3 },
  { name = "max", align = "right" }, { name = "shape", drop = 1 },
}

local function quartiles(region, about, is_self)
  local low = region:quantile(about.field, 0.25, is_self)
  local high = region:quantile(about.field, 0.75, is_self)
  if not low then return ABSENT end
  if low == high then return "=" end
  local scale = about.scale or 1
  return text.interval(low * scale, high * scale, high * scale, about.unit)
end

local function row_of(region, about, is_self)
  local values = region:values(about.field, is_self)
  local title = is_self and "  itself" or about.title
  if not (values.sum or values.mean) then
    return { text.safe(title), ABSENT, words.status(values.status), span = 3 }
  end
  local median, is_exact = region:quantile(about.field, 0.5, is_self)
  local mark = values.status == "scaled" and text.approximate or function(s) return s end
  local middle = shown(median, about)
  local sum = (values.least and shown(values.least, about) .. " … " or "") .. shown(values.sum, about)
  return { text.safe(title), mark(sum),
    values.share and text.percent(values.share) or "",
    values.mean and mark(shown(values.mean, about)) or ABSENT,
    median and not is_exact and text.approximate(middle) or middle,
    quartiles(region, about, is_self), shown(region:quantile(about.field, 0.99, is_self), about),
    shown(values.max, about), shape_of(region:histogram(about.field, is_self)) }
end

local function rows_of(result, region)
  local rows = {}
  for _, about in ipairs(region_calls.names(result.events)) do
    rows[#rows + 1] = row_of(region, about)
    local whole, own = region:values(about.field), region:values(about.field, true)
    local has_callees = whole.sum and own.sum and #result > 1 and own.sum < whole.sum
    if has_callees then rows[#rows + 1] = row_of(region, about, true) end
  end
  return rows
end

-- ---- what to know of the numbers -----------------------------------------------------------------------

local SAID = {
  { "nested", "%s within another call of it: totals are of the outermost" },
  { "tails", "%s ended in a call of another function, and are in no number here" },
  { "unwound", "%s left without return (exception, longjmp, a jump through a pointer, or, in Go, a stack "
    .. "that grew): not counted" },
  { "unfinished", "%s not left when the program or thread ended: not counted" },
  { "orphans", "%s returned from whose entry was not seen, or, in Go, whose stack grew meanwhile: not "
    .. "counted" },
  { "cut", "%s cut by lost records: not counted" },
  { "unsure", "%s called one that left without return, nobody knows when: what they took themselves is "
    .. "known within bounds, and in no distribution of 'itself'" },
  { "partial", "%s with events that were not on the PMU throughout: in totals, in no distribution" },
  { "moved", "%s ended where another may have begun, as stacks were copied meanwhile: not counted" },
  { "switching", "%s on stacks that move between threads, or take turns on one (coroutines, goroutines): how "
    .. "long each took is true; what a thread counted is not a call's, and totals are not known" },
}

-- A region between any two points.
local PAIR_SAID = {
  unwound = "%s begun and begun again before its end: not counted",
  unfinished = "%s begun and not ended when the program or thread did: not counted",
  orphans = "%s ended whose beginning was not seen: not counted",
}

local NO_DURATIONS = "%s without numbers: "

-- Where durations are unknown too, only the reason.
local function form_of(region, fact)
  local why = fact[1] == "switching" and region_calls.why_not(region, "duration")
  if why then return NO_DURATIONS .. why:gsub("%%", "%%%%") end
  return region.is_pair and PAIR_SAID[fact[1]] or fact[2]
end

local PATHS = {
  ["one thread"] = "as asked",
  ["old OS kernel"] = "following threads and children takes Linux 6.12 or later",
  ["no tracefs"] = "following threads and children takes a tracefs that may be written to",
}

-- Nothing shows it where each new call has the stack address of one that left.
local MAY_MOVE = "; if stacks move between its threads (coroutines), a call may have been taken for another"

local function path_note(result)
  if result.path == "all threads" then return nil end
  if result.observed and result.path ~= "one thread" then
    local form = "threads and children that it started meanwhile were not followed (%s)"
    return form:format(PATHS[result.path])
  end
  local others = result.threads_seen > 0
    and (": %s that it started not counted"):format(text.plural(tonumber(result.threads_seen),
      "thread or child", "threads and children")) or ""
  local doubt = result.threads_seen > 0 and MAY_MOVE or ""
  return ("only the first thread was followed (%s)%s%s"):format(PATHS[result.path], others, doubt)
end

local function with_spread(cost, spread, about)
  return shown(cost, about) .. (spread > 0 and " ± " .. shown(spread, about) or "")
end

--- The cost of probing in a region's numbers.
local function probing_note(result, region)
  if region_calls.is_switching(region) then
    return "the cost of probing is in these durations, and never taken off"
  end
  local parts = lists.map(region_calls.names(result.events), function(about)
    local values = region:values(about.field)
    local has_cost = values.probing and values.probing ~= 0 and about.field ~= "duration"
    if not has_cost then return nil end
    return ("%s %s"):format(with_spread(values.probing, values.probing_spread, about), about.title)
  end)
  if #parts == 0 then return nil end
  local form = result.subtracted and "taken off for probing, in all of these calls: %s"
    or "of these totals, the cost of probing: %s"
  return form:format(text.list(parts))
end

local function region_notes(result, region)
  local notes = {}
  for _, fact in ipairs(SAID) do
    local count, form = region[fact[1]], form_of(region, fact)
    if count and count ~= 0 then
      notes[#notes + 1] = form:format(text.plural(tonumber(count), "call"))
    end
  end
  for _, note in ipairs(region.notes) do notes[#notes + 1] = note end
  if region.calls ~= 0 then notes[#notes + 1] = probing_note(result, region) end
  return notes
end

local function unknown_cost_note(result)
  local why = result.cost_unknown
  return why and "the cost of probing is in the numbers of regions of which it is not known: " .. why
end

--- Shares refer to a run without probing. Its CPU time is known by its events: without any of them it is not.
local function cost_note(result)
  local cost, spread, whole = result:probing "cpu_time"
  if not cost or cost == 0 then return unknown_cost_note(result) end
  local about = { unit = "ns" }
  if not whole then
    return ("probing took %s of CPU time; the run's is not known: none of the events was counted")
      :format(with_spread(cost, spread, about))
  end
  local rest = "'of run' is of the rest"
  if whole - cost <= 2 * spread then rest = "of the rest no share can be told" end
  return ("probing took %s of the run's %s of CPU time: %s"):format(with_spread(cost, spread, about),
    shown(whole, about), rest)
end

local function absent_notes(result)
  local reasons = lists.groups(result.events, region_calls.why_absent)
  return lists.map(reasons, function(group) return ("%s: %s"):format(group[1].name, group.key) end)
end

-- Probes are on the PMU with the events, or not at all.
local function kept_off_note(result)
  if result.ran >= 1 then return nil end
  local form = "another user of the PMU had its counters for %s of the time: calls meanwhile were not seen; "
    .. "end that one (another perf, an NMI watchdog), or leave out the PMU's events"
  return form:format(text.percent(1 - result.ran))
end

local function observed_note(result)
  if not result.observed then return nil end
  local ended = result.target_ended and "; it has ended" or ""
  return ("followed for %s of %s%s"):format(text.percent(result.observed),
    text.duration(tonumber(result.wall_ns) / 1e9), ended)
end

local MOST_NAMES = 6

local function shortened(names)
  local shown_names = { unpack(names, 1, MOST_NAMES) }
  if #names > MOST_NAMES then shown_names[#shown_names + 1] = text.count(#names - MOST_NAMES) .. " more" end
  return text.list(shown_names)
end

local function is_unused(region) return region.entries == 0 and region.orphans == 0 end

--- One line for all regions that were never called.
local function unused_note(result)
  local names = lists.map(lists.where(result, is_unused), function(region) return text.safe(region.name) end)
  local form = result.ran < 1 and "not seen to be called: " or "never called: "
  return #result > 1 and #names > 0 and form .. shortened(names) or nil
end

local function skipped_note(result)
  local skipped = result.skipped
  if #skipped == 0 then return nil end
  return ("left out: %s (%s)"):format(text.plural(#skipped, "function"), skipped[1])
end

--- Notes on the whole run, the most important last.
local function run_notes(result)
  local notes = absent_notes(result)
  for _, note_of in ipairs { unused_note, skipped_note, cost_note, observed_note, path_note,
    kept_off_note }
  do
    notes[#notes + 1] = note_of(result)
  end
  lists.append(notes, result.remarks)
  if result.lost ~= 0 then
    notes[#notes + 1] = ("%s lost: the rings were full; calls around them are not counted")
      :format(text.plural(tonumber(result.lost), "record was", "records were"))
  end
  return notes
end

-- ---- threads -------------------------------------------------------------------------------------------

local MOST_THREADS = 20

local function thread_block(result, region)
  local list = lists.copy(region.threads)
  table.sort(list, function(a, b)
    if a.calls ~= b.calls then return a.calls > b.calls end
    return a.tid < b.tid
  end)
  local abouts = lists.where(region_calls.names(result.events), function(about)
    return about.field ~= "cpu_time" and region:values(about.field).sum
  end)
  local columns = lists.append({ { name = "thread", align = "right" }, { name = "name" },
    { name = "calls", align = "right" } },
    lists.map(abouts, function(about) return { name = about.title, align = "right" } end))
  local rows = lists.map({ unpack(list, 1, math.min(#list, MOST_THREADS)) }, function(thread)
    return lists.append({ thread.tid > 0 and tostring(thread.tid) or "others", text.safe(thread.name),
      text.count(tonumber(thread.calls)) },
      lists.map(abouts, function(about) return shown(region:of_thread(thread, about.field), about) end))
  end)
  if #list > #rows then
    rows[#rows + 1] = { "", ("and %s more"):format(text.count(#list - #rows)), span = 2, tone = "dim" }
  end
  return { title = {}, columns = columns, rows = rows, notes = {}, follows = true, indent = 2 }
end

-- ---- blocks --------------------------------------------------------------------------------------------

local function calls_words(region)
  if not region.calls then return "calls not counted" end
  local calls = text.plural(tonumber(region.calls), "call")
  -- Why an entry is no call with numbers is in the notes.
  if region.entries > region.calls then
    calls = ("%s of %s"):format(calls, text.plural(tonumber(region.entries), "entry", "entries"))
  end
  return #region.threads > 1 and calls .. " by " .. text.plural(#region.threads, "thread") or calls
end

local function region_blocks(result, region, options)
  local title = { text.safe(region.name), calls_words(region) }
  local first = { title = title, columns = {}, rows = {}, notes = {} }
  if not region.calls then
    first.notes[1] = region.unseen
    return { first }
  end
  if region.calls ~= 0 then first.columns, first.rows = COLUMNS, rows_of(result, region)
  elseif is_unused(region) then
    first.notes[1] = result.ran < 1 and "not seen to be called" or "never called"
  end
  local blocks = { first, #region.threads > 1 and thread_block(result, region) or nil }
  lists.append(blocks[#blocks].notes, region_notes(result, region))
  if options.histogram and region.calls ~= 0 then
    local about = region_calls.named(result.events, options.histogram)
    blocks[#blocks + 1] = histogram.block(region, about, options)
  end
  return blocks
end

--- The calls of regions as blocks. Of several regions those without a call are in a note.
---@param result pmclua.Regions
---@param options pmclua.ReportOptions histogram: an event whose calls are shown in steps
---@return pmclua.Report
function M.blocks(result, options)
  local regions = lists.where(result, function(region) return #result == 1 or not is_unused(region) end)
  local blocks = lists.map(regions, function(region) return region_blocks(result, region, options) end)
  return { title = "regions of " .. text.safe(result.command), notes = run_notes(result),
    blocks = lists.joined(blocks) }
end

--- The calls of several cells as blocks.
---@param list pmclua.Regions[] not empty
---@param options pmclua.ReportOptions
---@param before pmclua.ReportBlock[] that stand before them
---@return pmclua.Report
function M.report(list, options, before)
  if #list == 1 then return M.blocks(list[1], options) end
  local several = lists.map(list, function(regions)
    local made = M.blocks(regions, options)
    local title = { title = { made.title }, columns = {}, rows = {}, notes = made.notes }
    return lists.joined { { title }, made.blocks }
  end)
  return { title = "regions of commands", notes = {}, blocks = lists.joined { before, unpack(several) } }
end

return M
