--- marking.lua: repetitions whose counts are those of the marks in the program (pmclua_mark.h).
--
-- Each thread of the program counts itself. The whole run is counted, too, but only by events that need no counter
-- of a PMU: others would take counters from the marks.

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

--- What `regions = "marks"` says, or `{ "marks", entries = true }`: then each entry of a mark is a value,
--- instead of a run's sum.
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
    if key ~= 1 and key ~= "entries" then
      local said = 'regions has no \'%s\'; it is "marks" or { "marks", entries = true }'
      return nil, said:format(tostring(key))
    end
  end
  local entries, why = parts.entries(value.entries)
  if why then return nil, why end
  return setmetatable({ kind = "marks", entries = entries }, Regions)
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
  return parts.not_a_command(workloads, 'regions = "marks" is for commands; %s is a %s')
end

---@param regions pmclua.MarkRegions
---@param planned { groups: table[] }[]
---@param events pmclua.Event[]
---@return pmclua.Marking
function M.new(regions, planned, events)
  return setmetatable({ regions = regions, passes = planned, events = events, said = remarks.new(),
    table = marks.new { entries = regions.entries } }, Marking)
end

-- With the table in its environment, unless the script says another.
function Marking:workload(workload)
  local mine = lists.copy(workload)
  mine.env = lists.copy(workload.env or {})
  if mine.env[marks.VARIABLE] == nil then mine.env[marks.VARIABLE] = self.table.path end
  return setmetatable(mine, getmetatable(workload))
end

function Marking:counts_whole(pass)
  return not lists.any(self.passes[pass].events, function(index)
    return not passes.takes_no_counter(self.events[index])
  end)
end

-- A mark's sums over all its threads: one part of the repetition.
local function sum_part(mark, result)
  local part = record.region_part(mark.name, result)
  part.threads, part.iterations, part.wall_ns = 0, mark.ended, 0
  for _, slot in ipairs(mark.slots) do
    part.wall_ns = part.wall_ns + slot.wall_ns
    if slot.ended > slot.uncounted then
      lists.append(part.readings, slot.reading)
      part.threads = part.threads + 1
    end
  end
  return part
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
  local found, facts = self.table:read()
  result.parts = {}
  for _, mark in ipairs(found) do
    if marks.has_moved(mark) then mark = { name = mark.name, slots = {}, entries = {}, ended = 0 } end
    if self.regions.entries then
      for _, entry in ipairs(mark.entries) do
        table.insert(result.parts, parts.entry(mark.name, result, entry.wall_ns, entry.reading))
      end
    elseif mark.ended > 0 then
      table.insert(result.parts, sum_part(mark, result))
    end
  end
  local names = lists.map(lists.joined(lists.column(groups, "events")), function(index)
    return self.events[index].name
  end)
  self.said:append(marks.remarks(found, facts, names))
  return result
end

function Marking:remarks() return self.said end
function Marking:close() self.table:close() end

return M
