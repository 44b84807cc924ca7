--- number.lua: numbers of a spec, all of them unsigned and of up to 64 bits.

local core = require "pmclua.core"
local problem = require "pmclua.event.problem"

local M = {}

--- Whether `text` is written as a number: decimal, or hexadecimal after "0x".
---@param text string
---@return boolean
function M.is_number(text)
  return text:find("^%d+$") ~= nil or text:find("^0x%x+$") ~= nil
end

--- The number that a token is, as a u64. Raises a problem if it is no number, or too big.
---@param token pmclua.event.Token
---@param what string? what the number is, for the message
---@return ffi.cdata* u64
function M.read(token, what)
  if not M.is_number(token.text) then
    problem.at(token, "'%s' is not a number: %s is decimal, or hexadecimal after 0x", token.text,
      what or "it")
  end
  local value = core.u64(token.text)
  if not value then problem.at(token, "%s does not fit in 64 bits", token.text) end
  return 0ULL + value
end

--- The number of a token, at most `maximum` (itself at most 2^53), as a Lua number.
---@param token pmclua.event.Token
---@param maximum number
---@param what string
---@return number
function M.read_small(token, maximum, what)
  local value = M.read(token, what)
  if value > 0ULL + maximum then problem.at(token, "%s is at most %d", what, maximum) end
  return tonumber(value)
end

return M
