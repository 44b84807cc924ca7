--- where.lua: where a command's events were counted, function by function, or where B's differ from A's.

local checking = require "pmclua.base.arguments"
local explain = require "pmclua.explain"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"

local M = {}

local PAIRS = 30                -- repetitions where two are compared and nobody says how many

-- Why a cell has no profile, or of all why no run has; nil: they have.
local function nothing_sampled(result)
  local profiles = require "pmclua.result.profiles"
  local events = profiles.events(result)
  local function is_bare(cell) return next(profiles.by_index(result, cell.number, events[1])) == nil end
  local bare = lists.where(result:list(), is_bare)
  if #events > 0 and #bare == 0 then return nil end
  local failed = lists.find(bare, function(cell) return cell.first_failure ~= nil end)
  local refused = lists.find(result.events, function(event) return event.why end)
  local why = failed and ("%s: %s"):format(failed.workload, failed.first_failure.why)
    or profiles.why_absent(result) or refused and refused.why
  return explain.problem { code = why and "EUNSUPPORTED" or "EWORKLOAD", operation = "sample",
    message = why or "no run of the command was sampled to its end" }
end

-- Options alone, of a target that is sampled for some time.
local function has_target(value)
  return type(value) == "table" and not getmetatable(value) and value.target ~= nil and value[1] == nil
end

local function split(...)
  if select("#", ...) == 1 and has_target((...)) then return {}, (...) end
  return checking.split(...)
end

-- The key sample: the events, and what is wanted of each sample.
local function sampled(options)
  -- CPU time where there is no PMU.
  local event = options.event or not options.data and require("pmclua.event").available "cycles" and "cycles"
    or "cpu-clock"
  local key = type(event) == "table" and { unpack(event) } or { event }
  for _, name in ipairs { "call_chains", "lines", "trust_maps", "data", "heap", "confirm" } do
    key[name] = options[name]
  end
  return key
end

local function declaration_of(workloads, options)
  local first = workloads[1] ~= nil and require("pmclua.workload").from(workloads[1]) or nil
  if first then workloads[1] = first end
  local is_pair, has_command = #workloads == 2, #workloads > 0
  if not has_command then
    -- While a target is sampled somebody waits: for `duration`, until the target ends, or until a signal comes.
    local target, duration = options.target, options.duration
    local seconds = duration and require("pmclua.base.units").seconds(duration)
    workloads = { [target.name] = function() target:wait(seconds) end }
  end
  return { name = "where", workloads = workloads, baseline = is_pair and first and first.name or nil,
    sample = sampled(options),
    repetitions = options.repetitions or (is_pair and PAIRS or 1), warmup = options.warmup or 0,
    seed = options.seed, timeout = options.timeout, pin = options.pin,
    layout = options.layout, simulation = options.simulation, target = options.target,
    on_failure = has_command and "keep" or "stop" }
end

--- Samples a command: pmc.where("ls", { event = "page-faults" }); or compares B with A, interleaved:
--- pmc.where("./old", "./new", { repetitions = 30 }); or samples a target, for a while or while a command runs:
--- pmc.where { target = pmc.pid(1), duration = "1s" }.
---@param ... string|function|table one or two command strings or commands, then options if any: { event?: string|string[],
---   repetitions?: integer, warmup?: integer, seed?: integer, timeout?: number|string, pin?: string,
---   layout?: string|table, call_chains?: boolean, lines?: boolean, target?: pmclua.Target, duration?: number|string,
---   store?: string, quiet?: boolean }
---@return pmclua.CodeResult of the first event; `result:where(EVENT)` has the others
function M.where(...)
  local workloads, options = split(...)
  if #workloads > 2 then explain.misuse("pmc.where takes one workload, or two to compare", 2) end
  if #workloads == 0 and not options.target then
    explain.misuse("pmc.where takes a workload, two to compare, or a target", 2)
  end
  local declaration = declaration_of(workloads, options)
  local can_confirm = #workloads == 1 and not options.target
    and kinds.of(workloads[1].kind).takes["sample.confirm"]
  if options.confirm and not (options.data and can_confirm) then
    explain.misuse("confirm is for the data of one command: { data = true, confirm = true }", 2)
  end
  local experiment = require("pmclua.experiment").declare(declaration)
  local result = experiment:run { store = options.store or false, quiet = options.quiet ~= false }
  if result.problem then error(result.problem, 0) end
  local problem = nothing_sampled(result)
  if problem then error(problem, 0) end
  return result:where()
end

return M
