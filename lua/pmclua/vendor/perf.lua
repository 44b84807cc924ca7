--- perf.lua: the tables that are compiled into the installed perf, asked of `perf list`.
--
-- PERF_CPUID and SYSFS_PATH make perf answer for another CPU and machine; nothing is counted.

local cache = require "pmclua.vendor.cache"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local tools = require "pmclua.host.tools"

local M = {}

local LIMITS = { seconds = 15, megabytes = 64 }       -- of one answer: the largest known has 9 MB

--- perf's file, and what changes when it is another; nil where none is installed, and what could not be looked at.
---@return string? path
---@return string? signature_or_unseen
function M.find()
  local path, unseen = tools.find "perf"
  return path, path and core.signature(path) or unseen
end

-- Where perf crashes (below), no core file is left in the working directory.
local AS_SHELL = 'ulimit -c 0; exec "$@"'
local USAGE = 129                 -- with which perf refuses an option

-- Perf's output; whether it is complete; and why it never will be.
local function run_once(path, root, arguments, errors)
  local env = tools.find "env" or "/usr/bin/env"
  local words = lists.joined {
    { "-c", AS_SHELL, "sh", env, "SYSFS_PATH=" .. root, "PAGER=cat", path }, arguments }
  local output, trouble, status = tools.read("/bin/sh", words,
    { seconds = LIMITS.seconds, megabytes = LIMITS.megabytes, errors = errors })
  local is_whole = not trouble and (status == nil or status < 128 or status == USAGE)
  return output, is_whole, trouble and trouble:gsub("^/bin/sh", function() return path end)
end

local PATIENCE_S = 600            -- until a perf that was ended is asked again

local function key_of(path) return "ended " .. path .. " " .. (core.signature(path) or "") end

local function was_ended(path)
  local ended_s = tonumber(cache.load(key_of(path)))
  return ended_s ~= nil and math.abs(os.time() - ended_s) < PATIENCE_S
end

local TRIES = 4
local CRASHED = "%s crashes in its list of events, so some are missing"
local SILENT = "%s could not be run, or lists nothing"

local function cut(collection, path, output)
  collection:cut(output == "" and SILENT or CRASHED, path)
end

-- perf's output, and whether it is whole: perf 6.1 aborts in one list of thirty, anywhere in it. A perf that takes
-- too long or says too much is asked nothing else.
local function run(path, root, arguments, collection, errors)
  local longest = ""
  for _ = 1, collection.is_late and 0 or TRIES do
    local output, is_whole, trouble = run_once(path, root, arguments, errors)
    if is_whole then return output, true end
    if #output > #longest then longest = output end
    if trouble then
      collection.is_late = true
      cache.keep(key_of(path), tostring(os.time()))
      collection:cut("%s: its events are missing", trouble)
    end
    if trouble or output == "" then break end       -- it will not do better another time
  end
  return longest, false
end

local function read_json(text, collection)
  local rows, problem = require("pmclua.vendor.json_file").read_text(text)
  if problem then collection:problem("perf list --json: %s", problem) end
  local takers, row_of = collection:takers(), require("pmclua.vendor.perf_json").row
  for _, row in ipairs(type(rows) == "table" and rows or {}) do
    if type(row) == "table" then row_of(row, takers) end
  end
end

-- Takes the deprecated events of a list: those that the list without them had not.
local function deprecated_takers(collection)
  local known = {}
  for _, event in ipairs(collection.events) do known[event.name] = true end
  return { metric = function() end, event = function(event)
    event.is_deprecated = true
    if not known[event.name] then collection:event(event) end
  end }
end

local MOST = 200                  -- names in one question

local function is_absent(path)
  local signature, code = core.signature(path)
  return not signature and code == "ENOENT"
end

-- Events of PMUs that the list names without a code, as it does where it has no description, and that
-- sysfs has not.
local function unsaid(text, root)
  local names = {}
  for words in text:gmatch "\n  (%S[^\n]-) +%[Kernel PMU event%]" do
    local pmu, name = words:match "([%w_-]+)/([%w_.-]+)/$"
    local path = pmu and ("%s/bus/event_source/devices/%s/events/%s"):format(root, pmu, name)
    if path and is_absent(path) and #names < MOST then names[#names + 1] = name end
  end
  return names
end

-- perf says an event's code when it is to record it; it does not record.
local function read_unsaid(path, root, names, collection)
  if #names == 0 then return end
  local words = { "record", "--dry-run", "-v", "-e", table.concat(names, ","), "true" }
  local output = run(path, root, words, collection, true)
  for name, pmu, terms in output:gmatch "\n(%S+) %-> ([^/\n]+)/([^/\n]*)/" do
    collection:event { name = name, pmu = pmu, terms = terms }
  end
end

local function read_text(path, root, collection)
  local read = require("pmclua.vendor.perf_text").read
  local text, is_whole = run(path, root, { "list", "--details" }, collection)
  if not is_whole and not collection.is_cut then cut(collection, path, text) end
  read(text, collection:takers())
  -- Apart, because perf 6.1 always crashes on it where a CPU is hybrid; the end of what it wrote is then missing.
  read(run(path, root, { "list", "--details", "--deprecated" }, collection), deprecated_takers(collection))
  read_unsaid(path, root, unsaid(text, root), collection)
end

--- Reads what perf knows about a CPU.
---@param path string perf's file
---@param root string of sysfs
---@param collection pmclua.vendor.Collection
function M.read(path, root, collection)
  if was_ended(path) then
    collection.is_late = true
    return collection:cut("%s took too long or wrote too much, and is asked again after ten minutes: "
      .. "its events are missing", path)
  end
  local json, is_whole = run(path, root, { "list", "--details", "--json" }, collection)
  if collection.is_late then return end
  if not is_whole then cut(collection, path, json) end
  if json:find "^%s*%[" then read_json(json, collection) else read_text(path, root, collection) end
  if #collection.events == 0 and #collection.metrics == 0 then return end
  local strings = require "pmclua.vendor.perf_strings"
  local bytes = strings.read(path)
  strings.add_scales(bytes, collection.metrics)
  strings.widen(bytes, collection)
end

return M
