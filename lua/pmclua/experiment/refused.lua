--- refused.lua: why a run has no counts: what Linux refused when its events were opened.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"

local M = {}

local TAMPERED = "it disabled, reset, closed or replaced the counters that count it (by an ioctl, prctl, "
  .. "close or dup2 on descriptors that are not its own?): what it did cannot be known"

local NOT_SAMPLED = { EINVAL = true, EOPNOTSUPP = true }

--- The refusal of a result that was not counted; nil where it was.
---@param result table of Session:run
---@param groups { attrs: table[], events: integer[] }[] of its pass; is_sampled: they are to be sampled
---@param events pmclua.Event[]
---@param threads? integer threads that each open them; default 1
---@return pmclua.Problem?
function M.problem(result, groups, events, threads)
  if result.outcome ~= "not-counted" then return nil end
  local failure = result.failure
  if failure.code == "EUCLEAN" then
    return explain.problem { code = failure.code, operation = "count", message = TAMPERED }
  end
  failure.descriptors = #lists.joined(lists.column(groups, "attrs")) * math.max(1, threads or 1)
  local refused = groups[failure.group]
  local names = lists.map(refused and refused.events or {}, function(index) return events[index].name end)
  failure.event = names[failure.index]
  -- It was counted before.
  if groups.is_sampled and NOT_SAMPLED[failure.code] then
    return explain.problem { code = failure.code, operation = "sample", event = failure.event,
      message = ("%s can be counted here, and not sampled: its PMU has no interrupt"):format(failure.event) }
  end
  if failure.code == "E2BIG" then failure.members = names end
  return explain.open(failure)
end

return M
