--- complete.lua: whether what was counted of a cell is enough to conclude from. Verdicts, limits, fits, ledgers and
-- sentences all ask here first.
--
-- Invariant: where this has a reason there is no conclusion, not a weaker one. A repetition that was counted in part,
-- for too short a time, or to an impossible number has no value at all (counting/reading.lua, values.lua).

local hotplug = require("pmclua.base.lazy").module "pmclua.counting.target.hotplug"
local lists = require "pmclua.base.lists"
local reading = require("pmclua.base.lazy").module "pmclua.counting.reading"
local text = require("pmclua.base.lazy").module "pmclua.base.text"
local values = require("pmclua.base.lazy").module "pmclua.result.values"

local M = {}

local LOST = 0.2            -- of the samples: the rest of them is no sample of all

--- The words for repetitions without a value.
---@param missing integer
---@param all integer
---@return string
function M.said(missing, all)
  return ("%d of %s have no value"):format(missing, text.plural(all, "repetition"))
end

--- Why the values that there are do not stand for all repetitions: half of these or more have none.
---@param missing integer
---@param all integer
---@return string?
function M.why_few(missing, all)
  return missing > 0 and 2 * missing >= all and M.said(missing, all) or nil
end

--- Why counts of a target are not all that there was to count: CPUs came or went. Counts of the workload itself move
--- with it.
---@param remarks? string[] on the run
---@param events pmclua.CodedEvent[] what is counted
---@return string?
function M.why_cpus(remarks, events)
  local are_of_cpus = lists.any(events, function(event) return not event.tool and not event.simulated end)
  local change = are_of_cpus and lists.map(remarks or {}, hotplug.change_in)[1]
  return change and change .. ": not all that there was to count was counted" or nil
end

--- Why nothing is concluded from a quantity of a cell; nil where something may be.
---@param cell pmclua.Cell
---@param name string
---@return string?
function M.of_cell(cell, name)
  local events = values.events_needed(cell.result, { needs = { name } })
  local summary = require("pmclua.result.cell").read(cell, name)
  return M.why_cpus(cell.result.remarks, events) or summary.launcher and summary.why
    or M.why_few(summary.missing, #summary.list + summary.missing)
end

--- Why nothing is concluded from a quantity of a pair of cells; nil where something may be.
---@param pair { cell: pmclua.Cell, baseline: pmclua.Cell }
---@param name string
---@return string?
function M.of_pair(pair, name) return M.of_cell(pair.cell, name) or M.of_cell(pair.baseline, name) end

--- Why profiles of an event are no counts: all are of nothing, and the PMU may lack its code.
---@param profiles pmclua.Profile[] of both sides
---@param event? pmclua.CodedEvent
---@return string?
function M.why_zeros(profiles, event)
  if not (event and reading.is_unverified(event)) then return nil end
  local are_zeros = lists.all(profiles, function(profile) return profile.total == 0 end)
  return are_zeros and reading.why(event, "only-zeros") or nil
end

--- Causes of a profile's rest for which samples that were due are not there.
M.CAUSES = { "lost", "throttled", "missed_ticks" }

--- How many samples were due, by the counts, and how many of them are not there: no ring had room, Linux held the
--- event back, interrupts came late or fell together, or the event was not on the PMU.
---@param profiles pmclua.Profile[]
---@return number lost
---@return number due
function M.samples(profiles)
  local lost, due = 0, 0
  for _, profile in ipairs(profiles) do
    local is_sampled = profile.source == "samples" and profile.period > 0
    if is_sampled then
      local all = profile.total / (profile.ran or 1)
      local gone = all - profile.total
      for _, cause in ipairs(M.CAUSES) do gone = gone + math.abs((profile.rest or {})[cause] or 0) end
      lost, due = lost + gone / profile.period, due + all / profile.period
    end
  end
  return lost, due
end

--- Why nothing is concluded from profiles: too many samples are not there.
---@param profiles pmclua.Profile[] of one side
---@param most? number the share of the samples that may be missing; default: a fifth
---@return string?
function M.why_samples(profiles, most)
  local lost, due = M.samples(profiles)
  if lost <= (most or LOST) * due then return nil end
  return ("%s of the samples are lost (%s of %s that were due)"):format(text.percent(lost / due),
    text.count(math.floor(lost + 0.5)), text.count(math.floor(due + 0.5)))
end

return M
