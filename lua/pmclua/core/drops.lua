--- drops.lua: the binding of core/calls/drops.c, part of core/: programs whose events Linux ended.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()

---@class pmclua.core.Drops
local Drops = {}
Drops.__index = Drops

local M = {}

--- Watches the programs that a thread and its children to come execute; nil and an errno's name: this machine does
--- not let us.
---@param tid integer
---@param threads integer that are watched in all
---@return pmclua.core.Drops?, string?
function M.open(tid, threads)
  return core.private_opened(Drops, "pmclua_drops", C.pmclua_drops_open, C.pmclua_drops_close, tid, threads)
end

--- The first program whose events were ended; nil: none was seen, and an errno's name where not all were looked at.
---@return string? name
---@return string? unseen
function Drops:read()
  local drop = ffi.new "struct pmclua_drop"
  local count = self.handle and C.pmclua_drops_read(self.handle, drop) or 0
  if count < 0 then return nil, core.errno_name(-count) end
  return count > 0 and ffi.string(drop.name) or nil
end

--- Whether a program of this name has others do its work, which are not its children.
---@param name string
---@return boolean
function M.is_launcher(name) return C.pmclua_is_launcher(name) ~= 0 end

--- Closes it; a second time does nothing.
function Drops:close() core.private_close(self, C.pmclua_drops_close) end

return M
