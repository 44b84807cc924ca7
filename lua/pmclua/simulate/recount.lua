--- recount.lua: what callgrind's files say of a command that forks or executes other programs.
--
-- Callgrind is told to write what it has before each function that forks or executes. So of every process there is a
-- file for each part of its life, and none holds what its parent had counted.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local out_file = require "pmclua.simulate.out_file"

local M = {}

-- One fork passes several functions of a family, each once.
local FAMILIES = { { "fork", "_Fork", "__fork", "__libc_fork" }, { "vfork", "__vfork" }, { "posix_spawn" },
  { "posix_spawnp" } }
-- Threads and the insides of posix_spawn.
local CLONES = { "clone", "__clone" }
--- Functions that fork.
M.FORKS = lists.joined(FAMILIES)
local EXECS = { "execve", "__execve", "execveat", "fexecve" }

--- The options that have callgrind write before each fork and exec.
---@return string[]
function M.dumps()
  local list = {}
  for _, name in ipairs(lists.joined { M.FORKS, CLONES, EXECS }) do
    list[#list + 1] = "--dump-before=" .. name
    list[#list + 1] = "--dump-before=" .. name .. "@*"
  end
  return list
end

--- Callgrind numbers its dumps anew in each program: they are taken away before the next one writes there.
---@param scratch pmclua.Scratch
---@param taken { count: integer }
function M.take_dumps(scratch, taken)
  for _, path in ipairs(scratch:files()) do
    if path:find "/callgrind%.%d+%.%d+$" then
      local pid = path:match "/callgrind%.(%d+)"
      taken.count = taken.count + 1
      core.rename(path, ("%s/taken.%s.%d"):format(scratch.path, pid, taken.count))
    end
  end
end

local function most_of(dumped, functions)
  local most = 0
  for _, name in ipairs(functions) do most = math.max(most, dumped[name] or 0) end
  return most
end

-- How many forks callgrind's dumps tell of: at least, and at most where each clone was one.
local function forks_of(files)
  local dumped, least = {}, 0
  for _, file in ipairs(files) do
    local name = (file.trigger or ""):match "^%-%-dump%-before=([%w_]+)"
    if name then dumped[name] = (dumped[name] or 0) + 1 end
  end
  for _, family in ipairs(FAMILIES) do least = least + most_of(dumped, family) end
  return least, least + most_of(dumped, CLONES)
end

-- Why the processes of a run are not those that its forks made; nil where they are.
local function check_forks(log, files)
  local least, most = forks_of(files)
  local children = math.max(0, #log.processes - 1)
  if children > most then
    return "it forks by a system call of its own: what its children counted cannot be told apart from its own"
  elseif least > children then
    return "a child that it forked ended without writing its counts: killed by SIGKILL, or still running"
  end
end

-- A command line as the log and a file both have it, which spell it differently.
local function plain(command) return (command:gsub("[^%w]", "")) end

--- Counts that cachegrind's files lack: children that executed nothing, and programs that were replaced. Nil and why
-- where that is not known.
---@param log pmclua.ValgrindLog
---@param files pmclua.OutFile[]
---@return pmclua.OutFile[]? others
---@return pmclua.OutFile[]|string whole those of what cachegrind has, or why
function M.others_of(log, files)
  local problem, list, whole = check_forks(log, files), {}, {}
  if problem then return nil, problem end
  for _, process in ipairs(log.processes) do
    local last = plain(process.starts[#process.starts] or "")
    for i = 1, #process.starts - 1 do
      if plain(process.starts[i]) == last then
        return nil, "it executes itself with the same arguments: its programs cannot be told apart"
      end
    end
    for _, file in ipairs(lists.where(files, function(file) return file.pid == process.pid end)) do
      -- Cachegrind has all of the last program.
      local is_whole = #process.starts > 0 and plain(file.command) == last
      table.insert(is_whole and whole or list, file)
    end
  end
  return list, whole
end

-- Programs of two runs that did the same: what callgrind lacks of each process is far less.
local SAME_SHARE, SAME_EACH = 0.01, 100

--- Whether both runs did the same in the programs that both have whole; else what they read may have been used up.
---@param first pmclua.OutFile[]
---@param again pmclua.OutFile[]
---@return boolean
function M.did_same(first, again)
  local before, after = tonumber(out_file.sum(first).Ir or 0), tonumber(out_file.sum(again).Ir or 0)
  return math.abs(before - after) <= SAME_SHARE * before + SAME_EACH * #first
end

-- Instructions of what stands around each dump: a mark's own.
local AROUND_DUMP = 1000

--- Whether a run that wrote dumps did what the first did, but for the dumps themselves.
---@param instructions number|ffi.cdata* of the first run
---@param dumps pmclua.OutFile[] of the other
---@return boolean
function M.did_as_much(instructions, dumps)
  local counted, dumped = tonumber(instructions), tonumber(out_file.sum(dumps).Ir or 0)
  return math.abs(counted - dumped) <= SAME_SHARE * counted + AROUND_DUMP * #dumps
end

return M
