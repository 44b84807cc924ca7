--- log.lua: what Valgrind writes while a command runs: which programs it started, which processes ended, and its last
-- words where it could not go on.
--
-- Invariant: a program that is executed has a beginning; a process that writes its counts has an end. So an end without
-- a beginning is a forked child, two beginnings of one process an exec, and a beginning without an end a process that
-- was killed. A forked child that is killed leaves nothing here.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.ValgrindProcess
---@field pid integer
---@field starts string[] command lines that it executed
---@field has_ended boolean
---@field has_malloc boolean? its last program has DHAT's malloc, which "-v" tells

---@class pmclua.ValgrindLog
---@field processes pmclua.ValgrindProcess[] in the order of their first line
---@field forks integer children that executed nothing
---@field execs integer programs that took the place of another one
---@field killed pmclua.ValgrindProcess[] that wrote no counts
---@field last_words string? why Valgrind could not go on
---@field version string?
local Log = {}
Log.__index = Log

-- The sums that a tool prints when a process ends; the rest of its report is not in every version.
local ENDS = { "^I%s+refs:", "^Collected :", "^Events    :", "^Total: " }

local function process_of(log, by_pid, pid)
  local process = by_pid[pid]
  if not process then
    process = { pid = tonumber(pid), starts = {}, has_ended = false }
    by_pid[pid], log.processes[#log.processes + 1] = process, process
  end
  return process
end

-- Valgrind's messages where it cannot go on, and our words for them.
local FATAL = { { "^valgrind: the 'impossible' happened:?%s*(.*)$", "Valgrind itself failed: %s" },
  { "^valgrind: Unrecognised instruction at address (.-)%.?$",
    "Valgrind does not know an instruction at %s" },
  { "^Warning: Can't execute setuid/setgid/setcap executable: (.*)$",
    "Valgrind executes no program that gains rights (setuid): %s" },
  { "^(valgrind: .*%f[%a]failed.*)$", "Valgrind itself failed: %s" } }

local function take(log, by_pid, pid, message)
  local command = message:match "^Command: (.*)$"
  if command then
    local process = process_of(log, by_pid, pid)
    process.starts[#process.starts + 1] = command:gsub("\\(.)", "%1")
    process.has_ended, process.has_malloc = false, nil
  elseif message:find "^Reading syms from .*/vgpreload_dhat" then
    process_of(log, by_pid, pid).has_malloc = true
  elseif lists.any(ENDS, function(pattern) return message:find(pattern) end) then
    process_of(log, by_pid, pid).has_ended = true
  end
  log.version = log.version or message:match "^Using Valgrind%-(%S+)"
  for _, fatal in ipairs(FATAL) do
    local what = message:match(fatal[1])
    if what and not log.last_words then log.last_words = fatal[2]:format(what) end
  end
end

local function count(log)
  for _, process in ipairs(log.processes) do
    log.forks = log.forks + (#process.starts == 0 and 1 or 0)
    log.execs = log.execs + math.max(0, #process.starts - 1)
    if not process.has_ended then log.killed[#log.killed + 1] = process end
  end
  return log
end

--- The files of processes that executed something: each of its last program, whole.
---@param files { pid: integer }[]
---@return table[]
function Log:of_programs(files)
  return lists.where(files, function(file)
    return lists.any(self.processes, function(process)
      return process.pid == file.pid and #process.starts > 0
    end)
  end)
end

--- The facts of a log.
---@param text string
---@return pmclua.ValgrindLog
function M.parse(text)
  local log, by_pid = setmetatable({ processes = {}, forks = 0, execs = 0, killed = {} }, Log), {}
  for line in text:gmatch "[^\n]+" do
    local pid, message = line:match "^[=-][=-](%d+)[=-][=-]%s?(.*)$"
    if pid then take(log, by_pid, pid, message) end
  end
  return count(log)
end

return M
