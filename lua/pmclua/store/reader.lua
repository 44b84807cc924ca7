--- reader.lua: a result file back to its header and records.
--
-- Invariant: the file is data that anyone may have written. A line is used only after it was found to be
-- whole JSON, of the schema, and of the plan in the file's first line; memory is bounded by the longest
-- line. Only a partial last line is forgiven, and said.

local core = require "pmclua.core"
local headers = require "pmclua.store.header"
local decoding = require "pmclua.store.decode"
local shapes = require "pmclua.store.shape"
local sources = require "pmclua.store.source"
local refuse = require("pmclua.store.failure").refuse

local M = {}

local BLOCK_BYTES = 2 ^ 16      -- a block is no longer
local LINE_BYTES = 2 ^ 24       -- longest line that is read

-- The next piece of the text: of the file, then of what follows it, which begins a line anew; nil at the end.
local function next_block(reader)
  local block = reader.source:read()
  if block or not reader.rest then return block end
  block, reader.rest = reader.rest, nil
  reader.block, reader.at = "", 1
  return block
end

-- Where the next line is in reader.block: its first and last byte; nil at the end. Lines are not cut out as
-- strings: that would take longer than scanning them.
local function next_line(reader)
  while true do
    local newline = reader.block:find("\n", reader.searched, true)
    if newline then
      local first = reader.at
      reader.at, reader.searched, reader.line = newline + 1, newline + 1, reader.line + 1
      return first, newline - 1
    end
    local more = next_block(reader)
    if not more then return nil end
    reader.block = reader.block:sub(reader.at) .. more
    reader.at, reader.searched = 1, #reader.block - #more + 1
    if #reader.block > LINE_BYTES + BLOCK_BYTES then error("a line is longer than 16 MiB", 0) end
  end
end

local function wrong(reader, why)
  refuse("read", ("%s, line %d"):format(reader.path, reader.line), tostring(why))
end

-- Why core.line_scan refuses a line.
local SCAN = {
  EINVAL = "it is not a JSON object", ERANGE = "a number is above 2^64-1", E2BIG = "nested too deep",
}

local function read_end(reader, first, last)
  local entry = require("dkjson").decode(reader.block:sub(first, last))
  if entry.status ~= "complete" and entry.status ~= "interrupted" then error("there is no such end", 0) end
  reader.stored.status, reader.ended = entry.status, true
end

local function read_resume(reader)
  reader.stored.status, reader.ended, reader.profiles = "unfinished", false, nil
  reader.stored.resumed = reader.stored.resumed + 1
end

-- It waits for its repetition.
local function read_profile(reader, first, last)
  reader.profiles = reader.profiles or require("pmclua.store.profiles").new()
  reader.profiles:read(reader.block:sub(first, last))
end

local function read_records(reader, form, first, last)
  local kind = shapes.kind(form)
  if kind == "end" then return read_end(reader, first, last) end
  if kind == "resume" then return read_resume(reader) end
  if reader.ended then error("it comes after the end", 0) end
  if kind == "profile" then return read_profile(reader, first, last) end
  reader.count, reader.single, reader.packed = reader.decoder:read(form, reader.values)
  reader.taken = 0
  if reader.profiles then
    local own = reader.profiles:of(reader.single)
    if own then reader.single.profiles = own end
  end
end

local function read_line(reader, first, last)
  local form, code = core.line_scan(reader.block, reader.values, first, last)
  if not form then wrong(reader, SCAN[code] or code) end
  local ok, why = pcall(read_records, reader, form, first, last)
  if not ok then wrong(reader, why) end
end

local function finish_reading(reader)
  local stored, rest = reader.stored, #reader.block - reader.at + 1
  if reader.done then return end
  reader.done = true
  reader.source:close()
  if reader.source.problem then table.insert(stored.problems, reader.source.problem) end
  if rest > 0 then
    table.insert(stored.problems, ("its last line is cut off after %d bytes and is left out"):format(rest))
  end
  if not reader.ended then
    table.insert(stored.problems, "it has no end line: the run was killed, or is still going on")
  end
end

local function next_record(reader)
  while not reader.done do
    if reader.taken < reader.count then
      reader.taken = reader.taken + 1
      return reader.single or reader.decoder:unpack(reader.packed, reader.values, reader.taken)
    end
    local first, last = next_line(reader)
    if first then read_line(reader, first, last) else finish_reading(reader) end
  end
end

---@class pmclua.store.Stored
---@field path string
---@field header table
---@field records fun(): table? iterator over the records, once; raises an error object at a wrong line
---@field status "complete"|"interrupted"|"unfinished" after the last record
---@field problems string[] what is missing, after the last record
---@field resumed integer how often the run was resumed
---@field is_plain boolean it can be appended to: it is neither compressed nor a stream
---@field is_stream boolean it can be read once

--- Opens a result file. Raises an error object where it is none, or of another schema.
---@param path string
---@param rest? string what follows the file's text: Writer:unwritten
---@param reuse? boolean a record is valid only until the next one is read
---@return pmclua.store.Stored
function M.open(path, rest, reuse)
  local reader = { path = path, rest = rest, source = sources.open(path), block = "", at = 1, searched = 1,
    line = 0,
    count = 0, taken = 0, values = {} }
  local stored = { path = path, status = "unfinished", problems = {}, resumed = 0 }
  reader.stored = stored
  local ok, header = pcall(function()
    local first, last = next_line(reader)
    return headers.decode(first and reader.block:sub(first, last) or error("it has no whole first line", 0))
  end)
  if not ok then
    reader.source:close()
    if type(header) == "table" then error(header, 0) end
    refuse("read", path, header)
  end
  stored.is_plain, stored.is_stream = reader.source.is_plain, reader.source.is_stream
  stored.header, reader.decoder = header, decoding.new(header, reuse)
  stored.records = function() return next_record(reader) end
  return stored
end

return M
