--- paths.lua: pmclua's own files, and the folders in which it keeps its user's.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local paths = {}

--- The folder of the running script's sources and libraries; nil: the working directory. Set by script.lua.
---@type string?
paths.script_folder = nil

local function exists(path) return core.stat(path) ~= nil end

-- The folder of the core. Raises a problem if it cannot be found.
local function core_folder()
  local folder, _, errnum = core.folder()
  if folder then return folder end
  error(require("pmclua.base.problem").problem { code = core.errno_name(errnum) or "E" .. errnum,
    operation = "find", message = "cannot find where pmclua is installed: " .. core.errno_text(errnum) }, 0)
end

-- Folders that the core is built in or installed to: the executable's, the library's, LuaRocks'. What precedes is the
-- prefix.
local CORE_FOLDERS = { "^(.*)/bin$", "^(.*)/build$", "^(.*)/lib/pmclua$", "^(.*)/lib/[^/]+/pmclua$",
  "^(.*)/lib/lua/5%.1$", "^(.*)/lib/[^/]+/lua/5%.1$" }

-- Nothing above the prefix is searched: it may be open to all, as /tmp is.
local function prefix()
  local folder = core_folder()
  for _, pattern in ipairs(CORE_FOLDERS) do
    local above = folder:match(pattern)
    if above then return above end
  end
  return paths.directory(folder)
end

--- The first of these files that exists under the prefix that pmclua was built in or installed to.
local function installed(names)
  local start = prefix()
  local candidates = lists.map(names, function(name) return start .. "/" .. name end)
  return lists.find(candidates, exists) or candidates[1]
end

--- The runner's executable: PMCLUA_RUNNER, beside pmclua, or PREFIX/libexec/pmclua.
---@return string
function paths.runner()
  local named, beside = os.getenv "PMCLUA_RUNNER", core_folder() .. "/pmclua-runner"
  return named or exists(beside) and beside
    or installed { "libexec/pmclua/pmclua-runner", "bin/pmclua-runner" }
end

--- The library that records allocations: beside the runner.
---@return string
function paths.heap_library()
  local beside = core_folder() .. "/pmclua-heap.so"
  return exists(beside) and beside or installed { "libexec/pmclua/pmclua-heap.so", "bin/pmclua-heap.so" }
end

--- The folder of pmclua_kernel.h: the source tree's core/, or PREFIX/include.
---@return string
function paths.include()
  local header = installed { "core/pmclua_kernel.h", "include/pmclua_kernel.h",
    "share/lua/5.1/pmclua/include/pmclua_kernel.h" }
  return paths.directory(header)
end

--- The folder of the reusable scripts: the source tree's, or PREFIX/share/pmclua/scripts.
---@return string
function paths.scripts()
  local tree = core_folder():match "^(.*)/build$"
  return tree and tree .. "/scripts" or installed { "share/pmclua/scripts", "share/lua/5.1/pmclua/scripts" }
end

--- Whether the lab is here: it is part of the source tree, and not installed.
---@return boolean
function paths.has_lab()
  local tree = core_folder():match "^(.*)/build$"
  return tree ~= nil and exists(tree .. "/tests/lab/lab.sh")
end

--- The reference of the scripting API: the source tree's, or PREFIX/share/doc/pmclua's; nil where it was not
--- installed.
---@return string?
function paths.reference()
  local path = installed { "lua/REFERENCE.md", "share/doc/pmclua/lua/REFERENCE.md",
    "share/doc/pmclua/lua/REFERENCE.md.gz" }
  return exists(path) and path or nil
end

-- ---- whose folders they are ---------------------------------------------------------------------------------

local KIND, FOLDER, STICKY, GROUP_OR_OTHERS, OTHERS_WRITE = 0xf000, 0x4000, 0x200, 0x3f, 0x2

local root_uid                          -- its number here, found once

-- Root, or this user.
local function is_trusted(uid)
  root_uid = root_uid or (core.stat "/" or {}).uid
  return uid == root_uid or uid == core.uid()
end

--- Whether each folder and link on the path belongs to this user or root, and none is writable by all, except as
--- /tmp is (sticky).
local function way_is_ours(folder)
  local way = ""
  for part in folder:gmatch "[^/]+" do
    way = way .. "/" .. part
    local link, target = core.stat(way), core.stat(way .. "/.")       -- a link, and what it leads to
    for _, facts in ipairs { link or false, target or false } do
      if not facts or not is_trusted(facts.uid) then return false end
    end
    local is_open = bit.band(target.mode, OTHERS_WRITE) ~= 0 and bit.band(target.mode, STICKY) == 0
    if is_open or bit.band(target.mode, KIND) ~= FOLDER then return false end
  end
  return true
end

--- Whether nobody but this user and root can replace what is in a folder: neither as its path is written nor behind
--- links.
---@param folder string absolute path
function paths.is_our_folder(folder)
  local real = core.real_path(folder)
  return real ~= nil and way_is_ours(folder) and (real == folder or way_is_ours(real))
end

-- The path itself or the nearest folder above it that is there.
local function nearest(path)
  while path ~= "/" and not exists(path .. "/.") do path = paths.directory(path) end
  return path
end

local said_once = {}         -- in this process

--- Whether nobody but this user and root decides what is in a folder, be it made yet or not. Says once that another is
--- ignored.
---@param folder string absolute path
---@param variable string that names it
function paths.accept(folder, variable)
  if paths.is_our_folder(nearest(folder)) then return true end
  if not said_once[folder] then
    require("pmclua.host.output").note("%s=%s is ignored: another user owns it or may change what is in it",
      variable, folder)
  end
  said_once[folder] = true
  return false
end

--- Whether a folder that the environment names may decide what runs. Root takes none of another user's (`sudo -E` keeps
--- variables): that is said once.
---@param folder string absolute path
---@param variable string that names it
function paths.may_run_from(folder, variable)
  return core.uid() ~= 0 or paths.accept(folder, variable)
end

--- This user's home by the list of accounts; nil where others may change what is in it.
---@return string?
function paths.account_home()
  local accounts = "\n" .. (core.read_plain "/etc/passwd" or "")
  local home = accounts:match(("\n[^:\n]*:[^:\n]*:%d:[^:\n]*:[^:\n]*:(/[^:\n]*):"):format(core.uid()))
  return home and paths.is_our_folder(nearest(home)) and home or nil
end

--- A folder under an XDG base: $variable/pmclua, or HOME/fallback/pmclua; nil without HOME. Bases of other users are
--- ignored: su and `sudo -E` keep the variables of who calls them.
local function user_folder(variable, fallback)
  local is_refused = false
  for _, base in ipairs { { variable, "" }, { "HOME", "/" .. fallback } } do
    local folder = os.getenv(base[1]) or ""
    if folder:sub(1, 1) == "/" then
      if paths.accept(folder, base[1]) then return folder .. base[2] .. "/pmclua" end
      is_refused = true
    end
  end
  local home = is_refused and paths.account_home()
  return home and home .. "/" .. fallback .. "/pmclua" or nil
end

---@return string? folder for what can be made again
function paths.cache() return user_folder("XDG_CACHE_HOME", ".cache") end
---@return string? folder for results and history
function paths.state() return user_folder("XDG_STATE_HOME", ".local/state") end
---@return string? folder for the user's own scripts
function paths.data() return user_folder("XDG_DATA_HOME", ".local/share") end

--- The folder in memory that this session of the user has; nil: none that is this user's. su keeps the variable.
---@return string?
function paths.runtime()
  local folder = os.getenv "XDG_RUNTIME_DIR" or ""
  return folder:sub(1, 1) == "/" and paths.is_our_folder(folder) and folder or nil
end

--- The folders in which temporary files may be made, the best first, without those in which somebody else could rename
--- what is there.
---@return string[]
function paths.temporary()
  return lists.where({ os.getenv "TMPDIR" or "", "/tmp", "/var/tmp" }, function(folder)
    return folder:sub(1, 1) == "/" and paths.is_our_folder(folder)
  end)
end

-- Makes a folder and its parents with this mode, where `may_stand_in` allows it. Returns as paths.make.
local function make(folder, mode, may_stand_in)
  local path = folder:sub(1, 1) == "/" and "" or "."
  for part in folder:gmatch "[^/]+" do
    local parent = path == "" and "/" or path
    path = path .. "/" .. part
    if not exists(path .. "/.") then
      if exists(parent .. "/.") and not may_stand_in(parent) then return nil, "EPERM" end
      local ok, code, errnum = core.mkdir(path, mode)
      if not ok and code ~= "EEXIST" then return nil, code, errnum end
    end
  end
  return true
end

--- Makes a folder and its parents, private (0700) where they are made here. Returns true, or nil, errno
--- name, number; "EPERM" without a number where others could replace it.
---@param folder string absolute path
function paths.make(folder)
  local made, code, errnum = make(folder, 448, paths.is_our_folder)
  if not made then return nil, code, errnum end
  if paths.is_our_folder(folder) then return true end
  return nil, "EPERM"
end

--- The same for a folder that others may use as well, as far as the umask lets them (0777).
---@param folder string
function paths.make_open(folder) return make(folder, 511, function() return true end) end

--- The real path of a folder that only this user and root can open or replace; nil if others can. No folder on
--- its path may belong to others or be open to all, neither as written nor behind links, and it is no link itself.
--- Groups are taken for the user's own, except in the mode of the folder itself.
---@param folder string absolute path
---@return string?
function paths.private(folder)
  local facts, real = core.stat(folder), core.real_path(folder)
  local is_private = facts and facts.uid == core.uid() and bit.band(facts.mode, GROUP_OR_OTHERS) == 0
    and bit.band(facts.mode, KIND) == FOLDER
  return is_private and paths.is_our_folder(folder) and real or nil
end

--- Whether the file at `path`, the target of its link and every folder on their paths belong to this user or root
--- and are not open to all: nobody else decides what it holds.
---@param path string absolute
function paths.is_our_file(path)
  local real = core.real_path(path)
  local facts = real and core.stat(real)
  return facts ~= nil and way_is_ours(paths.directory(path)) and way_is_ours(paths.directory(real))
    and is_trusted(facts.uid) and bit.band(facts.mode, OTHERS_WRITE) == 0
end

--- The folder of a path ("." where it names none).
function paths.directory(path)
  return path:match "^(.+)/[^/]*$" or (path:sub(1, 1) == "/" and "/" or ".")
end

--- `path` from `folder`, unless it is absolute.
function paths.from(folder, path)
  return path:sub(1, 1) == "/" and path or folder .. "/" .. path
end

return paths
