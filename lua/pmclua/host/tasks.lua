--- tasks.lua: processes and threads as /proc has them.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"

local M = {}

local function ids_in(folder)
  local list = lists.map(machine.entries(folder), tonumber)
  table.sort(list)
  return list
end

--- The threads of a process, ascending; empty where there is no such process.
---@param pid integer
---@return integer[]
function M.threads(pid) return ids_in(("/proc/%d/task"):format(pid)) end

--- The processes that this one sees, ascending.
---@return integer[]
function M.processes() return ids_in "/proc" end

--- The process that a thread belongs to; nil where there is no such thread.
---@param tid integer
---@return integer?
function M.process_of(tid)
  return tonumber((machine.text(("/proc/%d/status"):format(tid)) or ""):match "\nTgid:%s*(%d+)")
end

--- The name of a thread, "" where there is none. It may have any character: a thread sets its own.
---@param tid integer
---@return string
function M.name(tid) return ((machine.text(("/proc/%d/comm"):format(tid)) or ""):gsub("\n$", "")) end

--- The state, the parent and the start of a thread; nil where it is not there. They stand behind its name in
--- /proc/PID/stat, and the name may contain newlines and ")": the last ")" ends it.
---@param tid integer
---@return string? state "R" running, "S" sleeping, "T" stopped, "Z" a zombie, …
---@return integer? parent pid
---@return integer? start ticks since the machine was started
function M.stat(tid)
  local rest = (machine.text(("/proc/%d/stat"):format(tid)) or ""):match "^.*%) (.*)$"
  if not rest then return nil end
  local fields = lists.collect(rest:gmatch "%S+")
  return fields[1], tonumber(fields[2]), tonumber(fields[20])
end

--- The state of a thread, as `stat` has it; nil where it is not there.
---@param tid integer
---@return string?
function M.state(tid) return (M.stat(tid)) end

--- When a thread was started, as `stat` has it; nil where it is not there.
---@param tid integer
---@return integer?
function M.start(tid) return (select(3, M.stat(tid))) end

--- A child of a process; nil where it has none.
---@param pid integer
---@return integer?
function M.child_of(pid)
  return lists.find(M.processes(), function(candidate)
    local _, parent = M.stat(candidate)
    return parent == pid
  end)
end

--- Whether it is there and can still run: a zombie is not.
---@param tid integer
---@return boolean
function M.is_alive(tid)
  local state = M.state(tid)
  return state ~= nil and state ~= "Z" and state ~= "X"
end

--- A thread of a process that can still run: the first one, or where that has ended, as by pthread_exit in main,
--- one of the others; nil: none, the process has ended. What /proc says of the process's memory and files is
--- to be read from this one: the first has none any more.
---@param pid integer
---@return integer?
function M.living(pid)
  return M.is_alive(pid) and pid or lists.find(M.threads(pid), M.is_alive)
end

return M
