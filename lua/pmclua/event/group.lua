--- group.lua: turns "{a,b}:modifiers" into perf event groups.
--
-- Invariant: the members of a group are adjacent in the list, the leader first. If a member stands for events of
-- several PMUs, each PMU gets a group, because no group spans two; software events and tracepoints join the first.

local lists = require "pmclua.base.lists"
local modifier = require "pmclua.event.modifier"
local problem = require "pmclua.event.problem"

local M = {}

-- The PMUs for which a member of the group has been multiplied, in order.
local function multiplied_pmus(members)
  local multiplied = lists.joined(lists.where(members, function(events) return #events > 1 end))
  local pmus = lists.unique(lists.column(multiplied, "pmu"))
  return lists.where(pmus, function(pmu) return pmu ~= "tracepoint" end)
end

-- Lists of events, each of which is to be one group.
local function split_by_pmu(members)
  local groups, by_pmu = {}, {}
  for i, pmu in ipairs(multiplied_pmus(members)) do
    groups[i] = {}
    by_pmu[pmu] = groups[i]
  end
  groups[1] = groups[1] or {}
  for _, event in ipairs(lists.joined(members)) do table.insert(by_pmu[event.pmu] or groups[1], event) end
  return groups
end

local per_task = { hardware = true, cache = true, raw = true, pfm = true }

-- Events that count on some CPUs for all tasks do not go together with those that count a task.
local function check_cpus(events, entry)
  local bound, task_event
  for _, event in ipairs(events) do
    if event.cpus then
      if bound and bound.cpus ~= event.cpus then
        problem.raise(entry.brace, 1, "'%s' counts on CPUs %s and '%s' on %s: they cannot form one group",
          bound.name, bound.cpus, event.name, event.cpus)
      end
      bound = event
    elseif per_task[event.source] or event.core_cpus or event.pmu == "cpu" then
      task_event = event
    end
  end
  if bound and task_event then
    problem.raise(entry.brace, 1, "'%s' counts on CPUs %s for all tasks and '%s' counts tasks: "
      .. "they cannot form one group", bound.name, bound.cpus, task_event.name)
  end
end

-- Events read from the record belong to no group of the OS kernel: they stand behind the group.
local function counted_first(events)
  local ordered, others = {}, {}
  for _, event in ipairs(events) do table.insert(event.attr and ordered or others, event) end
  return lists.append(ordered, others)
end

--- Appends the events of a group to a list, with the group's modifiers and leaders. Raises a problem.
---@param list table[] events
---@param members table[][] the events of each member
---@param entry table of the grammar
function M.append(list, members, entry)
  for _, events in ipairs(split_by_pmu(members)) do
    check_cpus(events, entry)
    local leader
    for _, event in ipairs(counted_first(events)) do
      list[#list + 1] = event
      if event.attr then
        if entry.modifiers then modifier.apply(event, entry.modifiers, leader == nil) end
        event.leader = leader
        event.group = entry.name and entry.name.text or nil
        leader = leader or #list
      end
    end
  end
end

return M
