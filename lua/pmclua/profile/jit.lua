--- jit.lua: functions that a program made at run time, by the /tmp/perf-PID.map that it wrote: lines of address, size
--- and name, in hexadecimal.
--
-- A file in /tmp may be anybody's: only one that belongs to this user, or to root, is believed.

local core = require "pmclua.core"

local M = {}

---@class pmclua.JitMap
---@field functions { start: number, bytes: number, name: string }[] by start
local Map = {}
Map.__index = Map

local function parse(path)
  local list, file = {}, io.open(path)
  if not file then return list end
  for line in file:lines() do
    local start, bytes, name = line:match "^0?x?(%x+) 0?x?(%x+) (.+)$"
    if start and #start <= 16 and tonumber(bytes, 16) then
      list[#list + 1] = { start = tonumber(start, 16), bytes = tonumber(bytes, 16), name = name,
        order = #list }
    end
  end
  file:close()
  -- What was written later took the place of what was there before.
  table.sort(list, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    return a.order < b.order
  end)
  return list
end

--- The map that a process wrote; nil: there is none, or it is not to be believed, and why.
---@param pid integer
---@param folder? string default /tmp
---@return pmclua.JitMap?
---@return string? why
function M.open(pid, folder)
  local path = ("%s/perf-%d.map"):format(folder or "/tmp", pid)
  local facts = core.stat(path)
  if not facts then return nil end
  if facts.uid ~= core.uid() and facts.uid ~= 0 then
    return nil, path .. " belongs to another user: it was not believed"
  end
  return setmetatable({ functions = parse(path) }, Map)
end

--- The function at an address; nil: none.
---@param address number
---@return string?
function Map:find(address)
  local list, low, high = self.functions, 1, #self.functions + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if list[middle].start <= address then low = middle + 1 else high = middle end
  end
  local found = list[low - 1]
  return found and address < found.start + found.bytes and found.name or nil
end

return M
