--- dropped.lua: whether Linux ended the counting of a program that a target executed (core/calls/drops.c).
--
-- Invariant: what a target counted is whole as long as `name` is nil.

local M = {}

local Dropped = {}
Dropped.__index = Dropped

-- Each watched thread takes an event and a ring on each CPU, which its children inherit.
local MOST = 64

--- Watches the places of a process; of other targets there is nothing to be watched.
---@param target pmclua.Target
---@param places pmclua.Place[]
---@return { name: string? } dropped name: of the first program that was
function M.watch(target, places)
  local self = setmetatable({ list = {} }, Dropped)
  local is_process = target.kind == "process" or target.kind == "held"
  if not is_process or #places * #require("pmclua.host.topology").online() > MOST then return self end
  for _, place in ipairs(places) do
    table.insert(self.list, (require("pmclua.core.drops").open(place.pid)))
  end
  return self
end

--- Whether any program was dropped by now.
function Dropped:look()
  for _, drops in ipairs(self.list) do
    local name = drops:read()
    self.name = self.name or name
  end
  return self.name ~= nil
end

function Dropped:close()
  if #self.list > 0 then self:look() end
  for _, drops in ipairs(self.list) do drops:close() end
  self.list = {}
end

return M
