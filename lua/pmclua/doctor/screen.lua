--- screen.lua: what the doctor found, as a person reads it on a terminal of 80 columns.

local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"

local M = {}

local WIDTH = 80

local function finished(lines) return terminal.spelled(table.concat(lines, "\n") .. "\n") end

local function paragraph(lines, head, body, margin)
  local indent = (" "):rep(margin)
  for i, line in ipairs(text.wrap(body, WIDTH - margin)) do
    lines[#lines + 1] = (i == 1 and text.pad(head, margin) or indent) .. line
  end
end

local function heading(lines, machine)
  local cpus = text.plural(machine.cpus or #require("pmclua.host.topology").online(), "CPU")
  lines[1] = text.cut(("%s: %s, %s, Linux %s"):format(text.safe(machine.hostname or "this machine"),
    text.safe(machine.cpu), cpus, machine.os_kernel or "?"), WIDTH)
end

-- ---- what counts ---------------------------------------------------------------------------------

local MARGIN = 16

local function names_by(kinds, wanted)
  return lists.map(kinds, function(kind)
    local is_limited = (kind.note or ""):find "^user space"
    local group = kind.status ~= "counted" and "none" or is_limited and "user" or "all"
    return group == wanted and kind.name or nil
  end)
end

local function add_refused(lines, kinds)
  local function reason(kind) return kind.status ~= "counted" and (kind.why or kind.status) or nil end
  for i, group in ipairs(lists.groups(kinds, reason)) do
    local names = text.list(lists.column(group, "name"))
    paragraph(lines, i == 1 and "does not" or "", ("%s: %s"):format(names, group.key), MARGIN)
  end
end

local function add_kinds(lines, kinds)
  local all, user = names_by(kinds, "all"), names_by(kinds, "user")
  if #all > 0 then paragraph(lines, "counts here", table.concat(all, "; "), MARGIN) end
  if #user > 0 then paragraph(lines, "user space only", table.concat(user, "; "), MARGIN) end
  if #all + #user == 0 then paragraph(lines, "counts here", "nothing", MARGIN) end
  add_refused(lines, kinds)
end

-- ---- PMUs ----------------------------------------------------------------------------------------

local function counters_of(pmu)
  local counters = pmu.counters
  if pmu.is_untried then return "only root can find out how many counters it has" end
  if not counters then return "no generic event opens" end
  local words = text.plural(counters.any, "counter")
  if #counters.own == 0 then return words end
  local each = #counters.own > 1 and " each" or ""
  return ("%s, and one%s for %s only"):format(words, each, text.list(counters.own))
end

local function add_pmus(lines, pmus)
  local others = {}
  for _, pmu in ipairs(pmus) do
    if pmu.kind == "core" then
      local cpus = pmu.cpus and (" on CPUs " .. pmu.cpus) or ""
      paragraph(lines, "PMU", ("%s%s: %s; %s named"):format(pmu.name, cpus, counters_of(pmu),
        text.plural(pmu.events, "event")), MARGIN)
    else
      local events = pmu.events > 0 and (" (%d)"):format(pmu.events) or ""
      others[#others + 1] = pmu.name .. events
    end
  end
  if #others > 0 then paragraph(lines, "other PMUs", table.concat(others, ", "), MARGIN) end
end

-- ---- findings ------------------------------------------------------------------------------------

local SIGNS = { limits = "! ", blocks = "x " }

local function add_obstacle(lines, finding)
  paragraph(lines, SIGNS[finding.state], finding.said, 2)
  for _, command in ipairs(finding.commands or {}) do lines[#lines + 1] = "    $ " .. command end
  if finding.help then paragraph(lines, "    ", finding.help, 4) end
end

local function of_state(findings, state)
  return lists.where(findings, function(finding) return finding.state == state end)
end

local function add_obstacles(lines, findings)
  local blocking, limiting = of_state(findings, "blocks"), of_state(findings, "limits")
  if #blocking + #limiting > 0 then lines[#lines + 1] = "" end
  for _, finding in ipairs(blocking) do add_obstacle(lines, finding) end
  for _, finding in ipairs(limiting) do add_obstacle(lines, finding) end
end

local function add_good(lines, findings)
  local good = lists.map(of_state(findings, "good"), function(finding)
    return finding.brief or finding.said
  end)
  if #good == 0 then return end
  lines[#lines + 1] = ""
  paragraph(lines, "fine  ", table.concat(good, "; "), 6)
end

--- The examination of a machine.
---@param examination pmclua.Examination
---@return string lines, ended by a newline
function M.examination(examination)
  local lines = {}
  heading(lines, examination.machine)
  add_kinds(lines, examination.kinds)
  add_pmus(lines, examination.pmus)
  add_obstacles(lines, examination.findings)
  add_good(lines, examination.findings)
  return finished(lines)
end

--- Rows of a name and what is said of it.
---@param rows string[][]
---@return string lines
function M.rows(rows)
  local lines = {}
  for _, row in ipairs(rows) do paragraph(lines, text.safe(row[1]), text.safe(row[2]), MARGIN) end
  return finished(lines)
end

-- ---- truths --------------------------------------------------------------------------------------

local function said_truth(tested)
  if tested.verdict == "wrong" then return tested.why end
  if tested.verdict == "close" then
    local form = "%s: %s counted, %s done"
    return form:format(tested.truth, text.value(tested.least, ""), text.count(tested.expected))
  end
  if tested.verdict == "true" then
    local form = "%s; in %d of %d up to %s"
    return form:format(tested.truth, tested.disturbed, tested.repetitions, text.count(tested.most))
  end
  return tested.truth
end

local NAME_MARGIN = 23

-- "page faults, tracepoint and function": names by verdict, without tests of the empty event and filtered ones.
local function names_of(list, is_wanted)
  return lists.unique(lists.map(list, function(tested)
    local says_much = tested.expected ~= 0 or tested.verdict == "wrong"
    return is_wanted[tested.verdict] and says_much and tested.name:match "^[^,]*" or nil
  end))
end

local function add_untested(lines, list)
  local function reason(tested) return tested.verdict == "untested" and tested.why or nil end
  for _, group in ipairs(lists.groups(list, reason)) do
    local names = text.list(names_of(group, { untested = true }))
    paragraph(lines, "untested", ("%s: %s"):format(names, group.key), 10)
  end
end

local function add_summary(lines, truths)
  local trusted = names_of(truths.list, { exact = true, ["true"] = true, close = true })
  local wrong = names_of(truths.list, { wrong = true })
  lines[#lines + 1] = ""
  if #trusted > 0 then paragraph(lines, "", "can be trusted here: " .. text.list(trusted), 0) end
  if #wrong > 0 then paragraph(lines, "", "NOT to be trusted here: " .. text.list(wrong), 0) end
  if truths.tested == 0 then lines[#lines + 1] = "nothing could be tested here" end
end

--- The results of the ground truths, a line each, and which figures can be trusted.
---@param truths pmclua.doctor.Truths
---@return string lines
function M.truths(truths)
  local lines = {}
  for _, tested in ipairs(truths.list) do
    if tested.verdict ~= "untested" then
      local head = text.pad(tested.verdict == "wrong" and "WRONG" or tested.verdict, 10)
      local line = ("%s%s  %s"):format(head, text.pad(tested.name, NAME_MARGIN), said_truth(tested))
      lines[#lines + 1] = text.cut(line, WIDTH)
    end
  end
  add_untested(lines, truths.list)
  add_summary(lines, truths)
  return finished(lines)
end

-- ---- overhead -----------------------------------------------------------------------------------

local function said_cost(row)
  if row.below then return ("under %s %s"):format(text.time(row.below), row.what) end
  if not row.ns then return "not here" end
  return ("%s %s"):format(text.time(row.ns), row.what)
end

local function said_counts(row)
  local count = row.counts and row.counts[row.first]
  return count and ("%s %s"):format(text.count(count), row.first) or ""
end

--- The costs of measuring, a line each.
---@param overheads pmclua.doctor.Overheads
---@return string lines
function M.overhead(overheads)
  local lines = { overheads.hardware and "with hardware events; medians, and what an empty region shows"
    or "with Linux's software events only, as there is no PMU; medians" }
  for _, row in ipairs(overheads.list) do
    local events = row.events and text.plural(row.events, "event") or ""
    local line = text.pad(row.way, 26) .. text.pad(events, 10) .. text.pad(said_cost(row), 22)
    lines[#lines + 1] = text.cut(((line .. said_counts(row)):gsub("%s+$", "")), WIDTH)
  end
  local refused = lists.groups(overheads.list, function(row) return row.why and row.way end)
  for _, group in ipairs(refused) do
    paragraph(lines, "", ("not here: %s: %s"):format(group.key, text.safe(group[1].why)), 0)
  end
  return finished(lines)
end

return M
