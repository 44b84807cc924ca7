--- where.lua: where a command's events were counted, function by function.

local checking = require "pmclua.base.arguments"
local explain = require "pmclua.explain"

local M = {}

--- What is sampled where nobody says what: cycles, or time on the CPU where there is no PMU.
---@return string
function M.default_event()
  return require("pmclua.event").available "cycles" and "cycles" or "cpu-clock"
end

---@class pmclua.Where what was found
---@field profiles pmclua.Profile[] of each repetition, each event
---@field result pmclua.Result
local Where = require("pmclua.base.methods").extend({}, "pmclua.Where")
Where.__index = Where
Where.__tostring = function(self) return self:report() end

local OPTIONS = { event = true, repetitions = true, warmup = true, seed = true, timeout = true, pin = true }

local function check_options(options)
  for key in pairs(options) do
    if not OPTIONS[key] then
      explain.misuse(("pmc.where has no option '%s'%s"):format(tostring(key),
        checking.meant(tostring(key), checking.keys(OPTIONS))), 3)
    end
  end
end

local function nothing_sampled(result, why)
  if why then return explain.problem { code = "EUNSUPPORTED", operation = "sample", message = why } end
  for _, event in ipairs(result.events) do
    if event.why then
      return explain.problem { code = "EUNSUPPORTED", operation = "sample", message = event.why }
    end
  end
  return explain.problem { code = "EWORKLOAD", operation = "sample",
    message = "no run of the command was sampled to its end" }
end

--- Samples a command: pmc.where("ls", { event = "page-faults", repetitions = 5 }).
---@param workload any a command string or a command
---@param options? { event?: string|string[], repetitions?: integer, warmup?: integer, seed?: integer,
---   timeout?: number|string, pin?: string }
---@return pmclua.Where
function M.where(workload, options)
  options = options or {}
  check_options(options)
  local found, why = setmetatable({ profiles = {} }, Where), nil
  local experiment = require("pmclua.experiment").declare { name = "where", workloads = { workload },
    sample = options.event or M.default_event(), repetitions = options.repetitions or 1,
    warmup = options.warmup or 0, seed = options.seed, timeout = options.timeout, pin = options.pin,
    on_failure = "keep" }
  found.result = experiment:run { store = false, quiet = true, each = function(record)
    if record.warmup or record.outcome ~= "done" then
      why = why or record.why
      return
    end
    for _, profile in ipairs(record.profiles or {}) do found.profiles[#found.profiles + 1] = profile end
  end }
  if found.result.problem then error(found.result.problem, 0) end
  if #found.profiles == 0 then error(nothing_sampled(found.result, why), 0) end
  return found
end

return M
