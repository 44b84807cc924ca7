--- pieces.lua: texts and numbers on their way to a writer, joined into large pieces.
--
-- Invariant: nothing that is added becomes a Lua string of its own. LuaJIT hashes and keeps every string that it
-- makes; of the millions of numbers in an export each would be one. So what is written need not fit in memory.

local tobit = require("bit").tobit
local buffers = require "string.buffer"
local json = require("pmclua.base.lazy").module "pmclua.base.json"

---@class pmclua.Pieces
---@field put fun(piece: string)
---@field buffer userdata a string.buffer
local Pieces = {}
Pieces.__index = Pieces

local M = {}

local BYTES = 65536              -- that are joined before they are put
local FEW_DIGITS = 1e14          -- below, the 14 digits of tostring are exact for an integer

--- Pieces that are handed to `put`.
---@param put fun(piece: string)
---@return pmclua.Pieces
function M.new(put) return setmetatable({ put = put, buffer = buffers.new() }, Pieces) end

--- The pieces of a writer, as one text.
---@param write fun(put: fun(piece: string))
---@return string
function M.joined(write)
  local list = {}
  write(function(piece) list[#list + 1] = piece end)
  return table.concat(list)
end

--- Adds a text.
---@param text string
function Pieces:add(text)
  self.buffer:put(text)
  if #self.buffer >= BYTES then self:flush() end
end

local function put_other(buffer, value)
  if type(value) == "number" and value > -FEW_DIGITS and value < FEW_DIGITS and value % 1 == 0 then
    buffer:put(value)
  else
    buffer:put(json.number(value))
  end
end

--- Adds a number as JSON has it: exact for u64 and for every double. It does not flush: a text follows.
---@param value number|ffi.cdata*
function Pieces:number(value)
  -- An integer of 32 bits is an integer to compiled Lua, too, and written in a quarter of the instructions. (0 may be
  -- -0, which no integer is.)
  local integer = type(value) == "number" and tobit(value)
  if integer and integer == value and integer ~= 0 then
    self.buffer:put(integer)
  else
    put_other(self.buffer, value)
  end
end

--- Hands on what has been added so far.
function Pieces:flush()
  if #self.buffer > 0 then self.put(self.buffer:get()) end
end

return M
