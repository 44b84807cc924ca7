--- linux.lua: the functions of Linux itself, by /proc/kallsyms, where this user may see addresses.

local M = {}

-- Sorted addresses and their names; false: they are hidden.
local function read(path)
  local file = io.open(path)
  if not file then return false end
  local list = {}
  for line in file:lines() do
    local address, kind, name, module = line:match "^(%x+) (%a) (%S+)%s*(%S*)"
    if address and (kind == "t" or kind == "T" or kind == "w" or kind == "W") then
      list[#list + 1] = { at = tonumber(address:sub(1, 8), 16) * 2 ^ 32 + tonumber(address:sub(9), 16),
        address = address, name = name, module = module ~= "" and module:match "%[(.-)%]" or nil }
    end
  end
  file:close()
  -- Equal-length hexadecimal texts sort as the numbers do, of which a double holds 53 bits only.
  table.sort(list, function(a, b) return a.address < b.address end)
  local last = list[#list]
  if not last or not last.address:find "[1-9a-f]" then return false end
  return list
end

---@class pmclua.LinuxSymbols
local Symbols = {}
Symbols.__index = Symbols

--- The symbols, read when first asked for.
---@param path? string default /proc/kallsyms
---@return pmclua.LinuxSymbols
function M.new(path) return setmetatable({ path = path or "/proc/kallsyms" }, Symbols) end

--- The function that an address is in: its name and module; nil: Linux hides addresses from this user, or it is in
--- none.
---@param address number|ffi.cdata*
---@return string? name, string? module
function Symbols:find(address)
  if self.list == nil then self.list = read(self.path) end
  if not self.list then return nil end
  local wanted = ("%016x"):format(address)
  local low, high = 1, #self.list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if self.list[middle].address <= wanted then low = middle + 1 else high = middle end
  end
  local found = self.list[low - 1]
  return found and found.name, found and found.module
end

--- Whether Linux lets this user see where its functions are.
---@return boolean
function Symbols:is_readable()
  if self.list == nil then self.list = read(self.path) end
  return self.list ~= false
end

return M
