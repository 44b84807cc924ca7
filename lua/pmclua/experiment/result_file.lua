--- result_file.lua: writes records to the result file as they arrive, if there is one.
--
-- The measurement is worth more than the file: if writing fails (a full disk), the run goes on, the result in
-- memory stays complete, and `problem` says what went wrong.

local core = require "pmclua.core"
local output = require("pmclua.base.lazy").module "pmclua.host.output"

local M = {}

---@class pmclua.ResultFile
---@field path? string
---@field problem? table error object: from here on nothing was stored
---@field unwritten? string what the file lacks of what was added before
local ResultFile = {}
ResultFile.__index = ResultFile

-- The default folder may be missing or read-only, as in many containers. Nobody asked for this file, so the run
-- goes on without it.
local function open_unasked(header)
  local store = require "pmclua.store"
  if not store.folder() then
    output.note "results are not stored: neither XDG_STATE_HOME nor HOME is set"
    return nil
  end
  local name = require("pmclua.host.rank").name(header.name or "measure")
  local ok, writer = pcall(store.create_unasked, name, header)
  if ok then return writer end
  output.note("results are not stored: %s; set XDG_STATE_HOME to a folder that you may write to, or name a "
    .. "file with --store", tostring(writer))
end

local function open(options, header)
  if options.resume then return (require("pmclua.store").append(options.resume, { host = header.host })) end
  if options.store == false then return nil end
  require("pmclua.base.lazy").complete(header)
  local store = require "pmclua.store"
  if options.store then return store.create(options.store, header) end
  return open_unasked(header)
end

--- Opens the file that the options name: resume = a path, store = a path, false (none) or nil (the default
--- folder). Raises if a file that was asked for cannot be created.
---@return pmclua.ResultFile
function M.open(options, header)
  local writer = open(options, header)
  local path = writer and writer.path ~= "-" and writer.path or nil
  return setmetatable({ writer = writer, path = path }, ResultFile)
end

--- Calls a method of the writer. The first failure is kept and closes the file.
local function attempt(self, operation, ...)
  if not self.writer then return end
  local ok, why = pcall(self.writer[operation], self.writer, ...)
  if ok then return end
  self.problem, self.unwritten = why, self.writer:unwritten()
  pcall(self.writer.close, self.writer)
  self.writer = nil
end

--- Whether records are being written to a file.
function ResultFile:is_open() return self.writer ~= nil end

function ResultFile:add(record)
  attempt(self, "add", record)
  self:tick()
end

--- Writes records that have been buffered long enough.
function ResultFile:tick() attempt(self, "tick", core.now_ns()) end

--- Writes everything; call it before something that may take long without a tick.
function ResultFile:flush() attempt(self, "flush") end

---@param status "complete"|"interrupted"
---@param about? { waits?: table[], remarks: string[], repetitions?: integer } of the whole run: Writer:finish
function ResultFile:finish(status, about)
  attempt(self, "finish", status, about)
  attempt(self, "close")
  self.writer = nil
end

return M
