--- cgroup.lua: where a cgroup's folder is: in the hierarchy that has perf_event (version 1), or else in
--- the one hierarchy of version 2, where perf_event is always.

local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local text = require "pmclua.base.text"

local M = {}

local function octal(path)
  return (path:gsub("\\(%d%d%d)", function(digits) return string.char(tonumber(digits, 8)) end))
end

--- Where the hierarchy is mounted that perf counts by.
---@param mounts? string the text of a mounts(5) file; default: this process's
---@return string? folder nil: none is mounted
---@return integer? version 1 or 2
function M.mount(mounts)
  local version_2
  for entry in (mounts or machine.text "/proc/self/mounts" or ""):gmatch "[^\n]+" do
    local folder, kind, options = entry:match "^%S+ (%S+) (%S+) (%S+)"
    local has_perf = kind == "cgroup" and ("," .. options .. ","):find(",perf_event,", 1, true)
    if has_perf then return octal(folder), 1 end
    if kind == "cgroup2" then version_2 = version_2 or octal(folder) end
  end
  return version_2, version_2 and 2
end

local function is_folder(path) return require("lfs").attributes(path, "mode") == "directory" end

local function folders_in(path)
  return lists.where(machine.entries(path), function(name) return is_folder(path .. "/" .. name) end)
end

-- The first part of `name` that is not there: what there is instead.
local function missing(mount, name)
  local folder = mount
  for part in name:gmatch "[^/]+" do
    if not is_folder(folder .. "/" .. part) then
      return text.meant(part, folders_in(folder)) or "systemd-cgls lists those of systemd"
    end
    folder = folder .. "/" .. part
  end
end

-- The identity of a folder, whatever it is called.
local function identity(path)
  local facts = require("lfs").attributes(path)
  return facts and ("%s:%s"):format(facts.dev, facts.ino)
end

-- Whether a path is a folder of the hierarchy mounted at `mount`, through whatever mount or link.
local function is_within(path, mount)
  local attributes = require("lfs").attributes
  return is_folder(path) and attributes(path, "dev") == attributes(mount, "dev")
end

--- The folder of a cgroup. Raises a problem where there is none.
---@param name string "a.slice", "/a.slice/b", or a folder below where cgroups are mounted; "/": the root
---@return string folder
function M.folder(name)
  local mount = M.mount()
  if not mount then
    error(explain.problem { code = "ENOENT", operation = "open", message = "no cgroups are mounted here",
      hint = "mount -t cgroup2 none /sys/fs/cgroup" }, 0)
  end
  if name:sub(1, #mount + 1) == mount .. "/" then name = name:sub(#mount + 2) end
  local path = (mount .. "/" .. name):gsub("/+", "/"):gsub("(.)/$", "%1")
  if is_within(path, mount) then return path end
  if name:sub(1, 1) == "/" and is_within(name, mount) then return name end
  error(explain.problem { code = "ENOENT", operation = "open",
    message = ("there is no cgroup '%s' (no folder %s)"):format(text.safe(name), text.safe(path)),
    hint = missing(mount, name) }, 0)
end

-- The cgroups that a folder is below, by identity.
local function above(path)
  local set, root, last = {}, identity(M.mount()), identity(path)
  while last ~= root do
    path = path .. "/.."
    local id = identity(path)
    if not id or id == last then break end
    set[id], last = true, id
  end
  return set
end

--- One way to write a name, as text: "a//b/" is "a/b".
---@param name string
---@return string
function M.plain(name)
  local parts = {}
  for part in name:gmatch "[^/]+" do
    if part ~= "." then parts[#parts + 1] = part end
  end
  return #parts > 0 and table.concat(parts, "/") or "/"
end

---@class pmclua.Cgroup
---@field name string as it was given
---@field path string
---@field id string
---@field below? string the name of another one in the list that it is below, and that counts its tasks too

--- The cgroups of these names, each once. Raises a problem if a name has none.
---@param names string[]
---@return pmclua.Cgroup[]
---@return string[] notes what was named twice
function M.distinct(names)
  local list, notes, by_id = {}, {}, {}
  for _, name in ipairs(names) do
    local path = M.folder(name)
    local id = identity(path)
    if by_id[id] then
      notes[#notes + 1] = ("cgroup %s is %s by another name: counted once"):format(text.safe(name),
        text.safe(by_id[id].name))
    else
      by_id[id] = { name = name, path = path, id = id }
      list[#list + 1] = by_id[id]
    end
  end
  for _, entry in ipairs(list) do
    for id in pairs(above(entry.path)) do
      if by_id[id] then entry.below = by_id[id].name end
    end
  end
  return list, notes
end

return M
