--- launching.lua: repetitions that are launches: a launcher starts the program's tasks, each is counted where it runs, and
-- their sum is the repetition.
--
-- Invariant: the launcher's own work is in no count; its time from start to end is the repetition's. A repetition whose
-- tasks did not all leave their counts has none, and says why.

local core = require "pmclua.core"
local launches = require "pmclua.workload.launch"
local hosts = require("pmclua.base.lazy").module "pmclua.result.hosts"
local lists = require "pmclua.base.lists"
local marking = require("pmclua.base.lazy").module "pmclua.experiment.marking"
local remarks = require "pmclua.base.remarks"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.Launching: pmclua.Counter
local Launching = {}
Launching.__index = Launching

---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@return pmclua.Launching
function M.new(declaration, plan)
  local accounts = require("pmclua.event.tool").accounts_of(declaration.events)
  local events, regions = declaration.events, declaration.regions
  return setmetatable({ launch = launches.new(), passes = plan.passes, events = events, said = remarks.new(),
    take = next(accounts) and core.take(accounts) or nil,
    marking = regions and marking.new(regions, plan.passes, events, true) }, Launching)
end

function Launching:workload(workload) return self.launch:command(workload) end

-- Here nothing is counted but the launch's time.
function Launching.counts_whole() return false end

-- ---- the sum ----

local SUMMED = { "user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches",
  "involuntary_switches", "on_cpu_ns", "wait_ns", "off_cpu_ns", "read_bytes", "write_bytes", "read_chars",
  "write_chars", "read_calls", "write_calls" }

-- A loss in one task's counts is a loss of the sum.
local LACKING = { "dropped", "unseen", "left", "launcher" }

-- Drops the launcher's own counts: it is not the program.
local function forget_own(whole)
  for _, name in ipairs(lists.joined { SUMMED, LACKING }) do whole[name] = nil end
  whole.max_rss_bytes, whole.readings, whole.threads = nil, {}, 0
end

local function take_lacking(whole, tasks)
  for _, task in ipairs(tasks) do
    for _, name in ipairs(LACKING) do whole[name] = whole[name] or task.result[name] end
  end
end

local function add_up(whole, tasks)
  for _, name in ipairs(SUMMED) do
    for _, task in ipairs(tasks) do whole[name] = core.sum(whole[name], task.result[name]) end
  end
  for _, task in ipairs(tasks) do
    lists.append(whole.readings, task.result.readings)
    local peak = task.result.max_rss_bytes
    if peak then whole.max_rss_bytes = math.max(whole.max_rss_bytes or 0, peak) end
  end
  whole.threads, whole.of_ranks = #tasks, true
end

local REFUSAL = { "outcome", "errnum", "stage", "output", "failure" }

-- A task that ended badly where the launcher does not say so.
local function take_ending(whole, tasks)
  if whole.outcome ~= "done" and whole.outcome ~= "signalled" then return end
  for _, task in ipairs(tasks) do
    local result = task.result
    if task.refused or result and result.outcome == "not-started" then
      local why = task.refused or result
      for _, name in ipairs(REFUSAL) do whole[name] = why[name] end
      whole.refused_by = ("rank %d on %s"):format(task.rank, text.safe(task.host))
      return
    end
    local is_bad = result and (result.outcome ~= "done" or result.exit ~= 0)
    if is_bad and whole.outcome == "done" and whole.exit == 0 then
      whole.outcome, whole.exit, whole.signal = result.outcome, result.exit, result.signal
    end
  end
end

-- ---- events that mean something else on a node ----

-- Takes the counts of such groups out of a task's readings: as lost, so that no sum has them. The first reason.
local function drop_unlike(self, task, groups)
  local at, why = 1, nil
  for _, group in ipairs(groups) do
    local unlike
    for _, index in ipairs(group.events) do
      unlike = unlike or launches.unlike(self.events[index], task)
    end
    if unlike and task.result.readings[at] then
      task.result.readings[at], task.result.readings[at + 1] = 1, 0
    end
    why, at = why or unlike, at + 2 + #group.events
  end
  return why
end

-- On which CPUs tasks ran, if there are several models.
local function different_cpus(tasks)
  local models = lists.groups(tasks, launches.cpu)
  return #models > 1 and "its ranks ran on different CPUs: "
    .. table.concat(lists.map(models, function(group)
      return ("%s (%s)"):format(text.safe(group.key), text.safe(hosts.folded(lists.column(group, "host"))))
    end), "; ")
end

-- ---- marks ----

-- The marks of each task, read from the tables that they left.
local function add_marks(self, whole, tasks, groups, made)
  for _, task in ipairs(tasks) do task.table = core.open_plain(task.marks) end
  local ok, problem = pcall(self.marking.take_tables, self.marking, whole, tasks, groups, made)
  for _, file in ipairs(lists.column(tasks, "table")) do file:close() end
  if not ok then error(problem, 0) end
end

-- ---- a repetition ----

local function groups_of(self, pass)
  if self.marking and not self.marking:counts_whole(pass) then return {} end
  return self.passes[pass].groups
end

local function files_of(self, pass)
  return lists.unique(lists.joined(lists.map(self.passes[pass].events, function(index)
    return launches.files_of(self.events[index])
  end)))
end

-- How many tasks there must be, where a level says so.
local function expected_of(cell)
  local is_said = lists.any(cell.workload.launch or {}, function(word)
    return word:find("{ranks}", 1, true) ~= nil
  end)
  return is_said and tonumber(cell.levels.ranks) or nil
end

local function settle(self, whole, cell, pass, made)
  local tasks, lacks = self.launch:collect(expected_of(cell))
  local groups, ended = groups_of(self, pass), lists.where(tasks, function(task) return task.result end)
  forget_own(whole)
  take_ending(whole, tasks)
  take_lacking(whole, ended)
  for _, task in ipairs(ended) do
    if #task.result.readings > 0 then lacks = lacks or drop_unlike(self, task, groups) end
  end
  whole.parts = lists.map(ended, function(task)
    local part = task.result
    part.field, part.value, part.host = "task", task.rank, task.host
    return part
  end)
  local function say(remark) self.said:add(text.safe(cell.workload.name) .. ": " .. remark) end
  local cpus = different_cpus(ended)
  if cpus then say(cpus) end
  if lacks then
    whole.incomplete = lacks
    say(lacks)
  else
    add_up(whole, ended)
  end
  if self.marking and not lacks then add_marks(self, whole, ended, self.passes[pass].groups, made) end
  return whole
end

function Launching:around(pass, fn, cell)
  local asked = { take = self.take, groups = groups_of(self, pass), files = files_of(self, pass) }
  local made = self.marking and self.marking:table_for(self.passes[pass].groups)
  if made then asked.table, asked.table_bytes = made.beginning, made.layout.bytes end
  self.launch:prepare(cell.workload, cell.levels, asked)
  local whole = fn()
  if whole.outcome == "not-started" then whole.program = (cell.workload.launch or {})[1] end
  if whole.lost or whole.outcome == "interrupted" or whole.outcome == "not-started" then return whole end
  return settle(self, whole, cell, pass, made)
end

function Launching:remarks()
  if self.marking then self.said:append(self.marking:remarks()) end
  return self.said
end

function Launching:close()
  if self.marking then self.marking:close() end
  self.launch:close()
end

return M
