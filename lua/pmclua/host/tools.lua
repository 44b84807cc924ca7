--- tools.lua: finds programs that pmclua itself chooses, such as the compiler and gnuplot; never in the working
--- directory.
--
-- An empty or relative folder in PATH, CPATH and the like means the working directory, which may belong to somebody
-- else: neither pmclua nor the programs that it starts look there. Commands that the user names are found as a
-- shell finds them.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"

local M = {}

--- The value of PATH, or of another variable like it, without folders that are relative or empty.
---@param value? string nil: the system's own folders
---@return string
function M.from_root(value)
  local folders = lists.collect((value or "/usr/local/bin:/usr/bin:/bin"):gmatch "[^:]+")
  return table.concat(lists.where(folders, function(folder) return folder:sub(1, 1) == "/" end), ":")
end

local KIND, FILE, EXECUTABLE = 0xf000, 0x8000, 0x49       -- by its user, its group or others

-- Where a shell goes on looking, too.
local ABSENT = { ENOENT = true, ENOTDIR = true, EACCES = true }

--- The path of a program in PATH, then in `more`; nil where it is in neither, and the first place that could not
--- be looked at, with the errno's name.
---@param name string
---@param more? string folders as in PATH
---@return string? path
---@return string? unseen
function M.find(name, more)
  local unseen
  for folder in (M.from_root(os.getenv "PATH") .. ":" .. (more or "")):gmatch "[^:]+" do
    local path = folder .. "/" .. name
    local signature, mode_or_code = core.signature(path)
    if not signature then
      unseen = unseen or not ABSENT[mode_or_code] and ("%s: %s"):format(path, mode_or_code) or nil
    elseif bit.band(mode_or_code, KIND) == FILE and bit.band(mode_or_code, EXECUTABLE) ~= 0
      and paths.may_run_from(folder, "PATH") then return path end
  end
  return nil, unseen
end

-- Where compilers, linkers and the loader look for what they run or take in.
local SEARCHED = { "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "COMPILER_PATH", "CPATH",
  "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH" }

-- Without the folders that others decide on, where this is root.
local function ours(folders, variable)
  return table.concat(lists.where(lists.collect(folders:gmatch "[^:]+"), function(folder)
    return paths.may_run_from(folder, variable)
  end), ":")
end

-- Below which programs keep settings, of which some say what is run (ccache), and files that they write.
local HOMES = { "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
  "XDG_RUNTIME_DIR" }

--- Changes to the environment of a program that pmclua chooses: values by name, false for a variable
--- that has to go.
---@return table<string, string|false>
function M.changes()
  local changes = {}
  for _, name in ipairs(SEARCHED) do
    local value = os.getenv(name)
    local kept = value and ours(M.from_root(value), name)
    if kept ~= value then changes[name] = kept ~= "" and kept end
  end
  for _, name in ipairs(HOMES) do
    local folder = os.getenv(name) or ""
    if folder:sub(1, 1) == "/" and not paths.accept(folder, name) then
      changes[name] = name == "HOME" and paths.account_home() or false
    end
  end
  return changes
end

-- The words that run a program in the environment of `M.changes`.
local function in_environment(path, arguments, temporaries)
  local changes, words = M.changes(), {}
  changes.TMPDIR = temporaries
  if next(changes) then
    words[1] = M.find "env" or "/usr/bin/env"
    for name, value in pairs(changes) do
      if not value then lists.append(words, { "-u", name }) end
    end
    for name, value in pairs(changes) do
      if value then words[#words + 1] = name .. "=" .. value end
    end
  end
  return lists.joined { words, { path }, arguments }
end

local WHY = { ETIMEDOUT = "did not end in %g s, and was ended",
  EFBIG = "wrote more than %g MB, and was ended", EINTR = "was interrupted" }

---@class pmclua.ToolLimits
---@field seconds? number 10 by default
---@field megabytes? number 16 by default
---@field errors? boolean what it writes on standard error, too
---@field temporaries? string the folder of its temporary files

--- Runs a program without input; what it writes, within a limit of time and bytes.
---@param path string
---@param arguments string[]
---@param limits? pmclua.ToolLimits
---@return string text what there is of it
---@return string? trouble why it is not all: "PATH did not end in 10 s, …"
---@return integer? status as a shell has it; nil: it is not known
function M.read(path, arguments, limits)
  limits = limits or {}
  local seconds, megabytes = limits.seconds or 10, limits.megabytes or 16
  local run = require("pmclua.core.processes").run_program
  local output, code, status = run(in_environment(path, arguments, limits.temporaries),
    { seconds = seconds, bytes = megabytes * 2 ^ 20, errors = limits.errors })
  if not code then return output, nil, status end
  local why = (WHY[code] or "could not be run: " .. code):format(code == "EFBIG" and megabytes or seconds)
  return output or "", ("%s %s"):format(path, why), status
end

return M
