--- scratch.lua: the folder that Valgrind's processes write to while a command runs: their log, their counts.
--
-- Invariant: what one run left is gone before the next one begins, and everything is gone after `close`. The log is a
-- FIFO: a process that begins would empty a file. Nobody else can open, rename or add anything there, though everybody
-- sees its name among Valgrind's arguments.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local tasks = require "pmclua.host.tasks"
local temporary = require "pmclua.host.temporary"

local M = {}

---@class pmclua.Scratch
---@field path string absolute
---@field option string the same as Valgrind's options have it, which know %p
---@field fifo pmclua.core.File of the log
---@field said string[] read of the log since the run began
local Scratch = {}
Scratch.__index = Scratch

--- Makes it. Raises an error object.
---@return pmclua.Scratch
function M.new()
  local path = temporary.make "simulate"
  local fifo, _, errnum = core.make_fifo(path .. "/log")
  if fifo then
    return setmetatable({ path = path, option = path:gsub("%%", "%%%%"), fifo = fifo, said = {} }, Scratch)
  end
  temporary.remove(path)
  error(explain.system(errnum, "write", path), 0)
end

--- Takes in what Valgrind has written so far: it waits where the log is full.
function Scratch:drain() self.said[#self.said + 1] = self.fifo:read_some() end

--- Runs a job while the log is read: Valgrind waits where it is full.
---@param session pmclua.Session
---@param job table of Session:run
---@param look? fun() called meanwhile, too
---@return table result of Session:run
function Scratch:run(session, job, look)
  return session:looking(function()
    self:drain()
    if look then look() end
  end, session.run, session, job)
end

--- The log of the run so far.
---@return string
function Scratch:log()
  self:drain()
  return table.concat(self.said)
end

local NO_COUNTS = { log = true, drawn = true }

--- The paths of the files of counts that a run left.
---@return string[]
function Scratch:files()
  return lists.map(machine.entries(self.path), function(name)
    return not NO_COUNTS[name] and self.path .. "/" .. name or nil
  end)
end

--- Where fixed.lua has it listed what a run drew.
---@return string
function Scratch:list() return self.path .. "/drawn" end

--- Whether a process under Valgrind still writes here, by its arguments: those of another user's may say anything.
---@return boolean
function Scratch:is_in_use()
  return lists.any(tasks.processes(), function(pid)
    local words = core.read_plain(("/proc/%d/cmdline"):format(pid), nil, { owner = core.uid() }) or ""
    return words:find(self.path .. "/log", 1, true)
  end)
end

--- Forgets the last run.
function Scratch:clear()
  self:drain()
  self.said = {}
  for _, path in ipairs(self:files()) do os.remove(path) end
end

--- Removes it.
function Scratch:close()
  self.fifo:close()
  temporary.remove(self.path)
end

return M
