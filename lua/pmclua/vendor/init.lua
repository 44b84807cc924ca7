--- vendor/init.lua: the events and metrics that vendors name, from the tables of the installed perf and from folders of the
--- user's.
--
-- Nothing is read before a name is asked for that nothing else knows, and then once for each perf, CPU and folder
-- (cache.lua). What cannot be read is a problem, in words; the rest stands.

local lists = require "pmclua.base.lists"
local cpu = require "pmclua.vendor.cpu"
local packages = require "pmclua.base.packages"
local records = require "pmclua.vendor.records"

local M = {}

--- Folders of the user's tables, with ":" between them; nil: those of PMCLUA_VENDOR.
---@type string?
M.folders = nil

---@class pmclua.vendor.Event
---@field name string as the vendor writes it
---@field pmu string? the PMU's name, or what equal ones are called together; nil: the core PMU
---@field terms string "event=0xd1,umask=0x10"
---@field scale string? "64Bytes"
---@field deprecated string?
---@field table string where it is from
---@field description string?

---@class pmclua.vendor.Metric
---@field name string
---@field pmu string? its kind of core
---@field expression string in perf's language
---@field scale string? "100%"
---@field constraint string?
---@field threshold string? a condition in perf's language
---@field groups string? with ";" between them
---@field parent string?
---@field level string? of a tree, from 1
---@field children string? with ";" between them
---@field table string
---@field description string?

---@class pmclua.vendor.Tables
---@field text string see records.lua
---@field problems string[] what could not be read
---@field is_cut boolean? perf crashed while it listed them, or could not be looked for or run
---@field absent string? why there is nothing at all
local Tables = {}
Tables.__index = Tables

--- The events of a name, in any case: of several PMUs several.
---@param name string
---@return pmclua.vendor.Event[]
function Tables:events(name) return records.find(self, "E", name) end

--- The metrics of a name, in any case: of several kinds of cores several.
---@param name string
---@return pmclua.vendor.Metric[]
function Tables:metrics(name) return records.find(self, "M", name) end

--- Every event, by name.
---@return fun(): pmclua.vendor.Event?
function Tables:each_event() return records.each(self, "E") end

--- The names of all events, sorted; those of several PMUs several times.
---@return string[]
function Tables:event_names()
  self.names_read = self.names_read or lists.column(lists.collect(self:each_event()), "name")
  return self.names_read
end

--- Every metric, by name; with a word those alone whose record has it.
---@param word? string in lower case
---@return fun(): pmclua.vendor.Metric?
function Tables:each_metric(word) return records.each(self, "M", word) end

-- ---- what decides what the tables hold ----

-- perf lists only the events of PMUs that are there.
local function pmu_names(root)
  return table.concat(require("pmclua.host.machine").entries(root .. "/bus/event_source/devices"), " ")
end

local function named_cpu(identifier) return identifier or "this CPU" end

local function user_folders()
  local named = lists.collect((M.folders or os.getenv "PMCLUA_VENDOR" or ""):gmatch "[^:]+")
  return lists.where(named, function(folder)
    return M.folders or require("pmclua.host.paths").may_run_from(folder, "PMCLUA_VENDOR")
  end)
end

--- Whether the user has folders of tables.
---@return boolean
function M.are_asked() return user_folders()[1] ~= nil end

local function sysfs_root() return os.getenv "SYSFS_PATH" or "/sys" end

--- Takes the folders of --vendor, if each can be read.
---@param given string[] each a folder, or several with ":" between them
---@return string? problem of one that cannot be read
---@return string[] lacks what is said of those that have nothing about this CPU
function M.take(given)
  local lacks, folder = {}, require "pmclua.vendor.folder"
  for _, path in ipairs(given) do
    if path == "" then return "takes the path of a folder, not ''", lacks end
  end
  M.folders = table.concat(given, ":")
  for _, path in ipairs(user_folders()) do
    local refusal = folder.refusal(path)
    if refusal then return ("%s: %s"):format(path, refusal), {} end
    lacks[#lacks + 1] = folder.lack(path, cpu.identifier(sysfs_root()))
  end
  return nil, lacks
end

local function read_folders(folders, identifier, collections)
  for i, folder in ipairs(folders) do
    collections[i] = require("pmclua.vendor.collect").new(folder)
    require("pmclua.vendor.folder").read(folder, identifier, collections[i])
  end
end

local function read_perf(path, root, identifier, collections)
  local source = ("perf (%s) for %s"):format(path, named_cpu(identifier))
  local collection = require("pmclua.vendor.collect").new(source)
  require("pmclua.vendor.perf").read(path, root, collection)
  local is_empty = #collection.events == 0 and #collection.metrics == 0 and not collection.is_late
  if is_empty and #collections == 0 then
    collection:problem("%s lists no vendor's events for %s", path, named_cpu(identifier))
  end
  collections[#collections + 1] = collection
end

-- Earlier collections take precedence over later ones.
local function merged(collections, kind)
  local list, known = {}, {}
  for _, collection in ipairs(collections) do
    local named = {}
    for _, record in ipairs(collection[kind]) do
      local key = record.name:lower()
      if not known[key] then
        list[#list + 1], named[key] = record, true
      end
    end
    for key in pairs(named) do known[key] = true end
  end
  return list
end

local function text_of(collections)
  local problems = lists.map(lists.joined(lists.column(collections, "problems")), function(problem)
    return "P" .. problem:gsub("%c", " ")
  end)
  local events, metrics = merged(collections, "events"), merged(collections, "metrics")
  return table.concat(problems, "\n") .. records.pack(events, metrics)
end

local function problems_in(text)
  local lines = lists.collect(text:sub(1, (text:find("\n[ME]") or #text + 1) - 1):gmatch "[^\n]+")
  return lists.map(lines, function(line) return line:match "^P(.*)" end)
end

local function key_of(root, identifier, folders, path, signature)
  local release = path and require("pmclua.host.machine").line "/proc/sys/kernel/osrelease"
  local parts = { root, identifier or "", path or "", signature or "", path and pmu_names(root) or "",
    release or "" }           -- some perf are scripts that run the perf of this Linux
  for _, folder in ipairs(folders) do
    parts[#parts + 1] = folder .. "=" .. require("pmclua.vendor.folder").signature(folder, identifier)
  end
  return table.concat(parts, " ")
end

-- Whether the tables are those that this machine has without being asked for others.
local function is_own()
  return not (M.folders or os.getenv "SYSFS_PATH" or os.getenv "PERF_CPUID")
end

local NO_PERF = "perf, whose tables name this CPU's events, is not installed: " .. packages.install "perf"
  .. " (linux-tools on Ubuntu), or name a folder of tables with --vendor"

local function read(root)
  local identifier, folders = cpu.identifier(root), user_folders()
  local path, signature_or_unseen = require("pmclua.vendor.perf").find()
  local tables = setmetatable({ text = "", problems = {} }, Tables)
  if not path and #folders == 0 then
    tables.absent = signature_or_unseen and "perf could not be looked for: " .. signature_or_unseen or NO_PERF
    tables.is_cut = signature_or_unseen ~= nil
    return tables
  end
  local cache, key = require "pmclua.vendor.cache", key_of(root, identifier, folders, path,
    path and signature_or_unseen)
  tables.text = cache.load(key)
  local is_new = not tables.text
  if is_new then
    local collections = {}
    read_folders(folders, identifier, collections)
    if path then read_perf(path, root, identifier, collections) end
    tables.text = text_of(collections)
    tables.is_cut = lists.any(collections, function(collection) return collection.is_cut == true end)
    if not tables.is_cut then cache.keep(key, tables.text) end
  end
  tables.problems = problems_in(tables.text)
  if is_own() then require("pmclua.vendor.names").keep(tables, is_new) end
  return tables
end

local read_by_root = {}

--- The tables for this machine, or for the one whose sysfs is at `root`. Read once a process.
---@param root? string
---@return pmclua.vendor.Tables
function M.tables(root)
  root = root or sysfs_root()
  local folders = M.folders or os.getenv "PMCLUA_VENDOR" or ""
  local key = table.concat({ root, folders, os.getenv "PERF_CPUID" or "", os.getenv "PATH" or "" }, "\n")
  read_by_root[key] = read_by_root[key] or read(root)
  return read_by_root[key]
end

return M
