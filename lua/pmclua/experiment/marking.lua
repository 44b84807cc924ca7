--- marking.lua: repetitions whose counts are those of the marks in the program (pmclua_mark.h).
--
-- Each thread of the program counts itself. The whole run is counted, too, but only by events that need no counter
-- of a PMU: others would take counters from the marks.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local marks = require "pmclua.workload.marks"
local parts = require "pmclua.experiment.parts"
local passes = require "pmclua.counting.passes"
local record = require "pmclua.experiment.record"
local remarks = require "pmclua.base.remarks"

---@class pmclua.Marking: pmclua.Counter
local Marking = {}
Marking.__index = Marking

local M = {}

--- `regions = "marks"`, or `{ "marks", entries = true }`: then each entry of a mark is a value,
--- instead of a run's sum; or `{ "marks", by = "thread" }`: then each thread has values of its own.
---@class pmclua.MarkRegions: pmclua.CommandRegions
local Regions = {}
Regions.__index = Regions

---@param value any the script's
---@return pmclua.MarkRegions? nil: it is none
---@return string? why
function M.regions(value)
  if type(value) == "string" then value = { value } end
  if type(value) ~= "table" or value[1] ~= "marks" then return nil, 'regions is "marks"' end
  for key in pairs(value) do
    if key ~= 1 and key ~= "entries" and key ~= "by" then
      local form = 'regions has no \'%s\'; it is "marks" or { "marks", entries = true, by = "thread" }'
      return nil, form:format(tostring(key))
    end
  end
  local entries, why = parts.entries(value.entries)
  if why then return nil, why end
  if value.by ~= nil and value.by ~= "thread" then return nil, 'regions.by of marks is "thread"' end
  return setmetatable({ kind = "marks", entries = entries, by = value.by }, Regions)
end

-- On this thread, as the program's threads will open it.
function Regions.trial(_, event)
  if event.filter then return nil, "marks cannot set a filter on events that a program's threads open" end
  for _, value in pairs(event.attr) do
    if type(value) == "string" then return nil, "marks cannot count a probe: its attr points to text" end
  end
  return { pid = 0, cpu = -1 }
end

function Regions.problem(_, workloads)
  return parts.why_none(workloads, 'regions = "marks" is for commands; %s is a %s')
end

---@param regions pmclua.MarkRegions
---@param planned { groups: table[] }[]
---@param events pmclua.Event[]
---@param is_elsewhere? boolean the tables are made by those who run the program (launching.lua)
---@return pmclua.Marking
function M.new(regions, planned, events, is_elsewhere)
  return setmetatable({ regions = regions, passes = planned, events = events, said = remarks.new(),
    table = not is_elsewhere and marks.new { entries = regions.entries } or nil }, Marking)
end

-- With the table in its environment, unless the script says another.
function Marking:workload(workload)
  local mine = lists.copy(workload)
  mine.watched = true                   -- a program that cannot reach the table says so to who watches it
  mine.env = lists.copy(workload.env or {})
  if mine.env[marks.VARIABLE] == nil then mine.env[marks.VARIABLE] = self.table.path end
  return setmetatable(mine, getmetatable(workload))
end

function Marking:counts_whole(pass)
  return not lists.any(self.passes[pass].events, function(index)
    return not passes.takes_no_counter(self.events[index])
  end)
end

local MOST_THREADS = 4096       -- counts of more threads are recorded as their sum alone: a line has its limit

local function summed(readings, width)
  local sum = {}
  for i, word in ipairs(readings) do
    local at = (i - 1) % width + 1
    sum[at] = core.sum(sum[at], word)
  end
  return sum
end

-- A mark's sums over its threads: one part of the repetition.
local function sum_part(mark, result)
  local part, width = record.region_part(mark.name, result), 0
  part.threads, part.iterations, part.wall_ns = 0, mark.ended, 0
  for _, slot in ipairs(mark.slots) do
    part.wall_ns = part.wall_ns + slot.wall_ns
    if slot.ended > slot.uncounted then
      lists.append(part.readings, slot.reading)
      part.threads, width = part.threads + 1, #slot.reading
    end
  end
  if part.threads > MOST_THREADS then part.threads, part.readings = 1, summed(part.readings, width) end
  return part
end

-- Each kept entry of a mark as a part; where all are lost, one that says so.
local function entry_parts(mark, result)
  local list = lists.map(mark.entries, function(entry)
    local part = parts.entry(mark.name, result, entry.wall_ns, entry.reading)
    part.thread = entry.of and entry.of.thread
    return part
  end)
  if #list == 0 and mark.incomplete then list[1] = parts.entry(mark.name, result, nil, {}) end
  return list
end

-- The sums of each of its threads.
local function thread_parts(mark, result)
  local function name(slot) return slot.ended > 0 and slot.thread or nil end
  return lists.map(lists.groups(mark.slots, name), function(slots)
    local ended = lists.sum(slots, function(slot) return slot.ended end)
    local part = sum_part({ name = mark.name, slots = slots, ended = ended }, result)
    part.thread = slots.key
    return part
  end)
end

-- Where a part is an entry or a thread, the sums of all of them: a whole run has no less. nil: they are the parts.
local function sums_of(self, marks_read, result)
  if not (self.regions.entries or self.regions.by) then return nil end
  return lists.map(marks_read, function(mark)
    return mark.ended > 0 and not marks.has_moved(mark) and sum_part(mark, result) or nil
  end)
end

local function parts_of(self, mark, result)
  -- A mark that has moved has no entries: those seen belong to other marks.
  if marks.has_moved(mark) then
    mark = { name = mark.name, slots = {}, entries = {}, ended = 0, incomplete = mark.incomplete }
  end
  if self.regions.entries then return entry_parts(mark, result) end
  local is_divided = self.regions.by and mark.ended > 0 and mark.name ~= marks.EMPTY
  if is_divided then return thread_parts(mark, result) end
  return (mark.ended > 0 or mark.incomplete) and { sum_part(mark, result) } or {}
end

-- Names the threads of a run in the order in which they were made: "0", "1"; of several processes "0.0", "1.0".
local function name_threads(marks_read)
  local function was_made_before(a, b) return a.pid < b.pid or a.pid == b.pid and a.tid < b.tid end
  for _, mark in ipairs(marks_read) do table.sort(mark.slots, was_made_before) end
  local slots = lists.joined(lists.column(marks_read, "slots"))
  table.sort(slots, was_made_before)
  local processes = lists.groups(slots, function(slot) return slot.pid end)
  for process, its in ipairs(processes) do
    for thread, same in ipairs(lists.groups(its, function(slot) return slot.tid end)) do
      local name = (#processes > 1 and process - 1 .. "." or "") .. thread - 1
      for _, slot in ipairs(same) do slot.thread = name end
    end
  end
end

local function names_of(self, groups)
  return lists.map(lists.joined(lists.column(groups, "events")), function(index)
    return self.events[index].name
  end)
end

local function add_parts(self, into, marks_read, result, task)
  if self.regions.by then name_threads(marks_read) end
  for _, mark in ipairs(marks_read) do
    for _, part in ipairs(parts_of(self, mark, result)) do
      part.incomplete, part.task, part.host = mark.incomplete, task and task.rank, task and task.host
      into[#into + 1] = part
    end
  end
end

function Marking:around(pass, fn)
  if self.passes[pass].simulated then
    local result = fn()
    result.parts = result.called and parts.simulated(result) or {}
    return result
  end
  local groups = self.passes[pass].groups
  self.table:prepare(groups)
  local result = fn()
  local counted, facts = self.table:read()
  facts.unreached = result.unreached
  self.said:append(marks.remarks(counted, facts, names_of(self, groups)))
  result.parts, result.sums = {}, sums_of(self, counted, result)
  add_parts(self, result.parts, counted, result)
  return result
end

-- ---- tables of the tasks of a launched program ----

--- A table as each task gets it.
---@param groups table[]
---@return { layout: pmclua.core.MarkLayout, beginning: string, made_ns: number }
function Marking:table_for(groups)
  local layout = marks.layout(groups, self.regions.entries)
  return { layout = layout, beginning = marks.beginning(layout, groups), made_ns = core.now_ns() }
end

-- Makes process ids, which each node numbers for itself, those of one launch.
local PIDS = 2 ^ 22

local function merge(merged, marks_read, task)
  for _, mark in ipairs(marks_read) do
    local into = merged[mark.name]
    if not into then
      into = { name = mark.name, slots = {}, entries = {}, ended = 0 }
      merged[mark.name], merged[#merged + 1] = into, into
    end
    for _, slot in ipairs(mark.slots) do slot.pid = slot.pid + task.rank * PIDS end
    lists.append(into.slots, mark.slots)
    lists.append(into.entries, mark.entries)
    into.ended = into.ended + mark.ended
    into.incomplete = into.incomplete or mark.incomplete
      and ("rank %d: %s"):format(task.rank, mark.incomplete) or nil
  end
end

--- Adds the marks of all tasks to a repetition, as sums over them and of each task. Of entries there are those of all.
---@param whole table the repetition's result, which gets parts
---@param tasks pmclua.LaunchedTask[] each with `table`, the file; nil: it left none
---@param groups table[]
---@param made table of table_for
function Marking:take_tables(whole, tasks, groups, made)
  local merged, all, names, lost = {}, {}, names_of(self, groups), nil
  for _, task in ipairs(tasks) do
    local counted, facts = {}, { damage = "there is nothing" }
    if task.table then counted, facts = marks.read(task.table, made.layout, core.now_ns() - made.made_ns) end
    facts.unreached = task.result.unreached
    self.said:append(marks.remarks(counted, facts, names))
    local loss = marks.loss(facts)
    lost = lost or loss and ("rank %d: %s"):format(task.rank, loss)
    merge(merged, counted, task)
    if not self.regions.entries then add_parts(self, all, counted, task.result, task) end
  end
  -- A rank's loss may belong to any mark.
  for _, mark in ipairs(merged) do mark.incomplete = mark.incomplete or lost end
  add_parts(self, whole.parts, merged, whole)
  lists.append(whole.parts, all)
end

function Marking:remarks() return self.said end
function Marking:close()
  if self.table then self.table:close() end
end

return M
