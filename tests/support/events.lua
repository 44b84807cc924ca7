--- events.lua: reads event specs on the recorded machines of fixtures/perf.

local event = require "pmclua.event"
local support = require "tests.support"

local M = {}

local perf = support.fixture "perf"

local function options(fixture, more)
  return support.merged({ sysfs = perf .. "/sysfs/" .. (fixture or "x86_intel"),
    tracefs = perf .. "/tracefs" }, more)
end

--- The events of a spec; raises where it is rejected.
---@param spec string
---@param fixture? string a machine of fixtures/perf/sysfs; default x86_intel
---@param more? table options of event.parse
function M.parse(spec, fixture, more)
  local events, problem = event.parse(spec, options(fixture, more))
  return assert(events, problem and ("%s at %d"):format(problem.message, problem.position))
end

--- The one event of a spec.
function M.one(spec, fixture, more)
  local events = M.parse(spec, fixture, more)
  assert(#events == 1, spec)
  return events[1]
end

--- Why a spec is rejected.
function M.rejected(spec, fixture, more)
  local events, problem = event.parse(spec, options(fixture, more))
  assert(not events, spec .. " was accepted")
  return problem
end

--- One field of each event; false where one has none.
function M.column(events, key)
  local values = {}
  for i, each in ipairs(events) do values[i] = each[key] or false end
  return values
end

return M
