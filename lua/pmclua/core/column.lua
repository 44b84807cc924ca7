--- column.lua: lists of numbers by the million, in 0 to 8 bytes each.
--
-- Invariant: column[i] is what was put there: a number, a u64 (cdata), or false for what is absent. They are put
-- one after another, column[column.n + 1] = value. As long as all are one value, they take no room.

local ffi = require "ffi"

local M = {}

local MOST_U32 = 2 ^ 32 - 1             -- itself stands for what is absent
local FIRST_ROOM, GROWTH = 64, 1.5

local function is_u32(value) return value >= 0 and value < MOST_U32 and value % 1 == 0 end

-- From the narrowest on. A list holds what is neither a double nor absent.
local KINDS = {
  { absent = MOST_U32, type = ffi.typeof "uint32_t[?]", bytes = 4,
    takes = function(value) return value == false or type(value) == "number" and is_u32(value) end },
  { absent = -math.huge, type = ffi.typeof "double[?]", bytes = 8,
    takes = function(value) return value == false or type(value) == "number" end },
  { absent = false, takes = function() return true end },
}

---@class pmclua.core.Column
---@field n integer of elements
---@field value any of all of them, while there is no data
---@field data any what has the elements, from 1 on
---@field absent any stands in the data for false
---@field kind integer of KINDS; 0: no data
---@field room integer for elements in the data
---@field wanted integer elements that are known to come
local Column = {}

function Column.__index(column, i)
  if i < 1 or i > column.n then return nil end
  if not column.data then return column.value end
  local value = column.data[i]
  if value == column.absent then return false end
  return value
end

-- Moves a column to room for this many elements of a kind.
local function move(column, kind, room)
  local about, data = KINDS[kind], {}
  if about.type then data = about.type(room + 1) end
  if kind == column.kind and about.type then ffi.copy(data, column.data, (column.n + 1) * about.bytes)
  else
    for i = 1, column.n do data[i] = column[i] or about.absent end
  end
  column.data, column.kind, column.absent, column.room = data, kind, about.absent, room
end

-- Appends one element of this value.
local function make_room(column, value)
  local kind = math.max(column.kind, 1)
  while not (KINDS[kind].takes(value) and (column.data or KINDS[kind].takes(column.value))) do
    kind = kind + 1
  end
  local n, room = column.n + 1, math.max(column.room, column.wanted)
  if kind == column.kind and n <= column.room then return end
  move(column, kind, n <= room and room or math.max(FIRST_ROOM, math.ceil(n * GROWTH)))
end

function Column.__newindex(column, i, value)
  local n = column.n + 1
  if i ~= n then error("a column grows at its end", 2) end
  if not column.data then
    if n == 1 then column.value = value end
    if value == column.value then
      column.n = n
      return
    end
  end
  local kind = KINDS[column.kind]
  if not kind or n > column.room or not kind.takes(value) then make_room(column, value) end
  column.data[n] = value or column.absent
  column.n = n
end

--- A column without elements.
---@return pmclua.core.Column
function M.column()
  return setmetatable({ n = 0, value = false, data = false, absent = false, kind = 0, room = 0, wanted = 0 },
    Column)
end

--- Announces how many elements will be added, so that room is taken for exactly these.
---@param column pmclua.core.Column
---@param count integer
function M.column_expects(column, count) column.wanted = column.n + count end

return M
