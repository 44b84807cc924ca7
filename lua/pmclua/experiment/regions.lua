--- regions.lua: a command run once for each pass over its events, with the calls of its regions followed.
--
--     local result = regions.result("./parse large.json", { regions = { "parse" } })
--     print(result:calls():region("parse"):quantile("page_faults", 0.5))

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local following = require "pmclua.experiment.following"
local lists = require "pmclua.base.lists"
local probing = require "pmclua.experiment.probing"
local records = require "pmclua.experiment.record"
local refused = require "pmclua.experiment.refused"
local result_regions = require "pmclua.result.regions"
local results = require "pmclua.result"
local units = require "pmclua.base.units"

local M = {}

local DEFAULT_EVENTS = { "instructions", "cycles", "page-faults" }

-- The workload and events as an experiment of one repetition; raises the mistakes in its events.
local function declaration_of(workload, options)
  local declaration, mistakes = require("pmclua.experiment.declare").check({ name = "regions",
    workloads = { "true" }, events = options.events or DEFAULT_EVENTS, repetitions = 1, warmup = 0,
    on_failure = "keep" }, {})
  if #mistakes > 0 then
    error(explain.problem { code = "EINVAL", message = table.concat(mistakes, "\n") }, 0)
  end
  declaration.workloads, declaration.regions = { workload }, following.target(workload.spec)
  return declaration
end

-- ---- running -------------------------------------------------------------------------------------------

--- Columns of a call by field of the pass's events; they follow duration, enabled and running.
local function columns_of(pass, events)
  local columns, at = {}, 3
  for _, group in ipairs(pass.groups) do
    for _, index in ipairs(group.events) do
      at = at + 1
      columns[events[index].field] = at
    end
  end
  return columns
end

--- Why a run has no calls to show; nil where it has.
local function failure(result, pass, events, workload)
  local why = refused.problem(result, pass.groups, events)
    or require("pmclua.workload.region").refusal(result)
  if why or result.regions then return why end
  if result.outcome == "not-started" then
    return explain.system(result.errnum, "execute", workload.argv[1])
  end
  return explain.problem { code = "EWORKLOAD", operation = "run",
    message = ("%s: %s"):format(workload.name, workload:complaint(result) or result.outcome) }
end

-- Runs a workload once, with the events of a pass: what the runner answered.
local function run_once(self, workload, pass, limits)
  local session = self.session
  local result = session:run_only(function(message)
    workload:define(message, {}, { session = session, pin = limits.pin })
  end, { timeout_ns = limits.timeout_ns,
    events = #pass.groups > 0 and session:events(pass.groups) or nil })
  local why = failure(result, pass, self.events, workload)
  if why then error(why, 0) end
  return result
end

local CALIBRATION = { timeout_ns = 20e9 }

--- Probing costs with the events of a pass, by region and column; and why some are unknown.
local function calibrate(self, pass)
  return probing.measure(self.regions, self.workload.spec, function(functions)
    return run_once(self, functions, pass, CALIBRATION)
  end)
end

-- How long one probe takes: half of a call's two.
local function hit_ns_of(costs)
  local most
  for _, columns in pairs(costs) do most = math.max(most or 0, columns[1].both / 2) end
  return most
end

-- The run of a pass. What probes cost is measured right before it and right after.
local function run_pass(self, pass)
  local costs, unknown = {}, nil
  if self.is_calibrated then costs, unknown = calibrate(self, pass) end
  if self.workload.duty then self.workload.hit_ns = hit_ns_of(costs) end
  for i, region in ipairs(self.regions) do region.costs = costs[i] and probing.for_runner(costs[i]) end
  local result = run_once(self, self.workload, pass, self.limits)
  if self.workload.put_loading then self.workload:put_loading(result.regions) end
  local has_calls = lists.any(result.regions, function(region) return region.entries ~= 0 end)
  if next(costs) and has_calls and core.interrupts() == 0 then
    probing.add_drift(costs, (calibrate(self, pass)))
  end
  result.regions.costs, result.regions.cost_unknown = costs, unknown
  following.complete(self.regions, result, columns_of(pass, self.events))
  return result
end

-- The records of a pass: of the whole run, and of each region.
local function records_of(self, number, pass, result)
  local step = { cell = self.plan.cells[1], pass = number, index = 1, order = number, warmup = false }
  local record = records.new(step, result, pass, self.events)
  record.followed = result.regions
  result.parts = following.parts(result_regions.new(self.workload.name, self.events, { record }), result)
  return lists.joined { { record }, records.parts(step, result, pass, self.events) }
end

local function run_passes(self)
  for number, pass in ipairs(self.plan.passes) do
    local result = run_pass(self, pass)
    for _, record in ipairs(records_of(self, number, pass, result)) do
      record.host = self.host
      self.take(record)
    end
    if core.interrupts() > 0 or result.regions.target_ended ~= 0 then break end
  end
end

-- ---- the whole -----------------------------------------------------------------------------------------

local MILLION = 1e6

--- A bound in parts per million, of "5%".
local function duty_of(value)
  local share = units.share(value)
  if share == 0 or share > 1 then
    explain.misuse(("pmc.regions: duty must be above 0 and at most 100%%, not %s"):format(value), 4)
  end
  return math.max(1, math.floor(share * MILLION))
end

-- Ends the run of a process at the first interrupt: nothing else would.
local function run_until_interrupt(self)
  local session, asked = self.session, false
  return session:looking(function()
    if core.interrupts() > 0 and not asked then
      asked = true
      session:stop()
    end
  end, run_passes, self)
end

-- A tracepoint costs next to nothing beside a probe of the code.
local function has_probes(regions)
  return lists.any(lists.joined(lists.column(regions, "points")), function(point) return point.file end)
end

-- Runs everything: a result, stored where that is asked for.
local function run_all(self, declaration, options)
  local header = require("pmclua.experiment.plan").header(declaration, self.plan)
  header.regions.subtracted = options.subtract or nil
  local file = require("pmclua.experiment.result_file").open({ store = options.store or false }, header)
  local result = results.new(header)
  function self.take(record)
    file:add(record)
    results.add(result, record)
  end
  local ok, why = pcall(self.workload.kind == "process" and run_until_interrupt or run_passes, self)
  local signal = core.interrupts() > 0 and core.interrupt_signal() or nil
  local status = ok and not signal and "complete" or "interrupted"
  file:finish(status, { waits = {}, remarks = {} })
  if not ok then error(why, 0) end
  require("pmclua.result.ending").set(result, status, file.problem, signal)
  result.path = file.path
  return result
end

--- The command, or the process, with its regions.
local function workload_of(command, spec, options)
  local target = require "pmclua.counting.target"
  if target.is(command) then
    if command.kind ~= "process" or #command.ids > 1 then
      explain.misuse("pmc.regions follows a command or one process, pmc.pid(N)", 3)
    end
    local workload = require("pmclua.workload.region_process").of(command.ids[1], spec)
    workload.duty = options.duty and duty_of(options.duty)
    return workload
  end
  if options.duty or options.duration then
    explain.misuse("pmc.regions: duty and duration are for a process that runs already, pmc.pid(N)", 3)
  end
  local workload, why = require("pmclua.workload").from(command)
  if not workload then explain.misuse(why, 3) end
  return require("pmclua.workload.region").of(workload, spec)
end

local function check_spec(value)
  local spec, mistakes = require("pmclua.workload.region").check(value or {})
  if #mistakes > 0 then explain.misuse(table.concat(mistakes, "\n"), 3) end
  return spec
end

--- Runs a command and follows the calls of its regions; or those of a process that runs already, for a
--- while (`duration`; else until an interrupt, or its end).
---@param command string|function|table a command string, pmc.command{…}, or pmc.pid(N); a function is refused
---@param options { regions: string|table, events?: string|string[], timeout?: number|string, pin?: string,
---   calibrate?: boolean, subtract?: boolean, duration?: number|string, duty?: string, store?: string }  calibrate:
---   false leaves the cost of probing unmeasured; subtract: what probing costs is taken off the numbers of calls; duty:
---   the share of its time that a process may lose by being followed, as "5%"; store: a new file
---@return pmclua.Result  of one repetition, with calls(); raises where something cannot be followed or counted
function M.result(command, options)
  local workload = workload_of(command, check_spec(options.regions), options)
  local problem = workload:problem {}
  if problem then error(problem, 0) end
  local regions, declaration = workload:regions {}, declaration_of(workload, options)
  local plan = require("pmclua.experiment.plan").make(declaration)
  local limit = options.timeout or options.duration
  local seconds = limit and units.seconds(limit)
  local session = require("pmclua.workload.session").new()
  local caught = core.catch_interrupts "count"
  local ok, result = pcall(run_all, { session = session, workload = workload, regions = regions, plan = plan,
    events = declaration.events, host = require("pmclua.host.machine").line "/proc/sys/kernel/hostname",
    is_calibrated = options.calibrate ~= false and has_probes(regions),
    limits = { pin = options.pin, timeout_ns = seconds and seconds * 1e9 } }, declaration, options)
  core.catch_interrupts(caught, ok)
  session:close()
  return ok and result or error(result, 0)
end

--- The calls alone.
---@param command string|table
---@param options table as of M.result
---@return pmclua.Regions
function M.measure(command, options) return M.result(command, options):calls() end

return M
