--- storing.lua: records to a result file as they come, if there is one.
--
-- What was measured is worth more than the file: when it cannot be written any more (a full disk), the
-- run goes on, its result is complete in memory, and `problem` says what the file lacks.

local core = require "pmclua.core"

local M = {}

---@class pmclua.Storing
---@field path? string
---@field problem? table error object: from here on nothing was stored
---@field unwritten? string what the file lacks of what was added before
local Storing = {}
Storing.__index = Storing

-- In the user's folder, which may be missing or not his to write, as in many containers: nobody asked for the
-- file, so the run goes on without.
local function open_unasked(header)
  local store = require "pmclua.store"
  if not store.folder() then
    io.stderr:write "pmclua: results are not stored: neither XDG_STATE_HOME nor HOME says where\n"
    return nil
  end
  local name = require("pmclua.host.rank").name(header.name or "measure")
  local ok, made = pcall(store.create_unasked, name, header)
  if ok then return made end
  local said = "pmclua: results are not stored: %s; set XDG_STATE_HOME to a folder that this user may "
    .. "write, or name a file with --store\n"
  io.stderr:write(said:format(tostring(made)))
end

local function open(options, header)
  if options.resume then return (require("pmclua.store").append(options.resume)) end
  if options.store == false then return nil end
  require("pmclua.base.lazy").complete(header)
  local store = require "pmclua.store"
  if options.store then return store.create(options.store, header) end
  return open_unasked(header)
end

--- Opens the file that options ask for: resume = a path, store = a path, false (none) or nil (the user's
--- folder). Raises where one that was asked for cannot be made.
---@return pmclua.Storing
function M.open(options, header)
  local writer = open(options, header)
  local path = writer and writer.path ~= "-" and writer.path or nil
  return setmetatable({ writer = writer, path = path }, Storing)
end

--- Does something with the writer; the first failure is kept and ends the storing.
local function attempt(self, operation, ...)
  if not self.writer then return end
  local ok, why = pcall(self.writer[operation], self.writer, ...)
  if ok then return end
  self.problem, self.unwritten = why, self.writer:unwritten()
  pcall(self.writer.close, self.writer)
  self.writer = nil
end

--- Whether records reach a file.
function Storing:is_open() return self.writer ~= nil end

function Storing:add(record)
  attempt(self, "add", record)
  self:tick()
end

--- Writes what has waited long enough.
function Storing:tick() attempt(self, "tick", core.now_ns()) end

--- Writes all, before something that may take long without a tick.
function Storing:flush() attempt(self, "flush") end

---@param status "complete"|"interrupted"
function Storing:finish(status)
  attempt(self, "finish", status)
  attempt(self, "close")
  self.writer = nil
end

return M
