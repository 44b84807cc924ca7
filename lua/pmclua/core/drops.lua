--- drops.lua: the binding of core/calls/drops.c, part of core.lua's layer: programs whose events Linux ended.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()

---@class pmclua.core.Drops
local Drops = {}
Drops.__index = Drops

local M = {}

--- Watches the programs that a thread and its children to come execute; nil: this machine does not let us.
---@param tid integer
---@return pmclua.core.Drops?
function M.open(tid)
  local place = ffi.new "struct pmclua_drops *[1]"
  if C.pmclua_drops_open(place, tid) < 0 then return nil end
  return setmetatable({ handle = ffi.gc(place[0], C.pmclua_drops_close), tid = tid }, Drops)
end

--- The first program since the last call whose events were ended: its name and process; nil: none.
---@return string? name
---@return integer? pid
function Drops:read()
  local drop = ffi.new "struct pmclua_drop"
  if not self.handle or C.pmclua_drops_read(self.handle, drop) <= 0 then return nil end
  return ffi.string(drop.name), drop.pid
end

--- Closes it; a second time does nothing.
function Drops:close()
  if self.handle then C.pmclua_drops_close(ffi.gc(self.handle, nil)) end
  self.handle = nil
end

return M
