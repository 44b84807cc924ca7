--- writer.lua: a result file while its experiment runs.
--
-- Invariant: the file is whole lines at any moment but for one partial last line where the process was
-- killed in mid-write. What was added and could not be written stays here until it can be.

local buffers = require "string.buffer"
local core = require "pmclua.core"
local kinds = require "pmclua.workload.kinds"
local json = require "pmclua.base.json"
local headers = require "pmclua.store.header"
local encoding = require "pmclua.store.encode"
local folder = require "pmclua.store.folder"
local reader = require "pmclua.store.reader"
local profiles = require("pmclua.base.lazy").module "pmclua.store.profiles"
local version = require "pmclua.store.version"
local refuse = require("pmclua.store.failure").refuse

local M = {}

local FLUSH_NS = 1e8          -- and a tick comes every 0.05 s: nothing waits for 0.2 s
local PENDING_RECORDS = 4096    -- kept for packing; also the most that one line packs
local PACK_FROM = 8             -- fewer records of one cell are easier to read as lines of their own
local BUFFER_BYTES = 2 ^ 20

---@class pmclua.store.Writer
---@field path string
---@field records integer written through it
local Writer = {}
Writer.__index = Writer

local function new_writer(path, lines, header)
  local alone, packs = {}, false
  for _, workload in ipairs(header.workloads) do
    alone[workload.name] = kinds.of(workload.kind).is_executed
    packs = packs or not alone[workload.name]
  end
  return setmetatable({ path = path, lines = lines, encoder = encoding.new(header), texts = {}, alone = alone,
    packs = packs, pending = {}, oldest = nil, buffer = buffers.new(), records = 0 }, Writer)
end

local function put(writer, line) writer.buffer:put(line) end

-- Data that does not fit stays buffered, so that nothing is lost if space is made and flush is called again.
local function write_out(writer)
  if #writer.buffer == 0 then return end
  local text = writer.buffer:get()
  local kept, code, number = writer.lines:append(text)
  if not code then return end
  put(writer, text:sub(kept + 1))
  refuse("write to", writer.path, code, number)
end

local function open_new(path, is_private)
  if path == "-" then return core.standard_output() end
  return core.lines(path, is_private and "private" or "shared")
end

--- Creates a result file and writes its first line. Raises where the file is there already or cannot be made,
--- and where `header` is not a whole one.
---@param path string "-": standard output
---@param header table store/README.md, "The header"
---@param is_private? boolean the user's alone (0600), and not as the umask has it
---@return pmclua.store.Writer
function M.create(path, header, is_private)
  local line = headers.encode(header)
  headers.decode(line)
  local lines, code, number = open_new(path, is_private)
  if not lines then refuse("create", path, code, number) end
  local writer = new_writer(path, lines, header)
  put(writer, line)
  write_out(writer)
  return writer
end

-- Repetitions that may share a line have the same key.
local function packing_key(writer, record)
  if writer.alone[record.workload] or not encoding.is_packable(record) then return nil end
  return ("%d/%d/%s/%s/%s"):format(record.cell, record.pass, tostring(record.warmup), record.read or "",
    record.process or "")
end

-- Pending records by what they may be packed with, in the order of their first. One that goes alone ends
-- what is packed of its cell: a cell's records stay in the order of time.
local function parcels(writer)
  local list, open = {}, {}
  for _, record in ipairs(writer.pending) do
    local key = packing_key(writer, record)
    local of_cell = key and open[record.cell] or {}
    open[record.cell] = of_cell
    local parcel = key and of_cell[key]
    if not parcel then
      parcel = {}
      list[#list + 1] = parcel
      if key then of_cell[key] = parcel end
    end
    parcel[#parcel + 1] = record
  end
  return list
end

local function write_each(writer, records)
  for _, record in ipairs(records) do
    local has_more = record.profiles or record.system_calls or record.followed
    if has_more then profiles.write(record, writer.buffer, writer.texts) end
    writer.encoder:write(record, writer.buffer)
  end
end

local function encode_pending(writer)
  if not writer.packs then write_each(writer, writer.pending) end
  for _, parcel in ipairs(writer.packs and parcels(writer) or {}) do
    if #parcel >= PACK_FROM then
      writer.encoder:write_packed(parcel, writer.buffer)
    else
      write_each(writer, parcel)
    end
  end
  writer.pending, writer.oldest = {}, nil
end

local function end_ns(record)
  return record.start_ns and record.start_ns + (record.wall_ns or 0)
end

--- Takes a record. It is in the file 0.2 s after it ended at the latest, if `tick` is called.
--- Raises if the plan has no such record, or the file cannot be written (the record is kept).
---@param record table store/README.md, "The record"
function Writer:add(record)
  encoding.check(self.encoder, record)
  self.pending[#self.pending + 1] = record
  self.records = self.records + 1
  local ended = end_ns(record)
  self.oldest = self.oldest or ended
  if #self.pending >= PENDING_RECORDS then encode_pending(self) end
  if #self.buffer >= BUFFER_BYTES then write_out(self) end
  if ended then self:tick(ended) end
end

--- Takes a packed line of another file.
---@param first table its first record, of this file's plan
---@param packed table as store/decode.lua has it
---@param values (number|ffi.cdata*|nil)[]
function Writer:add_packed(first, packed, values)
  encoding.check(self.encoder, first)
  encode_pending(self)
  self.encoder:copy_packed(first, packed, values, self.buffer)
  self.records = self.records + packed.n
  if #self.buffer >= BUFFER_BYTES then write_out(self) end
end

--- Writes what has waited for 0.2 s. To be called between repetitions and while one is waited for.
---@param now_ns number|ffi.cdata* CLOCK_MONOTONIC, ns
function Writer:tick(now_ns)
  if self.oldest and now_ns >= self.oldest + FLUSH_NS then self:flush() end
end

--- Writes all that was added. Raises an error object where the file cannot be written; what could not
--- be written is kept for the next try.
function Writer:flush()
  encode_pending(self)
  write_out(self)
end

local END = { order = { "kind", "status", "remarks", "repetitions", "waits", "cell", "count", "over",
  "wait_ns", "wall_ns", "hosts" } }

--- Writes all, an end line, and closes.
---@param status "complete"|"interrupted"
---@param about? { waits: table[]?, remarks: string[]?, repetitions: integer?, hosts: table[]? } store/README.md, "Last
---  line"
function Writer:finish(status, about)
  if not self.lines then return end
  if status ~= "complete" and status ~= "interrupted" then
    error("a run ends \"complete\" or \"interrupted\", not " .. tostring(status), 2)
  end
  encode_pending(self)
  local remarks = about and about.remarks
  local line = { kind = "end", status = status, waits = about and about.waits,
    remarks = remarks and remarks[1] and { unpack(remarks) }, repetitions = about and about.repetitions,
    hosts = about and about.hosts }
  put(self, json.encode(line, END) .. "\n")
  write_out(self)
  self:close()
end

--- The text of what was added and is not in the file yet, to be read after the file's.
---@return string
function Writer:unwritten()
  encode_pending(self)
  return self.buffer:tostring()
end

--- Closes without an end line, as a crash would. Idempotent.
function Writer:close()
  if self.lines then self.lines:close() end
  self.lines = nil
end

local MOST_NAMES = 10000

--- Creates a private result file in the user's folder of results. Several processes may do so at once: each has a
--- file of its own.
---@param name string of the experiment
---@param header table
---@return pmclua.store.Writer
function M.create_unasked(name, header)
  for number = 1, MOST_NAMES do
    local path = folder.default_path(name, number)
    local ok, writer = pcall(M.create, path, header, true)
    if ok then return writer end
    local is_taken = type(writer) == "table" and writer.code == "EEXIST"
    if not is_taken or number == MOST_NAMES then error(writer, 0) end
  end
end

--- Opens a result file to go on where it was left: cuts a partial last line, writes a resume line.
---@param path string
---@param note? table what the resume line says: `host`, facts of the host
---@return pmclua.store.Writer
---@return table header
function M.append(path, note)
  local stored = reader.open(path)
  if not stored.is_plain then refuse("append to", path, "it is compressed, or no plain file") end
  stored.each(function() end, true)         -- nothing is appended to a file that could not be read
  local lines, code, number = core.lines(path, "resume")
  if not lines then refuse("append to", path, code, number) end
  local writer = new_writer(path, lines, stored.header)
  local line = { kind = "resume", pmclua = core.version, needs = version.NEEDED }
  for name, value in pairs(note or {}) do line[name] = value end
  put(writer, json.encode(line, { order = { "kind" } }) .. "\n")
  write_out(writer)
  return writer, stored.header
end

return M
