--- notes.lua: notes on a whole result: what was not counted, left out or cut short, warnings, remarks.
--
-- Invariant: everything that was left out, cut short or not counted is mentioned, each reason once.

local ending_of = require("pmclua.result.ending").of
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local function add(list, note)
  if note and note ~= "" then list[#list + 1] = note end
end

local function full_reason(why)
  return (text.safe(why):gsub("^cannot open '.-': ", ""))
end

local function names_of(items)
  return text.list(lists.map(items, function(item) return text.safe(item.name) end))
end

local function add_together(list, events, said_of)
  for _, group in ipairs(lists.groups(events, said_of)) do
    add(list, ("%s: %s"):format(names_of(group), group.key))
  end
end

local function why_absent(event) return event.status and full_reason(event.why or event.status) end

-- A reason without the event's own name: "there is no event 'slots' here" to "there is no such event here".
local function impersonal(event)
  local reason = why_absent(event)
  local quoted = text.safe(event.name):gsub("%W", "%%%0")
  return reason and (reason:gsub("no ([%a ]*event) '" .. quoted .. "'", "no such %1"))
end

-- Events that are absent for one reason are said together.
local function absent_events(list, events)
  for _, group in ipairs(lists.groups(events, impersonal)) do
    local reason = #group > 1 and group.key or why_absent(group[1])
    add(list, ("%s: %s"):format(names_of(group), reason))
  end
end

local function note_of(event) return event.note and text.safe(event.note) end

local function unverified(event)
  local is_unverified = event.verified == false and not event.status
  return is_unverified and "unverified, nothing says that this PMU has the event" or nil
end

-- Simulated events and metrics, and what their counts depend on.
local function simulated(result, list)
  local function is_simulated(event) return event.source == "valgrind" end
  local events = lists.where(result.events, function(event)
    return is_simulated(event) and not event.status
  end)
  if #events == 0 then return end
  local metrics = lists.where(result.metrics, function(metric)
    return lists.any(require("pmclua.result.values").events_needed(result, metric), is_simulated)
  end)
  local how = require("pmclua.report.simulation").words(result.header)
  add(list, ("%s: simulated by %s"):format(names_of(lists.joined { events, metrics }), how))
end

-- A label, where notes are about several cells.
local function about(result, label, reason)
  return #result:list() > 1 and text.safe(label) .. ": " .. reason or reason
end

local LONGEST_CODE = 60             -- characters of a copy's instructions that are shown

-- Names the metrics that pair runs of different passes, and says how well the passes agree.
local function across_passes(result, list)
  if #result.header.pass_events < 2 or #result.metrics == 0 then return end
  local across, of_one, apart = require "pmclua.result.across", {}, {}
  for _, metric in ipairs(result.metrics) do
    local passes = across.passes(result, metric)
    if passes == 1 then of_one[#of_one + 1] = text.safe(metric.name)
    elseif passes then apart[#apart + 1] = ("%s (%d passes)"):format(text.safe(metric.name), passes) end
  end
  if #of_one > 0 then add(list, "metrics of one pass: " .. text.list(of_one)) end
  if #apart == 0 then return end
  local agree = lists.map(across.anchors(result), function(anchor)
    return ("%s within %s"):format(text.safe(anchor.name), text.percent(anchor.spread))
  end)
  add(list, "metrics across passes: " .. text.list(apart)
    .. (#agree > 0 and ("; the passes agree in %s"):format(text.list(agree)) or ""))
end

-- The machine code of one copy of a C snippet, once for each that differs.
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
  local words, why = text.plural(cell.rejected, "repetition"), cell.first_rejected or ""
  local condition = why:match "^reject_if: (.*)"
  if condition then return ("%s rejected by '%s', and repeated"):format(words, text.safe(condition)) end
  return ("%s left out%s"):format(words, why ~= "" and ", the first: " .. text.safe(why) or "")
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

-- Reasons of noise among a machine's facts; nil: none that they know of.
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
    local sentence = ("%s; %s"):format(text.safe(warning.message), text.safe(warning.hint))
    local count, cell = #warning.cells, text.safe(warning.cell)
    add(list, "! " .. (count > 1 and ("%d cells, the first %s: %s"):format(count, cell, sentence)
      or about(result, warning.cell, sentence)))
  end
  if is_noisy then add(list, noise(result.header.host or {})) end
end

local STOPPED = {
  decided = "stopped after %s", narrow = "stopped after %s",
  repetitions = "stopped at the limit of %s",
  own = "stopped by the script's own rule after %s",
  time = "stopped after %s, at the limit of %s",
}

-- Why a stop rule ended the run, and what it did not reach.
local function stopping(result)
  if not result.header.stop then return nil end
  local why, count = require("pmclua.result.stopping").why(result)
  if not why then return nil end
  local rule, compares = result.header.stop, result.header.baseline
  local reached = rule.interval and (compares and "decided, or as narrow as asked" or "as narrow as asked")
    or compares and "decided"
  local all, missed = compares and "all comparisons" or "all intervals", ""
  if why == "own" then missed = ": what it looked at holds at no level"
  elseif why == "decided" or why == "narrow" then missed = (": %s are %s"):format(all, reached)
  elseif reached then missed = (", before %s were %s"):format(all, reached) end
  return STOPPED[why]:format(text.plural(count, "repetition"), text.duration(rule.seconds)) .. missed
end

local function has_narrow_time(result)
  return lists.any(result:list(), function(cell)
    return lists.any(result.events, function(event)
      local summary = cell:summary(event.field)
      return summary.kind == "time" and summary.quality == "stable"
    end)
  end)
end

-- Intervals do not know how runs differ; ratios within blocks need not.
local function between_runs(result)
  local header = result.header
  if header.unpaired then
    return "measured in runs of their own: how runs differ is not in these intervals"
  end
  if header.baseline or header.rank or not has_narrow_time(result) then return nil end
  return "times hold for this run alone: how runs differ is not in their intervals"
end

local function problems(result, list)
  local _, problem = ending_of(result)
  if problem then
    local paragraph = tostring(problem):gsub("\nstack traceback:.*", "")
    add(list, "! " .. text.safe((paragraph:gsub("%s*\n%s*", "; "))))
  end
  for _, lack in ipairs(result.problems) do add(list, "stored result: " .. text.safe(lack)) end
end

local function own_notes(header)
  local parts = lists.map(lists.keys(header.notes or {}), function(name)
    return ("%s = %s"):format(text.safe(name), text.safe(header.notes[name]))
  end)
  return #parts > 0 and "noted: " .. table.concat(parts, ", ") or nil
end

-- What differs between hosts of one name: "; Linux 5.10 and 6.1".
local function changed(hosts)
  local parts = {}
  for _, fact in ipairs { { "os_kernel", "Linux" }, { "microcode", "microcode" } } do
    local values = lists.unique(lists.column(hosts, fact[1]))
    if #values > 1 then
      parts[#parts + 1] = ("; %s %s"):format(fact[2], text.list(lists.map(values, tostring)))
    end
  end
  return table.concat(parts)
end

local function on_hosts(result)
  local hosts = require "pmclua.result.hosts"
  local kinds = lists.groups(hosts.of(result) or {}, function(host) return host.cpu or "?" end)
  if #kinds == 0 then return nil end
  return ("measured on %s: counts of different machines differ by themselves"):format(
    text.list(lists.map(kinds, function(kind)
      local names = lists.map({ unpack(kind) }, function(host) return host.hostname or "?" end)
      local is_one_name = #lists.unique(names) < #names
      return ("%s (%s)"):format(text.safe(hosts.folded(names)),
        text.safe(kind.key .. (is_one_name and changed { unpack(kind) } or "")))
    end)))
end

local function ending(result, list)
  add(list, stopping(result))
  local header = result.header
  add(list, own_notes(header))
  add(list, between_runs(result))
  if header.rank then
    add(list, ("rank %d, on %s"):format(header.rank, text.safe(header.host and header.host.hostname or "?")))
  end
  add(list, on_hosts(result))
  for _, difference in ipairs(require("pmclua.result.origins").differences(header)) do
    add(list, "! the files differ in " .. difference)
  end
  for _, remark in ipairs(result.remarks or {}) do add(list, text.safe(remark)) end
  local status = ending_of(result)
  if status == "interrupted" then add(list, "interrupted: what was complete is shown") end
  if status == "failed" then add(list, "stopped at a failure: what was complete is shown") end
  problems(result, list)
end

--- Why there is nothing to show.
---@param result pmclua.Result
---@return string[]
function M.failure(result)
  local list = {}
  problems(result, list)
  return list
end

local function events_of(result, names)
  if not names then return result.events end
  local needed = lists.set(require("pmclua.result.values").events_needed(result, { needs = names }))
  return lists.where(result.events, function(event) return needed[event] end)
end

--- Notes on the whole result, what matters most last.
---@param result pmclua.Result
---@param names? string[] quantities that are shown: events of no other are told of
---@return string[]
function M.result(result, names)
  local list, events = {}, events_of(result, names)
  absent_events(list, events)
  simulated(result, list)
  add_together(list, events, note_of)
  add_together(list, events, unverified)
  failures(result, list)
  machine_code(result, list)
  across_passes(result, list)
  warnings(result, list)
  ending(result, list)
  return list
end

return M
