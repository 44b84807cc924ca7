--- perf_metrics.lua: Intel's topdown-* events since Ice Lake, which are shares of slots in one register.
--
-- Invariant: they open only in a group that slots leads; Linux refuses them alone, and behind any other leader.
-- Where the list has slots beside them, they are its followers, as if {slots,topdown-…} had been written.

local lists = require "pmclua.base.lists"

local M = {}

local SLOTS = 0x400                     -- event 0, umask 4
local FIRST, LAST = 0x8000, 0x8700      -- event 0, umasks 0x80 to 0x87

local function config_of(event) return event.attr and tonumber(event.attr.config or 0) end

local function is_share(event)
  local config = config_of(event)
  return config and config >= FIRST and config <= LAST and config % 0x100 == 0
    and event.name:lower():find("topdown-", 1, true) ~= nil
end

local function is_slots(event)
  return config_of(event) == SLOTS and event.name:lower():find("slots", 1, true) ~= nil
end

-- Modifiers may differ from event to event: each share is led by the slots that count what it counts.
local function counts_alike(a, b)
  return a.pmu == b.pmu and a.attr.exclude_kernel == b.attr.exclude_kernel
    and a.attr.exclude_user == b.attr.exclude_user
end

local function slots_for(events, share)
  for i, event in ipairs(events) do
    if is_slots(event) and not event.leader and counts_alike(event, share) then return i end
  end
end

--- Puts shares that are in no group behind slots.
---@param events pmclua.Event[] whose leaders it fills in
function M.tie(events)
  for _, event in ipairs(events) do
    if is_share(event) and not event.leader then event.leader = slots_for(events, event) end
  end
end

--- Whether the first of these events has shares behind it, which open in its group alone.
---@param events pmclua.Event[]
---@param indices integer[]
---@return boolean
function M.leads(events, indices)
  return lists.any(indices, function(index)
    return events[index].leader == indices[1] and index ~= indices[1] and is_share(events[index])
  end)
end

--- Whether a list has shares without slots to lead them.
---@param events pmclua.Event[]
---@return boolean
function M.lack_slots(events)
  return lists.any(events, function(event)
    return is_share(event) and not event.leader and not slots_for(events, event)
  end)
end

return M
