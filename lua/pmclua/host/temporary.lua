--- temporary.lua: folders for the files of a run, in the first temporary folder that has room.
--
-- Invariant: a folder is removed by `remove`, else when this process ends, by a signal too (core/host/temporary.c). That
-- of a pmclua that was killed is removed by the next one of the same user that makes one there: its name says whose it
-- is, by boot and PID namespace, process and start.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local paths = require "pmclua.host.paths"
local tasks = require "pmclua.host.tasks"

local M = {}

-- The PID namespace of this process, its id and start; nil where /proc does not show them. A machine's first namespace
-- has the number that it has on all others, and a folder may be seen by several: so it is that of one boot of one.
local function owner()
  local lfs, pid = require "lfs", core.pid()
  local namespace, start = lfs.attributes("/proc/self/ns/pid", "ino"), tasks.start(pid)
  local boot = (machine.line "/proc/sys/kernel/random/boot_id" or ""):match "^%x%x%x%x%x"
  local is_own_proc = lfs.symlinkattributes("/proc/self", "target") == tostring(pid)
  if is_own_proc and namespace and start and boot then
    return tonumber(boot, 16) * 2 ^ 32 + namespace, pid, start
  end
end

local KIND, FOLDER = 0xf000, 0x4000

-- Removes what a pmclua of this user left that was killed: nobody else's, nor that of a process that may run.
local function remove_left(folder)
  local here = owner()
  for _, name in ipairs(here and machine.entries(folder) or {}) do
    local namespace, pid, start = name:match "^pmclua%-%a+%-(%d+)%-(%d+)%-(%d+)%-%w+$"
    local facts = tonumber(namespace) == here and core.stat(folder .. "/" .. name)
    local is_ours = facts and facts.uid == core.uid() and bit.band(facts.mode, KIND) == FOLDER
    if is_ours and tasks.start(tonumber(pid)) ~= tonumber(start) then
      core.remove_folder(folder .. "/" .. name)
    end
  end
end

local is_searched, is_said = {}, {}     -- folders that were looked through, and refusals that were said, in this process

local function look_through(folder)
  if not is_searched[folder] then remove_left(folder) end
  is_searched[folder] = true
end

local function describe(refusal)
  local named = refusal.folder == os.getenv "TMPDIR" and " (TMPDIR)" or ""
  return ("%s%s: %s"):format(refusal.folder, named, core.errno_text(refusal.errnum):lower())
end

local ENOSPC, EDQUOT = 28, 122

local function is_surprise(refusal)
  return refusal.errnum == ENOSPC or refusal.errnum == EDQUOT or refusal.folder == os.getenv "TMPDIR"
end

-- Says once where files go, where the user's own folder or a full one was passed over.
local function say(refusals, folder)
  local list = table.concat(lists.map(lists.where(refusals, is_surprise), describe), "; ")
  if list == "" or is_said[list] then return end
  is_said[list] = true
  require("pmclua.host.output").note("%s; temporary files go to %s", list, folder)
end

--- Makes a folder of this user alone. Raises a problem that names each place and why it cannot be used.
---@param purpose string letters: "compile"
---@param options? { folders?: string[], for_code?: boolean } folders: where it may be, the best first; by default
---   TMPDIR, /tmp and /var/tmp; for_code: programs are to be run from it
---@return string path
function M.make(purpose, options)
  local namespace, pid, start = owner()
  local whose = namespace and ("%.0f-%d-%.0f"):format(namespace, pid, start) or ""
  local name = ("/pmclua-%s-%s-XXXXXX"):format(purpose, whose)
  local refusals = {}
  for _, folder in ipairs(options and options.folders or paths.temporary()) do
    look_through(folder)
    local path, _, errnum = core.make_folder(folder .. name, options and options.for_code)
    if path then
      say(refusals, folder)
      return path
    end
    refusals[#refusals + 1] = { folder = folder, errnum = errnum }
  end
  local why = refusals[1] and table.concat(lists.map(refusals, describe), "; ")
    or "in each folder others could replace them"
  local code = refusals[1] and core.errno_name(refusals[1].errnum) or "EPERM"
  error(require("pmclua.base.problem").problem { code = code, operation = "write",
    message = "there is no place for temporary files: " .. why,
    hint = "set TMPDIR to a folder of yours that has room" }, 0)
end

--- Removes a folder with all in it.
---@param path string that M.make made
function M.remove(path) core.remove_folder(path) end

return M
