--- skid.lua: whether samples of an event stand where what they accessed can be found: directly behind the instruction that
--- was blocked. Tested on this CPU, once for each start of the machine.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local kept = require "pmclua.vendor.cache"
local packages = require "pmclua.base.packages"

local M = {}

local LEAST_SHARE, LEAST_SAMPLES = 0.9, 100
local MILLISECONDS, CLOCK_PERIOD, PERIOD = 200, 1e5, 100000

-- Events that tell the address themselves, as the sampler in C has it: faults, and what a PMU notes with precision.
local FAULTS = { [2] = true, [5] = true, [6] = true, [7] = true }

-- Whether each sample of an event tells what was accessed.
local function tells_addresses(event)
  local attr = event.opened
  if attr.type == 1 then return FAULTS[tonumber(attr.config)] == true end
  return (attr.precise_ip or 0) > 0
end

local function key_of(event)
  local boot = core.read_plain("/proc/sys/kernel/random/boot_id", 100) or ""
  return boot ~= "" and ("skid %s %s"):format(boot:match "%S+", event.name) or nil
end

local function measured(event)
  local key = key_of(event)
  local text = key and kept.load(key)
  local samples, behind = (text or ""):match "^(%d+) (%d+)$"
  if samples then return { samples = tonumber(samples), behind = tonumber(behind) } end
  local period = event.unit == "ns" and CLOCK_PERIOD or PERIOD
  local skid, failure = require("pmclua.core.data").skid(event.opened, period, MILLISECONDS)
  if skid and key then kept.keep(key, ("%d %d"):format(skid.samples, skid.behind)) end
  return skid, failure
end

local function refuse(event, why)
  error(explain.problem { code = "EUNSUPPORTED", operation = "sample", message =
    ("what %s's samples accessed cannot be found here: %s"):format(event.name, why),
    hint = "page faults tell their addresses everywhere: -e page-faults --data" }, 0)
end

--- Raises where samples of an event do not lead to data on this machine.
---@param event pmclua.Event that can be opened
function M.check(event)
  if tells_addresses(event) then return end
  if not core.can_load(packages.named("Capstone").library) then
    refuse(event, packages.missing("Capstone", ", which decodes instructions, is not installed"))
  end
  local skid, failure = measured(event)
  if not skid then
    if failure.code == "ENOTSUP" then refuse(event, "pmclua does not decode this machine's instructions") end
    failure.event = event.name
    error(explain.open(failure), 0)
  end
  if skid.samples < LEAST_SAMPLES then
    refuse(event, ("the test of this CPU had %d samples, too few"):format(skid.samples))
  end
  local share = skid.behind / skid.samples
  if share < LEAST_SHARE then
    refuse(event, ("of %d samples in a chain of loads %d %% stand directly behind the load, and %d %% are "
      .. "needed"):format(skid.samples, math.floor(100 * share), 100 * LEAST_SHARE))
  end
end

return M
