--- sampling.lua: passes in which an event is sampled: how many events lie between two samples, and a profile of each
--- repetition.
--
-- Such a pass counts nothing else. Its period is drawn anew for each repetition, around a mean that follows from what
-- the event counted before in the same cell; where nothing is known yet, a run that is not recorded finds it out.

local make = require "pmclua.profile.make"
local period = require "pmclua.profile.period"
local random = require "pmclua.stats.random"

---@class pmclua.Sampling
---@field remarks string[]
local Sampling = {}
Sampling.__index = Sampling

local M = {}

---@param events pmclua.Event[]
---@param index integer of the sampled one
local function pass_of(events, index)
  local group = { attrs = { { inherit = 1 } }, events = { index } }
  for name, value in pairs(events[index].opened) do group.attrs[1][name] = value end
  return { groups = {}, events = {}, sampled = index, sampled_groups = { group, is_sampled = true } }
end

--- Adds the passes in which the events of `sample` are sampled, those that open here.
---@param list pmclua.Pass[]
---@param declaration pmclua.Declaration
function M.add_passes(list, declaration)
  for _, name in ipairs(declaration.sample or {}) do
    for index, event in ipairs(declaration.events) do
      if event.field == name and event.opened and not event.why then
        list[#list + 1] = pass_of(declaration.events, index)
      end
    end
  end
end

---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param session pmclua.Session
---@return pmclua.Sampling? nil: nothing is sampled
function M.new(declaration, plan, session)
  if not declaration.sample then return nil end
  local has_any = false
  for _, pass in ipairs(plan.passes) do has_any = has_any or pass.sampled ~= nil end
  if not has_any then return nil end
  return setmetatable({ events = declaration.events, passes = plan.passes, session = session, counted = {},
    ring_bytes = declaration.sample.ring_bytes,
    periods = random.new(declaration.seed, "periods"), remarks = {}, seen = {},
    attribution = require("pmclua.profile.attribute").new() }, Sampling)
end

local function note(self, cell, index, count, cpu_ns)
  self.counted[cell] = self.counted[cell] or {}
  self.counted[cell][index] = { count = tonumber(count), cpu_seconds = cpu_ns / 1e9 }
end

local function cpu_ns(of) return tonumber((of.user_ns or 0) + (of.system_ns or 0)) end

-- What a repetition counted: the next sampled ones take their period from it.
local function note_counts(self, record)
  for _, pass in ipairs(self.passes) do
    local count = pass.sampled and record.counts[pass.sampled]
    if count then note(self, record.cell, pass.sampled, count, cpu_ns(record)) end
  end
end

-- No event is counted so often: then nothing is sampled, and the run tells the count.
local NEVER = 2 ^ 52

local function set_of(self, pass, events_between)
  return self.session:events(pass.sampled_groups, { period = events_between, ring_bytes = self.ring_bytes })
end

-- The event set of a repetition; `run(set)` runs its workload once.
local function events_of(self, step, run)
  local pass, cell = self.passes[step.pass], step.cell.index
  local index = pass.sampled
  local known = self.counted[cell] and self.counted[cell][index]
  if not known then
    local result = run(set_of(self, pass, NEVER))
    local total = result.profile and result.profile.total or 0
    known = { count = tonumber(total), cpu_seconds = cpu_ns(result) / 1e9 }
    if result.profile then note(self, cell, index, total, cpu_ns(result)) end
  end
  local mean = period.mean(self.events[index], known.count, known.cpu_seconds)
  return set_of(self, pass, period.draw(mean, self.periods))
end

--- Runs a step's workload, sampled.
---@param step table of plan.steps
---@param job table for Session:run
---@return table result
function Sampling:run(step, job)
  local function run_once(events)
    job.events = events
    return self.session:run(job)
  end
  return run_once(events_of(self, step, run_once))
end

local function remark(self, form, ...)
  local text = form:format(...)
  if self.seen[text] then return end
  self.seen[text] = true
  self.remarks[#self.remarks + 1] = text
end

local function remark_on(self, found, event)
  if found.lost > 0 then
    remark(self, "%s: samples were lost, as their rings were full: they are a line of the rest; "
      .. "larger ones: sample.ring_bytes (%d here)", event.name, found.ring_bytes)
  end
  if found.news_lost > 0 then
    remark(self, "%s: records of mapped files were lost: some samples may be unmapped, or attributed wrongly",
      event.name)
  end
end

-- The file of the program that is executed, as Linux names it where it is mapped.
local function program_of(cell)
  local path = cell.workload.program and cell.workload:program(cell.levels)
  return path and require("pmclua.core").real_path(path)
end

-- The profile of a result; nil where it was not counted.
local function profile_of(self, step, result)
  local found = result.profile
  if not found then return nil end
  local event = self.events[self.passes[step.pass].sampled]
  remark_on(self, found, event)
  if result.outcome == "done" then
    note(self, step.cell.index, self.passes[step.pass].sampled, found.total, cpu_ns(result))
  end
  self.attribution:forget_processes()
  local profile = make.new(found, { name = event.name, unit = event.unit, attr = event.opened },
    self.attribution)
  profile.program = program_of(step.cell)
  for _, said in ipairs(self.attribution.remarks) do remark(self, "%s", said) end
  return profile
end

--- Takes in a repetition: what it counted, and the record of a sampled one gets its profile.
---@param record table
---@param step table
---@param result table of Session:run
function Sampling:note(record, step, result)
  if record.outcome == "done" then note_counts(self, record) end
  if self.passes[step.pass].sampled then record.profiles = { profile_of(self, step, result) } end
end

function Sampling:close() self.attribution:close() end

return M
