--- taken.lua: the kinds of stored values; and members of a profile that was stored, each of its kind.
--
-- Invariant: what is taken has its kind, or the line is refused by the name of the member.

local M = {}

M.LARGEST = 2 ^ 53              -- above this JSON readers round

--- Refuses a line.
---@param what string the member
function M.refuse(what) error(("'%s' of a profile is not what it should be"):format(what), 0) end

function M.is_text(value) return type(value) == "string" end
function M.is_flag(value) return type(value) == "boolean" end
function M.is_table(value) return type(value) == "table" end
function M.is_number(value) return type(value) == "number" and math.abs(value) <= 2 ^ 64 end
function M.is_count(value) return type(value) == "number" and value >= 0 and value <= 2 ^ 64 end
function M.is_share(value) return type(value) == "number" and value > 0 and value < 1 end
function M.is_offset(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0 and value <= M.LARGEST
end
--- Whether it is written as "0x…", as what is above LARGEST.
function M.is_wide(value) return type(value) == "string" and value:find "^0x%x+$" ~= nil and #value <= 18 end

--- A member of an entry. Raises a text where it is not of its kind.
---@param entry table
---@param name string|integer
---@param is fun(value: any): boolean
---@param may_lack? boolean it need not be there
---@return any
function M.take(entry, name, is, may_lack)
  local value = entry[name]
  if value == nil and may_lack then return nil end
  if not is(value) then M.refuse(name) end
  return value
end

--- A map of counts. They may be below 0: a rest, where fewer events were counted than samples say.
---@param map table
---@param name string of the member
---@return table<string, number>
function M.counts_by_name(map, name)
  for key, count in pairs(map) do
    if not M.is_text(key) or not M.is_number(count) then M.refuse(name) end
  end
  return map
end

return M
