--- lock.lua: a lock in a folder that several hosts see; it says who holds it.
--
-- A lock is the newest of numbered files NAME.1, NAME.2, …: whose it is, or "{}" when it was let go. Taking it makes the
-- next number by link(2), which is atomic on NFS, too, of a file whose name nobody else has. A number that was used is
-- never used again while a newer one is there, so two that find the same dead owner cannot both take it.

local core = require "pmclua.core"
local json = require "pmclua.base.json"
local owners = require "pmclua.job.owner"
local refuse = require("pmclua.store.failure").refuse

local M = {}

local RELEASED = "{}"
local TRIES = 100               -- each is lost to somebody else, who then has the lock

---@class pmclua.job.Lock
---@field path string
local Lock = {}
Lock.__index = Lock

local function path_of(folder, name, number) return ("%s/%s.%d"):format(folder, name, number) end

local function newest(folder, name)
  local most = 0
  local ok, entries, state = pcall(require("lfs").dir, folder)
  if not ok then refuse("read", folder, (entries:gsub("^.*: ", ""))) end
  for entry in entries, state do
    local own, number = entry:match "^(.*)%.(%d+)$"
    if own == name then most = math.max(most, tonumber(number)) end
  end
  return most
end

--- Makes a file that has this text, whole, unless there is one of this name: whether it did.
---@param folder string of the file
---@param path string
---@param text string
---@return boolean
function M.create(folder, path, text)
  local temporary, code, number = core.write_temporary(folder .. "/new.XXXXXX", text)
  if not temporary then refuse("create", path, code, number) end
  local lfs = require "lfs"
  lfs.link(temporary, path)
  -- A server's answer may be lost after it made the link.
  local is_made = lfs.attributes(temporary, "nlink") == 2
  os.remove(temporary)
  return is_made
end

-- Makes this process the owner by the next number: the lock, or nil where somebody was faster.
local function take_next(folder, name, number)
  local path = path_of(folder, name, number + 1)
  if not M.create(folder, path, json.encode(owners.here())) then return nil end
  if newest(folder, name) > number + 1 then
    os.remove(path)
    return nil
  end
  os.remove(path_of(folder, name, number))
  return setmetatable({ path = path }, Lock)
end

--- Who holds a lock; nil: nobody.
---@param folder string
---@param name string
---@return pmclua.job.Owner? owner
---@return integer number of its file, 0: there is none
function M.owner(folder, name)
  local number = newest(folder, name)
  local text = number > 0 and core.read_plain(path_of(folder, name, number)) or RELEASED
  return text ~= RELEASED and owners.read(text) or nil, number
end

--- Takes a lock that nobody holds, or whose owner is known to have ended.
---@param folder string that is there
---@param name string
---@return pmclua.job.Lock? lock nil: somebody has it
---@return pmclua.job.Owner? owner
---@return "running"|nil state nil: whether the owner still runs cannot be told from here
function M.take(folder, name)
  for _ = 1, TRIES do
    local owner, number = M.owner(folder, name)
    local state = owner and owners.state(owner)
    if owner and state ~= "ended" then return nil, owner, state end
    local lock = take_next(folder, name, number)
    if lock then return lock end
  end
  refuse("take", folder .. "/" .. name, "others take it each time")
end

--- Lets it go.
function Lock:release() core.replace(self.path, RELEASED) end

return M
