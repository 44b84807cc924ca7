--- tools.lua: finds programs that pmclua itself chooses, such as the compiler and gnuplot; never in the working
--- directory.
--
-- An empty or relative folder in PATH, CPATH and the like means the working directory, which may belong to somebody
-- else: neither pmclua nor the programs that it starts look there. Commands that the user names are found as a
-- shell finds them.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

--- The value of PATH, or of another variable like it, without folders that are relative or empty.
---@param value? string nil: the system's own folders
---@return string
function M.from_root(value)
  local folders = {}
  for folder in (value or "/usr/local/bin:/usr/bin:/bin"):gmatch "[^:]+" do
    if folder:sub(1, 1) == "/" then folders[#folders + 1] = folder end
  end
  return table.concat(folders, ":")
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
    local found, mode_or_code = core.signature(path)
    if not found then
      unseen = unseen or not ABSENT[mode_or_code] and ("%s: %s"):format(path, mode_or_code) or nil
    elseif bit.band(mode_or_code, KIND) == FILE and bit.band(mode_or_code, EXECUTABLE) ~= 0
      and require("pmclua.host.paths").may_run_from(folder, "PATH") then return path end
  end
  return nil, unseen
end

--- Where compilers, linkers and the loader look for what they run or take in.
M.SEARCHED = { "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "COMPILER_PATH", "CPATH",
  "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH" }

-- Without the folders that others decide on, where this is root.
local function ours(folders, variable)
  local paths = require "pmclua.host.paths"
  return table.concat(lists.where(lists.collect(folders:gmatch "[^:]+"), function(folder)
    return paths.may_run_from(folder, variable)
  end), ":")
end

--- What has to change in the environment of a program that pmclua chooses: values by name, false for a variable
--- that has to go.
---@return table<string, string|false>
function M.changes()
  local changes = {}
  for _, name in ipairs(M.SEARCHED) do
    local value = os.getenv(name)
    local kept = value and ours(M.from_root(value), name)
    if kept ~= value then changes[name] = kept ~= "" and kept end
  end
  return changes
end

-- A word for sh(1).
local function quoted(word) return "'" .. word:gsub("'", [['\'']]) .. "'" end

--- Runs a program without input; what it writes.
---@param path string
---@param arguments string[]
---@param errors? boolean what it writes on standard error, too
---@return string
function M.read(path, arguments, errors)
  local parts = {}
  for name, value in pairs(M.changes()) do
    parts[#parts + 1] = value and ("export %s=%s;"):format(name, quoted(value)) or ("unset %s;"):format(name)
  end
  parts[#parts + 1] = "exec " .. quoted(path)
  lists.append(parts, lists.map(arguments, quoted))
  local pipe = io.popen(table.concat(parts, " ") .. (errors and " 2>&1" or " 2>/dev/null") .. " </dev/null")
  local said = pipe and pipe:read "*a" or ""
  if pipe then pipe:close() end
  return said
end

return M
