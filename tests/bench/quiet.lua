--- quiet.lua: waits until nobody else uses the machine.

local core = require "pmclua.core"

local M = {}

local LOOK_NS, QUIET_SHARE = 1e8, 0.06

-- Ticks of all CPUs: those in which something ran, and all.
local function ticks()
  local busy, all, place = 0, 0, 0
  for number in io.lines("/proc/stat")():gmatch "%d+" do
    place, all = place + 1, all + tonumber(number)
    local is_idle = place == 4 or place == 5       -- idle, waiting for a disk
    if not is_idle then busy = busy + tonumber(number) end
  end
  return busy, all
end

local function is_quiet()
  local busy, all = ticks()
  core.pause(LOOK_NS)
  local busy_later, all_later = ticks()
  return busy_later - busy <= QUIET_SHARE * (all_later - all)
end

local waited_ns = 0

--- Waits until the machine has been idle for a moment, or `minutes` were waited in all.
---@param minutes number
function M.wait(minutes)
  local started = core.now_ns()
  while waited_ns + core.now_ns() - started < minutes * 60e9 and not is_quiet() do end
  waited_ns = waited_ns + core.now_ns() - started
end

return M
