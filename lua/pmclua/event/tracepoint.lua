--- tracepoint.lua: "system:name", with "*" and "?" in either part.
--
-- Ids are read from tracefs, which is looked for only when the first tracepoint is asked for. A spec that
-- stands for several gives them in the order of their ids, which is the order of tracefs.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local problem = require "pmclua.event.problem"
local sysfs = require "pmclua.event.sysfs"
local text = require "pmclua.base.text"

local M = {}

local EACCES, EISDIR, EPERM = 13, 21, 1
-- Bytes that are read of an id, and of the longest file, which lists all: what is no tracefs may have no end.
local LONGEST_ID, LONGEST = 32, 2 ^ 20

-- nil and the errno where it cannot be opened.
local function read_id(path)
  local id, _, _, errnum = core.read_beginning(path, LONGEST_ID)
  if not id then return nil, errnum end
  return tonumber(id:match "^[^\n]*")
end

-- "" where it cannot be read.
local function read_text(path) return core.read_beginning(path, LONGEST) or "" end

-- Whether there is such a file, and whether that is certain: where nothing may be read there may be any.
local function exists(path)
  local is_read, _, _, errnum = core.read_beginning(path, 0)
  local is_there = is_read ~= nil or errnum == EISDIR
  return is_there or errnum == EACCES or errnum == EPERM, is_there
end

--- The folder of tracefs: the environment variable TRACEFS_PATH, else where it is usually mounted.
---@param options table? `tracefs`: the folder
---@return string
function M.root(options)
  local named = options and options.tracefs or os.getenv("TRACEFS_PATH")
  if named then return named end
  if exists("/sys/kernel/tracing/events") then return "/sys/kernel/tracing" end
  return "/sys/kernel/debug/tracing"
end

local function directories(path)
  return lists.where(require("pmclua.host.machine").entries(path), function(name)
    return name ~= "filter" and name ~= "enable"
  end)
end

--- The systems that tracefs has.
---@param root string
---@return string[]
function M.systems(root) return directories(root .. "/events") end

--- The tracepoints of a system.
---@param root string
---@param system string
---@return string[]
function M.names(root, system) return directories(root .. "/events/" .. system) end

local COLON, NAMING = (":"):byte(), {}          -- NAMING: the bytes of names
for byte = 0, 255 do NAMING[byte] = string.char(byte):find "[%w_.-]" ~= nil end

-- Whether a line is "system:name". There are thousands: compiled Lua reads bytes ten times as fast as a pattern.
local function is_tracepoint(line)
  local colon
  for i = 1, #line do
    local byte = line:byte(i)
    if byte == COLON and not colon then colon = i
    elseif not NAMING[byte] then return false end
  end
  return colon ~= nil and colon > 1 and colon < #line
end

--- Every tracepoint as "system:name", in the order of tracefs; empty where it may not be read.
---@param root string
---@return string[]
function M.all(root)
  -- One file: ten times as fast as the folders.
  return lists.where(text.lines(read_text(root .. "/available_events")), is_tracepoint)
end

--- The names of a tracepoint's own fields, which a filter may use.
---@param root string
---@param name string "system:name"
---@return string[] empty where tracefs may not be read
function M.fields(root, name)
  local fields = {}
  local format = read_text(("%s/events/%s/format"):format(root, (name:gsub(":", "/"))))
  for line in format:gmatch "[^\n]+" do
    local declaration = line:match "^%s*field:([^;]*);"
    local field = declaration and declaration:gsub("%[[^%[%]]*%]$", ""):match "%f[%w_]([%w_]+)$"
    if field and not field:find("^common_") then fields[#fields + 1] = field end
  end
  return fields
end

local function matching(list, glob)
  return lists.where(list, function(name) return sysfs.matches(glob, name) end)
end

-- "[…]" alone makes no glob, as for perf.
local function is_glob(name)
  return name:find("[*?]") ~= nil
end

--- Whether tracefs has such a system, or may not be read, so that "system:name" is meant as a tracepoint.
---@param system string a name or a glob
---@param options table?
---@return boolean may_have, boolean is_seen
function M.has_system(system, options)
  local root = M.root(options)
  if is_glob(system) then
    local is_seen = #matching(M.systems(root), system) > 0
    return is_seen, is_seen
  end
  return exists(root .. "/events/" .. system)
end

local function find(root, system, name)
  local points, denied = {}, false
  local systems = is_glob(system) and matching(M.systems(root), system) or { system }
  for _, folder in ipairs(systems) do
    local list = is_glob(name) and matching(M.names(root, folder), name) or { name }
    for _, event in ipairs(list) do
      local id, errnum = read_id(("%s/events/%s/%s/id"):format(root, folder, event))
      if id then
        points[#points + 1] = { id = id, name = folder .. ":" .. event }
      elseif errnum == EACCES or errnum == EPERM then
        denied = true
      end
    end
  end
  table.sort(points, function(a, b) return a.id < b.id end)
  return points, denied
end

local function blame(system, name, root)
  if not exists(root .. "/events") then
    problem.at(system, "no tracepoints here: tracefs is not mounted at %s", root)
  end
  if not is_glob(system.text) and not exists(root .. "/events/" .. system.text) then
    problem.unknown(system, M.systems(root), "no tracepoint system '%s'", system.text)
  end
  problem.unknown(name, M.names(root, system.text), "no tracepoint '%s:%s'", system.text, name.text)
end

-- The only term: what the OS kernel is to filter by, an extension of perf's grammar.
local function read_filter(terms)
  local filter
  for _, term in ipairs(terms or {}) do
    if term.name.text ~= "filter" or filter then
      problem.at(term.name, "a tracepoint takes no term '%s', only one filter='CONDITION'", term.name.text)
    end
    if not term.value or term.value.text == "" then
      problem.at(term.name, "filter needs a value in quotes")
    end
    filter = term.value.text
  end
  return filter
end

--- Encodes the tracepoints that a spec stands for. Raises a problem.
---@param system pmclua.event.Token
---@param name pmclua.event.Token
---@param terms table[]?
---@param options table?
---@return table[] events
function M.encode(system, name, terms, options)
  local filter = read_filter(terms)
  local root = M.root(options)
  local tracepoints, denied = find(root, system.text, name.text)
  if #tracepoints == 0 then
    if denied then
      problem.at(name, "this user may not read %s: run as root, or remount it with mode=755", root)
    end
    blame(system, name, root)
  end
  return lists.map(tracepoints, function(tracepoint)
    return { source = "tracepoint", pmu = "tracepoint", tracepoint = tracepoint.name, filter = filter,
      attr = { type = names.TYPE_TRACEPOINT, config = tracepoint.id } }
  end)
end

return M
