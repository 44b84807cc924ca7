--- tasks.lua: processes and threads as /proc has them.

local line = require("pmclua.machine").line

local M = {}

--- The threads of a process, ascending; empty where there is no such process.
---@param pid integer
---@return integer[]
function M.threads(pid)
  local list, lfs = {}, require "lfs"
  local ok, iterate, state = pcall(lfs.dir, ("/proc/%d/task"):format(pid))
  if not ok then return list end
  -- The folder may go away while it is read.
  pcall(function()
    for name in iterate, state do list[#list + 1] = tonumber(name) end
  end)
  table.sort(list)
  return list
end

--- The process that a thread belongs to; nil where there is no such thread.
---@param tid integer
---@return integer?
function M.process_of(tid)
  local file = io.open(("/proc/%d/status"):format(tid))
  if not file then return nil end
  local text = file:read "*a" or ""
  file:close()
  return tonumber(text:match "\nTgid:%s*(%d+)")
end

--- The name of a thread, "" where there is none.
---@param tid integer
---@return string
function M.name(tid) return line(("/proc/%d/comm"):format(tid)) or "" end

--- Whether it is there and can still run: a zombie is not.
---@param tid integer
---@return boolean
function M.is_alive(tid)
  -- The state follows the name, which may have any characters, the last ")" apart.
  local state = (line(("/proc/%d/stat"):format(tid)) or ""):match "^.*%) (%a)"
  return state ~= nil and state ~= "Z" and state ~= "X"
end

return M
