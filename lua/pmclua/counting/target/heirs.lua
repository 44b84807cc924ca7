--- heirs.lua: what a process leaves behind when it ends, as one does that becomes a daemon.
--
-- An orphan's former parent is unknown. Known are: its parent is now an ancestor of the process (the first process, or
-- a reaper), it was started after counting began, and it is in the same cgroup.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local tasks = require "pmclua.host.tasks"
local text = require "pmclua.base.text"

local M = {}

local FIRST, TICKS = 1, 100            -- a second has USER_HZ ticks in /proc

local function parent_of(pid) return (select(2, tasks.stat(pid))) end

local function cgroup_of(pid) return machine.text(("/proc/%d/cgroup"):format(pid)) end

-- Processes that may adopt orphans of a process: its ancestors, except the one that started it, which is a shell.
local function reapers_of(pid)
  local reapers, parent = { [FIRST] = true }, parent_of(pid)
  local at = parent and parent_of(parent)
  while at and at > 0 do
    reapers[at] = true
    at = parent_of(at)
  end
  return reapers
end

---@class pmclua.Heirs
local Heirs = {}
Heirs.__index = Heirs

--- Takes down what is known of a process while it lives.
---@param pid integer
---@return pmclua.Heirs
function M.of(pid)
  local uptime_s = tonumber((machine.line "/proc/uptime" or ""):match "^(%S+)")
  return setmetatable({ pid = pid, reapers = reapers_of(pid), cgroup = cgroup_of(pid),
    since = uptime_s and math.floor(uptime_s * TICKS) }, Heirs)
end

local function is_heir(self, pid)
  local _, parent, start = tasks.stat(pid)
  return pid ~= self.pid and parent and self.reapers[parent] and start >= self.since and tasks.is_alive(pid)
    and cgroup_of(pid) == self.cgroup
end

local MOST = 3

--- A remark once the process has ended; nil: none.
---@return string?
function Heirs:remark()
  if not self.since or tasks.living(self.pid) then return nil end
  local list = lists.where(tasks.processes(), function(pid) return is_heir(self, pid) end)
  if #list == 0 then return nil end
  local names = lists.map({ unpack(list, 1, MOST) }, function(pid)
    return ("%s (process %d)"):format(text.safe(tasks.name(pid)), pid)
  end)
  if #list > MOST then names[MOST + 1] = ("%d others"):format(#list - MOST) end
  return ("process %d has ended, and counting with it; what it seems to have left running was counted only "
    .. "until then: %s; pmclua stat -p %d continues there"):format(self.pid, text.list(names), list[1])
end

return M
