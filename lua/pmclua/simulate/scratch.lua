--- scratch.lua: the folder that Valgrind's processes write to while a command runs: their log, their counts.
--
-- Invariant: what one run left is gone before the next one begins, and everything is gone after `close`, or with the
-- next of this user's where nobody could close it. The log is a FIFO: a process that begins would empty a file. Nobody
-- else can open, rename or add anything there, though everybody sees its name among Valgrind's arguments.

local bit = require "bit"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local paths = require "pmclua.host.paths"
local tasks = require "pmclua.host.tasks"

local M = {}

---@class pmclua.Scratch
---@field path string absolute
---@field option string the same as Valgrind's options have it, which know %p
---@field fd integer of the log
---@field said string[] read of the log since the run began
local Scratch = {}
Scratch.__index = Scratch

local function remove(folder)
  for _, name in ipairs(machine.entries(folder)) do os.remove(folder .. "/" .. name) end
  os.remove(folder)
end

-- The PID namespace of this process, its id and start; nil where /proc does not show them.
local function owner()
  local lfs, pid = require "lfs", core.pid()
  local namespace, start = lfs.attributes("/proc/self/ns/pid", "ino"), tasks.start(pid)
  local is_own_proc = lfs.symlinkattributes("/proc/self", "target") == tostring(pid)
  if is_own_proc and namespace and start then return namespace, pid, start end
end

local KIND, FOLDER = 0xf000, 0x4000

-- Removes what a pmclua of this user left that was killed: nobody else's, nor that of a process that may run.
local function remove_left(folder)
  local here = owner()
  for _, name in ipairs(here and machine.entries(folder) or {}) do
    local namespace, pid, start = name:match "^pmclua%-simulate%-(%d+)%-(%d+)%-(%d+)%-%w+$"
    local facts = tonumber(namespace) == here and core.stat(folder .. "/" .. name)
    local is_ours = facts and facts.uid == core.uid() and bit.band(facts.mode, KIND) == FOLDER
    if is_ours and tasks.start(tonumber(pid)) ~= tonumber(start) then remove(folder .. "/" .. name) end
  end
end

local looked = {}           -- folders in which this process has looked for such

local function looked_through(folder)
  if not looked[folder] then remove_left(folder) end
  looked[folder] = true
  return folder
end

--- Makes it. Raises an error object.
---@return pmclua.Scratch
function M.new()
  local errnum
  local template = ("/pmclua-simulate-%s-XXXXXX"):format(table.concat({ owner() }, "-"))
  for _, folder in ipairs(paths.temporary()) do
    local path, fd, number = core.make_scratch(looked_through(folder) .. template)
    local self = path and { path = path, option = path:gsub("%%", "%%%%"), fd = fd, said = {} }
    if self then return setmetatable(self, Scratch) end
    errnum = number
  end
  error(explain.system(errnum, "write", "/tmp"), 0)
end

--- Takes in what Valgrind has written so far: it waits where the log is full.
function Scratch:drain() self.said[#self.said + 1] = core.read_some(self.fd) end

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
  if not self.fd then return end
  core.close(self.fd)
  self.fd = nil
  remove(self.path)
end

return M
