--- reader.lua: a result file back to its header and records.
--
-- Invariant: the file is data that anyone may have written. A line is used only after it was found to be
-- whole JSON, of the schema, and of the plan in the file's first line; memory is bounded by the longest
-- line. Only a partial last line is forgiven, and said.

local core = require "pmclua.core"
local headers = require "pmclua.store.header"
local decoding = require "pmclua.store.decode"
local shapes = require "pmclua.store.shape"
local remarks = require "pmclua.base.remarks"
local sources = require "pmclua.store.source"
local version = require "pmclua.store.version"
local refuse = require("pmclua.store.failure").refuse

local M = {}

local BLOCK_BYTES = 2 ^ 16      -- a block is no longer
local LINE_BYTES = 2 ^ 24       -- longest line that is read

-- Adds the next piece of the text. A file that follows begins on a new line. Whether there was one.
local function add_more(reader)
  if reader.source:read(reader.text) then return true end
  if not reader.rest then return false end
  reader.text = core.text()
  reader.text:add(reader.rest)
  reader.rest = nil
  return true
end

local function next_line(reader)
  while not reader.text:go_on() do
    if not add_more(reader) then return false end
    if reader.text:rest() > LINE_BYTES + BLOCK_BYTES then error("a line is longer than 16 MiB", 0) end
  end
  reader.line = reader.line + 1
  return true
end

local function wrong(reader, why)
  refuse("read", ("%s, line %d"):format(reader.path, reader.line), tostring(why))
end

-- Why core.line_scan refuses a line.
local SCAN = {
  EINVAL = "it is not a JSON object", ERANGE = "a number is above 2^64-1", E2BIG = "nested too deep",
}

local AFTER_END = "it comes after the end"

-- Partial lines only.
local function waits_of(list)
  for _, remark in ipairs(type(list) == "table" and list or {}) do
    for _, name in ipairs { "cell", "count", "over", "wait_ns", "wall_ns" } do
      if type(remark) ~= "table" or type(remark[name]) ~= "number" then return nil end
    end
  end
  return type(list) == "table" and list or nil
end

local function add_remarks(stored, list)
  for _, remark in ipairs(type(list) == "table" and list or {}) do
    if type(remark) == "string" then stored.remarks:add(remark) end
  end
end

-- How many repetitions of each cell were planned, where the run found that there should be more than its header says.
local function add_planned(stored, repetitions)
  local is_number = require("pmclua.base.number").is_finite(repetitions)
  if is_number and repetitions > 0 then stored.header.repetitions = repetitions end
end

local function add_hosts(stored, list)
  for _, host in ipairs(type(list) == "table" and list or {}) do
    if type(host) == "table" then table.insert(stored.hosts, host) end
  end
end

local function read_end(reader)
  local entry, stored = require("dkjson").decode(reader.text:line()), reader.stored
  if entry.status ~= "complete" and entry.status ~= "interrupted" then error("there is no such end", 0) end
  stored.status, reader.ended, stored.waits = entry.status, true, waits_of(entry.waits)
  add_remarks(stored, entry.remarks)
  add_planned(stored, entry.repetitions)
  add_hosts(stored, entry.hosts)
end

local function read_resume(reader)
  local entry = require("dkjson").decode(reader.text:line())
  local refusal = version.refusal({ schema = headers.SCHEMA, needs = entry.needs }, headers.SCHEMA)
  if refusal then error(refusal, 0) end
  add_hosts(reader.stored, { entry.host })
  reader.stored.status, reader.ended, reader.profiles = "unfinished", false, nil
  reader.stored.resumed = reader.stored.resumed + 1
end

-- A profile precedes its repetition.
local function read_profile(reader)
  reader.profiles = reader.profiles or require("pmclua.store.profiles").new()
  reader.profiles:read(reader.text:line())
end

local function read_other(reader, form)
  local kind = shapes.kind(form)
  if kind == "end" then read_end(reader)
  elseif kind == "resume" then read_resume(reader)
  elseif kind ~= "profile" and kind ~= "calls" and kind ~= "followed" then return false
  elseif reader.ended then error(AFTER_END, 0)
  else read_profile(reader) end
  reader.form = nil
  return true
end

local function read_records(reader, form)
  -- Most lines have the form of the one before: then they have its kind.
  if form ~= reader.form and read_other(reader, form) then return end
  reader.form = form
  if reader.ended then error(AFTER_END, 0) end
  reader.count, reader.single, reader.packed = reader.decoder:read(form, reader.values)
  if reader.profiles then reader.profiles:give(reader.single) end
end

local function read_line(reader)
  reader.count = 0
  local form, code = reader.text:scan(reader.values)
  if not form then error(SCAN[code] or code, 0) end
  read_records(reader, form)
end

local function finish_reading(reader)
  local stored, rest = reader.stored, reader.text:rest()
  reader.source:close()
  reader.text, reader.values = nil, nil
  if reader.source.problem then table.insert(stored.problems, reader.source.problem) end
  if rest > 0 then
    table.insert(stored.problems, ("its last line is cut off after %d bytes and is left out"):format(rest))
  end
  if not reader.ended then
    table.insert(stored.problems, "it has no end line: the run was killed, or is still going on")
  end
end

local function takes_packed(reader)
  if reader.count == 0 or not (reader.packed and reader.take_packed) then return false end
  local first, most = reader.decoder:common(reader.packed, reader.values)
  return first ~= nil and reader.take_packed(first, most, reader.packed, reader.values)
end

-- One loop for all lines, which LuaJIT compiles; `is_ours` tells whose error ends it.
local function read_lines(reader, take)
  while true do
    reader.is_ours = true
    if not next_line(reader) then break end
    read_line(reader)
    for k = 1, takes_packed(reader) and 0 or reader.count do
      reader.is_ours = true
      local record = reader.single or reader.decoder:unpack(reader.packed, reader.values, k)
      reader.is_ours = false
      take(record)
    end
  end
  finish_reading(reader)
end

local function pause(reader)
  if not reader.source.is_plain then return end
  reader.paused_at = reader.text.next
  reader.source:close()
  reader.text = core.text()
end

-- Hands every record to `take`, in the order of the file.
local function each(reader, take, reuse, take_packed)
  reader.decoder, reader.take_packed = decoding.new(reader.stored.header, reuse), take_packed
  if reader.paused_at then reader.source:reopen(reader.paused_at) end
  local ok, why = pcall(read_lines, reader, take)
  if ok then return end
  reader.source:close()
  if reader.is_ours and type(why) == "string" then wrong(reader, why) end
  error(why, 0)
end

---@class pmclua.store.Stored
---@field path string
---@field header table
---@field each fun(take: fun(record: table), reuse?: boolean, take_packed?: function) hands over the records, once;
---  raises an error object at a wrong line. reuse: a record is valid only until `take` returns. take_packed: gets each
---  packed line, as what decode.lua says: its first record, the highest index, the line, its values. It returns whether
---  it took all records
---@field pause fun() closes a file, if it can be read again, until `each`: processes have few descriptors
---@field status "complete"|"interrupted"|"unfinished" after the last record
---@field problems string[] what is missing, after the last record
---@field remarks pmclua.Remarks what was said of its runs, after the last record
---@field resumed integer how often the run was resumed
---@field hosts table[] facts of those that it was made on, after the last record
---@field is_plain boolean it can be appended to: it is neither compressed nor a stream
---@field is_stream boolean it can be read once

--- Opens a result file. Raises an error object if it is no result, or of another schema.
---@param path string
---@param rest? string what follows the file's text: Writer:unwritten
---@return pmclua.store.Stored
function M.open(path, rest)
  local reader = { path = path, rest = rest, source = sources.open(path), text = core.text(), line = 0,
    count = 0, values = {} }
  local stored = { path = path, status = "unfinished", problems = {}, remarks = remarks.new(), resumed = 0 }
  reader.stored = stored
  local ok, header = pcall(function()
    return headers.decode(next_line(reader) and reader.text:line() or error("it has no whole first line", 0))
  end)
  if not ok then
    reader.source:close()
    if type(header) == "table" then error(header, 0) end
    refuse("read", path, header)
  end
  stored.is_plain, stored.is_stream = reader.source.is_plain, reader.source.is_stream
  stored.hosts = { header.host }
  stored.header = header
  stored.pause = function() pause(reader) end
  stored.each = function(take, reuse, take_packed) each(reader, take, reuse, take_packed) end
  return stored
end

return M
