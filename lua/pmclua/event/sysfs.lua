--- sysfs.lua: the PMUs that Linux lists, read one file at a time and only on demand.
--
-- Everything read is cached for the life of the process: PMUs do not come and go. Nothing here knows the grammar of
-- specs; the terms of an alias are returned as text.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.event.Format
---@field field string the attr field: "config", "config1" …
---@field ranges integer[][] {first, last} bit, ascending
---@field width integer bits in all
---@field bits string as the OS kernel writes them: "0-7,32-35"

---@class pmclua.event.Alias
---@field name string
---@field terms string e.g. "event=0x3c,umask=0x1"
---@field unit string
---@field scale number
---@field snapshot? boolean the value is a level, not a count
---@field per_package? boolean one value for each package

---@class pmclua.event.Pmu
---@field name string
---@field type integer
---@field cpus string? the CPUs on which alone it counts, for all tasks (its cpumask): "0,64"
---@field core_cpus string? the CPUs whose tasks it counts, where they are not all: "0-7"
local Pmu = {}
Pmu.__index = Pmu

---@class pmclua.event.Tree
local Tree = {}
Tree.__index = Tree

local LONGEST = 8192        -- bytes; the OS kernel's own files have a page at most

local ENOENT = 2

--- Files that exist and could not be read: "PATH: WHY". Missing ones do not matter: PMUs differ.
---@type string[]
M.unread = {}

-- The first line of a file; nil and the errno where there is none.
local function read_line(path)
  local text, why, _, errnum = core.read_beginning(path, LONGEST)
  if why and errnum ~= ENOENT then M.unread[#M.unread + 1] = why end
  return text and text:match "^[^\n]*", errnum
end

-- The same of what decides what a value means: one that is there must be read.
local function read_meaning(path)
  local line, errnum = read_line(path)
  if not line and errnum and errnum ~= ENOENT then error(explain.system(errnum, "read", path), 0) end
  return line
end

local function list_directory(path)
  local names = {}
  local ok, iterator, state = pcall(require("lfs").dir, path)
  if not ok then
    local why = tostring(iterator):gsub("^cannot open ", "")
    if not why:find "No such file" then M.unread[#M.unread + 1] = why end
    return names
  end
  for name in iterator, state do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- "imc_2" before "imc_10".
local function natural_less(a, b)
  local function padded(text)
    return (text:gsub("%d+", function(digits) return ("%020s"):format(digits):gsub(" ", "0") end))
  end
  local x, y = padded(a), padded(b)
  if x ~= y then return x < y end
  return a < b
end

-- A word that may be used as a file name: no folder above, no other folder.
local function is_name(word)
  return word ~= "" and not word:find("/", 1, true) and word:sub(1, 1) ~= "."
end

-- "config1:0-7,32-35" to a format; nil for what is not one.
local function parse_format(text)
  local field, bits = text:match("^(config%d?):([%d,%-]+)%s*$")
  if not field then return nil end
  local ranges, width = {}, 0
  for first, last in bits:gmatch("(%d+)%-?(%d*)") do
    first = tonumber(first)
    last = tonumber(last) or first
    ranges[#ranges + 1] = { first, last }
    width = width + last - first + 1
  end
  table.sort(ranges, function(a, b) return a[1] < b[1] end)
  return { field = field, ranges = ranges, width = width, bits = bits }
end

-- Keeps what `read()` found; what is not there is looked for again.
local function remembered(cache, key, read)
  local value = cache[key]
  if not value then
    value = read()
    cache[key] = value
  end
  return value
end

--- How the PMU lays out the term `name`, or nil where it has no such term.
---@param name string
---@return pmclua.event.Format?
function Pmu:format(name)
  if not is_name(name) then return nil end
  return remembered(self.formats_read, name, function()
    local text = read_line(self.path .. "/format/" .. name)
    return text and parse_format(text)
  end)
end

--- The event that the OS kernel names, or nil where this PMU has none of that name.
---@param name string
---@return pmclua.event.Alias?
function Pmu:alias(name)
  if not is_name(name) then return nil end
  return remembered(self.aliases_read, name, function()
    local path = self.path .. "/events/" .. name
    local terms = read_line(path)
    if not terms or terms == "" then return nil end
    return {
      name = name,
      terms = (terms:gsub("%s+$", "")),
      unit = read_meaning(path .. ".unit") or "",
      scale = tonumber(read_meaning(path .. ".scale") or 1) or 1,
      snapshot = read_meaning(path .. ".snapshot") == "1",
      per_package = read_meaning(path .. ".per-pkg") == "1",
    }
  end)
end

--- The terms that the OS kernel's event stands for, and nothing more of it.
---@param name string
---@return string?
function Pmu:alias_terms(name)
  local terms = read_line(self.path .. "/events/" .. name)
  return terms and (terms:gsub("%s+$", ""))
end

--- Whether the PMU has a file `name` in its caps folder, and what it says.
---@param name string
---@return string?
function Pmu:capability(name)
  return read_line(self.path .. "/caps/" .. name)
end

---@return string[] names of its terms, sorted
function Pmu:format_names()
  return remembered(self, "format_list", function() return list_directory(self.path .. "/format") end)
end

local ABOUT_ALIAS = { "%.unit$", "%.scale$", "%.snapshot$", "%.per%-pkg$" }

---@return string[] names of its events, sorted
function Pmu:alias_names()
  return remembered(self, "alias_list", function()
    return lists.where(list_directory(self.path .. "/events"), function(name)
      return not lists.any(ABOUT_ALIAS, function(ending) return name:find(ending) end)
    end)
  end)
end

--- Whether it counts what runs on a CPU: not an uncore PMU, nor one of the OS kernel's own.
---@return boolean
function Pmu:is_core()
  return self.has_cpus or self.name == "cpu"
end

local function read_pmu(tree, name)
  local path = tree.devices .. "/" .. name
  local type = tonumber((read_line(path .. "/type")) or "")
  if not type then return nil end
  local cpus, core_cpus = read_line(path .. "/cpumask"), read_line(path .. "/cpus")
  local has_cpus = core_cpus ~= nil and core_cpus ~= ""
  local is_of_all = has_cpus and core_cpus == tree:online()
  return setmetatable({
    name = name, path = path, type = type, has_cpus = has_cpus,
    cpus = cpus ~= "" and cpus or nil,
    core_cpus = has_cpus and not is_of_all and core_cpus or nil,
    formats_read = {}, aliases_read = {},
  }, Pmu)
end

--- The CPUs that are online, as the OS kernel lists them: "0-3".
---@return string?
function Tree:online()
  return remembered(self, "online_read", function()
    return read_line(self.root .. "/devices/system/cpu/online")
  end)
end

--- The PMU of that very name.
---@param name string
---@return pmclua.event.Pmu?
function Tree:pmu(name)
  if not is_name(name) then return nil end
  return remembered(self.pmus_read, name, function()
    return read_pmu(self, name)
  end)
end

--- The names of all PMUs, in natural order.
---@return string[]
function Tree:names()
  return remembered(self, "names_read", function()
    local names = list_directory(self.devices)
    table.sort(names, natural_less)
    return names
  end)
end

--- Every PMU, in natural order.
---@return pmclua.event.Pmu[]
function Tree:pmus()
  return lists.map(self:names(), function(name) return self:pmu(name) end)
end

--- The PMUs that name an event so, in natural order.
---@param alias string
---@return pmclua.event.Pmu[]
function Tree:with_alias(alias)
  return lists.where(self:pmus(), function(pmu) return pmu:alias(alias) end)
end

--- The PMU of that type number.
---@param type integer
---@return pmclua.event.Pmu?
function Tree:of_type(type)
  return lists.find(self:pmus(), function(pmu) return pmu.type == type end)
end

--- A PMU's name without the number that tells it from its equals: "uncore_imc" for "uncore_imc_3".
---@param name string
---@return string
function M.stem(name)
  return (name:gsub("_?%d+$", ""))
end

-- perf's rule: "uncore_imc" and "imc" stand for uncore_imc_0, uncore_imc_1 …; digits alone may follow.
local function is_instance(name, stem)
  if name:sub(1, #stem) ~= stem then return false end
  return name:sub(#stem + 1):match("^_?%d+$") ~= nil
end

-- "[!a-c]" to Lua's "[^a-c]"; what stands between the brackets means the same.
local function class_pattern(class)
  return (class:gsub("^%[[!^]", "[^"):gsub("([%w_])%-([%w_])", "%1\0%2"):gsub("%-", "%%-"):gsub("%z", "-"))
end

local STAR = "*"

-- The parts of a glob: patterns of one character each, and STAR.
local function glob_parts(glob)
  local parts, at = {}, 1
  while at <= #glob do
    local class, sign = glob:match("^%[[^%]]+%]", at), glob:sub(at, at)
    if class then
      parts[#parts + 1] = "^" .. class_pattern(class)
    elseif sign ~= STAR then
      parts[#parts + 1] = sign == "?" and "^." or "^" .. sign:gsub("%W", "%%%0")
    elseif parts[#parts] ~= STAR then
      parts[#parts + 1] = STAR
    end
    at = at + #(class or sign)
  end
  return parts
end

local last_glob, last_parts

--- Whether `text` matches a glob of "*", "?" and "[…]". Takes no longer than their lengths multiplied: a star
--- that matched too little is lengthened, and those before it never again.
---@param glob string
---@param text string
---@return boolean
function M.matches(glob, text)
  if glob ~= last_glob then last_glob, last_parts = glob, glob_parts(glob) end
  local parts, part, at = last_parts, 1, 1
  local star, resume
  while at <= #text do
    if parts[part] == STAR then
      star, resume, part = part, at, part + 1
    elseif parts[part] and text:find(parts[part], at) then
      part, at = part + 1, at + 1
    elseif star then
      resume = resume + 1
      part, at = star + 1, resume
    else
      return false
    end
  end
  if parts[part] == STAR then part = part + 1 end
  return part > #parts
end

--- The PMUs that `word` stands for: the one of that name, else those that it matches as a glob or of
--- which it is the name without the number (and without "uncore_"), in natural order.
---@param word string
---@return pmclua.event.Pmu[]
function Tree:resolve(word)
  local exact = self:pmu(word)
  if exact then return { exact } end
  local test = word:find("[*?]") and function(name) return M.matches(word, name) end
    or function(name) return name == word or is_instance(name, word) end
  return lists.map(self:names(), function(name)
    local short = name:match("^uncore_(.+)$")
    return (test(name) or short and test(short)) and self:pmu(name) or nil
  end)
end

--- The core PMUs of a hybrid x86 CPU, for which generic events are encoded once each; empty elsewhere.
--- Two failed opens are the whole price where there are none.
---@return pmclua.event.Pmu[]
function Tree:hybrid()
  return remembered(self, "hybrid_read", function()
    local devices = self.devices
    local is_hybrid = read_line(devices .. "/cpu_core/cpus") or read_line(devices .. "/cpu_atom/cpus")
    return lists.where(is_hybrid and self:pmus() or {}, function(pmu)
      return pmu.name:find "^cpu_" and pmu.has_cpus
    end)
  end)
end

--- The PMUs of CPUs, in natural order: of each kind of core one.
---@return pmclua.event.Pmu[]
function Tree:core_pmus()
  return remembered(self, "core_read", function()
    return lists.where(self:pmus(), function(pmu) return pmu:is_core() end)
  end)
end

--- Whether some event that the PMU names is encoded as exactly `config`.
---@param pmu pmclua.event.Pmu
---@param config number|ffi.cdata*
---@param encode fun(pmu: pmclua.event.Pmu, alias: string): number|ffi.cdata*|nil
---@return boolean
function M.vouches(pmu, config, encode)
  if not pmu.configs then
    pmu.configs = lists.set(lists.map(pmu:alias_names(), function(name)
      local known = encode(pmu, name)
      return known and tostring(known) or nil
    end))
  end
  return pmu.configs[tostring(config)] == true
end

local trees = {}

--- The sysfs that is mounted at `root`, by default where the environment variable SYSFS_PATH says, as it
--- does for perf, else at /sys.
---@param root string?
---@return pmclua.event.Tree
function M.tree(root)
  root = root or os.getenv("SYSFS_PATH") or "/sys"
  local tree = trees[root]
  if not tree then
    tree = setmetatable({ root = root, devices = root .. "/bus/event_source/devices", pmus_read = {} }, Tree)
    trees[root] = tree
  end
  return tree
end

return M
