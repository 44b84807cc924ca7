--- calls.lua: the traced system calls of a repetition to a line of a result file, before the repetition's own, and back.
--
-- Invariant: what is written reads back equal; every member that is read has its kind.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local taken = require "pmclua.store.taken"

local M = {}

local ORDER = { "kind", "cell", "pass", "index", "warmup", "lost", "rows", "sites", "chains" }
local ROW = { "name", "is_first", "count", "blocked_ns", "waited_ns" }
local SITE = { "name", "place", "count" }
local CHAIN = { "name", "thread", "what", "place", "ns", "is_process", "is_end" }

local function as_list(names)
  return function(entry) return lists.map(names, function(name) return entry[name] end) end
end

--- The line of a record's system calls.
---@param record table store/README.md, "The record", with `system_calls`
---@return string
function M.text(record)
  local calls = record.system_calls
  return json.encode({ kind = "calls", cell = record.cell, pass = record.pass, index = record.index,
    warmup = record.warmup == true, lost = calls.lost, rows = lists.map(calls.rows, as_list(ROW)),
    sites = lists.map(calls.sites, as_list(SITE)),
    chains = lists.map(calls.chains, as_list(CHAIN)) }, { order = ORDER })
end

local is_count, is_flag, is_text = taken.is_offset, taken.is_flag, taken.is_text

local KINDS = { name = is_text, what = is_text, is_first = is_flag, is_process = is_flag, is_end = is_flag }

local function refuse(what) error(("'%s' of system calls is not what it should be"):format(what), 0) end

local function read_list(entry, name, names)
  if type(entry[name]) ~= "table" then refuse(name) end
  return lists.map(entry[name], function(list)
    local read = {}
    for i, member in ipairs(names) do
      if type(list) ~= "table" then refuse(name) end
      local value = list[i]
      if not (KINDS[member] or is_count)(value) then refuse(member) end
      read[member] = value
    end
    return read
  end)
end

--- The system calls of a line. Raises a text if a member is malformed.
---@param entry table the line's object
---@return pmclua.SystemCalls
function M.read(entry)
  if not is_count(entry.lost) then refuse "lost" end
  return { lost = entry.lost, rows = read_list(entry, "rows", ROW), sites = read_list(entry, "sites", SITE),
    chains = read_list(entry, "chains", CHAIN) }
end

return M
