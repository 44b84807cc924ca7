--- dropped.lua: whether Linux ended the counting of a program that a target executed (core/calls/drops.c).
--
-- Invariant: what a target counted is whole as long as `name` and `unseen` are nil; with `unseen` it is not known.

local M = {}

local Dropped = {}
Dropped.__index = Dropped

-- Each watched thread takes an event and a ring on each CPU, which its children inherit.
local MOST = 256

--- Watches the places of a process; of other targets there is nothing to be watched.
---@param target pmclua.Target
---@param places pmclua.Place[]
---@return { name: string?, unseen: string? } dropped name: of the first program that was; unseen: an errno's name:
---  not each program was looked at
function M.watch(target, places)
  local self = setmetatable({ list = {} }, Dropped)
  if target.kind ~= "process" and target.kind ~= "held" then return self end
  if #places * #require("pmclua.host.topology").online() > MOST then
    self.unseen = "E2BIG"
    return self
  end
  for _, place in ipairs(places) do
    local drops, code = require("pmclua.core.drops").open(place.pid, #places)
    table.insert(self.list, drops)
    if code ~= "ESRCH" then self.unseen = self.unseen or code end
  end
  return self
end

--- Whether any program was dropped by now. To be called now and then while the target runs: records that nobody
--- reads are lost.
function Dropped:look()
  for _, drops in ipairs(self.list) do
    local name, unseen = drops:read()
    self.name, self.unseen = self.name or name, self.unseen or unseen
  end
  return self.name ~= nil
end

function Dropped:close()
  if #self.list > 0 then self:look() end
  for _, drops in ipairs(self.list) do drops:close() end
  self.list = {}
end

return M
