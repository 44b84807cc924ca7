--- linked.lua: the libraries that a program loads, found as its loader finds them, by reading files. Nothing of the
--- program is run: `ld.so --list` runs what its DT_AUDIT names.
--
-- ld.so(8), for glibc: LD_PRELOAD, then what the program needs, then what that needs. The cache and the customary
-- folders are the loader's own and stand in its file; a program that brings a loader brings its own. What is said here
-- may still be wrong (dlopen, LD_AUDIT, programs that start others), so who counts has to look at what was mapped.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local symbols = require "pmclua.core.symbols"

local M = {}

local MOST_BYTES = 64 * 1024 * 1024         -- of a loader, and of a cache
local MOST_OBJECTS = 1000

local function directory(path) return path:match "^(.*)/[^/]*$" end

-- ---- the loader ---------------------------------------------------------------------------------------------

-- The entries of a cache by name: paths. The format is glibc's struct cache_file_new, which may follow an older one.
local MAGIC, HEADER, ENTRY = "glibc-ld.so.cache1.1", 48, 24

local function read_cache(path)
  local bytes, by_name = core.read_plain(path, MOST_BYTES) or "", {}
  local start = bytes:find(MAGIC, 1, true)
  local function number(at)
    local a, b, c, d = bytes:byte(at, at + 3)
    return d and a + 256 * (b + 256 * (c + 256 * d)) or 0
  end
  local function text(offset) return bytes:match("^[^%z]*", start + offset) end
  for i = 0, start and number(start + #MAGIC) - 1 or -1 do
    local at = start + HEADER + i * ENTRY
    if at + ENTRY > #bytes then break end
    local name, library = text(number(at + 4)), text(number(at + 8))
    -- Without the bit for glibc-hwcaps it is for hardware that glibc looks for no more.
    local is_for_old = number(at + 16) + number(at + 20) ~= 0 and not library:find("/glibc-hwcaps/", 1, true)
    by_name[name] = by_name[name] or {}
    if not is_for_old then table.insert(by_name[name], library) end
  end
  return by_name
end

---@class pmclua.Loader what a loader has of its own
---@field path string
---@field cache table<string, string[]> paths by name
---@field folders string[] customary ones, without "/" at their end

local loaders = {}                          -- by path

local function loader_of(path)
  local known = loaders[path]
  if known then return known end
  local bytes = core.read_plain(path, MOST_BYTES) or ""
  local cache = bytes:match "%z(/[^%z]*/ld%.so%.cache)%z"
  local folders = lists.collect(bytes:gmatch "%f[/](/[%w%._+/-]*lib[%w%._+/-]*)/%z")
  known = { path = path, cache = cache and read_cache(cache) or {}, folders = lists.unique(folders) }
  loaders[path] = known
  return known
end

-- ---- hardware -----------------------------------------------------------------------------------------------

-- CPU flags, beyond the level below, that glibc requires for libraries of glibc-hwcaps/x86-64-vN.
local LEVELS = {
  [2] = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3", [3] = "avx avx2 bmi1 bmi2 f16c fma abm movbe",
  [4] = "avx512f avx512bw avx512cd avx512dq avx512vl",
}

local level

local function cpu_level()
  if level then return level end
  local flags = (core.read_beginning("/proc/cpuinfo", 4096) or ""):match "\nflags%s*:([^\n]*)" or ""
  local function has(flag) return (flags .. " "):find(" " .. flag .. " ", 1, true) end
  level = 1
  while LEVELS[level + 1] and lists.all(lists.collect(LEVELS[level + 1]:gmatch "%S+"), has) do
    level = level + 1
  end
  return level
end

-- The variants of a path in a folder, the best for this CPU first.
local function variants(folder, name)
  local list = {}
  for n = cpu_level(), 2, -1 do
    list[#list + 1] = ("%s/glibc-hwcaps/x86-64-v%d/%s"):format(folder, n, name)
  end
  list[#list + 1] = folder .. "/" .. name
  return list
end

local function level_of(path) return tonumber(path:match "/glibc%-hwcaps/x86%-64%-v(%d)/") or 1 end

-- ---- looking for a library ----------------------------------------------------------------------------------

---@class pmclua.LinkedObject a program or a library
---@field path string
---@field facts pmclua.core.Linked
---@field by? pmclua.LinkedObject who needs it

-- A library of the program's class and machine at a path; nil: it is another's, or not there.
local function fitting(self, path)
  if self.read[path] == nil then self.read[path] = core.stat(path) and symbols.linked(path) or false end
  local facts, own = self.read[path], self.program.facts
  return facts and facts.is_64 == own.is_64 and facts.machine == own.machine and facts or nil
end

local PLATFORMS = { x64 = "x86_64", arm64 = "aarch64" }

-- A path from the working directory of the program.
local function absolute(self, path)
  if path:sub(1, 1) == "/" or not self.cwd then return path end
  return self.cwd .. "/" .. path
end

local function expanded(self, object, text)
  local origin = directory(object.by and object.path or core.real_path(object.path) or object.path) or "."
  local library = (self.loader.folders[1] or "/lib"):sub(2)
  local values = { ORIGIN = origin, LIB = library, PLATFORM = PLATFORMS[jit.arch] }
  return absolute(self, (text:gsub("%$(%b{})", function(word) return values[word:sub(2, -2)] end)
    :gsub("%$(%u+)", values)))
end

-- The folders of a search path; an empty one is the working directory.
local function folders_of(self, object, path)
  if not path or path == "" then return {} end
  return lists.map(lists.collect((path .. ":"):gmatch "([^:;]*)[:;]"), function(folder)
    return folder == "" and (self.cwd or ".") or expanded(self, object, folder)
  end)
end

-- RPATH is that of whoever needs a library, and of who needs that one, each unless it has RUNPATH.
local function inherited_folders(self, object)
  local list, at = {}, not object.facts.runpath and object or nil
  while at do
    lists.append(list, not at.facts.runpath and folders_of(self, at, at.facts.rpath) or {})
    at = at.by
  end
  return list
end

local function in_folders(self, folders, name)
  for _, folder in ipairs(folders) do
    local path = lists.find(variants(folder, name), function(path) return fitting(self, path) end)
    if path then return path end
  end
end

local function in_cache(self, name)
  local list = lists.where(self.loader.cache[name] or {}, function(path)
    return level_of(path) <= cpu_level() and fitting(self, path) ~= nil
  end)
  table.sort(list, function(a, b) return level_of(a) > level_of(b) end)
  return list[1]
end

-- Where a library is that an object needs or opens.
local function find(self, object, name)
  if name:find("/", 1, true) then
    local path = expanded(self, object, name)
    return fitting(self, path) and path
  end
  local own = lists.joined { inherited_folders(self, object), folders_of(self, object, self.library_path),
    folders_of(self, object, object.facts.runpath) }
  local path = in_folders(self, own, name)
  if path or object.facts.has_no_defaults then return path end
  return in_cache(self, name) or in_folders(self, self.loader.folders, name)
end

-- ---- all of them --------------------------------------------------------------------------------------------

local function add(self, by, name)
  local is_known = self.seen[name] or #self.objects > MOST_OBJECTS
  self.seen[name] = true
  if is_known then return end
  local is_loader = self.loader.path:match "[^/]*$" == name
  local path = is_loader and self.loader.path or find(self, by, name)
  local facts = path and fitting(self, path)
  if facts then self.objects[#self.objects + 1] = { path = path, facts = facts, by = by } end
end

---@class pmclua.Linked
---@field objects pmclua.LinkedObject[] the program first, then its libraries
local Linked = {}
Linked.__index = Linked

--- The libraries a program loads; nil if the program is loaded by itself or cannot be read: nobody knows what it would load later.
---@param image pmclua.functions.Image
---@return pmclua.Linked?
function M.of(image)
  local facts = symbols.linked(image.program)
  if not facts or not facts.loader then return nil end
  local program = { path = image.program, facts = facts }
  local self = setmetatable({ program = program, objects = { program }, read = {}, seen = {}, cwd = image.cwd,
    loader = loader_of(facts.loader), library_path = image.library_path }, Linked)
  for name in (image.preload or ""):gmatch "[^%s:]+" do add(self, program, name) end
  local i = 1
  while self.objects[i] do
    for _, name in ipairs(self.objects[i].facts.needed) do add(self, self.objects[i], name) end
    i = i + 1
  end
  return self
end

--- The paths of the libraries that it loads when it starts.
---@return string[]
function Linked:paths()
  return lists.map({ unpack(self.objects, 2) }, function(object) return object.path end)
end

--- Where a library is that it could open later; nil: nowhere.
---@param name string "libz.so.1", or its beginning as `is_called` takes it
---@param is_called fun(path: string, name: string): boolean
---@return string?
function Linked:later(name, is_called)
  local library = find(self, self.program, name)
  if library then return library end
  for _, other in ipairs(lists.keys(self.loader.cache)) do
    local path = is_called(other, name) and in_cache(self, other)
    if path then return path end
  end
end

return M
