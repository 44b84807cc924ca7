--- regions.lua: a command run once for each pass over its events, with the calls of its regions followed.
--
--     local result = regions.measure("./parse large.json", { regions = { "parse" } })
--     print(result:region("parse"):quantile("page_faults", 0.5))

local core = require "pmclua.core"
local explain = require "pmclua.explain"

local M = {}

M.DEFAULT_EVENTS = { "instructions", "cycles", "page-faults" }

local OPTIONS = { regions = "table|string", events = "table|string", timeout = "number|string",
  pin = "string", calibrate = "boolean", session = "table" }

-- ---- what is counted -----------------------------------------------------------------------------------

local function parse_events(list)
  local event = require "pmclua.event"
  local events = {}
  for _, spec in ipairs(type(list) == "string" and { list } or list) do
    local found, problem = event.parse(spec)
    if not found then error(explain.problem { code = "EINVAL", message = explain.spec(spec, problem) }, 0) end
    for _, item in ipairs(found) do
      if not item.tool then events[#events + 1] = item end
    end
  end
  return events
end

--- Passes that hold all that can be counted; one without groups where nothing can.
local function plan_passes(events)
  local passes = require("pmclua.experiment.passes").plan(events, "rerun")
  for i, pass in ipairs(passes) do
    if #pass.groups == 0 or #pass.groups[1].attrs == 0 then pass.groups = {} end
    if i > 1 and #pass.groups == 0 then passes[i] = nil end
  end
  return passes
end

-- ---- running -------------------------------------------------------------------------------------------

--- Which column of a call an event of a pass is: after duration, enabled and running.
local function columns_of(pass)
  local columns, at = {}, 3
  for _, group in ipairs(pass.groups) do
    for _, index in ipairs(group.events) do
      at = at + 1
      columns[index] = at
    end
  end
  return columns
end

local function refusal(result, pass, events)
  if result.outcome ~= "not-counted" then return nil end
  local failure = result.failure
  local group = pass.groups[failure.group]
  local index = group and group.events[failure.index]
  failure.event = index and events[index].name
  return explain.open(failure)
end

--- Why a run has nothing to show; nil when it has.
local function failure(result, pass, events, workload)
  local why = refusal(result, pass, events) or require("pmclua.workload.region").refusal(result)
  if why or result.regions then return why end
  if result.outcome == "not-started" then
    return explain.system(result.errnum, "execute", workload.argv[1])
  end
  return explain.problem { code = "EWORKLOAD", operation = "run",
    message = ("%s: %s"):format(workload.name, workload:complaint(result) or result.outcome) }
end

local function run_pass(session, id, pass, events, workload, timeout_ns)
  local set = #pass.groups > 0 and session:events(pass.groups) or nil
  local result = session:run { workload = id, events = set, timeout_ns = timeout_ns }
  local why = failure(result, pass, events, workload)
  if why then error(why, 0) end
  return { result = result, columns = columns_of(pass) }
end

local function run_passes(session, workload, passes, events, options)
  local id = session:workload(function(message)
    workload:define(message, {}, { session = session, pin = options.pin })
  end)
  local runs = {}
  for i, pass in ipairs(passes) do
    runs[i] = run_pass(session, id, pass, events, workload, options.timeout_ns)
    if core.interrupts() > 0 then break end
  end
  session:forget(id)
  return runs
end

-- ---- the cost of probing -------------------------------------------------------------------------------

local EMPTY, EMPTY_CALLS = "pmclua_empty_call", 1000

--- What probing reads of an empty function, probed in the same way; nil and why it is not known.
local function calibrate(session, spec, passes, events)
  local region, runner = require "pmclua.workload.region", require("pmclua.paths").runner()
  local command = require "pmclua.workload.command"
  command = command.new { runner, "empty-calls", tostring(EMPTY_CALLS) }
  local workload = region.of(command, { items = { { pattern = EMPTY, returns = spec.returns } },
    threads = spec.threads, returns = spec.returns })
  local ok, runs = pcall(function() return run_passes(session, workload, passes, events, {}) end)
  if not ok then return nil, tostring(runs) end
  local result = require("pmclua.experiment.calls").new({ command = EMPTY, regions = workload:regions {},
    events = events }, runs)
  result[1].period_ns = result[1]:period()
  return result[1]
end

-- ---- the whole -----------------------------------------------------------------------------------------

local function run_all(session, workload, passes, events, options)
  local runs = run_passes(session, workload, passes, events, options)
  local result = require("pmclua.experiment.calls").new({ command = workload.name,
    regions = workload:regions {}, events = events }, runs)
  if options.calibrate ~= false then
    result.cost, result.cost_unknown = calibrate(session, workload.spec, passes, events)
  end
  return result
end

--- Runs a command and follows the calls of its regions.
---@param command string|table a command string, or pmc.command{…}
---@param options { regions: string|table, events?: string[], timeout?: number|string, pin?: string,
---   calibrate?: boolean, session?: pmclua.Session }  calibrate: false leaves the cost of probing unmeasured
---@return pmclua.RegionResult  raises where something cannot be followed or counted
function M.measure(command, options)
  local region = require "pmclua.workload.region"
  require("pmclua.workload.check").options("pmc.regions", options, OPTIONS)
  local workload, why = require("pmclua.workload").from(command)
  if not workload then explain.misuse(why, 2) end
  local mistakes = {}
  local spec = region.check(options.regions or {}, function(form, ...)
    mistakes[#mistakes + 1] = form:format(...)
  end)
  if #mistakes > 0 then explain.misuse(table.concat(mistakes, "\n"), 2) end
  workload = region.of(workload, spec)
  local problem = workload:problem {}
  if problem then error(problem, 0) end
  local events = parse_events(options.events or M.DEFAULT_EVENTS)
  local passes = plan_passes(events)
  local seconds = options.timeout and require("pmclua.experiment.keys").seconds(options.timeout)
  local session = options.session or require("pmclua.workload.session").new()
  local caught = core.catch_interrupts "count"
  local ok, result = pcall(run_all, session, workload, passes, events,
    { pin = options.pin, timeout_ns = seconds and seconds * 1e9, calibrate = options.calibrate })
  core.catch_interrupts(caught)
  if not options.session then session:close() end
  if not ok then error(result, 0) end
  return result
end

return M
